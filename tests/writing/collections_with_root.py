"""Looks at lists, maps and sparse histograms, and writes such: run in ROOT's process."""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, Any

from tests.judge.lazy import ROOT

if TYPE_CHECKING:
    from pathlib import Path

KINDS = "DFLISC"


def lists(path: Path) -> dict[str, Any]:
    file = ROOT.TFile(str(path))

    def size(one: object) -> int:
        return int(one.GetEntries()) if hasattr(one, "GetEntries") else 0

    found = list(file.Get("list"))
    pairs = file.Get("dir/map")
    return {
        "list": [[str(one.ClassName()), str(one.GetName()), size(one)] for one in found],
        "is one object": ROOT.AddressOf(found[2])[0] == ROOT.AddressOf(found[3])[0],
        "map": {
            str(key.GetName()): [str(pairs.GetValue(key).ClassName()), size(pairs.GetValue(key))]
            for key in pairs
        },
        "empty": int(file.Get("empty").GetEntries()),
        "table": str(file.Get("table").ClassName()),
    }


def write_sparse(path: Path) -> None:
    file = ROOT.TFile(str(path), "recreate")
    n_bins, low, high = array("i", [3, 70, 2]), array("d", [0, 0, -1]), array("d", [1, 2, 1])
    random = ROOT.TRandom3(3)
    for kind in KINDS:
        name = f"sparse_{kind}"
        sparse = getattr(ROOT, f"THnSparse{kind}")(name, "title", 3, n_bins, low, high)
        for _ in range(50):
            sparse.Fill(array("d", [random.Uniform(-0.1, 1.1), random.Uniform(2), random.Uniform(-1, 1)]))
        sparse.Write()
    weighted = ROOT.THnSparseF("weighted", "", 3, n_bins, low, high, 16)
    weighted.Sumw2()
    for i in range(60):
        weighted.Fill(array("d", [random.Uniform(1), random.Uniform(2), 0]), 0.5 + i)
    weighted.Write()
    file.Close()


def show_sparse(path: Path) -> dict[str, Any]:
    file = ROOT.TFile(str(path))
    found = {}
    for key in file.GetListOfKeys():
        sparse = key.ReadObj()
        n = sparse.GetNdimensions()
        place = array("i", [0] * n)
        bins = []
        for i in range(sparse.GetNbins()):
            content = sparse.GetBinContent(i, place)
            bins.append([*place, content, math.sqrt(sparse.GetBinError2(i))])
        last = sparse.GetAxis(n - 1)
        projection = sparse.Projection(0)
        found[str(key.GetName())] = {
            "class": str(sparse.ClassName()),
            "bins": sorted(bins),
            "n_filled": int(sparse.GetNbins()),
            "entries": sparse.GetEntries(),
            "errors": bool(sparse.GetCalculateErrors()),
            "titles": [str(sparse.GetAxis(i).GetTitle()) for i in range(n)],
            "edges": [last.GetBinLowEdge(i) for i in range(1, last.GetNbins() + 2)],
            "projection": [projection.GetBinContent(i) for i in range(5)],
        }
    return found
