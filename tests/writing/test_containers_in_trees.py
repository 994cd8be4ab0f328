"""Containers of the standard library as branches of trees: maps by themselves, others that are asked for."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from arrowroot._writing import notes
from tests.command import run_here as run
from tests.judge import root
from tests.tables import required

from . import containers_with_root, field_types_with_root

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")

I32, I64, F, D, S = pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string()


def lists(kind: pa.DataType) -> pa.DataType:
    return pa.list_(required(kind))


def maps(key: pa.DataType, value: pa.DataType) -> pa.DataType:
    return pa.map_(key, required(value, "value"))


_words = [[("a", 2), ("b", 1)], [], [("c", 5)]]
_numbers = [[(1, 0.5), (7, 1.5)], [], [(3, 0.0)]]
#: What is asked for ("": nothing is), the type that C++ reads, the type of Arrow, and three values.
CASES: list[tuple[str, str, pa.DataType, list[Any]]] = [
    ("", "std::map<std::string,std::int32_t>", maps(S, I32), _words),
    ("", "std::map<std::string,std::int64_t>", maps(S, I64), _words),
    ("", "std::map<std::string,std::string>", maps(S, S), [[("a", ""), ("b", "z" * 300)], [], [("", "c")]]),
    ("", "std::map<double,float>", maps(D, F), _numbers),
    ("std::map<int, float>", "std::map<std::int32_t,float>", maps(I32, F), _numbers),
    ("std::map<int, double>", "std::map<std::int32_t,double>", maps(I32, D), _numbers),
    (
        "std::map<int, std::string>",
        "std::map<std::int32_t,std::string>",
        maps(I32, S),
        [[(1, ""), (2, "z" * 300)], [], [(3, "c")]],
    ),
    (
        "std::map<std::string, std::vector<float>>",
        "std::map<std::string,std::vector<float>>",
        maps(S, lists(F)),
        [[("a", [1.5, 2.5]), ("b", [])], [], [("", [0.5])]],
    ),
    (
        "std::vector<std::map<std::string, std::vector<std::int64_t>>>",
        "std::vector<std::map<std::string,std::vector<std::int64_t>>>",
        lists(maps(S, lists(I64))),
        [[[("a", [1, 2]), ("b", [])], []], [], [[("", [7])]]],
    ),
    ("std::unordered_map<int, float>", "std::unordered_map<std::int32_t,float>", maps(I32, F), _numbers),
    (
        "multimap<int, short>",
        "std::multimap<std::int32_t,short>",
        maps(I32, pa.int16()),
        [[(1, 2), (1, 3)], [], []],
    ),
    (
        "std::vector<std::map<int, float>>",
        "std::vector<std::map<std::int32_t,float>>",
        lists(maps(I32, F)),
        [[_numbers[0], []], [], _numbers[1:]],
    ),
    ("std::set<int>", "std::set<std::int32_t>", lists(I32), [[1, 2], [], [7]]),
    ("std::set<std::string>", "std::set<std::string>", lists(S), [["", "b"], [], ["a"]]),
    ("std::multiset<float>", "std::multiset<float>", lists(F), [[0.5, 0.5], [], [1.5]]),
    ("std::unordered_set<std::int64_t>", "std::unordered_set<std::int64_t>", lists(I64), [[1, 2], [], [7]]),
    (
        "std::vector<std::set<int>>",
        "std::vector<std::set<std::int32_t>>",
        lists(lists(I32)),
        [[[1], []], [], [[2]]],
    ),
    ("ROOT::RVec<double>", "ROOT::RVec<double>", lists(D), [[1.5, 0.5], [], [7.0]]),
    ("std::vector<std::uint8_t>", "std::vector<std::uint8_t>", pa.binary(), [b"\x01\xff", b"", b"a"]),
]
NAMES = [f"c{number}" for number in range(len(CASES))]
DECLARED = [declared for _, declared, _, _ in CASES]
#: Types of which ROOT has no dictionaries.
LINKED = sorted({found for one in DECLARED for found in re.findall(r"std::[a-z_]*(?:map|set)<[^<>]*>", one)})
LINKED += [one for one in DECLARED if one.count("<") > 1]
#: Containers that uproot 5.7 has no class of; of vectors of maps it reads none with an empty map.
NOT_OF_UPROOT = ("unordered", "multi", "RVec", "vector<std::map")


def root_name(declared: str) -> str:
    for one, other in (("std::int32_t", "int"), ("std::int64_t", "long"), ("std::", "")):
        declared = declared.replace(one, other)
    return declared


@pytest.fixture(scope="module")
def table() -> pa.Table:
    fields = [
        required(D, "n"),
        *(required(kind, name) for name, (_, _, kind, _) in zip(NAMES, CASES, strict=True)),
    ]
    arrays = [pa.array([1.0, 2.0, 4.0]), *(pa.array(values, kind) for _, _, kind, values in CASES)]
    return pa.table(arrays, schema=pa.schema(fields))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, table: pa.Table) -> str:
    types = {name: asked for name, (asked, *_) in zip(NAMES, CASES, strict=True) if asked}
    path = str(tmp_path_factory.mktemp("containers") / "a.root")
    ar.write(f"{path}:t", table, types=types)
    return path


def test_root_reads_each_container_as_it_was_asked_for(path: str, tmp_path: Path) -> None:
    code = field_types_with_root.source(
        list(dict.fromkeys(DECLARED)), [f"class {one}+" for one in LINKED], of="branch"
    )
    fields = list(zip(NAMES, DECLARED, strict=True))
    found = root.run(field_types_with_root.read, tmp_path, code, path, fields)
    for name, (_, declared, kind, values) in zip(NAMES, CASES, strict=True):
        shown = [list(one) if isinstance(one, bytes) else one for one in values]
        assert json.loads(found[name]) == json.loads(json.dumps(shown)), (declared, str(kind), found[name])
    assert found["sum"] == 7.0


def test_root_reads_maps_that_nobody_asked_for_without_a_dictionary(path: str, tmp_path: Path) -> None:
    found = root.run(containers_with_root.read, tmp_path, path, NAMES[3])
    assert found == {"drawn": [[1.0, 7.0, 3.0], [0.5, 1.5, 0.0]], "sum": 13.0}


def test_baskets_and_descriptions_are_those_of_root(path: str, tmp_path: Path) -> None:
    wanted = {
        "map<string,int>", "map<string,long>", "map<string,string>", "map<double,float>", "set<int>", "set<string>",
    }  # fmt: skip
    in_root = {name: root_name(declared) for name, declared in zip(NAMES, DECLARED, strict=True)}
    columns = {
        name: (in_root[name], case[3])
        for name, case in zip(NAMES, CASES, strict=True)
        if in_root[name] in wanted
    }
    kinds = {name: kind for name, (kind, _) in columns.items()}
    assert set(kinds.values()) == wanted
    root.run(containers_with_root.write, tmp_path, f"{tmp_path}/root.root", columns)
    with uproot.open(path) as ours, uproot.open(f"{tmp_path}/root.root") as theirs:
        for name, kind in kinds.items():
            one, other = ours["t"][name], theirs["t"][name]
            assert bytes(one.basket(0).data) == bytes(other.basket(0).data), kind
            assert one.classname == other.classname == "TBranchElement"
            for member in (
                "fClassName",
                "fCheckSum",
                "fClassVersion",
                "fType",
                "fID",
                "fStreamerType",
                "fTitle",
                "@fBits",
            ):
                assert one.member(member, none_if_missing=True) == other.member(
                    member, none_if_missing=True
                ), member
        for pair in ("pair<string,int>", "pair<string,string>", "pair<double,float>"):
            infos = [file.file.streamer_named(pair) for file in (ours, theirs)]
            found = [
                (
                    info.member("fCheckSum"),
                    info.class_version,
                    [(one.name, one.typename) for one in info.elements],
                )
                for info in infos
            ]
            assert found[0] == found[1]


def test_uproot_reads_maps_and_sets(path: str, table: pa.Table) -> None:
    with uproot.open(path) as file:
        for name, (asked, declared, _, _) in zip(NAMES, CASES, strict=True):
            if not any(one in asked for one in NOT_OF_UPROOT):
                found = [list(one) for one in file["t"][name].array().to_list()]
                assert found == [list(one) for one in table[name].to_pylist()], declared


def test_every_container_comes_back_and_is_kept(path: str, table: pa.Table, tmp_path: Path) -> None:
    with ar.open(path) as file:
        ar.write(f"{tmp_path}/again.root:t", file["t"])
        names = {branch.path: branch.type_name for branch in file["t"].branches}
    assert [names[name] for name in NAMES[:2]] == ["map<string,int>", "map<string,long>"]
    for command in (
        ["skim", path, f"{tmp_path}/skimmed.root"],
        ["merge", f"{tmp_path}/merged.root", path, path],
        ["merge", f"{tmp_path}/rebasketed.root", path, path, "--rebasket"],
        ["convert", path, f"{tmp_path}/a.parquet"],
        ["convert", f"{tmp_path}/a.parquet", f"{tmp_path}/converted.root"],
    ):
        assert run(*command).returncode == 0
    twice = pa.concat_tables([table, table])
    for copy, of in (
        (path, table),
        (f"{tmp_path}/again.root", table),
        (f"{tmp_path}/skimmed.root", table),
        (f"{tmp_path}/converted.root", table),
        (f"{tmp_path}/merged.root", twice),
        (f"{tmp_path}/rebasketed.root", twice),
    ):
        with ar.open(copy) as file:
            tree = file[file.trees[0]]
            read = tree.to_arrow()
            found = {branch.path: branch.type_name for branch in tree.branches}
        assert read.schema.equals(of.schema)
        assert read.equals(of)
        # A vector that was asked for is an array that is counted.
        assert {name: found[name] for name in NAMES[:-1]} == {name: names[name] for name in NAMES[:-1]}


def test_maps_are_lists_of_keys_and_values_where_root_has_no_dictionary(tmp_path: Path) -> None:
    kind = pa.map_(S, I32)
    columns = {
        "of_int": pa.array([[(1, 0.5)]], maps(I32, F)),
        "in_list": pa.array([[[("a", 1)]]], lists(maps(S, I32))),
        "may_lack": pa.array([[("a", None)]], kind),
        "in_struct": pa.array([{"m": [("a", 1)]}], pa.struct([required(maps(S, I32), "m")])),
        "nullable": pa.array([[("a", 1)], None], maps(S, I32))[1:],
    }
    ar.write(f"{tmp_path}/a.root:t", pa.table(columns))
    with uproot.open(f"{tmp_path}/a.root") as file:
        branches = set(file["t"].keys())
    listed = {f"{name}_{part}" for name in ("of_int", "in_list", "may_lack") for part in ("key", "value")}
    assert branches == listed | {
        "nof_int", "nmay_lack", "may_lack_value_isvalid", "in_struct_m", "nullable", "nullable_isvalid",
    }  # fmt: skip
    with ar.open(f"{tmp_path}/a.root") as file:
        assert file["t"].to_arrow().to_pylist() == pa.table(columns).to_pylist()


def test_many_maps_in_many_baskets_come_back_with_each_codec(tmp_path: Path) -> None:
    n = 100_000
    ends = np.concatenate([[0], np.cumsum(np.arange(n) % 4)]).astype(np.int32)
    numbers = np.arange(ends[-1], dtype=np.float64)
    keys = numbers.astype(np.int64)
    texts = np.char.add("k", keys.astype(str))
    of_lists = pa.ListArray.from_arrays(np.arange(ends[-1] + 1, dtype=np.int32), numbers.astype(np.float32))

    def of(kind: pa.MapType, keys: Any, values: Any, nulls: Any = None) -> pa.Array:
        return pa.MapArray.from_arrays(ends, pa.array(keys), pa.array(values), type=kind, mask=nulls)

    codecs = {"zlib": "zlib:1", "lzma": "lzma:1", "zstd": "zstd:1", "lz4": "lz4:1", "none": None}
    columns = {name: of(maps(S, D), texts, numbers) for name in codecs}
    columns["numbers"] = of(maps(I64, D), keys, numbers)
    # A map that is missing is empty.
    columns["nullable"] = of(maps(I64, D), keys, numbers, pa.array(np.arange(n) % 4 == 0))
    columns["lists"] = of(maps(S, lists(F)), texts, of_lists.cast(lists(F)))
    fields = [pa.field(name, array.type, nullable=name == "nullable") for name, array in columns.items()]
    table = pa.table(list(columns.values()), schema=pa.schema(fields))
    path = f"{tmp_path}/a.root"
    layout = ar.Layout("ttree", basket_size=32_000)
    types = {"lists": "std::map<std::string, std::vector<float>>"}
    ar.write(f"{path}:t", table, layout=layout, types=types, compression={**codecs, "*": "zstd:1"})
    with ar.open(path) as file:
        assert file["t"].to_arrow().equals(table)
        assert min(branch.n_baskets for branch in file["t"].branches if branch.path in columns) > 5
    of_root = [*codecs, "numbers", "nullable"]
    assert root.run(containers_with_root.sums, tmp_path, path, of_root) == [numbers.sum()] * len(of_root)


def test_maps_of_former_versions_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The record of the schema is one that nobody may write.
    monkeypatch.setattr(notes, "SCHEMA_RECORD", "another")
    schema = pa.schema([required(maps(S, I32), "m"), required(I32, "n")])
    record = base64.b64encode(schema.serialize()).decode()
    branches = {"m_key": pa.array([["a", "b"], []], lists(S)), "m_value": pa.array([[1, 2], []], lists(I32))}
    fields = [required(array.type, name) for name, array in branches.items()]
    old = pa.table(
        [*branches.values(), pa.array([1, 2], I32)], schema=pa.schema([*fields, required(I32, "n")])
    )
    with ar.create(f"{tmp_path}/a.root") as file, file.tree("t", user_info={"ARROW:schema": record}) as tree:
        tree.append(old)
    with ar.open(f"{tmp_path}/a.root") as file:
        read = file["t"].to_arrow()
    assert read.schema.equals(schema)
    assert read["m"].to_pylist() == [[("a", 1), ("b", 2)], []]


@pytest.mark.parametrize(
    ("values", "options", "told"),
    [
        (
            pa.array([[("a", 1)], [("a", 1), ("a", 2)]], maps(S, I32)),
            {},
            "entry 1 has two equal keys, .*multimap",
        ),
        (
            pa.array([{"m": [("a", 1), ("a", 2)]}], pa.struct([required(maps(S, I32), "m")])),
            {},
            "entry 0 has two equal keys",
        ),
        (
            pa.array([[(1, 1), (1, 2)]], maps(I32, I32)),
            {"types": {"x": "std::map<int, int>"}},
            "two equal keys",
        ),
        (pa.array([[1, 2], None, [3, 3]]), {"types": {"x": "std::set<long>"}}, "entry 2 has two equal items"),
        (
            pa.array([[[("a", 1)]], [[("a", 1)], [("b", 1), ("b", 2)]]], lists(maps(S, I32))),
            {"types": {"x": "std::vector<std::map<std::string, int>>"}},
            "entry 1 has two equal keys",
        ),
        (pa.array([[1.5], [float("nan"), 1.0]]), {"types": {"x": "std::set<double>"}}, "entry 1 has a NaN"),
        (
            pa.array([[1]]),
            {"types": {"x": "std::bitset<1>"}},
            "where lists are: possible are std::vector<T>, ROOT",
        ),
        (
            pa.array([[1]]),
            {"types": {"x": "std::set<int>"}},
            "where lists are in a tree|where lists are: possible",
        ),
        (pa.array([1]), {"types": {"x": "int"}}, "where std::int64_t is: possible is std::int64_t"),
        (pa.array([1]), {"types": {"x": "Double32_t"}}, "where std::int64_t is: possible is std::int64_t"),
        (pa.array(["a"]), {"types": {"x": "std::string"}}, "texts are: they are characters"),
        (pa.array([{"a": 1}]), {"types": {"x.a": "long"}}, "a tree has types of columns"),
        (
            pa.array([[1.5]]),
            {"types": {"x": "std::set<Double32_t>"}, "precision": {"x": "Double32"}},
            "may be equal with precision",
        ),
    ],
)
def test_what_a_container_does_not_hold_is_refused(
    values: pa.Array, options: dict[str, Any], told: str, tmp_path: Path
) -> None:
    precision = options.get("precision")
    layout = ar.Layout("ttree", precision=precision) if precision else "ttree"
    with pytest.raises(ar.ArrowrootError, match=told):
        ar.write(
            f"{tmp_path}/a.root:t", pa.table({"x": values}), layout=layout, types=options.get("types", {})
        )
    assert list(tmp_path.iterdir()) == []


def test_maps_that_root_may_have_no_dictionary_of_are_told(tmp_path: Path) -> None:
    given = pa.table({"x": pa.array(_numbers, maps(I32, F))})
    with pytest.warns(
        ar.FewReadersWarning, match="'x': maps whose types are asked for: of those without a dictionary"
    ):
        ar.write(f"{tmp_path}/a.root:t", given, types={"x": "std::map<int, float>"})


def test_packed_numbers_are_asked_for_by_their_types(tmp_path: Path) -> None:
    fields = [required(D, "d"), required(F, "f"), required(lists(D), "v")]
    given = pa.table(
        [pa.array([2.5]), pa.array([0.5], F), pa.array([[0.5]], lists(D))], schema=pa.schema(fields)
    )
    types = {"d": "Double32_t[0,10,12]", "f": "Float16_t", "v": "std::vector<Double32_t>"}
    ar.write(f"{tmp_path}/a.root:t", given, types=types)
    with uproot.open(f"{tmp_path}/a.root") as file:
        branches = [file["t"][name] for name in given.column_names]
        assert [branch.title for branch in branches] == ["d/d[0,10,12]", "f/f", "v"]
        assert branches[2].member("fClassName") == "vector<Double32_t>"
        assert [leaf.classname for branch in branches for leaf in branch.member("fLeaves")] == [
            "TLeafD32", "TLeafF16", "TLeafElement",
        ]  # fmt: skip
    with ar.open(f"{tmp_path}/a.root") as file:
        assert file["t"].to_arrow().equals(given)
