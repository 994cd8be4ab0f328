"""ROOT's tutorial df037: trees beside another one, joined by an index, of which some lack events."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import arrowroot as ar

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT = -(2**31)
COLUMNS = ["idx", "aux_1.idx", "aux_2.idx", "x", "aux_1.y", "aux_2.z"]


def analyse(folder: Path) -> dict[str, Any]:
    """Return tables of the main tree's entries: with a default value where there is no match, or chosen by that."""
    friends = {
        name: ar.Friends(folder / f"{name}.root", name, index="idx", missing="null")
        for name in ("aux_1", "aux_2")
    }
    scan = partial(ar.scan, folder / "main.root", "events", friends=friends)
    return {
        "defaults": scan(COLUMNS).to_polars().fill_null(DEFAULT),
        "first matches": scan(COLUMNS, filter="!is_null(aux_1.y)").to_polars().fill_null(DEFAULT),
        "first does not match": scan(["idx", "x"], filter="is_null(aux_1.idx)").to_polars(),
    }
