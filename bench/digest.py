"""The checksum of a whole column (README.md, "Checksum"), as the laboratory's runners compute it part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from arrowroot_lab.runners.checksum import Checksum, Checksums

if TYPE_CHECKING:
    import numpy as np


def digest(column: pa.ChunkedArray) -> dict[str, int | str]:
    """The digest of a column of numbers or booleans, or of lists of them nested to any depth.

    Returns: ``n``, ``sum`` and ``order``; for lists the lengths of the innermost ones count in ``order``.
    Raises: ValueError for nulls and for other types.
    """
    sums = Checksums()
    for chunk in column.chunks or [pa.array([], column.type)]:
        sums.add(pa.record_batch([chunk], ["column"]))
    told = sums.told().get("column")
    if told is None:
        raise ValueError(f"no checksum of {column.type}, nor of nulls")
    return told


def digest_values(values: np.ndarray, lengths: np.ndarray | None = None) -> dict[str, int | str]:
    """Of flat values, and of the lengths of their (innermost) lists in order."""
    sums = Checksum()
    sums.add(values, lengths)
    return sums.told()


def values_bytes(column: pa.ChunkedArray) -> int:
    """Bytes of the buffers that the column's values take."""
    return int(column.nbytes)
