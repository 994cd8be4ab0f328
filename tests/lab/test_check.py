"""A run against a baseline: planted truths are found, and nothing else rings."""

from __future__ import annotations

import json
import shlex
import stat
import subprocess
import sys
import uuid
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import arrowroot
from arrowroot_lab.campaign.providers import registered
from arrowroot_lab.campaign.read import read
from arrowroot_lab.canonical import key_of
from arrowroot_lab.cli import main
from arrowroot_lab.documents import Outcome
from arrowroot_lab.engines import builds
from arrowroot_lab.errors import RequestError
from arrowroot_lab.machine.fingerprint import coarse, fingerprint
from arrowroot_lab.running import checking, sampling
from arrowroot_lab.running.events import Progress
from arrowroot_lab.store import Filter, Store
from arrowroot_lab.watching import confirming, pairs_again
from arrowroot_lab.watching.check import Acceptance, check
from arrowroot_lab.watching.findings import FindingState, Kind
from tests.lab.made import Made, Noise
from tests.lab.planted import share_confirmed

FAKE = Path(__file__).with_name("fake_runner.py")
FIRST = datetime(2026, 10, 1, 4, tzinfo=timezone.utc)


def run_of(day, seed=1, **options):
    """The results of one run: 5 storages, 2 workloads, and an engine with one version."""
    options = {
        "engines": ("uproot",),
        "workloads": ("ten columns", "all columns"),
        "with_trouble": False,
        **options,
    }
    return Made(seed=seed, n_runs=1, n_samples=5, first_day=FIRST + timedelta(days=day), **options).results()


def planted(results, which, change):
    """The run with a change in the counted samples of one of its results."""
    for sample in results[which].samples:
        change(sample)
    return results


def stored(tmp_path, *runs):
    """A store with runs, and the UUIDs of the runs."""
    store = Store.open(tmp_path / "lab.db")
    for results in runs:
        for result in results:
            store.put(result)
    return store, [results[0].campaign["run"] for results in runs]


def more(counter, by):
    def change(sample):
        sample.counters["store"][counter] += by

    return change


def test_runs_of_equal_programs_ring_in_no_check(tmp_path):
    store, runs = stored(tmp_path, *(run_of(day, seed=day + 1) for day in range(13)))
    with store:
        for run in runs[1:]:
            checked = check(store, Filter(), runs[0], run=run)
            assert len(checked.compared) == 10
            assert checked.of(FindingState.ALARM) == []
            assert {one.kind for one in checked.findings} <= {Kind.TIME}


def test_a_planted_change_of_a_count_rings_and_one_that_varies_does_not(tmp_path):
    now = planted(run_of(1, seed=2), 3, more("n_reads", 1))
    now[5].samples[2].counters["store"]["n_reads"] += 1  # one sample alone: a retry
    now[6].samples[0].counters["device"]["n_bytes"] += 4096  # the kernel's
    store, (old, new) = stored(tmp_path, run_of(0), now)
    with store:
        (alarm,) = check(store, Filter(), old, run=new).of(FindingState.ALARM)
        assert (alarm.kind, alarm.name, alarm.uuid_now) == (Kind.COUNTER, "store.n_reads", now[3].uuid)
        assert alarm.now == alarm.before + 1


def test_a_count_that_varied_before_with_the_same_engine_is_no_exact_one(tmp_path):
    earlier = planted(run_of(-1, seed=3), 3, more("n_reads", 1))
    now = planted(run_of(1, seed=2), 3, more("n_reads", 1))
    store, (_, old, new) = stored(tmp_path, earlier, run_of(0), now)
    with store:
        assert check(store, Filter(), old, run=new).of(FindingState.ALARM) == []


