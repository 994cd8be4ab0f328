"""Writes lists of entries with ROOT, and says what is in them: run in ROOT's process."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

from tests.judge.lazy import ROOT

N_ENTRIES = 150_000
#: Of ``x``, for each entry.
STEP, MODULUS = 7919, 1000
#: Blocks of 64,000 entries are stored as bits, as the entries chosen, or as those that are not.
CONDITIONS = {
    "few": "x < 3",
    "half": "x < 500",
    "most": "x < 990",
    "all": "1",
    "none": "0",
    "begin": "Entry$ < 70000",
}

#: Trees of chains that are given lists, by their paths and files.
CHAINS = {
    "same": [("T", "part0.root"), ("T", "part1.root"), ("T", "part2.root")],
    "turned": [("T", "part2.root"), ("T", "part1.root"), ("T", "part0.root")],
    "fewer": [("T", "part0.root"), ("T", "part2.root")],
    "inside": [("dir/T", "part1.root"), ("dir/T", "part0.root")],
    "others": [("T", "lists.root")],
}
#: What chains choose for their lists, by these names.
CHAIN_LISTS = {
    "of_all": ("same", "x % 7 == 3"),
    "of_few": ("same", "x > 1040 && x < 1060"),
    "of_inside": ("inside", "x % 5 == 0"),
}
#: The files of chains, with the entries that a list of each chooses.
SYNC_LISTS: dict[str, list[tuple[str, list[int]]]] = {
    "twice": [("part0.root", list(range(20))), ("part0.root", list(range(10)))],
    "between": [("part0.root", [1, 3]), ("part1.root", [2]), ("part0.root", [3, 4])],
    "nothing": [("part0.root", []), ("part0.root", [7])],
}


def write() -> dict[str, dict[str, Any]]:
    """Write the files of all lists, and return what ROOT reads by them."""
    directory = Path.cwd()
    return {"lists": write_lists(directory), "chain": write_chains(directory), "sync": write_sync(directory)}


def write_lists(directory: Path) -> dict[str, list[int]]:
    """Write a tree, two kinds of lists for each condition, and one of two trees. Returns: the entries by condition."""
    path = str(directory / "lists.root")
    frame = ROOT.RDataFrame(N_ENTRIES).Define("x", f"int((rdfentry_ * {STEP}) % {MODULUS})")
    frame.Snapshot("T", path, ["x"])
    file = ROOT.TFile(path, "UPDATE")
    tree = file.Get("T")
    chosen = {}
    for name, condition in CONDITIONS.items():
        tree.Draw(f">>event_{name}", condition)
        tree.Draw(f">>entry_{name}", condition, "entrylist")
        events, entries = (file.Get(f"{kind}_{name}") for kind in ("event", "entry"))
        chosen[name] = [events.GetEntry(i) for i in range(events.GetN())]
        assert entries.GetN() == events.GetN()
        entries.OptimizeStorage()
        events.Write()
        entries.Write()
    other = ROOT.TEntryList("other", "", "U", "elsewhere.root")
    other.Enter(7)
    both = ROOT.TEntryList("both", "")
    both.Add(file.Get("entry_few"))
    both.Add(other)
    both.Write()
    file.Close()
    return chosen


def _chain(name: str, directory: Path) -> Any:
    chain = ROOT.TChain(CHAINS[name][0][0])
    for tree, file in CHAINS[name]:
        chain.Add(f"{directory / file}?#{tree}")
    return chain


def _read(chain: Any) -> list[int] | None:
    """Return what a chain reads of ``x``; None if it does not take its list."""
    if not chain.GetEntryList():
        return None
    n_read = chain.Draw("x", "", "goff")
    return [int(chain.GetV1()[i]) for i in range(n_read)]


def write_chains(directory: Path) -> dict[str, dict[str, list[int] | None]]:
    """Write lists made over a TChain, or of one of its trees.

    Returns: what a TChain that is given them reads, by the list and by the trees of the chain.
    """
    for number in range(3):
        file = ROOT.TFile(str(directory / f"part{number}.root"), "RECREATE")
        for place in (file, file.mkdir("dir")):
            place.cd()
            tree = ROOT.TTree("T", "")
            x = array("i", [0])
            tree.Branch("x", x, "x/I")
            for i in range(50 + number):
                x[0] = 1000 * number + i + 500 * (place is not file)
                tree.Fill()
            tree.Write()
        file.Close()
    kept = ROOT.TFile(str(directory / "chain.root"), "RECREATE")
    lists = {}
    for name, (of, condition) in CHAIN_LISTS.items():
        chain = _chain(of, directory)
        kept.cd()
        chain.Draw(f">>{name}", condition, "entrylist")
        lists[name] = kept.Get(name)
    # Of one tree of the chain, and of nothing that is chosen.
    lists["of_one"] = ROOT.TEntryList(lists["of_all"].GetLists().At(1))
    lists["of_none"] = ROOT.TEntryList("of_none", "")
    found: dict[str, dict[str, list[int] | None]] = {}
    for name, one in lists.items():
        one.SetName(name)
        one.Write()
        found[name] = {}
        for of in CHAINS:
            chain = _chain(of, directory)
            chain.SetEntryList(one)
            found[name][of] = _read(chain)
            chain.SetEntryList(ROOT.nullptr)
    kept.Close()
    return found


def write_sync(directory: Path) -> dict[str, list[int] | None]:
    """Write lists of chains that have a file several times. Returns: what ROOT reads by its option "sync"."""
    kept = ROOT.TFile(str(directory / "sync.root"), "RECREATE")
    found = {}
    for name, parts in SYNC_LISTS.items():
        chain, whole = ROOT.TChain("T"), ROOT.TEntryList()
        whole.SetName(name)
        for file, entries in parts:
            path = str(directory / file)
            chain.Add(path)
            one = ROOT.TEntryList(name, "", "T", path)
            for entry in entries:
                one.Enter(entry)
            whole.AddSubList(one)
        kept.WriteTObject(whole, name)
        chain.SetEntryList(whole, "sync")
        found[name] = _read(chain)
        chain.SetEntryList(ROOT.nullptr)
    kept.Close()
    return found
