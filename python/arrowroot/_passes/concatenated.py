"""Passes over several trees, one after the other, as one."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from arrowroot._arrow.chunks import may_be_too_long, taken
from arrowroot._errors import SchemaMismatchError, cancelled
from arrowroot._passes.source import TreeSource, import_batch
from arrowroot._select import entries as _entries

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._api.row import Member
    from arrowroot._cost.cost import Cost
    from arrowroot._cost.plan import Plan, ScanStats
    from arrowroot._options import Options
    from arrowroot._passes.source import ArrowBatch
    from arrowroot._select.entries import EntrySet

#: The number of next files whose data are asked for while the last data of one are on their way.
_N_FETCHED_AHEAD = 8


class Concatenated:
    """Passes over trees, one after the other, as one pass.

    Each pass decodes when the one before has ended. Remote data of the next ones are asked for earlier: while the last
    batch of one is read, and as much as the memory budget holds.
    """

    #: As ``TreeSource``.
    is_of_paths = True

    def __init__(self, parts: list[tuple[Member, EntrySet]], paths: list[str], options: Options) -> None:
        self._parts = parts
        self._paths = paths
        self._options = options
        self._started: dict[int, TreeSource] = {}
        self._finished: dict[int, Cost] = {}
        self._current = 0
        #: Batches of the current part.
        self._n_delivered = 0
        #: True if its fields say what may be missing as those of the first part do; None: nobody looked.
        self._is_like_first: bool | None = None
        self._schema: pa.Schema | None = None
        self._is_cancelled = False

    def _source(self, i: int) -> TreeSource:
        if i not in self._started:
            member, entries = self._parts[i]
            self._started[i] = member.tree().source(self._paths, entries, self._options)
        return self._started[i]

    @property
    def num_entries(self) -> int:
        return sum(_entries.count(entries, member.num_entries) for member, entries in self._parts)

    @property
    def column_names(self) -> list[str]:
        return list(self._paths)

    def schema(self) -> pa.Schema:
        if self._schema is None:
            self._schema = self._source(0).schema()
        return self._schema

    def next_batch(self) -> ArrowBatch | None:
        while self._current < len(self._parts):
            if self._is_cancelled:
                raise cancelled()
            source = self._source(self._current)
            if self._n_delivered == 0 and source.native.is_remote:
                following = islice(self._parts, self._current + 1, None)
                self._parts[self._current][0].reopened.begin(member for member, _ in following)
            if self._n_delivered + 1 >= source.native.n_batches:
                self._begin_next(source)
            batch = source.next_batch()
            if batch is not None:
                self._n_delivered += 1
                return self._like_first(batch, source)
            # The pass gives back its buffers.
            self._finished[self._current] = self._cost_of(self._current, source)
            self._started.pop(self._current)
            self._current += 1
            self._n_delivered = 0
            self._is_like_first = None
        return None

    def _like_first(self, batch: ArrowBatch, source: TreeSource) -> ArrowBatch:
        """Return a batch in the schema of the first part. Raises: SchemaMismatchError."""
        if self._current == 0:
            return batch
        if self._is_like_first is None:
            self._is_like_first = source.schema().equals(self.schema())
        if self._is_like_first:
            return batch
        from arrowroot._arrow.flags import with_flags_of

        try:
            alike: ArrowBatch = with_flags_of(import_batch(batch, source), self.schema())
        except ValueError as error:
            here, first = (self._parts[i][0].url for i in (self._current, 0))
            raise SchemaMismatchError(
                f"{here}: column {str(error)!r} has missing values, and {first} says that it has none: "
                "name a file first whose column may have some, or leave the column out"
            ) from None
        return alike

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

    def _cost_of(self, i: int, source: TreeSource) -> Cost:
        """Return the cost of a pass, with the numbers that its entries have in the row."""
        return source.cost().moved(self._parts[i][0].first_entry)

    def place(self) -> str:
        return self._parts[min(self._current, len(self._parts) - 1)][0].url

    def plan(self) -> Plan:
        from dataclasses import replace

        from arrowroot._cost.plan import Plan

        plans = []
        for i, (member, entries) in enumerate(self._parts):
            source = self._started.get(i) or member.tree().source(self._paths, entries, self._options)
            plan = source.plan()
            windows = [w._replace(first_entry=w.first_entry + member.first_entry) for w in plan.windows]
            plans.append(replace(plan, windows=windows))
        return Plan.joined(plans, columns=self.column_names, n_entries=self.num_entries)

    def _so_far(self) -> tuple[list[Cost], list[tuple[int, TreeSource]]]:
        """Return the costs of the passes that are over, and the others; they go on meanwhile in another thread."""
        # Each copy is one step. A pass that ends between the two is in both.
        started, finished = dict(self._started), dict(self._finished)
        return list(finished.values()), [(i, source) for i, source in started.items() if i not in finished]

    def stats(self) -> ScanStats:
        from arrowroot._cost.plan import ScanStats

        finished, running = self._so_far()
        return ScanStats.joined(
            [*(done.stats for done in finished), *(source.stats() for _, source in running)]
        )

    def cost(self) -> Cost:
        from arrowroot._cost.cost import Cost

        finished, running = self._so_far()
        return Cost.joined([*finished, *(self._cost_of(i, source) for i, source in running)])

    def cancel(self) -> None:
        self._is_cancelled = True
        for _, source in self._so_far()[1]:
            source.cancel()

    @property
    def max_ranges(self) -> int | None:
        return self._source(self._current).max_ranges if self._current < len(self._parts) else None

    def needed_bytes(self, rows: npt.NDArray[np.int64]) -> tuple[int, int]:
        import numpy as np

        needed_bytes = all_bytes = first = 0
        for i, (member, entries) in enumerate(self._parts):
            end = first + _entries.count(entries, member.num_entries)
            low, high = np.searchsorted(rows, [first, end])
            # One that is planned for this alone is not kept: a row may have many files.
            source = self._started.get(i) or member.tree().source(self._paths, entries, self._options)
            needed, of_all = source.needed_bytes(rows[low:high] - first)
            needed_bytes, all_bytes, first = needed_bytes + needed, all_bytes + of_all, end
        return needed_bytes, all_bytes


class Reordered(Concatenated):
    """A pass whose entries go back and forth between files. Each file is read once, then all entries are sorted."""

    def __init__(
        self,
        parts: list[tuple[Member, EntrySet]],
        paths: list[str],
        options: Options,
        order: npt.NDArray[np.int64],
    ) -> None:
        """``order``: the place of each entry to deliver among those of ``parts``."""
        super().__init__(parts, paths, options)
        self._order = order
        self._batches: Iterator[pa.RecordBatch] | None = None

    def next_batch(self) -> ArrowBatch | None:
        if self._is_cancelled:
            raise cancelled()
        if self._batches is None:
            self._batches = self._sorted()
        return next(self._batches, None)

    def _sorted(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        read = []
        while (batch := super().next_batch()) is not None:
            read.append(import_batch(batch, self))
        table = pa.Table.from_batches(read, schema=self.schema())
        n_rows = max(1, table.num_rows)
        if self._options.batch_bytes is not None:
            n_rows = max(1, self._options.batch_bytes * n_rows // max(1, table.nbytes))
        if may_be_too_long(table):
            return taken(table, self._order, n_rows)
        if self.column_names:  # a table without columns has no order
            table = table.take(pa.array(self._order))
        return iter(table.combine_chunks().to_batches(max_chunksize=n_rows))

    def needed_bytes(self, rows: npt.NDArray[np.int64]) -> tuple[int, int]:
        import numpy as np

        return super().needed_bytes(np.sort(self._order[rows]))
