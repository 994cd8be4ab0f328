"""Merges histograms that others wrote, and the same that ROOT fills: run in its process."""

from __future__ import annotations

import array
from typing import TYPE_CHECKING, Any

from tests.judge.lazy import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def axes_of(histogram: Any) -> list[Any]:
    if histogram.InheritsFrom("THnBase"):
        return [histogram.GetAxis(place) for place in range(histogram.GetNdimensions())]
    return [histogram.GetXaxis(), histogram.GetYaxis(), histogram.GetZaxis()][: histogram.GetDimension()]


def made(name: str, case: dict[str, Any]) -> Any:
    """Return a histogram of ROOT, filled with the entries: (place on each axis, the value of a profile, weight)."""
    axes, n = case["axes"], len(case["axes"])
    n_bins = [max(1, axis["n_bins"]) for axis in axes]
    low, high = (
        [axis["low"] for axis in axes],
        [axis["low"] + bins for axis, bins in zip(axes, n_bins, strict=True)],
    )
    if n > 3:
        counts = array.array("i", n_bins)
        found = ROOT.THnSparseD(name, "", n, counts, array.array("d", low), array.array("d", high))
    else:
        kind = ("TProfile", "TProfile2D", "TProfile3D")[n - 1] if case["is_profile"] else f"TH{n}D"
        bounds = [number for one in zip(n_bins, low, high, strict=True) for number in one]
        found = getattr(ROOT, kind)(name, "", *bounds)
    if case["is_weighted"]:
        found.Sumw2()
    for axis, told in zip(axes_of(found), axes, strict=True):
        for place, label in enumerate(told["labels"] or []):
            axis.SetBinLabel(place + 1, label)
        axis.SetCanExtend(False)  # while it is filled: what is outside is to be in the overflow
    for places, value, weight in case["entries"]:
        at = [axis.GetBinLowEdge(1) + place + 0.5 for axis, place in zip(axes_of(found), places, strict=True)]
        if n > 3:
            found.Fill(array.array("d", at), weight)
        else:
            found.Fill(*at, *([value] if case["is_profile"] else []), weight)
    for axis, told in zip(axes_of(found), axes, strict=True):
        axis.SetCanExtend(told["labels"] is not None or told["grows"])
        if told["labels"] is not None:
            axis.SetAlphanumeric(True)
    return found


def filled(histogram: Any) -> dict[str, list[float]]:
    """Return content and error of each bin that has any, by labels, or places where there is none."""
    axes, found = axes_of(histogram), {}
    if histogram.InheritsFrom("THnBase"):
        places = array.array("i", [0] * len(axes))
        bins = []
        for number in range(histogram.GetNbins()):
            # A number alone is taken for a pointer.
            content = histogram.GetBinContent.__overload__("Long64_t,Int_t*")(number, places)
            bins.append((list(places), content, histogram.GetBinError2(number)))
    else:
        bins = []
        for number in range(histogram.GetNcells()):
            n_x, n_y = axes[0].GetNbins() + 2, axes[1].GetNbins() + 2 if len(axes) > 1 else 1
            places = [number % n_x, number // n_x % n_y, number // n_x // n_y][: len(axes)]
            bins.append((places, histogram.GetBinContent(number), histogram.GetBinError(number)))
    for places, content, error in bins:
        names = [
            str(axis.GetBinLabel(place)) or str(axis.GetBinLowEdge(place))
            for axis, place in zip(axes, places, strict=True)
        ]
        if content or error:
            found["|".join(names)] = [content, error]
    return found


def told(histogram: Any) -> dict[str, Any]:
    axes = axes_of(histogram)
    return {
        "class": str(histogram.ClassName()),
        "bins": filled(histogram),
        "entries": histogram.GetEntries(),
        "labels": [[str(axis.GetBinLabel(place + 1)) for place in range(axis.GetNbins())] for axis in axes],
        "ranges": [[axis.GetXmin(), axis.GetXmax()] for axis in axes],
        "axes": [[axis.IsAlphanumeric(), axis.CanExtend()] for axis in axes],
    }


def merged(files: list[str], out: str) -> None:
    merger = ROOT.TFileMerger(False, False)
    merger.SetPrintLevel(0)
    assert merger.OutputFile(out, "RECREATE")
    assert all(merger.AddFile(file) for file in files)
    assert merger.Merge()


def merge_all(cases: dict[str, list[dict[str, Any]]], added: Path, files: list[Path]) -> dict[str, Any]:
    """Merge files, and ROOT's own histograms of cases: by name, for each file the axes and entries of a histogram.

    added: what hadd made of the files. Returns: for each case what hadd and TFileMerger make of it, and of ROOT's own.
    """
    ROOT.TH1.AddDirectory(False)
    own = []
    for number in range(len(files)):
        own.append(f"own{number}.root")
        file = ROOT.TFile(own[-1], "RECREATE")
        for name, case in cases.items():
            file.WriteObject(made(name, case[number]), name)
        file.Close()
    merged(own, "own.root")
    merged(list(map(str, files)), "merged.root")
    found = {}
    for name, path in {"own": "own.root", "TFileMerger": "merged.root", "hadd": str(added)}.items():
        file = ROOT.TFile(path)
        found[name] = {str(key.GetName()): told(key.ReadObj()) for key in file.GetListOfKeys()}
    return found
