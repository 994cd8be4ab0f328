"""Runs in a Python that has ROOT: uses what trees record besides their columns, and writes the same itself.

``notes_with_root.py use OUT DIRECTORY``: of ``notes.root`` says, as JSON, what ROOT makes of it.
``notes_with_root.py find OUT FILE``: says the expressions of an index, and what ROOT finds by it in a friend.
``notes_with_root.py write FILE``: writes a tree of its own with aliases, an index, friends and user info.
"""

from __future__ import annotations

import json
import os
import sys
from array import array
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.differential.root_session import start


def drawn(tree: object, expression: str) -> list[float]:
    n = tree.Draw(expression, "", "goff")
    values = tree.GetV1()
    return [values[i] for i in range(n)]


def use(root: object) -> dict[str, object]:
    file = root.TFile("notes.root")
    tree = file.Get("dir/Events")
    info = tree.GetUserInfo()
    found: dict[str, object] = {
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
        plain.GetListOfAliases() == root.nullptr,
        plain.GetTreeIndex() == root.nullptr,
        plain.GetListOfFriends() == root.nullptr,
    ]
    texts = file.Get("texts").GetUserInfo()
    found["texts"] = [[str(one.ClassName()), str(one.GetName())] for one in texts]
    # A friend with an index is found by it.
    plain.AddFriend("e = dir/Events", "notes.root")
    found["friend by index"] = drawn(plain, "e.px")
    return found


def find(root: object, path: str) -> dict[str, object]:
    file = root.TFile(path)
    index = file.Get("Events").GetTreeIndex()
    plain = file.Get("plain")
    plain.AddFriend("e = Events", path)
    return {
        "names": [str(index.GetMajorName()), str(index.GetMinorName())],
        "friend by index": drawn(plain, "e.px"),
    }


def write(root: object, path: str) -> None:
    file = root.TFile(path, "recreate", "", 0)
    tree = root.TTree("Events", "")
    run, event, px = array("i", [0]), array("i", [0]), array("d", [0])
    for name, place, code in (("run", run, "I"), ("event", event, "I"), ("px", px, "D")):
        tree.Branch(name, place, f"{name}/{code}")
    for i in range(20):
        run[0], event[0], px[0] = 3 - i % 4, i // 4, i
        tree.Fill()
    tree.SetAlias("pt", "sqrt(px*px)")
    tree.BuildIndex("run", "event")
    tree.AddFriend("far = Far", "far.root")
    keep = [root.TParameter("double")("lumi", 12.5), root.TNamed("note", "text")]
    for one in keep:
        root.SetOwnership(one, False)  # the tree deletes them
        tree.GetUserInfo().Add(one)
    tree.Write()
    file.Close()


def main() -> None:
    what, path, *rest = sys.argv[1:]
    start(Path(rest[0]) if what == "use" else Path(path).parent)
    import ROOT

    ROOT.gErrorIgnoreLevel = ROOT.kPrint
    if what == "use":
        Path(path).write_text(json.dumps(use(ROOT)))
    elif what == "find":
        Path(path).write_text(json.dumps(find(ROOT, rest[0])))
    else:
        write(ROOT, path)
    sys.stdout.flush()
    os._exit(0)


main()
