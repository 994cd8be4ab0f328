"""Plain values of ROOT's histograms and cut flows: run in ROOT's process."""

from __future__ import annotations

from typing import Any


def bins(histogram: Any) -> list[list[float]]:
    """Return the contents and errors, bins beyond the ends included."""
    cells = range(histogram.GetNcells())
    return [[histogram.GetBinContent(k) for k in cells], [histogram.GetBinError(k) for k in cells]]


def cut_flow(report: Any) -> list[int]:
    """Return how many entries there were, and how many of them pass each cut of RDataFrame's report."""
    cuts = list(report.GetValue())
    return [int(cuts[0].GetAll()), *(int(cut.GetPass()) for cut in cuts)]
