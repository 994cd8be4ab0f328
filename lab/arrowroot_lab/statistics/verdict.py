"""What pairs allow to say: better, worse, no difference, or that they are not enough."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from .bounds import CONFIDENCE, least_n, median_bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

#: A difference is told if it is larger than this share, at CONFIDENCE: what two runs of equal programs differ by.
LEAST = 0.01
#: *No difference*: it is smaller than this share, at CONFIDENCE.
TOLERANCE = 0.03
#: The same of times in which others on the node wait and are waited for, and the confidence of their bounds: loads of a
#: node come and go, so that a turn is less like the next one.
LEAST_SHARED, TOLERANCE_SHARED, CONFIDENCE_SHARED = 0.05, 0.10, 0.999


class Verdict(str, Enum):
    """What a comparison says."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference"
    NOT_ENOUGH = "not enough"


@dataclass(frozen=True)
class Comparison:
    """Ratios of pairs, now over before."""

    verdict: Verdict
    n_pairs: int
    #: The median of the ratios; None if there are no pairs.
    ratio: float | None
    #: Bounds of that median, each one-sided at CONFIDENCE; None if there are too few pairs.
    low: float | None
    high: float | None
    #: Why it is not enough.
    reason: str | None = None
    #: The ratios have no noise: one is enough, and the bounds are the least and the greatest.
    is_exact: bool = False


def compare(
    ratios: Sequence[float],
    *,
    is_lower_better: bool = True,
    least: float = LEAST,
    tolerance: float = TOLERANCE,
    confidence: float = CONFIDENCE,
    is_exact: bool = False,
    widening: float = 1.0,
    of: str = "pairs",
) -> Comparison:
    """Return what the ratios of pairs, now over before, allow to say.

    Worse (where lower is better): the lower bound of the median ratio is above 1 + ``least``. Better: the upper bound
    is below 1 / (1 + ``least``). No difference: both bounds are within a factor of 1 + ``tolerance`` of 1. Else the
    pairs are not enough: there are fewer than 7, or they scatter too much.

    is_exact: the ratios are those of virtual time, each of two replays of one trace: there is no noise to be bounded.
    widening: the bounds are so many times as far from the median, as ratios that are alike tell less than others
    of: what the ratios are of, for people
    """
    is_exact = is_exact and bool(ratios)
    bounds = (min(ratios), max(ratios)) if is_exact else median_bounds(ratios, confidence)
    if bounds is None:
        few = f"{len(ratios)} {of}; a bound at {confidence:.0%} needs {least_n(confidence)}"
        told = statistics.median(ratios) if ratios else None
        return Comparison(Verdict.NOT_ENOUGH, len(ratios), told, None, None, few)
    middle = statistics.median(ratios)
    low, high = (middle * (bound / middle) ** widening if widening > 1 else bound for bound in bounds)
    reason: str | None = None
    if low > 1 + least:
        verdict = Verdict.WORSE if is_lower_better else Verdict.BETTER
    elif high < 1 / (1 + least):
        verdict = Verdict.BETTER if is_lower_better else Verdict.WORSE
    elif 1 / (1 + tolerance) <= low and high <= 1 + tolerance:
        verdict = Verdict.NO_DIFFERENCE
    else:
        verdict = Verdict.NOT_ENOUGH
        reason = (
            "in virtual time, and its runs do not agree"
            if is_exact
            else f"the {of} scatter too much; more {'repeats' if of == 'pairs' else of} narrow the bounds"
        )
    return Comparison(verdict, len(ratios), middle, low, high, reason, is_exact)
