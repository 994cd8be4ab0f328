"""Files to update, and what ROOT reads of them: run in ROOT's process."""

from __future__ import annotations

from array import array
from typing import Any

from tests.judge.lazy import ROOT


def make() -> None:
    """Write ``old.root``: a tree with an alias, an index and user info, and histograms in a directory."""
    file = ROOT.TFile("old.root", "RECREATE", "", 404)
    tree = ROOT.TTree("t", "a tree")
    tree.SetAutoFlush(100)
    i, x = array("i", [0]), array("d", [0])
    v = ROOT.std.vector("float")()
    tree.Branch("i", i, "i/I")
    tree.Branch("x", x, "x/D")
    tree.Branch("v", v)
    for entry in range(1000):
        i[0], x[0] = 999 - entry, entry / 8
        v.clear()
        for k in range(entry % 4):
            v.push_back(entry + k)
        tree.Fill()
    tree.SetAlias("twice", "2 * x")
    tree.BuildIndex("i")
    note = ROOT.TNamed("note", "kept")
    ROOT.SetOwnership(note, False)
    tree.GetUserInfo().Add(note)
    tree.Write()
    file.mkdir("plots", "of runs").cd()
    for cycle in range(2):
        h = ROOT.TH1D("h", f"cycle {cycle}", 4, 0, 4)
        h.Fill(1, 5 + cycle)
        h.Write()
    file.Close()


def read(name: str) -> dict[str, Any]:
    """Return what ROOT reads of a file."""
    file = ROOT.TFile.Open(name)
    tree = file.Get("t")
    entry = tree.GetEntryNumberWithIndex(12)
    found: dict[str, Any] = {
        "keys": sorted(key.GetName() for key in file.GetListOfKeys()),
        "title": tree.GetTitle(),
        "entries": [(one.i, one.x, list(one.v)) for one in tree],
        "twice": tree.GetAlias("twice"),
        "indexed": entry,
        "info": tree.GetUserInfo().At(0).GetTitle(),
    }
    plots = file.Get("plots")
    if plots:
        h = plots.Get("h")
        found["plots"] = (plots.GetTitle(), h.GetTitle(), [h.GetBinContent(k) for k in range(6)])
    return found


def add(name: str) -> None:
    """Update a file by ROOT."""
    file = ROOT.TFile(name, "UPDATE")
    ROOT.TNamed("by_root", "text").Write()
    file.Close()
