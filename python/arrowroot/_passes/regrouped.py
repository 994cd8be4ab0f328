"""Batches of so many entries, made of those that a pass delivers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot._errors import BatchTooLongError, cancelled
from arrowroot._passes.source import Around, Source, import_batch

if TYPE_CHECKING:
    import pyarrow as pa

    from arrowroot._cost.cost import Cost
    from arrowroot._cost.plan import ScanStats


class Regrouped(Around[Source]):
    """A pass in batches of exactly so many entries, the last one apart.

    They are slices of the batches that come, without a copy, but for those that have entries of several.
    """

    def __init__(self, source: Source, n_entries: int) -> None:
        super().__init__(source)
        self._n_wanted = n_entries
        self._held: list[pa.RecordBatch] = []
        self._n_held = 0
        self._n_batches = 0
        self._is_cancelled = False

    def next_batch(self) -> pa.RecordBatch | None:
        if self._is_cancelled:
            raise cancelled()
        while self._n_held < self._n_wanted and (batch := self._source.next_batch()) is not None:
            if batch.num_rows:
                self._held.append(import_batch(batch, self._source))
                self._n_held += batch.num_rows
        if not self._held:
            return None
        pieces: list[pa.RecordBatch] = []
        n_left = self._n_wanted
        while n_left and self._held:
            first = self._held[0]
            pieces.append(first.slice(0, n_left))
            # An empty slice would hold the memory of its batch.
            self._held[:1] = [first.slice(n_left)] if first.num_rows > n_left else []
            n_left -= pieces[-1].num_rows
        self._n_held -= self._n_wanted - n_left
        self._n_batches += 1
        return pieces[0] if len(pieces) == 1 else self._joined(pieces)

    def _joined(self, pieces: list[pa.RecordBatch]) -> pa.RecordBatch:
        import pyarrow as pa

        n_entries = sum(piece.num_rows for piece in pieces)
        if not self.column_names:  # a batch without columns has only a length
            return pa.RecordBatch.from_struct_array(pa.array([{}] * n_entries, pa.struct([])))
        (*joined,) = pa.Table.from_batches(pieces).combine_chunks().to_batches()
        if len(joined) != 1:
            raise BatchTooLongError(
                f"batch_entries: {n_entries:,} entries have more items in their lists, or bytes in their texts, than "
                "one batch can have: set fewer"
            )
        whole: pa.RecordBatch = joined[0]
        return whole

    def stats(self) -> ScanStats:
        from dataclasses import replace

        return replace(self._source.stats(), n_batches=self._n_batches)

    def cost(self) -> Cost:
        return self._source.cost()._replace(stats=self.stats())

    def cancel(self) -> None:
        self._is_cancelled = True
        self._source.cancel()
