"""Statistics: bounds from the order of values alone, pairs taken in turns, and what they allow to say."""

from __future__ import annotations

from .bounds import CONFIDENCE, bound_rank, least_n, median_bounds
from .pairs import Pair, paired
from .verdict import LEAST, TOLERANCE, Comparison, Verdict, compare

__all__ = [
    "CONFIDENCE",
    "LEAST",
    "TOLERANCE",
    "Comparison",
    "Pair",
    "Verdict",
    "bound_rank",
    "compare",
    "least_n",
    "median_bounds",
    "paired",
]
