"""Files of ours that ROOT merges, takes snapshots of and updates: what comes of it is right, and follows the rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from tests.differential import root_peer

from .expected import shown, stored_values
from .invariants import assert_sound

HERE = Path(__file__).resolve().parent
LAYOUTS = ("ttree", "rntuple")


def table_of(seed: int, n: int = 500) -> pa.Table:
    random = np.random.default_rng(seed)
    lengths = random.poisson(2, n)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    items = int(ends[-1])
    offsets = pa.array(ends)
    return pa.table({
        "run": pa.array(random.integers(0, 9, n).astype(np.int32)),
        "event": pa.array(np.arange(n, dtype=np.uint64) + seed * n),
        "ok": pa.array(random.random(n) < 0.5),
        "met": pa.array(random.exponential(30, n).astype(np.float32)),
        "label": pa.array([["", "signal", "z" * 300][k % 3] for k in range(n)]),
        "Muon_pt": pa.ListArray.from_arrays(offsets, pa.array(random.normal(0, 1, items).astype(np.float32))),
        "Muon_charge": pa.ListArray.from_arrays(offsets, pa.array(random.integers(-1, 2, items).astype(np.int8))),
        "hits": pa.array([[[float(k)] * (k % 3)] * (k % 2) for k in range(n)], type=pa.list_(pa.list_(pa.float64()))),
    })  # fmt: skip


def write(path: Path, table: pa.Table, layout: str, **options: Any) -> Path:
    ar.write(f"{path}:Events", table, layout=layout, flush=200, **options)
    return path


def root(what: str, layout: str, out: Path, *files: Path) -> None:
    root_peer.run(str(HERE / "go_on_with_root.py"), what, layout, out, *files)


def assert_holds(path: Path, table: pa.Table) -> None:
    with ar.open(str(path)) as file:
        read = file["Events"].to_arrow()
    assert set(read.column_names) >= set(table.column_names)
    for name in table.column_names:
        assert shown(stored_values(read.column(name))) == shown(stored_values(table.column(name))), name


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("what", ["merge", "merge-anew"])
def test_merged_files_have_all_entries_in_order(tmp_path, layout, what):
    tables = [table_of(seed) for seed in (1, 2, 3)]
    files = [write(tmp_path / f"{k}.root", table, layout) for k, table in enumerate(tables)]
    root(what, layout, tmp_path / "merged.root", *files)
    assert_holds(tmp_path / "merged.root", pa.concat_tables(tables))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_of_different_codecs_are_merged(tmp_path, layout):
    tables = [table_of(seed) for seed in (1, 2)]
    files = [
        write(tmp_path / f"{k}.root", table, layout, compression=codec)
        for k, (table, codec) in enumerate(zip(tables, ["lz4", "lzma:2"], strict=True))
    ]
    root("merge", layout, tmp_path / "merged.root", *files)
    assert_holds(tmp_path / "merged.root", pa.concat_tables(tables))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_snapshot_has_the_same_values(tmp_path, layout):
    table = table_of(1)
    if layout == "ttree":
        # RDataFrame has a text of a tree as characters, and no dictionary to write vectors of vectors with.
        table = table.drop_columns(["label", "hits"])
    file = write(tmp_path / "ours.root", table, layout)
    root("snapshot", layout, tmp_path / "snapshot.root", file)
    assert_holds(tmp_path / "snapshot.root", table)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_updated_file_has_what_it_had_and_what_was_added(tmp_path, layout):
    table = table_of(1)
    file = write(tmp_path / "ours.root", table, layout)
    root("update", layout, tmp_path / "updated.root", file)
    assert_holds(tmp_path / "updated.root", table)
    # What ROOT frees at the end stays there, after fEND.
    assert_sound(tmp_path / "updated.root", but=["file-end"])
    with ar.open(str(tmp_path / "updated.root")) as opened:
        assert opened["second"].title == "other"
        assert opened["added/h"].values().tolist() == [0, 0, 1, 0, 0]


def test_zlib_makes_lists_as_small_as_root_does(tmp_path):
    random = np.random.default_rng(1)
    n = 40_000
    ends = pa.array(np.concatenate([[0], np.cumsum(random.poisson(3, n))]).astype(np.int32))
    n_items = ends[-1].as_py()
    kept = random.exponential(30, n_items).astype(np.float32)
    kept.view(np.uint32)[:] &= np.uint32(0xFFFFF000)  # 11 bits of mantissa, as NanoAOD keeps them
    whole, small = (
        random.normal(0, 1.5, n_items).astype(np.float32),
        random.poisson(4, n_items).astype(np.int32),
    )
    columns = {"C_kept": kept, "C_whole": whole, "C_small": small}
    table = pa.table(
        {name: pa.ListArray.from_arrays(ends, pa.array(values)) for name, values in columns.items()}
    )
    ours, plain, theirs = (tmp_path / name for name in ("ours.root", "plain.root", "theirs.root"))
    ar.write(f"{ours}:Events", table, compression="zlib:1")
    ar.write(f"{plain}:Events", table, compression=None)
    root("zlib", "ttree", theirs, plain)
    assert ours.stat().st_size <= 1.02 * theirs.stat().st_size
