"""Pairs: samples of two results that were taken one after the other, in the same turn of the same run."""

from __future__ import annotations

import math
import statistics
from itertools import accumulate, pairwise
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


if TYPE_CHECKING:
    #: The run of a result, and its samples in their order.
    Samples = tuple[str | None, Sequence[Timed]]

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


if TYPE_CHECKING:
    #: Run and turn; the values of the only sample of each side, nothing if it has several; if these two have no noise;
    #: and what is looked at for each metric where there are several.
    _Both = tuple[
        tuple[str, int], Sequence[float | None], Sequence[float | None], bool, list[_Turn], list[_Turn]
    ]


class InTurns:
    """Two groups of results by run and turn: what is paired, for each of their metrics.

    Samples that are not counted have no pair, and a value that is not above zero has none. What slows the machine down
    for a while slows both of a pair, and so leaves their ratio alone. Samples of other runs or turns are never paired;
    nor are those of a case that was measured when the other one was through, as where an ended run went on later.
    """

    def __init__(self, before: Iterable[Samples], now: Iterable[Samples]) -> None:
        first, second = _by_run(before), _by_run(now)
        self._both: list[_Both] = []
        for run in sorted(first.keys() & second.keys()):
            in_order = _in_order(run, first[run], second[run])
            self._both += _by_turns(run, first[run], second[run]) if in_order is None else in_order

    def pairs(self, at: int = 0, *, with_zeros: bool = False) -> list[Pair]:
        """Return the pairs of the metric at a place of the samples' values.

        with_zeros: zero is a value, as it is of a count; a time of zero was not measured.
        """
        found = []
        for key, single, other_single, is_exact, one, other in self._both:
            if single and other_single:
                value, now = single[at], other_single[at]
                if (
                    value is not None
                    and now is not None
                    and (value > 0 < now or (with_zeros and value >= 0 <= now))
                ):
                    found.append(Pair(*key, value, now, is_exact))
                continue
            told, told_now = (_told(side, at, with_zeros=with_zeros) for side in (one, other))
            if told is None or told_now is None:
                continue
            turns = *told[1:], *told_now[1:]
            if _are_beside(*turns):
                found.append(Pair(*key, told[0], told_now[0], _are_exact(*turns)))
        return found


def _in_order(run: str, results: list[Sequence[Timed]], others: list[Sequence[Timed]]) -> list[_Both] | None:
    """What stands beside each other of two results that have one sample in each turn, in the same turns and in order.

    Nearly all runs are such, and ``_by_turns`` takes several times as long to say the same. None: this one is not.
    """
    if len(results) != 1 or len(others) != 1:
        return None
    (one,), (other,) = results, others
    turns = [sample.turn for sample in one]
    starts, other_starts = ([in_utc(sample.started_at) for sample in side] for side in (one, other))
    if (
        turns != [sample.turn for sample in other]
        or any(before >= after for before, after in pairwise(turns))
        or starts != sorted(starts)
        or other_starts != sorted(other_starts)
    ):
        return None
    ends, other_ends = [*starts[1:], _END], [*other_starts[1:], _END]
    found: list[_Both] = []
    before = other_before = ""
    for sample, start, end, its, other_start, other_end in zip(
        one, starts, ends, other, other_starts, other_ends, strict=True
    ):
        if before < other_start < end and other_before < start < other_end:
            is_exact = sample.trace is not None and sample.trace == its.trace
            found.append(((run, sample.turn), sample.values, its.values, is_exact, [], []))
        before, other_before = start, other_start
    return found


def _by_turns(run: str, results: list[Sequence[Timed]], others: list[Sequence[Timed]]) -> list[_Both]:
    """What stands beside each other of the results of a run, whatever they have of its turns."""
    first, second = _by_turn(results), _by_turn(others)
    both = [(turn, first[turn], second[turn]) for turn in sorted(first.keys() & second.keys())]
    return [
        ((run, turn), _single(one), _single(other), _are_exact(one[0], 0, other[0], 0), one, other)
        for turn, one, other in both
        # A single sample on each side is beside the other or not, whatever the metric.
        if not (_single(one) and _single(other)) or _are_beside(one[0], 0, other[0], 0)
    ]


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


def paired(before: Iterable[Samples], now: Iterable[Samples]) -> list[Pair]:
    """Return the pairs of two groups of results by their only metric."""
    return InTurns(before, now).pairs()


def _told(turns: list[_Turn], at: int, *, with_zeros: bool) -> tuple[float, _Turn, int] | None:
    """The value of a turn, the median of several, and its first sample that has one; None: nothing is counted."""
    for turn in reversed(turns):
        if places := turn.counted(at, with_zeros=with_zeros):
            values = [turn.samples[place].values[at] or 0.0 for place in places]
            return values[0] if len(values) == 1 else statistics.median(values), turn, places[0]
    return None


def _by_run(results: Iterable[Samples]) -> dict[str, list[Sequence[Timed]]]:
    """Run -> the samples of each of its results that has any."""
    told: dict[str, list[Sequence[Timed]]] = {}
    for run, samples in results:
        if run and samples:
            told.setdefault(run, []).append(samples)
    return told


def _by_turn(results: Iterable[Sequence[Timed]]) -> dict[int, list[_Turn]]:
    """Turn of a run -> what each result has of it."""
    told: dict[int, list[_Turn]] = {}
    for samples in results:
        by_turn: dict[int, tuple[list[Timed], list[str]]] = {}
        for sample in samples:
            of_turn = by_turn.setdefault(sample.turn, ([], []))
            of_turn[0].append(sample)
            of_turn[1].append(in_utc(sample.started_at))
        turns = sorted(by_turn)
        before = accumulate((max(by_turn[turn][1]) for turn in turns), max, initial="")
        after = accumulate((min(by_turn[turn][1]) for turn in reversed(turns)), min, initial=_END)
        for turn, last, next_ in zip(turns, before, [*after][-2::-1], strict=False):
            told.setdefault(turn, []).append(_Turn(*by_turn[turn], last, next_))
    return told
