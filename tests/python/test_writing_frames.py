"""Frames and series of pandas are written with their index, which comes back; damaged ones are refused."""

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar

from .test_writing_data import table_of

pd = pytest.importorskip("pandas")


def indices():
    """Indices of three entries, by what they are."""
    return {
        "plain": pd.RangeIndex(3),
        "range": pd.RangeIndex(5, 11, 2),
        "named range": pd.RangeIndex(3, name="event"),
        "integers": pd.Index([7, 3, 9]),
        "numbers": pd.Index([0.5, np.nan, 2.5]),
        "text": pd.Index(["mu", "el", "µτ"]),
        "text of a number's name": pd.Index(["a", "b", "c"], name=0),
        "name of a column": pd.Index([3, 2, 1], name="x"),
        "days": pd.DatetimeIndex(["2020-01-01", "2021-02-03", "1999-12-31"]),
        "times of a zone": pd.date_range("2020-03-29", periods=3, freq="h", tz="Europe/Zurich", name="when"),
        "durations": pd.to_timedelta([1, 2, 3], unit="h"),
        "categories": pd.CategoricalIndex(["a", "b", "a"], categories=["b", "c", "a"], ordered=True),
        "levels": pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a")]),
        "named levels": pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a")], names=["run", None]),
    }


def framed(index):
    values = {
        "x": np.array([1.5, np.nan, 3.5], "f4"),
        "n": pd.array([1, None, 3], "Int16"),
        "s": ["a", "", "ü"],
        "c": pd.Categorical(["b", None, "a"], categories=["b", "z", "a"]),
        "t": pd.to_datetime(["2020-01-01", "2020-07-01", "2021-01-01"]).tz_localize("America/New_York"),
    }
    return pd.DataFrame(values, index=index).rename_axis(columns="measured")


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
@pytest.mark.parametrize("kind", indices())
def test_a_frame_comes_back_with_its_index(tmp_path, kind, layout):
    frame = framed(indices()[kind])
    ar.write(f"{tmp_path}/f.root:t", frame, layout=layout)
    # As append takes it: in several frames, of which none knows the others.
    with ar.create(tmp_path / "a.root") as file, file.tree("t", layout=layout) as table:
        table.append(frame.iloc[:2])
        table.append(frame.iloc[2:])
    with (
        ar.create(tmp_path / "c.root") as file,
        file.tree("t", layout=layout) as table,
        table.context() as context,
    ):
        context.fill(frame.iloc[:2])
        context.fill(frame.iloc[2:])
    expected = frame.rename_axis(index=str) if frame.index.name == 0 else frame
    for path in "fac":
        back = ar.open(f"{tmp_path}/{path}.root")["t"].to_pandas()
        index = back.index
        pd.testing.assert_frame_equal(back, expected, check_freq=False, check_index_type="equiv")
        assert index.equals(expected.index)
        assert index.names == expected.index.names
    # Of metadata alone a range other than a count from 0 would be that of any entries that are chosen.
    if kind not in ("range", "named range"):
        as_pyarrow = pa.Table.from_pandas(expected, preserve_index=None).column_names
        assert ar.open(f"{tmp_path}/f.root")["t"].to_arrow().column_names == as_pyarrow


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_entries_that_are_chosen_or_of_several_files_keep_their_index(tmp_path, layout):
    first = pd.DataFrame({"x": [10.0, 12.0, 14.0]}, index=pd.RangeIndex(10, 16, 2))
    second = pd.DataFrame({"x": [100.0, 101.0]}, index=pd.RangeIndex(100, 102))
    files = [f"{tmp_path}/a.root", f"{tmp_path}/b.root"]
    for file, frame in zip(files, (first, second), strict=True):
        ar.write(f"{file}:t", frame, layout=layout)
    tree = ar.open(files[0])["t"]
    for frame in (
        tree.to_pandas(entries=[2, 1, 0]),
        tree.to_pandas(entries=[0, 0, 2]),
        tree.to_pandas(filter="x > 10"),
        ar.scan(files, tree="t").to_pandas(),
        ar.scan(files, tree="t", entries=[4, 0, 1]).to_pandas(),
    ):
        assert frame.index.tolist() == frame["x"].tolist()


def test_a_range_is_a_column_where_the_table_has_one_and_else_left_out_with_a_word(tmp_path):
    whole = pd.DataFrame({"x": np.arange(9)})
    parts = [whole.iloc[:2], whole.iloc[[0, 3, 4]], whole.iloc[:3], whole.iloc[8:]]
    with ar.create(tmp_path / "f.root") as file:
        with file.tree("column") as table:
            for part in parts[1:]:
                table.append(part)
        with file.tree("none") as table:
            table.append(parts[0])
            table.append(whole.iloc[2:4])  # goes on with the range
            with pytest.warns(
                ar.IndexLeftOutWarning, match=r"f.root:none: from entry 4 .*__index_level_0__.*reset_index"
            ):
                table.append(parts[1])
    with ar.open(tmp_path / "f.root") as file:
        assert file["column"].to_pandas().index.tolist() == [0, 3, 4, 0, 1, 2, 8]
        assert file["none"].to_pandas()["x"].tolist() == [0, 1, 2, 3, 0, 3, 4]


