"""Optional values of RNTuples: what is all there costs no more than what cannot be missing."""

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar

N = 4_000
LIST = pa.list_(pa.float32())
KINDS = {
    "number": (pa.float32(), float),
    "bool": (pa.bool_(), lambda i: i % 3 == 0),
    "text": (pa.string(), lambda i: f"text {i}"),
    "list": (LIST, lambda i: [float(i)] * (i % 4)),
    "lists of lists": (pa.list_(LIST), lambda i: [[float(i)] * (i % 3)] * (i % 2)),
    "record": (pa.struct({"x": pa.int32(), "y": LIST}), lambda i: {"x": i, "y": [1.0] * (i % 2)}),
    "records": (pa.list_(pa.struct({"x": pa.int32()})), lambda i: [{"x": i}] * (i % 3)),
    "map": (pa.map_(pa.string(), pa.float32()), lambda i: [(f"key {i}", float(i))] * (i % 2)),
    "fixed": (pa.list_(pa.int16(), 2), lambda i: [i % 100, 1]),
}


def written(path, kind, values):
    table = pa.table({"v": pa.array(values, kind), "n": pa.array(np.arange(len(values), dtype="i4"))})
    with ar.create(path) as file:
        file.tree("E", table.schema, layout="rntuple", flush=N // 4).append(table)
    return table


def strict(kind):
    """The same kind, of values that cannot be missing."""
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(pa.field("item", strict(kind.value_type), nullable=False), kind.list_size)
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, pa.field("value", kind.item_type, nullable=False))
    if pa.types.is_list(kind):
        return pa.list_(pa.field("item", strict(kind.value_type), nullable=False))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, strict(field.type), nullable=False) for field in kind])
    return kind


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch_entries", [None, 777])
def test_what_is_all_there_is_read_without_looking(tmp_path, kind, batch_entries):
    arrow, value = KINDS[kind]
    values = [value(i) for i in range(N)]
    table = written(tmp_path / "optional.root", arrow, values)
    plain = pa.table(
        {"v": pa.array(values, strict(arrow)), "n": table["n"]},
        pa.schema([pa.field("v", strict(arrow), nullable=False), pa.field("n", pa.int32(), nullable=False)]),
    )
    with ar.create(tmp_path / "plain.root") as file:
        file.tree("E", plain.schema, layout="rntuple", flush=N // 4).append(plain)
    options = {"batch_entries": batch_entries} if batch_entries else {}
    optional = ar.open(tmp_path / "optional.root")["E"].scan(**options)
    sure = ar.open(tmp_path / "plain.root")["E"].scan(**options)
    assert optional.read_all().combine_chunks().equals(table.combine_chunks())
    sure.read_all()
    assert optional.stats.n_baskets == sure.stats.n_baskets, "no page says which values are there"
    assert optional.stats.stored_bytes == sure.stats.stored_bytes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [[0], [N - 1], list(range(0, N, 7)), list(range(N // 4, N // 2))])
def test_what_is_missing_somewhere_is_null_there(tmp_path, kind, missing):
    arrow, value = KINDS[kind]
    values = [None if i in set(missing) else value(i) for i in range(N)]
    table = written(tmp_path / "f.root", arrow, values)
    tree = ar.open(tmp_path / "f.root")["E"]
    assert tree.to_arrow().combine_chunks().equals(table.combine_chunks())
    assert (
        tree.scan(batch_entries=777, n_threads=3).read_all().combine_chunks().equals(table.combine_chunks())
    )
    picked = [5, N // 3, N // 3 + 1, N - 1]
    assert tree.to_arrow(entries=picked)["v"].to_pylist() == [values[i] for i in picked]


def test_the_clusters_that_are_read_decide(tmp_path):
    values = [None if i == N - 1 else float(i) for i in range(N)]
    written(tmp_path / "f.root", pa.float32(), values)
    tree = ar.open(tmp_path / "f.root")["E"]
    begin = tree.scan(["v"], entries=slice(0, N // 4))
    end = tree.scan(["v"], entries=slice(N - N // 4, N))
    assert begin.read_all()["v"].null_count == 0
    assert end.read_all()["v"].null_count == 1
    assert (begin.stats.n_baskets, end.stats.n_baskets) == (1, 2)


def test_pages_that_batches_share_are_opened_by_any_thread(tmp_path):
    values = [None if i % 5 == 0 else float(i) for i in range(N)]
    table = written(tmp_path / "f.root", pa.float32(), values)
    tree = ar.open(tmp_path / "f.root")["E"]
    scan = tree.scan(batch_entries=100, n_threads=4)
    assert scan.read_all().combine_chunks().equals(table.combine_chunks())
    whole = tree.scan(batch_entries=N // 4)
    whole.read_all()
    assert scan.stats.unzip_bytes == whole.stats.unzip_bytes, "each page is decompressed once"


def test_threads_tell_their_time_when_the_scan_ends(tmp_path):
    written(tmp_path / "f.root", LIST, [[float(i)] * (i % 4) for i in range(N)])
    stats = ar.open(tmp_path / "f.root")["E"].scan(n_threads=4).drain()
    assert stats.cpu_ns >= stats.place_ns > 0
    assert stats.lock_ns > 0
