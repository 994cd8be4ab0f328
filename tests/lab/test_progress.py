"""What a run reports while it goes on and at its end: an even share, believable times, steps, and what it measured."""

from __future__ import annotations

import io
import re
import sys
from itertools import pairwise
from types import SimpleNamespace

import pytest

from arrowroot_lab.cli.screen import Screen
from arrowroot_lab.mining.writing import cut
from arrowroot_lab.running import events, sampling
from arrowroot_lab.running.events import Progress, RunProgress
from tests.command import run_here
from tests.lab.running import CASES, engine, run


class Clock:
    """A run of cases whose time is counted here; each disturbed sample is taken again, as a session does."""

    def __init__(self, monkeypatch, *, n_cases, n_wanted, actual_s, estimated_s, is_disturbed):
        self.now_s, self.states = 0.0, []
        monkeypatch.setattr(events.time, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(
            events, "_cost_of", lambda _: events._Cost(2e9 * estimated_s, 1e9 * estimated_s, 0.0, False)
        )
        self.progress = Progress(lambda *told: self.states.append((self.now_s, told[-1])))
        self.actual_s, self.is_disturbed, self.n = actual_s, is_disturbed, 0
        self.cases = [self._case(place, n_wanted) for place in range(n_cases)]

    def _case(self, place, n_wanted):
        case = SimpleNamespace(names=lambda: {"dataset": "tree", "workload": f"w{place}"})
        return SimpleNamespace(
            case=case, label=f"tree / w{place}", n_wanted=n_wanted, n_most=2 * n_wanted, n_counted=0, took_ns=[],
            is_over=False, is_stored=False, is_rehearsed=False, result=SimpleNamespace(samples=[], predictions=[]),
        )  # fmt: skip

    def _passes(self, seconds):
        self.now_s += seconds
        self.progress("sample", "tree / w0", "1 s")

    def run(self):
        self.progress.begin(self.cases, {one.label for one in self.cases})
        for one in self.cases:
            one.is_rehearsed = True
            self._passes(3 * self.actual_s)
        while left := [one for one in self.cases if not one.is_over]:
            for one in left:
                for _ in range(3):
                    self.n += 1
                    is_counted = not self.is_disturbed(self.n)
                    one.result.samples.append(None)
                    one.n_counted += is_counted
                    one.took_ns.append(1e9 * self.actual_s)
                    one.is_over = one.n_counted >= one.n_wanted or len(one.result.samples) >= one.n_most
                    self._passes(self.actual_s)
                    if is_counted or one.is_over:
                        break
        return self.now_s, self.states


@pytest.mark.parametrize(
    "is_disturbed",
    [lambda _: False, lambda n: n % 2 == 0, lambda n: n % 7 < 4, lambda _: True],
    ids=["quiet", "half", "more", "always"],
)
@pytest.mark.parametrize("actual_s", [0.1, 1.0, 5.0])
def test_the_share_of_a_run_grows_evenly_and_the_time_left_is_believable(monkeypatch, is_disturbed, actual_s):
    clock = Clock(
        monkeypatch, n_cases=6, n_wanted=7, actual_s=actual_s, estimated_s=1.0, is_disturbed=is_disturbed
    )
    end_s, states = clock.run()
    shares = [state.share for _, state in states]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    for at_s, state in states:
        assert state.share == pytest.approx(at_s / end_s, abs=0.25)
    # Nothing is said of the rest before the rehearsal is over.
    assert [state.left_s is None for _, state in states] == [True] * (len(clock.cases) - 1) + [False] * (
        len(states) - len(clock.cases) + 1
    )
    # Once there are samples.
    for at_s, state in states[len(clock.cases) + 3 :]:
        assert state.left_s == pytest.approx(end_s - at_s, abs=0.4 * end_s)
    jumps = [after - before for before, after in pairwise(shares)]
    assert max(jumps) < 0.2


NAME = "a dataset with a long name / 20 ms, simulated / 10 columns, 2 threads / treecache"


def test_on_a_terminal_one_line_is_written_anew_whose_values_are_whole(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stderr", terminal)
    screen = Screen()
    for share in range(100):
        state = RunProgress(share / 100, 12.5)
        screen.show("turn", "quick", "turn 3, 9 cases", state)
        screen.show("sample", NAME, "53.9 ms", state)
        screen.show("disturbed", NAME, "53.9 ms, not counted", state)
        screen.show("case", NAME, "53.9 ms; 2 of 7 samples were undisturbed", state)
    told = terminal.getvalue()
    assert "\n" not in told
    lines = told.split("\r\x1b[K")[1:]
    assert max(map(len, lines)) < 80
    assert "[ 42 %, 12.5 s left] a dataset with a l…reads / treecache: 53.9 ms, not counted" in lines
    assert sum(line.endswith(": 53.9 ms") for line in lines) == 100
    screen.show("failed", NAME, "failed: " + "the server closed the connection " * 5, RunProgress(1.0, 0.0))
    *_, stays, last = terminal.getvalue().split("\r\x1b[K")[-1].split("\n")
    assert last == ""
    assert stays.startswith("  ")


def test_a_run_that_nobody_watches_prints_a_line_a_step(campaign, monkeypatch):
    n_calls = iter(range(1, 1000))
    monkeypatch.setattr(
        sampling, "disturbed", lambda *_: ["other processes took 51%"] if next(n_calls) % 2 else []
    )
    path = campaign(engine("a") + engine("b"), repeats=7)
    done = run_here("lab", "run", path, "--db", path.with_suffix(".db"), "--site", "s")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "hashed" not in line]
    assert max(map(len, lines)) <= 80
    # A line for the rehearsals, for each turn, and for each case.
    assert len(lines) == 1 + 7 + 4, done.stderr
    assert sum(f": turn {n} of 7" in line for n, line in enumerate(lines)) == 7
    assert "not counted" not in done.stderr
    shares = [int(share) for share in re.findall(r"^\[ *(\d+) %", done.stderr, re.MULTILINE)]
    assert (len(shares), shares) == (len(lines), sorted(shares))
    assert shares[-1] == 100
    # What was measured, how often samples did not count, and what to do next.
    told = done.stdout.splitlines()
    assert max(len(line) for line in told if str(path.parent) not in line) <= 80
    for name in ("a", "b"):
        for case in CASES:
            (line,) = [line for line in told if line.startswith(f"{case} / {name}")]
            assert re.search(r" [\d.]+ [µm]?s +[\d.]+ % +7  ok$", line), line
    assert "28 of 56 samples are kept and not counted" in " ".join(done.stdout.split())
    database = path.with_suffix(".db")
    assert done.stdout.endswith(
        f"What to do next:\n  arrowroot lab compare --by engine --db {database}\n"
        f"  arrowroot lab publish pages/ --db {database}\n"
    )


def test_after_a_failure_the_overview_is_what_to_look_at(campaign):
    path = campaign(engine("a", error="the server closed the connection"), repeats=1)
    done = run_here("lab", "run", path, "--db", path.with_suffix(".db"), "--site", "s")
    assert done.returncode == 1, done.stderr
    assert done.stdout.endswith(
        f"What to do next:\n  arrowroot lab show --overview --db {path.with_suffix('.db')}\n"
    )


@pytest.mark.usefixtures("undisturbed")
def test_names_of_cases_have_what_differs_between_them(campaign):
    told = []
    run(campaign(engine("a"), repeats=1), events=told)
    assert {about for kind, about, *_ in told if kind in ("sample", "case")} == set(CASES)


def test_names_are_cut_in_the_middle():
    assert [cut("0123456789", width) for width in (10, 9, 5, 2, 1, 0)] == [
        "0123456789", "0123…6789", "01…89", "0…", "…", "",
    ]  # fmt: skip
