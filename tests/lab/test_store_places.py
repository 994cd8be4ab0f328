"""Databases that are another's, newer, damaged, full, read-only or away: told clearly, and left alone."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from sqlalchemy import event, text

from arrowroot_lab.errors import RequestError, StoreError
from arrowroot_lab.store import Accepted, Store
from arrowroot_lab.store.place import engine_of, resolve, server_of, shown
from arrowroot_lab.store.schema import VERSION_TABLE
from tests.lab.made import Made
from tests.lab.running import PATIENCE_S
from tests.lab.stored import rows

RESULTS = Made().results()


def test_database_of_a_newer_laboratory_is_refused_and_left_alone(place):
    Store.open(place).close()
    engine = engine_of(resolve(place))
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))  # noqa: S608 - names of ours
    engine.dispose()
    for must_exist in (False, True):
        with pytest.raises(StoreError, match=r"newer laboratory \(step 9999"):
            Store.open(place, must_exist=must_exist)


def test_database_of_another_program_is_refused_and_left_alone(place):
    engine = engine_of(resolve(place))
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        connection.execute(text("CREATE TABLE bookmarks (url TEXT)"))
    with pytest.raises(StoreError, match="another program's: it has the tables bookmarks"):
        Store.open(place)
    with engine.connect() as connection:
        assert connection.dialect.get_table_names(connection) == ["bookmarks"]
    engine.dispose()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"root\0\0\0\0" * 100, "no SQLite database"),
        (b"SQLite format 3\0" + b"\xff" * 2000, "no SQLite database|damaged"),
    ],
)
def test_file_that_is_no_database_is_refused_and_left_alone(tmp_path, content, problem):
    path = tmp_path / "lab.db"
    path.write_bytes(content)
    for must_exist in (False, True):
        with pytest.raises(StoreError, match=problem) as raised:
            Store.open(path, must_exist=must_exist)
        assert str(path) in str(raised.value)
    assert path.read_bytes() == content


def test_damaged_database_is_told(tmp_path):
    path = tmp_path / "lab.db"
    with Store.open(path) as store:
        for result in RESULTS[:60]:
            store.put(result)
    content = bytearray(path.read_bytes())
    content[40_000:400_000] = b"\x55" * 360_000
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"), Store.open(path, must_exist=True) as store:
        list(store.results())


def test_full_disk_is_told_and_leaves_nothing_half_stored(tmp_path):
    with Store.open(tmp_path / "lab.db") as store:
        store.put(RESULTS[0])

        @event.listens_for(store._engine, "connect")
        def limit(connection, _record):
            connection.execute("PRAGMA max_page_count = 70")

        store._engine.dispose()
        with pytest.raises(StoreError, match="the disk is full, nothing of the result was stored"):
            sum(store.put(result) for result in RESULTS[1:])
        stored = [one.uuid for one in store.results()]
        assert sorted(stored) == sorted(one.uuid for one in RESULTS[: len(stored)])
        assert len(rows(store, "SELECT uuid FROM results")) == len(stored)


#: Does something as whoever may not write, as root may write anywhere; what it imports it cannot find afterwards.
_READER = """
import os, sys, tempfile
from arrowroot_lab.store import Store
with tempfile.TemporaryDirectory() as directory: Store.open(directory + "/lab.db").close()
if os.geteuid() == 0: os.setuid(65534)
with Store.open(sys.argv[1], must_exist=True) as store: print(store.count())
try: Store.open(sys.argv[1])
except Exception as error: print(type(error).__name__, error)
"""


@pytest.mark.parametrize("is_closed", [True, False])
def test_database_in_a_directory_that_may_not_be_written_is_read(is_closed):
    directory = Path(tempfile.mkdtemp())
    path = directory / "lab.db"
    store = Store.open(path)
    try:
        store.put(RESULTS[0])
        if is_closed:
            store.close()
        path.chmod(0o444)
        directory.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", _READER, str(path)], capture_output=True, text=True, check=False
        )
    finally:
        store.close()
        directory.chmod(0o755)
        shutil.rmtree(directory)
    lines = done.stdout.splitlines()
    assert lines[:1] == ["1"], done.stdout + done.stderr
    assert lines[1].startswith(f"StoreError {path}: "), lines
    assert "may" in lines[1]


_LONG_READER = """
import tempfile
import os, sys, tempfile
from arrowroot_lab.store import Store
with tempfile.TemporaryDirectory() as directory: Store.open(directory + "/lab.db").close()
if os.geteuid() == 0: os.setuid(65534)
with Store.open(sys.argv[1], must_exist=True) as store:
    print(store.count(), flush=True)
    input()
    with store._engine.connect() as connection:
        print(connection.exec_driver_sql("PRAGMA integrity_check").scalar_one())
    print(store.count(), len(list(store.results())), store.place)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: another user needs root")
