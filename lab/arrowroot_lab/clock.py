"""The time of documents: that of the machine's clock, and in a run one that goes on whoever sets that clock."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from .quantities import time_text

if TYPE_CHECKING:
    from typing_extensions import Self

#: A clock that differs by less was not set.
_STEP_S = 2.0
#: Clocks of two machines may differ by so much.
_AHEAD_S = 60.0
#: The clock of the run that is under way; empty: there is none.
_steady: list[SteadyClock] = []


class SteadyClock:
    """In its ``with`` times go on steadily from its beginning."""

    def __enter__(self) -> Self:
        self._begin, self._began_ns = _of_machine(), _steady_ns()
        _steady.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _steady.remove(self)

    def now(self) -> datetime:
        """The time in UTC."""
        return self._begin + timedelta(microseconds=(_steady_ns() - self._began_ns) // 1000)

    def remarks(self) -> list[str]:
        """Say if the machine's clock was set since the beginning."""
        back_s = (self.now() - _of_machine()).total_seconds()
        if abs(back_s) <= _STEP_S:
            return []
        way = "back" if back_s > 0 else "forward"
        told = f"the clock was set {way} by {time_text(abs(back_s) * 1e9)} in the run"
        return [f"{told}: its results have the times of the clock as it was at the beginning"]


def now() -> datetime:
    """Return the time in UTC."""
    return _steady[-1].now() if _steady else _of_machine()


def ahead_s(date: str) -> float:
    """Return how many seconds a date of a document lies ahead."""
    return (datetime.fromisoformat(date.replace("Z", "+00:00")) - now()).total_seconds()


def remarks(newest: str | None, site: str) -> list[str]:
    """Say if the newest result of a site, by its date, is from the future."""
    if newest is None or ahead_s(newest) <= _AHEAD_S:
        return []
    told = f"the clock is {time_text(ahead_s(newest) * 1e9)} behind the newest result of site {site}"
    return [f"{told}, so results of this run seem older than that one: is it right?"]


def _of_machine() -> datetime:
    return datetime.now(timezone.utc)


def _steady_ns() -> int:
    # Unlike the monotonic clock it goes on while a machine sleeps.
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
