"""Objects of classes that people derive from ROOT's: what is in the base, and the members that the class adds."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import arrowroot as ar
from arrowroot.cli import main

from .compare import RootFiles, compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

MACRO = Path(__file__).with_name("write_derived.C")
COLLECTIONS = ["list", "hash_list", "sorted_list", "array", "ordered", "further", "clones"]
NAMES = ["n0", "n1", "n2"]


FILES = {"write": "derived.root", "write_trees": "trees.root", "write_boxes": "boxes.root"}
CALLS = [(f"derived.{write}", name) for write, name in FILES.items()]
files = compiled(MACRO, *CALLS, ("derived.write_inside",))


@pytest.fixture
def path(files: RootFiles) -> Path:
    return files / "derived.root"


@pytest.fixture
def file(path: Path) -> Iterator[ar.File]:
    with ar.open(path) as file:
        yield file


@pytest.mark.parametrize("key", COLLECTIONS)
def test_a_class_derived_from_a_collection_has_its_objects_and_its_own_members(file, key):
    found = file[key]
    assert isinstance(found, ar.ObjectList)
    assert len(found) == len(found.objects) == 3
    assert [item.name for item in found] == NAMES
    assert found["n1"] is found[1]
    assert "n2" in found
    # Where the class has a member that is called as one of ROOT's, its own is found.
    assert (found.own, found.members["fSize"], found.fItems, "own" in found) == (42, 7, 8, False)
    assert found.own_members == {"own": 42, "fSize": 7, "fItems": 8} | (
        {"more": 1.5, "fName": "hides"} if key == "further" else {}
    )
    text = repr(found)
    assert "3 objects" in text
    assert "n1" in text
    assert "own" in text
    assert found.to_dict()["own"] == 42


def test_a_class_derived_from_a_map_has_its_pairs(file):
    found = file["map"]
    assert isinstance(found, ar.ObjectMap)
    assert [(key.name, str(value)) for key, value in found.pairs] == [
        ("n0", "v0"),
        ("n1", "v1"),
        ("n2", "v2"),
    ]
    assert (str(found["n1"]), found.members["own"]) == ("v1", 42)
    assert "own" in repr(found)


def test_collections_are_members_and_items_of_others(file):
    holder = file["holder"]
    for name in ("inside", "pointer"):
        assert [item.name for item in holder[name]] == NAMES
        assert holder[name].own == 42
    (inner,) = holder["others"]
    assert [item.name for item in inner] == NAMES


def test_a_name_and_a_title_hide_no_collection(file):
    found = file["named_list"]
    assert isinstance(found, ar.ObjectList)
    assert [item.name for item in found] == NAMES
    assert (found.name, found.own) == ("called", 42)


def test_references_are_members_as_of_any_other_base(file):
    found = file["references"]
    assert (found["own"], found["refs"].tolist(), found.class_name) == (42, [], "derived::References")


def test_faces_look_at_the_members_of_roots_class_where_another_has_the_same_name(file):
    assert (str(file["text"]), file["text"]["fString"], file["text"].own_members) == (
        "text",
        9,
        {"own": 42, "fString": 9},
    )
    assert (float(file["parameter"]), file["parameter"]["fVal"]) == (2.5, "hides")
    assert file["symmetric"].to_numpy().tolist() == [[0, 3], [3, 0]]
    assert file["vector"].to_numpy().tolist() == [0, 0, 5]
    graph = file["graph"]
    assert (graph.x.tolist(), graph.y.tolist(), graph.n_dimensions) == ([1], [2], 2)
    assert file["profile"].values().tolist() == [0, 4, 0]
    for key, n_entries in (("histogram", 10), ("further_histogram", 12)):
        histogram = file[key]
        assert histogram.values().tolist() == [0, 5, 0]
        assert (histogram.num_entries, histogram["fEntries"]) == (1, n_entries)
        assert (histogram["fArray"], histogram["own"]) == (9, 42)
        assert "own" in repr(histogram)


@pytest.mark.parametrize("key", ["list", "map", "holder", "histogram", "graph", "text", "parameter"])
def test_show_names_what_is_inside_and_the_own_members(path, key):
    shown = subprocess.run(
        [sys.executable, "-m", "arrowroot", "show", f"{path}:{key}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "own  42" in shown
    if key in ("list", "map", "holder"):
        assert all(name in shown for name in NAMES)


@pytest.fixture
def trees(files: RootFiles) -> Path:
    return files / "trees.root"


def rows(first: int, n_entries: int) -> list[dict[str, Any]]:
    return [{"i": i, "x": i / 2, "v": [float(i)] * (i % 3)} for i in range(first, first + n_entries)]


#: Classes that derive from TTree, and columns of each.
DERIVED = {
    "spill": ("derived::Spill", rows(10, 50)),
    "further": ("derived::FurtherSpill", rows(10, 50)),
    "attributed": ("derived::Attributed", rows(10, 50)),
    "floats": ("derived::Floats", [{"x": float(i), "y": float(-i)} for i in range(5)]),
    "doubles": ("derived::Doubles", [{"x": float(i), "y": float(-i)} for i in range(5)]),
}
#: Trees inside of objects, as Python finds them: their paths and rows.
INSIDE = {
    "list/disk": (lambda file: file["list"]["disk"], rows(0, 50)),
    "list/memory": (lambda file: file["list"][1], rows(5, 30)),
    "list/inner/memory": (lambda file: file["list"]["inner"][0], rows(100, 3)),
    "list/inner/memory;2": (lambda file: file["list"]["inner"][1], rows(200, 4)),
    "list/inner/floats": (lambda file: file["list"]["inner"]["floats"], DERIVED["floats"][1]),
    "array/memory": (lambda file: file["array"][2][0], rows(5, 30)),
    "map/memory": (lambda file: file["map"]["key"], rows(5, 30)),
    "folder/fFolders/memory": (lambda file: file["folder"]["fFolders"]["memory"], rows(5, 30)),
    "output/tree": (lambda file: file["output"]["tree"], rows(5, 30)),
    "output/second": (lambda file: file["output"]["trees"][1], rows(300, 2)),
    "output/whole": (lambda file: file["output"]["whole"], rows(400, 6)),
}


def test_a_class_of_any_name_with_any_number_of_bases_before_ttree_is_a_tree(trees):
    with ar.open(trees) as file:
        assert file.trees == list(DERIVED)
        for name, (class_name, wanted) in DERIVED.items():
            assert (file[name].class_name, file[name].to_arrow().to_pylist()) == (class_name, wanted)
            assert ar.scan(trees, tree=name, entries=slice(2, 4)).to_arrow().to_pylist() == wanted[2:4]
        # A chain has no entries of its own, but the names of files.
        assert file["chain"]["fFiles"][0]["fTitle"] == "elsewhere.root"


def test_a_tree_of_a_class_of_a_user_is_recovered_with_what_says_so(trees, tmp_path):
    whole = trees.read_bytes()
    (name_bytes,) = struct.unpack_from(">i", whole, 28)  # fNbytesName
    (keys_at,) = struct.unpack_from(">i", whole, 100 + name_bytes + 26)  # fSeekKeys
    cut = tmp_path / "cut.root"
    cut.write_bytes(whole[:keys_at])
    with pytest.warns(ar.RecoveredWarning):
        file = ar.open(cut)
    with file:
        assert sorted(file.trees) == sorted(DERIVED)
        assert file["further"].to_arrow().to_pylist() == DERIVED["further"][1]


@pytest.mark.parametrize("tree", INSIDE)
def test_a_tree_inside_of_another_object_is_read_as_any_other(trees, tree):
    find, wanted = INSIDE[tree]
    with ar.open(trees) as file:
        found = find(file)
        assert isinstance(found, ar.Tree)
        assert (found.path, found.num_entries) == (tree, len(wanted))
        assert found.to_arrow().to_pylist() == wanted
        assert tree in file
        assert file[tree].to_arrow(["x"]).column(0).to_pylist() == [row["x"] for row in wanted]
    assert ar.scan(f"{trees}:{tree}", entries=slice(1, 3)).to_arrow().to_pylist() == wanted[1:3]


def test_what_is_beside_a_tree_inside_of_an_object_is_what_it_was(trees, tmp_path):
    with ar.open(trees) as file:
        found = file["list"]
        assert [getattr(item, "name", None) for item in found] == [
            "disk",
            "memory",
            "inner",
            "note",
            "memory",
            "",
        ]
        assert found[1] is found[4]
        assert found[5] is found
        assert "TTree 'disk': 50 entries, 3 columns" in repr(found)
        assert found.to_dict()["fItems"][0]["object"] == {
            "_typename": "TTree", "fName": "disk", "fTitle": "", "fEntries": 50,
        }  # fmt: skip
        assert file["output"]["n"] == 3
        assert file["array"][0] is None
        with pytest.raises(ar.NoSuchKeyError, match=r"'list' is a TList, .* did you mean 'list/memory'"):
            _ = file["list/memori"]
        with ar.create(tmp_path / "copy.root") as copy:
            with pytest.raises(ar.UnsupportedError, match=r"fItems: a tree inside of .* a table of its own"):
                copy["list"] = found
            copy["note"] = found["note"]
        ar.write(f"{tmp_path}/tree.root:memory", found["memory"])
    assert ar.scan(tmp_path / "tree.root").to_arrow().to_pylist() == rows(5, 30)
    shown = subprocess.run(
        [sys.executable, "-m", "arrowroot", "show", f"{trees}:output"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "TTree: 30 entries, 3 columns" in shown


def test_ls_lists_a_tree_inside_of_an_object_by_its_path(trees, capsys):
    assert main(["ls", f"{trees}:list/inner/memory;2"]) == 0
    assert "list/inner/memory;2  TTree, 4 entries" in capsys.readouterr().out
    assert main(["ls", "--json", f"{trees}:list/disk"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["trees"]
    assert (listed["path"], listed["num_entries"]) == ("list/disk", 50)
    assert main(["ls", f"{trees}:list/nothing"]) != 0


def test_trees_inside_of_lists_are_those_of_a_file_where_no_key_is_one(path, trees, tmp_path, capsys):
    one, many = (path.with_name(name) for name in ("one.root", "many.root"))
    with ar.open(trees) as file:
        assert not [name for name in file.trees if "/" in name]  # a tree of a key goes before
    with ar.open(one) as file:
        assert (file.trees, file.only_tree().path) == (["list/disk"], "list/disk")
        with pytest.raises(
            ar.NoSuchKeyError,
            match=r"'list/nope'; 'list' is a TList, .*: the trees in it have paths; .*'list/disk'",
        ):
            _ = file["list/nope"]
    assert ar.scan(one).to_arrow().to_pylist() == rows(0, 50)
    with ar.open(many) as file:
        assert file.trees == ["dir/list/disk", "dir/list/disk;2", "dir/other/memory"]
        assert file["dir"].trees == ["list/disk", "list/disk;2", "other/memory"]
        with pytest.raises(ar.InvalidRequestError, match=r"which of its 3 trees.*'dir/other/memory'"):
            file.only_tree()
        with pytest.raises(ar.NoSuchKeyError, match="did you mean 'other/memory'"):
            _ = file["dir"]["other/memori"]
    for command in ("ls", "head"):
        assert main([command, str(one)]) == 0
        assert "list/disk" in capsys.readouterr().out
    assert main(["ls", str(many)]) == 0
    assert "dir/list/disk;2  TTree, 30 entries" in capsys.readouterr().out
    for command, name in (("skim", "out.root"), ("convert", "out.parquet")):
        assert main([command, str(one), str(tmp_path / name)]) == 0
    assert ar.open(tmp_path / "out.root")["list/disk"].to_arrow().to_pylist() == rows(0, 50)
    capsys.readouterr()
    assert main(["skim", str(many), str(tmp_path / "many.root")]) == 3
    told = capsys.readouterr().err
    assert "dir/list was left out: the trees in it are taken, and nothing else of it" in told
    assert "dir/list/disk;2 was left out" in told
    assert ar.open(tmp_path / "many.root").trees == ["dir/list/disk", "dir/other/memory"]
    assert main(["skim", str(trees), str(tmp_path / "trees.root")]) == 3
    assert f"arrowroot skim {trees}:list/disk OUT --carry none takes one" in capsys.readouterr().err


def test_a_list_with_trees_that_is_damaged_is_told_of(path, tmp_path, capsys):
    content = bytearray(path.with_name("one.root").read_bytes())
    at = content.index(b"\x05TList\x04list") + 300  # in its compressed bytes
    content[at : at + 100] = bytes(100)
    damaged = tmp_path / "damaged.root"
    damaged.write_bytes(content)
    with pytest.raises(ar.CorruptFileError, match="list"):
        _ = ar.open(damaged).trees
    assert main(["ls", str(damaged)]) != 0
    assert "damaged.root: list: " in capsys.readouterr().err


@pytest.mark.parametrize("name", ["packed", "half", "plain", "alias"])
def test_objects_of_an_rntuple_are_read_by_the_class_that_their_data_name(path, name):
    boxes = ar.open(path.with_name("boxes.root"))["boxes"].to_arrow([name])[name].to_pylist()
    assert boxes == [{"value": i + 0.5, "values": [float(-i)] * i, "n": i} for i in range(4)]


def test_packed_numbers_are_found_in_arguments_of_arguments(path):
    tree = ar.open(path.with_name("boxes.root"))["boxes"]
    outer = [{"box": {"value": i + 0.5, "values": [float(-i)] * i, "n": i}, "value": 0.0} for i in range(4)]
    nested = [{"a": [[i, -i]] * i, "b": "text"} for i in range(4)]
    assert tree.to_arrow(["outer", "nested"]).to_pydict() == {"outer": outer, "nested": nested}
