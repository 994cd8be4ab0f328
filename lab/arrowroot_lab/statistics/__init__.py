"""Statistics: bounds from the order of values alone, pairs taken in turns, what they say, and change points."""

from __future__ import annotations

from .bounds import CONFIDENCE, bound_rank, least_n, median_bounds
from .changes import LEAST_CHANGE, LEAST_HISTORY, Change, changes
from .nights import compare_nights, nearest
from .pairs import Pair, paired
from .rises import LEAST_ROUNDS, MOST_ROUNDS, WINDOW, Rise, middles, rises
from .verdict import (
    CONFIDENCE_SHARED,
    LEAST,
    LEAST_SHARED,
    TOLERANCE,
    TOLERANCE_SHARED,
    Comparison,
    Verdict,
    compare,
)

__all__ = [
    "CONFIDENCE",
    "CONFIDENCE_SHARED",
    "LEAST",
    "LEAST_CHANGE",
    "LEAST_HISTORY",
    "LEAST_ROUNDS",
    "LEAST_SHARED",
    "MOST_ROUNDS",
    "TOLERANCE",
    "TOLERANCE_SHARED",
    "WINDOW",
    "Change",
    "Comparison",
    "Pair",
    "Rise",
    "Verdict",
    "bound_rank",
    "changes",
    "compare",
    "compare_nights",
    "least_n",
    "median_bounds",
    "middles",
    "nearest",
    "paired",
    "rises",
]
