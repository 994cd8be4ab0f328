"""Tables of random schemas, written in both layouts: what anybody can read of them is what was written.

``make test`` takes the first 50 seeds of each layout, ``make soak-write`` 1,000.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import pytest
import uproot

import arrowroot as ar

from . import expected
from .expected import flat, shown
from .invariants import assert_sound
from .root_reading import RootColumn, read_all
from .schemas import draw_table
from .seeds import seeds_of

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

SEEDS = seeds_of(50)
LAYOUTS = ("ttree", "rntuple")
SETTINGS: list[dict[str, Any]] = [
    {}, {"flush": 7}, {"compression": None}, {"compression": "lz4", "flush": "1 kB"},
    {"compression": "zstd:3", "flush": 50}, {"compression": "lzma", "n_threads": 2},
]  # fmt: skip


def settings_of(seed: int, layout: str) -> dict[str, Any]:
    found = dict(SETTINGS[seed % len(SETTINGS)])
    if seed % 11 == 5 and layout == "ttree":
        found |= {"flush": None, "basket_size": 1000}
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, str], Path]:
    directory = tmp_path_factory.mktemp("random")
    found = {}
    for seed in SEEDS:
        for layout in LAYOUTS:
            path = directory / f"{layout}-{seed}.root"
            table = draw_table(seed)
            ar.write(f"{path}:Events", table, schema=table.schema, layout=layout, **settings_of(seed, layout))
            found[seed, layout] = path
    return found


@pytest.fixture(scope="module")
def read_by_root(files: dict[tuple[int, str], Path]) -> dict[Path, dict[str, dict[str, RootColumn]]]:
    # Reading an RNTuple without entries, its own too, makes ROOT 6.40 crash.
    asked = [
        (path, "Events", layout)
        for (seed, layout), path in files.items()
        if layout == "ttree" or draw_table(seed).num_rows
    ]
    return read_all(asked, asked[0][0].parent)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_file_breaks_no_rule_of_the_format(files, seed, layout):
    assert_sound(files[seed, layout])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_table_comes_back_exactly(files, seed, layout):
    table = draw_table(seed)
    with ar.open(str(files[seed, layout])) as file:
        read = file["Events"].to_arrow()
    assert read.schema.names == table.schema.names
    for field in table.schema:
        assert str(read.schema.field(field.name)) == str(field)
    assert read.num_rows == table.num_rows
    for name in table.schema.names:
        assert shown(expected.stored_values(read.column(name))) == shown(
            expected.stored_values(table.column(name))
        ), name


@pytest.mark.parametrize("seed", SEEDS)
def test_root_reads_what_it_can_of_a_tree(files, read_by_root, seed):
    wanted = expected.branches(draw_table(seed))
    routes = read_by_root[files[seed, "ttree"]]
    assert "crash" not in routes, "ROOT crashed"
    for route, columns in routes.items():
        for name, branch in wanted.items():
            assert name in columns, f"{route} does not list {name}, only {list(columns)}"
            column = columns[name]
            if column.values is None:
                assert not must_be_read(column), f"{route}, {name}: {column.error}"
                continue
            values = as_texts(column) if column.is_text else column.values
            assert_equal(values, branch.values, f"{route}, branch {name} ({column.type})")


@pytest.mark.parametrize("seed", SEEDS)
def test_root_reads_what_it_can_of_an_rntuple(files, read_by_root, seed):
    table = draw_table(seed)
    if table.num_rows == 0:
        return
    routes = read_by_root[files[seed, "rntuple"]]
    assert "crash" not in routes, "ROOT crashed"
    for route, columns in routes.items():
        for place, field in enumerate(table.schema):
            name = expected.stored_name(field.name)
            values = expected.stored_values(table.column(place))
            column = columns.get(name)
            if is_simple(field):
                assert column is not None, f"{route} does not list {name}, only {list(columns)}"
                assert column.values is not None, f"{route}, {name} ({column.type}): {column.error}"
            if column is None or column.values is None or expected.types.is_null(field.type):
                continue
            if field.nullable and "optional" not in column.type:  # as lists of one or none
                values = [[] if one is None else [one] for one in values]
            assert_equal(column.values, values, f"{route}, field {name} ({column.type})")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_uproot_reads_what_it_can(files, seed, layout):
    table = draw_table(seed)
    wanted = (
        {name: branch.values for name, branch in expected.branches(table).items()}
        if layout == "ttree"
        else {
            expected.stored_name(field.name): expected.stored_values(table.column(place))
            for place, field in enumerate(table.schema)
            if is_simple(field)
        }
    )
    with uproot.open(files[seed, layout]) as file:
        found = file["Events"]
        assert found.num_entries == table.num_rows
        for name, values in wanted.items():
            read = uproot_values(found, name, layout)
            if read is not None:
                assert_equal(read, values, f"uproot, {name}")


def uproot_values(table: Any, name: str, layout: str) -> list[Any] | None:
    """A column by uproot; None if it says that it cannot read such."""
    if layout == "rntuple":
        return list(table.arrays([name])[name].to_list())
    try:
        return list(table[name].array().to_list())
    except (uproot.interpretation.identify.UnknownInterpretation, NotImplementedError):
        return None


def must_be_read(column: RootColumn) -> bool:
    """Numbers, bools, texts and lists of numbers are read by all."""
    kind = re.sub(r"ROOT::VecOps::|std::|_t\b", "", column.type)
    return re.fullmatch(r"(RVec<)?[A-Za-z0-9 ]+>?", kind) is not None


def is_simple(field: pa.Field) -> bool:
    """True if each reader takes a field of an RNTuple: a number, a bool, a text, or a list of numbers, none missing."""
    kind = expected.stored_type(field.type)
    is_bytes = any(
        test(field.type)
        for test in (
            expected.types.is_binary, expected.types.is_large_binary, expected.types.is_fixed_size_binary
        )
    )  # fmt: skip
    if field.nullable or is_bytes:
        return False
    if expected.types.is_list(kind) or expected.types.is_large_list(kind):
        field = kind.value_field
        kind = expected.stored_type(field.type)
        return not field.nullable and is_number(kind)
    return is_number(kind) or expected.types.is_string(kind) or expected.types.is_large_string(kind)


def is_number(kind: pa.DataType) -> bool:
    return bool(
        expected.types.is_integer(kind) or expected.types.is_floating(kind) or expected.types.is_boolean(kind)
    )


def as_texts(column: RootColumn) -> list[str]:
    """Texts that ROOT has as arrays of characters, up to the first zero: what follows it are bytes of other entries.

    Where all texts are empty RDataFrame has characters, each the zero that ends one, as it has of such a tree of ROOT.
    """
    assert column.values is not None
    found = []
    for letters in column.values if column.type != "Char_t" else [[letter] for letter in column.values]:
        raw = bytes(letter & 0xFF for letter in letters)
        found.append(raw.partition(b"\0")[0].decode())
    return found


def assert_equal(found: list[Any], wanted: list[Any], what: str) -> None:
    """Compare values: fixed lists and lists of them may come flat."""
    assert len(found) == len(wanted), f"{what}: {len(found)} entries, not {len(wanted)}"
    for entry, (a, b) in enumerate(zip(found, wanted, strict=True)):
        one, other = (plain(a), plain(b))
        if one != other:
            is_flat = flat(one) == flat(other) and _depth(one) < _depth(other)
            assert is_flat, f"{what}, entry {entry}: {one}, not {other}"


def _depth(value: Any) -> int:
    return 1 + max((_depth(one) for one in value), default=0) if isinstance(value, list) else 0


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, str) and (value == "nan" or re.fullmatch(r"-?(0x[0-9a-f.]+p[+-]\d+|inf)", value)):
        number = float.fromhex(value)
        return "nan" if math.isnan(number) else number.hex()
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return shown(value)
