"""Writes containers into trees, and reads those that it has dictionaries of: run in ROOT's process."""

from __future__ import annotations

from typing import Any

from tests.judge.lazy import ROOT


def write(path: str, columns: dict[str, tuple[str, list[Any]]]) -> None:
    """Write a tree ``t`` of containers: C++ types, and lists of pairs or items for each entry."""
    file = ROOT.TFile(path, "RECREATE", "", 0)
    tree = ROOT.TTree("t", "t")
    held = {
        name: getattr(ROOT.std, kind.split("<")[0])[arguments(kind)]() for name, (kind, _) in columns.items()
    }
    for name, one in held.items():
        tree.Branch(name, one, 32000, 0)
    for entry in range(len(next(iter(columns.values()))[1])):
        for name, (_, values) in columns.items():
            held[name].clear()
            for item in values[entry]:
                if isinstance(item, tuple):
                    held[name][item[0]] = item[1]
                else:
                    held[name].insert(item)
        tree.Fill()
    file.Write()
    file.Close()


def arguments(kind: str) -> str:
    """Return what stands in the brackets of a template."""
    return kind.partition("<")[2].removesuffix(">")


def read(path: str, name: str) -> dict[str, Any]:
    """Return keys and values of a map as Draw has them, and their sum as RDataFrame has it."""
    file = ROOT.TFile.Open(path)
    tree = file.Get("t")
    drawn = []
    for part in ("first", "second"):
        n = tree.Draw(f"{name}.{part}", "", "goff")
        drawn.append([tree.GetV1()[index] for index in range(n)])
    code = f"double s = 0; for (auto &one : {name}) s += one.first + one.second; return s;"
    return {"drawn": drawn, "sum": float(ROOT.RDataFrame("t", path).Define("s", code).Sum("s").GetValue())}


def sums(path: str, names: list[str]) -> list[float]:
    """Return the sum of the values of each map, as RDataFrame has it."""
    frame = ROOT.RDataFrame("t", path)
    code = "double s = 0; for (auto &one : {}) s += one.second; return s;"
    found = [frame.Define(f"{name}_s", code.format(name)).Sum(f"{name}_s") for name in names]
    return [float(one.GetValue()) for one in found]
