"""Members whose type has changed between two versions of their class: ROOT's second version says what comes out."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arrowroot as ar
from tests.judge import root

from .compare import RootFiles

MACRO = Path(__file__).with_name("write_evolution.C")
N_ENTRIES = 8
SPLITS = (0, 99)
#: Whether collections are stored member by member.
WAYS = (0, 1)
NAMES = ("Evolved", "Resized", "Replaced", "Arrays")
#: Of these ROOT's second version reads the first one wrong.
MISREAD = ("Arrays",)
VERSIONS = ("first", "second")
#: Members of ``Replaced`` that have become something else altogether.
UNRELATED = {
    *("part", "to_pointers", "from_pointers", "others", "number", "numbers", "to_map", "text", "texts"),
    "counted",
}
#: The same of ``Resized``.
UNRELATED_ALONE = {"part", "text"}


@pytest.fixture(scope="module")
def evolution_files(tmp_path_factory: pytest.TempPathFactory) -> RootFiles:
    """Trees of both versions, with what each reads of all that are there, by version, file and tree."""
    directory = tmp_path_factory.mktemp("evolution")
    return RootFiles(directory, {version: written_and_read(directory, version) for version in VERSIONS})


def written_and_read(directory: Path, version: str) -> dict[str, list[str]]:
    calls: list[tuple[Any, ...]] = []
    for split in SPLITS:
        for way in WAYS:
            file = f"{split}_{way}.root"
            calls.append(("evo.write_all", file, version, split, bool(way), N_ENTRIES))
            # Where members are branches, ROOT writes past the end of what has become smaller.
            calls += [
                ("evo.read", file, name, stored)
                for stored in VERSIONS[: VERSIONS.index(version) + 1]
                for name in NAMES
                if stored == version or not (split or name in MISREAD)
            ]
    source = ("#define SECOND\n" if version == "second" else "") + MACRO.read_text()
    said = zip(calls, root.compiled(directory, source, *calls), strict=True)
    return {f"{file} {what[0]}_{what[1]}": lines for (call, file, *what), lines in said if call == "evo.read"}


def root_values(files: RootFiles, version: str, file: str, tree: str) -> list[dict[str, Any]]:
    """What a version of the class reads in ROOT: the one object and the many of each entry."""
    values = [plain(json.loads(line)) for line in files.expected[version][f"{file} {tree}"]]
    return [{"one": one, "many": many} for one, many in zip(values[::2], values[1::2], strict=True)]


def plain(value: Any) -> Any:
    """Structs as dictionaries, pairs of maps as tuples, truth as numbers, and NaN as None, as in JSON."""
    match value:
        case {"$pair": _}:
            return plain(value["first"]), plain(value["second"])
        case dict():
            return {name: plain(member) for name, member in value.items() if name != "_typename"}
        case list() | tuple():
            items = [plain(item) for item in value]
            return tuple(items) if isinstance(value, tuple) else items
        case bool():
            return int(value)
        case float() if math.isnan(value):
            return None
    return value


def with_bases(entries: list[dict[str, Any]], version: str) -> list[dict[str, Any]]:
    """Give the array that is the base of ``Arrays`` the name of its class, and the other version's no values."""
    names = ("TArrayF", "TArrayD") if version == "first" else ("TArrayD", "TArrayF")
    for entry in entries:
        for item in (entry["one"], *entry["many"]):
            item |= dict(zip(names, (item.pop("fArray"), None), strict=True))
    return entries


def arrow_values(files: RootFiles, file: str, tree: str, *, assemble: bool) -> list[dict[str, Any]]:
    with ar.open(files / file) as opened:
        return plain(pa.table(opened[tree].to_arrow(assemble=assemble)).to_pylist())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("version", VERSIONS)
def test_members_that_became_something_of_their_kind_are_converted_as_root_does(
    evolution_files, version, way
):
    file, tree = f"0_{way}.root", f"Evolved_{version}"
    wanted = root_values(evolution_files, "second", file, tree)
    assert len(wanted) == N_ENTRIES
    assert arrow_values(evolution_files, file, tree, assemble=False) == wanted


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "unrelated"), [("Replaced", UNRELATED), ("Resized", UNRELATED_ALONE)])
def test_arrays_are_cut_and_filled_up_and_what_became_something_unrelated_is_null(
    evolution_files, way, name, unrelated
):
    file = f"0_{way}.root"
    found = arrow_values(evolution_files, file, f"{name}_first", assemble=False)
    wanted = root_values(evolution_files, "second", file, f"{name}_first")
    for entry in wanted:
        for item in (entry["one"], *entry["many"]):
            # ROOT leaves them as the constructor made them.
            item.update(dict.fromkeys(unrelated))
    assert found == wanted
    found = arrow_values(evolution_files, file, f"{name}_second", assemble=False)
    assert found == root_values(evolution_files, "second", file, f"{name}_second")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("version", VERSIONS)
def test_arrays_that_write_themselves_are_converted_but_bases_stay_apart(evolution_files, version, way):
    file, tree = f"0_{way}.root", f"Arrays_{version}"
    found = arrow_values(evolution_files, file, tree, assemble=False)
    assert found == with_bases(root_values(evolution_files, version, file, tree), version)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["Resized", "Arrays"])
@pytest.mark.parametrize("version", VERSIONS)
def test_objects_of_keys_are_converted_as_those_in_branches(evolution_files, version, name, way):
    reader = version if name in MISREAD else "second"
    wanted = root_values(evolution_files, reader, f"0_{way}.root", f"{name}_{version}")[-1]
    with ar.open(evolution_files / f"0_{way}.root") as file:
        one, many = (file[f"{name}_{version}_{key}"] for key in ("one", "many"))
        found = [plain(json.loads(record.to_json())) for record in (one, *many)]
    wanted = [wanted["one"], *wanted["many"]]
    if (name, version) == ("Resized", "first"):
        wanted = [{name: item[name] for name in item if name not in UNRELATED_ALONE} for item in wanted]
    assert found == wanted


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", VERSIONS)
def test_members_that_are_branches_have_the_type_that_they_are_stored_with(
    evolution_files, version, name, way
):
    file, tree = f"{SPLITS[1]}_{way}.root", f"{name}_{version}"
    found = arrow_values(evolution_files, file, tree, assemble=True)
    wanted = root_values(evolution_files, version, file, tree)
    assert found == (with_bases(wanted, version) if name == "Arrays" else wanted)


@pytest.mark.parametrize("name", NAMES)
def test_trees_of_both_versions_have_one_type(evolution_files, name):
    with ar.open(evolution_files / "0_0.root") as file:
        first, second = (pa.schema(file[f"{name}_{version}"].schema) for version in VERSIONS)
    assert first == second
