"""Lists of entries that ROOT wrote hold what ROOT chose, and choose the same entries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import arrowroot as ar

from . import root_peer
from .with_entry_lists import CONDITIONS, MODULUS, STEP

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("lists")
    root_peer.run("with_entry_lists.py", directory)
    return directory


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_list_holds_what_root_chose(lists: Path, name: str) -> None:
    expected = json.loads((lists / "lists.json").read_text())[name]
    with ar.open(lists / "lists.root") as file:
        for kind in ("event", "entry"):
            found = file[f"{kind}_{name}"]
            assert isinstance(found, ar.EntryList)
            assert found.to_numpy().tolist() == expected, kind
            assert found.num_entries == len(expected)
            assert f"{len(expected):,}" in repr(found)
            table = file["T"].to_arrow(entries=found)
            assert table["x"].to_pylist() == [entry * STEP % MODULUS for entry in expected]
        assert file[f"entry_{name}"].tree_name == "T"
        assert file[f"entry_{name}"].file_name.endswith("lists.root")


def test_a_list_of_several_trees_says_so_and_has_theirs(lists: Path) -> None:
    expected = json.loads((lists / "lists.json").read_text())["few"]
    with ar.open(lists / "lists.root") as file:
        both = file["both"]
        with pytest.raises(ar.InvalidRequestError, match=r"2 trees.*take one of \.lists"):
            file["T"].to_arrow(entries=both)
        by_tree = {one.tree_name: one.to_numpy().tolist() for one in both.lists}
    assert by_tree == {"T": expected, "U": [7]}
    assert np.array(both.lists[0], dtype=np.uint32).dtype == np.uint32
