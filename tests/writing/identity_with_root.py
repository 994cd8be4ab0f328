"""Writes cases with ROOT: run in its process, each case in one of its own.

ROOT numbers the descriptions of classes as they come in a process, and writes them in that order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.judge.lazy import ROOT

from .identity_cases import Column, draw_case

#: ``TTree::fAutoSave`` as it is made.
AUTO_SAVE = -300_000_000


def write(seed: int) -> None:
    """Write a case with the name that a reproducible file has."""
    case = draw_case(seed)
    file = ROOT.TFile.Open(f"{case.file_name}?reproducible={case.file_name}", "recreate", "", 0)
    directory = file
    for part in filter(None, case.directory.split("/")):
        directory = directory.mkdir(part)
    directory.cd()
    tree = ROOT.TTree(case.name, case.title)
    # ROOT would write the tree in between.
    tree.SetAutoSave(0)
    if case.flush is None:
        tree.SetAutoFlush(0)
    elif case.flush != "auto":
        tree.SetAutoFlush(case.flush)
    if case.generates_offsets:
        features = ROOT.ROOT.TIOFeatures()
        features.Set("kGenerateOffsetMap")
        tree.SetIOFeatures(features)
    setters = []
    counters: dict[str, Any] = {}
    for column in case.columns:
        if column.counter and column.counter not in counters:
            counter = np.zeros(1, np.int32)
            counters[column.counter] = counter
            tree.Branch(column.counter, counter, f"{column.counter}/I", case.first_basket_size)
            setters.append((counter, column.counts, np.arange(case.n_entries + 1)))
        buffer, values, ends = _entries(column, case.n_entries)
        tree.Branch(column.name, buffer, column.leaf_list, case.first_basket_size)
        setters.append((buffer, values, ends))
    for entry in range(case.n_entries):
        for buffer, values, ends in setters:
            found = values[ends[entry] : ends[entry + 1]]
            buffer[: len(found)] = found
        tree.Fill()
        if entry + 1 == case.flush and not case.is_optimized:
            # ROOT has fitted the sizes of baskets to the first cluster.
            tree.SetBasketSize("*", case.basket_size)
    tree.SetAutoSave(AUTO_SAVE)
    schema = Path(case.schema_name)
    if schema.exists():
        named = ROOT.TNamed("ARROW:schema", schema.read_text())
        ROOT.SetOwnership(named, False)  # it is the tree's
        tree.GetUserInfo().Add(named)
    tree.Write()
    file.Close()


def _entries(column: Column, n_entries: int) -> tuple[Any, Any, Any]:
    """A buffer for an entry, the values of all, and where those of each begin and end."""
    if column.letter == "C":
        texts = [text.encode() + b"\0" for text in column.values]
        values = np.frombuffer(b"".join(texts), np.int8)
        counts = np.array([len(text) for text in texts], np.int64)
    else:
        values = column.values
        counts = np.ones(n_entries, np.int64) if column.counts is None else column.counts.astype(np.int64)
        counts = counts * int(np.prod(column.dims))
    ends = np.concatenate([[0], np.cumsum(counts)])
    return np.zeros(max(counts.max(initial=1), 1), values.dtype), values, ends
