"""Statistics: bounds from the order of values alone, pairs taken in turns, what they say, and change points."""

from __future__ import annotations

from .bounds import CONFIDENCE, bound_rank, least_n, median_bounds
from .changes import LEAST_CHANGE, LEAST_HISTORY, Change, changes
from .pairs import Pair, paired
from .verdict import LEAST, TOLERANCE, Comparison, Verdict, compare

__all__ = [
    "CONFIDENCE",
    "LEAST",
    "LEAST_CHANGE",
    "LEAST_HISTORY",
    "TOLERANCE",
    "Change",
    "Comparison",
    "Pair",
    "Verdict",
    "bound_rank",
    "changes",
    "compare",
    "least_n",
    "median_bounds",
    "paired",
]
