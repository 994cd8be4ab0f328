"""C++ types that were asked for are those of copies, also of columns that the Arrow schema calls nullable."""

from __future__ import annotations

import pyarrow as pa
import pytest

import arrowroot as ar
from tests.command import run_here as run

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
