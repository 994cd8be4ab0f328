"""The entries that a job wants of each of its files; entries are counted through all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


class Wanted:
    """The entries that a job asks for: a list of them, a range, both, or all. They are read before the clock starts."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._begin: int
        self._end: int | None
        self._begin, self._end = job.get("entry_range") or (0, None)
        self._picked = np.loadtxt(job["entries"], dtype=np.int64, ndmin=1) if job.get("entries") else None

    def is_over(self, first: int) -> bool:
        """True if neither a file whose first entry has that number nor any after it has entries that are wanted."""
        if self._end is not None and first >= self._end:
            return True
        return self._picked is not None and (not len(self._picked) or first > int(self._picked[-1]))

    def of_file(self, first: int, n_entries: int) -> tuple[int, int, npt.NDArray[np.int64] | None]:
        """Return begin and end of what is wanted of a file, and the entries if they are listed, by the file's numbers.

        ``first``: the number of its first entry among those of all files.
        """
        end = n_entries if self._end is None else min(n_entries, self._end - first)
        begin = min(max(0, self._begin - first), max(0, end))
        if self._picked is None:
            return begin, max(begin, end), None
        low, high = np.searchsorted(self._picked, (first + begin, first + max(begin, end)))
        return begin, max(begin, end), self._picked[low:high] - first
