"""Bounds of a median from the order of the values alone: exact for every distribution, wild values included."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Of each bound alone: it is on the wrong side of the median at most once in a hundred times.
CONFIDENCE = 0.99


@lru_cache(maxsize=4096)
def bound_rank(n: int, confidence: float = CONFIDENCE) -> int:
    """Return the rank, from either end of ``n`` sorted values, of a one-sided bound of their median.

    Each value is below the median with probability 1/2, so the number of those that are is binomial. 0 if ``n`` is
    too small for such a bound.
    """
    tail, rank = 0.0, 0
    while n and (tail := tail + math.comb(n, rank) / 2**n) <= 1 - confidence:
        rank += 1
    return rank


def least_n(confidence: float = CONFIDENCE) -> int:
    """Return how many values a bound needs at least: 7 at 99 %."""
    n = 1
    while not bound_rank(n, confidence):
        n += 1
    return n


def median_bounds(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Return the lower and the upper bound of the median, each one-sided; None if there are too few values."""
    rank = bound_rank(len(values), confidence)
    if rank == 0:
        return None
    ordered = sorted(values)
    return ordered[rank - 1], ordered[-rank]
