"""Writes files with many branches or fields: run in ROOT's process."""

from __future__ import annotations

import random
from array import array

from tests.judge.lazy import ROOT

N_ENTRIES = 200


def write_tree(path: str, n_branches: int) -> None:
    file = ROOT.TFile(path, "RECREATE", "", 505)
    tree = ROOT.TTree("Events", "")
    numbers = [array("f", [0]) for _ in range(n_branches)]
    for k, number in enumerate(numbers):
        tree.Branch(f"x{k:04}", number, f"x{k:04}/F", 4000)
    for entry in range(N_ENTRIES):
        for k, number in enumerate(numbers):
            number[0] = (entry * k) % 97
        tree.Fill()
    tree.Write()
    file.Close()


def write_ntuple(path: str, n_fields: int) -> None:
    model = ROOT.RNTupleModel.Create()
    names = [f"x{k:04}" for k in range(n_fields)]
    # Compression leaves these as they are: header and footer are far from each other.
    values = random.Random(n_fields)
    for name in names:
        model.MakeField["float"](name)
    with ROOT.RNTupleWriter.Recreate(model, "Events", path) as writer:
        entry = writer.CreateEntry()
        for _ in range(N_ENTRIES):
            for name in names:
                entry[name] = values.random()
            writer.Fill(entry)


def write(files: dict[str, int]) -> None:
    """Write files of so many columns; a name that ends with ``.ntpl.root`` is one of an RNTuple."""
    for path, n_columns in files.items():
        (write_ntuple if path.endswith(".ntpl.root") else write_tree)(path, n_columns)
