"""Files that uproot writes, among them files of random schemas: arrowroot reads what was written."""

from __future__ import annotations

import awkward as ak
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import arrowroot as ar

from .compare import assert_same_values, values_of

uproot = pytest.importorskip("uproot", reason="NO UPROOT FOUND: pip install uproot")

NUMBERS = ["bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
CODECS = {"none": None, "zlib": uproot.ZLIB, "lzma": uproot.LZMA, "lz4": uproot.LZ4, "zstd": uproot.ZSTD}


def compression_of(codec, level):
    return CODECS[codec] and CODECS[codec](level)


def random_numbers(rng, dtype, shape):
    dtype = np.dtype(dtype)
    n_bytes = int(np.prod(shape)) * dtype.itemsize
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    # Any bit pattern, NaN payloads and denormals among them.
    return np.frombuffer(rng.bytes(n_bytes), dtype).reshape(shape)


def random_lists(rng, dtype, n):
    counts = rng.integers(0, 5, n)
    return ak.unflatten(random_numbers(rng, dtype, (int(counts.sum()),)), counts)


def write_and_compare(path, columns, compression, extents):
    """columns: of NumPy arrays or Awkward lists; extents: where uproot ends a basket."""
    types = {
        name: (column.dtype if column.ndim == 1 else np.dtype((column.dtype, column.shape[1:])))
        if isinstance(column, np.ndarray) else column.type.content
        for name, column in columns.items()
    }  # fmt: skip
    with uproot.recreate(path, compression=compression) as file:
        tree = file.mktree("T", types)
        for start, stop in zip([0, *extents[:-1]], extents, strict=True):
            tree.extend({name: column[start:stop] for name, column in columns.items()})
    with ar.open(path) as file:
        tree = file["T"]
        assert tree.num_entries == extents[-1]
        table = tree.to_arrow(list(columns))
        for name, column in columns.items():
            assert_same_values(values_of(table, name), column.tolist(), name)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("level", [1, 9])
def test_codecs_and_levels(tmp_path, codec, level):
    rng = np.random.default_rng(level)
    n = 20000
    columns = {
        "repeated": np.arange(n, dtype="i4") // 100,
        "noise": random_numbers(rng, "f8", (n,)),
        "lists": random_lists(rng, "f4", n),
    }
    write_and_compare(str(tmp_path / "f.root"), columns, compression_of(codec, level), [n // 3, n])


@pytest.mark.parametrize("dtype", NUMBERS)
def test_numbers_arrays_and_lists_of_each_type(tmp_path, dtype):
    rng = np.random.default_rng(NUMBERS.index(dtype))
    n = 500
    columns = {
        "flat": random_numbers(rng, dtype, (n,)),
        "fixed": random_numbers(rng, dtype, (n, 3)),
        "grid": random_numbers(rng, dtype, (n, 2, 3)),
        "lists": random_lists(rng, dtype, n),
    }
    write_and_compare(str(tmp_path / "f.root"), columns, uproot.ZSTD(1), [100, 101, 350, n])


def test_strings(tmp_path):
    words = ["", "a", "x" * 254, "y" * 255, "z" * 256, "\u00e9\u20ac" * 300, "", "end"] * 20
    path = str(tmp_path / "f.root")
    with uproot.recreate(path) as file:
        tree = file.mktree("T", {"words": "string", "i": "i4"})
        tree.extend({"words": ak.Array(words[:50]), "i": np.arange(50)})
        tree.extend({"words": ak.Array(words[50:]), "i": np.arange(50, len(words))})
    with ar.open(path) as file:
        assert_same_values(values_of(file["T"].to_arrow(["words"]), "words"), words, "words")


kinds = st.sampled_from(["flat", "fixed", "grid", "lists"])
columns_of_any_kind = st.lists(st.tuples(st.sampled_from(NUMBERS), kinds), min_size=1, max_size=8)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    schema=columns_of_any_kind,
    sizes=st.lists(st.integers(1, 300), min_size=1, max_size=5),
    codec=st.sampled_from(sorted(CODECS)),
    level=st.integers(1, 9),
    seed=st.integers(0, 2**32),
)
def test_random_schemas(tmp_path, *, schema, sizes, codec, level, seed):
    rng = np.random.default_rng(seed)
    extents = np.cumsum(sizes).tolist()
    n = extents[-1]
    columns = {}
    for k, (dtype, kind) in enumerate(schema):
        if kind == "lists":
            columns[f"c{k}"] = random_lists(rng, dtype, n)
        else:
            shape = {"flat": (n,), "fixed": (n, 3), "grid": (n, 2, 2)}[kind]
            columns[f"c{k}"] = random_numbers(rng, dtype, shape)
    write_and_compare(str(tmp_path / "f.root"), columns, compression_of(codec, level), extents)


def test_a_read_as_uproot_reads(root_files):
    """The same columns through both libraries, for what uproot reads rightly."""
    path = root_files / "numbers.root"
    with uproot.open(path) as theirs, ar.open(path) as ours:
        table = pa.table(ours["T"].to_arrow())
        for name, array in theirs["T"].arrays(library="np").items():
            assert_same_values(values_of(table, name), array.tolist(), name)
