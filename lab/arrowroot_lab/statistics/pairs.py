"""Pairs: samples of two results that were taken one after the other, in the same turn of the same run."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrowroot_lab.documents import in_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from arrowroot_lab.documents import Result, Sample

    #: What of a sample is compared; None: the sample does not tell it.
    Value = Callable[[Result, Sample], float | None]


#: After all dates.
_END = "9999"


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


@dataclass(frozen=True)
class _Turn:
    """What one result has of one turn, and when its neighbours began; dates as text, of one form, sort by time."""

    value: float
    start: str
    #: The last start of an earlier turn, and the first of a later one.
    before: str
    after: str

    def is_beside(self, other: _Turn) -> bool:
        """True if no other turn of either lies between the two: the cases did take turns."""
        return self.before < other.start < self.after and other.before < self.start < other.after


def paired(before: Iterable[Result], now: Iterable[Result], value: Value) -> list[Pair]:
    """Return the pairs of two groups of results: of the same run and turn, one after the other.

    Samples that are not counted have no pair, and a value that is not above zero has none. What slows the machine down
    for a while slows both of a pair, and so leaves their ratio alone. Samples of other runs or turns are never paired;
    nor are those of a case that was measured when the other one was through, as where an ended run went on later.
    """
    first, second = _by_turn(before, value), _by_turn(now, value)
    return [
        Pair(*key, first[key].value, second[key].value)
        for key in sorted(first.keys() & second.keys())
        if first[key].is_beside(second[key])
    ]


def _by_turn(results: Iterable[Result], value: Value) -> dict[tuple[str, int], _Turn]:
    """(run, turn) -> what is there; a turn with several counted samples has their median."""
    told: dict[tuple[str, int], _Turn] = {}
    for result in results:
        run = result.campaign.get("run")
        starts = [(sample.turn, in_utc(sample.started_at)) for sample in result.samples]
        values: dict[int, list[tuple[float, str]]] = {}
        for sample in result.counted() if run else ():
            one = value(result, sample)
            if one is not None and one > 0:
                values.setdefault(sample.turn, []).append((one, in_utc(sample.started_at)))
        for turn, found in values.items():
            told[str(run), turn] = _Turn(
                statistics.median(one for one, _ in found),
                found[0][1],
                max((start for other, start in starts if other < turn), default=""),
                min((start for other, start in starts if other > turn), default=_END),
            )
    return told
