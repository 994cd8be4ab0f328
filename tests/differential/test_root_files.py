"""Files that ROOT writes: arrowroot reads what ROOT reads."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot.cli import main

from .compare import assert_same_values, values_of

CODECS = [
    "none", "zlib1", "zlib6", "zlib9", "lzma1", "lzma7", "old3", "lz4_1", "lz4_4", "lz4_9", "zstd1",
    "zstd5", "zstd9",
]  # fmt: skip
FILES = [
    "numbers", "numbers_one_entry", "numbers_empty", "arrays", "arrays_generated_offsets",
    "arrays_one_entry", "arrays_empty", "counted_elsewhere", "counted_by_leaves", "counted_by_leaves_generated_offsets",
    "strings", "vectors", "vectors_empty", "packed", "ntuples",
    *(f"codec_{c}" for c in CODECS), "embedded", "circular", "part0", "merged", "directories",
    "beyond_2_gb", "beside_objects", "unclosed_plain",
    "unclosed_SaveSelf",
]  # fmt: skip


#: Of files that were not closed it is said that they were recovered, which tests of their values need not hear.
UNCLOSED = pytest.mark.filterwarnings("ignore::arrowroot.RecoveredWarning")


@UNCLOSED
@pytest.mark.parametrize("name", FILES)
def test_all_columns_are_as_root_reads_them(root_files, name):
    wrong = []
    with ar.open(root_files / f"{name}.root") as file:
        for tree_path, tree_expected in root_files.expected[f"{name}.root"].items():
            tree = file[tree_path]
            assert tree.num_entries == tree_expected["n_entries"]
            assert tree_expected["columns"]
            together = tree.to_arrow(list(tree_expected["columns"]))
            for column, wanted in tree_expected["columns"].items():
                what = f"{tree_path}/{column} ({wanted['type']})"
                try:
                    assert_same_values(values_of(tree.to_arrow([column]), column), wanted["values"], what)
                    assert_same_values(
                        values_of(together, column), wanted["values"], f"{what}, with all others"
                    )
                except (ar.ArrowrootError, AssertionError) as error:
                    wrong.append(f"{what}: {type(error).__name__}: {str(error)[:300]}")
    assert not wrong, "\n".join(wrong)


def test_leaf_lists_are_declared_with_counters_and_dimensions(root_files):
    with ar.open(root_files / "counted_elsewhere.root") as file:
        types = {column.name: column.type_name for column in file["T"].columns}
    assert types["data"] == "struct {float x[n]; int y[n]; short pairs[n][2]; double last;}"
    with ar.open(root_files / "arrays.root") as file:
        types = {column.name: column.type_name for column in file["T"].columns}
    assert types["inside"] == "struct {int k; float a[k];}"
    assert types["mixed"] == "struct {float a[2]; int b[3]; bool c;}"
    assert types["rows"] == "float[][2]"


def test_all_nested_vectors_took_part(root_files):
    if "vv_int" not in root_files.expected["vectors.root"]["T"]["columns"]:
        pytest.skip("NO C++ COMPILER: ROOT wrote nested vectors of float and double only")


@pytest.mark.parametrize("codec", ["none", "zstd", "lz4", "zlib"])
def test_baskets_of_several_compression_blocks(root_files, codec):
    n = 3_000_000
    with ar.open(root_files / f"big_{codec}.root") as file:
        table = pa.table(file["T"].to_arrow(["slow", "noise"]))
    assert np.array_equal(table["slow"].to_numpy(), np.arange(n) // 8)
    noise, state = table["noise"].to_numpy(), 1
    for found in noise[:1000].tolist():
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        assert found == state
    # The generator steps from each value to the next, through the last.
    with np.errstate(over="ignore"):
        step = noise[:-1] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    assert np.array_equal(step, noise[1:])


def test_ten_thousand_branches(root_files):
    with ar.open(root_files / "many_branches.root") as file:
        tree = file["T"]
        assert len(tree.column_names) == 10000
        table = pa.table(tree.to_arrow(["x9999", "x0", "x5000"]))
    assert table.column_names == ["x9999", "x0", "x5000"]
    assert table["x5000"].to_pylist() == [5000.0, 6000.0]


def test_objects_are_read_beside_their_neighbours(root_files):
    with ar.open(root_files / "beside_objects.root") as file:
        tree = file["T"]
        assert values_of(tree.to_arrow(["i"]), "i") == list(range(30))
        everything = pa.table(tree.to_arrow())
        assert everything.column_names == ["i", "h", "values"]
        assert everything.num_rows == 30
        assert values_of(everything, "h")[0]["fXaxis"]["fNbins"] == 3


def test_recovered_files_say_so(root_files):
    ar.RecoveredWarning.forget()
    with pytest.warns(ar.RecoveredWarning, match="was not closed, and has no key list"):
        file = ar.open(root_files / "unclosed_plain.root")
    with file:
        assert file.was_recovered
        assert file.damage is None
        assert file["T"].num_entries == 70
    with ar.open(root_files / "part0.root") as file:
        assert not file.was_recovered


def test_baskets_in_the_tree_are_read_whatever_file_their_branch_names(root_files):
    with ar.open(root_files / "elsewhere_100.root") as file:
        assert file["T"].to_arrow("x")["x"].to_pylist() == [i * 0.5 for i in range(100)]
    with ar.open(root_files / "elsewhere_5000.root") as file:
        tree = file["T"]
        assert tree.to_arrow("i")["i"].to_pylist() == list(range(5000))
        with pytest.raises(ar.UnsupportedError, match=r'branch "x" of type float .*other\.root'):
            tree.to_arrow("x")


@UNCLOSED
@pytest.mark.parametrize("option", ["plain", "SaveSelf"])
def test_what_was_written_to_a_file_that_was_not_closed_again_is_found(root_files, option):
    with ar.open(root_files / f"reopened_{option}.root") as file:
        assert file.was_recovered == (option == "plain")
        assert file["T"].to_arrow("i")["i"].to_pylist() == list(range(300))
        assert file["d/U"].to_arrow("i")["i"].to_pylist() == list(range(77))


@UNCLOSED
@pytest.mark.parametrize("option", ["plain", "SaveSelf"])
def test_trees_in_directories_that_were_not_saved_are_found(root_files, option):
    with ar.open(root_files / f"nested_{option}.root") as file:
        assert file.was_recovered
        assert [key.path for key in file.key_list() if key.is_directory] == ["d", "d/e"]
        assert file["d/e/T"].to_arrow("i")["i"].to_pylist() == list(range(60))
        assert file["U"].num_entries == 60


def test_keys_give_cycles_and_classes(root_files):
    with ar.open(root_files / "directories.root") as file:
        found = {(k.path, k.cycle, k.class_name) for k in file.key_list()}
    assert {("T", 1, "TTree"), ("T", 2, "TTree"), ("T", 3, "TTree"), ("h", 1, "TH1F")} <= found
    assert {("a/b c/d.e/T", 1, "TTree"), ("a", 1, "TDirectory")} <= found


def test_many_files_are_one_stream(root_files):
    paths = [root_files / f"part{k}.root" for k in range(3)]
    columns = ["i", "values", "word"]
    table = pa.table(ar.scan(paths, tree="T", columns=columns))
    wanted = {c: [] for c in columns}
    for k in range(3):
        for c in columns:
            wanted[c] += root_files.expected[f"part{k}.root"]["T"]["columns"][c]["values"]
    for c in columns:
        assert_same_values(values_of(table, c), wanted[c], c)


def test_a_glob_is_in_the_order_of_names(root_files):
    table = pa.table(ar.scan(root_files / "part*.root", tree="T", columns=["i"]))
    assert table["i"].to_pylist() == [*range(40), *range(50, 91), *range(100, 142)]


def test_recorded_friends_are_opened_and_longer_ones_cut(root_files):
    with ar.open(root_files / "friends.root") as file:
        tree, few = file["T"], file["few"]
    assert tree.recorded_friends == [("near", "near", ""), ("f", "far", "friends_other.root")]
    tree.add_recorded_friends()
    table = tree.to_arrow(["x", "closeness", "f.distance"])
    assert all(table[name].to_pylist() == list(range(10)) for name in table.column_names)
    assert tree.to_arrow(["distance"], entries=[9, 3])["distance"].to_pylist() == [9, 3]
    with pytest.raises(ar.InvalidRequestError, match=r"friend .few., .*:few, has only 8 entries"):
        tree.add_friend(few)


def test_recorded_aliases_are_told(root_files, capsys):
    path = root_files / "friends.root"
    with ar.open(path) as file:
        tree = file["T"]
        assert tree.aliases == {"twice": "2 * closeness", "shifted": "x + 1"}
        assert file["near"].aliases == {}
        assert tree.recorded_friends
    with pytest.raises(ar.NoSuchColumnError, match=r"it is an alias of the tree, for '2 \* closeness'"):
        tree["twice"]
    # It computes, as any expression; the friend that it needs is not there.
    for look in (lambda: tree.to_arrow(["x", "twice"]), lambda: tree.scan(filter="twice > 1")):
        with pytest.raises(ar.NoSuchColumnError, match="alias twice: no branch 'closeness'"):
            look()
    assert tree.to_arrow(["shifted"])["shifted"].to_pylist() == [x + 1 for x in range(10)]
    assert main(["ls", f"{path}:T"]) == 0
    assert "alias twice = 2 * closeness\nalias shifted = x + 1\n" in capsys.readouterr().out
    assert main(["ls", "--json", f"{path}:T"]) == 0
    assert json.loads(capsys.readouterr().out)["trees"][0]["aliases"] == tree.aliases


def test_branches_of_one_name_are_told_apart(root_files):
    with ar.open(root_files / "friends.root") as file:
        tree = file["T"]
    assert tree.column_names == ["x", "x;2"]
    table = tree.to_arrow()
    assert table["x"].to_pylist() == list(range(10))  # the first one, as ROOT's GetBranch
    assert table["x;2"].to_pylist() == [i + 0.5 for i in range(10)]


def test_friends_are_read_side_by_side(root_files):
    with ar.open(root_files / "directories.root") as file:
        tree = file["a/T"]
        tree.add_friend(file["a/b c/T"], "other")
        table = pa.table(tree.to_arrow(["i", "other.values"]))
    wanted = root_files.expected["directories.root"]["a/b c/T"]["columns"]["values"]["values"]
    assert table["i"].to_pylist() == list(range(100, 117))
    assert_same_values(values_of(table, "other.values"), wanted, "other.values")
