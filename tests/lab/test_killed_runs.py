"""Runs that are killed, and runs after them: nothing stays behind, no sample is lost, and none counts twice."""

import contextlib
import json
import os
import resource
import shlex
import signal
import sys
import tempfile
from pathlib import Path

import pytest

from arrowroot_lab.campaign.read import read
from arrowroot_lab.documents import Outcome
from arrowroot_lab.engines.builds import Environment
from arrowroot_lab.errors import StoreError
from arrowroot_lab.running import subjects
from arrowroot_lab.running.events import Progress
from arrowroot_lab.running.journal import Journal
from arrowroot_lab.running.session import Session
from arrowroot_lab.store import Store
from arrowroot_servers.process import find_program
from tests.command import done_here, run_here
from tests.lab.made import Made
from tests.lab.running import (
    CASES,
    FAKE,
    PATIENCE_S,
    calls,
    descendants,
    engine,
    is_there,
    lab_run,
    run,
    wait_until,
)
from tests.servers.fixtures import installed


def test_servers_processes_and_files_of_a_killed_run_are_gone(campaign, tmp_path):
    for program, package in (("nginx", "nginx-light"), ("xrootd", "xrootd-server")):
        installed(lambda program=program, package=package: find_program(program, package))
    log = tmp_path / "log"
    scratch = Path(tempfile.mkdtemp())  # xrootd's sockets want a short path
    line = 'line = { latency = "1 ms" }\n'
    storages = f'[storage.web]\nkind = "http"\n{line}[storage.grid]\nkind = "xrootd"\n{line}'
    path = campaign(
        engine("a", log=log, hangs_s=600), storages=storages, workloads="[workload.all]\n", repeats=1
    )
    first = lab_run(path, env={**os.environ, "TMPDIR": str(scratch)})
    try:
        # Both are rehearsed; the first sample hangs.
        wait_until(lambda: sum(call["verb"] == "run" for call in calls(log)) >= 3, first)
        started = descendants(first.pid)
        assert {"nginx", "xrootd"} <= set(started.values()), started
        assert list(scratch.iterdir())
    finally:
        first.kill()
        first.communicate(timeout=PATIENCE_S)
    wait_until(lambda: not any(map(is_there, started)))
    wait_until(lambda: not list(scratch.iterdir()))
    scratch.rmdir()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_ended_goes_on_with_the_next(campaign, tmp_path, how):
    log, scratch = tmp_path / "log", tmp_path / "scratch"
    scratch.mkdir()
    path = campaign(engine("a", log=log, seconds=0.15), repeats=4)
    first = lab_run(path, env={**os.environ, "TMPDIR": str(scratch)})
    # Two rehearsals, and some of the samples: in the middle of one the run is ended.
    wait_until(lambda: sum(call["verb"] == "run" for call in calls(log)) >= 6, first)
    assert list(scratch.iterdir())
    first.send_signal(how)
    _, said = first.communicate(timeout=PATIENCE_S)
    assert first.returncode == (130 if how == signal.SIGINT else -9), said
    wait_until(lambda: not any(is_there(call["pid"]) for call in calls(log)))
    wait_until(lambda: not list(scratch.iterdir()))
    with Store.open(path.with_suffix(".db")) as store:
        assert store.count() == 0
    n_before = len(calls(log))
    second = lab_run(path)
    _, said = second.communicate(timeout=PATIENCE_S)
    assert second.returncode == 0, said
    n_after = sum(call["verb"] == "run" for call in calls(log)[n_before:])
    with Store.open(path.with_suffix(".db")) as store:
        results = list(store.results())
    assert sorted(result.case["workload_name"] for result in results) == sorted(CASES)
    n_samples = sum(len(result.samples) for result in results)
    # No rehearsal again, and at least two samples that the first run took.
    assert n_after <= n_samples - 2
    for result in results:
        assert result.outcome is Outcome.OK
        assert len({sample.started_at for sample in result.samples}) == len(result.samples)
        turns = [sample.turn for sample in result.samples]
        assert turns == sorted(turns)


