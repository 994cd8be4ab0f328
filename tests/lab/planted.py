"""Planted truths: how often verdicts and change points find a difference that is there, and see one that is not.

``python -m tests.lab.planted`` measures the tables of docs/lab/statistics.md and watch.md anew and writes them there.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from arrowroot_lab.statistics import Pair, Verdict, changes, compare
from arrowroot_lab.watching import pairs_again
from tests.lab.made import Noise

DOCUMENT = Path(__file__).parents[2] / "docs" / "lab" / "statistics.md"
BEGIN, END = "<!-- planted: begin -->", "<!-- planted: end -->"
COLUMNS = (
    "equal: better or worse",
    "equal: no difference",
    "5 % slower: worse",
    "5 % slower: better",
    "10 % slower: worse",
)
N_TRIALS, SEED = 4000, 20261126


@dataclass(frozen=True)
class Scenario:
    """The truth, and how noisy the machine is."""

    title: str
    n_pairs: int
    #: The new program takes so much of the old one's time.
    step: float = 1.0
    run: float = 0.005
    #: True: each program has a run-to-run factor of its own, which pairs cannot see.
    is_run_apart: bool = False
    #: The machine gets slower by so much from the first pair to the last.
    drift: float = 0.0
    #: How many runs the pairs come from.
    n_runs: int = 1

    def ratios(self, draw: random.Random) -> list[float]:
        """The ratios of one comparison's pairs."""
        noise, ratios = Noise(run=self.run), []
        for _ in range(self.n_runs):
            first = noise.of_run(draw)
            second = noise.of_run(draw) if self.is_run_apart else first
            n = self.n_pairs // self.n_runs
            for turn in range(n):
                slow = 1 + self.drift * turn / n
                before = int(1e8 * first * slow * noise.of_sample(draw))
                now = int(1e8 * second * slow * self.step * noise.of_sample(draw))
                ratios.append(now / before)
        return ratios


SCENARIOS = (
    *(Scenario(f"{n} pairs", n) for n in (7, 11, 14, 20, 30)),
    *(Scenario(f"{n} pairs, run-to-run 1.5 %", n, run=0.015) for n in (11, 20)),
    *(Scenario(f"{n} pairs, 20 % slower from first to last", n, drift=0.2) for n in (11, 20)),
    Scenario("20 pairs, run-to-run 0.5 % of each program alone", 20, is_run_apart=True),
    Scenario("20 pairs, run-to-run 1.5 % of each program alone", 20, run=0.015, is_run_apart=True),
    Scenario("20 pairs of 4 runs, the same", 20, run=0.015, is_run_apart=True, n_runs=4),
)


def shares(
    scenario: Scenario, step: float, seed: int = SEED, n_trials: int = N_TRIALS
) -> dict[Verdict, float]:
    """How often each verdict is told if the new program takes ``step`` of the old one's time."""
    draw = random.Random(f"{seed} {scenario} {step}")
    planted = Scenario(**{**vars(scenario), "step": step})
    told = Counter(compare(planted.ratios(draw)).verdict for _ in range(n_trials))
    return {verdict: told[verdict] / n_trials for verdict in Verdict}


