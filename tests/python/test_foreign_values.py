"""Arrays, expressions and functions of other libraries where text or names are meant: the answer names the option."""

from __future__ import annotations

import copy
import itertools
import json
import re

import awkward as ak
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import arrowroot as ar

FOREIGN = {
    "numpy": np.ones(3),
    "pyarrow": pa.array([True, False]),
    "pyarrow expression": pc.field("x") > 1,
    "polars expression": pl.col("x") > 1,
    "pandas": pd.Series([True, False]),
    "awkward": ak.Array([1, 2]),
    "function": lambda events: events.x > 1,
    "number": 3,
    "truth": True,
    "bytes": b"x > 1",
}
AXIS = (3, 0, 1)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("foreign") / "x.root")
    ar.write(f"{path}:t", {"x": np.arange(5.0)})
    return path


ASKED = {
    "define": lambda path, value: ar.open(path)["t"].scan(define=value),
    "define: y": lambda path, value: ar.open(path)["t"].scan(define={"y": value}),
    "define (partitions)": lambda path, value: ar.partitions(path, "t", define=value),
    "define (skim)": lambda path, value: ar.skim(path, f"{path}.new.root", define=value),
    "define (entries)": lambda path, value: ar.open(path)["t"].entries_where("x > 1", define=value),
    "origin": lambda path, value: ar.scan(path, origin=value),
    "origin (objects)": lambda path, value: ar.scan(path, origin=value, objects=True),
    "friends": lambda path, value: ar.scan(path, friends=value),
    "friends (partitions)": lambda path, value: ar.partitions(path, "t", friends=value),
    "missing": lambda path, value: ar.scan(path, missing=value),
    "missing (partitions)": lambda path, value: ar.partitions(path, "t", missing=value),
    "on_error": lambda path, value: ar.scan(path, on_error=value),
    "cuts": lambda path, value: ar.scan(path).hist({"h": ar.Hist(AXIS, x="x")}, cuts=value),
    "cuts: a": lambda path, value: ar.scan(path).hist({"h": ar.Hist(AXIS, x="x")}, cuts={"a": value}),
    "Hist: x": lambda _, value: ar.Hist(AXIS, x=value),
    "Hist: weight": lambda _, value: ar.Hist(AXIS, x="x", weight=value),
    "Hist: cut": lambda _, value: ar.Hist(AXIS, x="x", cut=value),
    "Hist: variation": lambda _, value: ar.Hist(AXIS, x="x", variations=value),
    "Hist: variation 'up'": lambda _, value: ar.Hist(AXIS, x="x", variations={"up": {"x": value}}),
}


#: A function is called with each file; a series has items, each of which is asked.
MEANT = {("on_error", "function"), ("friends", "pandas"), ("friends (partitions)", "pandas")}


@pytest.mark.parametrize(
    ("option", "kind"), [pair for pair in itertools.product(ASKED, FOREIGN) if pair not in MEANT]
)
def test_what_cannot_be_meant_is_an_error_of_the_option(path, option, kind):
    with pytest.raises(ar.InvalidRequestError, match=re.escape(option.partition(" (")[0])):
        ASKED[option](path, FOREIGN[kind])


def test_answers_have_lines_to_write(path):
    tree = ar.open(path)["t"]
    for given, line in (
        ({"columns": [pc.field("x")]}, 'write columns=["x", "2*x"]'),
        ({"columns": pl.col("x")}, 'write columns=["x", "2*x"]'),
        ({"entries": pc.field("x") > 1}, 'filter="x > 1"'),
        ({"entries": pl.col("x") > 1}, 'filter="x > 1"'),
        ({"entries": FOREIGN["function"]}, 'filter="x > 1"'),
        ({"define": {"y": FOREIGN["numpy"]}}, "write {'y': \"2*x\"}"),
    ):
        with pytest.raises(ar.InvalidRequestError, match=re.escape(line)):
            tree.scan(**given)
    assert tree.to_arrow(["x", "2*x"], filter="x > 1").num_rows == 3


def test_properties_that_are_called_say_so(path):
    tree = ar.open(path)["t"]
    for called in (tree.num_entries, tree.scan("x").num_entries, tree.columns, tree.branches):
        with pytest.raises(ar.WrongTypeError, match=r"no method: write it without \(\)"):
            called()
    n = tree.num_entries
    assert (type(copy.copy(n)), json.dumps([n])) == (int, "[5]")
    assert (repr(n), n + 1, np.asarray([n]).dtype, pa.array([n]).to_pylist()) == ("5", 6, np.int64, [5])
