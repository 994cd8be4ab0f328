"""Databases that are read-only or away in the middle of a run: what was measured is kept, and the next run goes on."""

import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from arrowroot_lab.campaign.read import read
from arrowroot_lab.errors import StoreError
from arrowroot_lab.running.events import Progress
from arrowroot_lab.running.session import Session
from arrowroot_lab.store import Store
from arrowroot_lab.store.place import engine_of, resolve
from tests.lab.running import CASES, calls, engine


def measured(path, store, after_first_sample=lambda: None):
    """Run a campaign, and do something after its first sample."""
    done = []

    def show(kind, *_):
        if kind == "sample" and not done:
            done.append(True)
            after_first_sample()

    return Session(read(path), store, "site", Progress(show)).run()


def check_that_nothing_is_lost(store, log):
    """All cases are there, each sample was taken once, and nothing was rehearsed again."""
    results = list(store.results())
    assert sorted(result.case["workload_name"] for result in results) == sorted(CASES)
    n_reads = sum(call["verb"] == "run" for call in calls(log))
    assert n_reads == 2 + sum(len(result.samples) for result in results)


@contextmanager
def administered(url):
    """Commands of PostgreSQL, each done at once."""
    administrator = engine_of(resolve(url)).execution_options(isolation_level="AUTOCOMMIT")
    with administrator.connect() as connection:
        yield lambda command: connection.execute(text(command))
    administrator.dispose()


#: Ends all connections but the one that asks.
OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
)


@pytest.mark.usefixtures("undisturbed")
def test_a_file_that_may_not_be_written_any_more_loses_no_sample(campaign, tmp_path):
    log = tmp_path / "log"
    path = campaign(engine("a", log=log), repeats=2)
    with Store.open(tmp_path / "lab.db") as store:

        def forbid():
            with store._engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA query_only = ON")

        with pytest.raises(StoreError, match=r"lab\.db: it may not be written; .*goes on with what was kept"):
            measured(path, store, forbid)
        assert store.count() == 0
    with Store.open(tmp_path / "lab.db") as store:
        measured(path, store)
        check_that_nothing_is_lost(store, log)


#: Puts a result, forbids to write the files, as a disk that fails does, and puts another one.
_FORBIDDEN = """
import os, subprocess, sys
from arrowroot_lab.errors import StoreError
from arrowroot_lab.store import Store
from tests.lab.made import Made

first, second, *_ = Made(n_runs=1, n_samples=2, with_trouble=False).results()
with Store.open(sys.argv[1]) as store:
    store.put(first)
    os.sync()
    subprocess.run(["chattr", "+i", *(sys.argv[1] + end for end in ("", "-wal", "-shm"))], check=True)
    try:
        store.put(second)
    except StoreError as error:
        print(error)
"""


def test_a_file_system_that_becomes_read_only_is_told_and_ends_no_process(tmp_path):
    path, trial = tmp_path / "lab.db", tmp_path / "trial"
    trial.touch()
    if shutil.which("chattr") is None or subprocess.run(["chattr", "+i", trial], check=False).returncode:
        pytest.skip("nobody may forbid it here: chattr +i wants root, and a file system that has it")
    subprocess.run(["chattr", "-i", trial], check=True)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _FORBIDDEN, path], capture_output=True, text=True, check=False
        )
    finally:
        subprocess.run(["chattr", "-i", *tmp_path.glob("lab.db*")], check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{path}: it may not be written; name one that may by --db\n"
    with Store.open(path) as store:
        assert store.count() == 1


@pytest.mark.usefixtures("undisturbed")
@pytest.mark.parametrize("way", ["away", "read-only"])
def test_a_server_that_fails_in_the_middle_of_a_run_loses_no_sample(campaign, tmp_path, schema, way):
    log = tmp_path / "log"
    path = campaign(engine("a", log=log), repeats=2)
    socket = Path(resolve(schema).query["host"]) / ".s.PGSQL.5432"
    hidden = socket.with_name("hidden")
    with administered(schema) as administer, Store.open(schema) as store:

        def fail():
            if way == "away":
                socket.rename(hidden)
            else:
                administer("ALTER DATABASE results SET default_transaction_read_only = on")
            administer(OTHERS)

        try:
            with pytest.raises(StoreError, match="goes on with what was kept") as caught:
                measured(path, store, fail)
        finally:
            if way == "away":
                hidden.rename(socket)
            else:
                administer("ALTER DATABASE results RESET default_transaction_read_only")
        assert {"away": "no server answers there", "read-only": "it may not be written"}[way] in str(
            caught.value
        )
    with Store.open(schema) as store:
        assert store.count() == 0
        measured(path, store)
        check_that_nothing_is_lost(store, log)
