"""Which reader reads which layout of objects: tried, and a table of docs/writing.md is what came of it.

``ARROWROOT_UPDATE_DOCS=1 pytest tests/writing/test_who_reads_layouts.py`` writes the table, for which
jsroot must be there (``jsroot.py``).
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import arrowroot as ar

from . import expected
from .expected_objects import has_objects, object_branches
from .invariants import assert_sound
from .jsroot import HAS_JSROOT
from .readers import OF_ROOT, Asked, answers
from .test_who_reads_what import assert_documented, lists, table_of

pytestmark = pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")

ROUTES = [*OF_ROOT["ttree"], "uproot", "arrowroot", "jsroot"]
#: Rows of a type: the split level, and whether collections are stored member by member.
LAYOUTS: dict[str, dict[str, Any]] = {
    "split 99": {"split": 99},
    "split 0": {"split": 0},
    "split 0, member by member": {"split": 0, "memberwise": True},
    "vectors": {"lists": "vector"},
}


def struct(**members: pa.DataType) -> pa.DataType:
    return pa.struct([pa.field(name, kind, nullable=False) for name, kind in members.items()])


S = struct(pt=pa.float32(), n=pa.int32())
T = struct(pt=pa.float32(), name=pa.string())
L = struct(n=pa.int32(), hits=lists(pa.float32()))
O = pa.struct([pa.field("pt", pa.float32(), nullable=False), pa.field("n", pa.int32())])  # noqa: E741 - of an optional

_s = [{"pt": 1.5, "n": 2}, {"pt": -3.0, "n": 4}, {"pt": 0.25, "n": 0}, {"pt": 5.0, "n": -7}]
_t = [
    {"pt": 1.5, "name": "a"},
    {"pt": -3.0, "name": ""},
    {"pt": 0.25, "name": "two words"},
    {"pt": 5.0, "name": "z" * 300},
]
_l = [{"n": 1, "hits": []}, {"n": 2, "hits": [1.5]}, {"n": 3, "hits": [2.0, 3.0]}, {"n": 4, "hits": [0.5]}]


def _lists_of(values: list[Any]) -> list[list[Any]]:
    return [values[:1], [], values[1:3], values[3:]]


#: Types by the layouts that make a difference for them.
KINDS: dict[str, tuple[pa.DataType, list[Any], list[str]]] = {
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


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, str]]:
    """For each kind and layout: what came of each route."""
    directory = tmp_path_factory.mktemp("layouts")
    asked: dict[tuple[str, str], Asked] = {}
    for kind, (of, values, layouts) in KINDS.items():
        for layout in layouts:
            path = directory / f"{len(asked)}.root"
            table = table_of(of, values)
            ar.write(f"{path}:Events", table, schema=table.schema, layout=ar.Layout(**LAYOUTS[layout]))
            assert_sound(path)
            parts = parts_of(table, LAYOUTS[layout])
            branches = list(branches_of(table, LAYOUTS[layout]))
            asked[kind, layout] = Asked(path, "ttree", table, parts, branches)
    types = {one.path: {name: cpp_type(of) for name, of in one.parts.items()} for one in asked.values()}
    found = dict(zip(asked, answers(list(asked.values()), directory, names=types), strict=True))
    for (_, layout), words in found.items():
        # uproot 5.7 reads some whole objects for other values, and sometimes with an error.
        if LAYOUTS[layout].get("split") == 0 and words["uproot"] != "yes":
            words["uproot"] = "differently"
        words |= {route: word.replace("differently", "not rightly") for route, word in words.items()}
    return found


def parts_of(table: pa.Table, layout: dict[str, Any]) -> dict[str, list[Any]]:
    """The names that ROOT is asked for, with their values: members of objects, be they branches or not."""
    if layout.get("split") == 0:
        layout = layout | {"split": 99}
    found: dict[str, list[Any]] = {}
    for name, values in branches_of(table, layout).items():
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


def branches_of(table: pa.Table, layout: dict[str, Any]) -> dict[str, list[Any]]:
    """The branches that a column becomes, with their values."""
    field = table.schema.field(0)
    if "split" in layout and has_objects(field.type):
        return {one.name: one.values for one in object_branches("x", field, table.column(0), layout["split"])}
    return {name: branch.values for name, branch in expected.branches(table, table.schema).items()}


def test_arrowroot_reads_all_exactly(cells):
    assert {key: told["arrowroot"] for key, told in cells.items() if told["arrowroot"] != "yes"} == {}


def test_numbers_of_split_objects_are_read_by_all(cells):
    for kind in ("`struct<pt: float, n: int32>`", "`list<struct<pt: float, n: int32>>`"):
        assert set(cells[kind, "split 99"].values()) == {"yes"}


def test_draw_reads_numbers_of_objects_in_any_layout(cells):
    assert {told["Draw"] for (kind, _), told in cells.items() if "string" not in kind} == {"yes"}


def test_frames_of_root_know_no_members_of_whole_objects(cells):
    whole = [told["RDataFrame"] for (_, layout), told in cells.items() if layout.startswith("split 0")]
    assert set(whole) == {"no"}


@pytest.mark.skipif(
    not HAS_JSROOT, reason="NO JSROOT: npm pack jsroot, unpack it, set ARROWROOT_JSROOT to its folder"
)
def test_jsroot_reads_numbers_of_objects_in_any_layout(cells):
    assert cells["`struct<pt: float, n: int32>`", "split 0"]["jsroot"] == "yes"


def test_the_table_of_the_document_is_what_was_tried(cells):
    assert_documented("layouts", markdown(cells), n_of_jsroot=1)


def markdown(cells: dict[tuple[str, str], dict[str, str]]) -> str:
    routes = ROUTES if HAS_JSROOT else ROUTES[:-1]
    lines = ["| type | layout | " + " | ".join(routes) + " |", "|---|---|" + "---|" * len(routes)]
    lines += [
        f"| {kind} | {layout} | " + " | ".join(told[route] for route in routes) + " |"
        for (kind, layout), told in cells.items()
    ]
    return "\n".join(lines)
