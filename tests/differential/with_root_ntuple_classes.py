"""Writes an RNTuple for each case of root-project/rntuple-validation. Started by root_peer.py, with a Python of ROOT.

``with_root_ntuple_classes.py DIRECTORY`` writes the files, and beside most of them ``NAME.root.json`` as
with_root_ntuples.py does; and some files of what has no case there.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import ROOT

HERE = Path(__file__).resolve().parent
CONTAINERS = ["set", "multiset", "unordered_set", "unordered_multiset"]
MAPS = ["map", "multimap", "unordered_map", "unordered_multimap"]
COMPILED = [
    *(f"std::{name}<int>" for name in CONTAINERS),
    *(f"std::{name}<std::{name}<int>>" for name in CONTAINERS[:2]),
    *(f"std::{name}<std::string,int>" for name in MAPS),
    *(f"std::{name}<std::string,std::{name}<std::string,int>>" for name in MAPS),
]


def main() -> None:
    directory = Path(sys.argv[1])
    ROOT.gErrorIgnoreLevel = ROOT.kError
    ROOT.gROOT.SetBatch(True)
    os.chdir(directory)  # where ROOT leaves what it compiles
    ROOT.gInterpreter.GenerateDictionary(";".join(COMPILED), "map;set;unordered_map;unordered_set;string")
    found = ROOT.TClass.GetClass(COMPILED[-1])
    if not ROOT.gInterpreter.Declare(f'#include "{HERE / "write_ntuple_classes.C"}"'):
        raise SystemExit("write_ntuple_classes.C does not compile")
    w = ROOT.arrowroot_test
    prefix = f"{directory}/"
    w.fundamental(prefix)
    w.standard(prefix)
    w.compressions(prefix)
    w.projections(prefix)
    w.structures(prefix)
    w.streamed(prefix)
    w.soa(prefix)
    w.representations(prefix)
    if found and found.HasDictionary():
        w.compiled(prefix)
    else:
        print("no compiler for dictionaries: ROOT does not write maps and sets", file=sys.stderr)


if __name__ == "__main__":
    main()
