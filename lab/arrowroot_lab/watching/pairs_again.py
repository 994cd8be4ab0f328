"""How a suspicion about a time is judged once both engines were measured in turns."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from arrowroot_lab.statistics import LEAST, median_bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot_lab.statistics import Pair

#: Pairs of a confirming run, and the samples of each side that one of them is the least of: a sample is slower by
#: chance, never faster, so the least of some is nearer to the truth, and no outlier (docs/lab/watch.md has the rates).
N_PAIRS, N_IN_PAIR = 10, 5
#: The confidence of the bound alone: an equal time is confirmed as worse at most once in two hundred times.
CONFIDENCE = 0.995


@dataclass(frozen=True)
class Confirmed:
    """The answer of a confirming run about one case."""

    n_pairs: int
    #: The median of the ratios, now over before, and its lower bound; None: there were too few pairs.
    ratio: float | None
    low: float | None
    #: The share by which it must be worse.
    least: float = LEAST

    @property
    def is_worse(self) -> bool:
        """True if the bound is above that share: 1 %, on a shared node more."""
        return self.low is not None and self.low > 1 + self.least


def confirmed(pairs: Sequence[Pair], least: float = LEAST) -> Confirmed:
    """Judge the pairs of samples of one run, in the order of their turns.

    Of ``N_IN_PAIR`` turns after each other the least time of each side is taken; their ratios are the pairs.
    """
    groups = [pairs[start : start + N_IN_PAIR] for start in range(0, len(pairs), N_IN_PAIR)]
    ratios = [
        min(pair.now for pair in group) / min(pair.before for pair in group)
        for group in groups
        if len(group) == N_IN_PAIR
    ]
    bounds = median_bounds(ratios, CONFIDENCE)
    if bounds is None:
        return Confirmed(len(ratios), None, None, least)
    return Confirmed(len(ratios), median(ratios), bounds[0], least)
