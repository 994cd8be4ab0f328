"""A campaign that is repeated: by the clock, for commits, whatever fails, and by one process alone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import arrowroot
from arrowroot_lab.campaign.providers import registered
from arrowroot_lab.cli import main
from arrowroot_lab.errors import LabError, RequestError
from arrowroot_lab.location import Location
from arrowroot_lab.running import checking, sampling
from arrowroot_lab.running.session import Session
from arrowroot_lab.store import Store
from arrowroot_lab.watching import rounds, schedule
from arrowroot_lab.watching.commits import Branch, branch_of, has_paths
from arrowroot_lab.watching.rounds import Watch
from tests.lab.running import PATIENCE_S
from tests.lab.test_check import git

FAKE = Path(__file__).with_name("fake_runner.py")
UTC = timezone.utc


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory, monkeypatch):
    """A cache for all tests, so that the file's identity is found once; no kernel, as nothing is timed."""
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(tmp_path_factory.getbasetemp() / "lab-cache"))
    monkeypatch.setattr(checking, "references", lambda _: [registered().engines["arrowroot"]])
    monkeypatch.setattr(sampling, "disturbed", lambda *_: [])
    monkeypatch.setattr(sampling, "control_ns", lambda: 1)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    path = tmp_path_factory.mktemp("watch") / "n.root"
    arrowroot.write(f"{path}:T", {"x": np.arange(100)})
    return path


@pytest.fixture
def campaign(tmp_path, numbers):
    """Writes a campaign of one fake; returns its path."""

    def write(**told):
        told = {"told_wall_ns": 5_000_000, **told}
        words = [sys.executable, str(FAKE), *(f"{key}={value}" for key, value in told.items())]
        path = tmp_path / "c.toml"
        path.write_text(
            f'repeats = 2\n[dataset.n]\nfiles = "{numbers}"\ntable = "T"\n[storage.here]\nkind = "local"\n'
            f'[engine.a]\ncommand = {json.dumps(words)}\n[workload.all]\ncolumns = ["x"]\n'
        )
        return path

    return write


def test_rounds_are_checked_against_the_first_and_an_alarm_starts_the_command(tmp_path, campaign, capfd):
    report = tmp_path / "report.md"
    once = ["--once", "--db", str(tmp_path / "lab.db"), "--command", f"sh -c 'cat >> {report}'"]
    path = campaign()
    assert main(["watch", str(path), *once]) == 0
    assert "is the baseline of all that follow" in capfd.readouterr().out
    assert main(["watch", str(path), *once]) == 0
    assert "no alarm" in capfd.readouterr().out
    assert not report.exists()
    campaign(n_reads=2)
    assert main(["watch", str(path), *once]) == 1
    assert "| alarm | store.n_reads |" in report.read_text()
    # The engine fails: that is an alarm, and the next round is measured all the same.
    campaign(error="it is broken")
    assert main(["watch", str(path), *once]) == 1
    assert "it is broken" in report.read_text()
    path.write_text("this is no campaign")
    assert main(["watch", str(path), *once]) == 2
    campaign()
    assert main(["watch", str(path), *once]) == 0
    with Store.open(tmp_path / "lab.db") as store:
        assert store.count() == 5


def test_a_round_whose_campaign_is_broken_meanwhile_is_told_and_the_next_one_is_done(tmp_path, campaign):
    path, said = campaign(), []
    watch = Watch(path, str(tmp_path / "lab.db"), "here", said.append, lambda *_: None)
    with watch.alone():
        path.write_text("[dataset")
        assert watch.round().is_alarm
        assert "this is not TOML" in said[-1]
        campaign()
        assert not watch.round().is_alarm


def test_a_baseline_that_is_gone_with_its_database_is_told_and_another_one_taken(tmp_path, campaign, capfd):
    told = ["watch", str(campaign()), "--once", "--db", str(tmp_path / "lab.db")]
    assert main(told) == 0
    for path in tmp_path.glob("lab.db*"):
        path.unlink()
    assert main(told) == 0
    said = capfd.readouterr().out
    assert f", the baseline so far, is not in {tmp_path / 'lab.db'} any more" in said
    assert said.count("is the baseline of all that follow") == 2


def test_a_disk_that_takes_nothing_ends_no_watch(tmp_path, campaign, monkeypatch):
    path, said = campaign(), []
    watch = Watch(path, str(tmp_path / "lab.db"), "here", said.append, lambda *_: None)
    cache = tmp_path / "cache"
    with watch.alone():
        cache.touch()
        with monkeypatch.context() as patched:
            patched.setenv("ARROWROOT_LAB_CACHE", str(cache))
            assert watch.round().is_alarm
        assert said[-1].startswith(str(cache))
        assert not watch.round().is_alarm