# Of virtual memory the 64 MiB of an arena come and go by chance: it is far larger here.
@pytest.mark.parametrize(("key", "scale"), [("peak_rss_bytes", 1), ("peak_virtual_bytes", 100)])
def test_five_per_cent_of_memory_ring_and_one_per_cent_does_not(tmp_path, key, scale):
    def grown(factor):
        return lambda sample: setattr(sample, key, int(sample.peak_rss_bytes * scale * factor))

    before, now = run_of(0), run_of(1, seed=2)
    for result in (*before, *now):
        for sample in result.samples:
            grown(1)(sample)
    planted(planted(now, 3, grown(1.05)), 4, grown(1.01))
    store, (old, new) = stored(tmp_path, before, now)
    with store:
        (alarm,) = check(store, Filter(), old, run=new).of(FindingState.ALARM)
        assert (alarm.kind, alarm.name, alarm.uuid_now) == (Kind.MEMORY, key, now[3].uuid)
        assert alarm.ratio == pytest.approx(1.05, abs=0.01)


def test_an_arena_more_of_virtual_memory_does_not_ring(tmp_path):
    before, now = run_of(0), run_of(1, seed=2)
    for sample in (sample for result in (*before, *now) for sample in result.samples):
        sample.peak_virtual_bytes = 440_000_000
    planted(now, 3, lambda sample: setattr(sample, "peak_virtual_bytes", 440_000_000 + (64 << 20)))
    store, (old, new) = stored(tmp_path, before, now)
    with store:
        assert check(store, Filter(), old, run=new).of(FindingState.ALARM) == []


def test_figures_of_zero_are_no_measure_of_a_change(tmp_path):
    def emptied(sample):
        sample.wall_ns = sample.peak_rss_bytes = 0

    store, (old, new) = stored(
        tmp_path, planted(run_of(0), 3, emptied), planted(run_of(1, seed=2), 4, emptied)
    )
    with store:
        found = check(store, Filter(), old, run=new).findings
        assert not {one.kind for one in found} & {Kind.MEMORY, Kind.OUTCOME}


def test_other_values_failures_and_what_is_missing_ring(tmp_path):
    now = run_of(1, seed=2)
    now[0].checksum = {"run": {"n": 100_000, "sum": 5001, "order": 12345}}
    now[1].outcome, now[1].reason, now[1].samples = Outcome.FAILED, "the server is gone", []
    gone = now.pop(2)
    store, (old, new) = stored(tmp_path, run_of(0), now)
    with store:
        checked = check(store, Filter(), old, run=new)
        told = {one.name: one for one in checked.of(FindingState.ALARM)}
        assert sorted(one.name for one in checked.of(FindingState.ALARM)) == [
            "checksum.run",
            "outcome",
            "outcome",
        ]
        assert "5001" in str(told["checksum.run"].now)
        notes = {one.note for one in checked.of(FindingState.ALARM) if one.name == "outcome"}
        assert notes == {"the server is gone", "the run has no result of it"}
        # A case that was not measured is told where the newest results are taken, and fails nothing.
        newest = check(store, Filter(), old)
        (unchecked,) = newest.of(FindingState.UNCHECKED)
        assert unchecked.series_id == gone.series_id


def test_what_is_accepted_rings_no_more_until_it_changes_again(tmp_path):
    old, new, newer, other = (
        run_of(0),
        planted(run_of(1, seed=2), 3, more("n_reads", 1)),
        planted(run_of(2, seed=3), 3, more("n_reads", 1)),
        planted(run_of(3, seed=4), 3, more("n_reads", 2)),
    )
    for result in (*new, *newer, *other):
        result.versions["engine"] = "5.7.8"
    store, (baseline, *runs) = stored(tmp_path, old, new, newer, other)
    with store:
        with pytest.raises(
            RequestError, match=r"no finding has this name; there are store\.n_reads, .*versions\.engine"
        ):
            check(store, Filter(), baseline, run=runs[0], accepts=[Acceptance("store.n_bytes", "why")])
        accepted = check(
            store, Filter(), baseline, run=runs[0], accepts=[Acceptance("versions.engine", "a new planner")]
        )
        assert not accepted.is_alarm
        again = check(store, Filter(), baseline, run=runs[1])
        assert not again.is_alarm
        assert [one.note.partition(": ")[2] for one in again.of(FindingState.ACCEPTED)] == ["a new planner"]
        assert check(store, Filter(), baseline, run=runs[2]).is_alarm
        store.take_back(store.accepted())
        assert check(store, Filter(), baseline, run=runs[1]).is_alarm


