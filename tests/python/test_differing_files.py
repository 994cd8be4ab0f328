"""Files that differ as one data set: columns that some lack, numbers that are wider in some, trees by a pattern."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._arrow.widening import joined

FIRST = {
    "x": np.arange(5, dtype=np.int32),
    "y": pa.array([[1.5, 2.5], [], [3.5], [], []], pa.list_(pa.float32())),
    "first": np.arange(5.0),
}
SECOND = {
    "x": np.arange(2**40, 2**40 + 3),
    "y": pa.array([[0.1], [], [0.2, 0.3]], pa.list_(pa.float64())),
    "second": pa.array([["a"], [], ["b", "c"]], pa.list_(pa.string())),
}
X = [*range(5), *range(2**40, 2**40 + 3)]
Y = [[1.5, 2.5], [], [3.5], [], [], [0.1], [], [0.2, 0.3]]


@pytest.fixture(params=["ttree", "rntuple"])
def files(tmp_path, request):
    for name, columns in (("a", FIRST), ("b", SECOND)):
        table = pa.table(columns)
        schema = pa.schema([field.with_nullable(False) for field in table.schema])
        ar.write(f"{tmp_path}/{name}.root:T", table.cast(schema), layout=request.param)
    return tmp_path / "*.root"


def test_columns_that_some_files_lack_are_null_there(files):
    scan = ar.scan(files, "T", missing="null", promote=True)
    expected = {
        "x": X,
        "y": Y,
        "first": [0.0, 1.0, 2.0, 3.0, 4.0, None, None, None],
        "second": [None] * 5 + [["a"], [], ["b", "c"]],
    }
    table = scan.to_arrow()
    table.validate(full=True)
    assert table.to_pydict() == expected
    assert scan.schema == table.schema
    assert [table.schema.field(name).nullable for name in expected] == [False, False, True, True]
    assert scan.to_polars().to_dict(as_series=False) == expected
    assert scan.to_awkward().second.to_list() == expected["second"]
    assert scan.to_pandas()["first"].isna().tolist() == [False] * 5 + [True] * 3
    assert scan.to_numpy()["first"].mask.tolist() == [False] * 5 + [True] * 3
    assert pa.table(scan).equals(table)


@pytest.mark.parametrize("batch_entries", [None, 1, 3, 100])
def test_batches_entries_and_origins_are_those_of_any_scan(files, batch_entries):
    options = {} if batch_entries is None else {"batch_entries": batch_entries}
    scan = ar.scan(files, "T", ["second", "x"], missing="null", promote=True, origin="entry", **options)
    assert pa.Table.from_batches(scan).to_pydict() == {
        "second": [None] * 5 + [["a"], [], ["b", "c"]],
        "x": X,
        "entry": [*range(5), *range(3)],
    }
    back = ar.scan(files, "T", ["first"], missing="null", entries=[7, 0, 6, 1], **options)
    assert back.to_arrow()["first"].to_pylist() == [None, 0.0, None, 1.0]


def test_a_file_that_has_none_of_the_columns_comes_in_bounded_batches(tmp_path):
    n = 100_000
    ar.write(f"{tmp_path}/a.root:T", {"x": np.zeros(n, dtype=np.int8)})
    ar.write(f"{tmp_path}/b.root:T", {"y": np.arange(3.0)})
    scan = ar.scan(tmp_path / "*.root", "T", ["y"], missing="null", batch_size="80 kB")
    assert [batch.num_rows for batch in scan] == [10_000] * 10 + [3]
    assert scan.to_arrow()["y"].null_count == n


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_filter_takes_what_is_lacking_for_null(files, on_error):
    def numbers(condition):
        return ar.scan(
            files, "T", ["x"], filter=condition, missing="null", promote=True, on_error=on_error
        ).to_arrow()["x"]

    assert numbers("first > 2").to_pylist() == [3, 4]
    assert numbers("first > 2 || any(second == 'b')").to_pylist() == [3, 4, 2**40 + 2]
    assert numbers("x > 3").to_pylist() == X[4:]


def test_only_common_columns_are_chosen_by_patterns(files):
    options = {"missing": "common", "promote": True}
    assert ar.scan(files, "T", **options).column_names == ["x", "y"]
    assert ar.scan(files, "T", "[!y]*", **options).to_arrow().to_pydict() == {"x": X}
    assert ar.scan(files, "T", "!x", **options).column_names == ["y"]
    for choice in ({"columns": ["first"]}, {"columns": "x", "filter": "first > 2"}):
        with pytest.raises(ar.SchemaMismatchError, match=r"b\.root: column 'first' is missing"):
            ar.scan(files, "T", **choice, **options)


def test_types_that_differ_are_an_error_before_anything_is_read_unless_all_values_fit_one(files):
    with pytest.raises(ar.SchemaMismatchError, match=r"b\.root: column 'x' has type int64.*promote=True"):
        ar.scan(files, "T", missing="null")
    with pytest.raises(ar.SchemaMismatchError, match=r"b\.root: column 'first' is missing"):
        ar.scan(files, "T", promote=True)
    assert ar.scan(files, "T", ["x", "y"], promote=True).to_arrow().to_pydict() == {"x": X, "y": Y}
    ar.write(f"{files.parent}/c.root:T", {"x": np.arange(3.0)})
    with pytest.raises(
        ar.SchemaMismatchError, match=r"c\.root: column 'x' .* no type has all values of both"
    ):
        ar.scan(files, "T", ["x"], promote=True)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (pa.int8(), pa.int32(), pa.int32()),
        (pa.uint8(), pa.int8(), pa.int16()),
        (pa.uint32(), pa.int32(), pa.int64()),
        (pa.uint64(), pa.int8(), None),
        (pa.int16(), pa.float32(), pa.float32()),
        (pa.int32(), pa.float32(), pa.float64()),
        (pa.int64(), pa.float64(), None),
        (pa.uint64(), pa.float32(), None),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.bool_(), pa.uint8(), pa.uint8()),
        (pa.string(), pa.int8(), None),
        (pa.list_(pa.int8()), pa.list_(pa.int64()), pa.list_(pa.int64())),
        (pa.list_(pa.int8()), pa.int8(), None),
        (pa.list_(pa.int8(), 2), pa.list_(pa.int8(), 3), None),
        (pa.list_(pa.int8(), 2), pa.list_(pa.int16(), 2), pa.list_(pa.int16(), 2)),
        (pa.struct({"a": pa.int8()}), pa.struct({"a": pa.int16()}), pa.struct({"a": pa.int16()})),
        (pa.struct({"a": pa.int8()}), pa.struct({"b": pa.int8()}), None),
    ],
    ids=str,
)
def test_types_are_widened_as_far_as_no_value_is_lost(one, other, both):
    for first, second in ((one, other), (other, one)):
        found = joined(pa.field("x", first), pa.field("x", second), promote=True)
        assert (found and found.type) == both
        assert joined(pa.field("x", first), pa.field("x", second), promote=False) is None


def test_whole_objects_that_a_file_lacks_are_null(tmp_path):
    points = pa.array([{"x": 1.0, "y": [2]}, {"x": 3.0, "y": []}])
    ar.write(f"{tmp_path}/a.root:T", pa.table({"n": [1, 2], "p": points}), layout="rntuple")
    ar.write(f"{tmp_path}/b.root:T", pa.table({"n": [3]}), layout="rntuple")
    table = ar.scan(tmp_path / "*.root", "T", missing="null", assemble=True).to_arrow()
    assert table.to_pydict() == {"n": [1, 2, 3], "p": [*points.to_pylist(), None]}


def test_friends_of_files_that_differ_may_differ(files):
    ar.write(f"{files.parent}/friends.root:F", {"w": np.arange(8.0)})
    scan = ar.scan(
        [files.parent / "a.root", files.parent / "b.root"],
        "T",
        ["first", "w"],
        missing="null",
        friends={"f": files.parent / "friends.root"},
    )
    assert scan.to_arrow().to_pydict() == {
        "first": [0.0, 1.0, 2.0, 3.0, 4.0, None, None, None],
        "w": [*range(8)],
    }


def test_partitions_deliver_what_the_scan_does(files):
    options = {"missing": "null", "promote": True}
    whole = ar.scan(files, "T", **options).to_arrow()
    pieces = pickle.loads(pickle.dumps(ar.partitions(files, "T", **options)))  # noqa: S301 - our own
    assert [piece.num_entries for piece in pieces] == [5, 3]
    assert pa.concat_tables([piece.read() for piece in pieces]).equals(whole)
    assert {piece.schema() for piece in pieces} == {whole.schema}
    assert pieces[0].read(["second"])["second"].to_pylist() == [None] * 5
    chosen = ar.partitions(files, "T", ["x"], filter="first > 2 || any(second == 'b')", **options)
    assert [piece.read()["x"].to_pylist() for piece in chosen] == [[3, 4], [2**40 + 2]]
    assert pieces[0] != ar.partitions(files, "T", list(whole.column_names[:3]), **options)[0]
    options["define"] = {"more": "first + x"}
    computed = ar.scan(files, "T", ["more"], **options).to_arrow()
    pieces = ar.partitions(files, "T", ["more"], **options)
    assert pa.concat_tables([piece.read() for piece in pieces]).equals(computed)
    assert computed["more"].null_count == 3
    with pytest.raises(ar.InvalidRequestError, match="not with friends"):
        ar.partitions(files, "T", friends={"f": files}, **options)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_dask_collections_have_nulls(files):
    pytest.importorskip("dask.dataframe")
    ard = pytest.importorskip("arrowroot.dask")
    frame = ard.dataframe(files, "T", ["x", "first"], missing="null", promote=True).compute(scheduler="sync")
    assert frame["x"].tolist() == X
    assert frame["first"].isna().tolist() == [False] * 5 + [True] * 3
    pytest.importorskip("dask_awkward")
    array = ard.awkward(files, "T", missing="null", promote=True)
    assert array.second.compute(scheduler="sync").to_list() == [None] * 5 + [["a"], [], ["b", "c"]]
    bag = ard.bag(files, "T", ["x", "first"], missing="null", promote=True).compute(scheduler="sync")
    assert bag[4:6] == [{"x": 4, "first": 4.0}, {"x": 2**40, "first": None}]


@pytest.mark.parametrize("options", [{"missing": "none"}, {"promote": 1}, {"promote": "yes"}], ids=str)
def test_other_words_are_refused(files, options):
    with pytest.raises(ar.InvalidRequestError, match="expected"):
        ar.scan(files, "T", **options)


def test_of_many_files_each_kind_alone_is_looked_at(tmp_path, monkeypatch):
    from arrowroot._api import unified

    looked_at = []
    readable = unified._readable
    monkeypatch.setattr(unified, "_readable", lambda branches: looked_at.append(1) or readable(branches))
    for number in range(12):
        ar.write(f"{tmp_path}/{number}.root:T", {"x": np.arange(3), f"y{number % 3}": np.arange(3.0)})
    table = ar.scan(tmp_path / "*.root", "T", missing="null").to_arrow()
    assert [table[f"y{number}"].null_count for number in range(3)] == [24] * 3
    assert len(looked_at) == 3


@pytest.fixture
def frames(tmp_path):
    """Return files with trees of one name in one to three directories, and what each tree has."""
    content = {}
    for number in range(3):
        with ar.create(tmp_path / f"{number}.root") as file:
            for frame in (10, 2, 33)[: number + 1]:
                path = f"DF_{frame}/O2aod"
                values = np.arange(4) + 100 * frame + 10_000 * number
                file.tree(path, {"x": "int64"}).append({"x": values})
                file.tree(f"DF_{frame}/other", {"z": "int8"}).append({"z": np.zeros(2, dtype=np.int8)})
                content[number, frame] = values.tolist()
    order = sorted(content)
    return tmp_path / "*.root", order, content


def test_all_trees_that_a_pattern_matches_are_read_in_natural_order(frames):
    files, order, content = frames
    scan = ar.scan(files, "DF_*/O2aod", origin=["tree", "entry"])
    table = scan.to_arrow()
    assert table["x"].to_pylist() == [x for place in order for x in content[place]]
    assert table["tree"].to_pylist() == [f"DF_{frame}/O2aod" for _, frame in order for _ in range(4)]
    assert table["entry"].to_pylist() == [*range(4)] * len(order)
    assert scan.num_entries == 4 * len(order)
    last = ar.scan(f"{files.parent}/2.root:DF_*/O2aod", entries=[11, 0], batch_entries=1)
    assert last.to_arrow()["x"].to_pylist() == [content[2, 33][3], content[2, 2][0]]
    pieces = ar.partitions(files, "DF_[13]*/O2aod")
    assert [x for piece in pieces for x in piece.read()["x"].to_pylist()] == [
        x for place in order if place[1] != 2 for x in content[place]
    ]


def test_a_pattern_stays_within_a_directory_and_must_match(frames):
    files, _, _ = frames
    for pattern in ("*O2aod", "DF_4*/O2aod"):
        with pytest.raises(ar.NoSuchKeyError, match=r"0\.root: no tree matches"):
            ar.scan(files, pattern)
    told = []
    scan = ar.scan(files, "DF_2/*aod", on_error=told.append)
    assert scan.num_entries == 8
    assert [one.reason for one in told] == ["no tree"]


def test_trees_of_one_file_share_it_when_they_are_opened_again(frames, monkeypatch):
    from arrowroot._api import opened, row

    monkeypatch.setattr(row, "_N_KEPT_OPEN", 0)
    monkeypatch.setattr(row, "_COMPACT_BYTES", 0)
    made = []
    monkeypatch.setattr(opened, "File", lambda opening: made.append(opening) or ar._api.file.File(opening))
    files, order, content = frames
    scan = ar.scan(files, "DF_*/O2aod")
    n_opened = len(made)
    assert scan.to_arrow()["x"].to_pylist() == [x for place in order for x in content[place]]
    assert (n_opened, len(made)) == (3, 5)


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_what_a_scan_says_may_be_missing_is_written_wherever_it_is_missing_first(tmp_path, layout):
    ar.write(f"{tmp_path}/a.root:t", {"x": [1, 2], "y": [1, 2]}, layout=layout)
    ar.write(f"{tmp_path}/b.root:t", {"x": [3, 4]}, layout=layout)
    for names in ("ab", "ba"):
        scan = ar.scan([f"{tmp_path}/{name}.root" for name in names], "t", missing="null")
        ar.write(f"{tmp_path}/o.root:t", scan, layout=layout)
        expected = {"a": [1, 2], "b": [None, None]}
        written = ar.open(f"{tmp_path}/o.root")["t"].to_arrow()["y"].to_pylist()
        assert written == expected[names[0]] + expected[names[1]]
    lists = pa.array([[[1]], [[2, 3]], [[]], []], pa.list_(pa.list_(pa.int64())))
    ar.write(f"{tmp_path}/l.root:t", {"l": lists}, layout="rntuple")
    tree = ar.open(f"{tmp_path}/l.root")["t"]
    define = {"first": "l[0]", "item": "l[0][1]", "items": "l[][0]", "double": "l[0][l[0] > 0] * 2"}
    ar.write(f"{tmp_path}/o.root:t", tree.scan(list(define), define=define, batch_entries=1), layout=layout)
    assert ar.open(f"{tmp_path}/o.root")["t"].to_arrow().to_pydict() == {
        "first": [[1], [2, 3], [], None],
        "item": [None, 3, None, None],
        "items": [[1], [2], [None], []],
        "double": [[2], [4, 6], [], None],
    }
    # Types that a file says go along from it, too.
    optional = pa.table({"n": pa.chunked_array([pa.array([1, 2]), pa.array([None, 3], pa.int64())])})
    ar.write(f"{tmp_path}/n.root:t", optional, layout=ar.Layout("rntuple", flush=2))
    ar.write(f"{tmp_path}/o.root:t", ar.open(f"{tmp_path}/n.root")["t"], layout=layout)
    assert ar.open(f"{tmp_path}/o.root")["t"].to_arrow()["n"].to_pylist() == [1, 2, None, 3]


@pytest.mark.parametrize("index", ["x", False])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_expressions_beside_friends_may_use_what_the_first_file_lacks(tmp_path, index, on_error):
    ar.write(f"{tmp_path}/a.root:T", {"x": np.arange(3, dtype=np.int32)})
    ar.write(f"{tmp_path}/b.root:T", {"x": np.arange(3, 5), "more": [1.5, 2.5]})
    ar.write(f"{tmp_path}/f0.root:W", {"x": np.arange(2), "z": np.arange(2)})
    ar.write(f"{tmp_path}/f1.root:W", {"x": np.arange(2, 5), "z": np.arange(2, 5), "rest": np.arange(3)})
    options = {
        "friends": {"f": ar.Friends(tmp_path / "f*.root", "W", index)},
        "missing": "null",
        "promote": True,
        "on_error": on_error,
        "define": {"d": "more + z", "e": "f.rest + x", "w": "x + 2147483647"},
    }
    files = [tmp_path / "a.root", tmp_path / "b.root"]
    found = ar.scan(files, "T", ["d", "e", "w"], **options).to_arrow().to_pydict()
    assert found == {
        "d": [None, None, None, 4.5, 6.5],
        "e": [None, None, 2, 4, 6],
        "w": [2147483647 + x for x in range(5)],
    }
    kept = ar.scan(files, "T", ["x", "more"], filter="more > 2 || f.rest == 0", **options).to_arrow()
    assert kept.to_pydict() == {"x": [2, 4], "more": [None, 2.5]}
