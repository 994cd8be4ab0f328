"""Runs in a Python that has ROOT: what ROOT says of histograms that others wrote.

``histograms_with_root.py OUT FILE``: writes to OUT, as JSON, for each histogram of FILE its class, contents and errors
of all bins, axes, labels, entries and statistics.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.differential.root_session import start


def shown(root: Any, histogram: Any) -> dict[str, Any]:
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
    canvas = root.TCanvas("c", "c")
    histogram.Draw()
    canvas.Update()
    return found


def main() -> None:
    out, path = sys.argv[1:]
    start(Path(out).parent)
    import ROOT

    ROOT.gErrorIgnoreLevel = ROOT.kPrint
    file = ROOT.TFile(path)
    keys = [key for key in file.GetListOfKeys() if key.GetClassName().startswith(("TH", "TProfile"))]
    Path(out).write_text(json.dumps({str(key.GetName()): shown(ROOT, key.ReadObj()) for key in keys}))
    sys.stdout.flush()
    os._exit(0)


main()