def with_times(day, wall_ns, **options):
    """A run of one result, each of whose samples took so long."""
    (result, *_) = run_of(day, seed=day + 1, **options)
    result.samples = [replace(sample, wall_ns=wall_ns) for sample in result.samples]
    return [result]


def with_memory(day, peak_rss_bytes):
    """A run of one result, each of whose samples took so much memory."""
    (result, *_) = run_of(day, seed=day + 1)
    result.samples = [
        replace(sample, peak_rss_bytes=peak_rss_bytes, wall_ns=10**9) for sample in result.samples
    ]
    return [result]


@pytest.mark.parametrize(
    ("made", "alarming"), [(with_times, FindingState.SUSPECT), (with_memory, FindingState.ALARM)]
)
def test_what_was_accepted_rings_where_it_comes_once_more_from_a_later_baseline(tmp_path, made, alarming):
    levels = [100_000_000, 110_000_000, 110_500_000, 121_000_000]
    store, runs = stored(tmp_path, *(made(day, level) for day, level in enumerate(levels)))
    with store:
        (_,) = check(store, Filter(), runs[0], run=runs[1], accepts=[Acceptance("*", "why")]).of(
            FindingState.ACCEPTED
        )
        assert len(check(store, Filter(), runs[0], run=runs[2]).of(FindingState.ACCEPTED)) == 1
        assert len(check(store, Filter(), runs[1], run=runs[3]).of(alarming)) == 1
        assert len(check(store, Filter(), runs[0], run=runs[3]).of(alarming)) == 1


def test_a_second_acceptance_takes_the_first_one_from_nobody(tmp_path):
    changed = [planted(run_of(day, seed=day + 1), 3, more("n_reads", day)) for day in (1, 2)]
    store, (old, *runs) = stored(tmp_path, run_of(0), *changed)
    with store:
        for run in runs:
            check(store, Filter(), old, run=run, accepts=[Acceptance("store.n_reads", "why")])
        for run in runs:
            checked = check(store, Filter(), old, run=run)
            assert (len(checked.of(FindingState.ACCEPTED)), checked.is_alarm) == (1, False)


def test_a_time_that_pairs_say_to_be_less_than_was_accepted_rings_no_more(tmp_path):
    class Pairs:
        def __init__(self, ratio):
            self.ratio = ratio

        def judge(self, suspects):
            return [replace(one, state=FindingState.ALARM, ratio=self.ratio) for one, _ in suspects]

    levels = [100_000_000, 110_000_000, 120_000_000]
    store, (old, new, newer) = stored(tmp_path, *(with_times(day, level) for day, level in enumerate(levels)))
    with store:
        check(store, Filter(), old, run=new, accepts=[Acceptance("wall_ns", "why")])
        assert check(store, Filter(), old, run=newer, confirming=Pairs(1.15)).is_alarm
        checked = check(store, Filter(), old, run=newer, confirming=Pairs(1.08))
        assert [one.note.partition(": ")[2] for one in checked.of(FindingState.ACCEPTED)] == ["why"]
        assert not checked.is_alarm


@pytest.mark.parametrize(("side", "where"), [(0, "in the baseline"), (1, "now")])
def test_a_time_without_a_counted_sample_is_told_as_not_checked(tmp_path, side, where):
    both = [with_times(0, 100), with_times(1, 200)]
    for sample in both[side][0].samples:
        sample.disturbed = ["other processes"]
    store, (old, new) = stored(tmp_path, *both)
    with store:
        (one,) = check(store, Filter(), old, run=new).findings
    assert (one.kind, one.state) == (Kind.TIME, FindingState.UNCHECKED)
    assert one.note == f"its time is not compared: no sample is counted {where}"