def table(n_trials: int = N_TRIALS) -> str:
    """The table of the document."""
    lines = [
        f"Measured: {n_trials:,} comparisons each, seed {SEED}.",
        "",
        f"| pairs | {' | '.join(COLUMNS)} |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for scenario in SCENARIOS:
        null, five, ten = (shares(scenario, step, n_trials=n_trials) for step in (1.0, 1.05, 1.10))
        cells = (
            null[Verdict.BETTER] + null[Verdict.WORSE],
            null[Verdict.NO_DIFFERENCE],
            five[Verdict.WORSE],
            five[Verdict.BETTER],
            ten[Verdict.WORSE],
        )
        lines.append(f"| {scenario.title} | " + " | ".join(f"{100 * cell:.2f} %" for cell in cells) + " |")
    return "\n".join(lines)


HISTORIES_BEGIN, HISTORIES_END = "<!-- histories: begin -->", "<!-- histories: end -->"
HISTORY_COLUMNS = (
    "equal: a change point",
    "equal, judged anew at each of 20 points: one at any time",
    "5 % slower, found after 3 points",
    "after 5 points",
    "10 % slower, found after 3 points",
)
N_HISTORIES = 1000


@dataclass(frozen=True)
class HistoryScenario:
    """A history, and how its points are made."""

    title: str
    statistic: str = "median"
    n_samples: int = 5
    run: float = 0.005
    n_points: int = 60

    def figures(self, draw: random.Random, step: float = 1.0, n_after: int = 0) -> list[float]:
        """The figures of its points; the last ``n_after`` are ``step`` times as slow."""
        noise = Noise(run=self.run)
        figure = {"median": statistics.median, "minimum": min}[self.statistic]
        figures = []
        for point in range(self.n_points):
            level = 1e8 * noise.of_run(draw) * (step if point >= self.n_points - n_after else 1)
            figures.append(figure([level * noise.of_sample(draw) for _ in range(self.n_samples)]))
        return figures


HISTORIES = (
    HistoryScenario("median of 5 samples"),
    HistoryScenario("minimum of 5 samples", "minimum"),
    HistoryScenario("median of 20 samples", n_samples=20),
    HistoryScenario("median of 5 samples, run-to-run 1.5 %", run=0.015),
    HistoryScenario("minimum of 5 samples, run-to-run 1.5 %", "minimum", run=0.015),
    HistoryScenario("median of 5 samples, 12 points", n_points=12),
)


def share_with_changes(one: HistoryScenario, n_trials: int = N_HISTORIES) -> float:
    """How often a history in which nothing changed has a change point."""
    draw = random.Random(f"{SEED} {one} null")
    return sum(bool(changes(one.figures(draw))) for _ in range(n_trials)) / n_trials


def share_ever_with_changes(one: HistoryScenario, n_trials: int = N_HISTORIES // 4) -> float:
    """How often a history in which nothing changed has one at any time while its last 20 points come in."""
    draw = random.Random(f"{SEED} {one} growing")
    n_rung = 0
    for _ in range(n_trials):
        figures = one.figures(draw)
        n_first = max(one.n_points - 20, 0)
        n_rung += any(changes(figures[:n]) for n in range(n_first, one.n_points + 1))
    return n_rung / n_trials


def share_found(one: HistoryScenario, step: float, n_after: int, n_trials: int = N_HISTORIES) -> float:
    """How often a step is found, at its place or one beside it, once there are ``n_after`` points of it."""
    draw, at = random.Random(f"{SEED} {one} {step} {n_after}"), one.n_points - n_after
    return (
        sum(
            any(
                abs(found.place - at) <= 1 and found.ratio > 1
                for found in changes(one.figures(draw, step, n_after))
            )
            for _ in range(n_trials)
        )
        / n_trials
    )


def cells_of(one: HistoryScenario) -> str:
    """The cells of a history's line in the document."""
    cells = (
        share_with_changes(one),
        share_ever_with_changes(one),
        share_found(one, 1.05, 3),
        share_found(one, 1.05, 5),
        share_found(one, 1.10, 3),
    )
    return " | ".join(f"{100 * cell:.1f} %" for cell in cells)


def histories() -> str:
    """The table of histories."""
    measured = f"{N_HISTORIES:,} histories each ({N_HISTORIES // 4} of those that grow)"
    lines = [
        f"Measured: {measured}, of 60 points where nothing else is said, seed {SEED}.",
        "",
        f"| a point is | {' | '.join(HISTORY_COLUMNS)} |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    return "\n".join([*lines, *(f"| {one.title} | {cells_of(one)} |" for one in HISTORIES)])


NIGHTS_BEGIN, NIGHTS_END = "<!-- nights: begin -->", "<!-- nights: end -->"
N_NIGHTS = 60
#: How much neighbouring nights are alike, and the share of nights that are 20 to 100 % slower.
NIGHTS = {
    "independent nights": (0.0, 0.0),
    "3 % of nights slow": (0.0, 0.03),
    "neighbours alike (0.5)": (0.5, 0.0),
    "both": (0.5, 0.03),
}


def nights(n_trials: int = N_HISTORIES) -> str:
    """The table of histories of real nights: how often one in which nothing changed has a change point."""
    lines = [
        f"Measured: {n_trials:,} histories each, of {N_NIGHTS} points, medians of 5 samples, seed {SEED}.",
        "",
        f"| noise from run to run | {' | '.join(NIGHTS)} |",
        "|---|---:|---:|---:|---:|",
    ]
    for noise in (0.005, 0.015, 0.03, 0.05):
        cells = (share_of_nights(noise, *kind, n_trials=n_trials) for kind in NIGHTS.values())
        lines.append(f"| {100 * noise:g} % | " + " | ".join(f"{100 * cell:.1f} %" for cell in cells) + " |")
    return "\n".join(lines)


def share_of_nights(noise: float, alike: float, slow: float, n_trials: int = N_HISTORIES) -> float:
    """How often a history has a change point in which nothing changed but by chance."""
    draw, n_found = random.Random(f"{SEED} {noise} {alike} {slow}"), 0
    for _ in range(n_trials):
        common, figures = draw.gauss(0, 1), []
        for _ in range(N_NIGHTS):
            common = alike * common + math.sqrt(1 - alike**2) * draw.gauss(0, 1)
            is_slow = 1 + draw.uniform(0.2, 1.0) if draw.random() < slow else 1.0
            level = 1e8 * math.exp(noise * common) * is_slow
            figures.append(statistics.median(level * Noise().of_sample(draw) for _ in range(5)))
        n_found += bool(changes(figures))
    return n_found / n_trials


CONFIRMING_BEGIN, CONFIRMING_END = "<!-- confirming: begin -->", "<!-- confirming: end -->"


def share_confirmed(step: float, noise: Noise, n_trials: int = N_HISTORIES) -> float:
    """How often a confirming run tells a program that takes ``step`` of the other's time to be worse."""
    draw = random.Random(f"{SEED} {step} {noise}")
    n_confirmed = 0
    for _ in range(n_trials):
        run = noise.of_run(draw)
        pairs = [
            Pair("run", turn, run * noise.of_sample(draw), run * step * noise.of_sample(draw))
            for turn in range(pairs_again.N_PAIRS * pairs_again.N_IN_PAIR)
        ]
        n_confirmed += pairs_again.confirmed(pairs).is_worse
    return n_confirmed / n_trials


def confirming() -> str:
    """The table of confirming runs."""
    steps = (1.0, 1.02, 1.03, 1.05, 1.10)
    lines = [
        f"Measured: {N_HISTORIES:,} confirming runs each, seed {SEED}.",
        "",
        "| samples are slower by | equal | 2 % slower | 3 % | 5 % | 10 % |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for title, noise in (("1 %", Noise(sample=0.01)), ("3 %", Noise()), ("5 %", Noise(sample=0.05))):
        cells = " | ".join(f"{100 * share_confirmed(step, noise):.1f} %" for step in steps)
        lines.append(f"| {title} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Write the tables into the documents."""
    for name, begin, end, told in (
        (DOCUMENT.name, BEGIN, END, table()),
        (DOCUMENT.name, HISTORIES_BEGIN, HISTORIES_END, histories()),
        (DOCUMENT.name, NIGHTS_BEGIN, NIGHTS_END, nights()),
        ("watch.md", CONFIRMING_BEGIN, CONFIRMING_END, confirming()),
    ):
        sys.stdout.write(written(name, begin, end, told) + "\n\n")


def written(name: str, begin: str, end: str, told: str) -> str:
    """Write a table into a document of the laboratory, between its marks; return it."""
    document = DOCUMENT.with_name(name)
    before, _, rest = document.read_text().partition(begin)
    document.write_text(f"{before}{begin}\n{told}\n{end}{rest.partition(end)[2]}")
    return told


if __name__ == "__main__":
    main()
