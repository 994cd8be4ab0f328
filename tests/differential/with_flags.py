"""Writes trees whose bits and numbers say something about their data. Started by test_flags.py with a directory."""

from __future__ import annotations

import os
import sys
from array import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

N_ENTRIES = 5000


def _write(
    name: str, before: Callable[[Any], object] | None = None, after: Callable[[Any], object] | None = None
) -> None:
    """Write ``x``, the number of the entry, and ``y``, twice that."""
    import ROOT

    file = ROOT.TFile(f"{name}.root", "RECREATE")
    tree = ROOT.TTree("T", "")
    x, y = array("i", [0]), array("i", [0])
    tree.Branch("x", x, "x/I")
    tree.Branch("y", y, "y/I", 4000)
    kept = [before(tree)] if before else []
    for x[0] in range(N_ENTRIES):
        y[0] = 2 * x[0]
        tree.Fill()
    kept += [after(tree)] if after else []
    tree.Write()
    file.Close()


def write() -> None:
    """Write all files."""
    import ROOT

    def with_list(tree: Any) -> object:
        chosen = ROOT.TEntryList("chosen", "", "T", "entry_list.root")
        chosen.Enter(3)
        tree.SetEntryList(chosen)
        return chosen

    _write("status_after", after=lambda tree: tree.SetBranchStatus("y", 0))
    _write("status_before", before=lambda tree: tree.SetBranchStatus("y", 0))
    _write("circular", before=lambda tree: tree.SetCircular(1000))
    _write("weight", after=lambda tree: tree.SetWeight(3))
    _write("entry_list", after=with_list)
    _write("fewer", after=lambda tree: tree.SetEntries(100))
    _write("more", after=lambda tree: tree.SetEntries(2 * N_ENTRIES))
    _write("file", before=lambda tree: tree.GetBranch("y").SetFile("other.root"))
    file = ROOT.TFile("two.root", "RECREATE")
    trees = [ROOT.TTree(name, "") for name in ("without", "with")]
    number = array("i", [0])
    trees[1].Branch("x", number, "x/I")
    trees[1].Fill()
    for tree in trees:
        tree.Write()
    file.Close()


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    write()
