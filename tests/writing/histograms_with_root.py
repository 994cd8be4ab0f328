"""What ROOT says of histograms that others wrote: run in its process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.judge.lazy import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def shown(histogram: Any) -> dict[str, Any]:
    n_dimensions = histogram.GetDimension()
    axes = [histogram.GetXaxis(), histogram.GetYaxis(), histogram.GetZaxis()][:n_dimensions]
    cells = range(histogram.GetNcells())
    found = {
        "class": str(histogram.ClassName()),
        "name": str(histogram.GetName()),
        "title": str(histogram.GetTitle()),
        "entries": histogram.GetEntries(),
        "contents": [histogram.GetBinContent(cell) for cell in cells],
        "errors": [histogram.GetBinError(cell) for cell in cells],
        "mean": [histogram.GetMean(axis + 1) for axis in range(n_dimensions)],
        "deviation": [histogram.GetStdDev(axis + 1) for axis in range(n_dimensions)],
        "integral": histogram.Integral(),
        "axes": [
            {
                "title": str(axis.GetTitle()),
                "edges": [axis.GetBinLowEdge(place + 1) for place in range(axis.GetNbins() + 1)],
                "labels": [str(axis.GetBinLabel(place + 1)) for place in range(axis.GetNbins())],
                "is_variable": bool(axis.IsVariableBinSize()),
            }
            for axis in axes
        ],
    }
    if hasattr(histogram, "GetBinEntries"):
        found["bin_entries"] = [histogram.GetBinEntries(cell) for cell in cells]
        found["effective"] = [histogram.GetBinEffectiveEntries(cell) for cell in cells]
    # Its uses: added to itself, drawn, fitted.
    both = histogram.Clone()
    both.Add(histogram)
    found["added"] = both.GetBinContent(1)
    if n_dimensions == 1:
        histogram.Rebin(1, "again")
    canvas = ROOT.TCanvas("c", "c")
    histogram.Draw()
    canvas.Update()
    canvas.Close()
    return found


def show(path: Path) -> dict[str, dict[str, Any]]:
    """Return for each histogram its class, contents and errors of all bins, axes, labels, entries and statistics."""
    file = ROOT.TFile(str(path))
    keys = [key for key in file.GetListOfKeys() if key.GetClassName().startswith(("TH", "TProfile"))]
    return {str(key.GetName()): shown(key.ReadObj()) for key in keys}
