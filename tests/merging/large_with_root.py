"""Objects that ROOT finds in a large file: run in ROOT's process."""

from __future__ import annotations

from typing import Any

from tests.judge.lazy import ROOT


def told(path: str) -> dict[str, Any]:
    """Return the entries of trees, the bins of histograms, and texts."""
    file = ROOT.TFile(path)
    return {key.GetName(): _of(file.Get(key.GetName())) for key in file.GetListOfKeys()}


def _of(found: Any) -> Any:
    if found.InheritsFrom("TTree"):
        return found.GetEntries()
    if found.InheritsFrom("TH1"):
        return list(found)
    return [_of(one) for one in found] if found.InheritsFrom("TList") else str(found.GetName())
