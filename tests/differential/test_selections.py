"""Any choice of entries, batches and threads gives the same values as the whole table."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar

from .compare import as_bytes

TREES = [
    ("numbers", "T"), ("arrays", "T"), ("arrays_generated_offsets", "T"), ("strings", "T"),
    ("vectors", "T"), ("packed", "T"), ("ntuples", "D"),
    ("codec_lz4_4", "T"), ("merged", "T"), ("embedded", "T"), ("circular", "T"),
]  # fmt: skip


@pytest.fixture(params=TREES, ids=[name for name, _ in TREES])
def tree(request, root_files):
    name, path = request.param
    with ar.open(root_files / f"{name}.root") as file:
        yield file[path]


@pytest.fixture
def whole(tree):
    return pa.table(tree.to_arrow(n_threads=1)).combine_chunks()


def seeded(tree, whole):
    return random.Random(f"{whole.num_rows} {tree.num_entries} {whole.column_names}")


def entry_lists(rng, n):
    """Sorted, unsorted, with repeats, dense, of one basket, empty."""
    yield []
    yield [n - 1]
    yield sorted(rng.sample(range(n), max(1, n // 100)))
    yield rng.sample(range(n), max(1, n // 10))
    yield [rng.randrange(n) for _ in range(n // 2)]
    yield list(range(n))
    yield list(range(n - 1, -1, -1))
    yield [n // 2] * 5


def test_results_are_the_same_bytes_for_any_number_of_threads(tree, whole):
    wanted = as_bytes(whole)
    for n_threads in (0, 2, 5):
        assert as_bytes(tree.to_arrow(n_threads=n_threads)) == wanted


def test_entry_ranges_are_slices(tree, whole):
    rng, n = seeded(tree, whole), whole.num_rows
    cuts = [(0, 0), (0, 1), (n - 1, n), (0, n), *(sorted(rng.choices(range(n + 1), k=2)) for _ in range(12))]
    for start, stop in cuts:
        wanted = as_bytes(whole.take(np.arange(start, stop)))
        for n_threads in (1, 2):
            found = tree.to_arrow(entries=slice(start, stop), n_threads=n_threads)
            assert as_bytes(found) == wanted, (start, stop, n_threads)


def test_entry_lists_are_takes(tree, whole):
    rng = seeded(tree, whole)
    for chosen in entry_lists(rng, whole.num_rows):
        entries = np.array(chosen, dtype=np.int64)
        wanted = as_bytes(whole.take(entries))
        for n_threads in (1, 2):
            found = tree.to_arrow(entries=entries, n_threads=n_threads)
            assert as_bytes(found) == wanted, (chosen[:20], n_threads)


@pytest.mark.parametrize("batch_size", ["1 B", "1000 B", "20 kB"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_batches_put_together_are_the_table(tree, whole, batch_size, n_threads):
    batches = list(tree.scan(batch_size=batch_size, memory_budget="1 MB", n_threads=n_threads))
    assert all(b.num_rows for b in batches)
    assert as_bytes(pa.Table.from_batches(batches, schema=whole.schema)) == as_bytes(whole)


def test_entry_lists_in_batches(tree, whole):
    rng = seeded(tree, whole)
    entries = np.array([rng.randrange(whole.num_rows) for _ in range(whole.num_rows)], dtype=np.int64)
    scan = tree.scan(entries=entries, batch_size="2000 B", n_threads=2)
    assert as_bytes(pa.Table.from_batches(list(scan), schema=whole.schema)) == as_bytes(whole.take(entries))


def test_any_choice_of_columns_in_any_order(tree, whole):
    rng = seeded(tree, whole)
    for _ in range(5):
        names = rng.sample(whole.column_names, rng.randint(1, whole.num_columns))
        found = pa.table(tree.to_arrow(names))
        assert found.column_names == names
        assert as_bytes(found) == as_bytes(whole.select(names))


def test_an_entry_list_touches_only_its_baskets(root_files):
    with ar.open(root_files / "numbers.root") as file:
        tree = file["T"]
        everything = tree.scan(["D"]).plan
        one = tree.scan(["D"], entries=[200]).plan
    assert everything.n_baskets > 3
    assert one.n_baskets == 1
    assert one.payload_bytes < everything.payload_bytes
