"""Columns that come up when a table has entries, and columns that stop: read by ROOT, uproot and arrowroot."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from tests.judge import root

from . import expected, late_with_root
from .late_cases import KINDS, triggers, weighted
from .readers import compared, plain
from .root_reading import read_all

LAYOUTS = ["ttree", "rntuple"]


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
