"""Writes files with ROOT and says what it reads in them: run in its process."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from tests.judge import macros
from tests.judge.lazy import ROOT

HERE = Path(__file__).resolve().parent
CODECS = {
    "none": 0, "zlib1": 101, "zlib6": 106, "zlib9": 109, "lzma1": 201, "lzma7": 207, "old3": 303,
    "lz4_1": 401, "lz4_4": 404, "lz4_9": 409, "zstd1": 501, "zstd5": 505, "zstd9": 509,
}  # fmt: skip
# ROOT writes these only with a compiled dictionary; those of float and double it brings along.
ITEMS = [
    "int",
    "unsigned int",
    "short",
    "unsigned short",
    "Long64_t",
    "ULong64_t",
    "unsigned char",
    "bool",
    "string",
]
NESTED = [f"vector<vector<{item}> >" for item in ITEMS]


def plain(value):
    """A PyROOT value as canonical Python values."""
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="surrogateescape")
    kind = type(value).__name__
    if "string" in kind and "vector" not in kind:
        return bytes(str(value), "utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    if kind == "TString":
        return str(value)
    if "vector<unsigned char>" in kind.replace("uint8_t", "unsigned char") and "vector<vector" not in kind:
        return [ord(x) if isinstance(x, str) else int(x) for x in value]
    return [plain(x) for x in value]


def leaf_values(leaf):
    """What the leaf holds after GetEntry, flat, with the type of the leaf."""
    kind = leaf.GetTypeName()
    if leaf.ClassName() == "TLeafC":
        return str(ROOT.arrowroot_test.text_of(leaf))
    n = leaf.GetLen()
    if kind in ("Float_t", "Double_t", "Double32_t", "Float16_t"):
        return [leaf.GetValue(k) for k in range(n)]
    if kind == "Bool_t":
        return [bool(leaf.GetValue(k)) for k in range(n)]
    if kind.startswith("U"):
        return [leaf.GetTypedValue["ULong64_t"](k) for k in range(n)]
    return [leaf.GetTypedValue["Long64_t"](k) for k in range(n)]


def shaped(values, dimensions):
    """Flat values in the fixed dimensions after the first."""
    for size in reversed(dimensions):
        values = [values[k : k + size] for k in range(0, len(values), size)]
    return values


def of_leaf(leaf):
    values = leaf_values(leaf)
    if isinstance(values, str):
        return values
    dimensions = [d for d in re.findall(r"\[(\w+)\]", leaf.GetTitle()) if d]
    if not dimensions:
        return values[0]
    return shaped(values, [int(d) for d in dimensions[1:]])


def dump(tree):
    branches = [b for b in tree.GetListOfBranches() if not re.match(r"TH1", b.GetClassName())]
    for b in tree.GetListOfBranches():
        if b not in branches:
            tree.SetBranchStatus(b.GetName(), 0)
    columns = {b.GetName(): {"type": b.GetClassName() or b.GetTitle(), "values": []} for b in branches}
    for entry in range(tree.GetEntries()):
        tree.GetEntry(entry)
        for branch in branches:
            name = branch.GetName()
            leaves = list(branch.GetListOfLeaves())
            if branch.GetClassName():
                value = plain(getattr(tree, name))
            elif len(leaves) > 1:
                value = {leaf.GetName(): of_leaf(leaf) for leaf in leaves}
            else:
                value = of_leaf(leaves[0])
            columns[name]["values"].append(value)
    return {"n_entries": int(tree.GetEntries()), "columns": columns}


def dump_file(path, trees):
    file = ROOT.TFile(str(path), "READ")
    return {name: dump(file.Get(name)) for name in trees}


def write() -> dict[str, dict[str, Any]]:
    """Write the files.

    Returns: ``{file: {tree path: {"n_entries": int, "columns": {branch: {"type": str, "values": [...]}}}}}``, values in
    the conformance suite's canonical form.
    """
    directory = Path.cwd()
    # Without a compiler ROOT does not write all nested vectors.
    macros.dictionaries(NESTED, ["vector", "string"])
    macros.declare((HERE / "write_trees.C").read_text())
    w = ROOT.arrowroot_test
    expected = {}

    def add(name, write, *arguments, trees=("T",)):
        path = directory / f"{name}.root"
        write(str(path), *arguments)
        expected[path.name] = dump_file(path, trees)

    add("numbers", w.numbers, 505, 400, 700)
    add("numbers_one_entry", w.numbers, 101, 1, 32000)
    add("numbers_empty", w.numbers, 101, 0, 32000)
    add("arrays", w.arrays, 150, False)
    add("arrays_generated_offsets", w.arrays, 150, True)
    # ROOT 6.40 reads back other values for counted arrays of several dimensions when it generates offsets:
    # for these the truth is what was written, which is the same as without them.
    generated, kept = (expected[f"arrays{x}.root"]["T"]["columns"] for x in ("_generated_offsets", ""))
    generated.update({name: kept[name] for name in ("rows", "cube")})
    add("arrays_one_entry", w.arrays, 1, False)
    add("arrays_empty", w.arrays, 0, False)
    add("counted_elsewhere", w.counted_elsewhere, 60)
    add("counted_by_leaves", w.counted_by_leaves, 150, False)
    add("counted_by_leaves_generated_offsets", w.counted_by_leaves, 150, True)
    add("strings", w.strings, 60)
    add("vectors", w.vectors, 120)
    add("vectors_empty", w.vectors, 0)
    add("packed", w.packed, 100)
    add("ntuples", w.ntuples, 300, trees=("T", "D"))
    for name, setting in CODECS.items():
        add(f"codec_{name}", w.codec, setting, 3000)
    add("embedded", w.embedded, 25)
    add("circular", w.circular, 350)
    parts = []
    for k in range(3):
        add(f"part{k}", w.simple, 50 * k, 50 * k + 40 + k)
        parts.append(str(directory / f"part{k}.root"))
    add("merged", w.merged, ROOT.std.vector["std::string"](parts))
    add("directories", w.directories, trees=("T", "T;1", "T;2", "T;3", "a/T", "a/b c/T", "a/b c/d.e/T"))
    add("beyond_2_gb", w.beyond_2_gb, trees=("before", "later/after"))
    add("beside_objects", w.beside_objects, 30)
    for n_entries in (100, 5000):
        w.elsewhere(str(directory / f"elsewhere_{n_entries}.root"), n_entries)
    w.friends(str(directory / "friends.root"), str(directory / "friends_other.root"))
    for option in ("", "SaveSelf"):
        for how in ("unclosed", "reopened", "nested"):
            path = directory / f"{how}_{option or 'plain'}.root"
            child = os.fork()
            if child == 0:  # a process that does not live to close its file
                arguments = (70, 100) if how == "unclosed" else ()
                getattr(w, how)(str(path), option, *arguments)
            os.waitpid(child, 0)
        path = directory / f"unclosed_{option or 'plain'}.root"
        expected[path.name] = dump_file(path, ("T",))
    w.many_branches(str(directory / "many_branches.root"), 10000, 2)
    for name, setting in (("none", 0), ("zstd", 505), ("lz4", 404), ("zlib", 101)):
        w.big_baskets(str(directory / f"big_{name}.root"), setting, 3_000_000)
    return expected
