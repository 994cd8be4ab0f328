"""Which reader reads which type, by which route: tried, and the table of docs/writing.md is what came of it.

``ARROWROOT_UPDATE_DOCS=1 pytest tests/writing/test_who_reads_what.py`` writes the table, for which
jsroot must be there (``jsroot.py``).
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arrowroot as ar

from . import expected, jsroot
from .invariants import assert_sound
from .jsroot import HAS_JSROOT
from .readers import OF_ROOT, Asked, answers, plain

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "writing.md"
ROUTES = {layout: [*routes, "uproot", "arrowroot"] for layout, routes in OF_ROOT.items()}

S = pa.struct([pa.field("pt", pa.float32(), nullable=False), pa.field("n", pa.int32(), nullable=False)])
T = pa.struct([pa.field("pt", pa.float32(), nullable=False), pa.field("name", pa.string(), nullable=False)])


def lists(kind: pa.DataType, *, nullable: bool = False) -> pa.DataType:
    return pa.list_(pa.field("item", kind, nullable=nullable))


L = pa.struct([
    pa.field("n", pa.int32(), nullable=False), pa.field("hits", lists(pa.float32()), nullable=False),
])  # fmt: skip


def fixed(kind: pa.DataType, n: int) -> pa.DataType:
    return pa.list_(pa.field("item", kind, nullable=False), n)


def maps(key: pa.DataType) -> pa.DataType:
    return pa.map_(key, pa.field("value", pa.float32(), nullable=False))


#: Rows of the table: what they are called, their type, and values; with None among them it is nullable.
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    **{f"`{kind}`": (kind, [0, 1, 100, 7]) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    **{f"`{kind}`": (kind, [0, 1, 200, 7]) for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    **{f"`{kind}`": (kind, [0.0, -1.5, 2.25, 1024.0]) for kind in (pa.float16(), pa.float32(), pa.float64())},
    "`bool`": (pa.bool_(), [True, False, True, True]),
    "`string`": (pa.string(), ["", "a", "two words", "z" * 300]),
    "`binary`": (pa.binary(), [b"", b"\x01\xff", b"abc", b"x"]),
    "`fixed_size_binary[3]`": (pa.binary(3), [b"abc", b"\x00\x01\x02", b"xyz", b"\xff\xff\xff"]),
    "`timestamp`": (pa.timestamp("us", tz="UTC"), [0, 10**15, -5, 7]),
    "`date32`": (pa.date32(), [dt.date(1970, 1, 2), dt.date(2026, 1, 1), dt.date(1960, 1, 1), dt.date(2000, 2, 29)]),
    "`time64`": (pa.time64("ns"), [0, 10**12, 5, 7]),
    "`duration`": (pa.duration("s"), [0, -3, 5, 7]),
    "`decimal128(12, 3)`": (pa.decimal128(12, 3), [decimal.Decimal(n) for n in ("1.500", "-2", "0", "7")]),
    "`dictionary<string>`": (pa.dictionary(pa.int8(), pa.string()), ["red", "green", "red", ""]),
    "`list<float>`": (lists(pa.float32()), [[], [1.5], [2.0, 3.0], [0.0]]),
    "`list<int8>`": (lists(pa.int8()), [[], [1], [2, 3], [-4]]),
    "`list<uint64>`": (lists(pa.uint64()), [[], [1], [2, 3], [4]]),
    "`list<bool>`": (lists(pa.bool_()), [[], [True], [False, True], [False]]),
    "`list<string>`": (lists(pa.string()), [[], ["a"], ["", "two words"], ["z" * 300]]),
    "`fixed_size_list<float>[3]`": (fixed(pa.float32(), 3), [[1.0, 2.0, 3.0]] * 4),
    "`fixed_size_list<fixed_size_list<int32>[2]>[3]`": (fixed(fixed(pa.int32(), 2), 3), [[[1, 2], [3, 4], [5, 6]]] * 4),
    "`list<fixed_size_list<float>[2]>`": (lists(fixed(pa.float32(), 2)), [[], [[1.0, 2.0]], [[3.0, 4.0]] * 2, []]),
    "`fixed_size_list<list<float>>[2]`": (fixed(lists(pa.float32()), 2), [[[1.0], []], [[], [2.0, 3.0]]] * 2),
    "`list<list<float>>`": (lists(lists(pa.float32())), [[], [[1.0], []], [[2.0, 3.0]], [[]]]),
    "`list<list<int32>>`": (lists(lists(pa.int32())), [[], [[1], []], [[2, 3]], [[]]]),
    "`list<list<string>>`": (lists(lists(pa.string())), [[], [["a"], []], [["b", ""]], [[]]]),
    "`list<list<list<float>>>`": (lists(lists(lists(pa.float32()))), [[], [[[1.0], []], []], [[[2.0, 3.0]]], [[[]]]]),
    "`struct<pt: float, n: int32>`": (S, [{"pt": 1.5, "n": 2}] * 4),
    "`struct<pt: float, name: string>`": (T, [{"pt": 1.5, "name": "a"}, {"pt": 2.5, "name": ""}] * 2),
    "`list<struct<pt: float, n: int32>>`": (lists(S), [[], [{"pt": 1.5, "n": 2}], [{"pt": 0.5, "n": 1}] * 2, []]),
    "`list<struct<pt: float, name: string>>`": (lists(T), [[], [{"pt": 1.5, "name": "a"}]] * 2),
    "`list<struct<n: int32, hits: list<float>>>`": (lists(L), [[], [{"n": 1, "hits": [1.5]}]] * 2),
    "`map<string, float>`": (maps(pa.string()), [[], [("a", 1.5)], [("b", 2.0), ("c", 3.0)], []]),
    "`map<int32, float>`": (maps(pa.int32()), [[], [(1, 1.5)], [(2, 2.0), (3, 3.0)], []]),
    "nullable `int32`": (pa.int32(), [1, None, 3, None]),
    "nullable `float`": (pa.float32(), [1.5, None, 3.0, None]),
    "nullable `string`": (pa.string(), ["a", None, "", "b"]),
    "nullable `list<float>`": (lists(pa.float32()), [[1.5], None, [], [2.0, 3.0]]),
    "`list<float>` with nullable items": (lists(pa.float32(), nullable=True), [[1.5, None], [], [None], [2.0]]),
    "nullable `struct<pt: float, n: int32>`": (S, [{"pt": 1.5, "n": 2}, None, {"pt": 2.5, "n": 3}, None]),
    "`null`": (pa.null(), [None] * 4),
}  # fmt: skip


def table_of(kind: pa.DataType, values: list[Any]) -> pa.Table:
    field = pa.field("x", kind, nullable=any(value is None for value in values))
    return pa.table([pa.array(values, type=kind)], schema=pa.schema([field]))


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[tuple[str, str], str]]:
    """For each kind: what came of each layout and route."""
    directory = tmp_path_factory.mktemp("kinds")
    asked: dict[tuple[str, str], Asked] = {}
    for number, (kind, (of, values)) in enumerate(KINDS.items()):
        table = table_of(of, values)
        for layout in ROUTES:
            path = directory / f"{layout}-{number}.root"
            ar.write(f"{path}:Events", table, schema=table.schema, layout=layout)
            assert_sound(path)
            parts = parts_of(table, layout)
            asked[kind, layout] = Asked(path, layout, table, parts, list(parts))
    found: dict[str, dict[tuple[str, str], str]] = {kind: {} for kind in KINDS}
    words = answers(list(asked.values()), directory, all_types=True)
    for (kind, layout), routes in zip(asked, words, strict=True):
        found[kind] |= {(layout, route): word for route, word in routes.items()}
    return found


def parts_of(table: pa.Table, layout: str) -> dict[str, list[Any]]:
    """The branches or fields that a column is read as, with their values."""
    if layout == "ttree":
        return {name: branch.values for name, branch in expected.branches(table, table.schema).items()}
    found: dict[str, list[Any]] = {}
    _fields("x", table.schema.field(0), expected.stored_values(table.column(0)), 0, found)
    return found


def _fields(name: str, field: pa.Field, values: list[Any], depth: int, found: dict[str, list[Any]]) -> None:
    """The fields of an RNTuple that hold values: of structs, and of lists of structs, those inside."""
    kind = expected.stored_type(field.type)
    is_list = expected.types.is_list(kind) or expected.types.is_large_list(kind)
    item = expected.stored_type(kind.value_type) if is_list else kind
    if expected.types.is_struct(item) and not field.nullable:
        for number in range(item.num_fields):
            member = item.field(number)
            inner = expected.deep(lambda one, member=member: one[member.name], values, depth + is_list)
            _fields(f"{name}.{member.name}", member, inner, depth + is_list, found)
    else:
        found[name] = values


#: What all readers must take.
COMMON = [
    f"`{kind}`"
    for kind in (
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "halffloat", "float", "double",
        "bool",         "string", "list<float>", "list<int8>", "list<uint64>", "list<bool>",
    )
]  # fmt: skip


def test_numbers_texts_and_lists_of_numbers_are_read_by_all(cells):
    others = {(kind, *cell) for kind in COMMON for cell, word in cells[kind].items() if word != "yes"}
    # TTreeFormula takes an array of characters for a text, and jsroot 7.11 stops at an RNTuple's texts.
    known = {("`list<int8>`", "ttree", "Draw")}
    assert others == known | ({("`string`", "rntuple", "jsroot")} if HAS_JSROOT else set())


def test_arrowroot_reads_all_exactly(cells):
    ours = {(kind, layout): told[layout, "arrowroot"] for kind, told in cells.items() for layout in ROUTES}
    assert {key: told for key, told in ours.items() if told != "yes"} == {}


def test_nothing_makes_root_crash(cells):
    assert [
        (kind, cell) for kind, told in cells.items() for cell, word in told.items() if word == "crash"
    ] == []


def test_the_table_of_the_document_is_what_was_tried(cells):
    assert_documented("what", markdown(cells), n_of_jsroot=len(ROUTES))


def assert_documented(what: str, tried: str, *, n_of_jsroot: int) -> None:
    """Check a table of the page, or write it. Its last columns are those of jsroot, which may not be there."""
    begin, end = (f"<!-- who-reads-{what}:{place} -->" for place in ("begin", "end"))
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(begin)
    inside, _, after = rest.partition(end)
    if os.environ.get("ARROWROOT_UPDATE_DOCS"):
        assert HAS_JSROOT, "set ARROWROOT_JSROOT to the folder of its package: the table has columns of it"
        DOCUMENT.write_text(f"{before}{begin}\n{tried}\n{end}{after}", encoding="utf-8")
        return
    for _ in range(0 if HAS_JSROOT else n_of_jsroot):
        inside = jsroot.without_column(inside)
    command = f"ARROWROOT_UPDATE_DOCS=1 pytest tests/writing/test_who_reads_{what}.py"
    assert inside.strip() == tried, f"run {command}"


def markdown(cells: dict[str, dict[tuple[str, str], str]]) -> str:
    columns = [(layout, route) for layout, routes in ROUTES.items() for route in routes]
    # The last ones, as they may be left away.
    columns += [(layout, "jsroot") for layout in ROUTES if HAS_JSROOT]
    titles = {"ttree": "TTree", "rntuple": "RNTuple"}
    lines = [
        "| type | " + " | ".join(f"{titles[layout]}: {route}" for layout, route in columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    lines += [
        f"| {kind} | " + " | ".join(told[column] for column in columns) + " |" for kind, told in cells.items()
    ]
    return "\n".join(lines)


def test_nan_is_compared_as_nan():
    assert plain([math.nan, 1.0]) == plain([float("nan"), 1.0])
