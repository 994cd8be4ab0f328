"""Nights: places that never run in turns, compared by the rounds of one and the nearest rounds of the other."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING

from arrowroot_lab.documents import in_utc

from .changes import likeness
from .verdict import Comparison, compare

if TYPE_CHECKING:
    from collections.abc import Iterable

    #: When a round was, and its figure, which is above zero.
    Round = tuple[str, float]

#: Rounds that are further apart are of other nights.
_APART_S = 86_400.0


def nearest(before: Iterable[Round], now: Iterable[Round]) -> list[float]:
    """Return the ratios, now over before, of the rounds that are the nearest to each other, oldest first."""
    times = [sorted((_seconds(at), figure) for at, figure in side) for side in (before, now)]
    apart = sorted(
        (abs(one[0] - other[0]), place, at)
        for place, other in enumerate(times[1])
        for at, one in enumerate(times[0])
        if abs(one[0] - other[0]) <= _APART_S
    )
    taken: dict[int, int] = {}
    used: set[int] = set()
    for _, place, at in apart:
        if place not in taken and at not in used:
            taken[place] = at
            used.add(at)
    return [times[1][place][1] / times[0][at][1] for place, at in sorted(taken.items())]


def compare_nights(ratios: list[float], *, is_lower_better: bool) -> Comparison:
    """Return what the ratios of nights allow to say; nights that are alike tell less: they have wider bounds."""
    alike = likeness([math.log(ratio) for ratio in ratios])
    return compare(
        ratios, is_lower_better=is_lower_better, widening=math.sqrt((1 + alike) / (1 - alike)), of="nights"
    )


def _seconds(date: str) -> float:
    return datetime.fromisoformat(in_utc(date).replace("Z", "+00:00")).timestamp()
