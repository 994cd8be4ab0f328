"""Ids of many entries, packed so that they can be looked up: 12 bytes for each, however many numbers it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    Integers = npt.NDArray[np.integer[Any]]

_MOST_KEYS = 1 << 64
#: So many keys are sorted at a time: sorting needs 16 bytes more for each of them.
_SORTED_AT_ONCE = 1 << 20
#: Distinct values of a column are kept, for a closer look at what a part of an index may have, of so many ids.
_FEW = 1 << 20


#: So many rows are looked at together: each takes some hundred bytes meanwhile.
_BLOCK_ROWS = 1 << 18


def blocks(columns: Sequence[Integers]) -> Iterator[tuple[int, list[Integers]]]:
    """Yield short parts of some columns, each with its first row."""
    for first in range(0, len(columns[0]) if columns else 0, _BLOCK_ROWS):
        yield first, [column[first : first + _BLOCK_ROWS] for column in columns]


class FoundRows(NamedTuple):
    """Which rows have one of the ids, and between which indices of ``SortedIds.indices_of_keys`` they stand."""

    rows: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]


class _Digit(NamedTuple):
    """A column of ids as a digit of their keys.

    table: the distinct values, sorted, where the digits are their indices; None: the digits count from ``lowest``.
    before: the distinct keys of the columns before, where the keys go on with their indices.
    """

    lowest: int
    size: int
    table: Integers | None
    before: npt.NDArray[np.uint64] | None

    def of(self, values: Integers) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
        """Return the digits of some values, and which values have one."""
        import numpy as np

        limits = np.iinfo(values.dtype)
        lowest, highest = self.lowest, self.lowest + self.size - 1
        if self.table is not None:
            lowest, highest = (int(end) for end in self.table[[0, -1]])
        lowest, highest = max(lowest, limits.min), min(highest, limits.max)
        if lowest > highest:
            return np.zeros(len(values), dtype=np.uint64), np.zeros(len(values), dtype=np.bool_)
        has_one = (values >= lowest) & (values <= highest)
        if self.table is None:
            return values.astype(np.uint64) - np.uint64(self.lowest % _MOST_KEYS), has_one
        digits, is_there = _looked_up(self.table, np.where(has_one, values, lowest).astype(self.table.dtype))
        return digits, has_one & is_there

    def values(self, digits: npt.NDArray[np.uint64]) -> Integers:
        """Return the values of some digits."""
        import numpy as np

        if self.table is not None:
            return self.table[digits.astype(np.int64)]
        values: Integers = digits + np.uint64(self.lowest % _MOST_KEYS)
        return values if self.lowest + self.size - 1 > np.iinfo(np.int64).max else values.astype(np.int64)


def _looked_up(table: Any, values: Any) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """Return the place of each value in a sorted table, and which are there."""
    import numpy as np

    indices = np.minimum(np.searchsorted(table, values), len(table) - 1)
    return indices.astype(np.uint64), table[indices] == values


class _Keys:
    """How the numbers of an id become one number of 64 bits, its key, and come out of it again."""

    def __init__(self, digits: list[_Digit]) -> None:
        self.digits = digits

    def of(self, columns: Sequence[Integers]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
        """Return the keys of some rows, and which rows have one."""
        import numpy as np

        n_rows = len(columns[0]) if columns else 0
        keys, has_one = np.zeros(n_rows, dtype=np.uint64), np.ones(n_rows, dtype=np.bool_)
        for digit, values in zip(self.digits, columns, strict=False):
            if digit.before is not None:
                keys, is_there = _looked_up(digit.before, keys)
                has_one &= is_there
            digits, is_digit = digit.of(values)
            has_one &= is_digit
            keys = keys * np.uint64(digit.size % _MOST_KEYS) + digits
        return keys, has_one

    def columns(self, keys: npt.NDArray[np.uint64]) -> list[Integers]:
        """Return the numbers of the ids of some keys, column by column."""
        import numpy as np

        columns = []
        for digit in reversed(self.digits):
            is_alone = digit.size == _MOST_KEYS
            digits = keys if is_alone else keys % np.uint64(digit.size)
            keys = np.zeros_like(keys) if is_alone else keys // np.uint64(digit.size)
            columns.append(digit.values(digits))
            if digit.before is not None:
                keys = digit.before[keys.astype(np.int64)]
        return columns[::-1]


class _Part(NamedTuple):
    """Ids that came together, as keys of their own."""

    how: _Keys
    keys: npt.NDArray[np.uint64]

    def columns(self) -> list[Integers]:
        return self.how.columns(self.keys)


def _keys_of(chunks: Sequence[Sequence[Integers]] | Sequence[_Part]) -> _Keys:
    """Return keys for the ids of some chunks."""
    import numpy as np

    def columns_of(chunk: Sequence[Integers] | _Part) -> Sequence[Integers]:
        return chunk.columns() if isinstance(chunk, _Part) else chunk

    ends = [
        [(int(values.min()), int(values.max())) for values in columns_of(chunk) if len(values)]
        for chunk in chunks
    ]
    keys = _Keys([])
    n_keys = 1
    for column, of_column in enumerate(zip(*(of_chunk for of_chunk in ends if of_chunk), strict=True)):
        lowest, highest = min(low for low, _ in of_column), max(high for _, high in of_column)
        table = before = None
        size = highest - lowest + 1
        if size * n_keys > _MOST_KEYS:
            is_unsigned = highest > np.iinfo(np.int64).max
            # No type of NumPy has the numbers of both ends, of which a list may have some. Python's do.
            kind: Any = object if lowest < 0 and is_unsigned else np.uint64 if is_unsigned else np.int64
            table = np.unique(
                np.concatenate([np.unique(columns_of(chunk)[column]).astype(kind) for chunk in chunks])
            )
            size = len(table)
        if size * n_keys > _MOST_KEYS:
            before = np.unique(np.concatenate([np.unique(keys.of(columns_of(chunk))[0]) for chunk in chunks]))
            n_keys = len(before)
        keys.digits.append(_Digit(lowest, size, table, before))
        n_keys *= size
    return keys


class SortedIds:
    """Ids by their keys, and the place of each among the ids that were given.

    A key is a number of 64 bits that has the numbers of an id as digits.
    """

    def __init__(
        self,
        chunks: Iterable[Sequence[Integers]],
        n_ids: int,
        width: int,
        apart: Mapping[int, tuple[int, ...]] | None = None,
    ) -> None:
        """Take ``n_ids`` ids of ``width`` numbers, in chunks of columns.

        apart: ids with numbers that no column can hold, which are found nowhere, by their indices among all.
        """
        import numpy as np

        self.width = width
        self.keys = np.empty(n_ids, dtype=np.uint64)
        # What the columns hold together is known at their end. Until then each chunk has keys of its own, so that no
        # column is kept.
        parts = []
        done = 0
        for columns in (block for chunk in chunks for _, block in blocks(chunk)):
            how = _keys_of([columns])
            here = self.keys[done : done + len(columns[0])]
            here[:] = how.of(columns)[0]
            parts.append(_Part(how, here))
            done += len(here)
        self._keys = _keys_of(parts)
        for part in parts:
            part.keys[:] = self._keys.of(part.columns())[0]
        self.indices_of_keys = np.zeros(n_ids, dtype=np.uint32 if n_ids < 1 << 32 else np.int64)
        self._sort()
        self._apart = apart or {}
        if apart:
            others = np.delete(np.arange(n_ids + len(apart)), list(apart))
            self.indices_of_keys = others[self.indices_of_keys].astype(self.indices_of_keys.dtype)
        self._values: dict[int, Integers] = {}

    def __len__(self) -> int:
        """Return the number of ids, those apart too."""
        return len(self.keys) + len(self._apart)

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        digits = self._keys.digits
        tables = [array for digit in digits for array in (digit.table, digit.before) if array is not None]
        return sum(
            array.nbytes for array in [self.keys, self.indices_of_keys, *tables, *self._values.values()]
        )

    def _sort(self) -> None:
        import numpy as np

        n_ids = len(self.keys)
        n_parts = -(-n_ids // _SORTED_AT_ONCE)
        sample = np.sort(self.keys[:: max(1, n_ids // 4096)])
        ends = [sample[len(sample) * part // n_parts] for part in range(1, n_parts)]
        start = 0
        for part in range(n_parts):
            chosen = np.ones(n_ids, dtype=np.bool_)
            if part:
                chosen &= self.keys >= ends[part - 1]
            if part < n_parts - 1:
                chosen &= self.keys < ends[part]
            rows = np.flatnonzero(chosen)
            del chosen
            order = np.argsort(self.keys[rows], kind="stable")
            self.indices_of_keys[start : start + len(rows)] = rows[order]
            start += len(rows)
        self.keys.sort()

    def find(self, columns: Sequence[Integers]) -> FoundRows:
        """Look for rows that have one of the ids, in the order of the rows."""
        import numpy as np

        keys, is_id = self._keys.of(columns)
        if not len(self.keys) or not is_id.any():
            nothing = np.zeros(0, dtype=np.int64)
            return FoundRows(nothing, nothing, nothing)
        rows = np.flatnonzero(is_id)
        keys = keys[rows]
        # Looked up in their order, neighbours are found in the processor's cache.
        order = np.argsort(keys)
        keys = keys[order]
        first = np.searchsorted(self.keys, keys)
        hit = self.keys[np.minimum(first, len(self.keys) - 1)] == keys
        rows, first, keys = rows[order][hit], first[hit], keys[hit]
        end = np.searchsorted(self.keys, keys, side="right")
        order = np.argsort(rows)
        return FoundRows(rows[order], first[order], end[order])

    def indices(self, found: FoundRows) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return each pair of a row and an id that it has: the rows, in order, and the indices of the ids."""
        import numpy as np

        counts = found.end - found.first
        starts = np.cumsum(counts) - counts
        within = np.arange(int(counts.sum())) - np.repeat(starts, counts)
        return np.repeat(found.rows, counts), self.indices_of_keys[
            np.repeat(found.first, counts) + within
        ].astype(np.int64)

    def listed(self, indices: npt.NDArray[np.int64]) -> list[tuple[int, ...]]:
        """Return some ids by their indices."""
        import numpy as np

        is_apart = np.isin(indices, list(self._apart))
        rows = iter(zip(*(column.tolist() for column in self.at(indices[~is_apart])), strict=True))
        return [self._apart[index] if index in self._apart else next(rows) for index in indices.tolist()]

    def at(self, indices: npt.NDArray[np.int64]) -> list[Integers]:
        """Return the numbers of some ids, by their indices, column by column. None of them is apart."""
        import numpy as np

        key_of = np.zeros(len(self), dtype=self.indices_of_keys.dtype)
        key_of[self.indices_of_keys] = np.arange(len(self.indices_of_keys), dtype=self.indices_of_keys.dtype)
        return self._keys.columns(self.keys[key_of[indices]])

    def may_be_between(self, column: int, lowest: int, highest: int) -> bool:
        """Return whether some id may have a number of a column in a range, both ends included."""
        import numpy as np

        if not len(self.keys):
            return False
        if len(self.keys) > _FEW:
            digit = self._keys.digits[column]
            ends = (
                digit.table[[0, -1]]
                if digit.table is not None
                else (digit.lowest, digit.lowest + digit.size - 1)
            )
            return int(ends[0]) <= highest and lowest <= int(ends[1])
        if column not in self._values:
            self._values[column] = np.unique(self._keys.columns(self.keys)[column])
        values = self._values[column]
        limits = np.iinfo(values.dtype)
        if lowest > limits.max or highest < limits.min:
            return False
        after = int(np.searchsorted(values, values.dtype.type(max(lowest, limits.min))))
        return after < len(values) and int(values[after]) <= highest