def test_an_error_that_nobody_expects_is_told_and_the_next_round_is_done(tmp_path, campaign, monkeypatch):
    path, said = campaign(), []
    watch = Watch(path, str(tmp_path / "lab.db"), "here", said.append, lambda *_: None)
    with watch.alone():
        with monkeypatch.context() as patched:
            patched.setattr(Session, "run", lambda _: {}["nothing"])
            assert watch.round().is_alarm
        assert said == ["KeyError: 'nothing'"]
        assert not watch.round().is_alarm


def test_a_memory_that_cannot_be_written_is_an_alarm_and_ends_no_watch(tmp_path, campaign, monkeypatch):
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(tmp_path / "cache"))
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "--quiet", "--initial-branch", "main")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "one")
    path, said = campaign(), []
    told = (path, str(tmp_path / "lab.db"), "here", said.append, lambda *_: None)
    watch = Watch(*told, branch=Branch(Location(str(repository))))
    with watch.alone():
        blocked = watch._place.with_suffix(".new")
        blocked.mkdir()
        done = watch.round_of_newest()
        assert done.is_measured
        assert done.is_alarm
        assert f"the next process will not know of this round: {blocked}: Is a directory" in said
        # This process does know.
        assert watch.round_of_newest() is None
        blocked.rmdir()
        assert not watch.round().is_alarm
    assert json.loads(watch._place.read_text())["commit"] == Branch(Location(str(repository))).newest()


def test_a_command_that_cannot_be_started_is_refused_before_anything_is_measured(campaign, tmp_path, capsys):
    for command, problem in (("  ", "expected a program"), ("sh -c 'x", "No closing quotation")):
        told = ["watch", str(campaign()), "--once", "--db", str(tmp_path / "lab.db"), "--command", command]
        assert main(told) == 2
        assert problem in capsys.readouterr().err
    assert not (tmp_path / "lab.db").exists()


def test_two_processes_do_not_watch_one_campaign(tmp_path, campaign, capsys):
    path = campaign()
    watch = Watch(path, str(tmp_path / "lab.db"), "here", print, lambda *_: None)
    told = ["watch", str(path), "--once", "--site", "here", "--db"]
    with watch.alone():
        assert main([*told, str(tmp_path / "lab.db")]) == 2
        assert "watches it already" in capsys.readouterr().err
        assert main([*told, str(tmp_path / "other.db")]) == 0
    assert main([*told, str(tmp_path / "lab.db")]) == 0


def test_ctrl_c_ends_a_wait_at_once(tmp_path, campaign):
    command = [sys.executable, "-m", "arrowroot", "lab", "watch", str(campaign()), "--every", "1h"]
    with subprocess.Popen(
        [*command, "--db", str(tmp_path / "lab.db")], stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            if "next round at" in line:
                break
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE_S) == 130


def test_each_new_commit_is_one_round(tmp_path, campaign, capsys):
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "--quiet", "--initial-branch", "main")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "one")
    watched = ["--once", "--on-commit", f"{repository}:main", "--db", str(tmp_path / "lab.db")]
    told = ["watch", str(campaign()), *watched]
    assert main(told) == 0
    assert main(told) == 0
    assert "no new commit" in capsys.readouterr().out
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "two")
    git(repository, "branch", "other")
    assert main(told) == 0
    assert git(repository, "rev-parse", "HEAD")[:12] in capsys.readouterr().out
    with Store.open(tmp_path / "lab.db") as store:
        assert store.count() == 2
    assert main(["watch", told[1], "--once", "--on-commit", f"{repository}:none", "--db", told[-1]]) == 1


def test_a_commit_of_which_nothing_could_be_measured_is_tried_three_times(tmp_path, campaign):
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "--quiet", "--initial-branch", "main")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "one")
    path, said = campaign(error="the disk is away"), []
    watch = Watch(
        path,
        str(tmp_path / "lab.db"),
        "here",
        said.append,
        lambda *_: None,
        branch=Branch(Location(str(repository))),
    )
    with watch.alone():
        assert [watch.round_of_newest() is not None for _ in range(4)] == [True, True, True, False]
        assert sum("is tried 3 times" in text for text in said) == 2
        git(repository, "commit", "--quiet", "--allow-empty", "-m", "two")
        assert watch.round_of_newest().is_alarm
        campaign()
        assert watch.round_of_newest().is_measured
        assert watch.round_of_newest() is None


