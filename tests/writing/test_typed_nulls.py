"""Columns whose C++ types let values be missing take missing values, also if none of the first entries is missing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from tests.judge import root

from . import drawn_types_with_root

PAIR = pa.struct([("a", pa.int32()), ("b", pa.string())])
#: The type, the column, its first value, and one with something missing.
CASES: dict[str, tuple[str, pa.DataType, Any, Any]] = {
    "number": ("std::optional<int>", pa.int32(), 1, None),
    "text": ("std::unique_ptr<std::string>", pa.string(), "a", None),
    "vector": ("std::vector<std::optional<int>>", pa.list_(pa.int32()), [1, 2], [None, 3]),
    "view": ("std::vector<std::optional<int>>", pa.list_view(pa.int32()), [1, 2], [None, 3]),
    "vectors": (
        "std::optional<ROOT::RVec<std::optional<int>>>", pa.large_list(pa.int32()), [1, 2], [None, 3],
    ),
    "array": ("std::array<std::optional<int>,2>", pa.list_(pa.int32(), 2), [1, 2], [3, None]),
    "list as an array": ("std::array<std::optional<int>,2>", pa.list_(pa.int32()), [1, 2], [3, None]),
    "pair": (
        "std::pair<int,std::optional<std::string>>", PAIR, {"a": 1, "b": "x"}, {"a": 2, "b": None},
    ),
    "map": (
        "std::map<std::string,std::optional<float>>", pa.map_(pa.string(), pa.float32()), [("k", 1.5)], [("k", None)],
    ),
    "map as pairs": (
        "std::vector<std::pair<std::string,std::unique_ptr<float>>>", pa.map_(pa.string(), pa.float32()),
        [("k", 1.5)], [("k", None)],
    ),
    "pairs as a map": (
        "std::multimap<int,std::optional<std::string>>", pa.list_(PAIR), [{"a": 1, "b": "x"}], [{"a": 2, "b": None}],
    ),
}  # fmt: skip
#: What ROOT needs a dictionary of.
LINKED = [f"class {CASES[name][0]}+" for name in ("map", "pairs as a map")]
#: Those of which it has none that works: `std::map` of optionals in a function that shows values.
NOT_SHOWN = ("map", "pairs as a map", "map as pairs")


def written(path: str, text: str, parts: list[Any], **options: Any) -> pa.Table:
    with ar.create(path) as file, file.tree("t", layout="rntuple", types={"x": text}, **options) as table:
        for part in parts:
            table.append(part)
    with ar.open(path) as file:
        return file["t"].to_arrow()


@pytest.mark.parametrize("name", CASES)
def test_values_are_missing_that_the_first_were_not(tmp_path, name):
    text, kind, first, then = CASES[name]
    parts = [pa.table({"x": pa.array([value], kind)}) for value in (first, then)]
    path = str(tmp_path / "t.root")
    read = written(path, text, parts)
    assert read["x"].type == kind
    assert read["x"].to_pylist() == [first, then]
    copied = tmp_path / "copied.root"
    ar.skim(path, copied)
    with ar.open(copied) as file, ar.open(path) as given:
        assert file["t"].to_arrow().equals(read)
        assert [one.type_name for one in file["t"].branches] == [one.type_name for one in given["t"].branches]


def test_root_reads_them_as_the_types_that_were_asked_for(tmp_path):
    asked, expected = [], []
    for name, (text, kind, first, then) in CASES.items():
        if name not in NOT_SHOWN:
            path = str(tmp_path / f"{len(asked)}.root")
            written(path, text, [pa.table({"x": pa.array([value], kind)}) for value in (first, then)])
            asked.append((path, [("x", text)], False))
            expected.append(shown([first, then]))
    found = root.run(drawn_types_with_root.read, tmp_path, [], asked)
    assert [one["x"] for one, _ in found] == expected


def shown(value: Any) -> str:
    """A value as the function of C++ shows it."""
    if isinstance(value, list | dict):
        inner = value if isinstance(value, list) else list(value.values())
        return f"[{','.join(map(shown, inner))}]"
    return "null" if value is None else f'"{value}"' if isinstance(value, str) else str(value)


def test_members_of_records_take_missing_values(tmp_path):
    layout = ar.Layout(
        "rntuple", types={"r.a": "std::optional<long>", "l.s.b": "std::unique_ptr<std::string>"}
    )
    first = {"r": [{"a": 1, "k": 1}], "l": [[{"s": {"b": "x"}}]]}
    then = {"r": [{"a": None, "k": 1}], "l": [[{"s": {"b": None}}]]}
    with ar.create(tmp_path / "t.root") as file, file.tree("t", layout=layout) as table:
        table.append(pa.table(first))
        table.append(pa.table(then))
        with pytest.raises(ar.InvalidRequestError, match="entry 2 is null, and nulls are not stored"):
            table.append(pa.table({**first, "r": [{"a": 1, "k": None}]}))
    with ar.open(tmp_path / "t.root") as file:
        assert file["t"].to_arrow().to_pylist() == [*pa.table(first).to_pylist(), *pa.table(then).to_pylist()]


@pytest.mark.parametrize(
    "options",
    [{}, {"columns": "vary"}, {"schema": {"x": "int64"}}, {"schema": pa.schema([("x", pa.int64())])}],
)
def test_numbers_of_numpy_do_not_say_that_none_is_missing(tmp_path, options):
    parts = [{"x": np.array([1])}, pa.table({"x": pa.array([None], pa.int64())})]
    read = written(str(tmp_path / "t.root"), "std::optional<long>", parts, **options)
    assert read.schema.field("x").nullable
    assert read["x"].to_pylist() == [1, None]


#: The schema, types, two entries as they are given, and as they are read.
RECORDS: dict[str, tuple[dict[str, Any], dict[str, str], list[dict[str, Any]], list[dict[str, Any]]]] = {
    "another column": (
        {"a_x": "int64", "b": "int32"}, {"b": "std::optional<std::int32_t>"},
        [{"a_x": 1, "b": 1}, {"a_x": 2, "b": None}], [{"a": {"x": 1}, "b": 1}, {"a": {"x": 2}, "b": None}],
    ),
    "a member": (
        {"a_x": "int64", "a_y": pa.field("", pa.int32(), nullable=False)}, {"a.x": "std::optional<long>"},
        [{"a_x": 1, "a_y": 1}, {"a_x": None, "a_y": 2}], [{"a": {"x": 1, "y": 1}}, {"a": {"x": None, "y": 2}}],
    ),
    "a member of records": (
        {"a_x": pa.list_(pa.field("item", pa.int64(), nullable=False)), "b": "int32"}, {"a.x": "std::optional<long>"},
        [{"a_x": [1], "b": 1}, {"a_x": [None, 2], "b": 2}],
        [{"a": [{"x": 1}], "b": 1}, {"a": [{"x": None}, {"x": 2}], "b": 2}],
    ),
    "the record": (
        {"a_x": "int64", "b": "int32"}, {"a": "std::optional<A>"},
        [{"a_x": 1, "b": 1}, {"a": None, "b": 2}], [{"a": {"x": 1}, "b": 1}, {"a": None, "b": 2}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDS)
def test_types_by_name_say_nothing_of_what_is_missing_where_columns_become_records(tmp_path, name):
    schema, types, given, expected = RECORDS[name]
    layout = ar.Layout("rntuple", types=types, records={"a_*": "a"})
    with (
        warnings.catch_warnings(action="ignore", category=ar.FewReadersWarning),
        ar.create(tmp_path / "t.root") as file,
        file.tree("t", schema, layout=layout) as table,
    ):
        for entry in given:
            kind = ("a", pa.struct([("x", pa.int64())])) if "a" in entry else None
            table.append(pa.Table.from_pylist([entry], kind and pa.schema([kind, ("b", pa.int32())])))
    with ar.open(tmp_path / "t.root") as file:
        assert file["t"].to_arrow().to_pylist() == expected


@pytest.mark.parametrize("name", ["a_x", "b"])
def test_what_a_field_among_types_by_name_excludes_stays_an_error(tmp_path, name):
    schema = {"a_x": "int64", "b": "int64", name: pa.field(name, pa.int64(), nullable=False)}
    layout = ar.Layout(
        "rntuple", types={"a.x": "std::optional<long>", "b": "std::optional<long>"}, records={"a_*": "a"}
    )
    with ar.create(tmp_path / "t.root") as file, file.tree("t", schema, layout=layout) as table:
        table.append({"a_x": [1], "b": [1]})
        with pytest.raises(ar.InvalidRequestError, match="entry 1 is null, and nulls are not stored"):
            table.append(pa.table({"a_x": [1], "b": [1], name: pa.array([None], pa.int64())}))


@pytest.mark.parametrize("is_schema", [False, True])
def test_what_a_schema_of_the_user_excludes_stays_an_error(tmp_path, is_schema):
    schema = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    with (
        ar.create(tmp_path / "t.root") as file,
        file.tree(
            "t", schema if is_schema else None, layout="rntuple", types={"x": "std::optional<long>"}
        ) as table,
    ):
        table.append(pa.table({"x": [1]}, schema=schema))
        with pytest.raises(ar.InvalidRequestError, match="entry 1 is null, and nulls are not stored"):
            table.append(pa.table({"x": pa.array([None], pa.int64())}))
    with ar.open(tmp_path / "t.root") as file:
        assert file["t"].to_arrow().schema.equals(schema)


def test_a_type_that_cannot_say_it_takes_no_missing_values(tmp_path):
    fixed = pa.array([[1, 2]], pa.list_(pa.int32(), 2))
    read = written(str(tmp_path / "t.root"), "std::optional<std::vector<int>>", [pa.table({"x": fixed})])
    assert read["x"].to_pylist() == [[1, 2]]


def test_others_than_what_cannot_say_it_take_missing_values(tmp_path):
    pair = pa.struct([pa.field("l", pa.list_(pa.int32(), 2), nullable=False), ("a", pa.int32())])
    types = {"x.l": "std::optional<std::vector<int>>", "x.a": "std::optional<int>"}
    rows = [{"l": [1, 2], "a": 1}, {"l": [3, 4], "a": None}]
    with ar.create(tmp_path / "t.root") as file, file.tree("t", layout="rntuple", types=types) as table:
        for row in rows:
            table.append(pa.table({"x": pa.array([row], pair)}))
        for row in ({"l": None, "a": 1}, None):
            with pytest.raises(ar.InvalidRequestError, match="entry 2 is null, and nulls are not stored"):
                table.append(pa.table({"x": pa.array([row], pa.struct([("l", pair[0].type), pair[1]]))}))
    with ar.open(tmp_path / "t.root") as file:
        assert file["t"].to_arrow()["x"].to_pylist() == rows


@pytest.mark.parametrize("path", ["x._1", "x.value"])
def test_a_map_whose_type_says_all_of_it_has_no_parts_of_other_types(tmp_path, path):
    table = pa.table({"x": pa.array([[("k", 1.5)]], pa.map_(pa.string(), pa.float64()))})
    with pytest.raises(ar.InvalidRequestError, match=f"no part {path[2:]!r}".replace("'", '"')):
        ar.write(f"{tmp_path}/t.root:t", table, layout="rntuple", types={path: "Double32_t"})
