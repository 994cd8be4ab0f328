"""ROOT's tutorial df036: a data set of files of which some lack a branch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import arrowroot as ar

if TYPE_CHECKING:
    from pathlib import Path

#: The first file has both x and y, the second y, the third x.
TREES = {"first.root": "tree_1", "second.root": "tree_2", "third.root": "tree_3"}
DEFAULT = -(2**31)


def analyse(folder: Path) -> dict[str, Any]:
    """Return tables of the entries: with a default value for what is missing, or chosen by what is."""
    scan = partial(ar.scan, {folder / name: tree for name, tree in TREES.items()}, missing="null")
    return {
        "defaults": scan(columns=["x", "y"]).to_polars().fill_null(DEFAULT),
        "x is there": scan(columns=["x", "y"], filter="!is_null(x)").to_polars().fill_null(DEFAULT),
        "y is missing": scan(columns=["x"], filter="is_null(y)").to_polars(),
        "computed": scan(columns=["sum"], define={"sum": "coalesce(x, 0) + coalesce(y, 0)"}).to_polars(),
    }
