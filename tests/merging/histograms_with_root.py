"""Histograms to merge, hadd, and what ROOT finds in the results: run in ROOT's process."""

from __future__ import annotations

from array import array
from typing import Any

from tests.judge.lazy import ROOT

CLASSES = ("TH1C", "TH1S", "TH1I", "TH1F", "TH1D", "TH2F", "TH2D", "TH3D")


def make() -> None:
    """Write ``h0.root`` to ``h2.root``."""
    for number in range(3):
        ROOT.gRandom.SetSeed(number + 1)
        file = ROOT.TFile(f"h{number}.root", "RECREATE")
        file.mkdir("a/b")
        file.cd("a/b")
        for name in CLASSES:
            n_axes = int(name[2])
            axes = [part for axis in range(n_axes) for part in (5 + axis, 0.0, 10.0)]
            made = getattr(ROOT, name)(f"h{name}", f"title {number}", *axes)
            for _ in range(50 + 200 * (name == "TH1C")):
                made.Fill(*(ROOT.gRandom.Uniform(-1, 11) for _ in range(n_axes)))
            made.Write()
        weighted = ROOT.TH1D("weighted", "", 4, 0, 1)
        weighted.Sumw2()
        for _ in range(30):
            weighted.Fill(ROOT.gRandom.Rndm(), ROOT.gRandom.Rndm())
        weighted.Write()
        # The first alone has sums of squares.
        mixed = ROOT.TH1D("mixed", "", 4, 0, 1)
        if number == 0:
            mixed.Sumw2()
        mixed.Fill(0.3, 2.0)
        mixed.Write()
        for name, axes in (
            ("TProfile", (4, 0.0, 1.0)),
            ("TProfile2D", (4, 0.0, 1.0, 3, 0.0, 1.0)),
        ):
            profile = getattr(ROOT, name)(f"p{name}", "", *axes)
            for _ in range(30):
                profile.Fill(*(ROOT.gRandom.Rndm() for _ in range(int(name == "TProfile2D") + 2)))
            profile.Write()
        edges = ROOT.TH1F("edges", "", 3, array("d", [0, 1, 5, 20]))
        edges.Fill(2)
        edges.Write()
        labelled = ROOT.TH1D("labelled", "", 2, 0, 2)
        for label in ("x", "y"):
            labelled.Fill(label, 1.0)
        labelled.Write()
        for name in ("TGraph", "TGraphErrors", "TGraphAsymmErrors"):
            graph = getattr(ROOT, name)()
            for point in range(number):
                graph.SetPoint(point, number, point)
                if name == "TGraphErrors":
                    graph.SetPointError(point, 0.5, number)
            graph.Write(f"g{name}")
        for kind, value in (("int", 3 + number), ("Long64_t", 2**40 + number), ("double", 0.5 + number)):
            ROOT.TParameter(kind)("p", value).Write(f"p{kind}")
        file.Close()


def numbers(path: str) -> dict[str, Any]:
    """Return contents, errors, entries and statistics of each histogram."""
    file = ROOT.TFile(path)
    directory = file.Get("a/b")
    found = {}
    for key in directory.GetListOfKeys():
        histogram = key.ReadObj()
        name = str(key.GetName())
        if name.startswith("g"):
            found[name] = {
                "points": [
                    [a.GetPointX(k), a.GetPointY(k), a.GetErrorX(k), a.GetErrorY(k)]
                    for a in [histogram]
                    for k in range(a.GetN())
                ]
            }
            continue
        if hasattr(histogram, "GetVal"):
            found[name] = {"value": histogram.GetVal()}
            continue
        statistics = ROOT.std.vector("double")(13)
        histogram.GetStats(statistics.data())
        bins = range(histogram.GetNcells())
        found[name] = {
            "title": str(histogram.GetTitle()),
            "contents": [float(histogram.GetBinContent(k)) for k in bins],
            "errors": [float(histogram.GetBinError(k)) for k in bins],
            "entries": float(histogram.GetEntries()),
            "statistics": [float(one) for one in statistics],
            "mean": float(histogram.GetMean()),
        }
    return found
