"""The 51 cases of root-project/rntuple-validation, written by ROOT with values of our own, are read back equal."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot.cli import main
from tests.robustness.mutations import find_regions

from .compare import assert_same_values, values_of, written
from .with_root_ntuples import write_classes

TWO = ["fundamental", "nested"]
COMPILED = ["set", "multiset", "unordered_set", "unordered_multiset",
            "map", "multimap", "unordered_map", "unordered_multimap"]  # fmt: skip
TYPES = ["array", "atomic", "bitset", "optional", "pair", "string", "tuple", "unique_ptr", "user.class", "user.enum",
         "variant", *(f"fundamental.{kind}" for kind in ("integer", "misc", "real", "real32quant", "real32trunc")),
         *(f"{kind}.{depth}" for kind in ("vector", "RVec", *COMPILED) for depth in TWO)]  # fmt: skip
CASES = [
    *(f"compression.algorithms.{name}" for name in ("zlib", "lzma", "lz4", "zstd")),
    "compression.block.short",
    *(f"projections.{name}" for name in ("cardinality", "collection", "leaf", "nested")),
    *(f"structure.{name}" for name in ("empty", "clusters", "cluster_groups")),
    *(f"types.{name}" for name in TYPES),
]
#: Those with a test of their own.
APART = ["compression.block.big", "structure.attributes", "structure.feature_flag"]
N_CASES = 51
#: The type of a page list's envelope.
PAGE_LIST = 3
INDEXES = ["Index32", "Index64", "SplitIndex32", "SplitIndex64"]


files = written(write_classes)


def projected(name: str, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """What the projected fields of a case show of the others."""
    match name:
        case "projections.cardinality":
            return {f"{index}Cardinality": [len(entry) for entry in columns[index]] for index in INDEXES}
        case "projections.collection":
            return {"Projected": columns["Vector"]}
        case "projections.leaf":
            return {
                "Int32": [pair[0] for pair in columns["Pair"]],
                "Float": [pair[1] for pair in columns["Pair"]],
            }
        case "projections.nested":
            parts = [[[pair[part] for pair in entry] for entry in columns["VectorPair"]] for part in (0, 1)]
            return {"VectorInt": parts[0], "VectorFloat": parts[1]}
    return {}


def test_no_case_is_forgotten():
    assert len({*CASES, *APART}) == len(CASES) + len(APART) == N_CASES


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_read_as_it_was_written(files, name):
    path = files / f"{name}.root"
    if name.split(".")[1] in COMPILED and not path.exists():
        pytest.skip("no compiler for dictionaries: ROOT does not write maps and sets")
    expected = json.loads(path.with_suffix(".root.json").read_text())
    wanted = expected["columns"] | projected(name, expected["columns"])
    tree = ar.open(path)["ntpl"]
    assert tree.num_entries == expected["n_entries"]
    assert set(tree.column_names) == set(wanted)
    table = pa.table(tree.to_arrow())
    table.validate(full=True)
    for column, values in wanted.items():
        assert_same_values(values_of(table, column), values, f"{name}: {column}")


def test_a_page_of_several_compression_blocks_is_read(files):
    tree = ar.open(files / "compression.block.big.root")["ntpl"]
    values = tree.to_numpy(["Int64"])["Int64"]
    assert np.array_equal(values, np.arange((40 << 20) // 8) * 7)
    # Of the last of its blocks alone.
    assert tree.to_numpy(["Int64"], entries=slice(-3, None))["Int64"].tolist() == values[-3:].tolist()


def test_attribute_sets_are_read_as_trees(files):
    tree = ar.open(files / "structure.attributes.root")["ntpl"]
    assert tree.attribute_sets == ["Attributes"]
    attributes = tree.attribute_set("Attributes")
    assert attributes.num_entries == 3
    table = pa.table(attributes.to_arrow()).to_pydict()
    assert table == {
        "_rangeStart": [0, 1, 3],
        "_rangeLen": [1, 2, 3],
        "_userData": [{"text": f"range {i}", "numbers": [0.5 * i] * i} for i in range(3)],
    }
    ranges = zip(table["_rangeStart"], table["_rangeLen"], strict=True)
    numbers = [
        tree.to_numpy(["Int32"], entries=slice(start, start + n))["Int32"].tolist() for start, n in ranges
    ]
    assert numbers == [[0], [10, 11], [20, 21, 22]]
    with pytest.raises(ar.NotFoundError, match='no attribute set "Atributes"; did you mean Attributes'):
        tree.attribute_set("Atributes")


def test_only_the_page_lists_of_what_is_read_are_looked_at(files, tmp_path):
    """Choosing columns by name or pattern needs none, whatever they would tell of sizes."""
    whole = (files / "structure.cluster_groups.root").read_bytes()
    expected = ar.open(files / "structure.cluster_groups.root")["ntpl"].to_numpy()["Int32"][:2].tolist()
    page_lists = [start for start, _ in find_regions(whole).envelopes if whole[start] == PAGE_LIST]
    assert len(page_lists) > 2
    damaged = bytearray(whole)
    damaged[page_lists[-1] + 16] ^= 0xFF
    path = tmp_path / "damaged.root"
    path.write_bytes(damaged)
    tree = ar.open(path)["ntpl"]
    for chosen in ({"columns": ["Int32"]}, {"columns": ["Int*"]}, {"filter_name": "Int*"}, {}):
        assert tree.to_numpy(**chosen, entries=slice(0, 2))["Int32"].tolist() == expected
    with pytest.raises(ar.ArrowrootError, match="page list"):
        _ = tree.branches[0].stored_bytes
    with pytest.raises(ar.ArrowrootError, match="page list"):
        tree.to_numpy(["Int32"])


def test_members_are_listed_under_their_field_and_counted_once(files, capsys):
    path = files / "types.user.class.root"
    assert main(["ls", "--long", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("format 1.0.") and "ROOT" in line for line in lines)
    header, *rows = [line.split() for line in lines if line.startswith(("field", "f ", "  list", "total"))]
    assert header[0] == "field"
    assert "pages" in header
    assert header[-1] == "encoding"
    assert rows[1][0] == "list"
    assert rows[1][-2:] == ["Index64,", "Int32"]
    assert rows[-1][:3] == ["total:", "2", "columns"]
    tree = ar.open(path)["ntpl"]
    assert sum(column.stored_bytes for column in tree.columns) == tree.stored_bytes
    assert main(["ls", str(files / "structure.attributes.root")]) == 0
    assert "attribute sets: Attributes" in capsys.readouterr().out


def test_an_unknown_feature_flag_is_refused_by_its_number(files):
    with pytest.raises(ar.UnsupportedError, match="feature flag 100"):
        ar.open(files / "structure.feature_flag.root")["ntpl"]


def streamed(number: int) -> dict[str, Any]:
    part = {"n": number, "weights": [0.5 * number] * (number % 4)}
    return {"id": number, "text": f"text {number}", "parts": [part] * (number % 3),
            "last": {"n": -number, "weights": []}}  # fmt: skip


def test_objects_of_streamers_become_structs(files):
    tree = ar.open(files / "streamed.root")["ntpl"]
    wanted = {
        "object": [streamed(i) for i in range(30)],
        "named": [
            {"fUniqueID": 0, "fBits": named["fBits"], "fName": f"name {i}", "fTitle": "title"}
            for i, named in enumerate(pa.table(tree.to_arrow(["named"])).column(0).to_pylist())
        ],
    }
    for entries in (slice(0, 30), slice(5, 21)):
        table = pa.table(tree.to_arrow(entries=entries))
        table.validate(full=True)
        assert table.to_pydict() == {name: values[entries] for name, values in wanted.items()}


def test_a_structure_of_arrays_is_a_list_of_structs(files):
    tree = ar.open(files / "soa.root")["ntpl"]
    table = pa.table(tree.to_arrow(["points", "points.c"]))
    points = [[{"x": i + 0.5 * k, "c": 10 * i + k} for k in range(i % 4)] for i in range(20)]
    assert table["points"].to_pylist() == points
    assert table["points.c"].to_pylist() == [[point["c"] for point in entry] for entry in points]


def test_representations_take_turns(files):
    tree = ar.open(files / "representations.root")["ntpl"]
    wanted = {
        "number": [0.5 * i for i in range(40)],
        "list": [[-i] * (i % 3) for i in range(40)],
        "text": [chr(ord("a") + i % 26) * (i % 5) for i in range(40)],
    }
    assert pa.table(tree.to_arrow()).to_pydict() == wanted
    assert pa.table(tree.to_arrow(entries=slice(4, 27))).to_pydict() == {
        k: v[4:27] for k, v in wanted.items()
    }
