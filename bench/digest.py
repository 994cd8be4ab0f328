"""The checksum of a column (README.md, "Checksum"), of Arrow and of NumPy arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

LENGTH_FACTOR = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1
#: Numbers summed at a time: the widened copy stays in the processor's cache.
BLOCK = 1 << 16


class WeightedSum:
    """Sum of x_i and of (i + 1) * x_i modulo 2^64, over numbers that come in parts."""

    def __init__(self) -> None:
        self.n = 0
        self.total = 0
        self.weighted = 0

    def add(self, numbers: np.ndarray) -> None:
        """numbers: one-dimensional, not negative when read as signed, or unsigned."""
        for first in range(0, len(numbers), BLOCK):
            block = numbers[first : first + BLOCK].astype(np.uint64)
            total = int(block.sum(dtype=np.uint64))
            # Sum of (i + 1) * x_i with small weights, then moved to where the block stands.
            local = int(np.dot(block, _WEIGHTS[: len(block)]))
            self.weighted = (self.weighted + local + self.n * total) & MASK
            self.total = (self.total + total) & MASK
            self.n += len(block)


_WEIGHTS = np.arange(1, BLOCK + 1, dtype=np.uint64)


def digest(column: pa.ChunkedArray) -> dict[str, int | str]:
    """The digest of a column of numbers or booleans, or of lists of them nested to any depth.

    Returns: ``n``, ``sum`` and ``order``; for lists the lengths of the innermost ones count in ``order``.
    Raises: ValueError for nulls and for other types.
    """
    values, lengths, is_list = WeightedSum(), WeightedSum(), False
    for chunk in column.chunks:
        array, innermost = chunk, None
        while (items := _items(array)) is not None:
            if array.null_count:
                raise ValueError("the checksum has no null lists")
            innermost, array = items
        is_list = innermost is not None
        if innermost is not None:
            lengths.add(innermost)
        values.add(_bits(array))
    return _told(values, lengths if is_list else None)


def digest_values(values: np.ndarray, lengths: np.ndarray | None = None) -> dict[str, int | str]:
    """Of flat values, and of the lengths of their (innermost) lists in order."""
    values = np.ascontiguousarray(values)
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    of_values, of_lengths = WeightedSum(), WeightedSum()
    of_values.add(values.view(f"u{values.dtype.itemsize}"))
    if lengths is not None:
        of_lengths.add(lengths)
    return _told(of_values, None if lengths is None else of_lengths)


def _told(values: WeightedSum, lengths: WeightedSum | None) -> dict[str, int | str]:
    order = values.weighted + (LENGTH_FACTOR * lengths.weighted if lengths else 0)
    return {"n": values.n, "sum": f"{values.total:016x}", "order": f"{order & MASK:016x}"}


def values_bytes(column: pa.ChunkedArray) -> int:
    """Bytes of the buffers that the column's values take."""
    return int(column.nbytes)


def _items(array: pa.Array) -> tuple[np.ndarray, pa.Array] | None:
    """Lengths of the lists, and their items in one array; None for an array that is no list."""
    if isinstance(array, pa.FixedSizeListArray):
        size = array.type.list_size
        return np.full(len(array), size), array.values.slice(array.offset * size, len(array) * size)
    if isinstance(array, pa.ListArray | pa.LargeListArray):
        offsets = array.offsets.to_numpy()
        return np.diff(offsets), array.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    return None


def _bits(array: pa.Array) -> np.ndarray:
    """The values' bit patterns as unsigned integers of their own width; a boolean is a byte."""
    if array.null_count:
        raise ValueError("the checksum has no nulls")
    if pa.types.is_boolean(array.type):
        flags: np.ndarray = array.to_numpy(zero_copy_only=False)
        return flags.view(np.uint8)
    if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        raise ValueError(f"no checksum of {array.type}")
    numbers: np.ndarray = array.to_numpy(zero_copy_only=True)
    return numbers.view(f"u{numbers.dtype.itemsize}")
