"""Pairs: samples of two results that were taken one after the other, in the same turn of the same run."""

from __future__ import annotations

import math
import statistics
from itertools import accumulate
from operator import lt
from typing import TYPE_CHECKING, NamedTuple, Protocol

from arrowroot_lab.documents import in_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Timed(Protocol):
    """A sample, with its values of what is compared."""

    @property
    def turn(self) -> int:
        """Its place in the turns."""

    @property
    def started_at(self) -> str:
        """As its document has it."""

    @property
    def values(self) -> Sequence[float | None]:
        """One for each metric; None: it is not counted, or does not tell it."""

    @property
    def trace(self) -> str | None:
        """The hash of what it was replayed from in virtual time; None: it was measured."""


class Samples(NamedTuple):
    """The samples of a result in their order, a column for each thing that is told of them."""

    turns: Sequence[int]
    #: As its document has them.
    started_at: Sequence[str]
    #: The hashes of what they were replayed from in virtual time; None: measured.
    traces: Sequence[str | None]
    #: A column for each metric.
    values: Sequence[Sequence[float | None]]

    @classmethod
    def of(cls, samples: Sequence[Timed]) -> Samples:
        """Return the columns of some samples."""
        return cls(
            [one.turn for one in samples],
            [one.started_at for one in samples],
            [one.trace for one in samples],
            list(zip(*(one.values for one in samples), strict=True)),
        )


class _One(NamedTuple):
    """A sample by itself."""

    turn: int
    started_at: str
    trace: str | None
    values: Sequence[float | None]


#: After all dates.
_END = "9999"


class Pair(NamedTuple):
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


class _Turn(NamedTuple):
    """What one result has of one turn, and when its neighbours began; dates as text, of one form, sort by time."""

    samples: list[Timed]
    starts: list[str]
    #: The last start of an earlier turn, and the first of a later one.
    before: str
    after: str

    def counted(self, at: int, *, with_zeros: bool) -> list[int]:
        """Return the places of the samples that have a value of a metric."""
        values = (sample.values[at] for sample in self.samples)
        return [
            place
            for place, value in enumerate(values)
            if value is not None and (value > 0 or (with_zeros and value == 0))
        ]


class _InOrder(NamedTuple):
    """Samples that stand beside each other of two results of a run: a column for each metric."""

    run: str
    turns: Sequence[int]
    before: Sequence[Sequence[float | None]]
    now: Sequence[Sequence[float | None]]
    #: Nothing: none has no noise.
    are_exact: Sequence[bool]

    def pairs(self, at: int, *, with_zeros: bool) -> list[Pair]:
        are_exact = self.are_exact or [False] * len(self.turns)
        return [
            Pair(self.run, turn, value, now, is_exact)
            for turn, value, now, is_exact in zip(
                self.turns, self.before[at], self.now[at], are_exact, strict=True
            )
            if value is not None and now is not None and _has_ratio(value, now, with_zeros=with_zeros)
        ]

    def ratios(self, at: int, *, with_zeros: bool) -> tuple[list[float], bool]:
        before, now = self.before[at], self.now[at]
        if self.are_exact or (with_zeros and (0 in before or 0 in now)):
            return _ratios(self.pairs(at, with_zeros=with_zeros))
        found = [
            other / one for one, other in zip(before, now, strict=True) if one and other and one > 0 < other
        ]
        return found, not found


class _ByTurns(NamedTuple):
    """Samples that stand beside each other of the results of a run, whatever they have of its turns."""

    run: str
    #: Turn; the values of the only sample of each side, nothing if it has several; if these two have no noise; and what
    #: is looked at for each metric where there are several.
    both: list[tuple[int, Sequence[float | None], Sequence[float | None], bool, list[_Turn], list[_Turn]]]

    def pairs(self, at: int, *, with_zeros: bool) -> list[Pair]:
        found = []
        for number, single, other_single, is_exact, one, other in self.both:
            if single and other_single:
                value, now = single[at], other_single[at]
                if value is not None and now is not None and _has_ratio(value, now, with_zeros=with_zeros):
                    found.append(Pair(self.run, number, value, now, is_exact))
                continue
            told, told_now = (_told(side, at, with_zeros=with_zeros) for side in (one, other))
            if told is None or told_now is None:
                continue
            turns = *told[1:], *told_now[1:]
            if _are_beside(*turns):
                found.append(Pair(self.run, number, told[0], told_now[0], _are_exact(*turns)))
        return found

    def ratios(self, at: int, *, with_zeros: bool) -> tuple[list[float], bool]:
        return _ratios(self.pairs(at, with_zeros=with_zeros))


def _has_ratio(value: float, now: float, *, with_zeros: bool) -> bool:
    return value > 0 < now or (with_zeros and value >= 0 <= now)


def _ratios(pairs: list[Pair]) -> tuple[list[float], bool]:
    return [pair.ratio for pair in pairs], all(pair.is_exact for pair in pairs)


