"""uproot as a writer.

It makes one basket, or cluster, for each call of ``extend``: entries come in parts of 30 MB, as ROOT's clusters are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import awkward as ak
import data
import numpy as np
import uproot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PART_BYTES = 30_000_000
CODECS = {1: uproot.ZLIB, 2: uproot.LZMA, 4: uproot.LZ4, 5: uproot.ZSTD}
#: uproot hands its level to the library as it is; ROOT's level of ZSTD is half of the library's.
LIBRARY_LEVELS = {5: 2}
#: LZ4 of this level and above is its HC variant in ROOT; uproot has the fast one at every level.
LZ4_HC = range(404, 500)


class NoSuchCodecError(Exception):
    """A codec that uproot does not have."""


def columns_of(made: data.Columns, layout: str) -> dict[str, Any]:
    """NumPy arrays, and Awkward arrays of lists: those of one counter as one record, so that it is one counter."""
    found: dict[str, Any] = {}
    collections: dict[str, dict[str, Any]] = {}
    for column, values, ends in data.arrays(made):
        if ends is None:
            found[column["name"]] = values
            continue
        lists = ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(ends), ak.contents.NumpyArray(values)))
        if layout == "rntuple":
            found[column["name"]] = lists
        else:
            prefix = column["counter"][1:]
            collections.setdefault(prefix, {})[column["name"].removeprefix(f"{prefix}_")] = lists
    return found | {name: ak.zip(members) for name, members in collections.items()}


def writing(made: data.Columns, layout: str, number: int, out: Path) -> Callable[[], None]:
    """Return what writes the columns. Raises: NoSuchCodecError."""
    if number in LZ4_HC:
        raise NoSuchCodecError("LZ4 HC")
    columns = columns_of(made, layout)
    kind, level = divmod(number, 100)
    codec = CODECS[kind](level * LIBRARY_LEVELS.get(kind, 1)) if number else None
    step = max(1, int(made.n_entries * PART_BYTES / made.payload_bytes))
    make = "mkrntuple" if layout == "rntuple" else "mktree"
    warm = out.with_suffix(".warm.root")
    with uproot.recreate(warm) as file:
        getattr(file, make)("T", {"x": np.arange(3.0)})
    warm.unlink()

    def write() -> None:
        with uproot.recreate(out, compression=codec) as file:
            table = getattr(file, make)("T", {name: column[:step] for name, column in columns.items()})
            for begin in range(step, made.n_entries, step):
                table.extend({name: column[begin : begin + step] for name, column in columns.items()})

    return write
