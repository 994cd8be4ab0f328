"""Passes of the engine over several trees, one after the other, as one."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from arrowroot._arrow.chunks import may_be_too_long, taken
from arrowroot._errors import cancelled
from arrowroot._passes.in_turn import InTurn, numbers_of
from arrowroot._passes.source import import_batch
from arrowroot._select import entries as _entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._api.members import Member
    from arrowroot._options import Options
    from arrowroot._passes.left_out import LeavingOut
    from arrowroot._passes.source import ArrowBatch, TreeSource
    from arrowroot._select.entries import EntrySet

#: The number of next files whose data are asked for while the last data of one are on their way.
_N_FETCHED_AHEAD = 8


class Concatenated(InTurn["TreeSource"]):
    """Passes over trees, one after the other, as one pass.

    Each pass decodes when the one before has ended. Remote data of the next ones are asked for earlier: while the last
    batch of one is read, and as much as the memory budget holds.
    """

    def __init__(
        self,
        parts: list[tuple[Member, EntrySet]],
        paths: list[str],
        options: Options,
        make: Callable[[Member, EntrySet], TreeSource],
        leaving_out: LeavingOut | None = None,
    ) -> None:
        """``make``: as for ``InTurn``."""
        self._options = options
        super().__init__(parts, paths, make, leaving_out)

    def _look_ahead(self, source: TreeSource) -> None:
        if self._n_delivered == 0 and source.native.is_remote:
            following = islice(self._parts, self._current + 1, None)
            self._parts[self._current][0].reopened.begin(member for member, _ in following)
        if self._n_delivered + 1 >= source.native.n_batches:
            self._begin_next(source)

    def _begin_next(self, source: TreeSource) -> None:
        if not source.native.is_remote:
            return
        # Its own data come first.
        source.native.begin_fetching()
        n_bytes = 0
        for i in range(self._current + 1, min(self._current + 1 + _N_FETCHED_AHEAD, len(self._parts))):
            if not self._parts[i][0].is_open:
                return  # its turn has not come: nothing waits for it, and an error of it is not told
            following = self._source(i)
            n_bytes += following.native.read_bytes
            if n_bytes > self._options.memory_budget_bytes and i > self._current + 1:
                return
            following.native.begin_fetching()

    @property
    def max_ranges(self) -> int | None:
        return self._source(self._current).max_ranges if self._current < len(self._parts) else None

    @property
    def line_bytes(self) -> int:
        return sum(self._planned(i).line_bytes for i in range(len(self._parts)))

    def begin_fetching(self) -> None:
        if self._current < len(self._parts) and self._parts[self._current][0].is_open:
            self._source(self._current).begin_fetching()

    def _planned(self, i: int) -> TreeSource:
        # One that is planned for this alone is not kept: a row may have many files.
        return self._started.get(i) or self._make(*self._parts[i])

    def needed_bytes(self, rows: npt.NDArray[np.int64]) -> tuple[int, int]:
        import numpy as np

        needed_bytes = all_bytes = first = 0
        for i, (member, entries) in enumerate(self._parts):
            end = first + _entries.count(entries, member.num_entries)
            low, high = np.searchsorted(rows, [first, end])
            needed, of_all = self._planned(i).needed_bytes(rows[low:high] - first)
            needed_bytes, all_bytes, first = needed_bytes + needed, all_bytes + of_all, end
        return needed_bytes, all_bytes


class Reordered(Concatenated):
    """A pass whose entries go back and forth between files. Each file is read once, then all entries are sorted."""

    def __init__(
        self,
        parts: list[tuple[Member, EntrySet]],
        paths: list[str],
        options: Options,
        make: Callable[[Member, EntrySet], TreeSource],
        *,
        order: npt.NDArray[np.int64],
        leaving_out: LeavingOut | None = None,
    ) -> None:
        """``order``: the place of each entry to deliver among those of ``parts``; those left out are none."""
        super().__init__(parts, paths, options, make, leaving_out)
        self._order = order
        self._batches: Iterator[pa.RecordBatch] | None = None
        #: Entries that were delivered, and those of the last batch.
        self._n_sorted = self._n_last = 0

    def next_batch(self) -> ArrowBatch | None:
        if self._is_cancelled:
            raise cancelled()
        if self._batches is None:
            self._batches = self._sorted()
        batch = next(self._batches, None)
        if batch is not None:
            self._n_last = batch.num_rows
            self._n_sorted += batch.num_rows
        return batch

    def _sorted(self) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        read = []
        ends = np.cumsum(
            [0, *(_entries.count(entries, member.num_entries) for member, entries in self._parts)]
        )
        #: The row of each entry of the parts; -1: it was not read.
        row_of = np.full(ends[-1], -1, dtype=np.int64)
        n_read = 0
        while (batch := super().next_batch()) is not None:
            read.append(import_batch(batch, self))
            part, indices = self._last
            row_of[ends[part] + indices.start : ends[part] + indices.stop] = np.arange(
                n_read, n_read + batch.num_rows
            )
            n_read += batch.num_rows
        self._order = self._order[row_of[self._order] >= 0]
        rows = row_of[self._order]
        table = pa.Table.from_batches(read, schema=self.schema())
        n_rows = max(1, table.num_rows)
        if self._options.batch_bytes is not None:
            n_rows = max(1, self._options.batch_bytes * n_rows // max(1, table.nbytes))
        if may_be_too_long(table):
            return taken(table, rows, n_rows)
        if self.column_names:  # a table without columns has no order
            table = table.take(pa.array(rows))
        return iter(table.combine_chunks().to_batches(max_chunksize=n_rows))

    def numbers(self) -> npt.NDArray[np.int64]:
        """Return the numbers that the entries of the last batch have in the row."""
        import numpy as np

        parts = [
            numbers_of(entries, range(_entries.count(entries, member.num_entries))) + member.first_entry
            for member, entries in self._parts
        ]
        end = self._n_sorted
        return np.concatenate(parts)[self._order[end - self._n_last : end]]

    def needed_bytes(self, rows: npt.NDArray[np.int64]) -> tuple[int, int]:
        import numpy as np

        return super().needed_bytes(np.sort(self._order[rows]))
