"""Bits and numbers of a tree that might change what its data mean: see the table in docs/type-mapping.md."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

import arrowroot as ar
from arrowroot.cli import main

from .compare import RootFiles, written
from .with_small_trees import N_FLAGS, write_flags

if TYPE_CHECKING:
    from pathlib import Path


flags = written(write_flags)


@pytest.mark.parametrize(
    ("name", "end"),
    [("status_after", N_FLAGS), ("weight", N_FLAGS), ("entry_list", N_FLAGS), ("fewer", 100)],
)
def test_what_is_stored_is_read_as_often_as_the_tree_says(flags: RootFiles, name: str, end: int) -> None:
    tree = ar.open(flags / f"{name}.root")["T"]
    found = tree.to_arrow()
    assert found["x"].to_pylist() == list(range(end))
    assert found["y"].to_pylist() == list(range(0, 2 * end, 2))


def test_a_circular_tree_has_its_last_entries(flags: RootFiles) -> None:
    tree = ar.open(flags / "circular.root")["T"]
    assert 0 < tree.num_entries <= 1000
    found = tree.to_arrow()
    assert found["x"].to_pylist() == list(range(N_FLAGS - tree.num_entries, N_FLAGS))
    assert found["y"].to_pylist() == [2 * x for x in found["x"].to_pylist()]


@pytest.mark.parametrize(
    ("name", "left_out", "why"),
    [
        ("status_before", ["y"], r"y \(entries 0 to 0 of 5,000\)"),
        ("more", ["x", "y"], r"x \(entries 0 to 5000 of 10,000\), y \(entries 0 to 5000 of 10,000\)"),
        ("file", ["y"], r"y \(y/I\)"),
    ],
)
def test_branches_without_all_entries_here_are_left_out_with_a_warning(
    flags: RootFiles, name: str, left_out: list[str], why: str
) -> None:
    tree = ar.open(flags / f"{name}.root")["T"]
    with pytest.warns(ar.UnsupportedColumnWarning, match=why):
        found = tree.to_arrow()
    assert found.column_names == [column for column in ("x", "y") if column not in left_out]
    assert found.num_rows == tree.num_entries


def test_a_tree_without_columns_to_read_does_not_keep_the_others_from_being_copied(
    flags: RootFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.root"
    assert main(["skim", str(flags / "two.root"), str(out), "--verify"]) == 3
    shown = capsys.readouterr()
    assert "1 entry of with" in shown.out
    assert "without was left out" in shown.err
    assert "no column that can be read" in shown.err
    assert ar.open(out).trees == ["with"]
    for command, source, target in (
        ("skim", "two.root:without", "a.root"),
        ("skim", "more.root", "a.root"),
        ("convert", "more.root", "a.parquet"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ar.UnsupportedColumnWarning)
            assert main([command, str(flags / source), str(tmp_path / target)]) == 3
        assert "no column that can be read" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["out.root"]
