"""A branch that has fewer entries than its tree: read where it has them, and no hindrance to its neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import arrowroot as ar

from . import root_peer
from .with_short import N_ENTRIES, N_SHORT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> ar.Tree:
    file: Path = tmp_path_factory.mktemp("short") / "short.root"
    root_peer.run("with_short.py", file)
    found = ar.open(file)["T"]
    assert isinstance(found, ar.Tree)
    return found


@pytest.mark.parametrize(("columns", "wanted"), [(None, ["first", "second"]), ("!first", ["second"])])
def test_it_is_left_out_of_all_with_a_warning(tree: ar.Tree, columns: str | None, wanted: list[str]) -> None:
    with pytest.warns(
        ar.UnsupportedColumnWarning,
        match=rf"lack some of the {N_ENTRIES} entries: short \(entries 0 to {N_SHORT}\)",
    ):
        table = tree.to_arrow(columns)
    assert table.column_names == wanted
    assert all(table[name].to_pylist() == list(range(N_ENTRIES)) for name in wanted)


def test_by_its_name_it_is_read_where_it_has_entries(tree: ar.Tree) -> None:
    for columns in (["short"], ["short", "first", "!first"]):
        with pytest.raises(ar.InvalidRequestError, match=f"entries 0 to {N_SHORT} of the tree's {N_ENTRIES}"):
            tree.to_arrow(columns)
        table = tree.to_arrow(columns, entries=slice(0, N_SHORT))
        assert table.to_pydict() == {"short": [10 * i for i in range(N_SHORT)]}