def test_a_repository_elsewhere_is_fetched_and_its_commits_are_looked_into(tmp_path):
    repository = tmp_path / "repository"
    (repository / "python" / "arrowroot").mkdir(parents=True)
    (repository / "python" / "arrowroot" / "__init__.py").touch()
    git(repository, "init", "--quiet", "--initial-branch", "main")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "one")
    far = Branch(Location(f"file://{repository}"), "main")
    commit = far.newest()
    assert commit == git(repository, "rev-parse", "main")
    here = far.fetched()
    assert here != repository
    assert git(here, "rev-parse", commit) == commit
    git(repository, "rm", "--quiet", "-r", "python")
    git(repository, "commit", "--quiet", "-m", "another project now")
    assert has_paths(far.fetched(), commit, ["python/arrowroot"])
    assert not has_paths(far.fetched(), far.newest(), ["python/arrowroot"])
    with pytest.raises(LabError, match="has no branch 'none'"):
        Branch(Location(str(repository)), "none").newest()


def test_repositories_and_branches_are_told_apart(tmp_path):
    assert branch_of(f"{tmp_path}:main") == Branch(Location(str(tmp_path)), "main")
    assert branch_of(str(tmp_path)) == Branch(Location(str(tmp_path)))
    assert branch_of("https://host/a/b") == Branch(Location("https://host/a/b"))
    assert branch_of("https://host/a/b.git:feature/x") == Branch(
        Location("https://host/a/b.git"), "feature/x"
    )
    assert branch_of("ssh://git@host:22/a/b") == Branch(Location("ssh://git@host:22/a/b"))
    assert branch_of("git@host:a/b") == Branch(Location("git@host:a/b"))
    for repository in (str(tmp_path), "https://host/a/b.git", "ssh://git@host:22/a/b", "git@host:a/b"):
        assert branch_of(f"{repository}:6.40-patches") == Branch(Location(repository), "6.40-patches")
    for wrong in ("--upload-pack=touch x", ".:--exec"):
        with pytest.raises(RequestError):
            branch_of(wrong)


def test_schedules_tell_the_next_time():
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    six = schedule.every("6h")
    assert six.after(None, noon) == noon
    assert six.after(noon, noon + timedelta(hours=2)) == noon + timedelta(hours=6)
    assert six.after(noon, noon + timedelta(hours=13)) == noon + timedelta(hours=13)
    twice = schedule.at("14:30, 2:30")
    local = datetime(2026, 3, 1, 12).astimezone()
    assert twice.after(None, local) == datetime(2026, 3, 1, 14, 30).astimezone()
    assert twice.after(local, local + timedelta(hours=3)) == datetime(2026, 3, 2, 2, 30).astimezone()
    for wrong in ("6", "0s", "1 fortnight"):
        with pytest.raises(RequestError, match="--every"):
            schedule.every(wrong)
    with pytest.raises(RequestError, match="25:00"):
        schedule.at("02:30,25:00")


def test_a_watch_says_when(campaign, capsys):
    assert main(["watch", str(campaign())]) == 2
    assert "when? --every TIME" in capsys.readouterr().err


@pytest.mark.parametrize("when", [schedule.every("6h"), schedule.at("02:30")])
def test_a_clock_that_is_put_back_delays_no_round(monkeypatch, when):
    """Six hours after the beginning of a round comes the next one, or at its time of the day by the new clock."""
    clock = {"wall": datetime(2026, 3, 3, 2, 30, tzinfo=UTC).timestamp(), "steady": 0.0, "n": 0}

    def sleep(seconds):
        clock["wall"] += seconds
        clock["steady"] += seconds
        clock["n"] += 1
        if clock["n"] == 30:  # half an hour later
            clock["wall"] -= 86_400

    monkeypatch.setattr(time, "monotonic", lambda: clock["steady"])
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(rounds, "_now", lambda: datetime.fromtimestamp(clock["wall"], UTC))
    begun = []
    watch = Watch(Path("c.toml"), None, "here", lambda _: None, lambda *_: None)

    def round_of():
        begun.append(clock["steady"] / 3600)
        if len(begun) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(watch, "round", round_of)
    with pytest.raises(KeyboardInterrupt):
        watch.by_the_clock(when)
    waits = [after - before for before, after in pairwise(begun)]
    assert max(waits) <= (6.1 if isinstance(when, schedule.Every) else 24.1)
