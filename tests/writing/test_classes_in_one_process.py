"""Files whose classes would have one name do not disturb each other in a process that reads both, in either order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from tests.judge import root
from tests.tables import struct

from . import classes_with_root
from .invariants import assert_sound

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")


#: The same column of the same tree, with other members.
KINDS = {
    "narrow": struct(pt=pa.float32(), n=pa.int32()),
    "wide": struct(n=pa.float64(), q=pa.int16(), pt=pa.int64()),
}
#: Layouts by name: whether there is one object for each entry, and what the layout says.
LAYOUTS: dict[str, tuple[bool, dict[str, Any]]] = {
    "split object": (True, {"split": 99}),
    "whole object": (True, {"split": 0}),
    "split list": (False, {"split": 99}),
    "whole list": (False, {"split": 0}),
    "member by member": (False, {"split": 0, "memberwise": True}),
}
ORDERS = (("narrow", "wide"), ("wide", "narrow"))


def values_of(kind: str, layout: str) -> list[Any]:
    objects = [{name: 3 * k + place for place, name in enumerate(["n", "pt", "q"])} for k in range(20)]
    members = KINDS[kind].names
    objects = [{name: one[name] for name in members} for one in objects]
    return objects if LAYOUTS[layout][0] else [objects[k : k + k % 3] for k in range(15)]


def write(path: Path, table: str, kind: str, layout: str, class_name: str | None) -> None:
    is_one, said = LAYOUTS[layout]
    of = KINDS[kind] if is_one else pa.list_(pa.field("item", KINDS[kind], nullable=False))
    data = pa.table(
        [pa.array(values_of(kind, layout), of)], schema=pa.schema([pa.field("x", of, nullable=False)])
    )
    classes = {} if class_name is None else {"x": class_name}
    ar.write(f"{path}:{table}", data, layout=ar.Layout(classes=classes, **said))
    assert_sound(path)


def write_all(directory: Path, order: tuple[str, str], is_named: bool) -> list[tuple[Path, str, str]]:
    """Write a file of each kind in each layout, with names that no other order has. Return path, kind and layout."""
    found = []
    for kind in order:
        for place, layout in enumerate(LAYOUTS):
            path = directory / f"{order[0]}-{is_named}-{kind}-{place}.root"
            write(path, f"T{order[0]}", kind, layout, f"Muon{order[0]}{place}" if is_named else None)
            found.append((path, kind, layout))
    return found


def flat(kind: str, layout: str, member: str) -> list[float]:
    values = values_of(kind, layout)
    return [float(one[member]) for entry in values for one in ([entry] if isinstance(entry, dict) else entry)]


@pytest.mark.long
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_root_reads_both_and_says_nothing(tmp_path, order):
    # Of classes that are named ROOT without a dictionary keeps the members of the first file, whatever the version is.
    files = write_all(tmp_path, order, is_named=False)
    trees = [
        (str(path), f"T{order[0]}", [f"x.{name}" for name in KINDS[kind].names], "split" in layout)
        for path, kind, layout in files
    ]
    # ROOT says of each class that it has no dictionary of it.
    but = ("no dictionary for class",)
    found = root.run(classes_with_root.read_all, tmp_path, trees, complaints_but=but)
    for (path, kind, layout), told in zip(files, found, strict=True):
        for route, read in told.items():
            for name, values in read.items():
                assert values == flat(kind, layout, name[2:]), f"{route}, {name} of {path.name}, {layout}"
        assert len(told["Draw"]) == len(KINDS[kind].names)
        assert ("split" in layout) == bool(told["RDataFrame"])


@pytest.mark.parametrize("is_named", [False, True])
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_uproot_reads_both(tmp_path, order, is_named):
    files = write_all(tmp_path, order, is_named)
    for path, kind, layout in [*files, *files]:
        if layout in ("whole list", "member by member"):
            continue  # uproot 5.7 takes whole lists for other values: the plan says so
        with uproot.open(path) as file:
            tree = file[f"T{order[0]}"]
            if layout == "whole object":
                read = {
                    name: [one[name] for one in tree["x"].array().to_list()] for name in KINDS[kind].names
                }
            else:
                read = {name: tree[f"x.{name}"].array().to_list() for name in KINDS[kind].names}
        for name, values in read.items():
            numbers = [one for entry in values for one in (entry if isinstance(entry, list) else [entry])]
            assert numbers == flat(kind, layout, name), f"{name} of {path.name}, {layout}"


def test_the_same_members_have_the_same_class_in_all_files(tmp_path):
    names = set()
    for number in range(2):
        path = tmp_path / f"{number}.root"
        write(path, "T", "narrow", "split list" if number else "whole list", None)
        with ar.open(path) as file:
            names |= {str(branch.type_name) for branch in file["T"].branches}
    classes = {name for name in names if "T_x" in name}
    assert len({name.replace("vector<", "").replace(">", "").strip() for name in classes}) == 1, names
