"""Which reader reads which type and which layout of objects, by which route: tried, and the tables of docs/writing.md.

``ARROWROOT_UPDATE_DOCS=1 pytest tests/writing/test_who_reads.py`` writes the tables, for which jsroot must be there
(``jsroot.py``).
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
from tests.tables import required, struct

from . import expected, jsroot
from .expected_objects import has_objects, object_branches
from .invariants import assert_sound
from .jsroot import HAS_JSROOT
from .readers import OF_ROOT, Asked, answers, plain

pytestmark = pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "writing.md"
FORMATS = {"ttree": "TTree", "rntuple": "RNTuple"}
#: Columns of the tables: the last ones may be left away.
OF_KINDS = [(format_, route) for format_ in FORMATS for route in [*OF_ROOT[format_], "uproot", "arrowroot"]]
OF_KINDS += [(format_, "jsroot") for format_ in FORMATS if HAS_JSROOT]
OF_LAYOUTS = [*OF_ROOT["ttree"], "uproot", "arrowroot", *(["jsroot"] if HAS_JSROOT else [])]


def lists(kind: pa.DataType, *, nullable: bool = False) -> pa.DataType:
    return pa.list_(pa.field("item", kind, nullable=nullable))


def fixed(kind: pa.DataType, n: int) -> pa.DataType:
    return pa.list_(required(kind), n)


def maps(key: pa.DataType) -> pa.DataType:
    return pa.map_(key, required(pa.float32(), "value"))


S = struct(pt=pa.float32(), n=pa.int32())
T = struct(pt=pa.float32(), name=pa.string())
L = struct(n=pa.int32(), hits=lists(pa.float32()))
O = pa.struct([required(pa.float32(), "pt"), pa.field("n", pa.int32())])  # noqa: E741 - of an optional

_s = [{"pt": 1.5, "n": 2}, {"pt": -3.0, "n": 4}, {"pt": 0.25, "n": 0}, {"pt": 5.0, "n": -7}]
_t = [
    {"pt": pt, "name": name} for pt, name in ((1.5, "a"), (-3.0, ""), (0.25, "two words"), (5.0, "z" * 300))
]
_l = [{"n": 1, "hits": []}, {"n": 2, "hits": [1.5]}, {"n": 3, "hits": [2.0, 3.0]}, {"n": 4, "hits": [0.5]}]


def _lists_of(values: list[Any]) -> list[list[Any]]:
    return [values[:1], [], values[1:3], values[3:]]


#: Rows of the first table: what they are called, their type, and values; with None among them it is nullable.
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
    "`struct<pt: float, n: int32>`": (S, _s),
    "`struct<pt: float, name: string>`": (T, _t),
    "`list<struct<pt: float, n: int32>>`": (lists(S), _lists_of(_s)),
    "`list<struct<pt: float, name: string>>`": (lists(T), _lists_of(_t)),
    "`list<struct<n: int32, hits: list<float>>>`": (lists(L), _lists_of(_l)),
    "`map<string, float>`": (maps(pa.string()), [[], [("a", 1.5)], [("b", 2.0), ("c", 3.0)], []]),
    "`map<int32, float>`": (maps(pa.int32()), [[], [(1, 1.5)], [(2, 2.0), (3, 3.0)], []]),
    "nullable `int32`": (pa.int32(), [1, None, 3, None]),
    "nullable `float`": (pa.float32(), [1.5, None, 3.0, None]),
    "nullable `string`": (pa.string(), ["a", None, "", "b"]),
    "nullable `list<float>`": (lists(pa.float32()), [[1.5], None, [], [2.0, 3.0]]),
    "`list<float>` with nullable items": (lists(pa.float32(), nullable=True), [[1.5, None], [], [None], [2.0]]),
    "nullable `struct<pt: float, n: int32>`": (S, [_s[0], None, _s[1], None]),
    "`null`": (pa.null(), [None] * 4),
}  # fmt: skip
#: Layouts of the second table: the split level, and whether collections are stored member by member.
LAYOUTS: dict[str, dict[str, Any]] = {
    "split 99": {"split": 99},
    "split 0": {"split": 0},
    "split 0, member by member": {"split": 0, "memberwise": True},
    "vectors": {"lists": "vector"},
}
#: Its rows: types by the layouts that make a difference for them.
OBJECTS: dict[str, tuple[pa.DataType, list[Any], list[str]]] = {
    "`list<float>`": (lists(pa.float32()), [[], [1.5], [2.0, 3.0], [0.0]], ["vectors"]),
    "`struct<pt: float, n: int32>`": (S, _s, ["split 99", "split 0"]),
    "`struct<pt: float, name: string>`": (T, _t, ["split 99", "split 0"]),
    "`struct<n: int32, hits: list<float>>`": (L, _l, ["split 99", "split 0"]),
    "`struct<s: struct<pt: float, n: int32>>`": (struct(s=S), [{"s": one} for one in _s], ["split 99", "split 0"]),
    "`struct<pt: float, n: optional int32>`": (O, [*_s[:3], {"pt": 1.0, "n": None}], ["split 99", "split 0"]),
    "`list<struct<pt: float, n: int32>>`": (lists(S), _lists_of(_s), list(LAYOUTS)),
    "`list<struct<pt: float, name: string>>`": (lists(T), _lists_of(_t), list(LAYOUTS)),
    "`list<struct<n: int32, hits: list<float>>>`": (lists(L), _lists_of(_l), list(LAYOUTS)),
    "`struct<v: list<struct<pt: float, n: int32>>>`": (
        struct(v=lists(S)), [{"v": one} for one in _lists_of(_s)], list(LAYOUTS)[:3],
    ),
    "`struct<v: list<struct<pt: float, name: string>>>`": (
        struct(v=lists(T)), [{"v": one} for one in _lists_of(_t)], ["split 99"],
    ),
    "`list<list<struct<pt: float, n: int32>>>`": (lists(lists(S)), [[one] for one in _lists_of(_s)], ["split 0"]),
}  # fmt: skip


def table_of(kind: pa.DataType, values: list[Any]) -> pa.Table:
    field = pa.field("x", kind, nullable=any(value is None for value in values))
    return pa.table([pa.array(values, type=kind)], schema=pa.schema([field]))


@pytest.fixture(scope="module")
def of_kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[tuple[str, str], str]]:
    """For each kind: what came of each format and route."""
    directory = tmp_path_factory.mktemp("kinds")
    asked: dict[tuple[str, str], Asked] = {}
    for kind, (of, values) in KINDS.items():
        for format_ in FORMATS:
            table = table_of(of, values)
            path = written(directory / f"{len(asked)}.root", table, ar.Layout(format_))
            parts = branches_of(table, None) if format_ == "ttree" else fields_of(table)
            asked[kind, format_] = Asked(path, format_, table, parts, list(parts))
    found: dict[str, dict[tuple[str, str], str]] = {kind: {} for kind in KINDS}
    words = answers(list(asked.values()), directory, all_types=True)
    for (kind, format_), routes in zip(asked, words, strict=True):
        found[kind] |= {(format_, route): word for route, word in routes.items()}
    return found


@pytest.fixture(scope="module")
def of_layouts(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, str]]:
    """For each kind and layout: what came of each route."""
    directory = tmp_path_factory.mktemp("layouts")
    asked: dict[tuple[str, str], Asked] = {}
    for kind, (of, values, layouts) in OBJECTS.items():
        for layout in layouts:
            table, split = table_of(of, values), LAYOUTS[layout].get("split")
            path = written(directory / f"{len(asked)}.root", table, ar.Layout(**LAYOUTS[layout]))
            asked[kind, layout] = Asked(
                path, "ttree", table, members_of(table, split), list(branches_of(table, split))
            )
    types = {one.path: {name: cpp_type(of) for name, of in one.parts.items()} for one in asked.values()}
    found = dict(zip(asked, answers(list(asked.values()), directory, names=types), strict=True))
    for (_, layout), words in found.items():
        # uproot 5.7 reads some whole objects for other values, and sometimes with an error.
        if LAYOUTS[layout].get("split") == 0 and words["uproot"] != "yes":
            words["uproot"] = "differently"
        words |= {route: word.replace("differently", "not rightly") for route, word in words.items()}
    return found


def written(path: Path, table: pa.Table, layout: ar.Layout) -> Path:
    ar.write(f"{path}:Events", table, schema=table.schema, layout=layout)
    assert_sound(path)
    return path


def branches_of(table: pa.Table, split: int | None) -> dict[str, list[Any]]:
    """The branches that a column becomes, with their values."""
    field = table.schema.field(0)
    if split is not None and has_objects(field.type):
        return {one.name: one.values for one in object_branches("x", field, table.column(0), split)}
    return {name: branch.values for name, branch in expected.branches(table, table.schema).items()}


def members_of(table: pa.Table, split: int | None) -> dict[str, list[Any]]:
    """The names that ROOT is asked for, with their values: members of objects, be they branches or not."""
    found: dict[str, list[Any]] = {}
    for name, values in branches_of(table, 99 if split == 0 else split).items():
        objects = [one for one in expected.flat(values) if isinstance(one, dict)]
        if not objects:
            found[name] = values
        for member in objects[0] if objects else ():
            found[f"{name}.{member}"] = [
                [[one[member] for one in inner] for inner in entry] for entry in values
            ]
    return found


def cpp_type(values: list[Any]) -> str:
    """The type of an entry, as RDataFrame spells it."""
    kind = {bool: "bool", int: "int", float: "float", str: "string"}[type(expected.flat(values)[0])]
    return [kind, f"RVec<{kind}>", f"RVec<vector<{kind}>>"][depth_of(values) - 1]


def depth_of(values: Any) -> int:
    return 1 + max(map(depth_of, values), default=0) if isinstance(values, list) else 0


def fields_of(table: pa.Table) -> dict[str, list[Any]]:
    """The fields of an RNTuple that hold values: of structs, and of lists of structs, those inside."""
    found: dict[str, list[Any]] = {}
    _fields("x", table.schema.field(0), expected.stored_values(table.column(0)), 0, found)
    return found


def _fields(name: str, field: pa.Field, values: list[Any], depth: int, found: dict[str, list[Any]]) -> None:
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


@pytest.mark.long
def test_arrowroot_reads_all_exactly_and_nothing_makes_root_crash(of_kinds, of_layouts):
    for of, told in [*of_kinds.items(), *of_layouts.items()]:
        for route, word in told.items():
            assert word == "yes" or "arrowroot" not in route, (of, route)
            # ROOT crashes of such maps of its own, too, where no dictionary of the pair was compiled.
            assert word != "crash" or of == "`map<int32, float>`", (of, route)


@pytest.mark.long
def test_the_tables_of_the_document_are_what_was_tried(of_kinds, of_layouts):
    columns = [f"{FORMATS[format_]}: {route}" for format_, route in OF_KINDS]
    rows = [[kind, *(told[column] for column in OF_KINDS)] for kind, told in of_kinds.items()]
    assert_documented("what", ["type", *columns], rows, n_of_jsroot=len(FORMATS))
    rows = [[*of, *(told[route] for route in OF_LAYOUTS)] for of, told in of_layouts.items()]
    assert_documented("layouts", ["type", "layout", *OF_LAYOUTS], rows, n_of_jsroot=1)


def assert_documented(what: str, heads: list[str], rows: list[list[str]], *, n_of_jsroot: int) -> None:
    """Check a table of the page, or write it. Its last columns are those of jsroot, which may not be there."""
    lines = [heads, *rows]
    tried = "\n".join(f"| {' | '.join(line)} |" for line in lines).replace(
        "\n", f"\n|{'---|' * len(heads)}\n", 1
    )
    begin, end = (f"<!-- who-reads-{what}:{place} -->" for place in ("begin", "end"))
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(begin)
    inside, _, after = rest.partition(end)
    if os.environ.get("ARROWROOT_UPDATE_DOCS"):
        assert HAS_JSROOT, "set ARROWROOT_JSROOT to the folder of its package: the table has columns of it"
        DOCUMENT.write_text(f"{before}{begin}\n{tried}\n{end}{after}", encoding="utf-8")
        return
    for _ in range(0 if HAS_JSROOT else n_of_jsroot):
        inside = jsroot.without_column(inside)
    command = "ARROWROOT_UPDATE_DOCS=1 pytest tests/writing/test_who_reads.py"
    assert inside.strip() == tried, f"run {command}"


def test_nan_is_compared_as_nan():
    assert plain([math.nan, 1.0]) == plain([float("nan"), 1.0])
