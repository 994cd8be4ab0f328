"""Classes that have one base twice: an RNTuple gives what a tree gives, under the same names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import arrowroot as ar

from .compare import RootFiles, compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

MACRO = Path(__file__).with_name("write_diamonds.C")
N_ENTRIES = 6
LEFT = "diamond::Left::diamond::Common::"
RIGHT = "diamond::Right::diamond::Common::"
BOTH = "diamond::Both::"


files = compiled(MACRO, ("diamond.write", "diamonds.root", N_ENTRIES))


@pytest.fixture
def file(files: RootFiles) -> Iterator[ar.File]:
    with ar.open(files / "diamonds.root") as file:
        yield file


def test_members_of_a_base_that_comes_twice_have_the_bases_before_them(file):
    wanted = [
        {f"{LEFT}x": k, f"{LEFT}y": k + 0.5, "l": k + 100, "x": -k, "y": -k - 0.5, "r": k + 200, "b": k + 300}
        for k in range(N_ENTRIES)
    ]
    for table in ("T", "N"):
        assert [row["both"] for row in file[table].to_arrow("both").to_pylist()] == wanted, table


def test_split_objects_put_together_have_the_names_of_whole_ones(file):
    whole, split = (file[table] for table in ("T", "S"))
    wanted = whole.to_arrow(["both"]).to_pylist()
    assert split.to_arrow(["both"], assemble=True).to_pylist() == wanted
    dotted = split.to_arrow(["dotted."], assemble=True).to_pylist()
    assert dotted == [{"dotted.": row["both"]} for row in wanted]
    # Of the members of one name ROOT writes the last into all, where the objects of a collection are split.
    items = split.to_arrow(["items"], assemble=True)["items"]
    assert items.type == whole.to_arrow(["items"])["items"].type
    assert [(item["x"], item[f"{BOTH}{LEFT}x"]) for item in items.to_pylist()[1]] == [(7, 7)]


def test_each_member_is_a_column_of_its_own(file):
    ntuple = file["N"]
    for path, full_path, sign in (
        (f"both.{LEFT}x", "both.:_0.:_0.x", 1),
        ("both.x", "both.:_1.:_0.x", -1),
    ):
        for name in (path, full_path):
            assert ntuple.to_arrow(name).to_pylist() == [{path: sign * k} for k in range(N_ENTRIES)]
    items = ntuple.to_arrow(["items.x", f"items.{BOTH}{RIGHT}x"]).to_pylist()
    assert items[1] == {"items.x": [7], f"items.{BOTH}{RIGHT}x": [-10]}
    assert len({column.path for column in ntuple.branches}) == len(ntuple.branches)


def test_a_tree_and_an_rntuple_have_the_same_names(file):
    tree, ntuple = (file[table].to_arrow(["both", "items"]).to_pylist() for table in ("T", "N"))
    assert tree == ntuple
    (first, *_) = ntuple[1]["items"]
    # The class's own member has the plain name, and both that it hides have another.
    assert (first["x"], first[f"{BOTH}{LEFT}x"], first[f"{BOTH}{RIGHT}x"]) == (7, 10, -10)
    assert (first[f"{BOTH}{LEFT}y"], first["y"]) == (10.5, -10.5)
