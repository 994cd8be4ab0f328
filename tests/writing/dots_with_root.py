"""Reads branches with dots in their names: run in ROOT's process."""

from __future__ import annotations

from typing import Any

from tests.judge.lazy import ROOT


def use(path: str) -> dict[str, Any]:
    """Return what ROOT's ways of reading give of the columns of test_dots.py, and the names of the branches."""
    file = ROOT.TFile(path)
    tree = file.Get("Events")
    names = [str(branch.GetName()) for branch in tree.GetListOfBranches()]

    def drawn(expression: str, cut: str = "") -> list[float]:
        n = tree.Draw(expression, cut, "goff")
        values = tree.GetV1()
        return [values[place] for place in range(n)]

    found: dict[str, Any] = {
        "names": names,
        "number": drawn("met.pt"),
        "list": drawn("jet.pt"),
        "with others": drawn("jet.pt - jet.eta", "met.pt > 1 && jet.eta > 0"),
        "sum": drawn("Sum$(jet.pt)"),
        "own counter": drawn("track.pt"),
        "vectors": drawn("hit.x"),
    }
    reader = ROOT.TTreeReader(tree)
    number = ROOT.TTreeReaderValue["double"](reader, "met.pt")
    items = {name: ROOT.TTreeReaderArray["float"](reader, name) for name in ("jet.pt", "jet.eta", "track.pt")}
    by_reader: list[Any] = []
    while reader.Next():
        by_reader.append([float(number.Get()[0]), *(list(map(float, array)) for array in items.values())])
    found["TTreeReader"] = by_reader
    frame = ROOT.RDataFrame(tree)
    found["RDataFrame"] = [
        list(map(float, one)) for one in frame.Filter("met.pt > 1").Take["ROOT::RVec<float>"]("jet.pt")
    ]
    return found
