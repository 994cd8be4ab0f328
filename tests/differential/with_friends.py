"""Writes trees and their friends with ROOT. Started by test_friends.py.

``with_friends.py DIRECTORY`` writes trees whose entries are in order or not, friends of friends, and friends that were
TChains. Each has a column ``event``, and one of its own that is 10 times as large.
"""

from __future__ import annotations

import os
import sys
from array import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

N_ENTRIES = 60


def _write(
    file: str, name: str, column: str, events: Iterable[int], also: Callable[[Any], object] | None = None
) -> None:
    import ROOT

    written = ROOT.TFile(file, "RECREATE")
    tree = ROOT.TTree(name, "")
    event, value = array("i", [0]), array("d", [0])
    tree.Branch("event", event, "event/I")
    tree.Branch(column, value, f"{column}/D")
    for event[0] in events:
        value[0] = 10 * event[0]
        tree.Fill()
    kept = also(tree) if also else None
    tree.Write()
    written.Close()
    del kept


def write() -> None:
    """Write all files."""
    import ROOT

    order = range(N_ENTRIES)
    mixed = [(7 * i) % N_ENTRIES for i in order]

    def reshuffled(tree: Any) -> None:
        tree.SetBit(ROOT.TTree.kEntriesReshuffled)

    def indexed(tree: Any) -> None:
        tree.BuildIndex("event")

    _write("main.root", "T", "x", order)
    _write("plain.root", "F", "y", order)
    _write("indexed.root", "F", "y", mixed, indexed)
    _write("mixed.root", "F", "y", mixed, reshuffled)
    _write("mixed_indexed.root", "F", "y", mixed, lambda tree: (indexed(tree), reshuffled(tree)))
    _write("mixed_main.root", "T", "x", mixed, reshuffled)
    ROOT.EnableImplicitMT(2)
    ROOT.RDataFrame("T", "main.root").Snapshot("F", "snapshot.root", ["event", "x"])

    _write("z.root", "Z", "z", order)
    _write("f.root", "F", "y", order, lambda tree: tree.AddFriend("Z", "z.root"))
    _write("t.root", "T", "x", order, lambda tree: tree.AddFriend("F", "f.root"))
    _write("z_indexed.root", "Z", "z", mixed, indexed)
    _write(
        "f_indexed.root",
        "F",
        "y",
        mixed[::-1],
        lambda tree: (indexed(tree), tree.AddFriend("Z", "z_indexed.root")),
    )
    _write("t_indexed.root", "T", "x", order, lambda tree: tree.AddFriend("F", "f_indexed.root"))
    # A circle: what is written first names what is not there yet.
    _write("second.root", "B", "b", order)
    _write("first.root", "A", "a", order, lambda tree: tree.AddFriend("B", "second.root"))
    _write("second.root", "B", "b", order, lambda tree: tree.AddFriend("A", "first.root"))

    for part in range(3):
        _write(f"part{part}.root", "W", "w", order[20 * part : 20 * part + 20])
        _write(f"same{part}.root", "T", "w", order[20 * part : 20 * part + 20])

    def chain(name: str, files: str, *, is_loaded: bool) -> Callable[[Any], object]:
        def add(tree: Any) -> object:
            beside = ROOT.TChain(name)
            beside.Add(files)
            if is_loaded:
                beside.LoadTree(0)
            tree.AddFriend(beside, "w")
            return beside

        return add

    _write("loaded.root", "T", "x", order, chain("W", "part*.root", is_loaded=True))
    _write("unloaded.root", "T", "x", order, chain("W", "part*.root", is_loaded=False))
    _write("same_name.root", "T", "x", order, chain("T", "same*.root", is_loaded=False))


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    write()
