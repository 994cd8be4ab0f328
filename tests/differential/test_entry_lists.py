"""Lists of entries that ROOT wrote hold what ROOT chose, and choose the same entries."""

from __future__ import annotations

import numpy as np
import pytest

import arrowroot as ar

from .compare import RootFiles, written
from .with_entry_lists import CHAIN_LISTS, CHAINS, CONDITIONS, MODULUS, STEP, SYNC_LISTS, write

lists = written(write)


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_list_holds_what_root_chose(lists: RootFiles, name: str) -> None:
    expected = lists.expected["lists"][name]
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


def test_of_a_list_of_several_trees_a_tree_takes_its_own(lists: RootFiles) -> None:
    expected = lists.expected["lists"]["few"]
    with ar.open(lists / "lists.root") as file:
        both = file["both"]
        assert file["T"].to_arrow(entries=both)["x"].to_pylist() == [
            entry * STEP % MODULUS for entry in expected
        ]
        with pytest.raises(ar.InvalidRequestError, match=r"2 trees.*take one of \.lists"):
            both.to_numpy()
        by_tree = {one.tree_name: one.to_numpy().tolist() for one in both.lists}
    assert by_tree == {"T": expected, "U": [7]}
    assert np.array(both.lists[0], dtype=np.uint32).dtype == np.uint32


@pytest.mark.parametrize("of", CHAINS)
@pytest.mark.parametrize("name", [*CHAIN_LISTS, "of_one", "of_none"])
def test_a_chain_reads_what_a_tchain_reads_by_a_list(lists: RootFiles, name: str, of: str) -> None:
    expected = lists.expected["chain"][name][of]
    with ar.open(lists / "chain.root") as file:
        chosen = file[name]
    files = [f"{lists / path}:{tree}" for tree, path in CHAINS[of]]

    def read() -> list[int]:
        return ar.scan(files, columns="x", entries=chosen).read_all()["x"].to_pylist()

    if expected is None:
        with pytest.raises(ar.InvalidRequestError, match=f"'{name}' is of 'T|'dir/T' of .*, not of"):
            read()
    elif of == "fewer":
        # Entries of a file that is not in the chain ROOT (6.40) reads from another one.
        of_all = lists.expected["chain"][name]["same"]
        if name in CHAIN_LISTS:
            with pytest.warns(ar.UnusedEntriesWarning, match=r"part1\.root"):
                assert read() == [x for x in of_all if x // 1000 != 1]
        else:
            assert read() == [x for x in of_all if x // 1000 != 1]
    else:
        # By the order of the files here, by that of the lists there.
        assert sorted(read()) == sorted(expected)


@pytest.mark.parametrize("name", SYNC_LISTS)
def test_lists_of_one_name_choose_what_root_reads_with_sync(lists: RootFiles, name: str) -> None:
    expected = lists.expected["sync"][name]
    with ar.open(lists / "sync.root") as file:
        chosen = file[name]
    files = [f"{lists / part}:T" for part, _ in SYNC_LISTS[name]]
    assert ar.scan(files, columns="x", entries=chosen).read_all()["x"].to_pylist() == expected
