"""The first pass of a filter: what it looks at, and what of that is selected."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from arrowroot._errors import InvalidRequestError
from arrowroot._passes.source import import_batch
from arrowroot._sizes import parse_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._filter.bind import Filter
    from arrowroot._options import Options
    from arrowroot._passes.source import EnginePass, Source
    from arrowroot._select.entries import EntrySet

    #: Makes a pass over columns, by the names that it delivers, and entries.
    Maker: TypeAlias = Callable[[list[str], EntrySet, Options], EnginePass]

#: Bytes for each entry that the filter looks at, besides its columns. Several copies of a selected entry's number are
#: kept while the other columns are planned.
_ENTRY_BYTES = 32
BATCH_BYTES = parse_size("64 MB")
#: The bytes of a batch for which a condition is computed at once. Its intermediate results are several times as large.
_BLOCK_BYTES = parse_size("4 MB")


class Files(NamedTuple):
    """Files that do not all stay open: the numbers of their first entries, and how many are open at a time."""

    first_entries: list[int]
    n_at_once: int


class Filtered(NamedTuple):
    """The work of a filter: a condition, the columns to deliver, and the entries to look at.

    entry_bytes: estimated bytes that an entry of each column takes in memory on average, by name.
    with_partners: takes columns and entries, and leaves out the entries that a friend among the columns lacks; returns
        the same object if there are none.
    files: the files that the entries are in; None: all files are open, or the entries are not in order.
    aside: takes entries out of what is selected, before the other columns are read. It is not asked where each range
        is a request.
    starts: the numbers of the first entries of the trees in a row that have some; empty if they are not looked at one
        by one.
    """

    condition: Filter
    columns: list[str]
    entries: EntrySet
    num_entries: int
    entry_bytes: Mapping[str, float]
    with_partners: Callable[[list[str], EntrySet], EntrySet]
    cluster_of: Callable[[int], tuple[int, int]]
    files: Files | None = None
    aside: Callable[[Iterator[Evaluated]], Iterator[Evaluated]] | None = None
    starts: Sequence[int] = ()

    @property
    def range(self) -> tuple[int, int] | None:
        """The entries to look at as a range; None: they are a list."""
        if self.entries is None:
            return 0, self.num_entries
        return self.entries if isinstance(self.entries, tuple) else None

    @property
    def begin(self) -> tuple[int, int]:
        """An empty range at the first entry to look at."""
        first = 0
        if isinstance(self.entries, tuple):
            first = self.entries[0]
        elif self.entries is not None and len(self.entries):
            first = int(self.entries.min())
        return first, first

    def numbers(self, indices: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the numbers of entries by their indices among those to look at."""
        if self.entries is None:
            return indices
        return indices + self.entries[0] if isinstance(self.entries, tuple) else self.entries[indices]

    def file_of(self, index: int) -> int:
        """Return the number of the file that has the entry at ``index``; a guess for an index behind the last one."""
        if self.files is None:
            return 0
        if self.entries is None or isinstance(self.entries, tuple):
            entry = index + (self.entries[0] if self.entries else 0)
        else:
            entry = int(self.entries[min(index, len(self.entries) - 1)])
        return bisect_right(self.files.first_entries, entry)


class Evaluated(NamedTuple):
    """A batch of the filter's columns: the rows of the selected entries, and their indices among those to look at."""

    n_rows: int
    indices: npt.NDArray[np.int64]
    rows: pa.RecordBatch
    #: True if what comes behind it is read apart from what comes before.
    ends_step: bool = False


def first_pass(make: Maker, filtered: Filtered, options: Options) -> EnginePass:
    """Return the pass over the columns of the filter, in batches of limited length.

    Raises: InvalidRequestError if some of the entries to look at have no partner in a friend that the filter reads.
    """
    columns = filtered.condition.columns
    a_row = max(1.0, sum(filtered.entry_bytes.get(name, 1.0) for name in columns))
    at_once_bytes = min(options.batch_bytes or BATCH_BYTES, options.memory_budget_bytes // 8)
    batch_bytes = int(at_once_bytes * a_row / (a_row + _ENTRY_BYTES))
    try:
        return make(columns, filtered.entries, options._replace(batch_bytes=max(1, batch_bytes)))
    except InvalidRequestError as error:
        if filtered.with_partners(columns, filtered.entries) is not filtered.entries:
            hint = (
                "the filter reads this friend's columns of all entries that it looks at, those that the rest of the "
                "condition rejects too: leave them out by entries=, such as entries_where(the rest) gives"
            )
            error.args = (f"{error}; {hint}",)
        raise


def evaluate(source: Source, filtered: Filtered) -> Iterator[Evaluated]:
    """Draw the first pass, batch by batch. Raises: FilterError for values that cannot be computed with."""
    import numpy as np

    entries = filtered.entries
    first = entries[0] if isinstance(entries, tuple) else 0
    done = 0
    while (rows := next_of(source)) is not None:

        def entry_of(row: Any, done: int = done) -> Any:
            return entries[done + row] if isinstance(entries, np.ndarray) else first + done + row

        selected = selected_rows(filtered.condition, rows, entry_of)
        indices = moved(selected, done)
        kept = [name for name in filtered.columns if name in filtered.condition.columns]
        chosen = rows.select(kept)
        if len(selected) < rows.num_rows:
            # A batch without columns has only a length.
            chosen = taken(chosen, selected) if kept else chosen.slice(0, len(selected))
        done += rows.num_rows
        evaluated = Evaluated(rows.num_rows, indices, chosen)
        del rows, chosen, indices, selected  # not ours any more: the next batch is read while they are used
        yield evaluated
        del evaluated


def taken(batch: pa.RecordBatch, rows: npt.NDArray[np.int64]) -> pa.RecordBatch:
    """Return some rows of a batch, as a copy.

    The memory comes from the system. pyarrow's own pool would keep what it gets back, three times what is in use.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from arrowroot._arrow import arrays

    return pc.take(batch, arrays.to_arrow(rows), memory_pool=pa.system_memory_pool())


def next_of(source: Source) -> pa.RecordBatch | None:
    """Return the next batch, to which nothing else refers."""
    batch = source.next_batch()
    return None if batch is None else import_batch(batch, source)


def selected_rows(
    condition: Filter, rows: pa.RecordBatch, entry_of: Callable[[Any], Any]
) -> npt.NDArray[np.int64]:
    """Return which rows of a batch are selected, in order; ``entry_of``: as of ``Filter.mask``."""
    import numpy as np

    n_at_once = max(1024, rows.num_rows * _BLOCK_BYTES // max(1, rows.get_total_buffer_size()))
    found: list[npt.NDArray[np.int64]] = []
    for start in range(0, rows.num_rows, n_at_once):

        def entry_of_block(row: Any, start: int = start) -> Any:
            return entry_of(start + row)

        mask = condition.mask(rows.slice(start, n_at_once), entry_of_block)
        found.append(moved(np.flatnonzero(mask).astype(np.int64, copy=False), start))
    return joined(found)


def moved(indices: npt.NDArray[np.int64], by: int) -> npt.NDArray[np.int64]:
    """Return indices that are larger, without a copy of those that are not. Fresh memory costs most."""
    return indices + by if by else indices


def joined(parts: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    import numpy as np

    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, dtype=np.int64), *parts])
