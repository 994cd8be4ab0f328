"""Reads trees of similar classes in one process: run in ROOT's."""

from __future__ import annotations

from typing import Any

from tests.judge import macros
from tests.judge.lazy import ROOT

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


def read(path: str, table: str, names: list[str], is_split: bool) -> dict[str, Any]:
    file = ROOT.TFile.Open(path)
    tree = file.Get(table)
    found: dict[str, Any] = {"Draw": {}, "TTreeReader": {}, "RDataFrame": {}}
    for name in names:
        n_values = tree.Draw(name, "", "goff")
        drawn = tree.GetV1()
        found["Draw"][name] = [drawn[place] for place in range(n_values)]
        if is_split:
            kind = str(ROOT.RDataFrame(table, path).GetColumnType(name))
            is_list = "RVec" in kind
            of = kind.rpartition("<")[2].rstrip("> ")
            values = ROOT.RDataFrame(table, path).AsNumpy([name])[name]
            found["RDataFrame"][name] = [
                float(one) for entry in values for one in (entry if is_list else [entry])
            ]
            if is_list:
                found["TTreeReader"][name] = list(ROOT.values_of[of](tree, name))
    file.Close()
    return found


def read_all(trees: list[tuple[str, str, list[str], bool]]) -> list[dict[str, Any]]:
    """Return what RDataFrame, TTreeReader and Draw read of trees: path, table, names, and True if they are split."""
    macros.declare(CODE)
    return [read(*tree) for tree in trees]
