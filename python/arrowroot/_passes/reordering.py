"""Entries that go back and forth between trees: they are read tree by tree, and then brought into their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot._arrow.chunks import may_be_too_long, taken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._options import Options
    from arrowroot._select.entries import EntrySet


class Reordering:
    """The order of one pass. All that the pass delivers is in memory at once."""

    def __init__(
        self, entries: npt.NDArray[np.int64], order: npt.NDArray[np.int64], batch_bytes: int | None
    ) -> None:
        """Take the order.

        entries: their numbers, as they are to be delivered. order: the place of each among those that are read.
        batch_bytes: of a batch to deliver; None: it is one.
        """
        self._entries = entries
        self.order = order
        self._batch_bytes = batch_bytes
        self._batches: Iterator[pa.RecordBatch] | None = None
        #: The numbers of the entries that are delivered, which may be some of those that were asked for.
        self._numbers = entries[:0]
        #: Entries that were delivered, and those of the last batch.
        self._n_delivered = self._n_last = 0

    @classmethod
    def of(
        cls, entries: EntrySet, order: npt.NDArray[np.int64] | None, options: Options
    ) -> Reordering | None:
        """Return that of a pass with these options; None for entries that are in order: ``order`` is None."""
        if order is None or entries is None or isinstance(entries, tuple):
            return None
        return cls(entries, order, options.batch_bytes)

    def next_batch(
        self,
        read: Iterable[tuple[npt.NDArray[np.int64], pa.RecordBatch]],
        schema: Callable[[], pa.Schema],
    ) -> pa.RecordBatch | None:
        """Return the next batch. ``read``: all that is delivered, with the numbers of its entries."""
        if self._batches is None:
            self._batches = self._sorted(read, schema)
        batch = next(self._batches, None)
        if batch is not None:
            self._n_last = batch.num_rows
            self._n_delivered += batch.num_rows
        return batch

    def numbers(self) -> npt.NDArray[np.int64]:
        """Return the numbers of the entries of the last batch."""
        return self._numbers[self._n_delivered - self._n_last : self._n_delivered]

    def _sorted(
        self,
        read: Iterable[tuple[npt.NDArray[np.int64], pa.RecordBatch]],
        schema: Callable[[], pa.Schema],
    ) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        numbers, batches = [self._numbers], []
        for of_batch, batch in read:
            numbers.append(of_batch)
            batches.append(batch)
        delivered = np.concatenate(numbers)
        rows = self._rows(delivered)
        self._numbers = delivered[rows]
        table = pa.Table.from_batches(batches, schema=schema())
        n_rows = max(1, table.num_rows)
        if self._batch_bytes is not None:
            n_rows = max(1, self._batch_bytes * n_rows // max(1, table.nbytes))
        if may_be_too_long(table):
            return taken(table, rows, n_rows)
        if table.num_columns:  # a table without columns has no order
            table = table.take(pa.array(rows))
        return iter(table.combine_chunks().to_batches(max_chunksize=n_rows))

    def _rows(self, delivered: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return which row comes when. ``delivered``: the number of the entry of each; not all need be there."""
        import numpy as np

        wanted, by_number = (np.argsort(numbers, kind="stable") for numbers in (self._entries, delivered))
        sorted_numbers = delivered[by_number]
        # One that is asked for several times is so many rows, which are alike.
        nth = np.arange(len(delivered)) - np.searchsorted(sorted_numbers, sorted_numbers)
        places = wanted[np.searchsorted(self._entries[wanted], sorted_numbers) + nth]
        rows: npt.NDArray[np.int64] = by_number[np.argsort(places)]
        return rows
