"""A progress bar on a terminal or in a notebook, on stderr; nothing elsewhere.

``ARROWROOT_PROGRESS=0`` (or off, no, false) turns it off everywhere. There is one bar at a time: work inside of
other work shows none.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, TextIO

from arrowroot import _terminal as terminal
from arrowroot._render import clip, width_of
from arrowroot._sizes import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import Self

    from arrowroot import Scan

_BAR_WIDTH = 30
#: The shortest time for which a rate is shown.
_SHORTEST_S = 1e-3
_LEAST_BAR_WIDTH = 5
_PARTS = " ▏▎▍▌▋▊▉█"
_INTERVAL_S = 0.1
_OFF = ("0", "off", "no", "false")
#: Calls of the API that take less show nothing.
LONG_S = 1.0


def bar(share: float, width: int = _BAR_WIDTH) -> str:
    """Return a bar of so many columns, filled to an eighth of a column."""
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    text = "█" * (eighths // 8) + (_PARTS[eighths % 8] if eighths % 8 else "")
    return text.ljust(width)


def line(label: str, share: float | None, n_bytes: int, elapsed_ns: int, max_width: int = 80) -> str:
    """Return the text of the bar: per cent if the whole is known, bytes, their rate, and the time remaining."""
    seconds = elapsed_ns / 1e9
    parts = [] if share is None else [f"{100 * share:3.0f} %"]
    # What is written is long collected before the first bytes go out.
    if n_bytes or share is None:
        parts.append(format_bytes(n_bytes))
        if seconds >= _SHORTEST_S:
            parts.append(format_rate(n_bytes / seconds))
    if share is not None and 0 < share < 1:
        parts.append(f"{format_seconds(seconds * (1 - share) / share)} left")
    text = "  ".join(parts)
    # The numbers come first where there is little room.
    room = max_width - width_of(label) - width_of(text) - 2
    drawn = ""
    if share is not None and room >= _LEAST_BAR_WIDTH:
        drawn = bar(share, min(room, _BAR_WIDTH)) + " "
    return clip(f"{label} {drawn}{text}", max_width)


def is_on(stream: TextIO | None) -> bool:
    """Return whether somebody looks: at a terminal, or at a notebook."""
    if stream is None or os.environ.get("ARROWROOT_PROGRESS", "").lower() in _OFF:
        return False
    return stream.isatty() or "ipykernel" in sys.modules


class Progress:
    """Shows how far a scan, or other work, is, as often as the eye can follow; a context manager.

    Looks at the counters from a thread of its own, so that it moves within a batch too, and the reader never waits
    for the terminal.
    """

    #: The one that may write.
    _current: ClassVar[Progress | None] = None
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(
        self,
        label: str | Callable[[], str],
        stream: TextIO | None = None,
        *,
        after_s: float = _INTERVAL_S,
        since_ns: int | None = None,
    ) -> None:
        """Label: what is done, or what says so now.

        ``after_s``: work that takes less shows nothing; ``since_ns``: when it began, of ``time.perf_counter_ns``.
        """
        given = stream or sys.stderr
        self._is_on = is_on(given)
        self._stream = given
        self._label = label
        self._after_s = after_s
        self._since_ns = since_ns
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_paused = False
        #: That of the work which this is inside of.
        self._outer: Progress | None = None
        #: The text on the screen; "" if there is none.
        self._text = ""
        self._n_written = 0
        self._done: Callable[[], tuple[float | None, int]] = lambda: (0.0, 0)

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

    def follow(self, done: Callable[[], tuple[float | None, int]]) -> None:
        """Show a share (None: of something whose end is not known) and a number of bytes until it is over.

        What was followed before is no longer.
        """
        if not self._is_on:
            return
        self._done = done
        if self._thread is None:
            with self._lock:
                self._outer = Progress._current
                self._is_on = self._outer is None or self._outer._is_paused  # noqa: SLF001 - of this class
                if not self._is_on:
                    return
                Progress._current = self
            start_ns = self._since_ns or time.perf_counter_ns()
            self._thread = threading.Thread(target=self._show, args=(start_ns,), daemon=True)
            self._thread.start()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the terminal to others for the block, which may print."""
        with self._lock:
            self._is_paused = True
            before = self._text if self._stream.isatty() else ""
            if before:
                self._write("")
        try:
            yield
        finally:
            with self._lock:
                self._is_paused = False
                if before:
                    self._write(before)

    def _show(self, start: int) -> None:
        followed = self._done
        late_s = self._after_s - (time.perf_counter_ns() - start) / 1e9
        if self._is_over.wait(max(0.0, late_s)):
            return
        while not self._is_over.wait(_INTERVAL_S):
            if self._done is not followed:
                start, followed = time.perf_counter_ns(), self._done
            if self._is_paused:
                continue
            share, n_bytes = followed()
            elapsed_ns = time.perf_counter_ns() - start
            width = terminal.width(self._stream) - 1
            label = self._label if isinstance(self._label, str) else self._label()
            text = line(label, None if share is None else min(1.0, share), n_bytes, elapsed_ns, width)
            with self._lock:
                if not self._is_paused:
                    self._write(text)

    def _write(self, text: str) -> None:
        """Show a text in the place of the last one, unless work inside of this has the terminal."""
        if Progress._current is not self:
            return
        self._stream.write(self._cleared(text))
        self._stream.flush()
        self._text = text

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
            with self._lock:
                if self._text:
                    self._write("")
                if Progress._current is self:
                    is_over = self._outer is None or self._outer._is_over.is_set()  # noqa: SLF001 - of this class
                    Progress._current = None if is_over else self._outer
