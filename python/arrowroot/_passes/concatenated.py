"""Passes of the engine over several trees, one after the other, as one."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from arrowroot._passes.in_turn import InTurn
from arrowroot._select import entries as _entries

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from arrowroot._api.members import Member
    from arrowroot._options import Options
    from arrowroot._passes.left_out import LeavingOut
    from arrowroot._passes.reordering import Reordering
    from arrowroot._passes.source import TreeSource
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
        *,
        reordering: Reordering | None = None,
    ) -> None:
        """``make``, ``reordering``: as for ``InTurn``."""
        self._options = options
        super().__init__(parts, paths, make, leaving_out, reordering=reordering)

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

        if self._reordering is not None:
            rows = np.sort(self._reordering.order[rows])
        needed_bytes = all_bytes = first = 0
        for i, (member, entries) in enumerate(self._parts):
            end = first + _entries.count(entries, member.num_entries)
            low, high = np.searchsorted(rows, [first, end])
            needed, of_all = self._planned(i).needed_bytes(rows[low:high] - first)
            needed_bytes, all_bytes, first = needed_bytes + needed, all_bytes + of_all, end
        return needed_bytes, all_bytes
