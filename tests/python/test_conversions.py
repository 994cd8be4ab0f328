"""What becomes of a table in NumPy, pandas and Awkward, where their types are not Arrow's."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot import UnsupportedError
from arrowroot._arrow.convert import to_awkward, to_numpy, to_pandas, to_polars

pd = pytest.importorskip("pandas")
pytest.importorskip("awkward")


def test_numbers_that_are_null_lose_nothing():
    wide = [2**53 + 1, None, 2**53 + 3]
    table = pa.table({"i": pa.array(wide, pa.int64()), "b": [True, None, False], "f": [1.5, None, 2.0]})
    frame = to_pandas(table)
    assert [str(kind) for kind in frame.dtypes] == ["Int64", "boolean", "float64"]
    assert frame["i"].to_list() == [2**53 + 1, pd.NA, 2**53 + 3]
    found = to_numpy(table)
    assert found["i"].dtype == np.int64
    assert found["i"].tolist() == wide
    assert found["b"].tolist() == [True, None, False]
    assert found["f"].tolist() == [1.5, None, 2.0]
    assert to_pandas(table, use_threads=False)["i"].to_list() == frame["i"].to_list()
    parts = pa.table({"i": pa.chunked_array([[1, 2], [None, 2**53 + 1]])})
    assert to_numpy(parts)["i"].tolist() == [1, 2, None, 2**53 + 1]


@pytest.fixture
def union():
    kinds = pa.array([0, 1, 0], pa.int8())
    return pa.UnionArray.from_sparse(kinds, [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])])


def test_variants_are_refused_by_name_where_polars_has_none(union):
    pytest.importorskip("polars")
    table = pa.table({"x": [1.0, 2.0, 3.0], "u": union})
    with pytest.raises(UnsupportedError, match=r"no variants; leave out 'u'"):
        to_polars(table)
    assert to_polars(table.select(["x"]))["x"].to_list() == [1.0, 2.0, 3.0]


def test_variants_become_objects_in_pandas(union):
    frame = to_pandas(pa.table({"x": [1.0, 2.0, 3.0], "u": union, "y": [4, 5, 6]}))
    assert frame.columns.to_list() == ["x", "u", "y"]
    assert frame["u"].to_list() == [1, "b", 3]
    assert to_pandas(pa.table({"u": union}))["u"].to_list() == [1, "b", 3]


def pairs_as_records(value):
    if isinstance(value, list):
        if value and isinstance(value[0], tuple):
            return [{"key": key, "value": pairs_as_records(item)} for key, item in value]
        return [pairs_as_records(item) for item in value]
    return {k: pairs_as_records(v) for k, v in value.items()} if isinstance(value, dict) else value


MAP = pa.map_(pa.string(), pa.map_(pa.int8(), pa.float32()))


@pytest.mark.parametrize(
    "array",
    [
        pa.array([[("a", [(1, 2.5)])], None, [("b", []), ("c", [(2, 1.0), (3, 4.0)])]], MAP),
        pa.array(
            [{"x": 1, "m": [("a", [(1, 2.0)])]}, None, {"x": 3, "m": []}],
            pa.struct([("x", pa.int8()), ("m", MAP)]),
        ),
        pa.array([[[("a", [(1, 2.0)])], []], None, [[], [("b", [])]]], pa.list_(MAP, 2)),
        pa.array(
            [[{"m": [("a", [])]}], None, [], [{"m": []}, {"m": [("q", [])]}]],
            pa.list_(pa.struct([("m", MAP)])),
        ),
        pa.array([[[("a", [(1, 2.0)])], []], None, [], [None, [("b", [])]]], pa.large_list(MAP)),
    ],
    ids=["map", "struct", "fixed", "list", "large list"],
)
def test_maps_anywhere_become_lists_of_pairs_in_awkward(array):
    nullable = pa.array(
        [{"x": 1}, None, {"x": 2}, None], pa.struct([pa.field("x", pa.int8(), nullable=False)])
    )
    for part in (slice(None), slice(1, None), slice(1, 3), slice(0, 0)):
        columns = {"m": array[part], "s": nullable[: len(array)][part]}
        found = to_awkward(pa.table(columns))
        assert found["m"].to_list() == pairs_as_records(array[part].to_pylist())
        assert found["s"].to_list() == columns["s"].to_pylist()


def test_many_columns_apart_do_not_scatter_a_frame(union):
    columns = {f"c{i}": pa.array([i, None, 2**53 + i]) for i in range(50)} | {
        f"u{i}": union for i in range(150)
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = to_pandas(pa.table({"x": [0.5, 1.5, 2.5], **columns}))
    assert frame.columns.to_list() == ["x", *columns]
    assert frame["c49"].to_list() == [49, pd.NA, 2**53 + 49]
    assert frame["u149"].to_list() == [1, "b", 3]
    assert to_pandas(pa.table(columns).slice(0, 0)).shape == (0, 200)


def test_slices_of_what_has_nulls_elsewhere_are_right_in_awkward():
    item = pa.struct([pa.field("x", pa.int8())])
    columns = {
        "number": pa.array([None, 1, 2, 3]),
        "text": pa.array([None, "a", "b", "c"]),
        "list": pa.array([None, [1], [2, 3], []]),
        "member": pa.array([{"x": None}, {"x": 1}, {"x": 2}, {"x": 3}], item),
    }
    for part in (slice(1, None), slice(2, 4), slice(0, 2), slice(3, 4)):
        found = to_awkward(pa.table(columns)[part])
        assert found.to_list() == pa.table(columns)[part].to_pylist(), part


def test_null_numbers_in_lists_lose_nothing_in_numpy():
    wide = [[2**53 + 1, None], [], [2**53 + 3]]
    found = to_numpy(pa.table({"v": pa.array(wide, pa.list_(pa.int64()))}))["v"]
    assert [one.tolist() for one in found] == wide
    fixed = to_numpy(pa.table({"a": pa.array([[2**53 + 1, None]], pa.list_(pa.int64(), 2))}))["a"]
    assert fixed.tolist() == [[2**53 + 1, None]]


def test_a_slice_with_a_step_may_be_empty():
    table = pa.table({"x": [1, 2, 3]})
    assert table[0:0:2].num_rows == 0
    assert table[::-2]["x"].to_pylist() == [3, 1]


def test_records_of_numbers_become_structured_arrays():
    inner = pa.struct([("x", pa.float32()), ("b", pa.bool_())])
    kind = pa.struct([("n", pa.int16()), ("in", inner), ("a", pa.list_(pa.list_(pa.int8(), 2), 3))])
    rows = [{"n": i, "in": {"x": i / 2, "b": i % 2 == 0}, "a": [[i, j] for j in range(3)]} for i in range(6)]
    whole = pa.array(rows, kind)
    for column in (pa.chunked_array([whole]), pa.chunked_array([whole.slice(0, 2), whole.slice(2)])):
        found = to_numpy(pa.table({"r": column}))["r"]
        assert found.dtype == [("n", "i2"), ("in", [("x", "f4"), ("b", "?")]), ("a", "i1", (3, 2))]
        assert found["n"].tolist() == [0, 1, 2, 3, 4, 5]
        assert found["in"]["b"].tolist() == [True, False] * 3
        assert found["a"].tolist() == [row["a"] for row in rows]
    part = to_numpy(pa.table({"r": whole.slice(3, 2)}))["r"]
    assert part["n"].tolist() == [3, 4]
    assert part["a"].tolist() == [row["a"] for row in rows[3:5]]
    assert part["in"]["x"].tolist() == [1.5, 2.0]
    lists = pa.array([[{"x": 1, "b": True}], [], None, [{"x": 2, "b": None}]], pa.list_(inner))
    first = to_numpy(pa.table({"r": lists.slice(0, 2)}))["r"]
    assert first[0].tolist() == [(1.0, True)]
    assert first[1].dtype == first[0].dtype
    assert to_numpy(pa.table({"r": pa.array([], kind)}))["r"].shape == (0,)


def test_records_with_nulls_become_masked_arrays():
    kind = pa.struct([("n", pa.int64()), ("a", pa.list_(pa.float64(), 2))])
    rows = [{"n": 2**53 + 1, "a": [1, 2]}, None, {"n": None, "a": [3, None]}, {"n": 4, "a": None}]
    found = to_numpy(pa.table({"r": pa.array(rows, kind)}))["r"]
    assert found["n"].tolist() == [2**53 + 1, None, None, 4]
    assert found["a"].tolist() == [[1, 2], [None, None], [3, None], [None, None]]
    parts = pa.chunked_array([pa.array(rows[:1], kind), pa.array(rows[1:], kind)])
    assert to_numpy(pa.table({"r": parts}))["r"]["n"].tolist() == found["n"].tolist()


@pytest.mark.parametrize(
    "number",
    [
        *(getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)),
        *(pa.float16(), pa.float32(), pa.float64(), pa.bool_()),
    ],
    ids=str,
)
def test_records_of_every_number_become_structured_arrays_with_sub_arrays(number):
    inner = pa.struct([("v", pa.list_(number, 2)), ("n", number)])
    kind = pa.struct(
        [
            ("n", number),
            ("x", pa.list_(number, 3)),
            ("m", pa.list_(pa.list_(number, 3), 2)),
            ("r", pa.list_(inner, 2)),
        ]
    )
    i, o = (np.float16(1), np.float16(0)) if pa.types.is_float16(number) else (True, False)
    if not (pa.types.is_boolean(number) or pa.types.is_float16(number)):
        i, o = 1, 0
    row = {
        "n": i,
        "x": [o, i, o],
        "m": [[i, o, i], [o, o, i]],
        "r": [{"v": [i, o], "n": i}, {"v": [o, i], "n": o}],
    }
    whole = pa.array([row, row, row], kind)
    for array, n in ((whole, 3), (whole.slice(1), 2)):
        found = to_numpy(pa.table({"r": array}))["r"]
        assert found.dtype.names == ("n", "x", "m", "r")
        assert [found[name].shape for name in found.dtype.names] == [(n,), (n, 3), (n, 2, 3), (n, 2)]
        assert found["m"][0].tolist() == row["m"]
        assert found["r"]["v"][0].tolist() == [one["v"] for one in row["r"]]
        assert found["x"].dtype == found["n"].dtype == found["r"]["n"].dtype


def test_arrays_of_fixed_shape_of_which_some_are_null_become_masked_arrays():
    kind = pa.list_(pa.float64(), 2)
    found = to_numpy(pa.table({"a": pa.array([[1, 2], None, [3, None]], kind)}))["a"]
    assert found.tolist() == [[1, 2], [None, None], [3, None]]


@pytest.mark.parametrize(
    "kind",
    [
        pa.struct([("t", pa.string()), ("n", pa.int8())]),
        pa.struct([("d", pa.float64()), ("t", pa.string())]),
        pa.struct([("l", pa.list_(pa.int8()))]),
        pa.struct([("", pa.int8())]),
        pa.struct([("x", pa.int8()), ("x", pa.int8())]),
        pa.struct([]),
    ],
)
def test_other_records_stay_objects(kind):
    array = pa.StructArray.from_buffers(kind, 1, [None], children=[pa.nulls(1, f.type) for f in kind])
    assert to_numpy(pa.table({"r": array}))["r"].dtype == object


@pytest.mark.parametrize(
    "index",
    [
        {"i": [1.5, 2.5, 3.5]},
        {"i": ["a", "b", "c"]},
        {"i": np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "datetime64[us]")},
        {"i": [3, 1, 2], "j": ["a", "a", "b"]},
        {None: ["a", "b", "c"]},
    ],
    ids=lambda index: "-".join(map(str, index)) + type(next(iter(index.values()))[0]).__name__,
)
def test_frames_with_an_index_come_back_though_some_numbers_are_missing(index, tmp_path):
    values = list(index.values())
    made = pd.MultiIndex.from_arrays(values) if len(values) > 1 else pd.Index(values[0])
    frame = pd.DataFrame(
        {"n": pd.array([1, None, 3], "Int64"), "x": [1.0, 2, 3]}, index=made.set_names(list(index))
    )
    ar.write(f"{tmp_path}/f.root:t", pa.Table.from_pandas(frame))
    tree = ar.open(tmp_path / "f.root")["t"]
    pd.testing.assert_frame_equal(tree.to_pandas(), frame, check_index_type=False)
    assert tree.scan().to_pandas(ignore_metadata=True).columns.tolist() == tree.column_names
    assert tree.to_pandas(["n"])["n"].tolist() == [1, pd.NA, 3]
    plain = frame.rename(columns={"n": 0, "x": 1})
    back = to_pandas(pa.Table.from_pandas(plain))
    pd.testing.assert_frame_equal(back, plain, check_index_type=False)


@pytest.mark.parametrize(
    "metadata",
    [
        "[" * 100_000,
        "{}",
        "[]",
        '{"index_columns": 3, "columns": 4}',
        '{"index_columns": ["x"], "columns": [], "column_indexes": []}',
    ],
    ids=lambda text: text[:40],
)
def test_metadata_of_pandas_that_are_none_are_told_and_left_out(tmp_path, metadata):
    table = pa.table({"x": [1.5, 2.5]}).replace_schema_metadata({"pandas": metadata})
    ar.write(f"{tmp_path}/f.root:t", table)
    with pytest.warns(ar.RecordedSchemaWarning, match=r"recorded metadata of pandas are not used"):
        frame = ar.open(tmp_path / "f.root")["t"].to_pandas()
    pd.testing.assert_frame_equal(frame, pd.DataFrame({"x": [1.5, 2.5]}))


def test_categories_that_came_later_stand_behind_those_of_the_first_frame(tmp_path):
    first = pd.DataFrame({"c": pd.Categorical(["b"], categories=["b", "z", "a"])})
    with ar.create(tmp_path / "f.root") as file, file.tree("t") as table:
        table.append(first)
        table.append(pd.DataFrame({"c": pd.Categorical(["new", "a"])}))
    back = ar.open(tmp_path / "f.root")["t"].to_pandas()["c"]
    assert back.tolist() == ["b", "new", "a"]
    assert back.cat.categories.tolist() == ["b", "z", "a", "new"]


@pytest.mark.parametrize("kind", [pa.time64("ns"), pa.list_(pa.time64("ns"))], ids=str)
def test_a_column_that_a_library_cannot_hold_is_named(kind):
    values = [1, 2**40 + 1]
    table = pa.table({"x": [1.5], "t": pa.array([values if pa.types.is_list(kind) else values[0]], kind)})
    for convert in (to_numpy, to_pandas):
        with pytest.raises(
            UnsupportedError,
            match=rf"{convert.__name__}\(\) cannot hold column 't' of type .*nanoseconds; leave it",
        ):
            convert(table)
    decimals = pa.table({"x": [1.5], "d": pa.array([None], pa.decimal128(5, 2))})
    with pytest.raises(UnsupportedError, match=r"to_awkward\(\) cannot hold column 'd' of type decimal128"):
        to_awkward(decimals)
    # What a user's own option refuses is not for the column.
    with pytest.raises(pa.ArrowInvalid, match="zero copy"):
        to_pandas(pa.table({"s": ["a"]}), zero_copy_only=True)
