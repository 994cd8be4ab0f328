"""Writes RNTuples with ROOT, each with what is in it beside it. Started by root_peer.py, in a Python that has ROOT.

``with_root_ntuples.py DIRECTORY`` writes the files, and for each ``NAME.root.json``: ``{"n_entries": int, "columns":
{field: [values]}}``, values in the conformance suite's canonical form.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import ROOT

HERE = Path(__file__).resolve().parent
# ROOT writes these only with a compiled dictionary.
COMPILED = [
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


def main() -> None:
    directory = Path(sys.argv[1])
    ROOT.gErrorIgnoreLevel = ROOT.kError
    ROOT.gROOT.SetBatch(True)
    os.chdir(directory)  # where ROOT leaves what it compiles
    ROOT.gInterpreter.GenerateDictionary(
        ";".join(COMPILED), "map;optional;set;unordered_map;unordered_set;vector;string"
    )
    has_compiler = bool(
        ROOT.TClass.GetClass(COMPILED[1]) and ROOT.TClass.GetClass(COMPILED[1]).HasDictionary()
    )
    if not has_compiler:
        print("no compiler for dictionaries: ROOT does not write maps and sets", file=sys.stderr)
    if not ROOT.gInterpreter.Declare(f'#include "{HERE / "write_ntuples.C"}"'):
        raise SystemExit("write_ntuples.C does not compile")
    w = ROOT.arrowroot_test
    for name, setting in CODECS.items():
        w.kinds(str(directory / f"kinds_{name}.root"), setting, 1 << 20, 300, has_compiler)
    w.kinds(str(directory / "kinds_small_pages.root"), 505, 512, 700, has_compiler)
    w.kinds(str(directory / "kinds_empty.root"), 505, 512, 0, has_compiler)
    w.encodings(str(directory / "encodings.root"), 505)
    w.encodings(str(directory / "encodings_none.root"), 0)
    w.classes(str(directory / "classes.root"), 505)
    w.extension(str(directory / "extension.root"))


if __name__ == "__main__":
    main()