class InTurns:
    """Two groups of results by run and turn: what is paired, for each of their metrics.

    Samples that are not counted have no pair, and a value that is not above zero has none. What slows the machine down
    for a while slows both of a pair, and so leaves their ratio alone. Samples of other runs or turns are never paired;
    nor are those of a case that was measured when the other one was through, as where an ended run went on later.
    """

    def __init__(
        self, before: Iterable[tuple[str | None, Samples]], now: Iterable[tuple[str | None, Samples]]
    ) -> None:
        """Take the results of both sides: the run of each, and its samples."""
        first, second = _by_run(before), _by_run(now)
        self._parts = [
            _in_order(run, first[run], second[run]) or _by_turns(run, first[run], second[run])
            for run in sorted(first.keys() & second.keys())
        ]

    def pairs(self, at: int = 0, *, with_zeros: bool = False) -> list[Pair]:
        """Return the pairs of the metric at a place of the samples' values.

        with_zeros: zero is a value, as it is of a count; a time of zero was not measured.
        """
        return [pair for part in self._parts for pair in part.pairs(at, with_zeros=with_zeros)]

    def ratios(self, at: int = 0, *, with_zeros: bool = False) -> tuple[list[float], bool]:
        """Return the ratios of these pairs, and True if none of them has noise: in a fraction of the time."""
        found: list[float] = []
        are_exact = True
        for part in self._parts:
            ratios, is_exact = part.ratios(at, with_zeros=with_zeros)
            found += ratios
            are_exact &= is_exact
        return found, are_exact


def _in_order(run: str, results: list[Samples], others: list[Samples]) -> _InOrder | None:
    """What stands beside each other of two results that have one sample in each turn, in the same turns and in order.

    Nearly all runs are such, and ``_by_turns`` takes many times as long to say the same. None: this one is not.
    """
    if len(results) != 1 or len(others) != 1:
        return None
    (one,), (other,) = results, others
    turns = one.turns
    starts, other_starts = _in_utc(one.started_at), _in_utc(other.started_at)
    # Each turn is over, on both sides, before the next one begins.
    if (
        [*turns] != [*other.turns]
        or not all(map(lt, turns, turns[1:]))
        or not all(map(lt, map(max, starts, other_starts), map(min, starts[1:], other_starts[1:])))
    ):
        return None
    are_exact: list[bool] = []
    if any(one.traces) and any(other.traces):
        are_exact = [
            trace is not None and trace == its for trace, its in zip(one.traces, other.traces, strict=True)
        ]
    return _InOrder(run, turns, one.values, other.values, are_exact)


def _in_utc(dates: Sequence[str]) -> Sequence[str]:
    """The dates so that they sort as text, as nearly all are written already."""
    if {date[10:11] + date[19:20] + date[23:] for date in dates} == {"T.Z"}:
        return dates
    return [*map(in_utc, dates)]


def _by_turns(run: str, results: list[Samples], others: list[Samples]) -> _ByTurns:
    first, second = _by_turn(results), _by_turn(others)
    both = [(turn, first[turn], second[turn]) for turn in sorted(first.keys() & second.keys())]
    return _ByTurns(
        run,
        [
            (turn, _single(one), _single(other), _are_exact(one[0], 0, other[0], 0), one, other)
            for turn, one, other in both
            # A single sample on each side is beside the other or not, whatever the metric.
            if not (_single(one) and _single(other)) or _are_beside(one[0], 0, other[0], 0)
        ],
    )


def _single(turns: list[_Turn]) -> Sequence[float | None]:
    """The values of the only sample of a turn; nothing if there are several."""
    return turns[0].samples[0].values if len(turns) == 1 and len(turns[0].samples) == 1 else ()


def _are_beside(one: _Turn, place: int, other: _Turn, other_place: int) -> bool:
    """True if no other turn of either lies between two samples: the cases did take turns."""
    start, other_start = one.starts[place], other.starts[other_place]
    return one.before < other_start < one.after and other.before < start < other.after


def _are_exact(one: _Turn, place: int, other: _Turn, other_place: int) -> bool:
    """True if two samples were replayed from the same trace."""
    trace = one.samples[place].trace
    return trace is not None and trace == other.samples[other_place].trace


def paired(
    before: Iterable[tuple[str | None, Sequence[Timed]]], now: Iterable[tuple[str | None, Sequence[Timed]]]
) -> list[Pair]:
    """Return the pairs of two groups of results, the run and the samples of each, by their only metric."""
    first, second = ([(run, Samples.of(samples)) for run, samples in side] for side in (before, now))
    return InTurns(first, second).pairs()


def _told(turns: list[_Turn], at: int, *, with_zeros: bool) -> tuple[float, _Turn, int] | None:
    """The value of a turn, the median of several, and its first sample that has one; None: nothing is counted."""
    for turn in reversed(turns):
        if places := turn.counted(at, with_zeros=with_zeros):
            values = [turn.samples[place].values[at] or 0.0 for place in places]
            return values[0] if len(values) == 1 else statistics.median(values), turn, places[0]
    return None


def _by_run(results: Iterable[tuple[str | None, Samples]]) -> dict[str, list[Samples]]:
    """Run -> the samples of each of its results that has any."""
    told: dict[str, list[Samples]] = {}
    for run, samples in results:
        if run and samples.turns:
            told.setdefault(run, []).append(samples)
    return told


def _by_turn(results: Iterable[Samples]) -> dict[int, list[_Turn]]:
    """Turn of a run -> what each result has of it."""
    told: dict[int, list[_Turn]] = {}
    for samples in results:
        by_turn: dict[int, tuple[list[Timed], list[str]]] = {}
        for sample in map(
            _One, samples.turns, samples.started_at, samples.traces, zip(*samples.values, strict=True)
        ):
            of_turn = by_turn.setdefault(sample.turn, ([], []))
            of_turn[0].append(sample)
            of_turn[1].append(in_utc(sample.started_at))
        turns = sorted(by_turn)
        before = accumulate((max(by_turn[turn][1]) for turn in turns), max, initial="")
        after = accumulate((min(by_turn[turn][1]) for turn in reversed(turns)), min, initial=_END)
        for turn, last, next_ in zip(turns, before, [*after][-2::-1], strict=False):
            told.setdefault(turn, []).append(_Turn(*by_turn[turn], last, next_))
    return told
