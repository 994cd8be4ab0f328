"""Statistics: bounds from the order of values alone, pairs taken in turns, what they say, and change points.

The rises of places (``rises.py``) are not among what is imported here, as they need NumPy.
"""

from __future__ import annotations

from .bounds import CONFIDENCE, bound_rank, least_n, median_bounds
from .changes import LEAST_CHANGE, LEAST_HISTORY, Change, changes
from .nights import compare_nights, nearest
from .pairs import InTurns, Pair, Samples, paired
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
    "LEAST_SHARED",
    "TOLERANCE",
    "TOLERANCE_SHARED",
    "Change",
    "Comparison",
    "InTurns",
    "Pair",
    "Samples",
    "Verdict",
    "bound_rank",
    "changes",
    "compare",
    "compare_nights",
    "least_n",
    "median_bounds",
    "nearest",
    "paired",
]
