"""Members that come up in records of an RNTuple: read by ROOT, uproot and arrowroot."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import uproot

import arrowroot as ar
from tests.judge import root

from . import expected, late_with_root
from .late_cases import KINDS, defaults, triggers, weighted


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
        (
            base,
            grown,
            ar.Layout("rntuple", types={"r": "Muon"}),
            r'the members of "Muon" are those of its C\+\+ type.*give schema=',
        ),
        (
            *lists,
            ar.Layout("rntuple", types={"r": "std::vector<Muon>"}),
            r'the members of "std::vector<Muon>" are those of its C\+\+ type',
        ),
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


def test_types_name_members_that_come_up_later_in_maps(tmp_path):
    kinds = [
        pa.map_(pa.string(), pa.struct([("a", pa.int32()), *more]))
        for more in ([], [("v", pa.list_(pa.int64()))])
    ]
    parts = [[[("k", {"a": 1})], []], [[("k", {"a": 1, "v": [1, 2]})]]]
    types = {"m.value.v": "std::set<long>", "m.value.a": "Color"}
    with (
        ar.create(tmp_path / "t.root") as file,
        file.tree("T", layout="rntuple", columns="vary", types=types) as table,
    ):
        for part, kind in zip(parts, kinds, strict=True):
            table.append(pa.table({"m": pa.array(part, kind)}))
    with ar.open(tmp_path / "t.root") as file:
        read = file["T"].to_arrow()["m"].to_pylist()
    assert read == [[("k", {"a": 1, "v": []})], [], *parts[1]]
    assert root.run(late_with_root.types, tmp_path, "t.root", ["m._0.value.v", "m._0.value.a"]) == {
        "m._0.value.v": "std::set<std::int64_t>", "m._0.value.a": "Color",
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


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ({"r": [{"a": 1}], "r.x": [{"x": 2}]}, {"r": [{"a": 1, "x": 5}], "r.x": [{"x": 2}]}),
        ({"r": [{"a": 1}], "r.x": [{"x": 2}]}, {"r": [{"a": 1, "x": 5}]}),
        ({"r": [{"a": 1}]}, {"r": [{"a": 1, "x": 5}], "r.x": [{"x": 2}]}),
        ({"r": [{"a": 1, "s": {"b": 1}}]}, {"r": [{"a": 1, "s": {"b": 1, "x": 2}, "s.x": 5}]}),
    ],
)
def test_a_late_member_with_the_path_of_something_else_is_an_error_that_says_so(tmp_path, first, then):
    first, then = pa.table(first), pa.table(then)
    with ar.create(tmp_path / "t.root") as file, file.tree("T", layout="rntuple", columns="vary") as table:
        table.append(first)
        why = r"'r(\.s)?\.x' is a member of the records of 'r' that comes up later, and the name of a column"
        with pytest.raises(ar.InvalidRequestError, match=why):
            table.append(then)
        table.append(first)
    with ar.open(tmp_path / "t.root") as file:
        assert file["T"].to_arrow().to_pylist() == first.to_pylist() * 2


def test_a_column_with_the_path_of_a_member_that_came_up_is_refused_also_without_its_records(tmp_path):
    with ar.create(tmp_path / "t.root") as file, file.tree("T", layout="rntuple", columns="vary") as table:
        table.append(pa.table({"r": [{"a": 1}], "n": [1]}))
        table.append(pa.table({"r": [{"a": 1, "x": 5}], "n": [2]}))
        with pytest.raises(ar.InvalidRequestError, match=r"'r\.x' is a member of the records of 'r'"):
            table.append(pa.table({"r.x": [{"x": 2}], "n": [3]}))
    with ar.open(tmp_path / "t.root") as file:
        assert file["T"].to_arrow()["r"].to_pylist() == [{"a": 1, "x": 0}, {"a": 1, "x": 5}]
