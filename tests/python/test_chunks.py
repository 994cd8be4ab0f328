"""What is too long for one Arrow array comes in chunks, and stays readable."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._arrow import chunks
from arrowroot._arrow.convert import to_awkward

#: Nine are more than the 2^31 - 1 items that one array can have.
N_LONG, N_ITEMS = 9, 240_000_000

takes_seconds = pytest.mark.skipif(
    not os.environ.get("ARROWROOT_SOAK"), reason="takes seconds: ARROWROOT_SOAK=1 runs it"
)


def available_bytes():
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


@pytest.fixture(scope="module")
def long_lists(tmp_path_factory):
    if available_bytes() < 8e9:
        pytest.skip("NOT TESTED: lists of more than 2^31 items take 8 GB of memory")
    path = tmp_path_factory.mktemp("long") / "long.root"
    kind = pa.list_(pa.field("item", pa.int8(), nullable=False))
    with ar.create(path, compression="zstd:1") as file:
        tree = file.tree("T", schema={"i": pa.int32(), "v": kind})
        for i in range(N_LONG):
            values = pa.array(np.full(N_ITEMS, i, np.int8))
            ends = pa.array([0, N_ITEMS], pa.int32())
            tree.append({"i": [i], "v": pa.ListArray.from_arrays(ends, values, type=kind)})
    return ar.open(path)["T"]


@pytest.mark.long
def test_lists_of_more_than_2_31_items_come_in_chunks(long_lists):
    table = long_lists.to_arrow(["i", "v"])
    assert table["i"].to_pylist() == list(range(N_LONG))
    assert table["v"].num_chunks > 1
    ends = [(len(one), one[0].as_py(), one[-1].as_py()) for one in (v.values for v in table["v"])]
    assert ends == [(N_ITEMS, i, i) for i in range(N_LONG)]


@takes_seconds
def test_more_than_2_31_bytes_of_text_come_in_chunks(long_lists):
    column = long_lists.to_arrow(["v"], raw=True)["v"]
    assert column.num_chunks > 1
    assert sum(chunk.nbytes for chunk in column.chunks) > N_LONG * N_ITEMS


@pytest.mark.long
@pytest.mark.parametrize("raw", [False, pytest.param(True, marks=takes_seconds)])
def test_a_batch_that_was_asked_for_and_is_too_long_has_an_error_of_its_own(long_lists, raw):
    with pytest.raises(ar.BatchTooLongError, match="more than 2147483647 items"):
        next(iter(long_lists.scan(["v"], batch_size="8 GB", memory_budget="16 GB", raw=raw)))


def test_what_is_too_long_for_any_batch_is_an_error(monkeypatch, sample):
    def refuse(_):
        raise ar.BatchTooLongError("x: more than 2147483647 items in one batch")

    monkeypatch.setattr("arrowroot._passes.source.TreeSource.next_batch", refuse)
    with pytest.raises(ar.BatchTooLongError, match="2147483647"):
        ar.open(sample[0])["Events"].to_arrow("pt")


@pytest.fixture
def nested(monkeypatch):
    """A table of several chunks that are taken to be too long."""
    monkeypatch.setattr(chunks, "_MAX_ITEMS", 100)
    kind = pa.struct([("t", pa.list_(pa.string())), ("b", pa.list_(pa.binary(), 2))])
    rows = [
        [{"t": ["a", "bc", None][: i % 4], "b": [b"x", b"yz"]}] * (i % 3) if i % 5 else None
        for i in range(60)
    ]
    maps = [[(f"k{j}", [j] * j) for j in range(i % 3)] for i in range(60)]
    table = pa.table(
        {
            "n": pa.array(range(60)),
            "s": pa.array(map(str, range(60))),
            "l": pa.array(rows, pa.list_(kind)),
            "m": pa.array(maps, pa.map_(pa.string(), pa.list_(pa.int32()))),
        }
    )
    return pa.concat_tables([table.slice(i, 20) for i in (0, 20, 40)])


def test_types_of_any_depth_are_numbered_by_64_bits_for_awkward(nested):
    ak = pytest.importorskip("awkward")
    array = to_awkward(nested.drop_columns("m"))
    assert array.to_list() == nested.drop_columns("m").to_pylist()
    text = array.layout.content("s")
    assert isinstance(text, ak.contents.ListOffsetArray | ak.contents.UnmaskedArray)
    assert "int64" in repr(text)
    maps = to_awkward(nested.select(["m"])).m.to_list()
    assert maps[5] == [{"key": "k0", "value": []}, {"key": "k1", "value": [1]}]


def test_entries_that_go_back_and_forth_are_sorted_chunk_by_chunk(monkeypatch, sample):
    path, content = sample
    entries = np.random.default_rng(2).permutation(1000)

    def scan():
        paths = [path.parent / "a.root", path.parent / "b.root"]
        for one in paths:
            if not one.exists():
                one.write_bytes(path.read_bytes())
        return ar.scan(paths, tree="Events", columns=["run", "pt"], entries=entries * 2, batch_size="2 kB")

    expected = scan().read_all()
    monkeypatch.setattr(chunks, "_MAX_ITEMS", 100)
    picked = list(scan())
    assert max(batch.num_rows for batch in picked) < 200
    assert pa.Table.from_batches(picked).to_pylist() == expected.to_pylist()
    assert expected["run"].to_pylist() == content["run"][entries * 2 % 1000].tolist()
