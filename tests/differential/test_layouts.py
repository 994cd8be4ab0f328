"""How trees lie in files: OptimizeBaskets' sizes as ROOT says them, clusters and spans as uproot's metadata do."""

from __future__ import annotations

import numpy as np
import pytest
import uproot

import arrowroot as ar
from arrowroot._report.layout import layout_of

from .compare import written
from .with_layouts import MEMORY, TREES, write

of_root = written(write)


@pytest.mark.parametrize("name", TREES)
def test_baskets_are_optimized_as_root_does(of_root, name):
    with ar.open(of_root / f"{name}.root") as file:
        tree = file["T"]
        for memory in MEMORY:
            of_root_here = of_root.expected[name][memory]
            told = tree.optimized_baskets(memory)
            branches = told["branches"]
            assert [path.split("/")[-1] for path, *_ in branches] == of_root_here["names"]
            assert [before for _, before, *_ in branches] == of_root_here["before"]
            assert [after for *_, after, _ in branches] == of_root_here["after"], memory
            ended = {path.split("/")[-1] for path, *_, ends in branches if ends}
            assert ended == set(of_root_here["ends_compression"])
            sums = [list(told["memory_bytes"]), list(told["n_baskets"])]
            assert of_root_here["sums"] in (sums, []), memory
            assert bool(of_root_here["sums"]) == bool(TREES[name][2]), (
                "it prints them unless the tree is empty"
            )


def _brute_force(tree):
    """For each entry the bytes from the first to the last that it needs, those of its baskets, and their number."""
    n_entries = tree.num_entries
    begin, end = np.full(n_entries, np.iinfo(np.int64).max), np.zeros(n_entries, np.int64)
    stored, count = np.zeros(n_entries, np.int64), np.zeros(n_entries, np.int64)
    for branch in tree.branches if not tree.keys() else [tree[key] for key in tree.keys()]:  # noqa: SIM118
        n_written = branch.member("fWriteBasket")
        entries = branch.member("fBasketEntry")
        for i in range(n_written):
            here = slice(int(entries[i]), int(entries[i + 1]))
            offset, n_bytes = int(branch.member("fBasketSeek")[i]), int(branch.member("fBasketBytes")[i])
            begin[here] = np.minimum(begin[here], offset)
            end[here] = np.maximum(end[here], offset + n_bytes)
            stored[here] += n_bytes
            count[here] += 1
    return np.where(count, end - begin, 0), stored, count


def _spread(values):
    ordered = np.sort(values)
    return int(ordered[0]), int(ordered[(len(ordered) - 1) // 2]), int(ordered[-1])


@pytest.mark.parametrize("name", ["unflushed", "mixed", "flushed", "by_bytes", "ten", "wide"])
def test_the_span_of_an_entry_is_that_of_the_baskets_it_is_in(of_root, name):
    path = of_root / f"{name}.root"
    with ar.open(path) as file:
        found = layout_of(file["T"])
    spans, stored, count = _brute_force(uproot.open(path)["T"])
    assert found.span_bytes == _spread(spans)
    assert found.touched_bytes == _spread(stored)
    assert found.touched_pieces == _spread(count)


def test_layouts_differ_as_they_should(of_root):
    def of(name):
        with ar.open(of_root / f"{name}.root") as file:
            return layout_of(file["T"])

    unflushed, ten, flushed = of("mixed"), of("ten"), of("flushed")
    assert (unflushed.auto_flush, list(unflushed.clusters)) == (0, [0, 4000])
    assert unflushed.span_bytes.median > 1.5 * unflushed.touched_bytes.median
    assert unflushed.span_bytes.largest > 3 * unflushed.touched_bytes.median
    assert (ten.auto_flush, ten.cluster_entries.median, ten.n_over_clusters) == (10, 10, 0)
    assert ten.span_bytes.median < 2 * ten.touched_bytes.median
    assert (flushed.auto_flush, len(flushed.clusters) - 1) == (300, 10)
    assert flushed.n_pieces == sum(column.n_pieces for column in flushed.columns)


def test_an_empty_tree_has_a_layout_of_nothing(of_root):
    with ar.open(of_root / "empty.root") as file:
        found = layout_of(file["T"])
    assert (found.n_pieces, found.span_bytes, found.columns) == (0, (0, 0, 0), [])
    assert found.verdict is not None
    assert found.verdict.n_changed == 0
