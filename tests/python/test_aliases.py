"""Aliases, which a tree records: columns that are computed, of a tree alone, of files in a row, of skims and frames."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import arrowroot as ar


def test_definitions_and_aliases_that_name_others_twice_are_looked_at_once(tmp_path):
    names = [f"d{i}" for i in range(45)]
    # A walk through all that the last one names would take 2**44 steps.
    define = dict(zip(names, ["x", *(f"{one} + {one}" for one in names)], strict=False))
    with ar.create(tmp_path / "f.root") as file:
        file.tree("t", aliases=define).append({"x": [1.0, 2.0]})
        file.tree("u").append({"x": [1.0, 2.0]})
    file = ar.open(tmp_path / "f.root")
    expected = pa.table({"d44": pa.array([2.0**44, 2.0**45])})
    assert file["t"].to_arrow(["d44"]).cast(expected.schema).equals(expected)
    assert file["u"].to_arrow(["d44"], define=define).cast(expected.schema).equals(expected)


@pytest.mark.parametrize("text", ["{} + 1", "{}"])
def test_aliases_in_a_long_row_are_refused_however_long_it_is(tmp_path, text):
    """Files bring them: the stack does not end before the depth that is allowed does."""
    n = 1000
    row = {"a0": "x", **{f"a{k}": text.format(f"a{k - 1}") for k in range(1, n)}}
    with ar.create(tmp_path / "a.root") as file:
        file.tree("t", aliases=row).append({"x": [1.0]})
    tree = ar.open(tmp_path / "a.root")["t"]
    for ask in (
        lambda: tree.scan([f"a{n - 1}"]),
        lambda: tree.scan(filter=f"a{n - 1} > 0"),
        lambda: tree.scan(define={"d": f"a{n - 1}"}),
    ):
        with pytest.raises(ar.FilterError, match="more than 100 operations inside each other"):
            ask()
    deepest = 50 if "+" in text else 100
    assert tree.to_arrow([f"a{deepest}"]).to_pylist() == [{f"a{deepest}": 51.0 if "+" in text else 1.0}]
    # One scan keeps what it knows of its names, but not that one is too deep inside of others.
    scan = tree.scan(["x"], define={"d": "a1"})
    with pytest.raises(ar.FilterError, match="more than 100 operations inside each other"):
        scan.hist({"h": ar.Hist((1, 0, 100), x=f"a{deepest + 20}")})
    assert scan.hist({"h": ar.Hist((1, 0, 100), x=f"a{deepest - 2}")})["h"].sum() == 1


def test_an_alias_is_of_the_columns_that_are_read_and_no_definition(tmp_path):
    with ar.create(tmp_path / "a.root") as new:
        table = new.tree("t", {"x": np.int64}, aliases={"twice": "x*2"})
        table.append({"x": np.arange(3)})
    tree = ar.open(tmp_path / "a.root")["t"]
    define = {"before": "twice", "x": "10*x", "behind": "twice", "twice": "3*x", "last": "twice"}
    expected = {"before": [0, 2, 4], "behind": [0, 2, 4], "last": [0, 30, 60]}
    for names in itertools.permutations(expected):
        assert tree.to_arrow(list(names), define=define).to_pydict() == {
            name: expected[name] for name in names
        }
    assert tree.to_arrow(["behind"], define={"x": "10*x", "behind": "twice"})["behind"].to_pylist() == [
        0,
        2,
        4,
    ]
    with pytest.raises(ar.InvalidRequestError, match=r"'x' is a definition, too.*filter in text"):
        tree.to_arrow(define=define, filter=pc.field("x") > 1)


def test_aliases_of_trees_are_columns_of_data_sets_chains_and_friends(tmp_path):
    data = {"x": np.arange(4.0), "y": np.arange(4) * 10}
    aliases = {"s": "x + y", "s2": "2 * s", "square": "x^2"}
    for name, of_it in (("a", aliases), ("b", {}), ("c", {"s": "x - y"})):
        with ar.create(f"{tmp_path}/{name}.root") as file, file.tree("t", aliases=of_it) as table:
            table.append(data)
    one, other, third = (f"{tmp_path}/{name}.root" for name in "abc")
    # In a file "^" is TTree::Draw's power alone.
    assert ar.open(one)["t"].to_arrow(["square"])["square"].to_pylist() == [0, 1, 4, 9]
    with pytest.raises(ar.FilterError, match="it is a power in TTree::Draw"):
        ar.open(one)["t"].to_arrow(["x^2 + 1"])

    expected = {"s2": [0, 22, 44, 66], "x": [0, 1, 2, 3]}
    dataset = ar.dataset(one, "t", ["s2", "x"])
    assert dataset.to_table().to_pydict() == expected
    assert dataset.to_table(["s2"]).column_names == ["s2"]
    assert [part.to_table().to_pydict() for part in dataset.get_fragments()] == [expected]
    assert ar.dataset(one, "t").schema.names == ["x", "y"]

    # Aliases of a friend go by its columns, whatever the main tree calls so.
    tree = ar.open(other)["t"]
    tree.add_friend(ar.open(one)["t"], "f")
    tree.add_friend(ar.open(third)["t"], "g")
    assert tree.to_arrow(["f.s2"]).to_pydict() == {"f.s2": [0, 22, 44, 66]}
    assert tree.to_arrow(["g.s + f.s"])["g.s + f.s"].to_pylist() == [0, 2, 4, 6]
    assert tree.entries_where("g.s < -9", define={"x": "100 * x"}).tolist() == [2, 3]
    with pytest.raises(ar.NoSuchColumnError, match="no branch 's2'"):
        tree.to_arrow(["s2"])
    with pytest.raises(
        ar.NoSuchColumnError, match=r"it is an alias that .*a\.root records: name a file first"
    ):
        ar.scan([other, one], "t", filter="s2 > 1")


@pytest.fixture
def recording(tmp_path):
    """Files of which the second one alone records aliases, and the third lacks a column."""
    columns = [{"x": [1, 2], "y": [5, 6]}, {"x": [3, 4], "y": [7, 8]}, {"y": [9]}]
    for name, values in zip("abc", columns, strict=True):
        aliases = {"square": "x*x", "more": "y + 1"} if name == "b" else {}
        with ar.create(f"{tmp_path}/{name}.root") as file, file.tree("t", aliases=aliases) as table:
            table.append(values)
    return [f"{tmp_path}/{name}.root" for name in "abc"]


def test_an_alias_that_a_later_file_records_is_of_all_files_that_may_differ(recording, tmp_path):
    scan = ar.scan(recording, "t", ["square", "more"], missing="null")
    assert scan.to_arrow().to_pydict() == {"square": [1, 4, 9, 16, None], "more": [6, 7, 8, 9, 10]}
    assert ar.scan(recording, "t", ["more"], missing="common").to_arrow()["more"].to_pylist() == [
        6,
        7,
        8,
        9,
        10,
    ]
    for columns, condition, expected in (
        (["y"], "square > 3", [6, 7, 8]),
        (["y"], "more > 8", [8, 9]),
    ):
        options = {"filter": condition, "missing": "null"}
        assert ar.scan(recording, "t", columns, **options).to_arrow()["y"].to_pylist() == expected
        pieces = ar.partitions(recording, "t", columns, **options)
        assert [value for piece in pieces for value in piece.read()["y"].to_pylist()] == expected
        ar.skim(recording, tmp_path / "o.root", "t", ["y"], **options)
        assert ar.open(tmp_path / "o.root")["t"].to_arrow()["y"].to_pylist() == expected
    for options in ({"columns": ["square"]}, {"columns": ["x"], "filter": "square > 1"}):
        with pytest.raises(ar.NoSuchColumnError, match=r"an alias that .*b\.root records: name a file first"):
            ar.scan(recording[:2], "t", **options)


def test_an_alias_of_the_first_file_is_of_its_pieces_and_of_the_inputs_of_a_skim(recording, tmp_path):
    files = [recording[1], recording[0]]
    scanned = ar.scan(files, "t", ["y"], filter="square > 3").to_arrow().to_pydict()
    assert scanned == {"y": [7, 8, 6]}
    pieces = ar.partitions(files, "t", ["y"], filter="square > 3")
    assert [value for piece in pieces for value in piece.read()["y"].to_pylist()] == scanned["y"]
    for options in ({}, {"resume": True}, {"on_bad_input": "skip"}):
        ar.skim(files, tmp_path / "o.root", "t", ["y"], filter="square > 3", **options)
        assert ar.open(tmp_path / "o.root")["t"].to_arrow()["y"].to_pylist() == scanned["y"]


def test_aliases_of_trees_are_columns_of_lazy_frames(tmp_path):
    pl = pytest.importorskip("polars")
    with ar.create(f"{tmp_path}/a.root") as file, file.tree("t", aliases={"s": "x + y"}) as table:
        table.append({"x": np.arange(4.0), "y": np.arange(4)})
    frame = ar.scan_root(f"{tmp_path}/a.root", "t", ["s", "x"])
    assert frame.collect().to_dict(as_series=False) == {"s": [0, 2, 4, 6], "x": [0, 1, 2, 3]}
    found = frame.filter((pl.col("s") > 1) & (pl.col("x") < 3)).select("x").collect()
    assert found.to_dict(as_series=False) == {"x": [1, 2]}
    assert frame.filter(pl.col("x") > 1).select("s").collect().to_dict(as_series=False) == {"s": [4, 6]}
    assert frame.head(2).select("s").collect().height == 2
