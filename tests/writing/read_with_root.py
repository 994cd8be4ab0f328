"""Runs in a Python that has ROOT: what RDataFrame, TTreeReader and RNTupleReader read in many files.

``read_with_root.py JOBS OUT``: JOBS is a JSON list of ``{"path", "table", "layout"}``. OUT gets one JSON line for each
file: ``{"path", "columns": {ROUTE: {COLUMN: {"type", "values"}}}}``; instead of values there may be ``error``, or
``skipped`` for types that read_with_root.h has no function for. A line is written when a file is done, so what makes
ROOT crash is the first file that has none.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.differential.root_session import start

HEADER = Path(__file__).resolve().with_name("read_with_root.h")
#: ROOT's names of types, as read_with_root.h spells them.
SPELLINGS = {
    "Bool_t": "bool", "Char_t": "char", "UChar_t": "unsigned char", "Short_t": "short", "UShort_t": "unsigned short",
    "Int_t": "int", "UInt_t": "unsigned int", "Long64_t": "long long", "ULong64_t": "unsigned long long",
    "Float_t": "float", "Double_t": "double", "std::int8_t": "signed char", "std::uint8_t": "unsigned char",
    "std::int16_t": "short", "std::uint16_t": "unsigned short", "std::int32_t": "int", "std::uint32_t": "unsigned int",
    "std::int64_t": "long", "std::uint64_t": "unsigned long", "ROOT::VecOps::RVec": "RVec", "ROOT::RVec": "RVec",
    "std::vector": "vector", "std::string": "string", "std::optional": "optional",
}  # fmt: skip


def spelled(name: str) -> str:
    """A type as read_with_root.h has it; a fixed array of an RNTuple is read as a vector."""
    for one, other in SPELLINGS.items():
        name = re.sub(rf"(?<![\w:]){re.escape(one)}(?![\w])", other, name)
    return name.replace("> >", ">>").replace(", ", ",")


def told(what: Any) -> dict[str, Any]:
    """A column's values, or why there are none. ``what`` reads it as JSON, "" for a type without a function."""
    try:
        text = str(what())
    except Exception as error:  # noqa: BLE001 - whatever ROOT throws is the answer
        return {"error": str(error)[:300]}
    return {"values": json.loads(text)} if text else {"skipped": True}


class Route:
    """A way to read columns: its functions by type, and the template that makes more of them."""

    def __init__(self, root: Any, ways: Any, template: Any, job: dict[str, Any]) -> None:
        self.root, self.ways, self.template, self.job = root, ways, template, job

    def read(self, name: str, kind: str) -> dict[str, Any]:
        """A column; of a type without a function only if the job asks for all, as compiling one takes a second."""
        where = self.job["table"], self.job["path"], name
        found = told(lambda: self.root.judge.read_by(self.ways, spelled(kind), *where))
        if "skipped" in found and self.job.get("all"):
            found = told(
                lambda: self.template[re.sub(r"(?<![:\w])(vector|string|map|pair)\b", r"std::\1", kind)](
                    *where
                )
            )
        return {"type": kind} | found


def read(root: Any, job: dict[str, Any]) -> dict[str, dict[str, Any]]:
    judge = root.judge
    frame = root.RDataFrame(job["table"], job["path"])
    names = [(str(name), str(frame.GetColumnType(name))) for name in frame.GetColumnNames()]
    route = Route(root, judge.takers, judge.take, job)
    found = {"RDataFrame": {name: route.read(name, kind) for name, kind in names}}
    if job["layout"] == "rntuple":
        route = Route(root, judge.views, judge.view, job)
        viewed = {
            name: route.read(name, kind.replace("ROOT::VecOps::RVec", "std::vector")) for name, kind in names
        }
        return found | {"RNTupleReader": viewed}
    route = Route(root, judge.readers, judge.read_value, job)
    found["TTreeReader"] = {name: route.read(name, kind) for name, kind in names}
    file = root.TFile.Open(job["path"])
    tree = file.Get(job["table"])
    for leaf in tree.GetListOfLeaves():
        for columns in found.values():
            if leaf.ClassName() == "TLeafC" and leaf.GetName() in columns:
                columns[leaf.GetName()]["is_text"] = True
    if job.get("all"):
        found["Draw"] = {name: {"type": kind} | drawn(root, tree, name) for name, kind in names}
    file.Close()
    return found


def drawn(root: Any, tree: Any, name: str) -> dict[str, Any]:
    """What TTree::Draw draws: numbers of all entries as doubles in one list, or texts, one an entry."""
    leaf = tree.GetLeaf(name)
    if leaf.ClassName() == "TLeafC" or str(leaf.GetTypeName()) == "string":
        return {"values": json.loads(str(root.judge.evaluated(tree, name)))}
    if "string" in str(leaf.GetTypeName()):
        return {"error": "Draw shows one number for it"}
    n_values = tree.Draw(name, "", "goff")
    if n_values < 0:
        return {"error": "Draw does not know it"}
    values = tree.GetV1()
    return {"values": [float(values[place]).hex() for place in range(n_values)]}


def main() -> None:
    jobs, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    start(out.parent)
    import ROOT

    ROOT.gErrorIgnoreLevel = ROOT.kFatal
    ROOT.gInterpreter.Declare(f'#include "{HEADER}"')
    ROOT.judge.add_all()
    with out.open("w") as lines:
        for job in jobs:
            lines.write(json.dumps({"path": job["path"], "columns": read(ROOT, job)}) + "\n")
            lines.flush()


main()
