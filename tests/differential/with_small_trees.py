"""Writes small trees of which something is out of the usual: run in ROOT's process."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from tests.judge.lazy import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

N_FLAGS, N_FRIENDS, N_BESIDE_SHORT, N_SHORT = 5000, 60, 10, 6


def write_short() -> None:
    """Write a tree with a branch that has fewer entries."""
    file = ROOT.TFile("short.root", "recreate")
    tree = ROOT.TTree("T", "")
    number = array("i", [0])
    for name in ("first", "second"):
        tree.Branch(name, number, f"{name}/I")
    for i in range(N_BESIDE_SHORT):
        number[0] = i
        tree.Fill()
    short = tree.Branch("short", number, "short/I")
    for i in range(N_SHORT):
        number[0] = 10 * i
        short.Fill()
    tree.Write()
    file.Close()


def _numbers(
    name: str, before: Callable[[Any], object] | None = None, after: Callable[[Any], object] | None = None
) -> None:
    """Write ``x``, the number of the entry, and ``y``, twice that."""
    file = ROOT.TFile(f"{name}.root", "RECREATE")
    tree = ROOT.TTree("T", "")
    x, y = array("i", [0]), array("i", [0])
    tree.Branch("x", x, "x/I")
    tree.Branch("y", y, "y/I", 4000)
    kept = [before(tree)] if before else []
    for x[0] in range(N_FLAGS):
        y[0] = 2 * x[0]
        tree.Fill()
    kept += [after(tree)] if after else []
    tree.Write()
    file.Close()


def write_flags() -> None:
    """Write trees whose bits and numbers say something about their data."""

    def with_list(tree: Any) -> object:
        chosen = ROOT.TEntryList("chosen", "", "T", "entry_list.root")
        chosen.Enter(3)
        tree.SetEntryList(chosen)
        return chosen

    _numbers("status_after", after=lambda tree: tree.SetBranchStatus("y", 0))
    _numbers("status_before", before=lambda tree: tree.SetBranchStatus("y", 0))
    _numbers("circular", before=lambda tree: tree.SetCircular(1000))
    _numbers("weight", after=lambda tree: tree.SetWeight(3))
    _numbers("entry_list", after=with_list)
    _numbers("fewer", after=lambda tree: tree.SetEntries(100))
    _numbers("more", after=lambda tree: tree.SetEntries(2 * N_FLAGS))
    _numbers("file", before=lambda tree: tree.GetBranch("y").SetFile("other.root"))
    file = ROOT.TFile("two.root", "RECREATE")
    trees = [ROOT.TTree(name, "") for name in ("without", "with")]
    number = array("i", [0])
    trees[1].Branch("x", number, "x/I")
    trees[1].Fill()
    for tree in trees:
        tree.Write()
    file.Close()


def _events(
    file: str, name: str, column: str, events: Iterable[int], also: Callable[[Any], object] | None = None
) -> None:
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


def write_friends() -> None:
    """Write trees whose entries are in order or not, friends of friends, and friends that were TChains.

    Each has a column ``event``, and one of its own that is 10 times as large.
    """
    order = range(N_FRIENDS)
    mixed = [(7 * i) % N_FRIENDS for i in order]

    def reshuffled(tree: Any) -> None:
        tree.SetBit(ROOT.TTree.kEntriesReshuffled)

    def indexed(tree: Any) -> None:
        tree.BuildIndex("event")

    _events("main.root", "T", "x", order)
    _events("plain.root", "F", "y", order)
    _events("indexed.root", "F", "y", mixed, indexed)
    _events("mixed.root", "F", "y", mixed, reshuffled)
    _events("mixed_indexed.root", "F", "y", mixed, lambda tree: (indexed(tree), reshuffled(tree)))
    _events("mixed_main.root", "T", "x", mixed, reshuffled)
    ROOT.EnableImplicitMT(2)
    ROOT.RDataFrame("T", "main.root").Snapshot("F", "snapshot.root", ["event", "x"])

    _events("z.root", "Z", "z", order)
    _events("f.root", "F", "y", order, lambda tree: tree.AddFriend("Z", "z.root"))
    _events("t.root", "T", "x", order, lambda tree: tree.AddFriend("F", "f.root"))
    _events("z_indexed.root", "Z", "z", mixed, indexed)
    _events(
        "f_indexed.root",
        "F",
        "y",
        mixed[::-1],
        lambda tree: (indexed(tree), tree.AddFriend("Z", "z_indexed.root")),
    )
    _events("t_indexed.root", "T", "x", order, lambda tree: tree.AddFriend("F", "f_indexed.root"))
    # A circle: what is written first names what is not there yet.
    _events("second.root", "B", "b", order)
    _events("first.root", "A", "a", order, lambda tree: tree.AddFriend("B", "second.root"))
    _events("second.root", "B", "b", order, lambda tree: tree.AddFriend("A", "first.root"))

    for part in range(3):
        _events(f"part{part}.root", "W", "w", order[20 * part : 20 * part + 20])
        _events(f"same{part}.root", "T", "w", order[20 * part : 20 * part + 20])

    def chain(name: str, files: str, *, is_loaded: bool) -> Callable[[Any], object]:
        def add(tree: Any) -> object:
            beside = ROOT.TChain(name)
            beside.Add(files)
            if is_loaded:
                beside.LoadTree(0)
            tree.AddFriend(beside, "w")
            return beside

        return add

    _events("loaded.root", "T", "x", order, chain("W", "part*.root", is_loaded=True))
    _events("unloaded.root", "T", "x", order, chain("W", "part*.root", is_loaded=False))
    _events("same_name.root", "T", "x", order, chain("T", "same*.root", is_loaded=False))
