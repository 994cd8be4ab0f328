"""Uses what trees record besides their columns, and writes the same: run in ROOT's process."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from tests.judge.lazy import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def drawn(tree: Any, expression: str) -> list[float]:
    n = tree.Draw(expression, "", "goff")
    values = tree.GetV1()
    return [values[i] for i in range(n)]


def use() -> dict[str, Any]:
    """Return what ROOT makes of ``notes.root``."""
    file = ROOT.TFile("notes.root")
    tree = file.Get("dir/Events")
    info = tree.GetUserInfo()
    found: dict[str, Any] = {
        "aliases": {str(alias.GetName()): str(alias.GetTitle()) for alias in tree.GetListOfAliases()},
        "by alias": drawn(tree, "pt"),
        "by nested alias": drawn(tree, "twice"),
        "title": str(tree.GetTitle()),
        "branch title": str(tree.GetBranch("px").GetTitle()),
        "entries with index": [
            [int(tree.GetEntryNumberWithIndex(run, event)) for event in range(8)] for run in range(4)
        ],
        "index": [str(tree.GetTreeIndex().GetMajorName()), str(tree.GetTreeIndex().GetMinorName())],
        "bytes by index": int(tree.GetEntryWithIndex(2, 3)),
        "info": {
            str(one.GetName()): [
                str(one.ClassName()),
                one.GetVal() if hasattr(one, "GetVal") else str(one.GetTitle()),
            ]
            for one in info
            if str(one.GetName()) != "ARROW:schema"
        },
        "friends": [
            [str(f.GetName()), str(f.GetTreeName()), str(f.GetTitle())] for f in tree.GetListOfFriends()
        ],
        "friend in the file": drawn(tree, "beside.q"),
        "friend of another file": drawn(tree, "far.z"),
        "sum with friends": drawn(tree, "px+beside.q+far.z"),
    }
    plain = file.Get("plain")
    found["plain"] = [
        plain.GetListOfAliases() == ROOT.nullptr,
        plain.GetTreeIndex() == ROOT.nullptr,
        plain.GetListOfFriends() == ROOT.nullptr,
    ]
    texts = file.Get("texts").GetUserInfo()
    found["texts"] = [[str(one.ClassName()), str(one.GetName())] for one in texts]
    # A friend with an index is found by it.
    plain.AddFriend("e = dir/Events", "notes.root")
    found["friend by index"] = drawn(plain, "e.px")
    return found


def find(path: Path) -> dict[str, Any]:
    """Return the expressions of an index, and what ROOT finds by it in a friend."""
    file = ROOT.TFile(str(path))
    index = file.Get("Events").GetTreeIndex()
    plain = file.Get("plain")
    plain.AddFriend("e = Events", str(path))
    return {
        "names": [str(index.GetMajorName()), str(index.GetMinorName())],
        "friend by index": drawn(plain, "e.px"),
    }


def write(path: Path) -> None:
    """Write a tree with aliases, an index, friends and user info."""
    file = ROOT.TFile(str(path), "recreate", "", 0)
    tree = ROOT.TTree("Events", "")
    run, event, px = array("i", [0]), array("i", [0]), array("d", [0])
    for name, place, code in (("run", run, "I"), ("event", event, "I"), ("px", px, "D")):
        tree.Branch(name, place, f"{name}/{code}")
    for i in range(20):
        run[0], event[0], px[0] = 3 - i % 4, i // 4, i
        tree.Fill()
    tree.SetAlias("pt", "sqrt(px*px)")
    tree.BuildIndex("run", "event")
    tree.AddFriend("far = Far", "far.root")
    keep = [ROOT.TParameter("double")("lumi", 12.5), ROOT.TNamed("note", "text")]
    for one in keep:
        ROOT.SetOwnership(one, False)  # the tree deletes them
        tree.GetUserInfo().Add(one)
    tree.Write()
    file.Close()
