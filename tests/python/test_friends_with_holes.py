"""Friends that lack entries: null where that is asked for, an error otherwise."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._passes import holes

N = 40
#: Entries that the friend by an index has, in its order.
THERE = [31, 7, 8, 9, 30, 0, 12]


@pytest.fixture
def folder(tmp_path):
    for number, part in enumerate((range(25), range(25, N))):
        ar.write(f"{tmp_path}/main{number}.root:T", {"id": np.array(part), "x": np.array(part) * 1.0})
    ar.write(f"{tmp_path}/short.root:F", {"y": [[i] * (i % 3) for i in range(30)]})
    ar.write(f"{tmp_path}/some.root:F", {"id": np.array(THERE), "y": [[i] * (i % 3) for i in THERE]})
    return tmp_path


FRIENDS = {
    "by number": (range(30), {"paths": "short.root"}),
    "by an index": (THERE, {"paths": "some.root", "index": "id"}),
}


@pytest.fixture(params=FRIENDS)
def case(request, folder):
    """Return the files of the trees, the friend, and what its column is for each entry."""
    there, given = FRIENDS[request.param]
    friend = ar.Friends(**{**given, "paths": folder / given["paths"]}, missing="null")
    return folder / "main*.root", {"f": friend}, [[i] * (i % 3) if i in there else None for i in range(N)]


@pytest.mark.parametrize("entries", [None, slice(5, 33), [39, 0, 12, 12, 29, 30], []], ids=str)
@pytest.mark.parametrize("batch", [{}, {"batch_entries": 7}, {"batch_size": "64 B"}], ids=str)
@pytest.mark.parametrize("most", [1 << 16, 3])
def test_what_a_friend_lacks_is_null(case, entries, batch, most, monkeypatch):
    monkeypatch.setattr(holes, "_MAX_ENTRIES", most)
    files, friends, expected = case
    scan = ar.scan(files, "T", ["x", "y"], friends=friends, entries=entries, **batch)
    chosen = np.arange(N)[
        np.array(entries, dtype=int) if isinstance(entries, list) else entries or slice(None)
    ]
    table = pa.Table.from_batches(scan, scan.schema)
    table.validate(full=True)
    assert table.to_pydict() == {"x": [*map(float, chosen)], "y": [expected[i] for i in chosen]}
    assert table.schema.field("y").nullable
    assert scan.to_arrow().equals(table)


def test_a_filter_does_not_select_what_is_lacking(case):
    files, friends, expected = case
    scan = ar.scan(files, "T", ["x"], friends=friends, filter="len(y) < 2")
    assert scan.to_arrow()["x"].to_pylist() == [
        i for i, y in enumerate(expected) if y is not None and len(y) < 2
    ]
    scan = ar.scan(files, "T", ["x", "y"], friends=friends, filter="x >= 20")
    assert scan.to_arrow()["y"].to_pylist() == expected[20:]


def test_pieces_have_what_the_whole_has(case):
    files, friends, expected = case
    pieces = pickle.loads(pickle.dumps(ar.partitions(files, "T", ["y"], friends=friends)))  # noqa: S301 - our own
    assert [y for piece in pieces for y in piece.read()["y"].to_pylist()] == expected


def test_a_tree_takes_a_friend_with_holes(folder):
    tree = ar.open(folder / "main1.root")["T"]
    short = ar.open(folder / "some.root")["F"]
    tree.add_friend(short, "f", index=False, missing="null")
    assert tree.to_arrow(["f.id"])["f.id"].to_pylist() == [*THERE, *[None] * 8]
    assert tree.schema.field("y").nullable


def test_without_a_word_it_is_an_error_and_several_partners_always_are(folder):
    files = folder / "main*.root"
    for given in (folder / "short.root", ar.Friends(folder / "some.root", index="id")):
        with pytest.raises(ar.InvalidRequestError):
            ar.scan(files, "T", ["y"], friends={"f": given}).to_arrow()
    ar.write(f"{folder}/twice.root:F", {"id": [3, 3], "y": [1, 2]})
    twice = ar.Friends(folder / "twice.root", index="id", missing="null")
    with pytest.raises(ar.InvalidRequestError, match="several partners"):
        ar.scan(files, "T", ["y"], friends={"f": twice}).to_arrow()
    with pytest.raises(ar.InvalidRequestError, match="missing: expected"):
        ar.scan(files, "T", friends={"f": ar.Friends(folder / "short.root", missing="common")})
