"""Conditions one after the other, and how many entries are left behind each."""

from __future__ import annotations

from typing import NamedTuple


class Cut(NamedTuple):
    """The entries that are left behind a condition and all before it, and the sum of their weights.

    sum_of_weights: None if there is no weight.

        >>> ar.skim("events.root", "new.root", cuts={"high": "MET_pt > 20"}).cuts[-1]
        Cut(name='high', num_entries=59, sum_of_weights=None)
    """

    name: str
    num_entries: int
    sum_of_weights: float | None = None

    def plus(self, other: Cut) -> Cut:
        """Return both together."""
        weights = (self.sum_of_weights, other.sum_of_weights)
        total = None if None in weights else sum(weight for weight in weights if weight is not None)
        return Cut(self.name, self.num_entries + other.num_entries, total)
