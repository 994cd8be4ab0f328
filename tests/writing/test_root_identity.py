"""Without compression and with ROOT's basket sizes, a tree is byte for byte what ROOT writes.

Identifiers and dates are those of reproducible files in both. ``make test`` takes a twentieth of the cases.
"""

from __future__ import annotations

import os
import struct
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from tests.judge import root

from . import identity_with_root
from .identity_cases import Case, Column, draw_case
from .invariants import assert_sound
from .invariants.container import Container
from .invariants.reading import Findings

if TYPE_CHECKING:
    from pathlib import Path

N_CASES = 200 if os.environ.get("ARROWROOT_SOAK") else 10


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """With the files of arrowroot and those of ROOT."""
    ours, of_root = tmp_path_factory.mktemp("ours"), tmp_path_factory.mktemp("root")
    for seed in range(N_CASES):
        case = draw_case(seed)
        path = ours / case.file_name
        write(case, path)
        schema = recorded_schema(path.read_bytes())
        if schema is not None:
            (of_root / case.schema_name).write_text(schema)
        root.run(identity_with_root.write, of_root, seed)
    return ours, of_root


def recorded_schema(data: bytes) -> str | None:
    """The title of the TNamed ``ARROW:schema``, if there is one; ROOT is given it to write."""
    _, found, text = data.partition(b"\x0cARROW:schema")
    if not found:
        return None
    start, n_bytes = (5, int.from_bytes(text[1:5], "big")) if text[0] == 255 else (1, text[0])
    return text[start : start + n_bytes].decode()


def array_of(column: Column, n_entries: int) -> pa.Array:
    if column.letter == "C":
        return pa.array(column.values, pa.string())
    values = pa.array(column.values)
    for n_items in reversed(column.dims):
        values = pa.FixedSizeListArray.from_arrays(values, type=pa.list_(_item(values), n_items))
    if column.counts is None:
        return values
    offsets = np.concatenate([[0], np.cumsum(column.counts)]).astype(np.int32)
    assert len(offsets) == n_entries + 1
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=pa.list_(_item(values)))


def _item(values: pa.Array) -> pa.Field:
    # A nullable one would have a branch for its validity.
    return pa.field("item", values.type, nullable=False)


def write(case: Case, path: Path) -> None:
    arrays = [array_of(column, case.n_entries) for column in case.columns]
    schema = pa.schema(
        [
            pa.field(column.name, array.type, nullable=False)
            for column, array in zip(case.columns, arrays, strict=True)
        ]
    )
    with ar.create(path, reproducible=True, compression=None) as file:
        place = file.directory(case.directory) if case.directory else file
        baskets = "optimized" if case.is_optimized else case.basket_size
        precision = {column.name: column.precision for column in case.columns}
        features = "kGenerateOffsetMap" if case.generates_offsets else None
        counters = {column.name: column.counter for column in case.columns if column.counter is not None}
        layout = ar.Layout(
            flush=case.flush,
            basket_size=baskets,
            precision=precision,
            io_features=features,
            counters=counters,
        )
        with (
            warnings.catch_warnings(),
            place.tree(case.name, schema, layout=layout, title=case.title) as tree,
        ):
            # uproot does not read packed numbers in lists.
            warnings.simplefilter("ignore", ar.FewReadersWarning)
            tree.append(pa.table(arrays, schema=schema))


def records(path: Path) -> list[tuple[str, bytes]]:
    """The records of the file, in the order of their offsets."""
    container = Container(path, Findings())
    data = path.read_bytes()
    keys = sorted(container.records.values(), key=lambda key: key.seek)
    found = [("header", data[:100])]
    found += [(str(key), data[key.seek : key.seek + key.n_bytes]) for key in keys]
    return found


@pytest.mark.parametrize("seed", range(N_CASES))
def test_every_record_is_what_root_writes(directories, seed):
    ours, of_root = (directory / draw_case(seed).file_name for directory in directories)
    assert_sound(ours)
    if ours.read_bytes() == of_root.read_bytes():
        return
    our_records, root_records = records(ours), records(of_root)
    assert [name for name, _ in our_records] == [name for name, _ in root_records]
    for (name, our), (_, theirs) in zip(our_records, root_records, strict=True):
        differs = [place for place, (a, b) in enumerate(zip(our, theirs, strict=False)) if a != b]
        assert our == theirs, f"{name}: {len(our)} bytes, not {len(theirs)}; they differ at {differs[:20]}"
    raise AssertionError("the files differ between their records")


@pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")
def test_entries_are_read_as_bytes_where_a_counter_says_their_sizes(tmp_path):
    lists = [[k + i for i in range(k % 4)] for k in range(50)]
    table = pa.table({"v": pa.array(lists, pa.list_(pa.int16()))})
    layout = ar.Layout(io_features="kGenerateOffsetMap", flush=20)
    ar.write(f"{tmp_path / 'out.root'}:t", table, layout=layout)
    with ar.open(tmp_path / "out.root") as file:
        tree = file["t"]
        expected = [struct.pack(f">{len(items)}h", *items) for items in lists]
        assert tree.to_arrow(["v"], raw=True)["v"].to_pylist() == expected
        assert tree.to_arrow(["v"], raw=True, entries=slice(13, 44))["v"].to_pylist() == expected[13:44]
