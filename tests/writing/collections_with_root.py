"""Runs in a Python that has ROOT: looks at lists, maps and sparse histograms, and writes such.

``collections_with_root.py lists OUT FILE``, ``... write-sparse FILE``, ``... show-sparse OUT FILE...``
"""

from __future__ import annotations

import json
import math
import os
import sys
from array import array
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.differential.root_session import start

KINDS = "DFLISC"


def lists(root: object, path: str) -> dict[str, object]:
    file = root.TFile(path)

    def size(one: object) -> int:
        return int(one.GetEntries()) if hasattr(one, "GetEntries") else 0

    found = list(file.Get("list"))
    pairs = file.Get("dir/map")
    return {
        "list": [[str(one.ClassName()), str(one.GetName()), size(one)] for one in found],
        "is one object": root.AddressOf(found[2])[0] == root.AddressOf(found[3])[0],
        "map": {
            str(key.GetName()): [str(pairs.GetValue(key).ClassName()), size(pairs.GetValue(key))]
            for key in pairs
        },
        "empty": int(file.Get("empty").GetEntries()),
        "table": str(file.Get("table").ClassName()),
    }


def write_sparse(root: object, path: str) -> None:
    file = root.TFile(path, "recreate")
    n_bins, low, high = array("i", [3, 70, 2]), array("d", [0, 0, -1]), array("d", [1, 2, 1])
    random = root.TRandom3(3)
    for kind in KINDS:
        name = f"sparse_{kind}"
        sparse = getattr(root, f"THnSparse{kind}")(name, "title", 3, n_bins, low, high)
        for _ in range(50):
            sparse.Fill(array("d", [random.Uniform(-0.1, 1.1), random.Uniform(2), random.Uniform(-1, 1)]))
        sparse.Write()
    weighted = root.THnSparseF("weighted", "", 3, n_bins, low, high, 16)
    weighted.Sumw2()
    for i in range(60):
        weighted.Fill(array("d", [random.Uniform(1), random.Uniform(2), 0]), 0.5 + i)
    weighted.Write()
    file.Close()


def shown(root: object, path: str) -> dict[str, object]:
    file = root.TFile(path)
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


def main() -> None:
    what, *arguments = sys.argv[1:]
    start(Path(arguments[0]).parent)
    import ROOT

    ROOT.gErrorIgnoreLevel = ROOT.kPrint
    if what == "lists":
        out, path = arguments
        Path(out).write_text(json.dumps(lists(ROOT, path)))
    elif what == "write-sparse":
        write_sparse(ROOT, arguments[0])
    else:
        out, *paths = arguments
        Path(out).write_text(json.dumps([shown(ROOT, path) for path in paths]))
    sys.stdout.flush()
    os._exit(0)


main()
