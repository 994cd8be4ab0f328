"""Objects of classes that people derive from ROOT's: what is in the base, and the members that the class adds."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import arrowroot as ar

from . import root_peer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COLLECTIONS = ["list", "hash_list", "sorted_list", "array", "ordered", "further", "clones"]
NAMES = ["n0", "n1", "n2"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("derived")
    root_peer.run("with_derived.py", directory)
    return directory / "derived.root"


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
    assert (found["own"], found["fSize"], found.fItems) == (42, 7, 8)
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
        assert holder[name]["own"] == 42
    (inner,) = holder["others"]
    assert [item.name for item in inner] == NAMES


def test_a_name_and_a_title_hide_no_collection(file):
    found = file["named_list"]
    assert isinstance(found, ar.ObjectList)
    assert [item.name for item in found] == NAMES
    assert (found["fName"], found["own"]) == ("called", 42)


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
