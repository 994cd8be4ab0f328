"""Columns that come up when a table has entries, and columns that stop: read by ROOT, uproot and arrowroot."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import uproot

import arrowroot as ar
from tests.judge import root

from . import expected, late_with_root
from .readers import compared, plain
from .root_reading import read_all

LAYOUTS = ["ttree", "rntuple"]
N_MENUS, N_PATHS, N_EACH = 50, 20, 37

#: Columns that come up later: their first values, and what they are in an entry before.
KINDS = {
    "number": (pa.array([1.5, 2.5], pa.float32()), 0.0),
    "bits": (pa.array([True, True]), False),
    "text": (pa.array(["a", "bc"]), ""),
    "list": (pa.array([[1, 2], [3]], pa.list_(pa.int32())), []),
    "texts": (pa.array([["x"], ["y", "z"]]), []),
    "deep": (pa.array([[[1.0]], [[], [2.0]]], pa.list_(pa.list_(pa.float64()))), []),
    "fixed": (pa.array([[1, 2, 3], [4, 5, 6]], pa.list_(pa.int16(), 3)), [0, 0, 0]),
    "fixeds": (
        pa.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], pa.list_(pa.list_(pa.int32(), 2), 2)),
        [[0, 0]] * 2,
    ),
    "record": (
        pa.array([{"a": 1, "b": "x", "c": [1]}, {"a": 2, "b": "y", "c": []}]),
        {"a": 0, "b": "", "c": []},
    ),
    "records": (pa.array([[{"a": 1.0}], [{"a": 2.0}, {"a": 3.0}]]), []),
    "optional": (pa.array([7, None], pa.int64()), None),
    "optional list": (pa.array([[7], None], pa.list_(pa.int64())), None),
    "when": (pa.array([1, 2], pa.timestamp("us", "UTC")), 0),
    "data": (pa.array([b"a", b"\0"]), b""),
    "decimal": (pa.array([Decimal("1.5"), Decimal(2)], pa.decimal128(10, 2)), 0),
    "half": (pa.array(np.array([1, 2], np.float16)), 0.0),
    "category": (pa.array(["u", "v"]).dictionary_encode(), ""),
    "map": (pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int32())), []),
}


def triggers() -> tuple[list[dict[str, np.ndarray]], dict[str, np.ndarray]]:
    """The batches of a year, of which each has new columns and lacks the first ones of earlier ones; and all values."""
    random = np.random.default_rng(5)
    n = N_MENUS * N_EACH
    values = {"run": np.arange(n, dtype=np.int32)}
    batches = []
    for menu in range(N_MENUS):
        start, end = menu * N_EACH, (menu + 1) * N_EACH
        for path in range(N_PATHS):
            values[f"HLT_{menu}_{path}"] = np.arange(n) >= start
        fired = {}
        for name, column in values.items():
            if name != "run":
                # The last path of a menu is not in the menus behind the next one.
                stopped = name.endswith(f"_{N_PATHS - 1}") and int(name.split("_")[1]) + 1 < menu
                column[start:end] = False if stopped else random.random(N_EACH) < 0.3
                if stopped:
                    continue
            fired[name] = column[start:end].copy()
        batches.append(fired)
    return batches, values


def weighted(column: np.ndarray) -> float:
    return float((column * (np.arange(len(column)) + 1.0)).sum())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_triggers_of_a_year_are_in_one_file(tmp_path, layout):
    batches, values = triggers()
    path = tmp_path / "year.root"
    with ar.create(path) as file, file.tree("Events", layout=layout, columns="vary", flush=300) as table:
        for batch in batches:
            table.append(batch)
    names = [name for name in values if name != "run"]
    with ar.open(path) as file:
        read = file["Events"].to_arrow()
        assert read.column_names == list(values)
        assert 5 <= len(file["Events"].clusters) - 1 <= 12
    with uproot.open(path) as file:
        by_uproot = file["Events"].arrays(list(values), library="np")
    for name, column in values.items():
        assert np.array_equal(read[name].to_numpy(), column), name
        assert np.array_equal(by_uproot[name], column), name
    framed = ["HLT_0_0", "HLT_7_19", "HLT_49_3"]
    found = root.run(late_with_root.sums, tmp_path, str(path), layout, names, framed)
    assert found["all"] == [weighted(values[name]) for name in names]
    assert found["framed"] == {name: weighted(values[name]) for name in framed}


def as_records(batch: dict[str, np.ndarray]) -> pa.Table:
    """A batch whose triggers are members of one record."""
    names = [name for name in batch if name != "run"]
    record = pa.StructArray.from_arrays([pa.array(batch[name]) for name in names], names)
    return pa.table({"run": batch["run"], "HLT": record})


@pytest.mark.long
def test_the_triggers_of_a_year_are_one_record_of_an_rntuple(tmp_path):
    batches, values = triggers()
    path = tmp_path / "year.root"
    with (
        ar.create(path) as file,
        file.tree("Events", layout="rntuple", columns="vary", flush=300) as table,
    ):
        for batch in batches:
            table.append(as_records(batch))
        assert [field.name for field in table.schema.field("HLT").type] == list(values)[1:]
    names = [name for name in values if name != "run"]
    with ar.open(path) as file:
        read = file["Events"].to_arrow()
    with uproot.open(path) as file:
        by_uproot = file["Events"].arrays(["HLT"])["HLT"]
    assert read.column_names == ["run", "HLT"]
    assert np.array_equal(read["run"].to_numpy(), values["run"])
    members = dict(zip(names, read["HLT"].combine_chunks().flatten(), strict=True))
    for name in names:
        assert np.array_equal(members[name].to_numpy(zero_copy_only=False), values[name]), name
        assert np.array_equal(by_uproot[name].to_numpy(), values[name]), name
    framed = ["HLT_0_0", "HLT_7_19", "HLT_49_3"]
    dotted = [f"HLT.{name}" for name in names]
    found = root.run(
        late_with_root.sums, tmp_path, str(path), "rntuple", dotted, [f"HLT.{name}" for name in framed]
    )
    assert found["all"] == [weighted(values[name]) for name in names]
    assert found["framed"] == {f"HLT.{name}": weighted(values[name]) for name in framed}


def test_members_of_any_type_come_up_in_records(tmp_path):
    path = tmp_path / "t.root"
    late = {name: array for name, (array, _) in KINDS.items() if name != "half"}
    record = pa.StructArray.from_arrays([pa.array([1, 2]), *late.values()], ["a", *late])
    with ar.create(path) as file, file.tree("T", layout="rntuple", columns="grow", flush=3) as table:
        table.append({"r": [{"a": 0}] * 5, "n": [0.5] * 5})
        table.append(pa.table({"n": [1.5, 2.5], "r": record}))
        table.append(pa.table({"n": [3.5, 4.5], "r": record}))
        with pytest.raises(ar.InvalidRequestError, match=r"the data lack 'r\.a', which the table has"):
            table.append(pa.table({"n": [1.5], "r": [{"number": 1.0}]}))
        with pytest.raises(ar.InvalidRequestError, match=r"the data lack 'r\.number'"):
            table.append(pa.table({"n": [1.5], "r": [{"a": 1}]}))
    with ar.open(path) as file:
        read = file["T"].to_arrow()
    assert read["n"].to_pylist() == [0.5] * 5 + [1.5, 2.5, 3.5, 4.5]
    members = read["r"].combine_chunks()
    assert [field.name for field in members.type] == ["a", *late]
    assert members.field("a").to_pylist() == [0] * 5 + [1, 2, 1, 2]
    for name, array in late.items():
        found = members.field(name)
        assert expected.shown(found.slice(5, 2)) == expected.shown(found.slice(7)) == expected.shown(array), (
            name
        )
        assert expected.shown(found.slice(0, 5)) == expected.shown(defaults(found.type, KINDS[name][1])), name


def defaults(kind: pa.DataType, value: object) -> pa.Array:
    """Five of a value, which is the one that is stored, as a type."""
    values = pa.array([value] * 5, pa.int64()) if pa.types.is_timestamp(kind) else [value] * 5
    return values.cast(kind) if isinstance(values, pa.Array) else pa.array(values, kind)


#: Where records are that grow: the type of a column of them, and its values of three.
PLACES = {
    "may be missing": (lambda kind: kind, lambda one, two, three: [one, None, two, None, three]),
    "in lists": (pa.list_, lambda one, two, three: [[one, two], [], [three], [], [one]]),
    "in views of lists": (pa.list_view, lambda one, two, three: [[one, two], [], [three], [], [one]]),
    "in maps": (
        lambda kind: pa.map_(pa.string(), kind),
        lambda one, two, three: [[("x", one), ("y", two)], [], [("x", three)], [], [("z", one)]],
    ),
    "in lists of maps that may be missing": (
        lambda kind: pa.list_(pa.map_(pa.int32(), kind)),
        lambda one, two, three: [[[(1, one)], None], [], [[(1, two), (2, None)], []], [], [[(3, three)]]],
    ),
    "in large lists": (pa.large_list, lambda one, two, three: [[one, two], [], [three], [], [one]]),
    "in lists that may be missing": (pa.list_, lambda one, two, three: [[one], None, [], [two, three], None]),
    "missing in lists": (pa.list_, lambda one, two, three: [[one, None], [], [None], [two], [three]]),
    "in lists of lists": (
        lambda kind: pa.list_(pa.list_(kind)),
        lambda one, two, three: [[[one], []], [], [[two, one], [three]], [[], []], [[one]]],
    ),
    "in lists of one length": (
        lambda kind: pa.list_(kind, 2),
        lambda one, two, three: [[one, two], [two, three], [three, one], [one, one], [two, two]],
    ),
    "in records in lists": (
        lambda kind: pa.list_(pa.struct([("in", kind), ("k", pa.int8())])),
        lambda one, two, three: [
            [{"in": one, "k": 1}], [{"in": two, "k": 1}], [], [{"in": three, "k": 1}] * 3, []
        ],
    ),
}  # fmt: skip
#: Members that come up in them: types and three values.
LATE = {
    "n": (pa.int32(), [4, 5, 6]),
    "b": (pa.bool_(), [True, False, True]),
    "o": (pa.float64(), [None, 1.5, None]),
    "s": (pa.struct([("x", pa.list_(pa.int8()))]), [{"x": [1]}, {"x": [2, 3]}, {"x": []}]),
    "v": (pa.list_(pa.string()), [["a"], [], ["b", ""]]),
}


def with_late(values: object, late: dict[str, object]) -> object:
    """Values of records with default values of the members that came up later where they lack them."""
    if isinstance(values, list):
        return [with_late(value, late) for value in values]
    if isinstance(values, tuple):
        return tuple(with_late(value, late) for value in values)
    if isinstance(values, dict):
        is_it = "a" in values
        return {name: with_late(value, late) for name, value in {**(late if is_it else {}), **values}.items()}
    return values


@pytest.mark.parametrize("flush", [2, "auto"])
@pytest.mark.parametrize("place", PLACES)
def test_members_come_up_in_records_in_lists_and_in_those_that_may_be_missing(tmp_path, place, flush):
    around, values = PLACES[place]
    parts = []
    for names in ([], ["n", "o"], [], ["n", "o", "s", "b"], ["v", "b"]):
        kind = pa.struct([("a", pa.int16()), *((name, LATE[name][0]) for name in names)])
        records = [{"a": one, **{name: LATE[name][1][one] for name in names}} for one in range(3)]
        # The memory of what is written begins before its first entry.
        whole = pa.table({"e": pa.array([1] * 5), "r": pa.array(values(*records), around(kind))})
        parts += [whole.slice(0, 3), whole.slice(1)]
    path = tmp_path / "t.root"
    with ar.create(path) as file, file.tree("T", layout="rntuple", columns="vary", flush=flush) as table:
        for part in parts:
            table.append(part)
    late = {"n": 0, "o": None, "s": {"x": []}, "b": False, "v": []}
    expected = [with_late(value, late) for part in parts for value in part["r"].to_pylist()]
    with ar.open(path) as file:
        read = file["T"].to_arrow()
    assert read["r"].type == around(pa.struct([("a", pa.int16()), *((name, LATE[name][0]) for name in late)]))
    assert read["r"].to_pylist() == expected
    with uproot.open(path) as file:
        found = file["T"].arrays(["r"])["r"]
    if "missing" not in place:
        members = [name for name in LATE if name != "o"]
        inside = found["in"] if "records" in place else found["value"] if "maps" in place else found
        own = (
            [[[one[1] if "maps" in place else one.get("in", one)] for one in value] for value in expected]
            if "of lists" not in place
            else None
        )
        for name in members if own else []:
            assert inside[name].to_list() == [[one[0][name] for one in value] for value in own], name


def test_root_reads_members_that_came_up_in_lists_of_records(tmp_path):
    first = [[{"a": 1}, {"a": 2}], [], [{"a": 3}]]
    then = [[{"a": 4, "b": 5, "v": [1, 2]}], [{"a": 6, "b": 7, "v": []}] * 2]
    last = [[{"a": 8, "b": 9, "v": [3], "t": "x", "f": True, "q": 0.5}], []]
    # Columns of entries come up before members of items, with them, and later.
    parts = [
        {"r": first},
        {"r": first, "w": ["a", "b", "c"]},
        {"r": then, "w": ["d", "e"], "x": [1.5, 2.5]},
        {"r": last, "w": ["f", "g"], "x": [3.5, 4.5], "y": [[1], [2, 3]]},
    ]
    layout = ar.Layout("rntuple", precision={"r.q": "Real32Quant:8[-1,1]"}, page_size=16)
    path = tmp_path / "t.root"
    with ar.create(path) as file, file.tree("T", layout=layout, columns="grow", flush=2) as table:
        for part in parts:
            table.append(pa.table(part))
    late = {"b": 0, "v": [], "t": "", "f": False, "q": pytest.approx(0, abs=0.01)}
    expected = [[late | one for one in value] for part in parts for value in part["r"]]
    expected[8][0]["q"] = pytest.approx(0.5, abs=0.01)
    with ar.open(path) as file:
        read = file["T"].to_arrow().to_pydict()
    columns = {
        "r": expected,
        "w": ["", "", "", "a", "b", "c", "d", "e", "f", "g"],
        "x": [0.0] * 6 + [1.5, 2.5, 3.5, 4.5],
        "y": [[]] * 8 + [[1], [2, 3]],
    }
    assert read == columns
    with uproot.open(path) as file:
        rows = file["T"].arrays().to_list()
    assert rows == [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    del late["q"]
    found = root.run(late_with_root.collections, tmp_path, "t.root", "r")
    assert found["n"] == [len(value) for value in expected]
    for name in ("a", *late):
        assert found[name] == [one[name] for value in expected for one in value], name
    for name in ("a", "b"):
        assert found["framed"][name] == [[one[name] for one in value] for value in expected], name


def test_pages_of_zeros_before_members_in_lists_are_stored_once(tmp_path):
    n_entries, n_each = 20_000, 5
    ends = pa.array(np.arange(0, n_entries * n_each + 1, n_each, dtype=np.int32))

    def lists(**members: pa.Array) -> pa.Table:
        record = pa.StructArray.from_arrays(list(members.values()), list(members))
        return pa.table({"r": pa.ListArray.from_arrays(ends, record)})

    numbers = pa.array(np.arange(n_entries * n_each))
    ones = pa.array(np.ones(n_entries * n_each))
    path = tmp_path / "t.root"
    layout = ar.Layout("rntuple", compression=None, page_size="4 kB", flush=n_entries // 2)
    with ar.create(path) as file, file.tree("T", layout=layout, columns="grow") as table:
        table.append(lists(a=numbers))
        table.append(lists(a=numbers, b=ones, c=pc.equal(ones, 1)))
    with ar.open(path) as file:
        items = file["T"].to_arrow()["r"].combine_chunks().flatten()
    assert items.field("a").to_pylist() == 2 * numbers.to_pylist()
    assert items.field("b").to_numpy().tolist() == [0.0] * len(numbers) + [1.0] * len(numbers)
    assert items.field("c").to_pylist() == [False] * len(numbers) + [True] * len(numbers)
    # Numbers and their ends twice, the new members once; pages of zeros, ones and bits that repeat are few.
    assert path.stat().st_size < 2 * numbers.nbytes + 2 * 8 * n_entries + 8 * len(numbers) // 4


def test_members_that_records_cannot_get_are_refused(tmp_path):
    base, grown = {"r": [{"a": 1}]}, {"r": [{"a": 1, "b": 2}]}
    lists = {"r": [[{"a": 1}]]}, {"r": [[{"a": 1, "b": 2}]]}
    quantized = ar.Layout("rntuple", precision={"*": "Real32Quant:8[1,2]"})
    for first, then, layout, why in (
        (
            base,
            grown,
            "ttree",
            r"'r\.b' comes up later, and a tree .* give schema= with all members, or write",
        ),
        (*lists, "ttree", r"'r\.b' comes up later, and a tree"),
        (base, grown, ar.Layout("rntuple", types={"r": "Muon"}), r"\"r.b\" is of no record without a name"),
        (*lists, ar.Layout("rntuple", types={"r": "std::vector<Muon>"}), "is of no record without a name"),
        (lists[0], {"r": [[{"a": 1, "b": 1.5}]]}, quantized, "range lacks 0"),
        (
            {"r": [[{"a": 1, "s": [{"b": 1}]}]]},
            {"r": [[{"a": 1, "s": [{"b": 1, "q": 1.5}]}]]},
            quantized,
            "range lacks 0",
        ),
    ):
        with ar.create(tmp_path / "t.root") as file, file.tree("T", columns="vary", layout=layout) as table:
            table.append(pa.table(first))
            with pytest.raises(ar.InvalidRequestError, match=why):
                table.append(pa.table(then))
            table.append(pa.table(first))
        with ar.open(tmp_path / "t.root") as file:
            assert file["T"].to_arrow().to_pydict() == {name: 2 * values for name, values in first.items()}


def test_a_record_in_a_list_may_not_lack_members_where_columns_only_grow(tmp_path):
    with ar.create(tmp_path / "t.root") as file, file.tree("T", layout="rntuple", columns="grow") as table:
        table.append(pa.table({"r": [[{"a": 1}]]}))
        table.append(pa.table({"r": [[{"a": 1, "b": 2}]]}))
        for lacks in ("a", "b"):
            record = {"a": 1, "b": 2}
            del record[lacks]
            with pytest.raises(
                ar.InvalidRequestError, match=rf"the data lack 'r\.{lacks}', which the table has"
            ):
                table.append(pa.table({"r": [[record]]}))
    with ar.open(tmp_path / "t.root") as file:
        assert file["T"].to_arrow()["r"].to_pylist() == [[{"a": 1, "b": 0}], [{"a": 1, "b": 2}]]


def test_members_come_up_in_records_in_records(tmp_path):
    path = tmp_path / "t.root"
    parts = [
        [{"p.q": {"a": 1, "s": {"b": 1}}}],
        [{"p.q": {"a": 2, "s": {"b": 2, "late": [1, 2]}, "c.d": True}}],
        [{"p.q": {"a": 3, "s": {"b": 3, "late": [3], "last": "x"}, "c.d": False}}] * 2,
    ]
    with ar.create(path) as file, file.tree("T", layout="rntuple", columns="grow", flush=2) as table:
        for part in parts:
            table.append(pa.table({"r": part}))
        with pytest.raises(ar.InvalidRequestError, match=r"the data lack 'r\.p\.q\.s\.last'"):
            table.append(pa.table({"r": [{"p.q": {"a": 2, "s": {"b": 2, "late": [1]}, "c.d": True}}]}))
        assert str(table.schema.field("r").type) == (
            "struct<p.q: struct<a: int64 not null, s: struct<b: int64 not null, late: list<item: int64 not null> "
            "not null, last: string not null> not null, c.d: bool not null> not null>"
        )
    early = {"late": [], "last": ""}
    expected = [
        {"p.q": {"a": 1, "s": {"b": 1, **early}, "c.d": False}},
        {"p.q": {"a": 2, "s": {"b": 2, "late": [1, 2], "last": ""}, "c.d": True}},
        *parts[2],
    ]
    with ar.open(path) as file:
        assert file["T"].to_arrow()["r"].to_pylist() == expected
    with uproot.open(path) as file:
        read = file["T"].arrays()["r"]["p_x2e_q"]
    assert read["s"].to_list() == [one["p.q"]["s"] for one in expected]
    assert read["c_x2e_d"].to_list() == [False, True, False, False]
    assert root.run(late_with_root.nested, tmp_path, "t.root") == {
        "r.p_x2e_q.s.late": [[], [1, 2], [3], [3]],
        "r.p_x2e_q.s.last": ["", "", "x", "x"],
        "r.p_x2e_q.a": [1, 2, 3, 3],
    }


def test_types_name_members_that_come_up_later(tmp_path):
    types = {"r.late": "std::set<long>", "r.s.x": "std::atomic<long>", "n.m": "std::set<long>"}
    with (
        ar.create(tmp_path / "t.root") as file,
        file.tree("T", layout="rntuple", columns="vary", types=types) as table,
    ):
        table.append(pa.table({"r": [{"a": 1, "s": {"b": 1}}]}))
        table.append(pa.table({"r": [{"a": 2, "s": {"b": 2, "x": 5}, "late": [1, 2]}], "n": [{"m": [7]}]}))
    with ar.open(tmp_path / "t.root") as file:
        read = file["T"].to_arrow().to_pydict()
    assert read == {
        "r": [{"a": 1, "s": {"b": 1, "x": 0}, "late": []}, {"a": 2, "s": {"b": 2, "x": 5}, "late": [1, 2]}],
        "n": [{"m": []}, {"m": [7]}],
    }
    assert root.run(late_with_root.types, tmp_path, "t.root", list(types)) == {
        "r.late": "std::set<std::int64_t>", "r.s.x": "std::atomic<std::int64_t>", "n.m": "std::set<std::int64_t>",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "what"), [("r.b", "no member"), ("r.s.c", "no member"), ("q.a", "no column")]
)
def test_a_member_that_is_named_and_never_comes_is_an_error_of_closing(tmp_path, name, what):
    data = pa.table({"r": [{"a": 1, "s": {"b": 1}}]})
    with pytest.raises(ar.NoSuchColumnError, match=f"types: {what} is called '{name}'"):
        ar.write(
            f"{tmp_path}/t.root:T", data, layout="rntuple", columns="grow", types={name: "std::set<long>"}
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("flush", [2, "auto"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_columns_of_any_type_come_up_later(tmp_path, layout, flush):
    paths = {}
    for name, (array, default) in KINDS.items():
        x = name.replace(" ", "_")
        path = tmp_path / f"{x}.root"
        with (
            ar.create(path) as file,
            file.tree("Events", layout=layout, columns="vary", flush=flush) as table,
        ):
            table.append({"n": [0, 1, 2]})
            table.append(pa.table({x: array, "n": [3, 4]}))
            table.append({"n": [5]})
        with ar.open(path) as file:
            read = file["Events"].to_arrow()
        assert read.column_names == ["n", x]
        assert read["n"].to_pylist() == list(range(6))
        if name == "optional" or not pa.types.is_nested(array.type):
            assert read[x].type == array.type, name
        whole = read[x].combine_chunks()
        assert expected.shown(read[x].slice(3, 2)) == expected.shown(pa.chunked_array([array])), name
        before = whole.take(pa.array([0, 1, 2, 5]))
        stored = before.cast(pa.int64()) if pa.types.is_timestamp(before.type) else before
        assert stored.to_pylist() == [default] * 4, name
        with uproot.open(path) as file:
            if name not in ("map", "optional list") and not name.startswith("optional"):
                assert file["Events"].num_entries == 6
                file["Events"].arrays()
        paths[path] = (x, read)
    routes = read_all([(path, "Events", layout) for path in paths], tmp_path)
    reader = "TTreeReader" if layout == "ttree" else "RNTupleReader"
    n_compared = 0
    for path, (x, read) in paths.items():
        assert "crash" not in routes[path], x
        if layout == "ttree" and x.startswith("optional"):
            continue  # 0 stands for what is missing, beside x_isvalid
        column = routes[path][reader].get(x)
        if column is not None and column.values is not None and not column.is_text:
            assert compared(plain(column.values), plain(expected.stored_values(read[x]))) == "yes", x
            n_compared += 1
    assert n_compared >= 5


def test_clusters_before_have_nothing_of_a_column_of_an_rntuple(tmp_path):
    with (
        ar.create(tmp_path / "t.root") as file,
        file.tree("T", layout="rntuple", flush=1000, columns="grow") as table,
    ):
        table.append({"x": np.arange(50_500)})
        table.append({"x": np.arange(500), "y": np.arange(500)})
    with ar.open(tmp_path / "t.root") as file:
        tree = file["T"]
        assert {branch.path: branch.n_baskets for branch in tree.branches} == {"x": 51, "y": 1}
        assert tree.to_arrow()["y"].to_pylist() == [0] * 50_500 + list(range(500))


def test_branches_are_filled_up_at_the_borders_of_clusters(tmp_path):
    with ar.create(tmp_path / "t.root") as file, file.tree("T", columns="grow", flush=10) as table:
        table.append({"x": np.arange(35)})
        table.append({"x": np.arange(20), "y": np.arange(20)})
    with ar.open(tmp_path / "t.root") as file:
        tree = file["T"]
        assert tree.clusters == [0, 10, 20, 30, 40, 50, 55]
        assert {branch.path: branch.n_baskets for branch in tree.branches} == {"x": 6, "y": 6}
        assert tree.to_arrow()["y"].to_pylist() == [0] * 35 + list(range(20))


@pytest.mark.parametrize("options", [{"flush": None}, {"basket_size": 200}, {"basket_size": "optimized"}])
def test_baskets_of_any_rule_are_filled_up(tmp_path, options):
    texts = [f"text {number}" for number in range(500)]
    path = tmp_path / "t.root"
    with ar.create(path) as file, file.tree("Events", columns="grow", **options) as table:
        table.append({"x": np.arange(1000)})
        table.append({"x": np.arange(500), "y": np.arange(500), "t": texts, "l": [[1, 2]] * 500})
    with ar.open(path) as file:
        read = file["Events"].to_arrow()
    assert read["y"].to_pylist() == [0] * 1000 + list(range(500))
    assert read["t"].to_pylist() == [""] * 1000 + texts
    assert read["l"].to_pylist() == [[]] * 1000 + [[1, 2]] * 500
    with uproot.open(path) as file:
        assert file["Events"]["t"].array().to_list() == read["t"].to_pylist()
        assert file["Events"]["l"].array().to_list() == read["l"].to_pylist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_columns_in_other_batches_and_threads_are_the_same_bytes(tmp_path, layout):
    parts = [
        {"x": np.arange(700)},
        {"x": np.arange(900), "y": [[1]] * 900},
        {"x": np.arange(40), "z": ["a"] * 40},
    ]
    for number, (step, n_threads) in enumerate([(1000, 1), (7, 1), (300, 3)]):
        path = tmp_path / str(number) / "t.root"
        path.parent.mkdir()
        with (
            ar.create(path, reproducible=True, n_threads=n_threads) as file,
            file.tree("T", layout=layout, columns="vary", flush="8 kB") as table,
        ):
            for part in parts:
                n = len(part["x"])
                for start, end in pairwise([*range(0, n, step), n]):
                    table.append({name: values[start:end] for name, values in part.items()})
    first, *others = ((tmp_path / str(number) / "t.root").read_bytes() for number in range(3))
    assert all(other == first for other in others)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_schema_of_the_data_comes_back_with_late_columns(tmp_path, layout):
    late = pa.table({
        "n": pa.array([1], pa.int64()),
        "d": pa.array([1], pa.duration("s")),
        "jet.pt": pa.array([[1.0]], pa.large_list(pa.float32())),
        "m": pa.array([b"abc"], pa.binary(3)),
    })  # fmt: skip
    with ar.create(tmp_path / "t.root") as file, file.tree("T", layout=layout, columns="grow") as table:
        table.append({"n": [0]})
        table.append(late)
        assert table.schema.names == ["n", "d", "jet.pt", "m"]
    with ar.open(tmp_path / "t.root") as file:
        read = file["T"].to_arrow()
    assert read.column_names == late.column_names
    assert read.schema.types == late.schema.types
    assert read.slice(1).to_pylist() == late.to_pylist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_objects_of_a_class_and_precision_come_up_later(tmp_path, layout):
    by_format = {
        "ttree": {"split": 99, "precision": "Double32[0,10,12]"},
        "rntuple": {"precision": "Real32Quant:12[0,10]"},
    }
    with (
        ar.create(tmp_path / "t.root") as file,
        file.tree("T", layout=ar.Layout(layout, **by_format[layout]), columns="grow") as table,
    ):
        table.append({"n": [0, 1]})
        table.append(pa.table({"n": [2], "o": [{"a": 2.5, "b": 1}], "v": [[{"c": 1}, {"c": 2}]]}))
    with ar.open(tmp_path / "t.root") as file:
        read = file["T"].to_arrow().to_pylist()
    assert read[1] == {"n": 1, "o": {"a": 0.0, "b": 0}, "v": []}
    assert read[2]["o"]["a"] == pytest.approx(2.5, abs=0.01)
    assert read[2]["v"] == [{"c": 1}, {"c": 2}]


@pytest.mark.parametrize("format_", ["ttree", "rntuple"])
def test_contexts_fill_entries_that_lack_columns_of_a_schema(tmp_path, format_):
    schema = pa.schema(
        [pa.field("n", pa.int32(), nullable=False), pa.field("a", pa.float64()), ("v", pa.list_(pa.int8()))]
    )
    with (
        ar.create(tmp_path / "t.root") as file,
        file.tree("T", schema, layout=format_, columns="vary", producers={"order": "numbered"}) as table,
        table.context() as one,
        table.context() as other,
    ):
        with pytest.raises(ar.InvalidRequestError, match="contexts add no columns to a table, append does"):
            file.tree("other", schema, columns="grow").context()
        other.fill(pa.table({"n": [2, 3], "v": [[1], []]}), 1)
        one.fill({"n": [1], "a": [0.5]}, 0)
        with pytest.raises(ar.NoSuchColumnError, match="no column 'z'"):
            one.fill({"n": [4], "z": [1]}, 3)
        one.fill(pa.table({"a": [1.5]}), 3)
    with ar.open(tmp_path / "t.root") as file:
        read = file["T"].to_arrow()
    assert read["n"].to_pylist() == [1, 2, 3, 0]
    assert read["a"].to_pylist() == [0.5, None, None, 1.5]
    assert read["v"].to_pylist() == [None, [1], [], None]


def test_what_cannot_be_is_refused_and_the_table_goes_on(tmp_path):
    with ar.create(tmp_path / "t.root") as file:
        with file.tree("fixed") as table:
            table.append({"x": [1]})
            with pytest.raises(ar.NoSuchColumnError, match="no column 'y'"):
                table.append({"x": [2], "y": [3]})
        with file.tree("T", columns="grow") as table:
            table.append({"x": [[1.0]], "m": [1]})
            with pytest.raises(ar.InvalidRequestError, match="the data lack 'm'"):
                table.append({"x": [[1.0]]})
            with pytest.raises(ar.InvalidRequestError, match="column 'm' is int64"):
                table.append({"x": [[2.0]], "m": ["text"], "z": [1]})
            # The counter of the lists has that name.
            with pytest.raises(ar.InvalidRequestError, match='"nx" is there'):
                table.append({"x": [[2.0]], "m": [1], "nx": [7]})
            with pytest.raises(ar.InvalidRequestError, match="contexts"):
                table.context()
            table.append({"x": [[3.0]], "m": [2], "y": [1]})
        ranged = ar.Layout("rntuple", precision={"*": "Real32Quant:8[1,2]"})
        with file.tree("ranged", layout=ranged, columns="vary") as table:
            table.append({"n": [1]})
            with pytest.raises(ar.InvalidRequestError, match="range lacks 0"):
                table.append({"n": [1], "f": [1.5]})
            table.append({"n": [1], "l": [[1.5]]})
        with file.tree("early", columns="vary") as table:
            # Nobody has said the type of x when y comes.
            table.append({"x": [None]})
            table.append({"y": [1]})
        with pytest.raises(ar.InvalidRequestError, match="columns='free'"):
            file.tree("other", columns="free")
    with ar.open(tmp_path / "t.root") as file:
        assert file["T"].to_arrow().to_pylist() == [
            {"x": [1.0], "m": 1, "y": 0},
            {"x": [3.0], "m": 2, "y": 1},
        ]
        assert file["ranged"].to_arrow()["l"].to_pylist()[0] == []
        assert file["early"].to_arrow().to_pylist() == [{"x": None, "y": 0}, {"x": None, "y": 1}]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_call_takes_batches_of_different_columns(tmp_path, layout):
    batches = [pa.table({"a": [1]}), pa.table({"b": ["x"]}), pa.table({"a": [2], "c": [None]})]
    ar.write(f"{tmp_path}/t.root:T", batches, layout=layout, columns="vary")
    with ar.open(tmp_path / "t.root") as file:
        assert file["T"].to_arrow().to_pylist() == [
            {"a": 1, "b": "", "c": None},
            {"a": 0, "b": "x", "c": None},
            {"a": 2, "b": "", "c": None},
        ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_schema_says_what_is_missing_where_data_lack_it(tmp_path, layout):
    schema = pa.schema([pa.field("a", pa.int32()), pa.field("b", pa.int32(), nullable=False)])
    with (
        ar.create(tmp_path / "t.root") as file,
        file.tree("T", schema, layout=layout, columns="vary") as table,
    ):
        table.append({"a": [1]})
        table.append({"b": [2]})
    with ar.open(tmp_path / "t.root") as file:
        assert file["T"].to_arrow().to_pylist() == [{"a": 1, "b": 0}, {"a": None, "b": 2}]


@pytest.mark.parametrize("flush", [1, 1000])
def test_lists_of_a_length_that_their_c_type_says_come_up_later(tmp_path, flush):
    types = {"m": "std::bitset<2>", "d": "std::array<std::array<long, 2>, 1>"}
    late = pa.table({"x": [2], "m": [[True, False]], "d": [[[3, 4]]]})
    with ar.create(tmp_path / "t.root") as file:
        table = file.tree("T", layout="rntuple", columns="grow", flush=flush, types=types)
        table.append(pa.table({"x": [1]}))
        table.append(late)
        table.append(late)
        with pytest.raises(ar.InvalidRequestError, match=r"entry 3 .*list of 1 items, where the field has 2"):
            table.append(pa.table({"x": [2], "m": [[True]], "d": [[[3, 4]]]}))
        table.append(late)
    with ar.open(tmp_path / "t.root") as file:
        read = file["T"].to_arrow().to_pydict()
    assert read["m"] == [[False, False], *[[True, False]] * 3]
    assert read["d"] == [[[0, 0]], *[[[3, 4]]] * 3]
    with uproot.open(tmp_path / "t.root") as file:
        assert file["T"].arrays(["d"])["d"].tolist() == read["d"]


def test_a_union_that_data_lack_is_none_of_its_members(tmp_path):
    union = pa.UnionArray.from_dense(
        pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([7]), pa.array(["a"])]
    )
    with ar.create(tmp_path / "t.root") as file, file.tree("T", layout="rntuple", columns="vary") as table:
        table.append(pa.table({"x": [1, 2], "u": union}))
        table.append(pa.table({"x": [3]}))
        table.append(pa.table({"x": [4, 5], "r": pa.StructArray.from_arrays([union], ["u"])}))
    with ar.open(tmp_path / "t.root") as file:
        read = file["T"].to_arrow().to_pydict()
    assert read["u"] == [7, "a", None, None, None]
    assert read["r"] == [{"u": None}] * 3 + [{"u": 7}, {"u": "a"}]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_settings_name_columns_that_come_up_later(tmp_path, layout):
    options = {"types": {"m": "std::set<long>"}, "compression": {"m": "lz4:4", "*": "zstd:1"}}
    with (
        ar.create(tmp_path / "t.root") as file,
        file.tree("T", layout=layout, columns="grow", **options) as table,
    ):
        table.append(pa.table({"x": [1]}))
        table.append(pa.table({"x": [2], "m": [[3, 4]]}))
        with pytest.raises(ar.InvalidRequestError, match="two equal items"):
            table.append(pa.table({"x": [2], "m": [[3, 3]]}))
    with ar.open(tmp_path / "t.root") as file:
        assert file["T"].to_arrow()["m"].to_pylist() == [[], [3, 4]]
        assert "set<" in {branch.path: branch.type_name for branch in file["T"].branches}["m"]


@pytest.mark.parametrize("what", ["types", "compression", "precision"])
def test_a_column_that_is_named_and_never_comes_is_an_error_of_closing(tmp_path, what):
    value = {"types": "std::set<long>", "compression": "lz4", "precision": "mantissa:10"}[what]
    layout = ar.Layout("rntuple", **{what: {"m": value}})
    with pytest.raises(ar.NoSuchColumnError, match=f"{what}: no column is called 'm'"):
        ar.write(f"{tmp_path}/t.root:T", {"x": [1]}, layout=layout, columns="grow")
    assert list(tmp_path.iterdir()) == []
