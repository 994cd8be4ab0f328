"""Skims files as RDataFrame does, and reads what arrowroot made of them: run in ROOT's process."""

from __future__ import annotations

from typing import Any

from tests.judge.lazy import ROOT


def snapshot(condition: str, columns: list[str]) -> int:
    """Write ``snapshot.root`` of the entries of ``a.root`` and ``b.root`` for which a condition holds."""
    frame = ROOT.RDataFrame("Events", ["a.root", "b.root"]).Filter(condition)
    return int(frame.Snapshot("Events", "snapshot.root", columns).Count().GetValue())


def told(file: str, columns: list[str]) -> dict[str, Any]:
    """Return the values of columns by ROOT, and the counter and the codec of each branch of a tree."""
    opened = ROOT.TFile(file)
    tree = opened.Get("Events")
    frame = ROOT.RDataFrame("Events", file)
    values = {
        name: [
            list(one) if hasattr(one, "__len__") else one
            for one in frame.Take[frame.GetColumnType(name)](name).GetValue()
        ]
        for name in columns
    }
    runs = ROOT.RDataFrame("Runs", file)
    found = {"values": values, "n runs": int(runs.Count().GetValue())}
    if isinstance(tree, ROOT.TTree):
        counters = {str(b.GetName()): b.GetListOfLeaves()[0].GetLeafCount() for b in tree.GetListOfBranches()}
        found["counters"] = {name: str(leaf.GetName()) for name, leaf in counters.items() if leaf}
        found["codecs"] = {int(b.GetCompressionSettings()) for b in tree.GetListOfBranches()}
    return found
