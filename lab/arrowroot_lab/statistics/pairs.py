"""Pairs: samples of two results that were taken one after the other, in the same turn of the same run."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from arrowroot_lab.documents import Result, Sample

    #: What of a sample is compared; None: the sample does not tell it.
    Value = Callable[[Result, Sample], float | None]


@dataclass(frozen=True)
class Pair:
    """Two values that belong together."""

    run: str
    turn: int
    before: float
    now: float

    @property
    def ratio(self) -> float:
        """Now over before."""
        return self.now / self.before


def paired(before: Iterable[Result], now: Iterable[Result], value: Value) -> list[Pair]:
    """Return the pairs of two groups of results: of the same run, and the same turn.

    Samples that are not counted have no pair, and a value that is not above zero has none. What slows the machine down
    for a while slows both of a pair, and so leaves their ratio alone; samples of other runs or turns are never paired.
    """
    first, second = _by_turn(before, value), _by_turn(now, value)
    return [Pair(*key, first[key], second[key]) for key in sorted(first.keys() & second.keys())]


def _by_turn(results: Iterable[Result], value: Value) -> dict[tuple[str, int], float]:
    """(run, turn) -> value; a turn with several counted samples has their median."""
    told: dict[tuple[str, int], list[float]] = {}
    for result in results:
        run = result.campaign.get("run")
        for sample in result.counted() if run else ():
            one = value(result, sample)
            if one is not None and one > 0:
                told.setdefault((str(run), sample.turn), []).append(one)
    return {key: statistics.median(values) for key, values in told.items()}
