"""Expressions of lists of lists, and sizes of lists and texts: Awkward Array and C++ are the judges."""

from __future__ import annotations

import awkward as ak
import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar

N = 60


def in_lists(i):
    return [[float((i + 3 * j + 5 * k) % 7 - 3) for k in range((i + j) % 4)] for j in range(i % 4)]


@pytest.fixture(scope="module")
def events():
    nested = [in_lists(i) for i in range(N)]
    return ak.Array(
        {
            "nested": nested,
            "charge": [[(i + j) % 3 - 1 for j in range(len(one))] for i, one in enumerate(nested)],
            "x": np.arange(N) % 5 - 2.0,
        }
    )


@pytest.fixture(scope="module", params=["ttree", "rntuple"])
def tree(request, tmp_path_factory, events):
    path = tmp_path_factory.mktemp("nested") / f"{request.param}.root"
    table = pa.table({name: ak.to_arrow(events[name], extensionarray=False) for name in events.fields})
    names = ["tau jet", "", "é"]
    table = table.append_column("name", pa.array([names[i % 3] for i in range(N)]))
    table = table.append_column("words", pa.array([names[: i % 4] for i in range(N)]))
    ar.write(f"{path}:t", table, layout=request.param)
    return ar.open(path)["t"]


def test_sizes_are_of_the_outermost_lists_as_in_cpp(tree, events):
    for text, expected in {
        "nested.size()": ak.num(events.nested),
        "@nested.size()": ak.num(events.nested),
        "nested.length() + x": ak.num(events.nested) + events.x,
        "nested.empty()": ak.num(events.nested) == 0,
        "len(nested)": ak.num(events.nested, axis=2),
        "nested[0].size()": ak.num(ak.firsts(events.nested)),
        "nested[nested > 0].size()": ak.num(events.nested),
        "(charge * Iteration$).size() + Iteration$ * charge": ak.num(events.charge)
        + ak.local_index(events.charge) * events.charge,
    }.items():
        found = tree.to_awkward(["found"], define={"found": text}).found
        assert found.tolist() == expected.tolist(), text


def test_texts_have_sizes_in_bytes_and_lists_of_them_a_number(tree):
    texts = tree.to_arrow(["name", "words"])
    for text, expected in {
        "name.size()": [len(one.encode()) for one in texts["name"].to_pylist()],
        "name.empty()": [not one for one in texts["name"].to_pylist()],
        "words.size()": [len(one) for one in texts["words"].to_pylist()],
        "Length$(words)": [len(one) for one in texts["words"].to_pylist()],
        "Length$(name)": [1] * N,
    }.items():
        assert tree.to_arrow(["found"], define={"found": text})["found"].to_pylist() == expected, text
    with pytest.raises(ar.FilterError, match=r"bytes in a text is x\.size\(\)"):
        tree.scan(filter="len(name) > 2")
    with pytest.raises(ar.FilterError, match=r"size\(\) is of a list, or of text"):
        tree.scan(filter="x.size() > 2")


def test_a_condition_of_each_inner_list_chooses_among_them(tree, events):
    for text, expected in {
        "nested[len(nested) > 1]": events.nested[ak.num(events.nested, axis=2) > 1],
        "nested[any(nested > 1)]": events.nested[ak.any(events.nested > 1, axis=-1)],
        "nested[charge > 0]": events.nested[events.charge > 0],
        "sum(nested[charge > 0])": ak.sum(events.nested[events.charge > 0], axis=-1),
        "nested[charge > 0][0]": ak.firsts(events.nested[events.charge > 0]),
        "nested[nested > x]": events.nested[events.nested > events.x],
    }.items():
        found = tree.to_awkward(["found"], define={"found": text}).found
        assert found.tolist() == expected.tolist(), text
    with pytest.raises(ar.FilterError, match="or for each list in it"):
        tree.scan(filter="any(charge[nested > 0] > 0)")
    with pytest.raises(ar.FilterError, match="the lists on both sides have"):
        tree.scan(["found"], define={"found": "nested[len(nested[charge > 0]) > 0]"}).drain()
