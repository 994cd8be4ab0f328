"""What others did with the processors while something was measured: times of a busy machine are too long."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

_STAT = Path("/proc/stat")
#: Ticks of /proc/stat, by their indices in a line: user, nice, system, irq, softirq; and what a host took.
_BUSY, _STEAL = (0, 1, 2, 5, 6), 7
#: Ticks are of 10 ms: of less time they say nothing.
_SHORTEST_S = 0.2
#: From so many processors of others on, or such a share taken by the host, a machine is called busy.
_MOST_OF_OTHERS, _MOST_STOLEN = 0.2, 0.02


class Busy(NamedTuple):
    """What others had of the processors that this process may use, on average."""

    #: Processors that other processes kept busy; None: of a time too short for ticks.
    others_cores: float | None
    #: Share of the time that the host of a virtual machine took for others; None as above.
    stolen_share: float | None
    #: Processes that were running or waiting in the minute before, on the whole machine; None: nobody knows.
    load_before: float | None
    n_cores: int

    @property
    def is_busy(self) -> bool:
        """True if times may be longer than they would be on a quiet machine: by the load before if they were short."""
        if self.others_cores is None or self.stolen_share is None:
            return self.load_before is not None and self.load_before > (os.cpu_count() or 1)
        return self.others_cores > _MOST_OF_OTHERS or self.stolen_share > _MOST_STOLEN

    def __str__(self) -> str:
        if self.others_cores is None or self.stolen_share is None:
            return f"its load was {self.load_before or 0:.1f} before, with {os.cpu_count()} processors"
        what = f"other processes kept {self.others_cores:.1f} of {self.n_cores} processors busy meanwhile"
        stolen = (
            f", and the host took {self.stolen_share:.0%} of the time"
            if self.stolen_share > _MOST_STOLEN
            else ""
        )
        load = "" if self.load_before is None else f" (load {self.load_before:.1f} before)"
        return f"{what}{stolen}{load}"

    def data(self) -> dict[str, float | bool | None]:
        """Return it for JSON."""
        return {"is_busy": self.is_busy, **self._asdict()}


class Watch:
    """Looks at the processors from when it is made."""

    def __init__(self) -> None:
        self._cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set[int]()
        self._load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
        self._begin = self._now()

    def busy(self) -> Busy | None:
        """Return what others did until now; None where no system says it."""
        begin, end = self._begin, self._now()
        if begin is None or end is None:
            return None
        wall, busy, stolen, own = (b - a for a, b in zip(begin, end, strict=True))
        n_cores = len(self._cores)
        if wall < _SHORTEST_S:
            return Busy(None, None, self._load, n_cores)
        return Busy(
            max(0.0, busy - own) / wall, min(1.0, max(0.0, stolen / wall / n_cores)), self._load, n_cores
        )

    def _now(self) -> tuple[float, float, float, float] | None:
        """Return a clock, and the time that our processors were busy, were taken, and worked for us; in s."""
        try:
            lines = _STAT.read_text(encoding="ascii").splitlines()
            ticks_per_s = os.sysconf("SC_CLK_TCK")
            busy = stolen = n_seen = 0
            for name, *numbers in map(str.split, lines):
                if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in self._cores:
                    ticks = list(map(int, numbers))
                    busy += sum(ticks[index] for index in _BUSY)
                    stolen += ticks[_STEAL]
                    n_seen += 1
        except (OSError, ValueError, IndexError):
            return None
        if not n_seen:
            return None
        own = os.times()
        of_us = own.user + own.system + own.children_user + own.children_system
        return time.monotonic(), busy / ticks_per_s, stolen / ticks_per_s, of_us
