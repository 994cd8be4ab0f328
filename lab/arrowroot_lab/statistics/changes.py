"""Change points: where the level of a history changed, and by how much; outliers and noise are none."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: A level that changed by less is none, at whatever noise: two builds of one program may differ by as much.
LEAST_CHANGE = 0.025
#: A level is of so many points at least: so many are needed after a change until it is told.
LEAST_POINTS = 3
#: Fewer points do not tell the noise.
LEAST_HISTORY = 10
#: The newest points of a longer history are judged.
MOST_HISTORY = 400
#: A change costs so many times ln n, in squares of the noise: fewer are told the more it is. docs/lab/statistics.md
#: has what it finds, and how often it finds what is not there.
_PENALTY = 4.5
#: A point is wild if it is so many deviations from the middles of so many points before and after it.
_WILD, _BESIDE = 3.0, 4
#: How much alike neighbours may be taken for, and of how many points half of that may be chance.
_MOST_ALIKE, _OF_CHANCE = 0.8, 8
#: The median absolute difference of two values of a normal distribution, over its deviation.
_OF_DIFFERENCES = math.sqrt(2) * 0.6745


@dataclass(frozen=True)
class Change:
    """The level is another one from a point on."""

    #: The place of the first point of the new level.
    place: int
    #: The median of the new level over that of the old one.
    ratio: float


def changes(values: Sequence[float]) -> list[Change]:
    """Return where the level of a history changed, in its order.

    values: one figure for each point, oldest first, all above zero
    """
    skipped = max(0, len(values) - MOST_HISTORY)
    if len(values) < LEAST_HISTORY:
        return []
    middle = statistics.median(values[skipped:])
    logs = [math.log(value / middle) for value in values[skipped:]]
    noise = _noise(logs)
    tame = _tamed(logs, noise)
    places = _merged(tame, _segmented(tame, noise * _likeness(tame)))
    ends = [0, *places, len(logs)]
    levels = [statistics.median(logs[begin:end]) for begin, end in pairwise(ends)]
    return [
        Change(skipped + place, math.exp(new - old))
        for place, (old, new) in zip(places, pairwise(levels), strict=True)
    ]


def _noise(logs: Sequence[float]) -> float:
    """The deviation of points within a level, from the differences of neighbours: few of them are over a change."""
    middle = statistics.median(abs(new - old) for old, new in pairwise(logs))
    # Counts and virtual time have no noise. Then whatever is above the least change is a change.
    return max(middle / _OF_DIFFERENCES, LEAST_CHANGE / 20)


def _tamed(logs: Sequence[float], noise: float) -> list[float]:
    """The points without what is wild: those far from the middles of the points before and after become the nearer one.

    A level that has begun is on one side, so it stays.
    """
    found = []
    for place, value in enumerate(logs):
        sides = (logs[max(0, place - _BESIDE) : place + 1], logs[place : place + _BESIDE + 1])
        middles = [statistics.median(side) for side in sides if len(side) > 1]
        near = min(middles, key=lambda middle: abs(value - middle))
        found.append(value if abs(value - near) <= _WILD * noise else near)
    return found


def _likeness(logs: Sequence[float]) -> float:
    """By how much more a level of neighbours that are alike varies than their differences tell: 1 or more."""
    alike = likeness(logs)
    return math.sqrt((1 + alike) / (1 - alike)) / math.sqrt(1 - alike)


def likeness(logs: Sequence[float]) -> float:
    """Return how much alike neighbours are: 0, they are not, to 0.8.

    Of points that are not alike, one difference takes half of the next one back; a change of level is in one alone.
    """
    steps = [new - old for old, new in pairwise(logs)]
    if not steps:
        return 0.0
    most = 3 * statistics.median(map(abs, steps)) / _OF_DIFFERENCES
    steps = [min(max(step, -most), most) for step in steps]
    squares = sum(step * step for step in steps)
    back = sum(one * next_one for one, next_one in pairwise(steps)) / squares if squares else -0.5
    # Few points seem alike by chance.
    return min(max(1 + 2 * back, 0.0), _MOST_ALIKE) * len(logs) / (len(logs) + _OF_CHANCE)


def _segmented(logs: Sequence[float], noise: float) -> list[int]:
    """The places of the changes that explain a history best: squares within levels, and a penalty for each change.

    Each end of a level has the best of all its beginnings (optimal partitioning, Jackson and others 2005).
    """
    n, penalty = len(logs), _PENALTY * math.log(len(logs)) * noise**2
    sums, squares = [0.0], [0.0]
    for value in logs:
        sums.append(sums[-1] + value)
        squares.append(squares[-1] + value * value)
    # The least cost of all before an end, but for its squares; and where the last level before it begins.
    best, last = [-penalty] + [math.inf] * n, [0] * (n + 1)
    for end in range(LEAST_POINTS, n + 1):
        cost, last[end] = min(
            (best[begin] - squares[begin] - (sums[end] - sums[begin]) ** 2 / (end - begin), begin)
            for begin in range(end - LEAST_POINTS + 1)
        )
        best[end] = cost + squares[end] + penalty
    places, end = [], n
    while last[end]:
        end = last[end]
        places.append(end)
    return places[::-1]


def _merged(logs: Sequence[float], places: list[int]) -> list[int]:
    """Drop the changes whose levels differ least until all differ enough; some outliers make no level."""
    places = list(places)
    while places:
        ends = [0, *places, len(logs)]
        parts = [logs[begin:end] for begin, end in pairwise(ends)]
        steps = [_step(old, new) for old, new in pairwise(parts)]
        least = min(range(len(steps)), key=steps.__getitem__)
        if steps[least] >= math.log1p(LEAST_CHANGE):
            break
        del places[least]
    return places


def _step(old: Sequence[float], new: Sequence[float]) -> float:
    """By how much two levels differ; 0 if one of them has too few points that are nearer to it than to the other."""
    levels = statistics.median(old), statistics.median(new)
    for part, own, other in ((old, *levels), (new, *levels[::-1])):
        if sum(abs(value - own) < abs(value - other) for value in part) < LEAST_POINTS:
            return 0.0
    return abs(levels[1] - levels[0])
