"""The clock of engines that are Python."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Stopwatch:
    """Wall time, and CPU time (user + system) of all threads of this process."""

    def __init__(self) -> None:
        self._cpu_ns, self._wall_ns = time.process_time_ns(), time.perf_counter_ns()

    def wall_ns(self) -> int:
        """Wall time so far."""
        return time.perf_counter_ns() - self._wall_ns

    def read(self, prefix: str = "") -> dict[str, int]:
        """Both times so far, as an answer has them."""
        return {f"{prefix}wall_ns": self.wall_ns(), f"{prefix}cpu_ns": time.process_time_ns() - self._cpu_ns}


def least(repetitions: int, work: Callable[[], object], prefix: str = "") -> dict[str, int]:
    """Return the least wall time and the least CPU time that some work takes, as an answer has them."""
    found: dict[str, int] = {}
    for _ in range(repetitions):
        watch = Stopwatch()
        work()
        for key, value in watch.read(prefix).items():
            found[key] = min(value, found.get(key, value))
    return found
