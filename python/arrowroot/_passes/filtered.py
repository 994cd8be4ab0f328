"""Two passes as one: the first reads the columns of a filter, the second the others of the selected entries."""

from __future__ import annotations

import time
from bisect import bisect_right
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any

from arrowroot._errors import SchemaMismatchError, cancelled
from arrowroot._passes.first_pass import (
    BATCH_BYTES,
    evaluate,
    first_pass,
    joined,
    moved,
    next_of,
    selected_rows,
    taken,
)
from arrowroot._sizes import parse_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._cost.cost import Cost
    from arrowroot._cost.plan import Plan, ScanStats
    from arrowroot._options import Options
    from arrowroot._passes.first_pass import Evaluated, Filtered, Maker
    from arrowroot._passes.source import EnginePass, Source

#: If a larger share of the entries of a range is selected, all of them are decoded and the others dropped, as far as
#: they need about the same baskets. Decoding them one by one would cost more
#: (docs/decisions/2026-11-22-filters.md). From a server any share will do: what matters there is requests.
_DENSE = 0.05
#: Entries need about all baskets of a range if they need at least this share of their stored bytes. Where each range is
#: a request, two passes take as long as one over all columns if they take at least this share of its time.
_MOST = 0.9
#: A first stretch of entries is one cluster, the next ones have so many times the entries that were looked at before.
_GROWTH = 8
#: Trees of a row are small if they take this much memory on average, as a line carries in about the time of a request.
#: At most so many times that is read with all columns at once because of what a tree before it had.
_SMALL_BYTES, _N_AT_ONCE = parse_size("2 MB"), 8


