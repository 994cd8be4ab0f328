"""Runs in a Python that has ROOT: ``classes_with_root.py JOBS OUT`` reads trees of similar classes in one process.

JOBS is a JSON list of ``[path, table, names, is_split]``; OUT gets for each what RDataFrame, TTreeReader and Draw read.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.differential.root_session import start

CODE = r"""
#include <TTreeReader.h>
#include <TTreeReaderArray.h>
#include <TTreeReaderValue.h>
#include <TLeaf.h>
template <class T> std::vector<double> values_of(TTree &tree, const char *name)
{
   TTreeReader reader(&tree);
   TTreeReaderArray<T> values(reader, name);
   std::vector<double> found;
   while (reader.Next()) for (T one : values) found.push_back(one);
   return found;
}
"""


def read(root: Any, path: str, table: str, names: list[str], is_split: bool) -> dict[str, Any]:
    file = root.TFile.Open(path)
    tree = file.Get(table)
    found: dict[str, Any] = {"Draw": {}, "TTreeReader": {}, "RDataFrame": {}}
    for name in names:
        n_values = tree.Draw(name, "", "goff")
        drawn = tree.GetV1()
        found["Draw"][name] = [drawn[place] for place in range(n_values)]
        if is_split:
            kind = str(root.RDataFrame(table, path).GetColumnType(name))
            is_list = "RVec" in kind
            of = kind.rpartition("<")[2].rstrip("> ")
            values = root.RDataFrame(table, path).AsNumpy([name])[name]
            found["RDataFrame"][name] = [
                float(one) for entry in values for one in (entry if is_list else [entry])
            ]
            if is_list:
                found["TTreeReader"][name] = list(root.values_of[of](tree, name))
    file.Close()
    return found


def main() -> None:
    jobs, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    start(out.parent)
    import ROOT

    ROOT.gInterpreter.Declare(CODE)
    out.write_text(json.dumps([read(ROOT, *job) for job in jobs]))


main()
