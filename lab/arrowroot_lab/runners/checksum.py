"""Checksums of columns that come in parts (campaigns/METHODOLOGY.md, "Checksum"): what differs was read differently."""

from __future__ import annotations

from typing import Any

import numpy as np

LENGTH_FACTOR = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1
#: Numbers summed at a time: the widened copy stays in the processor's cache.
BLOCK = 1 << 16
_WEIGHTS = np.arange(1, BLOCK + 1, dtype=np.uint64)

Numbers = np.ndarray[Any, Any]


class WeightedSum:
    """Sum of x_i and of (i + 1) * x_i modulo 2^64."""

    def __init__(self) -> None:
        self.n = 0
        self.total = 0
        self.weighted = 0

    def add(self, numbers: Numbers) -> None:
        """numbers: one-dimensional, none of them negative."""
        for first in range(0, len(numbers), BLOCK):
            block = numbers[first : first + BLOCK].astype(np.uint64)
            total = int(block.sum(dtype=np.uint64))
            # Sum of (i + 1) * x_i with small weights, then moved to where the block stands.
            local = int(np.dot(block, _WEIGHTS[: len(block)]))
            self.weighted = (self.weighted + local + self.n * total) & MASK
            self.total = (self.total + total) & MASK
            self.n += len(block)


class Checksum:
    """The checksum of one column, part by part, in the order of its entries."""

    def __init__(self) -> None:
        self._values, self._lengths = WeightedSum(), WeightedSum()
        self._is_list = False

    def add(self, values: Numbers, lengths: Numbers | None = None) -> None:
        """Add flat values, and the lengths of their (innermost) lists, in order."""
        values = np.ascontiguousarray(values)
        values = values.astype(values.dtype.newbyteorder("="), copy=False)
        self._values.add(values.view(f"u{values.dtype.itemsize}"))
        if lengths is not None:
            self._is_list = True
            self._lengths.add(lengths)

    def told(self) -> dict[str, int | str]:
        """Return it as an answer has it."""
        order = self._values.weighted + (LENGTH_FACTOR * self._lengths.weighted if self._is_list else 0)
        return {"n": self._values.n, "sum": f"{self._values.total:016x}", "order": f"{order & MASK:016x}"}


class Checksums:
    """The checksums of the columns of Arrow batches. Members of records are columns of their own, ``jets.pt``."""

    def __init__(self) -> None:
        self._columns: dict[str, Checksum] = {}
        #: Columns without a checksum: text, and what may be missing.
        self.unchecked: set[str] = set()

    def add(self, batch: Any) -> None:
        """Add a pyarrow.RecordBatch."""
        for name, array in zip(batch.schema.names, batch.columns, strict=True):
            self._add(name, array, None)

    def told(self) -> dict[str, dict[str, int | str]]:
        """Return them by column."""
        return {name: one.told() for name, one in self._columns.items() if name not in self.unchecked}

    def _add(self, name: str, array: Any, lengths: Numbers | None) -> None:
        import pyarrow as pa

        kind = array.type
        if name in self.unchecked:
            return
        if array.null_count:
            self.unchecked.add(name)
        elif isinstance(array, pa.FixedSizeListArray):
            size = kind.list_size
            items = array.values.slice(array.offset * size, len(array) * size)
            self._add(name, items, np.full(len(array), size))
        elif isinstance(array, pa.ListArray | pa.LargeListArray):
            offsets = array.offsets.to_numpy()
            items = array.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
            self._add(name, items, np.diff(offsets))
        elif isinstance(array, pa.StructArray):
            for member, values in zip(kind, array.flatten(), strict=True):
                self._add(f"{name}.{member.name}", values, lengths)
        elif pa.types.is_boolean(kind):
            flags = array.to_numpy(zero_copy_only=False)
            self._columns.setdefault(name, Checksum()).add(flags.view(np.uint8), lengths)
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
            self._columns.setdefault(name, Checksum()).add(array.to_numpy(zero_copy_only=True), lengths)
        else:
            self.unchecked.add(name)
