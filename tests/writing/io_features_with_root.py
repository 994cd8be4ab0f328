"""Writes and reads trees that store no offsets: run in ROOT's process."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.judge.lazy import ROOT


def write(path: str, tree: dict[str, Any]) -> None:
    file = ROOT.TFile.Open(path, "recreate")
    made = ROOT.TTree("t", "")
    features = ROOT.ROOT.TIOFeatures()
    features.Set("kGenerateOffsetMap")
    made.SetIOFeatures(features)
    made.SetAutoFlush(0)
    dims = tree["dims"]
    counter = np.zeros(1, np.int32)
    made.Branch("nv", counter, "nv/I")
    buffers = {name: np.zeros(100 * math.prod(dims), np.int32) for name in tree["columns"]}
    for name, buffer in buffers.items():
        leaf = f"{name}[nv]{''.join(f'[{n}]' for n in dims)}/I"
        made.Branch(name, buffer, leaf, tree["basket_sizes"][name])
    for entry, count in enumerate(tree["counts"]):
        counter[0] = count
        for name, buffer in buffers.items():
            values = np.array(tree["columns"][name][entry], np.int32).ravel()
            buffer[: len(values)] = values
        made.Fill()
    made.Write()
    file.Close()


def read(path: str, name: str) -> dict[str, list[Any]]:
    lists = ROOT.ROOT.RVec["int"]
    # Each has a loop of its own: another action would read all entries.
    frames = {
        "RDataFrame": ROOT.RDataFrame("t", path),
        "RDataFrame, filtered": ROOT.RDataFrame("t", path).Filter("nv > 2"),
        "RDataFrame, from 2": ROOT.RDataFrame("t", path).Range(2, 0),
    }
    found = {way: frame.Take[lists](name) for way, frame in frames.items()}
    told = {way: [[int(item) for item in one] for one in values.GetValue()] for way, values in found.items()}
    told["TTreeReader"] = read_in_order(path, [name])[name]
    for way, cut, first in (("Draw", "", 0), ("Draw, cut", "nv > 2", 0), ("Draw, from 2", "", 2)):
        file = ROOT.TFile.Open(path)
        tree = file.Get("t")
        n_values = tree.Draw(name, cut, "goff", tree.GetEntries(), first)
        told[way] = [int(tree.GetV1()[place]) for place in range(n_values)]
        file.Close()
    return told


def read_in_order(path: str, names: list[str]) -> dict[str, list[Any]]:
    """The columns, entry by entry, by one TTreeReader."""
    file = ROOT.TFile.Open(path)
    reader = ROOT.TTreeReader("t", file)
    arrays = {name: ROOT.TTreeReaderArray["int"](reader, name) for name in names}
    found: dict[str, list[Any]] = {name: [] for name in names}
    while reader.Next():
        for name, array in arrays.items():
            found[name].append([int(array[place]) for place in range(array.GetSize())])
    return found


def write_and_read(trees: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Write each tree as ``NAME-root.root``.

    Returns: what ROOT reads of that file, and of ``NAME-ours.root``: lists by file and way. Draw gives the numbers of
    all entries in one list.
    """
    ROOT.gErrorIgnoreLevel = ROOT.kFatal
    told = {}
    for name, tree in trees.items():
        write(f"{name}-root.root", tree)
        for path in (f"{name}-root.root", f"{name}-ours.root"):
            together = read_in_order(path, list(tree["columns"]))
            told[path] = read(path, "v") | {"together": together}
    return told
