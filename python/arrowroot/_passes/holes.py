"""A pass over what a friend has of some entries, with nulls in the place of what it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot._passes.source import Around, EnginePass, import_batch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


#: The most entries of a batch that has some which are lacking.
_MAX_ENTRIES = 1 << 16


class WithHoles(Around[EnginePass]):
    """A pass over entries of which another pass delivers those that are there; columns of the others are null."""

    def __init__(
        self, source: EnginePass, n_entries: int, indices: npt.NDArray[np.int64] | None = None
    ) -> None:
        """``indices``: of those that the source delivers among the entries to deliver; None: the first ones."""
        super().__init__(source)
        self._n_entries = n_entries
        self._n_there = source.num_entries
        self._indices = indices
        self._n_delivered = self._n_taken = 0
        self._rest: pa.RecordBatch | None = None

    @property
    def num_entries(self) -> int:
        return self._n_entries

    def schema(self) -> pa.Schema:
        import pyarrow as pa

        schema = self._source.schema()
        return pa.schema([field.with_nullable(True) for field in schema], schema.metadata)

    def next_batch(self) -> pa.RecordBatch | None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        begin = self._n_delivered
        if begin == self._n_entries:
            return None
        rest = self._rest
        while (rest is None or not rest.num_rows) and self._n_taken < self._n_there:
            batch = self._source.next_batch()
            if batch is None:
                return None
            rest = import_batch(batch, self._source)
        n_here = 0 if rest is None else rest.num_rows
        indices = self._next_indices(n_here) - begin
        if n_here and int(indices[-1]) == n_here - 1:
            n_rows = n_here  # none is lacking among these
        else:
            n_rows = min(_MAX_ENTRIES, int(indices[-1]) + 1 if n_here else self._n_entries - begin)
        n_used = int(np.searchsorted(indices, n_rows))
        self._n_delivered += n_rows
        self._n_taken += n_used
        if rest is None:
            return pa.RecordBatch.from_arrays(
                [pa.nulls(n_rows, field.type) for field in self.schema()], schema=self.schema()
            )
        self._rest = rest.slice(n_used) if n_used < n_here else None
        if n_used == n_rows:
            columns = rest.slice(0, n_rows).columns
        else:
            is_lacking = np.ones(n_rows, dtype=np.bool_)
            is_lacking[indices[:n_used]] = False
            rows = np.zeros(n_rows, dtype=np.int64)
            rows[indices[:n_used]] = np.arange(n_used)
            from_rest = pa.array(rows, mask=is_lacking)
            columns = pc.take(rest, from_rest, memory_pool=pa.system_memory_pool()).columns
        return pa.RecordBatch.from_arrays(columns, schema=self.schema())

    def _next_indices(self, n: int) -> npt.NDArray[np.int64]:
        """Return the indices of the next entries that are there."""
        import numpy as np

        end = self._n_taken + n
        return np.arange(self._n_taken, end) if self._indices is None else self._indices[self._n_taken : end]

    @property
    def max_ranges(self) -> int | None:
        return self._source.max_ranges

    @property
    def line_bytes(self) -> int:
        return self._source.line_bytes

    def begin_fetching(self) -> None:
        self._source.begin_fetching()

    def needed_bytes(self, rows: npt.NDArray[np.int64]) -> tuple[int, int]:
        import numpy as np

        if self._indices is None:
            return self._source.needed_bytes(rows[rows < self._n_there])
        return self._source.needed_bytes(np.flatnonzero(np.isin(self._indices, rows)))