def test_a_checksum_that_is_gone_is_told(tmp_path):
    before, now = run_of(0), run_of(1, seed=2)
    before[0].checksum = {**before[0].checksum, "event": {"n": 5, "sum": 7}}
    now[1].checksum = None
    store, (old, new) = stored(tmp_path, before, now)
    with store:
        checked = check(store, Filter(), old, run=new)
    assert [(one.name, one.uuid_now) for one in checked.of(FindingState.ALARM)] == [
        ("checksum.event", now[0].uuid)
    ]
    assert [(one.name, one.uuid_now) for one in checked.of(FindingState.UNCHECKED)] == [
        ("checksum", now[1].uuid)
    ]


def test_a_version_is_compared_with_itself_whatever_its_run_has_besides(tmp_path):
    before = with_times(0, 100)
    slower, other = with_times(1, 200), with_times(1, 100)
    other[0].versions["engine"] = "5.8.0"
    other[0].uuid, other[0].created_at = str(uuid.UUID(int=7, version=4)), "2026-10-02T05:00:00.000Z"
    later = with_times(2, 100)
    later[0].versions["engine"] = "5.8.0"
    store, (old, new, _) = stored(tmp_path, before, slower + other, later)
    with store:
        assert [one.uuid_now for one in check(store, Filter(), old, run=new).of(FindingState.SUSPECT)] == [
            slower[0].uuid
        ]
        # A run without it has the newest result all the same.
        assert check(store, Filter(), old).findings == []


def test_a_case_that_fails_now_is_found_whatever_outcome_is_asked_for(tmp_path, capsys):
    now = run_of(1, seed=2)
    now[1].outcome, now[1].reason, now[1].samples = Outcome.FAILED, "the server is gone", []
    store, (old, new) = stored(tmp_path, run_of(0), now)
    with store:
        (alarm,) = check(store, Filter(outcome=("ok",)), old, run=new).of(FindingState.ALARM)
        assert alarm.note == "the server is gone"
    # The command offers nothing that would have no effect.
    for option in ("--outcome=ok", "--since=2026-10", "--until=2026-10"):
        with pytest.raises(SystemExit):
            main(["check", "--baseline", old, "--db", str(tmp_path / "lab.db"), option])
        assert f"check has no option {option.partition('=')[0]}" in capsys.readouterr().err


