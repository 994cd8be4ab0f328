"""C++ types that were asked for are those of copies, also of columns that the Arrow schema calls nullable."""

from __future__ import annotations

import pyarrow as pa
import pytest

import arrowroot as ar
from tests.command import run_here as run
from tests.judge import root

from . import field_types_with_root

RECORD = pa.struct([("m", pa.int32()), ("s", pa.list_(pa.int16()))])
TYPES = {
    "x.m": "std::atomic<std::int32_t>",
    "x.s": "std::set<std::int16_t>",
    "y": "std::vector<std::set<std::int32_t>>",
    "b": "std::array<std::bitset<5>,2>",
    "c": "Derived{Base{m}}",
    "e": "Color",
    "q": "std::optional<ROOT::VecOps::RVec<std::byte>>",
}


@pytest.mark.parametrize("lists", [pa.list_, pa.large_list, pa.list_view, pa.large_list_view])
def test_copies_have_the_types_that_were_asked_for(tmp_path, lists):
    records = [[{"m": 1, "s": [1, 2]}], [], [{"m": 2, "s": []}]]
    table = pa.table({
        "n": [1, 2, 3],
        "x": pa.array(records, lists(RECORD)),
        "y": pa.array([[[1]], [], [[2], []]], lists(lists(pa.int32()))),
        "b": pa.array([[[True, False, True, False, True]] * 2] * 3, pa.list_(pa.list_(pa.bool_(), 5), 2)),
        "c": pa.array([one[0] if one else {"m": 3, "s": [4]} for one in records], RECORD),
        "e": pa.array([7, 0, 1], pa.int32()),
        "q": pa.array([b"ab", None, b""]),
    })  # fmt: skip
    given, parquet = tmp_path / "given.root", tmp_path / "t.parquet"
    ar.write(f"{given}:t", table, layout="rntuple", types=TYPES)
    copies = {name: tmp_path / f"{name}.root" for name in ("skim", "picked", "tree", "parquet")}
    ar.skim(given, copies["skim"])
    ar.skim(given, copies["picked"], filter="n > 0")
    with ar.open(given) as file:
        ar.write(f"{copies['tree']}:t", file["t"], layout="rntuple")
        types = file["t"].asked_types()
    assert run("convert", f"{given}:t", str(parquet)).returncode == 0
    assert run("convert", str(parquet), f"{copies['parquet']}:t", "--layout", "rntuple").returncode == 0
    assert {name: types[name] for name in TYPES if name != "c"} == {
        name: text for name, text in TYPES.items() if name != "c"
    }
    assert types["c"].startswith("Derived#")
    for name, copy in copies.items():
        with ar.open(copy) as file:
            assert file["t"].asked_types() == types, name
            read = file["t"].to_arrow()
        assert read.to_pylist() == table.to_pylist(), name
        if name != "parquet":  # which has no views, and calls items otherwise
            assert read.schema.equals(table.schema), name


CLASS = pa.struct([("m", pa.int32()), ("s", pa.list_(pa.int16()))])
PAIR = pa.struct([("first", CLASS), ("second", pa.struct([("m", pa.int32()), ("k", pa.float64())]))])
OF_CLASS = {"m": 1, "s": [1, 2]}
OF_PAIR = {"first": OF_CLASS, "second": {"m": 2, "k": 1.5}}
#: Classes in what has no names of members in C++: types, the column, and what ROOT calls fields that are asked for.
INSIDE = {
    "pair": (
        {"x": "std::pair<A,B>", "x.first.m": "Color", "x.first.s": "std::set<short>", "x.second.k": "Double32_t"},
        PAIR, OF_PAIR, {"x._0.m": "Color", "x._0.s": "std::set<std::int16_t>", "x._1.m": "std::int32_t"},
    ),
    "pairs": (
        {"x": "std::vector<std::pair<A,B>>", "x.second.m": "Color"},
        pa.list_(PAIR), [OF_PAIR] * 2, {"x._0._0.m": "std::int32_t", "x._0._1.m": "Color"},
    ),
    "tuple of pairs": (
        {"x": "std::tuple<std::pair<A,B>,std::pair<A,B>>", "x.b.first.m": "Color", "x.a.first.m": "Color"},
        pa.struct([("a", PAIR), ("b", PAIR)]), {"a": OF_PAIR, "b": OF_PAIR},
        {"x._0._0.m": "Color", "x._1._0.m": "Color", "x._1._1.m": "std::int32_t"},
    ),
    "pair in a class": (
        {"x": "Outer", "x.p": "std::pair<A,B>", "x.p.first.m": "Color"},
        pa.struct([("p", PAIR)]), {"p": OF_PAIR}, {"x.p._0.m": "Color", "x.p._1.m": "std::int32_t"},
    ),
    "map": (
        {"x": "std::map<std::string,A>", "x.value.s": "std::set<short>"},
        pa.map_(pa.string(), CLASS), [("k", OF_CLASS)], {"x._0._1.s": "std::set<std::int16_t>"},
    ),
    "map without a type": (
        {"x.value.s": "std::set<short>", "x.value.m": "Color"},
        pa.map_(pa.string(), CLASS), [("k", OF_CLASS)], {"x._0.value.s": "std::set<std::int16_t>"},
    ),
    "pairs as a map": (
        {"x": "std::multimap<A,B>", "x.second.m": "Color"},
        pa.list_(PAIR), [OF_PAIR] * 2, {"x._0._0.m": "std::int32_t", "x._0._1.m": "Color"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INSIDE)
def test_members_of_classes_in_pairs_tuples_and_maps_have_paths_of_their_own(tmp_path, name):
    types, kind, value, by_root = INSIDE[name]
    paths = [tmp_path / f"{one}.root" for one in ("given", "skim", "tree", "parquet")]
    given, skim, tree, parquet = paths
    table = pa.table({"x": pa.array([value] * 3, kind)})
    ar.write(f"{given}:t", table, layout="rntuple", types=types)
    ar.skim(given, skim, compression="lz4")
    with ar.open(given) as file:
        ar.write(f"{tree}:t", file["t"], layout="rntuple")
    assert run("convert", f"{given}:t", f"{tmp_path}/t.parquet").returncode == 0
    assert run("convert", f"{tmp_path}/t.parquet", f"{parquet}:t", "--layout", "rntuple").returncode == 0
    found = root.run(field_types_with_root.described, tmp_path, [str(path) for path in paths])
    assert by_root.items() <= found[0].items()
    assert found == [found[0]] * 4
    for path in paths:
        with ar.open(path) as file:
            assert file["t"].to_arrow().to_pylist() == table.to_pylist()


def test_a_path_of_a_pair_names_its_member(tmp_path):
    table = pa.table({"x": pa.array([OF_PAIR], PAIR)})
    with pytest.raises(ar.InvalidRequestError, match='it has no part "m" whose type may be said'):
        ar.write(
            f"{tmp_path}/t.root:t", table, layout="rntuple", types={"x": "std::pair<A,B>", "x.m": "Color"}
        )
