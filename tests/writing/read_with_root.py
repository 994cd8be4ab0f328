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
    "std::vector": "vector", "std::string": "string", "std::optional": "optional", "std::byte": "byte",
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


def read(root: Any, job: dict[str, str]) -> dict[str, dict[str, Any]]:
    path, table = job["path"], job["table"]
    found: dict[str, dict[str, Any]] = {"RDataFrame": {}, "reader": {}}
    frame = root.RDataFrame(table, path)
    names = [(str(name), str(frame.GetColumnType(name))) for name in frame.GetColumnNames()]
    for name, kind in names:
        values = told(lambda name=name, kind=kind: root.judge.take_by(spelled(kind), table, path, name))
        found["RDataFrame"][name] = {"type": kind} | values
    if job["layout"] == "ttree":
        file = root.TFile.Open(path)
        tree = file.Get(table)
        for name, kind in names:
            values = told(lambda name=name, kind=kind: root.judge.read_by(spelled(kind), tree, name))
            found["reader"][name] = {"type": kind} | values
        texts = [leaf.GetName() for leaf in tree.GetListOfLeaves() if leaf.ClassName() == "TLeafC"]
        for route in found.values():
            for name in texts:
                route[name]["is_text"] = True
        file.Close()
    else:
        for name, kind in names:
            viewed = spelled(kind).replace("RVec", "vector")
            values = told(lambda name=name, viewed=viewed: root.judge.view_by(viewed, table, path, name))
            found["reader"][name] = {"type": kind} | values
    return found


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
