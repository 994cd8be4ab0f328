"""Objects in ROOT's collections, and behind pointers to their bases: arrowroot reads what ROOT reads."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from tests.judge import root

from .compare import RootFiles, values_of

MACRO = Path(__file__).with_name("write_holders.C")
N_ENTRIES = 24
#: Entries in a basket.
N_FLUSH = 6
BRANCHES = [
    "members", "objects", "cells", "array", "late", "list", "map", "histogram", "any", "pointers", "matrix", "event.",
]  # fmt: skip
BOOKKEEPING = ("fUniqueID", "fBits", "fSize")
#: Classes in ROOT's way of naming the items of its collections in JSON, and what we call them.
ITEMS = {"fItems": ("object", "option"), "fObjects": (), "fPairs": ("key", "value")}


@pytest.fixture(scope="module")
def holder_files(tmp_path_factory: pytest.TempPathFactory) -> RootFiles:
    """With a text of JSON for each entry and branch, in turn; ``ntuple.root`` has two of the branches of ``0.root``."""
    directory = tmp_path_factory.mktemp("holders")
    files = {split: f"{split}.root" for split in (0, 99)}
    calls = [("held.write", path, N_ENTRIES, split, N_FLUSH) for split, path in files.items()]
    calls += [("held.read", path) for path in files.values()]
    *_, one, other, _ = root.compiled(
        directory, MACRO, *calls, ("held.write_ntuple", "0.root", "ntuple.root", N_FLUSH)
    )
    return RootFiles(directory, dict(zip(files, (one, other), strict=True)))


def with_references(value: Any, known: list[Any]) -> Any:
    """ROOT's JSON with the objects in the places of references to them; what is around itself is an error."""
    if isinstance(value, list):
        return [with_references(item, known) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return known[value["$ref"]]
    whole: dict[str, Any] = {}
    if "$pair" not in value:
        known.append(whole)
    for name, member in value.items():
        whole[name] = with_references(member, known)
    return whole


def expected(files: RootFiles, split: int, branch: str) -> list[Any]:
    wanted = files.expected[split][BRANCHES.index(branch) :: len(BRANCHES)]
    return [with_references(json.loads(line), []) for line in wanted]


def as_arrow(value: Any, kind: pa.DataType) -> Any:
    """ROOT's JSON in the shape of an Arrow type."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        types = {field.name: field.type for field in (kind.field(i) for i in range(kind.num_fields))}
        if "@class" in types:
            classes = types.keys() - {"@class", "@bytes"}
            assert value["_typename"] in classes
            known = {
                name: as_arrow(value, types[name]) if name == value["_typename"] else None for name in classes
            }
            return {"@class": value["_typename"], "@bytes": None, **known}
        return {name: member_of(value, name, kind) for name, kind in types.items() if name not in BOOKKEEPING}
    if hasattr(kind, "value_type"):
        items = value["arr"] if isinstance(value, dict) else value
        return [as_arrow(item, kind.value_type) for item in items]
    return float(np.float32(value)) if pa.types.is_float32(kind) else value


def member_of(value: dict[str, Any], name: str, kind: pa.DataType) -> Any:
    if name in ITEMS and "arr" in value:
        items, options = value["arr"], value.get("opt")
        names = {"fItems": ("object", "option"), "fPairs": ("first", "second")}.get(name)
        if name == "fObjects":
            return [as_arrow(item, kind.value_type) for item in items]
        if name == "fItems":
            assert options is not None or not items
            pairs = zip(items, [option or "" for option in options or []], strict=True)
            items = [dict(zip(names, pair, strict=True)) for pair in pairs]
        here = [kind.value_type.field(i) for i in range(2)]
        return [
            {f.name: as_arrow(item[there], f.type) for f, there in zip(here, names, strict=True)}
            for item in items
        ]
    if "arr" in value and name == "fName":
        return value["name"] if value["name"] != value["_typename"] else ""  # it has none
    if "arr" in value and name == "fLowerBound":
        return 0
    names = {"TArrayF": "fArray"}
    return as_arrow(value[names.get(name, name)], kind)


def without_bookkeeping(value: Any) -> Any:
    if isinstance(value, dict):
        if "fObjects" in value:  # ROOT's JSON leaves out the gaps
            assert value["fSize"] == len(value["fObjects"])
            value = {**value, "fObjects": [item for item in value["fObjects"] if item is not None]}
        return {k: without_bookkeeping(v) for k, v in value.items() if k not in BOOKKEEPING}
    return [without_bookkeeping(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("branch", sorted(set(BRANCHES) - {"late", "matrix", "event."}))
def test_objects_in_branches_are_as_root_reads_them(holder_files, branch):
    with ar.open(holder_files / "0.root") as file:
        table = pa.table(file["T"].to_arrow([branch]))
        assert table.schema.field(branch).equals(file["T"].schema.field(branch))
    kind = table.schema.field(branch).type
    found = without_bookkeeping(values_of(table, branch))
    if branch == "objects":  # ROOT's JSON leaves out the gaps
        found = [[item for item in array if item is not None] for array in found]
    wanted = [as_arrow(value, kind) for value in expected(holder_files, 0, branch)]
    assert len(found) == len(wanted) == N_ENTRIES
    assert found == wanted


def test_an_object_that_holds_all_of_them_is_as_root_reads_it(holder_files):
    with ar.open(holder_files / "0.root") as file:
        table = pa.table(file["T"].to_arrow(["event."]))
    kind = table.schema.field("event.").type
    found = without_bookkeeping(values_of(table, "event."))
    assert found == [as_arrow(value, kind) for value in expected(holder_files, 0, "event.")]


def test_members_of_a_split_object_are_as_root_reads_them(holder_files):
    n_compared = 0
    with ar.open(holder_files / "99.root") as file:
        tree = file["T"]
        for column in tree.columns:
            branch, _, member = column.name.partition("/")
            member = member.rpartition("/")[2].removeprefix(branch).partition("[")[0]
            if branch != "event." or "TObject" in column.name or "." in member or "fUniqueID" in member:
                continue
            table = pa.table(tree.to_arrow([column.name]))
            kind = table.schema.field(0).type
            wanted = [as_arrow(value[member], kind) for value in expected(holder_files, 99, branch)]
            assert without_bookkeeping(values_of(table, column.name)) == wanted, column.name
            n_compared += 1
    assert n_compared >= 7


def test_split_and_unsplit_arrays_of_clones_give_the_same(holder_files):
    def numbers(name: str, **options: Any) -> Any:
        with ar.open(holder_files / name) as file:
            return values_of(file["T"].to_arrow(["event."], **options), "event.")

    whole, split = numbers("0.root"), numbers("99.root", assemble=True)
    assert [event["hits"] for event in whole] == [event["hits"] for event in split]
    assert any(event["hits"] for event in whole)


def test_a_class_that_the_first_entries_do_not_have_comes_as_bytes(holder_files):
    with ar.open(holder_files / "0.root") as file:
        found = pa.table(file["T"].to_arrow(["late"])).column("late").to_pylist()
    wanted = expected(holder_files, 0, "late")
    n_late = 0
    for entry, (a, b) in enumerate(zip(found, wanted, strict=True)):
        assert [item["@class"] for item in a["fObjects"]] == [item["_typename"] for item in b["arr"]]
        for item in a["fObjects"]:
            is_late = item["@class"] == "held::Late"
            assert (item["@bytes"] is not None) == is_late
            if is_late:
                assert struct.unpack(">i", item["@bytes"][-4:]) == (entry,)
                n_late += 1
    assert n_late > N_FLUSH


@pytest.mark.parametrize(("field", "branch"), [("event", "event."), ("late", "late")])
def test_streamers_write_the_same_into_rntuples(holder_files, field, branch):
    """The classes of objects behind pointers and in collections are learnt from the first ones, as in trees."""
    with ar.open(holder_files / "0.root") as file:
        wanted = pa.table(file["T"].to_arrow([branch]))
    with ar.open(holder_files / "ntuple.root") as file:
        found = pa.table(file["N"].to_arrow([field]))
        assert found.schema.field(field).equals(file["N"].schema.field(field))
        assert pa.table(file["N"].to_arrow([field], entries=slice(5, 9))).equals(found.slice(5, 4))
    found.validate(full=True)
    assert found.schema.field(field).type == wanted.schema.field(branch).type
    assert "@class" in str(found.schema.field(field).type)
    found, wanted = found.column(field).to_pylist(), wanted.column(branch).to_pylist()
    assert without_bookkeeping(found) == without_bookkeeping(wanted)


def test_of_symmetric_matrices_the_upper_half_is_read(holder_files):
    with ar.open(holder_files / "0.root") as file:
        found = values_of(file["T"].to_arrow(["matrix"]), "matrix")
    assert [matrix["fElements"] for matrix in found] == expected(holder_files, 0, "matrix")
    assert [(matrix["fNrows"], matrix["fNcols"]) for matrix in found] == [(2, 2)] * N_ENTRIES


def test_gaps_in_arrays_are_null(holder_files):
    with ar.open(holder_files / "0.root") as file:
        table = file["T"].to_arrow(["array", "objects"])
    for entry, array in enumerate(values_of(table, "array")):
        places = [place for place, item in enumerate(array["fObjects"]) if item is not None]
        assert places == [[], [0], [0, 1, 5], [0, 1, 5, 6]][entry % 4]
    for entry, objects in enumerate(values_of(table, "objects")):
        places = [place for place, item in enumerate(objects) if item is not None]
        assert places == [[], [0], [0], [0, 2]][entry % 4]


@pytest.mark.parametrize("branch", BRANCHES)
def test_ranges_and_lists_of_entries_are_parts_of_the_whole(holder_files, branch):
    with ar.open(holder_files / "0.root") as file:
        tree = file["T"]
        whole = values_of(tree.to_arrow([branch]), branch)
        assert values_of(tree.to_arrow([branch], entries=range(5, 15)), branch) == whole[5:15]
        picked = [1, 7, 8, 22]
        assert values_of(tree.to_arrow([branch], entries=picked), branch) == [
            whole[entry] for entry in picked
        ]