def test_what_another_user_reads_does_not_change_under_it():
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    path = directory / "lab.db"
    scratch = directory / "scratch"
    scratch.mkdir()
    try:
        with Store.open(path) as store:
            store.put(RESULTS[0])
        os.chown(scratch, 65534, -1)
        reader = subprocess.Popen(
            [sys.executable, "-c", _LONG_READER, str(path)], env={**os.environ, "TMPDIR": str(scratch)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert reader.stdout.readline() == "1\n"
        with Store.open(path) as store:
            for result in RESULTS[1:100]:
                store.put(result)
        said, _ = reader.communicate("go on\n", timeout=PATIENCE_S)
        left = list(scratch.iterdir())
    finally:
        shutil.rmtree(directory)
    assert said.splitlines() == ["ok", f"1 1 {path}"]
    assert left == []


def documented_grants():
    page = (Path(__file__).parents[2] / "docs" / "lab" / "sites.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```sql\n(GRANT .*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [statement for statement in block.split(";") if statement.strip()]


def test_a_server_that_lets_a_user_read_alone_is_read_and_refused_before_anything_is_measured(server):
    engine = engine_of(resolve(server))
    schema, url = f"read_{os.urandom(6).hex()}", "{}&options=-csearch_path%3D{}"
    try:
        with engine.begin() as connection:
            connection.execute(text(f"CREATE SCHEMA {schema}"))
        with Store.open(url.format(server, schema)) as store:
            store.put(RESULTS[0])
        reader = url.format(server.replace("lab@", f"{schema}@"), schema)
        with pytest.raises(StoreError, match=r"the server does not know the user \(.*role"):
            Store.open(reader, must_exist=True)
        with engine.begin() as connection:
            connection.execute(text(f"CREATE ROLE {schema} LOGIN"))
            connection.execute(text(f"GRANT USAGE ON SCHEMA {schema} TO {schema}"))
            connection.execute(text(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {schema}"))
        with Store.open(reader, must_exist=True) as store:
            assert store.count() == 1
        with pytest.raises(
            StoreError, match=r"this user may not write it: it lacks INSERT on result, .*; let the"
        ):
            Store.open(reader)
        with (
            Store.open(reader, must_exist=True) as store,
            pytest.raises(
                StoreError, match=r"this user may not do that; let .* grant .*\(.*permission denied"
            ),
        ):
            store.put(RESULTS[1])
        for lack in ("INSERT on newest", "UPDATE on newest", "USAGE on the sequence", "DELETE on accepted"):
            with pytest.raises(StoreError, match=lack):
                Store.open(reader)
        with engine.begin() as connection:
            connection.execute(text(f"SET search_path = {schema}"))
            for statement in documented_grants():
                connection.execute(text(statement.replace("USER", schema).replace("public", schema)))
        with Store.open(reader) as store:
            assert store.put(RESULTS[1])
            store.accept([Accepted("series", "name", "a", "b", 1.0, "why", "when")])
            store.take_back(store.accepted())
    finally:
        engine.dispose()


def test_what_a_server_lacks_is_told(server):
    engine, schema = engine_of(resolve(server)), f"lacks_{os.urandom(6).hex()}"
    url = f"{server}&options=-csearch_path%3D{schema}"
    try:
        with engine.begin() as connection:
            connection.execute(text(f"CREATE SCHEMA {schema}"))
        with Store.open(url) as store:
            store.put(RESULTS[0])
            for change, part in (
                ("RENAME n_cores TO cores", "column result.n_cores"),
                ("RENAME TO results_of_others", 'relation "result"'),
            ):
                with engine.begin() as connection:
                    connection.execute(text(f"ALTER TABLE {schema}.result {change}"))
                with pytest.raises(
                    StoreError, match=rf"a table or column is missing.*\({part} does not exist"
                ):
                    store.summaries()
        with pytest.raises(StoreError, match=r"it is not there; make it with createdb \(.*nothing"):
            Store.open(server.replace("/results?", "/nothing?"))
    finally:
        engine.dispose()


def test_what_cannot_be_opened_is_told(tmp_path, monkeypatch):
    with pytest.raises(RequestError, match=r"no database is there; .arrowroot lab run"):
        Store.open(tmp_path / "none.db", must_exist=True)
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(RequestError, match=r"directory .*nowhere is not there"):
        Store.open(tmp_path / "nowhere" / "lab.db")
    with pytest.raises(RequestError, match=r"SQLite \(a path\) or PostgreSQL"):
        Store.open("mysql://host/results")
    with pytest.raises(RequestError, match="a database in memory is gone"):
        Store.open("sqlite://")
    with pytest.raises(StoreError, match="no server answers") as raised:
        Store.open(f"postgresql://lab:secret@/results?host={tmp_path}&connect_timeout=2")
    assert "secret" not in str(raised.value)
    sqlite3.connect(tmp_path / "empty.db").close()
    (tmp_path / "empty.db").touch()
    with pytest.raises(RequestError, match="the database is empty"):
        Store.open(tmp_path / "empty.db", must_exist=True)
    monkeypatch.setenv("ARROWROOT_LAB_DB", str(tmp_path / "named.db"))
    Store.open().close()
    assert (tmp_path / "named.db").exists()
    monkeypatch.delenv("ARROWROOT_LAB_DB")
    monkeypatch.chdir(tmp_path)
    Store.open().close()
    assert (tmp_path / "arrowroot-lab.db").exists()


@pytest.mark.parametrize(
    "place",
    [
        "postgresql://lab:SECRET@host/lab",
        "postgresql://host/lab?user=lab&password=SECRET",
        "postgresql://lab@host/lab?sslmode=verify-full&sslpassword=SECRET",
        "postgresql://lab:SECRET@host/lab?password=SECRET&sslkey=/lab.key",
    ],
)
def test_a_place_on_a_server_is_shown_and_sent_without_passwords(place):
    url = resolve(place)
    for told in (shown(url), server_of(url)):
        assert "SECRET" not in told
        assert "host/lab" in told
        query = {name: value for name, value in url.query.items() if "password" not in name}
        assert resolve(told).query == query


@pytest.mark.parametrize(
    "place",
    [
        "postgresql://lab:SECRET@host:5432x/lab",
        "postgresql://lab:p@SECRET@host/lab",
        "mysql://lab:SECRET@host/lab",
        "https://host/results?authz=SECRET",
    ],
)
def test_an_error_about_a_url_has_no_password(place):
    with pytest.raises(RequestError, match=r"URL of a database|results are kept in") as raised:
        Store.open(place)
    assert str(raised.value).startswith(place.partition("://")[0])
    assert "SECRET" not in f"{raised.value} {raised.value.__cause__}"
