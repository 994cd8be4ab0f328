"""Which reader reads which layout of objects: tried, and a table of docs/writing.md is what came of it.

``ARROWROOT_UPDATE_DOCS=1 pytest tests/writing/test_who_reads_layouts.py`` writes the table.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import uproot

import arrowroot as ar

from . import expected
from .expected_objects import has_objects, object_branches
from .invariants import assert_sound
from .test_random_schemas import plain
from .test_who_reads_what import DOCUMENT, judged, lists, read_by_us, table_of, tried

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")

BEGIN, END = "<!-- who-reads-layouts:begin -->", "<!-- who-reads-layouts:end -->"
ROUTES = ["uproot", "arrowroot"]
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
    "`list<list<struct<pt: float, n: int32>>>`": (lists(lists(S)), [[one] for one in _lists_of(_s)], ["split 0"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, str]]:
    """For each kind and layout: what came of each route."""
    directory = tmp_path_factory.mktemp("layouts")
    files: dict[tuple[str, str], Path] = {}
    for kind, (of, values, layouts) in KINDS.items():
        for layout in layouts:
            path = files[kind, layout] = directory / f"{len(files)}.root"
            table = table_of(of, values)
            ar.write(f"{path}:Events", table, schema=table.schema, layout=ar.Layout(**LAYOUTS[layout]))
            assert_sound(path)
    found: dict[tuple[str, str], dict[str, str]] = {}
    for (kind, layout), path in files.items():
        table = table_of(*KINDS[kind][:2])
        found[kind, layout] = {route: read_by(route, path, table, LAYOUTS[layout]) for route in ROUTES}
    return found


def branches_of(table: pa.Table, layout: dict[str, Any]) -> dict[str, list[Any]]:
    """The branches that a column becomes, with their values."""
    field = table.schema.field(0)
    if "split" in layout and has_objects(field.type):
        return {one.name: one.values for one in object_branches("x", field, table.column(0), layout["split"])}
    return {name: branch.values for name, branch in expected.branches(table).items()}


def read_by(route: str, path: Path, table: pa.Table, layout: dict[str, Any]) -> str:
    if route == "arrowroot":
        return read_by_us(path, table)
    with uproot.open(path) as file:
        events = file["Events"]
        outcomes = [
            tried(lambda name=name: events[name].array(), plain(values))
            for name, values in branches_of(table, layout).items()
        ]
    told = judged(outcomes)
    # Of whole objects uproot 5.7 has what was in its memory, and sometimes an error.
    return "not rightly" if layout.get("split") == 0 and told != "yes" else told


def test_arrowroot_reads_all_exactly(cells):
    assert {key: told["arrowroot"] for key, told in cells.items() if told["arrowroot"] != "yes"} == {}


def test_numbers_of_split_objects_are_read_by_all(cells):
    for kind in ("`struct<pt: float, n: int32>`", "`list<struct<pt: float, n: int32>>`"):
        assert set(cells[kind, "split 99"].values()) == {"yes"}


def test_the_table_of_the_document_is_what_was_tried(cells):
    shown_table = markdown(cells)
    document = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = document.partition(BEGIN)
    inside, _, after = rest.partition(END)
    if os.environ.get("ARROWROOT_UPDATE_DOCS"):
        DOCUMENT.write_text(f"{before}{BEGIN}\n{shown_table}\n{END}{after}", encoding="utf-8")
        return
    assert inside.strip() == shown_table, (
        "run ARROWROOT_UPDATE_DOCS=1 pytest tests/writing/test_who_reads_layouts.py"
    )


def markdown(cells: dict[tuple[str, str], dict[str, str]]) -> str:
    lines = ["| type | layout | " + " | ".join(ROUTES) + " |", "|---|---|" + "---|" * len(ROUTES)]
    lines += [
        f"| {kind} | {layout} | " + " | ".join(told[route] for route in ROUTES) + " |"
        for (kind, layout), told in cells.items()
    ]
    return "\n".join(lines)
