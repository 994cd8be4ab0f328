"""Pairs: samples of two results that were taken one after the other, in the same turn of the same run."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

from arrowroot_lab.documents import in_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Timed(Protocol):
    """A sample, with its value of what is compared."""

    @property
    def turn(self) -> int:
        """Its place in the turns."""

    @property
    def started_at(self) -> str:
        """As its document has it."""

    @property
    def value(self) -> float | None:
        """None: it is not counted, or does not tell it."""

    @property
    def trace(self) -> str | None:
        """The hash of what it was replayed from in virtual time; None: it was measured."""


if TYPE_CHECKING:
    #: The run of a result, and its samples in their order.
    Samples = tuple[str | None, Sequence[Timed]]

#: After all dates.
_END = "9999"


@dataclass(frozen=True)
class Pair:
    """Two values that belong together."""

    run: str
    turn: int
    before: float
    now: float
    #: Both were replayed from one trace, in virtual time: their ratio has no noise.
    is_exact: bool = False

    @property
    def ratio(self) -> float:
        """Now over before; if that is zero: 1 if both are, else infinite."""
        if self.before == 0:
            return math.inf if self.now else 1.0
        return self.now / self.before


@dataclass(frozen=True)
class _Turn:
    """What one result has of one turn, and when its neighbours began; dates as text, of one form, sort by time."""

    value: float
    start: str
    #: The last start of an earlier turn, and the first of a later one.
    before: str
    after: str
    trace: str | None

    def is_beside(self, other: _Turn) -> bool:
        """True if no other turn of either lies between the two: the cases did take turns."""
        return self.before < other.start < self.after and other.before < self.start < other.after

    def is_exact_to(self, other: _Turn) -> bool:
        """True if both were replayed from the same trace."""
        return self.trace is not None and self.trace == other.trace


def paired(before: Iterable[Samples], now: Iterable[Samples], *, with_zeros: bool = False) -> list[Pair]:
    """Return the pairs of two groups of results: of the same run and turn, one after the other.

    Samples that are not counted have no pair, and a value that is not above zero has none. What slows the machine down
    for a while slows both of a pair, and so leaves their ratio alone. Samples of other runs or turns are never paired;
    nor are those of a case that was measured when the other one was through, as where an ended run went on later.

    with_zeros: zero is a value, as it is of a count; a time of zero was not measured.
    """
    first, second = (_by_turn(side, with_zeros=with_zeros) for side in (before, now))
    return [
        Pair(*key, first[key].value, second[key].value, first[key].is_exact_to(second[key]))
        for key in sorted(first.keys() & second.keys())
        if first[key].is_beside(second[key])
    ]


def _by_turn(results: Iterable[Samples], *, with_zeros: bool) -> dict[tuple[str, int], _Turn]:
    """(run, turn) -> what is there; a turn with several counted samples has their median."""
    told: dict[tuple[str, int], _Turn] = {}
    for run, samples in results:
        if not run:
            continue
        starts = [in_utc(sample.started_at) for sample in samples]
        values: dict[int, list[int]] = {}
        ends: dict[int, tuple[str, str]] = {}
        for place, sample in enumerate(samples):
            start = starts[place]
            low, high = ends.get(sample.turn, (start, start))
            ends[sample.turn] = min(low, start), max(high, start)
            if sample.value is not None and (sample.value > 0 or (with_zeros and sample.value == 0)):
                values.setdefault(sample.turn, []).append(place)
        turns = sorted(ends)
        before = accumulate((ends[turn][1] for turn in turns), max, initial="")
        after = accumulate((ends[turn][0] for turn in reversed(turns)), min, initial=_END)
        for turn, last, next_ in zip(turns, before, [*after][-2::-1], strict=False):
            if (places := values.get(turn)) is not None:
                told[run, turn] = _Turn(
                    statistics.median(samples[place].value or 0.0 for place in places)
                    if len(places) > 1
                    else samples[places[0]].value or 0.0,
                    starts[places[0]],
                    last,
                    next_,
                    samples[places[0]].trace,
                )
    return told
