"""What RDataFrame, TTreeReader and RNTupleReader read in many files: run in ROOT's process."""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.judge import macros
from tests.judge.lazy import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = Path(__file__).resolve().with_name("read_with_root.h")
#: What is called from Python does not tell ROOT that read_with_root.h needs them.
LIBRARIES = ("libROOTDataFrame", "libROOTNTuple", "libTreePlayer")
#: Bytes taken for others may be a great many items.
HANGS_AFTER_S = 120
#: Status of a process in which not ROOT went wrong, but this script.
FAILED = 3
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

    def __init__(self, template: str, job: dict[str, Any]) -> None:
        self.template, self.job = template, job

    def read(self, name: str, kind: str) -> dict[str, Any]:
        """A column; of a type without a function only if the job asks for all, as compiling one takes a second."""
        where = self.job["table"], self.job["path"], name
        found = told(lambda: ROOT.judge.read_by(self.template, spelled(kind), *where))
        if "skipped" in found and self.job.get("all"):
            types = re.sub(r"(?<![:\w])(vector|string|map|pair)\b", r"std::\1", kind)
            found = told(lambda: getattr(ROOT.judge, self.template)[types](*where))
        return {"type": kind} | found


def get_ready(job: dict[str, Any]) -> None:
    """Let ROOT compile once what each process would compile for itself. The first file is one that ROOT takes."""
    name, kind = next(iter(job["names"].items()))
    for route in ("RDataFrame", "TTreeReader", "Draw"):
        read_name(job, route, name)
        read_name(job | {"names": {"nothing": kind}}, route, "nothing")


def apart(items: list[Any], do: Callable[[Any], Any]) -> list[Any]:
    """Return what a function returns of items of which ROOT may crash.

    A process of its own takes them, and another those after the one that it crashed of, of which there is an error.
    """
    found: list[Any] = []
    while len(found) < len(items):
        with tempfile.TemporaryFile() as lines:
            child = os.fork()
            if child == 0:
                try:
                    for item in items[len(found) :]:
                        lines.write(json.dumps(do(item)).encode() + b"\n")
                        lines.flush()
                    os._exit(0)
                except BaseException:
                    traceback.print_exc()
                    raise
                finally:
                    os._exit(FAILED)
            _, status = os.waitpid(child, 0)
            if os.waitstatus_to_exitcode(status) == FAILED:
                raise RuntimeError("ROOT did not crash, and something went wrong")
            lines.seek(0)
            found += [json.loads(line) for line in lines]
        if len(found) < len(items):
            found.append({"type": "", "error": f"ROOT ended with status {status}"})
    return found


def read_names(job: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The outcome of each route for names that ROOT may crash of, or does not list: members of objects."""

    def of_one(asked: tuple[str, str]) -> dict[str, Any]:
        signal.alarm(HANGS_AFTER_S)
        return read_name(job, *asked)

    asked = [(route, name) for route in ("RDataFrame", "TTreeReader", "Draw") for name in job["names"]]
    found: dict[str, dict[str, Any]] = {route: {} for route, _ in asked}
    for (route, name), one in zip(asked, apart(asked, of_one), strict=True):
        found[route][name] = one
    return found


def read_name(job: dict[str, Any], route: str, name: str) -> dict[str, Any]:
    kind = job["names"][name]
    if route == "TTreeReader":
        route = Route("read_value", job)
        found = route.read(name, kind)
        return found if "values" in found else route.read(name, kind.replace("RVec", "TTreeReaderArray"))
    if route == "RDataFrame":
        try:
            kind = str(ROOT.RDataFrame(job["table"], job["path"]).GetColumnType(name))
        except Exception as error:  # noqa: BLE001 - whatever ROOT throws is the answer
            return {"type": kind, "error": str(error)[:300]}
        return Route("take", job).read(name, kind)
    file = ROOT.TFile.Open(job["path"])
    return {"type": kind} | drawn(file.Get(job["table"]), name, kind)


def read(job: dict[str, Any]) -> dict[str, dict[str, Any]]:
    if "names" in job:
        return read_names(job)
    frame = ROOT.RDataFrame(job["table"], job["path"])
    listed = [str(name) for name in frame.GetColumnNames()]
    if "only" in job:
        # RDataFrame lists no member of an object that is an array.
        listed = [name for name in job["only"] if name in listed]
    names = [(name, str(frame.GetColumnType(name))) for name in listed]
    route = Route("take", job)
    found = {"RDataFrame": {name: route.read(name, kind) for name, kind in names}}
    if job["layout"] == "rntuple":
        route = Route("view", job)
        viewed = {
            name: route.read(name, kind.replace("ROOT::VecOps::RVec", "std::vector")) for name, kind in names
        }
        return found | {"RNTupleReader": viewed}
    route = Route("read_value", job)
    found["TTreeReader"] = {name: route.read(name, kind) for name, kind in names}
    file = ROOT.TFile.Open(job["path"])
    tree = file.Get(job["table"])
    for leaf in tree.GetListOfLeaves():
        for columns in found.values():
            if leaf.ClassName() == "TLeafC" and leaf.GetName() in columns:
                columns[leaf.GetName()]["is_text"] = True
    if job.get("all") or "only" in job:
        found["Draw"] = {
            name: {"type": kind} | drawn(tree, name, kind_of(tree, name, kind))
            for name, kind in names
            if name not in job.get("undrawn", ())
        }
    file.Close()
    return found


def kind_of(tree: Any, name: str, kind: str) -> str:
    leaf = tree.GetLeaf(name)
    if not leaf:  # a member of an object, by the name of its branch
        return kind
    return "string" if leaf.ClassName() == "TLeafC" else str(leaf.GetTypeName())


def drawn(tree: Any, name: str, kind: str) -> dict[str, Any]:
    """The values that TTree::Draw draws: numbers of all entries as doubles in one list, or texts, one an entry."""
    if kind == "string":
        return told(lambda: ROOT.judge.evaluated(tree, name))
    if "string" in kind:
        return {"error": "Draw shows one number for it"}
    n_values = tree.Draw(name, "", "goff")
    if n_values < 0:
        return {"error": "Draw does not know it"}
    values = tree.GetV1()
    return {"values": [float(values[place]).hex() for place in range(n_values)]}


def read_all(jobs: list[dict[str, Any]]) -> list[dict[str, dict[str, Any]]]:
    """Read many files: ``{"path", "table", "layout"}``.

    With ``names`` and their types in C++ those are read instead of all columns, by Draw too, and in processes of their
    own. With ``only`` the names of some columns are, which Draw reads, too, but for those of ``undrawn``. With ``all``
    columns of any type are.

    Returns: for each file ``{ROUTE: {COLUMN: {"type", "values"}}}``. Instead of values there may be ``error``, or
    ``skipped`` for types that read_with_root.h has no function for. A file that ROOT crashes of has an ``error`` alone.
    """
    ROOT.gErrorIgnoreLevel = ROOT.kFatal
    code = HEADER.read_text()
    for library in LIBRARIES:
        ROOT.gSystem.Load(library)
    if jobs[0].get("all"):
        macros.declare(f"#define INTERPRETED\n{code}")
    else:
        macros.load(code)
    if "names" in jobs[0]:
        ROOT.judge.add_members()
        get_ready(jobs[0])
        return [read(job) for job in jobs]
    ROOT.judge.add_all()
    return apart(jobs, read)