def test_a_journal_has_what_is_not_stored_and_goes_with_the_last(tmp_path):
    path = tmp_path / "journal"
    first, second = Made(n_runs=1).results()[:2]
    with Journal(path) as journal:
        for result in (first, second):
            journal.begin(result)
        journal.stored(first.uuid)
    with Journal(path) as journal:
        assert journal.left() == [second]
        journal.stored(second.uuid)
    assert not path.exists()


class EndsAfter(list):
    """Events of a run, which end it as Ctrl-C does once so many samples are taken."""

    def __init__(self, n_samples):
        super().__init__()
        self.n_left = n_samples

    def append(self, event):
        super().append(event)
        self.n_left -= event[0] == "sample"
        if self.n_left == 0:
            raise KeyboardInterrupt


@pytest.mark.usefixtures("undisturbed")
def test_no_version_of_an_engine_loses_its_samples(campaign, tmp_path, monkeypatch):
    log = tmp_path / "log"

    def environment(chosen, **_):
        told = [sys.executable, str(FAKE), f"log={log}", f"version={chosen.version}"]
        python = tmp_path / f"python-{chosen.version}"
        python.write_text(f'#!/bin/sh\nshift\nexec {shlex.join(told)} "$@"\n')
        python.chmod(0o755)
        return Environment(chosen.version, python, {"uproot": chosen.version})

    monkeypatch.setattr(subjects, "environment", environment)
    path = campaign('[engine.uproot]\nversions = ["1", "2"]\n', workloads="[workload.all]\n", repeats=3)
    with pytest.raises(KeyboardInterrupt):
        run(path, events=EndsAfter(4))
    _, results = run(path)
    assert [[sample.turn for sample in result.samples] for result in results] == [[0, 1, 2]] * 2
    assert {result.versions["uproot"] for result in results} == {"1", "2"}
    assert sum(call["verb"] == "run" for call in calls(log)) == 2 + 6


@pytest.mark.usefixtures("undisturbed")
def test_a_run_that_measures_again_goes_on_with_the_next_one_that_does(campaign, tmp_path):
    log = tmp_path / "log"
    path = campaign(engine("a", log=log), repeats=3)
    run(path)
    n_whole = len(calls(log))
    with pytest.raises(KeyboardInterrupt):
        run(path, again=True, events=EndsAfter(4))
    assert len(run(path)[1]) == 2  # all of it is measured: what was begun waits
    n_before = len(calls(log))
    summary, _ = run(path, again=True)
    assert [len(result.samples) for result in summary.results] == [3, 3]
    assert len({result.campaign["run"] for result in summary.results}) == 1
    # What the runner is, and the two samples that were left.
    assert len(calls(log)) - n_before == 1 + 2
    run(path, again=True)
    assert len(calls(log)) - n_before == 1 + 2 + n_whole


@pytest.mark.usefixtures("undisturbed")
def test_a_kill_between_the_journal_and_the_store_doubles_nothing(campaign, monkeypatch):
    path = campaign(engine("a"), workloads="[workload.all]\n", repeats=1)
    killed = []
    put, stored = Store.put, Journal.stored

    def put_and_die(self, result):
        put(self, result)
        killed.append(result.uuid)
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "put", put_and_die)
    with pytest.raises(KeyboardInterrupt):
        run(path)
    monkeypatch.setattr(Store, "put", put)
    monkeypatch.setattr(Journal, "stored", stored)
    summary, results = run(path)
    assert [result.uuid for result in results] == killed
    assert summary.n_known == 1
    summary, results = run(path, again=True)
    assert len(summary.results) == 1
    assert len(results) == 2


def test_one_campaign_is_run_once_at_a_time(campaign, tmp_path):
    log = tmp_path / "log"
    path = campaign(engine("a", log=log, hangs_s=600), workloads="[workload.all]\n")
    first = lab_run(path)
    try:
        wait_until(lambda: sum(call["verb"] == "run" for call in calls(log)) >= 2, first)
        second = lab_run(path)
        _, said = second.communicate(timeout=120)
        assert second.returncode == 2, said
        assert "another run of this campaign" in said
    finally:
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=PATIENCE_S)


