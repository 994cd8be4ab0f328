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
    of_x, of_y = ({name: f"coalesce({name}, {DEFAULT})"} for name in ("x", "y"))
    with_zeros = {"x": "coalesce(x, 0)", "y": "coalesce(y, 0)", "sum": "x + y"}
    return {
        "defaults": scan(columns=["x", "y"], define=of_x | of_y).to_polars(),
        "x is there": scan(columns=["x", "y"], define=of_y, filter="!is_null(x)").to_polars(),
        "y is missing": scan(columns=["x"], filter="is_null(y)").to_polars(),
        "computed": scan(columns=["sum"], define=with_zeros).to_polars(),
    }
