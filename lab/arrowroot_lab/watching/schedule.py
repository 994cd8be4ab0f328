"""When a campaign is repeated: every so often, or at times of the day."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from arrowroot_lab.errors import RequestError
from arrowroot_lab.quantities import parse_time_ns

#: Nobody needs it more often.
_LEAST = timedelta(seconds=1)
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


class Schedule(Protocol):
    """Knows when the next time is."""

    def after(self, begun: datetime | None, now: datetime) -> datetime:
        """Return when to begin next: ``begun`` is the last beginning, None before the first."""


@dataclass(frozen=True)
class Every:
    """At once, and then again so long after each beginning; what took longer is followed at once."""

    period: timedelta

    def after(self, begun: datetime | None, now: datetime) -> datetime:
        """Return when to begin next."""
        return now if begun is None else max(begun + self.period, now)


@dataclass(frozen=True)
class At:
    """At times of the day, as the clock of the machine has them."""

    #: Hours and minutes, in order.
    times: tuple[tuple[int, int], ...]

    def after(self, begun: datetime | None, now: datetime) -> datetime:
        """Return when to begin next: a time that a run took longer than is left out."""
        del begun
        today = now.astimezone().date()
        # The zone is looked up for each day: the local time counts if the clock is put back or forward between.
        places = (
            datetime(day.year, day.month, day.day, hour, minute).astimezone()
            for day in (today, today + timedelta(days=1))
            for hour, minute in self.times
        )
        return next(place for place in places if place > now)


def every(text: str) -> Every:
    """Return the schedule of a period such as ``6h``. Raises: RequestError if it is none."""
    try:
        period = timedelta(microseconds=parse_time_ns(text) / 1000)
    except (ValueError, OverflowError) as error:
        raise RequestError(f"--every {text}: {error}") from None
    if period < _LEAST:
        raise RequestError(f"--every {text}: expected a second at least")
    return Every(period)


def at(text: str) -> At:
    """Return the schedule of times such as ``02:30,14:30``. Raises: RequestError if one is none."""
    times = []
    for word in text.split(","):
        match = _TIME.fullmatch(word.strip())
        if match is None:
            raise RequestError(
                f"--at {text}: expected times of the day, as 02:30,14:30, not {word.strip()!r}"
            )
        times.append((int(match[1]), int(match[2])))
    return At(tuple(sorted(set(times))))
