"""The cut flow of a skim: its conditions, one after the other, and how many entries of an input pass each."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from arrowroot._arrow import arrays
from arrowroot._errors import InvalidRequestError
from arrowroot._select.cuts import Cut
from arrowroot._select.events import integers
from arrowroot._select.ids import blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from arrowroot._filter.bind import Filter
    from arrowroot._select.events import EventList
    from arrowroot._skimming.ranges import Left

    Mask = npt.NDArray[np.bool_]


class Waiting:
    """Which outputs want entries that were selected and not delivered so far."""

    def __init__(self) -> None:
        self._masks: deque[Mask] = deque()

    def add(self, wanted: Mask) -> None:
        """Add the next entries, shape (n_outputs, n_entries)."""
        self._masks.append(wanted)

    def take(self, n_entries: int, n_outputs: int) -> Mask:
        """Return the same of the next entries that are delivered."""
        parts = [np.zeros((n_outputs, 0), dtype=np.bool_)]
        while n_entries:
            first = self._masks.popleft()
            parts.append(first[:, :n_entries])
            if first.shape[1] > n_entries:
                self._masks.appendleft(first[:, n_entries:])
            n_entries -= parts[-1].shape[1]
        return np.concatenate(parts, axis=1)


class Flow:
    """All conditions of a skim on one input, as one filter that selects what some output wants and counts the cuts."""

    def __init__(
        self,
        conditions: Sequence[tuple[str, Filter]],
        outputs: Sequence[tuple[str, Filter | None]],
        weight: str | None,
        left: Left | None = None,
    ) -> None:
        """Take named conditions, one after the other, and those of the outputs, which come last and side by side.

        weight: the path of a column. left: counts the entries of ranges.
        """
        filters = [*(one for _, one in conditions), *(one for _, one in outputs if one is not None)]
        self.text = " && ".join(one.text for one in filters)
        names = [name for one in filters for name in one.columns]
        self.columns = list(dict.fromkeys([*names, *([weight] if weight is not None else [])]))
        #: True if something is asked of the entries, be it where they come from alone.
        self.asks = bool(filters) or weight is not None
        self._conditions = conditions
        self._outputs = outputs
        self._weight = weight
        self.left = left
        start = Cut("all", 0, None if weight is None else 0.0)
        #: All entries, and those that are left behind each condition.
        self.cuts = [start, *(start._replace(name=name) for name, _ in conditions)]
        #: Entries that go to each output.
        self.of_outputs = [start._replace(name=path) for path, _ in outputs]
        self._waiting = Waiting()

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self._outputs)

    @property
    def has_waiting(self) -> bool:
        """True if the outputs want different entries."""
        return self.n_outputs > 1 and self.asks

    def count_all(self, n_entries: int) -> None:
        """Count entries of an input without conditions, whose columns nobody looks at."""
        if self.left is not None:
            self.left.count_all(n_entries)
        for counts in (self.cuts, self.of_outputs):
            counts[:] = [cut._replace(num_entries=cut.num_entries + n_entries) for cut in counts]

    def mask(self, batch: pa.RecordBatch, entry_of: Callable[[Any], Any]) -> Mask:
        """Return which rows some output wants, and count. Each entry comes once, in order. Raises: FilterError."""
        weights = None if self._weight is None else _weights(batch.column(self._weight), self._weight)
        passed = np.ones(batch.num_rows, dtype=np.bool_)
        _count(self.cuts, 0, passed, weights)
        for number, (_, condition) in enumerate(self._conditions, 1):
            passed &= condition.mask(batch, entry_of)
            _count(self.cuts, number, passed, weights)
        wanted = np.empty((len(self._outputs), batch.num_rows), dtype=np.bool_)
        for number, (_, condition_of_output) in enumerate(self._outputs):
            wanted[number] = passed
            if condition_of_output is not None:
                wanted[number] &= condition_of_output.mask(batch, entry_of)
            _count(self.of_outputs, number, wanted[number], weights)
        if self.left is not None:
            self.left.count(wanted)
        selected = np.logical_or.reduce(wanted)
        if self.has_waiting:
            self._waiting.add(wanted[:, selected])
        return cast("Mask", selected)

    def wanted(self, n_entries: int) -> Mask | None:
        """Return which outputs want the next entries that are delivered, shape (n_outputs, n_entries); None: all do."""
        return self._waiting.take(n_entries, self.n_outputs) if self.has_waiting else None


def _count(cuts: list[Cut], number: int, passed: Mask, weights: npt.NDArray[np.float64] | None) -> None:
    """Add entries to a cut."""
    total = None if weights is None else float(weights[passed].sum())
    cuts[number] = cuts[number].plus(Cut("", int(np.count_nonzero(passed)), total))


def _weights(column: pa.Array, name: str) -> npt.NDArray[np.float64]:
    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if not is_number or column.null_count:
        raise InvalidRequestError(
            f"weight: column {name!r} has type {column.type}; weights are numbers without nulls"
        )
    found: Any = arrays.to_numpy(column)
    weights: npt.NDArray[np.float64] = found.astype(np.float64)
    return weights


class EventFilter:
    """The events of a list as a filter on the columns of their ids."""

    def __init__(self, events: EventList, columns: Sequence[str]) -> None:
        """``columns``: the paths of the ids."""
        self.text = repr(events)
        self.columns = list(columns)
        self._ids = events.sorted
        #: Which events of the list were found.
        self.found = np.zeros(len(events), dtype=np.bool_)

    def mask(self, batch: pa.RecordBatch, entry_of: Callable[[Any], Any]) -> Mask:
        """Return which rows of a batch are events of the list."""
        del entry_of  # ids can be looked for whatever they are
        is_listed = np.zeros(batch.num_rows, dtype=np.bool_)
        for first, block in blocks([integers(batch.column(name), name) for name in self.columns]):
            rows, events = self._ids.indices(self._ids.find(block))
            is_listed[rows + first] = True
            self.found[events] = True
        return is_listed
