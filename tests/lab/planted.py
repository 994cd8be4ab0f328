"""Planted truths: how often the verdicts find a difference that is there, and see one that is not.

``python -m tests.lab.planted`` measures the table of docs/lab/statistics.md anew and writes it there.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from arrowroot_lab.statistics import Verdict, compare
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


def main() -> None:
    """Write the table into the document."""
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    told = table()
    DOCUMENT.write_text(f"{before}{BEGIN}\n{told}\n{END}{after}")
    sys.stdout.write(told + "\n")


if __name__ == "__main__":
    main()
