"""Writes RNTuples with ROOT: run in its process.

Beside most of them is what is in them, as ``NAME.root.json``: ``{"n_entries": int, "columns": {field: [values]}}``,
values in the conformance suite's canonical form.
"""

from __future__ import annotations

from pathlib import Path

from tests.judge import macros
from tests.judge.lazy import ROOT

HERE = Path(__file__).resolve().parent
# ROOT writes these only with a compiled dictionary.
COMPILED_KINDS = [
    "std::vector<std::vector<std::vector<short>>>",
    "std::map<std::string,float>",
    "std::multimap<int,std::string>",
    "std::unordered_map<int,std::vector<double>>",
    "std::map<int,std::string>",
    "std::map<std::optional<int>,float>",
    "std::set<int>",
    "std::multiset<unsigned char>",
    "std::unordered_set<Long64_t>",
]
CODECS = {"none": 0, "zlib": 101, "lzma": 207, "lz4": 404, "zstd": 505}
CONTAINERS = ["set", "multiset", "unordered_set", "unordered_multiset"]
MAPS = ["map", "multimap", "unordered_map", "unordered_multimap"]
COMPILED_CLASSES = [
    *(f"std::{name}<int>" for name in CONTAINERS),
    *(f"std::{name}<std::{name}<int>>" for name in CONTAINERS[:2]),
    *(f"std::{name}<std::string,int>" for name in MAPS),
    *(f"std::{name}<std::string,std::{name}<std::string,int>>" for name in MAPS),
]


def write_kinds() -> None:
    """Write files of all kinds of fields; maps and sets only where there is a compiler."""
    headers = ["map", "optional", "set", "unordered_map", "unordered_set", "vector", "string"]
    has_compiler = macros.dictionaries(COMPILED_KINDS, headers)
    macros.declare(f'#include "{HERE / "write_ntuples.C"}"')
    w = ROOT.arrowroot_test
    for name, setting in CODECS.items():
        w.kinds(f"kinds_{name}.root", setting, 1 << 20, 300, has_compiler)
    w.kinds("kinds_small_pages.root", 505, 512, 700, has_compiler)
    w.kinds("kinds_empty.root", 505, 512, 0, has_compiler)
    w.encodings("encodings.root", 505)
    w.encodings("encodings_none.root", 0)
    w.classes("classes.root", 505)
    w.extension("extension.root")


def write_classes() -> None:
    """Write a file for each case of root-project/rntuple-validation, and some of what has no case there."""
    headers = ["map", "set", "unordered_map", "unordered_set", "string"]
    has_compiler = macros.dictionaries(COMPILED_CLASSES, headers)
    macros.declare(f'#include "{HERE / "write_ntuple_classes.C"}"')
    w = ROOT.arrowroot_test
    for write in (w.fundamental, w.standard, w.compressions, w.projections, w.structures, w.streamed, w.soa):
        write("./")
    w.representations("./")
    if has_compiler:
        w.compiled("./")