def test_the_command_fails_and_writes_reports(tmp_path, capsys):
    now = planted(run_of(1, seed=2), 3, more("n_reads", 1))
    store, (old, new) = stored(tmp_path, run_of(0), now)
    store.close()
    database = ["--db", str(tmp_path / "lab.db"), "--no-confirm"]
    junit, markdown = tmp_path / "check.xml", tmp_path / "check.md"
    told = ["check", "--baseline", old[:8], *database]
    assert main([*told, "--junit", str(junit), "--markdown", str(markdown)]) == 1
    text = capsys.readouterr().out
    assert "1 unexplained change" in text
    assert max(map(len, text.splitlines())) <= 80
    suite = ET.parse(junit).getroot()  # noqa: S314 - it is ours
    assert (suite.get("tests"), suite.get("failures")) == ("10", "1")
    (failure,) = suite.iter("failure")
    assert "store.n_reads" in failure.get("message")
    assert "| alarm | store.n_reads |" in markdown.read_text()
    assert main([*told, "--run", new, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["form"], document["n_compared"], document["is_alarm"]) == (
        "arrowroot-lab.check/1",
        10,
        True,
    )
    assert main([*told, "--accept", "store.n_reads=one more for the new header"]) == 0
    assert "one more for the new header" in capsys.readouterr().out
    assert main(told) == 0
    assert main([*told, "--take-back", "store.*"]) == 1
    capsys.readouterr()
    # As any file of this user: what shows the report may be another one.
    (tmp_path / "plain").touch()
    assert {path.stat().st_mode for path in (junit, markdown)} == {(tmp_path / "plain").stat().st_mode}
    for wrong in (
        ["--baseline", "ffff"],
        ["--baseline", old[:3]],
        ["--baseline", old, "--accept", "no reason"],
        ["--baseline", new],
        ["--baseline", old, "--junit", str(tmp_path / "nowhere" / "check.xml")],
        ["--baseline", old, "--markdown", str(tmp_path)],
    ):
        assert main(["check", *wrong, *database]) == 2
        assert "arrowroot lab: " in capsys.readouterr().err


@pytest.mark.parametrize(("is_least", "shown"), [(False, (100, 200)), (True, (50, 60))])
def test_a_suspected_time_is_shown_by_what_grew(tmp_path, is_least, shown):
    before, now = run_of(0), run_of(1, seed=2)
    times = (
        ([50, 100, 100, 100, 300], [60, 70, 80, 90, 100]) if is_least else ([50, 100, 150], [50, 200, 250])
    )
    for result, wall_ns in ((before[0], times[0]), (now[0], times[1])):
        result.samples = [replace(one, wall_ns=ns) for one, ns in zip(result.samples, wall_ns, strict=False)]
    store, (old, new) = stored(tmp_path, before[:1], now[:1])
    with store:
        (suspect,) = check(store, Filter(), old, run=new).of(FindingState.SUSPECT)
    assert (suspect.before, suspect.now) == shown


def test_cpu_time_is_judged_as_wall_time_is(tmp_path):
    now = run_of(1, seed=2)
    doubled = planted(now, 3, lambda sample: setattr(sample, "cpu_ns", 2 * sample.cpu_ns))
    store, (old, new) = stored(tmp_path, run_of(0), doubled)
    with store:
        suspects = check(store, Filter(), old, run=new).of(FindingState.SUSPECT)
        (suspect,) = [one for one in suspects if one.name == "cpu_ns" and one.uuid_now == now[3].uuid]
        assert suspect.ratio == pytest.approx(2, rel=0.1)


def test_times_of_another_machine_are_suspected_and_not_measured_here(tmp_path, capsys):
    now = planted(run_of(1, seed=2), 3, lambda sample: setattr(sample, "wall_ns", int(sample.wall_ns * 1.5)))
    before = run_of(0)
    for result in (*before, *now):
        result.machine = {**result.machine, "cpu": "one that is nowhere here"}
    for result in now:
        result.versions["engine"] = "5.7.8"
    store, (old, _) = stored(tmp_path, before, now)
    store.close()
    path = tmp_path / "c.toml"
    path.write_text(
        '[dataset.n]\nfiles = "n.root"\ntable = "T"\n[storage.here]\nkind = "local"\n[engine.uproot]\n[workload.all]\n'
    )
    told = ["check", "--baseline", old, "--db", str(tmp_path / "lab.db"), "--file", str(path), "--json"]
    assert main(told) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {one["state"] for one in findings} == {"suspect"}
    notes = {one["note"] for one in findings}
    assert notes == {"not confirmed: the baseline was measured on another machine: check it there"}
    with Store.open(tmp_path / "lab.db") as store:
        assert store.count(Filter(campaign=("* (check)",))) == 0


def test_times_are_not_measured_again_where_only_a_library_changed(tmp_path, monkeypatch):
    measured = []
    monkeypatch.setattr(confirming, "Session", lambda *_, **__: measured.append(1))
    monkeypatch.setattr(
        builds,
        "environment",
        lambda *_, **__: builds.Environment("", Path(sys.executable), {"uproot": "5.7.7"}),
    )
    before, now = with_times(0, 100), with_times(1, 200)
    for (result,), numpy in ((before, "2.4.6"), (now, "2.5.0")):
        result.machine, result.versions = coarse(fingerprint()), {"uproot": "5.7.7", "numpy": numpy}
    monkeypatch.setattr(confirming.Engines, "versions", lambda *_: now[0].versions)
    store, (old, new) = stored(tmp_path, before, now)
    path = tmp_path / "c.toml"
    path.write_text(
        '[dataset.n]\nfiles = "n.root"\ntable = "T"\n[storage.here]\nkind = "local"\n[engine.uproot]\n[workload.all]\n'
    )
    with store:
        again = confirming.Confirming(store, read(path), "here", Progress(lambda *_: None))
        (suspect,) = check(store, Filter(), old, run=new, confirming=again).of(FindingState.SUSPECT)
    assert suspect.note == (
        "not confirmed: only numpy changed, and no environment is made with what it was before"
    )
    assert measured == []


def test_a_confirming_run_finds_three_per_cent_and_nothing_where_nothing_is():
    assert share_confirmed(1.0, Noise(), n_trials=2000) == 0
    assert share_confirmed(1.03, Noise(sample=0.01), n_trials=300) > 0.95
    assert share_confirmed(1.03, Noise(), n_trials=300) > 0.7
    assert share_confirmed(1.05, Noise(), n_trials=300) > 0.95


def git(repository, *arguments):
    names = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(repository), *names, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def two_commits(tmp_path, monkeypatch):
    """A repository of "arrowroot" with two commits, and an environment for each, as if it was built."""
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(checking, "references", lambda _: [registered().engines["arrowroot"]])
    monkeypatch.setattr(sampling, "disturbed", lambda *_: [])
    monkeypatch.setattr(sampling, "control_ns", lambda: 1)
    repository = tmp_path / "repository"
    (repository / "python" / "arrowroot").mkdir(parents=True)
    (repository / "Cargo.toml").touch()
    (repository / "python" / "arrowroot" / "__init__.py").touch()
    git(repository, "init", "--quiet")
    git(repository, "add", ".")
    commits = []
    for name in ("old", "new"):
        git(repository, "commit", "--quiet", "--allow-empty", "-m", name)
        commits.append(git(repository, "rev-parse", "HEAD"))
    monkeypatch.chdir(repository)
    return commits


def environment(commit, **told):
    """Put an environment into the cache whose Python does as it is told, whatever program it is given."""
    python = key_of([sys.version_info[:2], sys.executable])[:6]
    name = f"arrowroot-{commit[:12]}-{python}"
    place = builds.directory() / name
    place.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-S", str(FAKE), *(f"{key}={value}" for key, value in told.items())]
    program = place / "python"
    program.write_text(f'#!/bin/sh\nshift\nexec {shlex.join(words)} "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    made = {"name": name, "python": str(program), "versions": {"arrowroot": commit}, "n_bytes": 0}
    (place / "made.json").write_text(json.dumps(made))


@pytest.mark.usefixtures("two_commits")
@pytest.mark.parametrize("is_place", [False, True])
def test_an_engine_given_as_a_command_is_blamed_by_the_version_it_tells_unless_its_storage_is_slower_for_all(
    tmp_path, capsys, is_place
):
    arrowroot.write(f"{tmp_path / 'n.root'}:T", {"x": np.arange(100)})
    path, database = tmp_path / "c.toml", ["--db", str(tmp_path / "lab.db")]
    quick, slow = 10_000_000, 25_000_000

    def run(version, time_ns, time_of_other_ns):
        told = {"cmsRun": (version, time_ns), "other": ("1", time_of_other_ns)}
        words = {
            name: json.dumps(
                [sys.executable, str(FAKE), f"version={one}", f"told_wall_ns={ns}", f"seconds={ns / 1e9}"]
            )
            for name, (one, ns) in told.items()
        }
        path.write_text(
            'repeats = 3\n[dataset.n]\nfiles = "n.root"\ntable = "T"\n[storage.here]\nkind = "local"\n'
            '[workload.all]\ncolumns = ["x"]\n'
            + "".join(f"[engine.{name}]\ncommand = {command}\n" for name, command in words.items())
        )
        assert main(["run", str(path), *database, "--again"]) == 0

    run("CMSSW_14_0_1", quick, quick)
    with Store.open(tmp_path / "lab.db") as store:
        baseline = next(row.run for row in store.rows(None, ("run",)))
    run("CMSSW_14_0_2", slow, slow if is_place else quick)
    capsys.readouterr()
    assert main(["check", "--baseline", baseline, *database, "--json"]) == (4 if is_place else 1)
    told = json.loads(capsys.readouterr().out)["findings"]
    findings = {one["axes"]["engine"]: one for one in told if one["name"] == "wall_ns"}
    assert set(findings) == ({"cmsRun", "other"} if is_place else {"cmsRun"})
    found = findings["cmsRun"]
    assert found["state"] == ("slower place" if is_place else "alarm")
    assert found["note"].startswith("2.50 times, also when measured again; ")
    assert "the engine says fake CMSSW_14_0_2, and said fake CMSSW_14_0_1" in found["note"]


@pytest.mark.long
def test_planted_three_per_cent_of_time_ring_once_pairs_confirm_them(
    tmp_path, two_commits, monkeypatch, capsys
):
    # The rates at which noise is told from a difference are tested above; here the samples have none.
    monkeypatch.setattr(pairs_again, "N_IN_PAIR", 1)
    monkeypatch.setattr(confirming, "N_IN_PAIR", 1)
    old, new = two_commits
    quick, slow = 5_000_000, 5_150_000
    environment(old, told_wall_ns=quick)
    environment(new, told_wall_ns=slow)
    arrowroot.write(f"{tmp_path / 'n.root'}:T", {"x": np.arange(100), "y": np.arange(100)})
    path = tmp_path / "c.toml"
    text = (
        'repeats = 3\n[dataset.n]\nfiles = "n.root"\ntable = "T"\n[storage.here]\nkind = "local"\n'
        '[engine.arrowroot]\nversions = ["COMMIT"]\n'
        '[workload.wide]\ncolumns = ["x"]\n[workload.narrow]\ncolumns = ["y"]\n'
    )
    database = ["--db", str(tmp_path / "lab.db")]
    for commit in two_commits:
        path.write_text(text.replace("COMMIT", commit))
        assert main(["run", str(path), *database]) == 0
    with Store.open(tmp_path / "lab.db") as store:
        baseline = next(row.run for row in store.rows(Filter(version=(old,)), ("run",)))
    told = ["check", "--baseline", baseline, *database, "--json"]
    capsys.readouterr()
    # Without pairs it is only suspected.
    assert main([*told, "--no-confirm"]) == 0
    assert [one["state"] for one in json.loads(capsys.readouterr().out)["findings"]] == ["suspect"] * 2
    # On a busy machine there are no pairs.
    with monkeypatch.context() as busy:
        busy.setattr(sampling, "disturbed", lambda *_: ["other processes"])
        assert main(told) == 0
    notes = {one["note"] for one in json.loads(capsys.readouterr().out)["findings"]}
    assert notes == {"not confirmed: 0 of 10 turns were undisturbed: too few, as on a busy machine"}
    # One of the two was the machine's doing.
    environment(new, told_wall_ns=slow, wall_ns_of_y=quick)
    assert main(told) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [one["state"] for one in findings] == ["alarm", "cleared"]
    assert findings[0]["axes"]["workload"] == "wide"
    assert findings[0]["ratio_low"] == pytest.approx(1.03)
    assert findings[0]["note"] == "confirmed by 10 pairs in turns: at least 3.0 % slower"
    with Store.open(tmp_path / "lab.db") as store:
        # The confirming run is kept, as a campaign of its own.
        assert store.count(Filter(campaign=("c (check)",))) == 8
    # Of an engine that is the same the place is measured again: few per cent are left to the nights that follow.
    (tmp_path / "c.toml").write_text(text.replace("COMMIT", old))
    for time_ns, now_ns, states, code in (
        (slow, slow, {"suspect"}, 0),
        (3 * quick, slow, {"cleared"}, 0),
        (3 * quick, 2 * quick, {"slower place"}, 4),
    ):
        environment(old, told_wall_ns=time_ns)
        assert main(["run", str(path), *database, "--again"]) == 0
        environment(old, told_wall_ns=now_ns)
        capsys.readouterr()
        assert main(told) == code
        findings = json.loads(capsys.readouterr().out)["findings"]
        assert {one["state"] for one in findings} == states, findings
    assert all(one["note"].startswith("2.00 times, also when measured again; ") for one in findings)
