"""A branch that has fewer entries than its tree: read where it has them, and no hindrance to its neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import arrowroot as ar

from .compare import RootFiles, written
from .with_small_trees import N_BESIDE_SHORT, N_SHORT, write_short

if TYPE_CHECKING:
    from pathlib import Path


files = written(write_short)


@pytest.fixture
def tree(files: RootFiles) -> ar.Tree:
    found = ar.open(files / "short.root")["T"]
    assert isinstance(found, ar.Tree)
    return found


@pytest.mark.parametrize(("columns", "wanted"), [(None, ["first", "second"]), ("!first", ["second"])])
def test_it_is_left_out_of_all_with_a_warning(tree: ar.Tree, columns: str | None, wanted: list[str]) -> None:
    with pytest.warns(
        ar.UnsupportedColumnWarning,
        match=rf"with too few entries: short \(entries 0 to {N_SHORT} of {N_BESIDE_SHORT}\)",
    ):
        table = tree.to_arrow(columns)
    assert table.column_names == wanted
    assert all(table[name].to_pylist() == list(range(N_BESIDE_SHORT)) for name in wanted)


def test_by_its_name_it_is_read_where_it_has_entries(tree: ar.Tree) -> None:
    for columns in (["short"], ["short", "first", "!first"]):
        with pytest.raises(
            ar.InvalidRequestError, match=f"entries 0 to {N_SHORT} of the tree's {N_BESIDE_SHORT}"
        ):
            tree.to_arrow(columns)
        table = tree.to_arrow(columns, entries=slice(0, N_SHORT))
        assert table.to_pydict() == {"short": [10 * i for i in range(N_SHORT)]}


@pytest.mark.parametrize("columns", [None, "!y"])
def test_beside_a_friend_and_as_one_it_is_left_out_too(
    tree: ar.Tree, tmp_path: Path, columns: str | None
) -> None:
    ar.write(f"{tmp_path}/w.root:W", {"y": list(range(N_BESIDE_SHORT))})
    short = f"{tree.url}:T"
    for main, friend in ((short, f"{tmp_path}/w.root:W"), (f"{tmp_path}/w.root:W", short)):
        first, beside = (_opened(location) for location in (main, friend))
        first.add_friend(beside, "f")
        for read in (
            lambda first=first: first.to_arrow(columns),
            lambda main=main, friend=friend: ar.scan(main, columns=columns, friends={"f": friend}).read_all(),
        ):
            with pytest.warns(ar.UnsupportedColumnWarning, match="with too few entries: short"):
                table = read()
            assert set(table.column_names) == {"first", "second", "y"} - {columns and "y"}
        named = first.to_arrow(["f.short" if friend == short else "short"], entries=slice(0, N_SHORT))
        assert named.num_rows == N_SHORT


def _opened(location: str) -> ar.Tree:
    url, _, name = location.rpartition(":")
    found = ar.open(url)[name]
    assert isinstance(found, ar.Tree)
    return found
