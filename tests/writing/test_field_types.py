"""Fields of every C++ type of an RNTuple, asked for by name: what ROOT reads as that type, and arrowroot gives back."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from tests.command import run_here as run
from tests.judge import root
from tests.tables import required

from . import field_types_with_root

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")


def lists(kind: pa.DataType) -> pa.DataType:
    return pa.list_(required(kind))


def maps(key: pa.DataType, value: pa.DataType) -> pa.DataType:
    return pa.map_(key, required(value, "value"))


def record(*kinds: pa.DataType) -> pa.DataType:
    return pa.struct([required(kind, f"m{number}") for number, kind in enumerate(kinds)])


def union(*kinds: pa.DataType, mode: str = "dense") -> pa.DataType:
    return pa.union([pa.field(f"u{number}", kind) for number, kind in enumerate(kinds)], mode)


I16, I32, F, D, S = pa.int16(), pa.int32(), pa.float32(), pa.float64(), pa.string()
PAIR = record(I32, F)
_pairs = [{"m0": 2, "m1": 1.5}, {"m0": 1, "m1": -0.5}]
#: What is asked for ("": nothing is), the type that C++ reads it as, the type of Arrow, and three values.
CASES: list[tuple[str, str, pa.DataType, list[Any]]] = [
    ("", "std::map<std::string,float>", maps(S, F), [[("b", 1.5), ("a", 2.0)], [], [("c", 0.0)]]),
    (
        "",
        "std::vector<std::map<std::int32_t,std::string>>",
        lists(maps(I32, S)),
        [[[(1, "x")], []], [], [[(2, "")]]],
    ),
    ("", "std::optional<std::map<std::string,float>>", maps(S, F), [[("b", 1.5)], None, []]),
    *(
        (name, name, kind, [0, 1, 100])
        for name, kind in (
            ("char", pa.int8()),
            ("std::int8_t", pa.int8()),
            ("std::uint8_t", pa.uint8()),
            ("std::byte", pa.uint8()),
            ("std::int16_t", I16),
            ("std::uint16_t", pa.uint16()),
            ("std::int32_t", I32),
            ("std::uint32_t", pa.uint32()),
            ("std::int64_t", pa.int64()),
            ("std::uint64_t", pa.uint64()),
            ("float", F),
            ("double", D),
        )
    ),
    ("bool", "bool", pa.bool_(), [True, False, True]),
    ("Double32_t", "double", D, [1.5, -2.25, 0.0]),
    ("vector<Double32_t>", "std::vector<double>", lists(D), [[1.5, -2.25], [], [0.0]]),
    ("std::string", "std::string", S, ["", "a", "bc"]),
    ("std::vector<int>", "std::vector<std::int32_t>", lists(I32), [[1, 2], [], [3]]),
    ("std::vector<float>", "std::vector<float>", pa.list_(required(F), 2), [[1.0, 2.0]] * 3),
    ("ROOT::RVec<float>", "ROOT::VecOps::RVec<float>", lists(F), [[1.5, 2.5], [], [-1.0]]),
    (
        "RVec<std::vector<bool>>",
        "ROOT::VecOps::RVec<std::vector<bool>>",
        lists(lists(pa.bool_())),
        [[[True], []], [], [[False]]],
    ),
    ("std::vector<std::byte>", "std::vector<std::byte>", pa.binary(), [b"ab", b"", b"\xff"]),
    ("std::array<float, 2>", "std::array<float,2>", lists(F), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    (
        "std::array<std::array<short, 1>, 2>",
        "std::array<std::array<std::int16_t,1>,2>",
        pa.list_(required(pa.list_(required(I16), 1)), 2),
        [[[1], [2]], [[3], [4]], [[5], [6]]],
    ),
    ("std::bitset<3>", "std::bitset<3>", pa.list_(required(pa.bool_()), 3), [[True, False, True]] * 3),
    (
        "std::bitset<70>",
        "std::bitset<70>",
        lists(pa.bool_()),
        [[n % k == 0 for n in range(70)] for k in (1, 2, 3)],
    ),
    ("std::set<short>", "std::set<std::int16_t>", lists(I16), [[2, 1], [], [3]]),
    ("std::unordered_set<std::string>", "std::unordered_set<std::string>", lists(S), [["b", "a"], [], ["c"]]),
    ("std::multiset<float>", "std::multiset<float>", lists(F), [[1.0, 1.0], [], [2.0]]),
    ("std::unordered_multiset<int>", "std::unordered_multiset<std::int32_t>", lists(I32), [[1, 1], [], [2]]),
    ("std::pair<int, float>", "std::pair<std::int32_t,float>", PAIR, [*_pairs, _pairs[0]]),
    (
        "std::vector<std::pair<int, float>>",
        "std::vector<std::pair<std::int32_t,float>>",
        lists(PAIR),
        [_pairs, [], _pairs[:1]],
    ),
    (
        "std::tuple<int, std::string, std::vector<float>>",
        "std::tuple<std::int32_t,std::string,std::vector<float>>",
        record(I32, S, lists(F)),
        [
            {"m0": 1, "m1": "a", "m2": [1.5]},
            {"m0": 2, "m1": "", "m2": []},
            {"m0": 3, "m1": "b", "m2": [2.0, 3.0]},
        ],
    ),
    (
        "std::unordered_map<int, float>",
        "std::unordered_map<std::int32_t,float>",
        maps(I32, F),
        [[(2, 1.5), (1, 2.0)], [], [(3, 0.0)]],
    ),
    (
        "std::multimap<int, float>",
        "std::multimap<std::int32_t,float>",
        lists(PAIR),
        [_pairs[:1] * 2, [], _pairs],
    ),
    (
        "std::unordered_multimap<int, double>",
        "std::unordered_multimap<std::int32_t,double>",
        maps(I32, D),
        [[(2, 1.5), (2, 2.0)], [], []],
    ),
    (
        "std::vector<std::pair<std::string, float>>",
        "std::vector<std::pair<std::string,float>>",
        maps(S, F),
        [[("b", 1.0), ("b", 2.0)], [], []],
    ),
    ("std::atomic<float>", "std::atomic<float>", F, [1.5, 0.0, -1.0]),
    ("std::atomic<bool>", "std::atomic<bool>", pa.bool_(), [True, False, True]),
    ("std::optional<float>", "std::optional<float>", F, [1.5, None, -1.0]),
    ("std::optional<int>", "std::optional<std::int32_t>", I32, [1, 2, 3]),
    ("std::unique_ptr<std::string>", "std::unique_ptr<std::string>", S, ["a", None, ""]),
    ("std::vector<float>", "std::vector<float>", F, [1.5, None, -1.0]),
    ("std::optional<std::set<int>>", "std::optional<std::set<std::int32_t>>", lists(I32), [[2, 1], None, []]),
    (
        "std::optional<std::array<int, 2>>",
        "std::optional<std::array<std::int32_t,2>>",
        lists(I32),
        [[2, 1], None, [3, 4]],
    ),
    ("Color", "Color", I32, [0, 1, 7]),
    ("std::vector<Color>", "std::vector<Color>", lists(I32), [[0, 1], [], [7]]),
]


def unions() -> list[tuple[str, str, pa.Array, list[Any]]]:
    """What is asked for, the type that C++ reads, unions, and what C++ shows of them: the alternative and its value."""
    kinds, places = pa.array([1, 0, 1], pa.int8()), pa.array([0, 0, 1], pa.int32())
    dense = pa.UnionArray.from_dense(kinds, places, [pa.array([7], I32), pa.array(["a", "b"])])
    sparse = pa.UnionArray.from_sparse(kinds, [pa.array([5, 7, 6], I32), pa.array(["a", None, "b"])])
    maps_ = pa.array([[("a", 1.5)]], maps(S, F))
    of_maps = pa.UnionArray.from_dense(kinds, places, [maps_, pa.array([[1], []], lists(I32))])
    listed = pa.ListArray.from_arrays(
        pa.array([0, 2, 2, 3], pa.int32()), dense, type=pa.list_(required(dense.type))
    )
    plain_ = [[1, "a"], [0, 7], [1, "b"]]
    return [
        ("", "std::variant<std::int32_t,std::string>", dense, plain_),
        ("", "std::variant<std::int32_t,std::string>", sparse, plain_),
        (
            "",
            "std::variant<std::map<std::string,float>,std::vector<std::int32_t>>",
            of_maps,
            [[1, [1]], [0, [["a", 1.5]]], [1, []]],
        ),
        ("", "std::vector<std::variant<std::int32_t,std::string>>", listed, [plain_[:2], [], plain_[2:]]),
    ]


UNIONS = unions()
KINDS = [case[:2] for case in CASES] + [case[:2] for case in UNIONS]
NAMES = [f"c{number}" for number in range(len(KINDS))]
#: Types of which ROOT has no fields without their dictionaries.
LINKED = sorted(
    {
        found
        for _, declared in KINDS
        for found in re.findall(r"std::(?!bitset)[a-z_]*(?:map|set)<[^<>]*>", declared)
    }
)
DECLARED = "enum class Color : std::int32_t { kRed = 0, kBlue = 1, kGreen = 7 };\n"


def table() -> pa.Table:
    fields = [pa.field("n", D, nullable=False)]
    arrays = [pa.array([1.0, 2.0, 4.0])]
    for name, (_, _, kind, values) in zip(NAMES, CASES, strict=False):
        fields.append(pa.field(name, kind, nullable=None in values))
        arrays.append(pa.array(values, kind))
    for name, (_, _, array, _) in zip(NAMES[len(CASES) :], UNIONS, strict=True):
        fields.append(pa.field(name, array.type, nullable=False))
        arrays.append(array)
    return pa.table(arrays, schema=pa.schema(fields))


def plain(kind: pa.DataType, declared: str, value: Any) -> Any:
    """A value as C++ shows it: the items of sets and maps in the order of their texts."""
    template, _, inner = declared.partition("<")
    if template == "std::vector" and not isinstance(value, list | bytes):
        return [] if value is None else [value]
    if value is None or template == "std::optional":
        return value if value is None else plain(kind, inner[:-1], value)
    if pa.types.is_struct(kind):
        return [plain(field.type, "", value[field.name]) for field in kind]
    if pa.types.is_map(kind):
        items = [[plain(kind.key_type, "", key), plain(kind.item_type, "", one)] for key, one in value]
    elif isinstance(value, list | bytes):
        items = [
            plain(getattr(kind, "value_type", I32), inner[:-1] if "map<" in inner else "", one)
            for one in value
        ]
    else:
        return value
    return (
        sorted(items, key=json.dumps)
        if template != "std::bitset" and template.endswith(("set", "map"))
        else items
    )


def write(path: str, names: list[str]) -> str:
    types = {name: asked for name, (asked, _) in zip(NAMES, KINDS, strict=True) if asked and name in names}
    ar.write(f"{path}:t", table().select(["n", *names]), layout="rntuple", types=types)
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(str(tmp_path_factory.mktemp("types") / "types.root"), NAMES)


@pytest.fixture(scope="module")
def by_root(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    links = [*(f"class {one}+" for one in LINKED), "enum Color"]
    code = field_types_with_root.source(list(dict.fromkeys(one for _, one in KINDS)), links, DECLARED)
    directory = tmp_path_factory.mktemp("root")
    found: dict[str, Any] = {}
    for are_bits in (True, False):
        fields = [
            (name, one) for name, (_, one) in zip(NAMES, KINDS, strict=True) if ("bitset" in one) == are_bits
        ]
        path = write(str(directory / f"types{are_bits:d}.root"), [name for name, _ in fields])
        found |= root.run(field_types_with_root.read, directory, code, path, fields)
    return found


@pytest.mark.parametrize(
    "number", range(len(KINDS)), ids=[f"{asked or 'natural'}-{kind}" for asked, kind in KINDS]
)
def test_root_reads_each_type_as_it_was_asked_for(number: int, by_root: dict[str, Any]) -> None:
    found = by_root[NAMES[number]]
    assert not found.startswith("error"), found
    if number < len(CASES):
        _, declared, kind, values = CASES[number]
        expected = [plain(kind, declared, value) for value in values]
    else:
        expected = UNIONS[number - len(CASES)][-1]
    assert json.loads(found) == expected
    assert by_root["sum"] == 7.0


def test_every_type_comes_back(path: str) -> None:
    given = table()
    with ar.open(path) as file:
        tree = file["t"]
        read = tree.to_arrow()
        read.validate(full=True)
        assert read.schema.equals(given.schema)
        for name in given.column_names:
            assert read.column(name).to_pylist() == given.column(name).to_pylist(), name
        names = {branch.path: branch.type_name for branch in tree.branches}
        assert {name: names[name] for name in NAMES} == dict(
            zip(NAMES, (one for _, one in KINDS), strict=True)
        )


def test_types_that_are_read_are_written_again(path: str, tmp_path: Path) -> None:
    again = f"{tmp_path}/again.root"
    with ar.open(path) as file:
        ar.write(f"{again}:t", file["t"], layout="rntuple")
    assert run("skim", path, f"{tmp_path}/skimmed.root").returncode == 0
    for copy in (again, f"{tmp_path}/skimmed.root"):
        with ar.open(path) as one, ar.open(copy) as other:
            found = [
                {branch.path: branch.type_name for branch in file["t"].branches} for file in (one, other)
            ]
            assert found[0] == found[1]
            assert other["t"].to_arrow().schema.equals(one["t"].to_arrow().schema, check_metadata=True)


def test_unions_with_missing_alternatives_come_back_in_whatever_holds_them(tmp_path: Path) -> None:
    kinds, places = pa.array([0, 1, 0, 1], pa.int8()), pa.array([0, 0, 1, 1], pa.int32())
    unions = pa.UnionArray.from_dense(kinds, places, [pa.array([1, 2], I32), pa.array([None, "b"])])
    item, ends = required(unions.type), [0, 3, 4]
    columns = {
        "list": pa.ListArray.from_arrays(ends, unions, type=pa.list_(item)),
        "large": pa.LargeListArray.from_arrays(ends, unions, type=pa.large_list(item)),
        "fixed": pa.FixedSizeListArray.from_arrays(unions, type=pa.list_(item, 2)),
        "view": pa.ListViewArray.from_arrays([0, 3], [3, 1], unions, type=pa.list_view(item)),
        "struct": pa.StructArray.from_arrays([unions[:2]], fields=[item]),
        "map": pa.MapArray.from_arrays(
            ends, pa.array([0, 1, 2, 0], I32), unions, type=pa.map_(I32, item.with_name("value"))
        ),
    }
    fields = [required(array.type, name) for name, array in columns.items()]
    given = pa.table(list(columns.values()), schema=pa.schema(fields))
    ar.write(f"{tmp_path}/a.root:t", given, layout="rntuple")
    with ar.open(f"{tmp_path}/a.root") as file:
        read = file["t"].to_arrow()
    read.validate(full=True)
    assert read.schema.equals(given.schema)
    assert read.to_pylist() == given.to_pylist()


def test_a_null_of_a_union_is_none_of_its_alternatives(tmp_path: Path) -> None:
    kinds = pa.array([1, 0, 1, 0], pa.int8())
    given = pa.UnionArray.from_sparse(kinds, [pa.array([5, None, 6, 8]), pa.array(["a", "b", None, "d"])])
    ar.write(f"{tmp_path}/a.root:t", pa.table({"x": given}), layout="rntuple")
    with ar.open(f"{tmp_path}/a.root") as file:
        read = file["t"].to_arrow()["x"]
        assert file["t"].branches[0].type_name == "std::variant<std::int64_t,std::string>"
    assert read.type == given.type
    assert read.to_pylist() == given.to_pylist() == ["a", None, None, 8]


RECORDS = pa.list_(required(pa.struct([required(F, "x"), required(I32, "y"), required(lists(F), "hits")])))


@pytest.mark.parametrize("how", ["option", "layout", "toml", "metadata"])
def test_types_of_classes_and_members_are_asked_for_in_four_ways(how: str, tmp_path: Path) -> None:
    given = pa.table([pa.array([[{"x": 1.5, "y": 2, "hits": [3.0]}], []], RECORDS)], names=["v"])
    types = {"v": "std::vector<Muon@3>", "v.hits": "ROOT::RVec<float>"}
    options: dict[str, Any] = {"layout": "rntuple"}
    if how == "option":
        options["types"] = types
    elif how == "layout":
        options["layout"] = ar.Layout("rntuple", types=types)
    elif how == "toml":
        text = ar.Layout("rntuple", types=types).to_toml()
        options["layout"] = ar.Layout.from_toml(text)
        assert options["layout"] == ar.Layout("rntuple", types=types)
    else:
        members = list(RECORDS.value_type)
        members[2] = members[2].with_metadata({"arrowroot:type": types["v.hits"]})
        kind = pa.list_(required(pa.struct(members)))
        options["schema"] = pa.schema(
            [pa.field("v", kind, nullable=False, metadata={"arrowroot:type": types["v"]})]
        )
    ar.write(f"{tmp_path}/a.root:t", given, **options)
    with ar.open(f"{tmp_path}/a.root") as file:
        read = file["t"].to_arrow()
        names = {branch.path: branch.type_name for branch in file["t"].branches}
    assert read["v"].to_pylist() == given["v"].to_pylist()
    assert names["v"] == "std::vector<Muon>"
    with uproot.open(f"{tmp_path}/a.root") as file:
        fields = {(field.field_name, field.type_name) for field in file["t"].header.field_records}
    assert {("hits", "ROOT::VecOps::RVec<float>"), ("_0", "Muon")} <= fields


@pytest.mark.parametrize(
    ("values", "asked", "told"),
    [
        (
            pa.array([1.5]),
            "std::set<int>",
            "std::set<std::int32_t> where double is: possible are double, std::atomic",
        ),
        (pa.array([1]), "int", "std::int32_t where std::int64_t is: possible are std::int64_t"),
        (pa.array([[1]]), "std::list<int>", "no field has the template 'std::list'"),
        (
            pa.array([[1]]),
            "std::pair<int, int>",
            "where lists are: possible are std::vector<T>, ROOT::RVec<T>",
        ),
        (pa.array([[1, 2, 1]]), "std::set<long>", "entry 0 has two equal items"),
        (pa.array([[1.5], [float("nan"), 1.0]]), "std::set<double>", "entry 1 has a NaN"),
        (pa.array([[0.0, -0.0]]), "std::set<double>", "entry 0 has two equal items"),
        (pa.array([[[3]], [[1, 2], [2, 1]]]), "std::set<std::set<long>>", "entry 1 has two equal items"),
        (pa.array([[[1, 1, 2], [1, 2, 1]]]), "std::set<std::multiset<long>>", "entry 0 has two equal items"),
        (
            pa.array([[{"a": [1, 2], "b": 1}, {"a": [2, 1], "b": 1}]]),
            "std::map<std::set<long>, long>",
            "entry 0 has two equal keys",
        ),
        (
            pa.array([[[("a", 1), ("b", 2)], [("b", 2), ("a", 1)]]], pa.list_(pa.map_(S, I32))),
            "std::set<std::map<std::string, int>>",
            "entry 0 has two equal items",
        ),
        (
            pa.array([[1, 2], [1]]),
            "std::array<long, 2>",
            "entry 1 has a list of 1 items, where the field has 2",
        ),
        (pa.array([1.0, 1e300]), "Double32_t", r"entry 1 has 1e\+?300, which no Double32_t"),
        (pa.array([[("a", 1), ("a", 2)]], pa.map_(S, I32)), "", "entry 0 has two equal keys"),
        (pa.array([1, None]), "std::int64_t", "where values may be missing: possible are std::optional<T>"),
        (pa.array(["a"]), "Color", "Color where texts are: possible are std::string"),
        (
            pa.array([{}]),
            "Empty",
            "Empty where structs without members or nulls are, .* possible are bool alone",
        ),
    ],
)
def test_what_a_type_does_not_hold_is_refused(
    values: pa.Array, asked: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(ar.ArrowrootError, match=told.replace("'std::list'", '"std::list"')):
        ar.write(
            f"{tmp_path}/a.root:t",
            pa.table({"x": values}),
            layout="rntuple",
            types={"x": asked} if asked else {},
        )
    assert list(tmp_path.iterdir()) == []


def test_types_of_what_is_not_there_are_refused(tmp_path: Path) -> None:
    for types, told in (({"z": "int"}, "no column is called 'z'"), ({"x.a": "int"}, 'has no part "a"')):
        with pytest.raises(ar.ArrowrootError, match=told):
            ar.write(f"{tmp_path}/a.root:t", {"x": [1]}, layout="rntuple", types=types)


def test_a_union_in_a_tree_says_what_to_do(tmp_path: Path) -> None:
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    with pytest.raises(ar.UnsupportedError, match="make a column of each of them, or write an RNTuple"):
        ar.write(f"{tmp_path}/a.root:t", pa.table({"x": union}))


def test_uproot_reads_what_was_asked_for(path: str) -> None:
    with uproot.open(path) as file:
        for name, (_, declared, kind, values) in zip(NAMES, CASES, strict=False):
            found = file["t"].arrays([name])[name].to_list()
            assert len(found) == len(values), declared
            if pa.types.is_primitive(kind) and None not in values:
                assert found == values, declared


def test_lists_in_lists_that_have_an_order_are_others_in_another_one(tmp_path: Path) -> None:
    for values, asked in (
        ([[[1, 2], [2, 1]]], "std::set<std::vector<long>>"),
        ([[[1, 1, 2], [1, 2, 2]]], "std::set<std::multiset<long>>"),
    ):
        ar.write(f"{tmp_path}/t.root:t", {"x": values}, layout="rntuple", types={"x": asked})
        with ar.open(tmp_path / "t.root") as file:
            assert file["t"].to_arrow()["x"].to_pylist() == values


@pytest.mark.parametrize("kind", ["list_view", "large_list_view", "dense", "sparse"])
def test_lists_of_views_and_in_unions_have_types_if_nothing_is_missing(kind: str, tmp_path: Path) -> None:
    lists = pa.array([[1, 2], [3]])
    if "view" in kind:
        # A null that no list has is none.
        values = pa.array([[None], [1, 2], [3]], getattr(pa, kind)(pa.int64()))[1:]
        lacking = pa.array([[1, None]], values.type)
        asked, expected = "std::set<long>", [[1, 2], [3]]
    else:
        pairs = pa.array([{"a": 1, "b": 2}, {"a": 3, "b": 4}])
        ids = pa.array([0, 1], pa.int8())
        values = (
            pa.UnionArray.from_dense(ids, pa.array([0, 1], pa.int32()), [lists, pairs])
            if kind == "dense"
            else pa.UnionArray.from_sparse(ids, [lists, pairs])
        )
        lacking = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([[1, None]]), pairs[:1]])
        asked, expected = "std::variant<std::set<long>,std::pair<long,long>>", [[1, 2], {"a": 3, "b": 4}]
    out = f"{tmp_path}/t.root:t"
    ar.write(out, pa.table({"x": values}), layout="rntuple", types={"x": asked})
    with ar.open(tmp_path / "t.root") as file:
        read = file["t"].to_arrow()["x"]
    assert (read.to_pylist(), read.type.id) == (expected, values.type.id)
    with pytest.raises(ar.InvalidRequestError, match="where values may be missing"):
        ar.write(out, pa.table({"x": lacking}), layout="rntuple", types={"x": asked})
    # What comes later lacks nothing either.
    if kind != "dense":
        batches = [pa.table({"x": values}), pa.table({"x": lacking})]
        with ar.create(tmp_path / "u.root") as file, file.tree("t", layout="rntuple") as table:
            table.append(batches[0])
            with pytest.raises(ar.InvalidRequestError, match="null"):
                table.append(batches[1])
