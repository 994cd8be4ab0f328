"""A progress bar on a terminal or in a notebook, on stderr; nothing elsewhere.

``ARROWROOT_PROGRESS=0`` turns it off everywhere.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, TextIO

from arrowroot import _terminal as terminal
from arrowroot._render import clip, width_of
from arrowroot._sizes import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from arrowroot import Scan

_BAR_WIDTH = 30
#: The shortest time for which a rate is shown.
_SHORTEST_S = 1e-3
_LEAST_BAR_WIDTH = 5
_PARTS = " ▏▎▍▌▋▊▉█"
_INTERVAL_S = 0.1


def bar(share: float, width: int = _BAR_WIDTH) -> str:
    """Return a bar of so many columns, filled to an eighth of a column."""
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    text = "█" * (eighths // 8) + (_PARTS[eighths % 8] if eighths % 8 else "")
    return text.ljust(width)


def line(label: str, share: float, n_bytes: int, elapsed_ns: int, max_width: int = 80) -> str:
    """Return the text of the bar: per cent, uncompressed bytes, their rate, and the time remaining."""
    seconds = elapsed_ns / 1e9
    text = f"{100 * share:3.0f} %  {format_bytes(n_bytes)}"
    if seconds >= _SHORTEST_S:
        text += f"  {format_rate(n_bytes / seconds)}"
    if 0 < share < 1:
        text += f"  {format_seconds(seconds * (1 - share) / share)} left"
    # The numbers come first where there is little room.
    room = max_width - width_of(label) - width_of(text) - 2
    drawn = bar(share, min(room, _BAR_WIDTH)) + " " if room >= _LEAST_BAR_WIDTH else ""
    return clip(f"{label} {drawn}{text}", max_width)


def is_on(stream: TextIO) -> bool:
    """Return whether somebody looks: at a terminal, or at a notebook."""
    if os.environ.get("ARROWROOT_PROGRESS") == "0":
        return False
    return stream.isatty() or "ipykernel" in sys.modules


class Progress:
    """Shows how far a scan, or other work, is, as often as the eye can follow; a context manager.

    Looks at the counters from a thread of its own, so that it moves within a batch too, and the reader never waits
    for the terminal.
    """

    def __init__(self, label: str, stream: TextIO | None = None, *, after_s: float = _INTERVAL_S) -> None:
        """``after_s``: work that takes less shows nothing."""
        self._stream = stream or sys.stderr
        self._is_on = is_on(self._stream)
        self._label = label
        self._after_s = after_s
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None
        self._has_shown = False
        self._n_written = 0
        self._done: Callable[[], tuple[float, int]] = lambda: (0.0, 0)

    def watch(self, scan: Scan) -> None:
        """Show the counters of the scan until it is over."""
        if not self._is_on:
            # Making its plan takes time.
            return
        plan = scan.plan

        def done() -> tuple[float, int]:
            stats = scan.stats
            # How much a filter will select is not known, but how far it has looked is.
            n_done, n_all = (
                (stats.n_looked_at, plan.n_entries) if plan.filter else (stats.n_baskets, plan.n_baskets)
            )
            return n_done / n_all if n_all else 1.0, stats.unzip_bytes

        self.follow(done)

    def follow(self, done: Callable[[], tuple[float, int]]) -> None:
        """Show a share and a number of bytes until it is over; what was followed before is no longer."""
        if not self._is_on:
            return
        self._done = done
        if self._thread is None:
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()

    def _show(self) -> None:
        start = time.perf_counter_ns()
        followed = self._done
        if self._is_over.wait(self._after_s):
            return
        self._has_shown = True
        while not self._is_over.wait(_INTERVAL_S):
            if self._done is not followed:
                start, followed = time.perf_counter_ns(), self._done
            share, n_bytes = followed()
            elapsed_ns = time.perf_counter_ns() - start
            width = terminal.width(self._stream) - 1
            text = line(self._label, min(1.0, share), n_bytes, elapsed_ns, width)
            self._stream.write(self._cleared(text))
            self._stream.flush()

    def _cleared(self, text: str) -> str:
        """Return a text that takes the place of the last one; notebooks know no codes of terminals."""
        if self._stream.isatty():
            return f"\r{text}\x1b[K"
        spaces = " " * max(0, self._n_written - width_of(text))
        self._n_written = width_of(text)
        return f"\r{text}{spaces}" + ("" if text else "\r")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        if self._thread:
            self._thread.join()
            if self._has_shown:
                self._stream.write(self._cleared(""))
                self._stream.flush()
