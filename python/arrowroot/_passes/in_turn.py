"""Passes over several trees, one after the other, as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from arrowroot._errors import ArrowrootError, SchemaMismatchError, cancelled
from arrowroot._passes.source import import_batch
from arrowroot._select import entries as _entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._api.members import Member
    from arrowroot._cost.cost import Cost
    from arrowroot._cost.plan import Plan, ScanStats
    from arrowroot._passes.left_out import LeavingOut
    from arrowroot._passes.reordering import Reordering
    from arrowroot._passes.source import ArrowBatch, Source
    from arrowroot._select.entries import EntrySet


def numbers_of(entries: EntrySet, indices: range) -> npt.NDArray[np.int64]:
    """Return the numbers of entries by their indices among those that were chosen."""
    import numpy as np

    if entries is None or isinstance(entries, tuple):
        first = entries[0] if entries else 0
        return np.arange(first + indices.start, first + indices.stop, dtype=np.int64)
    return entries[indices.start : indices.stop]


def numbers_behind(source: Source, entries: EntrySet, n_delivered: int, n_rows: int) -> npt.NDArray[np.int64]:
    """Return the numbers of the last ``n_rows`` entries that a source delivered. ``entries``: all that it delivers."""
    numbers = getattr(source, "numbers", None)
    if numbers is None:
        return numbers_of(entries, range(n_delivered - n_rows, n_delivered))
    found: npt.NDArray[np.int64] = numbers()
    return found


S = TypeVar("S", bound="Source")


class InTurn(Generic[S]):
    """Passes over trees, one after the other: the next one begins where one has ended, or has failed and is left out.

    What a pass delivered before it failed stays delivered.
    """

    #: As ``TreeSource``.
    is_of_paths = True

    def __init__(
        self,
        parts: list[tuple[Member, EntrySet]],
        paths: list[str],
        make: Callable[[Member, EntrySet], S],
        leaving_out: LeavingOut | None = None,
        *,
        schema: Callable[[], pa.Schema] | None = None,
        reordering: Reordering | None = None,
    ) -> None:
        """Take what is to be read.

        make: makes the pass of a part. leaving_out: takes what fails; None: its error is raised. schema: that of the
            first part, which may fail as it is made; None: its pass says it. reordering: brings all that is delivered
            into another order; None: it is in order.
        """
        self._parts = parts
        self._paths = paths
        self._make = make
        self._leaving_out = leaving_out
        self._reordering = reordering
        self._started: dict[int, S] = {}
        self._finished: dict[int, Cost] = {}
        self._current = 0
        #: Batches of the current part.
        self._n_delivered = 0
        #: The part of the last batch, and the indices of its entries among those of the part.
        self._last = (0, range(0))
        #: True if its fields say what may be missing as those of the first part do; None: nobody looked.
        self._is_like_first: bool | None = None
        self._schema: pa.Schema | None = None
        self._make_schema = schema
        self._is_cancelled = False
        if leaving_out is not None:
            leaving_out.begin_pass()

    def _source(self, i: int) -> S:
        if i not in self._started:
            self._started[i] = self._make(*self._parts[i])
        return self._started[i]

    @property
    def num_entries(self) -> int:
        return sum(_entries.count(entries, member.num_entries) for member, entries in self._parts)

    @property
    def column_names(self) -> list[str]:
        return list(self._paths)

    def schema(self) -> pa.Schema:
        if self._schema is None:
            self._schema = self._source(0).schema() if self._make_schema is None else self._make_schema()
        return self._schema

    def next_batch(self) -> ArrowBatch | None:
        if self._reordering is None:
            return self._next_in_turn()
        if self._is_cancelled:
            raise cancelled()
        return self._reordering.next_batch(self._all_in_turn(), self.schema)

    def _all_in_turn(self) -> Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]:
        """Yield what the parts deliver, with the numbers of its entries."""
        while (batch := self._next_in_turn()) is not None:
            yield self._numbers_in_turn(), import_batch(batch, self)

    def _next_in_turn(self) -> ArrowBatch | None:
        while self._current < len(self._parts):
            if self._is_cancelled:
                raise cancelled()
            try:
                source = self._source(self._current)
                self._look_ahead(source)
                batch = source.next_batch()
            except ArrowrootError as error:
                self._leave_out(error)
                continue
            if batch is not None:
                self._n_delivered += 1
                part, before = self._last
                first = before.stop if part == self._current else 0
                self._last = (self._current, range(first, first + batch.num_rows))
                return self._like_first(batch, source)
            self._go_on()
        return None

    def _look_ahead(self, source: S) -> None:
        """Begin what the next parts need, as is best before the next batch of the current one."""

    def _leave_out(self, error: ArrowrootError) -> None:
        """Leave out the rest of the current part. Raises: the error if that is not wanted."""
        if self._leaving_out is None or self._is_cancelled:
            raise error
        source = self._started.get(self._current)
        part, indices = self._last
        n_delivered = indices.stop if part == self._current else 0
        if self._current == 0:
            self.schema()  # the other parts are compared with the first
        member = self._parts[self._current][0]
        self._leaving_out.not_read_on(member.number, member.url, error, n_delivered)
        if source is not None:
            source.cancel()
        self._go_on()

    def _go_on(self) -> None:
        """Begin with the next part. The pass of this one gives back its buffers."""
        source = self._started.get(self._current)
        if source is not None:
            self._finished[self._current] = self._cost_of(self._current, source)
            self._started.pop(self._current)
        self._current += 1
        self._n_delivered = 0
        self._is_like_first = None

    def _like_first(self, batch: ArrowBatch, source: S) -> ArrowBatch:
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

    def _cost_of(self, i: int, source: S) -> Cost:
        """Return the cost of a pass, with the numbers that its entries have in the row."""
        return source.cost().moved(self._parts[i][0].first_entry)

    def numbers(self) -> npt.NDArray[np.int64]:
        """Return the numbers that the entries of the last batch have in the row."""
        return self._numbers_in_turn() if self._reordering is None else self._reordering.numbers()

    def _numbers_in_turn(self) -> npt.NDArray[np.int64]:
        part, indices = self._last
        member, entries = self._parts[part]
        of_source = getattr(self._started.get(part), "numbers", None)
        here: npt.NDArray[np.int64] = numbers_of(entries, indices) if of_source is None else of_source()
        return here + member.first_entry

    def place(self) -> str:
        return self._parts[min(self._current, len(self._parts) - 1)][0].url

    def plan(self) -> Plan:
        from dataclasses import replace

        from arrowroot._cost.plan import Plan

        plans = []
        for i, (member, entries) in enumerate(self._parts):
            source = self._started.get(i) or self._make(member, entries)
            plan = source.plan()
            windows = [w._replace(first_entry=w.first_entry + member.first_entry) for w in plan.windows]
            plans.append(replace(plan, windows=windows))
        return Plan.joined(plans, columns=self.column_names, n_entries=self.num_entries)

    def _so_far(self) -> tuple[list[Cost], list[tuple[int, S]]]:
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