def test_an_index_of_the_name_of_a_column_and_columns_of_no_text_are_told_apart():
    frame = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("mu", "pt"), ("mu", "eta")]))
    with pytest.raises(ar.InvalidRequestError, match=r"\('mu', 'pt'\): frame.set_axis"):
        table_of(frame)


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
@pytest.mark.parametrize(
    ("columns", "names", "found"),
    [
        (["x"], ["k", "k"], ["x", "k", "__index_level_1__"]),
        (["k"], ["k", "k"], ["k", "__index_level_0__", "__index_level_1__"]),
        (["__index_level_1__"], ["k", "k"], ["__index_level_1__", "k", "__index_level_2__"]),
        (["x"], [None, "__index_level_0__"], ["x", "__index_level_0__", "__index_level_1__"]),
        (["__index_level_0__"], [None], ["__index_level_0__", "__index_level_1__"]),
        (["k"], ["k"], ["k", "__index_level_0__"]),
    ],
)
def test_an_index_whose_name_is_taken_is_called_as_pyarrow_calls_it(tmp_path, columns, names, found, layout):
    levels = [[7, 3], ["a", "b"]][-len(names) :]
    frame = pd.DataFrame(
        {name: [1.5, 2.5] for name in columns}, index=pd.MultiIndex.from_arrays(levels, names=names)
    )
    frame = frame if len(names) > 1 else frame.set_axis(frame.index.get_level_values(0), axis=0)
    ar.write(f"{tmp_path}/f.root:t", frame, layout=layout)
    tree = ar.open(tmp_path / "f.root")["t"]
    assert tree.to_arrow().column_names == found
    pd.testing.assert_frame_equal(tree.to_pandas(), frame)


@pytest.mark.parametrize("way", ["write", "append", "fill"])
def test_series_in_a_dictionary_keep_their_index_or_are_refused(tmp_path, way):

    def put(data):
        with ar.create(tmp_path / "f.root") as file, file.tree("t") as table:
            if way == "write":
                table.add_all(data)
            elif way == "append":
                table.append(data)
            else:
                with table.context() as context:
                    context.fill(data)
        return ar.open(tmp_path / "f.root")["t"]

    frame = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, None, 1.5]}, index=pd.Index(["x", "y", "z"], name="who"))
    given = {"a": frame["a"], "n": np.arange(3), "b": frame["b"], "v": [[1], [], [2, 3]]}
    back = put(given).to_pandas()
    assert back.columns.tolist() == ["a", "n", "b", "v"]
    pd.testing.assert_index_equal(back.index, frame.index)
    pd.testing.assert_frame_equal(back[["a", "b"]], frame)
    # Of a plain count nothing is lost.
    plain = put({"a": frame["a"].reset_index(drop=True), "n": np.arange(3)})
    assert plain.to_arrow().column_names == ["a", "n"]
    for other in (frame["b"][::-1], frame["b"].reset_index(drop=True), frame["b"].iloc[:2]):
        with pytest.raises(ar.InvalidRequestError, match=r"t: columns 'a' and 'b' .*pandas\.DataFrame"):
            put({"a": frame["a"], "b": other})


@pytest.mark.parametrize("way", ["write", "append", "fill"])
@pytest.mark.parametrize("kind", ["codes", "texts", "sparse", "sparse series", "texts of a column"])
def test_damaged_frames_are_refused_with_the_column(tmp_path, kind, way):

    def texts(size):
        ends = pa.array([0, size, 4], pa.int64()).buffers()[1]
        damaged = pa.Array.from_buffers(pa.large_string(), 2, [None, ends, pa.py_buffer(b"\xff\xfe\xfd\xfc")])
        return pd.array(damaged, dtype=pd.StringDtype("pyarrow"))

    def sparse():
        values = pd.arrays.SparseArray([0, 0, 1, 2])
        values.sp_index.indices[:] = [500_000_000, 7]
        return pd.Series(values)

    def levels():
        index = pd.MultiIndex.from_arrays([["a", "b"], [1, 2]], names=["x", "y"])
        codes = np.asarray(index._codes[0])
        codes.setflags(write=True)
        codes[0] = 9
        return index

    data = {
        "codes": lambda: pd.DataFrame({"y": [1, 2]}, index=levels()),
        "texts": lambda: pd.DataFrame({"y": [1, 2]}, index=pd.Index(texts(2), name="x")),
        "sparse": lambda: pd.DataFrame({"x": sparse()}),
        "sparse series": lambda: {"x": sparse()},
        "texts of a column": lambda: pd.DataFrame({"x": texts(50_000)}),
    }[kind]()
    with ar.create(tmp_path / "f.root") as file:
        table = file.tree("t")
        put = table.context().fill if way == "fill" else table.add_all if way == "write" else table.append
        with pytest.raises(ar.InvalidRequestError, match=r"f.root:t: column 'x': (?!column)"):
            put(data)
        file.abort()
