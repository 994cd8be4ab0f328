"""Names of origins mean in each file of a skim, and in each partition, what they mean in all files together."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar


@pytest.fixture
def samples(tmp_path, monkeypatch):
    """Two samples: files of the second one have columns that are called as origins."""
    monkeypatch.chdir(tmp_path)
    ar.write("a.root:T", {"x": np.arange(3)})
    ar.write("b.root:T", {"x": np.arange(3, 6)})
    more = {"file": [7.0, 8.0], "entry": [0, 500], "sample": [1, 2]}
    ar.write("c.root:T", {"x": np.arange(6, 8), **more})
    return {"A": {"files": ["a.root", "b.root"]}, "C": {"files": ["c.root"]}}


def skimmed(given, output="new.root", **options):
    ar.skim(given, output, columns=options.pop("columns", "x"), **options)
    return ar.open(output)["T"].to_arrow()["x"].to_pylist()


def in_pieces(given, **options):
    pieces = [pickle.loads(pickle.dumps(one)) for one in ar.partitions(given, "T", "x", **options)]  # noqa: S301 - ours
    return pa.concat_tables([one.read() for one in pieces])["x"].to_pylist()


def scanned(given, **options):
    return ar.scan(given, "T", "x", **options).to_arrow()["x"].to_pylist()


@pytest.mark.parametrize("ask", [scanned, skimmed, in_pieces])
@pytest.mark.parametrize("missing", ["raise", "common"])
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("sample == 'C'", [6, 7]),
        ("sample == 'A' && x > 1", [2, 3, 4, 5]),
        ("!contains(file, 'b.root')", [0, 1, 2, 6, 7]),
        ("entry == 1", [1, 4, 7]),
        ("tree == 'T' && entry < 1", [0, 3, 6]),
    ],
)
def test_names_are_origins_where_the_first_file_has_no_such_column(
    samples, ask, condition, expected, missing
):
    assert ask(samples, filter=condition, missing=missing) == expected


@pytest.mark.usefixtures("samples")
@pytest.mark.parametrize("ask", [scanned, skimmed, in_pieces])
def test_names_are_columns_where_the_first_file_has_them(ask):
    with pytest.raises((ar.NoSuchColumnError, ar.SchemaMismatchError), match=r"a\.root.*'entry'"):
        ask(["c.root", "a.root"], filter="entry >= 0")
    assert ask(["c.root", "a.root"], filter="entry > 2", missing="null") == [7]


def test_definitions_and_parts_of_a_skim_know_the_sample(samples):
    define = {"w": "sample == 'A' ? 2.5 : 1.0"}
    given = {"columns": ["x", "w"], "define": define, "filter": "entry < 2"}
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        for more in ({}, {"executor": executor}):
            ar.skim(samples, "new.root", **given, **more)
            new = ar.open("new.root")["T"].to_arrow().to_pydict()
            assert new == {"x": [0, 1, 3, 4, 6, 7], "w": [2.5] * 4 + [1.0] * 2}
    pieces = ar.partitions(samples, "T", "w", define=define)
    assert pa.concat_tables([one.read() for one in pieces])["w"].to_pylist() == [2.5] * 6 + [1.0] * 2
    assert len(set(pieces)) == 3


def test_without_samples_the_name_is_told_as_in_a_scan(samples):
    for ask in (scanned, skimmed, in_pieces):
        with pytest.raises(
            ar.NoSuchColumnError, match="files have one where samples are scanned by their names"
        ):
            ask(samples["A"]["files"], filter="sample == 'A'")


def test_a_skim_says_which_later_file_has_an_alias(samples):
    with ar.create("d.root") as new:
        new.tree("T", {"x": "int64"}, aliases={"twice": "2*x"}).append({"x": np.arange(2)})
    for missing in ({}, {"missing": "null"}):
        if missing:
            assert skimmed(["a.root", "d.root"], filter="twice > 1", **missing) == [1, 2, 1]
            continue
        with pytest.raises(ar.NoSuchColumnError, match=r"it is an alias that d\.root records"):
            skimmed(["a.root", "d.root"], filter="twice > 1")
    assert samples