class FilteredSource:
    """Delivers the entries that a filter selects, in the order of the entries it looks at.

    It reads batches of the filter's columns until enough entries are selected for a batch, then the other columns of
    these entries alone. The first pass keeps those columns of the filter that are to be delivered.

    Where each range is a request, what is left out between others costs requests. There all is read at once, as if
    there were no filter, if the filter's columns alone would take about as long. Else the entries are looked at in
    stretches that end with clusters: once two passes over one would have taken as long as all at once, the next stretch
    is read so, and asked for while the one before is looked at.

    In a row of small trees each pass over one costs a request, or a plan and a read, wherever its file is. There
    stretches end with trees, the first one with the first tree, and the last tree of a stretch speaks for the next one.
    """

    def __init__(self, make: Maker, filtered: Filtered, options: Options) -> None:
        self._make = make
        self._filtered = filtered
        # Both passes share the budget.
        self._options = options._replace(memory_budget_bytes=max(1, options.memory_budget_bytes // 2))
        self._began_ns = time.perf_counter_ns()
        self._first = first_pass(make, filtered, self._options)
        self._first_plan: Callable[[], Plan] = self._first.plan
        self._first_ns = 0
        self._rest = [name for name in filtered.columns if name not in filtered.condition.columns]
        a_row = sum(filtered.entry_bytes.get(name, 1.0) for name in filtered.columns)
        self._n_wanted = (
            None if options.batch_bytes is None else max(1, int(options.batch_bytes / max(1.0, a_row)))
        )
        self._n_entries = self._first.num_entries
        #: Where the trees of a row end if these are small, as places among the entries to look at.
        self._tree_ends = self._ends_of_small_trees(a_row)
        #: The most entries in a stretch of trees that is read with all columns at once.
        self._n_at_once = int(_N_AT_ONCE * _SMALL_BYTES / max(1.0, a_row))
        #: The stretch that is looked at, by indices among the entries to look at, and what is selected in it.
        self._stretch = (0, self._n_entries)
        self._selected: list[npt.NDArray[np.int64]] = []
        #: True for a stretch that waits to be read with all columns at once.
        self._is_together = False
        #: The pass over the next stretch, if it is asked for already, when that began, and where the stretch ends.
        self._ahead: tuple[EnginePass, int, int] | None = None
        if self._rest and filtered.range is not None and (self._tree_ends or self._first.max_ranges == 1):
            self._stretch = (0, 0)
            self._evaluations: Iterator[Evaluated] = iter(())
        else:
            evaluations = evaluate(self._first, filtered)
            self._evaluations = filtered.aside(evaluations) if filtered.aside else evaluations
        self._ended: list[Cost] = []
        #: Make the plans of the passes that were read, not only planned. Those of many files are made if somebody asks.
        self._plans: list[Callable[[], Plan]] = []
        self._second: tuple[Source, int] | None = None
        self._running: Iterator[pa.RecordBatch] | None = None
        self._n_delivered = 0
        #: Entries of the last batch.
        self._n_last = 0
        self._n_batches = 0
        self._n_looked_at = 0
        #: Places, among the entries to look at, of those that are read now, and how many were delivered before.
        self._indices: npt.NDArray[np.int64] | None = None
        self._n_before = 0
        self._n_passed = 0
        self._is_over = False
        self._is_cancelled = False
        self._schema: pa.Schema | None = None

    @property
    def num_entries(self) -> int:
        return self._n_entries

    @property
    def column_names(self) -> list[str]:
        return list(self._filtered.columns)

    def schema(self) -> pa.Schema:
        if self._schema is None:
            import pyarrow as pa

            schemas = [self._first.schema()]
            if self._rest:
                schemas.append(self._make(self._rest, self._filtered.begin, self._options).schema())
            fields = {field.name: field for schema in schemas for field in schema}
            self._schema = pa.schema([fields[name] for name in self._filtered.columns], schemas[0].metadata)
        return self._schema

    def next_batch(self) -> pa.RecordBatch | None:
        while True:
            if self._is_cancelled:
                raise cancelled()
            batch = next(self._running, None) if self._running else None
            if batch is not None:
                self._n_last = batch.num_rows
                self._n_delivered += batch.num_rows
                self._n_batches += 1
                if self._indices is not None:
                    self._n_passed = int(self._indices[self._n_delivered - self._n_before - 1]) + 1
                return batch
            if self._is_over:
                self._n_passed = self._n_looked_at
                return None
            self._running = self._next_step()

    def _next_step(self) -> Iterator[pa.RecordBatch] | None:
        """Evaluate the filter until enough entries are selected for a batch; return what reads these."""
        import pyarrow as pa

        if self._is_together:
            return self._read_together()
        evaluated: list[Evaluated] = []
        n_selected = 0
        began = 0
        while self._n_wanted is None or n_selected < self._n_wanted:
            # The second pass must find the files of the first one open.
            here = self._filtered.file_of(self._n_looked_at) if self._rest else 0
            if not evaluated:
                began = here
            elif self._filtered.files and here - began >= self._filtered.files.n_at_once:
                break
            one = next(self._evaluations, None)
            if one is None:
                self._is_over = not self._begin_stretch()
                if self._is_over or self._is_together:
                    break
                continue
            self._n_looked_at += one.n_rows
            if len(one.indices):
                one = one._replace(indices=moved(one.indices, self._stretch[0]))
                evaluated.append(one)
                self._selected.append(one.indices)
                n_selected += len(one.indices)
            if one.ends_step:
                break
        if not evaluated:
            return None
        indices = joined([one.indices for one in evaluated])
        self._indices, self._n_before = indices, self._n_delivered
        rows = pa.Table.from_batches([one.rows for one in evaluated])
        if not self._rest:
            batches: list[pa.RecordBatch] = rows.combine_chunks().to_batches()
            return iter(batches)
        return self._read(self._filtered.numbers(indices), rows)

    def _begin_stretch(self) -> bool:
        """Begin the next stretch, the first pass over it if both are not read together. Returns False at the end."""
        start, whole = self._stretch[1], self._filtered.range
        if start == self._n_entries or whole is None:
            return False
        if self._ahead:
            end, self._is_together = self._ahead[2], True
        elif self._tree_ends:
            self._is_together = start > 0 and self._is_dense_before(start)
            end = self._end_of_trees(start, is_together=self._is_together)
        elif start == 0:
            end = self._next_end(start, whole[0])
            self._is_together = self._takes_as_long(0, end)
            end = self._n_entries if self._is_together else end
        else:
            end = self._next_end(start, whole[0])
            self._is_together = self._takes_as_long(*self._stretch)
        of_stretch = (whole[0] + start, whole[0] + end)
        self._is_together &= self._may_read(self._names, of_stretch)
        self._stretch = (start, end)
        self._selected = []
        if self._is_together:
            return True
        if self._n_looked_at:
            self._plans.append(self._first_plan)
        self._ended.append(self._first.cost().later(self._first_ns))
        self._first.cancel()
        filtered = self._filtered._replace(entries=of_stretch)
        self._first = first_pass(self._make, filtered, self._options)
        self._first_plan = partial(_plan_of, first_pass, self._make, filtered, self._options)
        self._first_ns = time.perf_counter_ns() - self._began_ns
        self._evaluations = evaluate(self._first, filtered)
        return True

    def _next_end(self, start: int, first: int) -> int:
        """Return where a stretch ends, as a place among the entries to look at; ``first``: the first of these."""
        last = min(start + max(1, start * _GROWTH), self._n_entries) - 1
        end = min(self._filtered.cluster_of(first + last)[1] - first, self._n_entries)
        # A short rest would be worth no stretch of its own.
        return self._n_entries if self._n_entries - end <= end - start else max(end, start + 1)

    def _ends_of_small_trees(self, a_row: float) -> list[int]:
        """Return where trees end, if there are several small ones and no others to consider."""
        whole, starts = self._filtered.range, self._filtered.starts
        if whole is None or self._filtered.aside or self._first.max_ranges == 1 or len(starts) < 2:
            return []
        if self._filtered.num_entries * a_row > _SMALL_BYTES * len(starts):
            return []
        return [*(start - whole[0] for start in starts if whole[0] < start < whole[1]), self._n_entries]

    def _end_of_trees(self, start: int, *, is_together: bool) -> int:
        """Return where a stretch of whole trees ends; ``is_together``: it is to be read with all columns at once."""
        n_before = bisect_right(self._tree_ends, start) if start else 0
        last = min(n_before + max(1, n_before * _GROWTH), len(self._tree_ends))
        if is_together:
            last = min(last, bisect_right(self._tree_ends, start + self._n_at_once))
        return self._tree_ends[max(last, n_before + 1) - 1]

    def _is_dense_before(self, end: int) -> bool:
        """Return whether the selected entries of the tree that ends at a place need most of its other columns."""
        number = bisect_right(self._tree_ends, end) - 1
        start = self._tree_ends[number - 1] if number else 0
        selected = self._selected_in(start, end)
        if self._first.max_ranges is None and len(selected) <= _DENSE * (end - start):
            return False
        first = self._filtered.range[0] if self._filtered.range else 0
        others = self._make(self._rest, (first + start, first + end), self._options)
        return len(selected) > 0 and self._needs_most_of(others, selected - start)

    def _selected_in(self, start: int, end: int) -> npt.NDArray[np.int64]:
        """Return the places of what is selected of a range of the stretch that is looked at."""
        import numpy as np

        selected = np.concatenate([np.zeros(0, dtype=np.int64), *self._selected])
        return selected[slice(*np.searchsorted(selected, [start, end]))]

    def _takes_as_long(self, start: int, end: int) -> bool:
        """Return whether two passes over entries, with what is selected among them, take as long as all at once.

        start, end: a range of places among the entries to look at.
        """
        first = self._filtered.range[0] if self._filtered.range else 0
        if self._filtered.files:
            # A look at its last file is enough: the others may be closed by now.
            file = self._filtered.file_of(end - 1)
            start = max(start, ([0, *self._filtered.files.first_entries][file]) - first)
        entries = (first + start, first + end)
        if not self._may_read(self._names, entries):
            return False
        at_once = _MOST * self._make(self._names, entries, self._options).line_bytes
        in_two: float = self._make(self._filtered.condition.columns, entries, self._options).line_bytes
        selected = self._selected_in(start, end)
        if in_two < at_once and len(selected):
            # An entry list would say it exactly, but an RNTuple reads pages to plan one.
            others = self._make(self._rest, entries, self._options)
            needed_bytes, all_bytes = others.needed_bytes(selected - start)
            in_two += others.line_bytes * needed_bytes / max(1, all_bytes)
        return in_two >= at_once

    def _ask_ahead(self) -> None:
        """Ask for the next stretch as a whole, if the clusters that were looked at of this one say so."""
        start, end = self._stretch
        first = self._filtered.range[0] if self._filtered.range else 0
        if end == self._n_entries:
            return
        if self._tree_ends:
            n_trees = bisect_right(self._tree_ends, self._n_looked_at)
            looked_at = self._tree_ends[n_trees - 1] if n_trees else 0
            if looked_at <= start or not self._is_dense_before(looked_at):
                return
            next_end = self._end_of_trees(end, is_together=True)
        else:
            looked_at = end
            if self._n_looked_at < end:
                looked_at = self._filtered.cluster_of(first + self._n_looked_at)[0] - first
            if looked_at <= start or not self._takes_as_long(start, looked_at):
                return
            next_end = self._next_end(end, first)
        entries = (first + end, first + next_end)
        if self._may_read(self._names, entries):
            source = self._make(self._names, entries, self._range_options())
            self._ahead = source, time.perf_counter_ns() - self._began_ns, next_end
            source.begin_fetching()

    @property
    def _names(self) -> list[str]:
        """All columns, those of the filter too."""
        return list(dict.fromkeys([*self._filtered.columns, *self._filtered.condition.columns]))

    @staticmethod
    def _needs_most_of(source: EnginePass, rows: npt.NDArray[np.int64]) -> bool:
        """Return whether some rows of a pass need most of its baskets."""
        needed_bytes, all_bytes = source.needed_bytes(rows)
        return needed_bytes >= _MOST * all_bytes

    def _may_read(self, columns: list[str], entries: tuple[int, int]) -> bool:
        """Return whether all entries of a range can be read: friends may lack some that are not selected."""
        return isinstance(self._filtered.with_partners(columns, entries), tuple)

    def _range_options(self) -> Options:
        """Return the options of a pass of whose entries some are dropped.

        Four batches are in memory at once: one, the selection from it, the selection before, which the caller has, and
        the next one, which is decoded.
        """
        options = self._options
        batch_bytes = min(options.batch_bytes or BATCH_BYTES, options.memory_budget_bytes // 4)
        return options._replace(batch_bytes=max(1, batch_bytes))

    def _around(self, entries: npt.NDArray[np.int64]) -> tuple[EnginePass, int] | None:
        """Return a pass over all entries among some, and its first entry; None if these need far fewer baskets."""
        first, end = int(entries[0]), int(entries[-1]) + 1
        share = len(entries) / max(1, end - first)
        if (self._first.max_ranges is None and share <= _DENSE) or bool((entries[1:] <= entries[:-1]).any()):
            return None
        if (whole := self._filtered.range) is not None:
            # At cuts inside of clusters an RNTuple has pages that are read to make the plan.
            first = max(whole[0], self._filtered.cluster_of(first)[0])
            end = min(whole[1], self._filtered.cluster_of(end - 1)[1])
        if not self._may_read(self._rest, (first, end)):
            return None
        source = self._make(self._rest, (first, end), self._range_options())
        if self._needs_most_of(source, entries - first):
            return source, first
        self._ended.append(source.cost())
        source.cancel()
        return None

    def _read(self, entries: npt.NDArray[np.int64], rows: pa.Table) -> Iterator[pa.RecordBatch]:
        """Read the other columns of selected entries and put both together."""
        import numpy as np

        around = self._around(entries)
        source, first = around or (self._make(self._rest, entries, self._options), 0)
        later_ns = self._begin_second(source)
        plan = source.plan()
        self._plans.append(lambda: plan)
        schema = self.schema()
        n_done = 0
        while (batch := next_of(source)) is not None:
            if around:
                low, high = np.searchsorted(entries, [first, first + batch.num_rows])
                here = entries[low:high] - first
                first += batch.num_rows
                if len(here) < batch.num_rows:
                    batch = taken(batch, here)
            if batch.num_rows == 0:
                continue
            kept = rows.slice(n_done, batch.num_rows).combine_chunks()
            n_done += batch.num_rows
            columns = [
                _whole(kept.column(name)) if name in kept.column_names else batch.column(name)
                for name in schema.names
            ]
            batch = _flagged(columns, schema)
            del columns, kept
            yield batch
            del batch  # the caller may let go of it while the next one is read
        self._end_second(source, later_ns)

    def _read_together(self) -> Iterator[pa.RecordBatch]:
        """Read a stretch with all columns at once, and yield what the filter selects."""
        self._is_together = False
        start, end = self._stretch
        half = (start + end) // 2
        first = self._filtered.range[0] if self._filtered.range else 0
        entries = (first + start, first + end)
        if self._ahead:
            source, later_ns, _ = self._ahead
            self._begin_second(source, later_ns)
            self._ahead = None
        else:
            source = self._make(self._names, entries, self._range_options())
            later_ns = self._begin_second(source)
        self._plans.append(partial(_plan_of, self._make, self._names, entries, self._range_options()))
        schema = self.schema()
        while (batch := next_of(source)) is not None:
            selected = selected_rows(self._filtered.condition, batch, partial(add, first + start))
            indices = selected + start
            start += batch.num_rows
            self._n_looked_at += batch.num_rows
            self._selected.append(indices)
            if start - batch.num_rows <= half < start:
                self._ask_ahead()
            if len(indices) == 0:
                continue
            self._indices, self._n_before = indices, self._n_delivered
            chosen = _flagged([batch.column(name) for name in schema.names], schema)
            if len(indices) < batch.num_rows:
                chosen = taken(chosen, selected)
            del batch
            yield chosen
            del chosen
        self._end_second(source, later_ns)

    def _begin_second(self, source: Source, later_ns: int | None = None) -> int:
        """Begin a pass over other columns. Returns when it began, in ns since all did."""
        if later_ns is None:
            later_ns = time.perf_counter_ns() - self._began_ns
        self._second = (source, later_ns)
        return later_ns

    def _end_second(self, source: Source, later_ns: int) -> None:
        self._ended.append(source.cost().later(later_ns))
        self._second = None

    def plan(self) -> Plan:
        from dataclasses import replace

        from arrowroot._cost.plan import Plan

        plans = [self._first.plan(), *(make() for make in self._plans)]
        joined = Plan.joined(plans, columns=self.column_names, n_entries=self.num_entries)
        left = None
        if not self._is_over and self._rest:
            can_be = self._filtered.with_partners(self._rest, self._filtered.entries)
            left = self._make(self._rest, can_be, self._options).plan()
        return replace(joined, filter=self._filtered.condition.text, at_most=left)

    def numbers(self) -> npt.NDArray[np.int64]:
        """Return the numbers of the entries in the last batch."""
        import numpy as np

        if self._indices is None:
            return np.zeros(0, dtype=np.int64)
        end = self._n_delivered - self._n_before
        return self._filtered.numbers(self._indices[end - self._n_last : end])

    def place(self) -> str:
        return self._first.place()

    def stats(self) -> ScanStats:
        from dataclasses import replace

        from arrowroot._cost.plan import ScanStats

        first = self._first.stats()
        ended = [cost.stats for cost in self._ended]
        second = ScanStats.joined([*ended, *(source.stats() for source, _ in self._running_now())])
        return replace(
            ScanStats.joined([first, second]),
            n_entries=self._n_delivered,
            n_batches=self._n_batches,
            n_looked_at=self._n_looked_at,
            n_passed=self._n_passed,
            # Both passes read at the same time.
            peak_buffer_bytes=first.peak_buffer_bytes + second.peak_buffer_bytes,
        )

    def _running_now(self) -> list[tuple[Source, int]]:
        """Return the other passes that run, and when they began; they may end meanwhile in another thread."""
        second, ahead = self._second, self._ahead
        return [*([second] if second else []), *([ahead[:2]] if ahead else [])]

    def cost(self) -> Cost:
        from arrowroot._cost.cost import Cost

        ended = list(self._ended)
        running = [source.cost().later(later_ns) for source, later_ns in self._running_now()]
        joined = Cost.joined([self._first.cost(), *ended, *running])
        return joined._replace(stats=self.stats())

    def cancel(self) -> None:
        self._is_cancelled = True
        self._running = None  # it refers to this pass
        self._first.cancel()
        for source, _ in self._running_now():
            source.cancel()


def _plan_of(make: Callable[..., EnginePass], *given: Any) -> Plan:
    return make(*given).plan()


def _flagged(columns: list[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch of a schema. Raises: SchemaMismatchError for what it says that none is missing of."""
    import pyarrow as pa

    from arrowroot._arrow.flags import with_flags_of

    try:
        return with_flags_of(pa.RecordBatch.from_arrays(columns, names=schema.names), schema)
    except ValueError as error:
        raise SchemaMismatchError(
            f"column {str(error)!r} has missing values in a file, and the first one says that it has none: "
            "name a file first whose column may have some, or leave the column out"
        ) from None


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    import pyarrow as pa

    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)
