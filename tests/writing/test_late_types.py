"""Columns and members of drawn C++ types that come up later: read as if they had been there from the first entry."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from tests.judge import root

from . import drawn_types_with_root
from .drawn_types import LINKED, DrawnTable, draw
from .seeds import seeds_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")

SEEDS = [seed for seed in seeds_of(40) if draw(seed).table.num_rows > 1]


def parts_of(drawn: DrawnTable, rng: np.random.Generator) -> list[pa.Table]:
    """Cut a table; each part lacks some columns, and members of records, but the first of each."""
    table, n = drawn.table, drawn.table.num_rows
    cuts = sorted({0, n, *map(int, rng.integers(1, n, 3))})
    begins = {name: int(rng.integers(0, len(cuts) - 1)) for name in table.column_names if name != "n"}
    begins |= {path: int(rng.integers(0, len(cuts) - 1)) for path in drawn.types if not path.endswith(".m0")}
    parts = []
    for number, (first, end) in enumerate(itertools.pairwise(cuts)):
        fields, arrays = [], []
        for field, column in zip(table.schema, table.slice(first, end - first).columns, strict=True):
            begin = begins.get(field.name, 0)
            # One that has come up may stop for a part.
            if number < begin or (number > begin and field.name != "n" and rng.integers(0, 3) == 0):
                continue
            has = [path for path in drawn.types if begins.get(path, 0) <= max(number, begin)]
            names = {path.partition(".")[2] for path in has if path.startswith(f"{field.name}.")}
            array = with_members(column.combine_chunks(), names) if names else column.combine_chunks()
            fields.append(field.with_type(array.type))
            arrays.append(array)
        parts.append(pa.table(arrays, schema=pa.schema(fields)))
    return parts


def with_members(array: pa.Array, names: set[str]) -> pa.Array:
    """Return records, or lists of such, that have some members alone."""
    if isinstance(array, pa.StructArray):
        fields = [field for field in array.type if field.name in names]
        return pa.StructArray.from_arrays([array.field(field.name) for field in fields], fields=fields)
    items = with_members(array.values, names)
    kind = pa.list_(array.type.value_field.with_type(items.type))
    return pa.ListArray.from_arrays(array.offsets, items, type=kind)


class Written(NamedTuple):
    """The two files of a seed."""

    drawn: DrawnTable
    parts: list[pa.Table]
    late: Path
    #: The same entries in a table that had all columns from the first one on.
    whole: Path
    read: pa.Table


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Written]:
    directory, found = tmp_path_factory.mktemp("late"), {}
    for seed in SEEDS:
        drawn = draw(seed)
        parts = parts_of(drawn, np.random.default_rng(seed))
        last = set(itertools.chain.from_iterable(paths_of(part.schema) for part in parts))
        types = {path: text for path, text in drawn.types.items() if path in last}
        layout = ar.Layout("rntuple", types=types, **drawn.layout)
        late, whole = directory / f"{seed}.root", directory / f"{seed}.whole.root"
        with ar.create(late) as file, file.tree("t", layout=layout, columns="vary") as table:
            for part in parts:
                table.append(part)
        with ar.open(late) as file:
            read = file["t"].to_arrow()
        ar.write(f"{whole}:t", read, layout=layout)
        found[seed] = Written(drawn, parts, late, whole, read)
    return found


def paths_of(schema: pa.Schema) -> list[str]:
    paths = []
    for field in schema:
        kind = field.type if pa.types.is_struct(field.type) else getattr(field.type, "value_type", field.type)
        members = kind if pa.types.is_struct(kind) else []
        paths += [field.name, *(f"{field.name}.{member.name}" for member in members)]
    return paths


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_given_comes_back(written, seed):
    drawn, parts, _, _, read = written[seed]
    read.validate(full=True)
    first = 0
    for part in parts:
        for name in part.column_names:
            found = read[name].slice(first, part.num_rows).to_pylist()
            assert as_far_as(found, part[name].to_pylist()) == part[name].to_pylist(), (name, drawn.types)
        first += part.num_rows
    assert first == read.num_rows


def as_far_as(value: Any, given: Any) -> Any:
    """A value without the members of records that another one lacks."""
    if isinstance(value, dict) and isinstance(given, dict):
        return {name: as_far_as(value[name], given[name]) for name in given}
    if isinstance(value, list) and isinstance(given, list):
        return [as_far_as(one, other) for one, other in zip(value, given, strict=True)]
    return value


def test_root_reads_them_as_if_they_had_been_there_from_the_first_entry(written, tmp_path):
    asked = [
        (str(path), [(name, one.drawn.types.get(name, "")) for name in one.read.column_names], False)
        for one in written.values()
        for path in (one.late, one.whole)
    ]
    found = root.run(drawn_types_with_root.read, tmp_path, LINKED, asked, timeout_s=3000)
    for (seed, one), (late, _), (whole, _) in zip(written.items(), found[::2], found[1::2], strict=True):
        for name, shown in whole.items():
            assert late[name] == shown, (seed, name, one.drawn.types)


RECORD = pa.struct([("a", pa.int8())])
PAIR = pa.struct([("a", pa.int8()), ("b", pa.string())])
#: Types that say a length, or let a value be missing: what is given, its type, and what entries before have.
LENGTHS: dict[str, tuple[pa.Array, str, Any]] = {
    "array": (pa.array([[1, 2], [3, 4]], pa.list_(pa.int32())), "std::array<int,2>", [0, 0]),
    "fixed array": (pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2)), "std::array<int,2>", [0, 0]),
    "bitset": (pa.array([[True, False], [True, True]], pa.list_(pa.bool_())), "std::bitset<2>", [False] * 2),
    "arrays": (
        pa.array([[[1], [2]], [[3], [4]]], pa.list_(pa.list_(pa.int16()))),
        "std::array<std::array<short,1>,2>",
        [[0], [0]],
    ),
    "vector": (pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2)), "std::vector<int>", [0, 0]),
    "pairs": (
        pa.array([[(1, "a"), (2, "b")], [(3, ""), (4, "c")]], pa.list_(PAIR, 2)),
        "std::array<std::pair<std::int8_t,std::string>,2>",
        [{"a": 0, "b": ""}] * 2,
    ),
    "untyped records": (
        pa.array([[{"a": 1}, {"a": 2}], [{"a": 3}, {"a": 4}]], pa.list_(RECORD, 2)),
        "",
        [{"a": 0}] * 2,
    ),
    "records of such": (
        pa.array([{"v": [{"a": 1}]}, {"v": [{"a": 2}]}], pa.struct([("v", pa.list_(RECORD, 1))])),
        "",
        {"v": [{"a": 0}]},
    ),
    "optional": (pa.array([5, 6], pa.int32()), "std::optional<int>", None),
    "optionals": (
        pa.array([[5, 6], [7, 8]], pa.list_(pa.field("item", pa.int32(), nullable=False), 2)),
        "std::array<std::optional<int>,2>",
        [None, None],
    ),
}  # fmt: skip
#: Where such a column is: what its values are in, and by which name its type is asked for.
AROUND: dict[str, tuple[str, Callable[[pa.Array], pa.Array]]] = {
    "entries": ("x", lambda values: values),
    "record": ("r.x", lambda values: pa.StructArray.from_arrays([pa.array([8, 9]), values], ["a", "x"])),
    "lists": (
        "r.x",
        lambda values: pa.ListArray.from_arrays(
            [0, 0, 2], pa.StructArray.from_arrays([pa.array([8, 9]), values], ["a", "x"])
        ),
    ),
}


@pytest.mark.parametrize("flush", [2, 1000])
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("kind", LENGTHS)
def test_entries_and_items_before_have_the_lengths_that_types_say(tmp_path, kind, around, flush):
    values, text, default = LENGTHS[kind]
    path, made = AROUND[around]
    name = path.partition(".")[0]
    field = pa.field(name, made(values).type, nullable=name == "r")
    late = pa.table([[3, 4], made(values)], schema=pa.schema([("n", pa.int64()), field]))
    early = pa.table({"n": [1, 2]})
    if name == "r":
        early = early.append_column("r", with_members(late["r"].chunk(0), {"a"}))
    options = {"types": {path: text}} if text else {}
    with (
        ar.create(tmp_path / "t.root") as file,
        file.tree("t", layout="rntuple", columns="grow", flush=flush, **options) as table,
    ):
        for part in (early, early, early.slice(1), late):
            table.append(part)
    given = late[name].to_pylist()
    lacking = [default] * 2 if name == "x" else with_value(given, default)
    expected = [*lacking, *lacking, lacking[1], *given]
    with ar.open(tmp_path / "t.root") as file:
        read = file["t"].to_arrow()
    assert read[name].to_pylist() == expected
    # Types that uproot 5.7 reads otherwise.
    if "bitset" not in kind and "optional" not in kind:
        with uproot.open(tmp_path / "t.root") as file:
            assert without_names(file["t"].arrays([name])[name].to_list()) == without_names(expected)
    with ar.create(tmp_path / "whole.root") as file, file.tree("t", layout="rntuple", **options) as table:
        table.append(read)
    paths = [str(tmp_path / one) for one in ("t.root", "whole.root")]
    found = root.run(drawn_types_with_root.read, tmp_path, [], [(one, [(name, "")], False) for one in paths])
    # ROOT does not read all of these, however they are written.
    late_one, whole_one = (one[name].replace(path, "") for path, (one, _) in zip(paths, found, strict=True))
    assert late_one == whole_one
    assert "error" not in late_one or kind in ("untyped records", "records of such"), late_one


def with_value(values: Any, default: Any) -> Any:
    """Records in lists, or not, with another value of ``x``."""
    if isinstance(values, list):
        return [with_value(one, default) for one in values]
    return {**values, "x": default}


def without_names(value: Any) -> Any:
    """A value whose records are the values of their members."""
    if isinstance(value, dict):
        value = tuple(value.values())
    return type(value)(map(without_names, value)) if isinstance(value, list | tuple) else value


def test_a_set_of_equal_zeros_is_refused_and_the_table_goes_on(tmp_path):
    late = pa.table({"n": [2], "x": pa.array([[1, 2]], pa.list_(pa.int32(), 2))})
    layout = ar.Layout("rntuple", types={"x": "std::set<int>", "*": "long"})
    with (  # noqa: PT012 - a column that is named and never comes is an error, too
        pytest.raises(ar.NoSuchColumnError),
        ar.create(tmp_path / "t.root") as file,
        file.tree("t", layout=layout, columns="grow") as table,
    ):
        table.append({"n": [1]})
        with pytest.raises(
            ar.InvalidRequestError, match=r'"x": .* is 0 in the entries before, .*two equal items'
        ):
            table.append(late)
        table.append({"n": [1]})


@pytest.mark.parametrize("around", [lambda kind: kind, pa.list_, lambda kind: pa.map_(pa.string(), kind)])
def test_errors_name_late_members_by_their_paths_and_types(tmp_path, around):
    members = [("a", pa.int32()), ("b", pa.struct([("r", pa.int32())]))]

    def entry(kinds: list[tuple[str, pa.DataType]], record: dict[str, Any]) -> pa.Table:
        kind = around(pa.struct(kinds))
        value = record if pa.types.is_struct(kind) else [("k", record)] if pa.types.is_map(kind) else [record]
        return pa.table({"c": pa.array([value], kind)})

    path = "c.value.b" if pa.types.is_map(around(pa.int8())) else "c.b"
    with ar.create(tmp_path / "t.root") as file, file.tree("t", layout="rntuple", columns="grow") as table:
        table.append(entry(members[:1], {"a": 1}))
        table.append(entry(members, {"a": 1, "b": {"r": 1}}))
        with pytest.raises(ar.InvalidRequestError, match=rf'column "{path}\.r": entry 2 is null'):
            table.append(entry(members, {"a": 1, "b": {"r": None}}))
        was = "struct<r: int32 not null>"
        with pytest.raises(
            ar.InvalidRequestError, match=f"'{path}' is {was}, and from entry 2 on string came"
        ):
            table.append(entry([members[0], ("b", pa.string())], {"a": 1, "b": "text"}))


@pytest.mark.parametrize("is_list", [False, True])
def test_records_without_members_do_not_grow_and_the_error_names_the_member(is_list, tmp_path):
    empty, full = [[{}], [{"a": 1}]]
    with ar.create(tmp_path / "f.root") as file, file.tree("n", layout="rntuple", columns="grow") as table:
        kind = pa.struct([])
        table.append(
            pa.table({"r": pa.array([empty] if is_list else empty, pa.list_(kind) if is_list else kind)})
        )
        why = r'column "r\.a": records without members are stored as a bool and get none later: give schema='
        with pytest.raises(ar.InvalidRequestError, match=why):
            table.append(pa.table({"r": [full] if is_list else full}))
