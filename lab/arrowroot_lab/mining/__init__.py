"""Mining: one layer of queries for all faces; each gives a Table, or several."""

from __future__ import annotations

from .case import Compared
from .comparison import compare
from .environments import environment_difference
from .history import History, history, series
from .matrix import matrix
from .metrics import METRICS, Metric, metric
from .overview import Overview, overview
from .report import report
from .results import results_table
from .table import Column, ResultTable

__all__ = [
    "METRICS",
    "Column",
    "Compared",
    "History",
    "Metric",
    "Overview",
    "ResultTable",
    "compare",
    "environment_difference",
    "history",
    "matrix",
    "metric",
    "overview",
    "report",
    "results_table",
    "series",
]