def test_the_command_says_what_came_of_it(campaign, tmp_path):
    path = campaign(engine("a") + engine("b", error="no such table"), workloads="[workload.all]\n", repeats=1)
    options = ("--db", tmp_path / "c.db", "--site", "s", "--json")
    done = run_here("lab", "run", path, *options)
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert sorted(one["outcome"] for one in told["results"]) == ["failed", "ok"]
    assert "no such table" in done.stderr
    again = next(one["command"] for one in told["results"] if one["outcome"] == "ok")
    assert again[:2] == ["arrowroot-lab", "run"]
    told = json.loads(done_here("lab", *again[1:], *options))
    assert [one["outcome"] for one in told["results"]] == ["ok"]


def test_a_disk_that_is_full_in_a_run_is_told_and_loses_no_sample(campaign, tmp_path):
    """No file may grow beyond a limit: to who writes it is what a full disk is."""
    log = tmp_path / "log"
    path = campaign(engine("a", log=log), repeats=2)
    place = path.with_suffix(".db")
    Store.open(place).close()
    first = lab_run(path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (48 << 10, 48 << 10)))
    _, said = first.communicate(timeout=PATIENCE_S)
    assert first.returncode == 1, said
    assert str(place) in said
    assert "the disk does not take or give the data: full, over quota, or broken" in said
    assert "Traceback" not in said
    with Store.open(place, must_exist=True) as store:
        assert store.count() < len(CASES)
    second = lab_run(path)
    _, said = second.communicate(timeout=PATIENCE_S)
    assert second.returncode == 0, said
    with Store.open(place) as store:
        results = list(store.results())
    assert sorted(result.case["workload_name"] for result in results) == sorted(CASES)
    # Each sample that was taken is kept, once; nothing was rehearsed again.
    n_samples = sum(len(result.samples) for result in results)
    assert sum(call["verb"] == "run" for call in calls(log)) == 2 + n_samples


@pytest.mark.usefixtures("undisturbed")
@pytest.mark.parametrize("way", ["removed", "replaced"])
def test_a_database_that_is_lost_in_a_run_is_told_and_loses_no_sample(campaign, tmp_path, way):
    log, place = tmp_path / "log", tmp_path / "lab.db"
    told = read(campaign(engine("a", log=log), repeats=2))

    def lose(kind, *_):
        if kind == "sample" and not is_lost:
            is_lost.append(True)
            for path in tmp_path.glob("lab.db*"):
                path.unlink()
            if way == "replaced":
                Store.open(place).close()

    is_lost: list[bool] = []
    with (
        Store.open(place) as store,
        pytest.raises(StoreError, match=r"lab\.db: the file was removed or replaced meanwhile") as caught,
    ):
        Session(told, store, "site", Progress(lose)).run()
    assert "the next run goes on with what was kept" in str(caught.value)
    with Store.open(place) as store:
        Session(told, store, "site", Progress(lambda *_: None)).run()
        results = list(store.results())
    assert sorted(result.case["workload_name"] for result in results) == sorted(CASES)
    # Each sample that was taken is kept, once; nothing was rehearsed again.
    n_samples = sum(len(result.samples) for result in results)
    assert sum(call["verb"] == "run" for call in calls(log)) == 2 + n_samples


def test_a_full_disk_is_told(campaign):
    if not os.access("/dev/full", os.W_OK):
        pytest.skip("no /dev/full")
    _, (result,) = run(campaign(engine("a"), workloads="[workload.all]\n", repeats=1))
    journal = Journal(Path("/dev/full"))
    try:
        with pytest.raises(StoreError, match="No space left on device: the sample is not kept"):
            journal.begin(result)
    finally:
        with contextlib.suppress(OSError):
            journal.close()


@pytest.mark.usefixtures("undisturbed")
def test_a_line_of_the_journal_that_was_cut_short_is_passed_over(campaign, tmp_path):
    _, (result,) = run(campaign(engine("a"), workloads="[workload.all]\n", repeats=2))
    path = tmp_path / "journal"
    with Journal(path) as journal:
        journal.begin(result)
        journal.add(result, result.samples[0])
    text = path.read_text()
    path.write_text(text + '{"uuid": "' + result.uuid[:9])
    with Journal(path) as journal:
        (found,) = journal.left()
        assert len(found.samples) == 3
        journal.add(result, result.samples[0])
        assert len(journal.left()[0].samples) == 4
        journal.stored(result.uuid)
        assert journal.left() == []
    assert not path.exists()
