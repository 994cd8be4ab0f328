"""Trees whose entries go to an output as their bytes are, so that objects of any class stay what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

#: Runs of entries, shape (n_runs, 2): the first of each and the one after its last.
Runs: TypeAlias = "npt.NDArray[np.uint64]"


class PickedTable:
    """A table of an output that is not written column by column."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.num_entries = 0


def runs_of(entries: npt.NDArray[np.int64]) -> Runs:
    """Return entries, which are in order, as runs."""
    if not len(entries):
        return np.empty((0, 2), dtype=np.uint64)
    last = np.append(np.flatnonzero(np.diff(entries) != 1), len(entries) - 1)
    first = np.append(0, last[:-1] + 1)
    return np.stack([entries[first], entries[last] + 1], axis=1).astype(np.uint64)


def joined(parts: Sequence[Runs]) -> Runs:
    """Return runs that are in order as one array, those that touch as one run."""
    runs = np.concatenate([np.empty((0, 2), dtype=np.uint64), *parts])
    is_new = np.append(True, runs[1:, 0] != runs[:-1, 1])[: len(runs)]
    is_end = np.append(is_new[1:], True)[: len(runs)]
    return np.stack([runs[is_new, 0], runs[is_end, 1]], axis=1)


def length_of(runs: Runs) -> int:
    """Return the number of entries in runs."""
    return int((runs[:, 1] - runs[:, 0]).sum())


class PickedEntries:
    """The entries of a table of an input that each output wants."""

    def __init__(self, n_outputs: int) -> None:
        self._parts: list[list[Runs]] = [[] for _ in range(n_outputs)]

    def add(self, runs: Runs, output: int | None) -> None:
        """Add runs behind those so far; for all outputs if none is said."""
        for number, parts in enumerate(self._parts):
            if output in (None, number):
                parts.append(runs)

    def of(self, output: int) -> Runs:
        """Return the entries that an output wants."""
        return joined(self._parts[output])

    def of_any(self) -> Runs:
        """Return the entries that some output wants."""
        runs = np.concatenate([joined(parts) for parts in self._parts])
        runs = runs[np.argsort(runs[:, 0], kind="stable")]
        ends = np.maximum.accumulate(runs[:, 1])
        is_new = np.append(True, runs[1:, 0] > ends[:-1])[: len(runs)]
        is_end = np.append(is_new[1:], True)[: len(runs)]
        return np.stack([runs[is_new, 0], ends[is_end]], axis=1)

    def to_lists(self) -> list[list[int]]:
        """Return them as JSON has them: by output the numbers of all runs."""
        return [joined(parts).ravel().tolist() for parts in self._parts]

    @classmethod
    def from_lists(cls, lists: Iterable[Sequence[int]]) -> PickedEntries:
        """Return what was made of :meth:`to_lists`."""
        found = cls(0)
        found._parts = [[np.array(one, dtype=np.uint64).reshape(-1, 2)] for one in lists]
        return found
