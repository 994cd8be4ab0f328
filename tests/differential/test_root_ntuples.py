"""RNTuples that ROOT writes: arrowroot reads what was filled in, whole and in parts, whatever the number of threads."""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import arrowroot as ar
from tests.conformance.reader import plain_values

from .compare import RootFiles, as_bytes, assert_same_values, values_of, written
from .with_root_ntuples import write_kinds

KINDS = ["none", "zlib", "lzma", "lz4", "zstd", "small_pages", "empty"]
FILES = [*(f"kinds_{name}" for name in KINDS), "encodings", "encodings_none", "classes", "extension"]


files = written(write_kinds)


def opened(files: RootFiles, name: str) -> tuple[Any, dict[str, list[Any]]]:
    expected = json.loads((files / f"{name}.root.json").read_text())
    tree = ar.open(files / f"{name}.root")["Events"]
    assert tree.num_entries == expected["n_entries"]
    return tree, expected["columns"]


@pytest.mark.parametrize("name", FILES)
def test_all_fields_hold_what_was_filled(files, name):
    tree, columns = opened(files, name)
    table = pa.table(tree.to_arrow(list(columns)))
    table.validate(full=True)
    for column, wanted in columns.items():
        assert_same_values(values_of(table, column), wanted, f"{name}: {column}")


@pytest.mark.parametrize("name", [name for name in FILES if name != "kinds_empty"])
def test_parts_of_the_entries_are_parts_of_the_values(files, name):
    tree, columns = opened(files, name)
    n = tree.num_entries
    generator = random.Random(name)
    ranges = [sorted((generator.randrange(n + 1), generator.randrange(n + 1))) for _ in range(5)]
    picked = [generator.randrange(n) for _ in range(40)]
    for start, stop in [*ranges, (0, n)]:
        got = tree.scan(list(columns), entries=slice(start, stop), batch_size="5000 B")
        tables = [pa.table(batch) for batch in got]
        for column, wanted in columns.items():
            found = [value for table in tables for value in plain_values(table.column(column))]
            assert_same_values(found, wanted[start:stop], f"{name}: {column}, entries {start} to {stop}")
    table = tree.to_arrow(list(columns), entries=picked)
    for column, wanted in columns.items():
        assert_same_values(
            values_of(table, column), [wanted[entry] for entry in picked], f"{name}: {column}, list"
        )


def test_filters_of_pyarrow_select_among_variants(files):
    tree, columns = opened(files, "kinds_zstd")
    number = next(field.name for field in tree.schema if pa.types.is_integer(field.type))
    wanted = [value > 0 for value in values_of(tree.to_arrow([number]), number)]
    assert 0 < sum(wanted) < len(wanted)
    for name in ("variant", "v_variant", "pair_variant"):
        found = values_of(tree.to_arrow([name], filter=pc.field(number) > 0), name)
        picked = [value for value, is_wanted in zip(columns[name], wanted, strict=True) if is_wanted]
        assert_same_values(found, picked, name)


def test_variants_are_refused_by_name_where_dask_awkward_loses_them(files):
    ard = pytest.importorskip("arrowroot.dask")
    pytest.importorskip("dask_awkward")
    with pytest.raises(ar.UnsupportedError, match=r"variants; leave out 'variant', 'v_variant'"):
        ard.awkward(files / "kinds_zstd.root", "Events", ["variant", "v_variant"])


def test_picked_entries_are_read_once(files):
    """The pages with the ends of lists tell which others are needed: the scan has them from its plan."""
    tree, columns = opened(files, "kinds_small_pages")
    scan = tree.scan(list(columns), entries=[17, 18, 300, 41], trace=True)
    values = pa.table(scan)
    for column, wanted in columns.items():
        assert_same_values(values_of(values, column), [wanted[entry] for entry in (17, 18, 300, 41)], column)
    # Variants are looked into, and read again for their values.
    variants = {"variant", "v_variant", "pair_variant"}
    scan = tree.scan(
        [name for name in columns if name not in variants], entries=[17, 18, 300, 41], trace=True
    )
    pa.table(scan)
    assert sum(window.n_baskets for window in scan.plan.windows) < scan.plan.n_baskets
    needed = [(read.offset, read.n_bytes) for read in scan.logical_reads()]
    assert len(needed) == len(set(needed)) == scan.stats.n_baskets == scan.plan.n_baskets
    assert scan.stats.payload_bytes == sum(n_bytes for _, n_bytes in needed)


@pytest.mark.parametrize("name", ["kinds_small_pages", "classes", "extension"])
def test_the_number_of_threads_changes_no_byte(files, name):
    tree, columns = opened(files, name)
    one, two = (as_bytes(tree.to_arrow(list(columns), n_threads=n)) for n in (1, 2))
    assert one == two


def test_members_and_projected_fields_are_columns(files):
    tree, columns = opened(files, "classes")
    hits = columns["hits"]
    table = tree.to_arrow(
        ["hits.x", "hits.weights", "hit.label", "n_hits", "hits_x", "vv_hit.color", "opt_hit.id"]
    )
    wanted = {
        "hits.x": [[hit["x"] for hit in entry] for entry in hits],
        "hits.weights": [[hit["weights"] for hit in entry] for entry in hits],
        "hit.label": [hit["label"] for hit in columns["hit"]],
        "n_hits": [len(entry) for entry in hits],
        "hits_x": [[hit["x"] for hit in entry] for entry in hits],
        "vv_hit.color": [[[hit["color"] for hit in inner] for inner in entry] for entry in columns["vv_hit"]],
        "opt_hit.id": [None if hit is None else hit["id"] for hit in columns["opt_hit"]],
    }
    for column, values in wanted.items():
        assert_same_values(values_of(table, column), values, column)
    # As ROOT spells it.
    assert_same_values(values_of(tree.to_arrow(["hits._0.x"]), "hits.x"), wanted["hits.x"], "hits._0.x")
    assert set(columns) | {"n_hits", "hits_x"} == set(tree.column_names)
    assert {"hit", "hits"} <= set(pa.table(tree.to_arrow()).column_names)


def test_a_changed_page_is_found_by_its_checksum(files, tmp_path):
    data = bytearray((files / "kinds_none.root").read_bytes())
    tree, _ = opened(files, "kinds_none")
    scan = tree.scan(["i64"], trace=True)
    offset, n_bytes = scan.plan.windows[0].ranges[0]
    data[offset + n_bytes // 2] ^= 1
    changed = tmp_path / "changed.root"
    changed.write_bytes(data)
    with pytest.raises(ar.CorruptFileError, match="checksum of the page"):
        ar.open(changed)["Events"].to_arrow(["i64"])
    # Whoever wants to see it all the same can.
    numbers = ar.open(changed)["Events"].to_numpy(["i64"], verify_checksums=False)["i64"]
    assert (numbers != tree.to_numpy(["i64"])["i64"]).sum() == 1
