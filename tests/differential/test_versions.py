"""Two versions of one class in one file, of processes that each knew one: both are read as ROOT reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arrowroot as ar
from tests.judge import root

from .compare import RootFiles, values_of

MACRO = Path(__file__).with_name("write_versions.C")
N_ENTRIES = 7
#: Members that the second version has added, and the one that it has dropped.
ADDED, DROPPED = ("added", "more"), "old"


@pytest.fixture(scope="module")
def version_files(tmp_path_factory: pytest.TempPathFactory) -> RootFiles:
    """A tree of each version in ``both.root``, and their baskets in one tree of ``merged.root``.

    In ``changed.root`` a counted array has become a number.
    """
    directory = tmp_path_factory.mktemp("versions")
    sources = {"first": MACRO.read_text(), "second": "#define SECOND\n" + MACRO.read_text()}
    for version, mode in (("first", "RECREATE"), ("second", "UPDATE")):
        calls = [
            ("write", "both.root", mode, version, True, N_ENTRIES),
            ("write_changed", mode, version, N_ENTRIES),
            ("write", f"{version}.root", "RECREATE", "T", False, N_ENTRIES),
        ]
        root.interpreted(directory, sources[version], *calls)
    (is_merged,) = root.interpreted(directory, MACRO, ("merge", "first.root", "second.root", "merged.root"))
    assert is_merged
    trees = {"first": ("both.root", "first", True), "second": ("both.root", "second", True)}
    trees |= {"T": ("merged.root", "T", False)}
    read = root.interpreted(directory, sources["second"], *(("read", *tree) for tree in trees.values()))
    (of_first,) = root.interpreted(directory, MACRO, ("read", *trees["first"]))
    return RootFiles(directory, {"first": {"first": of_first}, "second": dict(zip(trees, read, strict=True))})


def said(files: RootFiles, version: str, tree: str) -> tuple[list[Any], list[Any]]:
    """What ROOT reads by a version of the class: the single objects, if any, and the arrays of objects."""
    values = [json.loads(line) for line in files.expected[version][tree]]
    arrays = [value["arr"] for value in values if value["_typename"] == "TObjArray"]
    return [value for value in values if value["_typename"] == "Thing"], arrays


def assert_same(found: dict[str, Any], wanted: dict[str, Any], is_first: bool) -> None:
    """Equal in what ROOT has in memory; what was not written is null, where ROOT has what its constructor gave it."""
    assert (found[DROPPED] is None) != is_first
    for name, value in wanted.items():
        if name == "_typename":
            continue
        if name == "part":
            assert_same(found[name], value, is_first)
        elif name in ADDED and is_first:
            assert found[name] is None
        else:
            assert found[name] == value, name


def objects(array: dict[str, Any]) -> list[Any]:
    assert all(item["@class"] == "Thing" and item["@bytes"] is None for item in array["fObjects"])
    return [item["Thing"] for item in array["fObjects"]]


@pytest.mark.parametrize("tree", ["first", "second"])
def test_trees_of_two_versions_are_read_as_root_reads_them(version_files, tree):
    with ar.open(version_files / "both.root") as file:
        table = pa.table(file[tree].to_arrow())
        assert table.schema == pa.table(file["first"].to_arrow()).schema
    things, arrays = said(version_files, "second", tree)
    assert len(things) == len(arrays) == N_ENTRIES
    for found, wanted in zip(values_of(table, "thing"), things, strict=True):
        assert_same(found, wanted, is_first=tree == "first")
    for found, wanted in zip(values_of(table, "things"), arrays, strict=True):
        for one, other in zip(objects(found), wanted, strict=True):
            assert_same(one, other, is_first=tree == "first")


def test_what_the_later_version_dropped_is_read_as_the_earlier_one_reads_it(version_files):
    with ar.open(version_files / "both.root") as file:
        table = file["first"].to_arrow()
    things, _ = said(version_files, "first", "first")
    found = values_of(table, "thing")
    assert [(one["old"], one["part"]["old"]) for one in found] == [
        (o["old"], o["part"]["old"]) for o in things
    ]


def test_one_branch_of_two_versions_is_read_as_root_reads_it(version_files):
    with ar.open(version_files / "merged.root") as file:
        arrays = [objects(array) for array in values_of(file["T"].to_arrow(["things"]), "things")]
    _, wanted = said(version_files, "second", "T")
    assert len(arrays) == len(wanted) == 2 * N_ENTRIES
    for entry, (some, others) in enumerate(zip(arrays, wanted, strict=True)):
        for one, other in zip(some, others, strict=True):
            assert_same(one, other, is_first=entry < N_ENTRIES)
    assert any(arrays[:N_ENTRIES])
    assert any(arrays[N_ENTRIES:])


def test_an_array_that_became_a_number_is_null_in_the_earlier_version(version_files):
    with ar.open(version_files / "changed.root") as file:
        found = values_of(file["second"].to_arrow(["changed"]), "changed")
        assert [(value["n"], value["x"]) for value in found] == [(i, 10 * i) for i in range(N_ENTRIES)]
        found = values_of(file["first"].to_arrow(["changed"]), "changed")
        assert [(value["n"], value["x"]) for value in found] == [(i % 3, None) for i in range(N_ENTRIES)]
