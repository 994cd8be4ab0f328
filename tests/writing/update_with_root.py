"""Files to update, and what ROOT reads of them: run in ROOT's process."""

from __future__ import annotations

from array import array
from typing import Any

from tests.judge.lazy import ROOT


def make() -> None:
    """Write ``old.root``: a tree with an alias, an index and user info, and histograms in a directory."""
    file = ROOT.TFile("old.root", "RECREATE", "of a run", 404)
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
        "titles": (file.GetTitle(), tree.GetTitle()),
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


def make_kept() -> None:
    """Write ``kept.root``: trees with baskets in the record, that is not written anew, or in another file."""
    file = ROOT.TFile("kept.root", "RECREATE")
    # So that both sides of an offset are bytes that are not 0.
    ROOT.TNamed("before", "x" * 70_000).Write()
    for name in ("listed", "elsewhere"):
        tree = ROOT.TTree(name, "")
        tree.SetAutoFlush(100)
        tree.SetBit(ROOT.TTree.kOnlyFlushAtCluster)
        i, v = array("i", [0]), ROOT.std.vector("float")()
        branch = tree.Branch("i", i, "i/I")
        tree.Branch("v", v)
        if name == "elsewhere":
            branch.SetFile("other.root")
        for i[0] in range(1050):
            v.clear()
            for k in range(i[0] % 4):
                v.push_back(i[0] + k)
            tree.Fill()
        if name == "listed":
            h = ROOT.TH1D("h", "", 4, 0, 4)
            h.SetDirectory(ROOT.nullptr)
            h.Fill(1, 7)
            for item in (h, ROOT.TNamed("note", "kept")):
                ROOT.SetOwnership(item, False)
                tree.GetUserInfo().Add(item)
            tree.BuildIndex("i")
        file.cd()
        tree.Write()
    file.Close()


def read_kept(name: str) -> dict[str, Any]:
    """Return what ROOT reads of these trees."""
    file = ROOT.TFile.Open(name)
    found: dict[str, Any] = {}
    for path in ("listed", "elsewhere"):
        tree = file.Get(path)
        found[path] = [(one.i, list(one.v)) for one in tree]
        found[f"{path} info"] = [(item.ClassName(), item.GetName()) for item in tree.GetUserInfo()]
    tree = file.Get("listed")
    return found | {
        "bin": tree.GetUserInfo().At(0).GetBinContent(2),
        "indexed": tree.GetEntryNumberWithIndex(12),
    }


def make_titled(n_bytes: int) -> None:
    """Write ``titled.root``: a tree, in a file with a title of so many bytes."""
    file = ROOT.TFile("titled.root", "RECREATE", "t" * n_bytes)
    _filled("t", file).Write()
    file.Close()


def title(name: str) -> str:
    """Return the title of a file."""
    file = ROOT.TFile.Open(name)
    assert file.Get("t").GetEntries() == 1000
    return str(file.GetTitle())


def make_late() -> None:
    """Write ``late.root``: a tree with a branch that was added late, and has fewer entries."""
    file = ROOT.TFile("late.root", "RECREATE")
    ROOT.TNamed("before", "x" * 70_000).Write()
    tree = _filled("t", file)
    late = array("i", [0])
    branch = tree.Branch("late", late, "late/I")
    for late[0] in range(10):
        branch.Fill()
    tree.Write()
    file.Close()


def read_late(name: str) -> list[Any]:
    """Return what ROOT reads of it."""
    file = ROOT.TFile.Open(name)
    tree = file.Get("t")
    found = [one.i for one in tree]
    for entry in range(10):
        tree.GetBranch("late").GetEntry(entry)
        found.append(tree.GetLeaf("late").GetValue())
    return found


def make_info(kind: str) -> None:
    """Write ``info.root``: a tree to which users added another tree, or a histogram or folder that has one."""
    file = ROOT.TFile("info.root", "RECREATE")
    ROOT.TNamed("before", "x" * 70_000).Write()
    inner, outer = _filled("inner", file), _filled("outer", file)
    item = inner
    if kind == "functions":
        item = ROOT.TH1D("h", "", 4, 0, 4)
        item.SetDirectory(ROOT.nullptr)
        item.GetListOfFunctions().Add(inner)
    elif kind == "folder":
        item = ROOT.TFolder("folder", "")
        item.Add(inner)
    ROOT.SetOwnership(item, False)
    outer.GetUserInfo().Add(item)
    outer.Write()
    # ROOT would delete the trees twice.
    outer.GetUserInfo().Clear("nodelete")
    inner.SetDirectory(ROOT.nullptr)
    file.Close()


def _filled(name: str, file: Any = None) -> Any:
    """Return a tree of 1,000 entries, with its baskets in a file, or all of it in memory."""
    tree = ROOT.TTree(name, "")
    tree.SetDirectory(file or ROOT.nullptr)
    ROOT.SetOwnership(tree, False)
    i = array("i", [0])
    tree.Branch("i", i, "i/I", 1000)
    for i[0] in range(1000):
        tree.Fill()
    if file:
        tree.FlushBaskets()
    tree.ResetBranchAddresses()
    return tree


def make_holder(holder: str) -> None:
    """Write a list, map, folder or histogram that has a tree with baskets; "memory": a list with one of memory."""
    file = ROOT.TFile(f"{holder}.root", "RECREATE")
    tree = _filled("inner", None if holder == "memory" else file)
    if holder == "map":
        key, held = ROOT.TObjString("key"), ROOT.TMap()
        ROOT.SetOwnership(key, False)
        held.Add(key, tree)
    elif holder == "folder":
        held = ROOT.TFolder("folder", "")
        held.Add(tree)
    elif holder == "functions":
        held = ROOT.TH1D("functions", "", 4, 0, 4)
        held.SetDirectory(ROOT.nullptr)
        held.GetListOfFunctions().Add(tree)
    else:
        held = ROOT.TList()
        held.Add(tree)
    ROOT.SetOwnership(held, False)
    if holder == "folder":
        file.WriteObject(held, holder)
    else:
        held.Write(holder, ROOT.TObject.kSingleKey)
    tree.SetDirectory(ROOT.nullptr)
    file.Close()


def make_shorter() -> None:
    """Write ``shorter.root``: a tree, and the room of one that was behind it and is deleted."""
    file = ROOT.TFile("shorter.root", "RECREATE")
    for name in ("t", "gone"):
        _filled(name, file).Write()
    file.Close()
    file = ROOT.TFile("shorter.root", "UPDATE")
    file.Get("gone").Delete("all")
    file.Delete("gone;*")
    file.Close()


def end_of(name: str) -> int:
    """Return where the header of a file says that it ends."""
    return int(ROOT.TFile(name).GetEND())
