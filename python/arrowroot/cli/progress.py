"""A progress bar on a terminal, on stderr; nothing elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TextIO

from arrowroot._render import clip
from arrowroot._sizes import format_bytes, format_seconds
from arrowroot.cli import terminal

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from arrowroot._plan import ScanStats

_BAR_WIDTH = 30
_PARTS = " ▏▎▍▌▋▊▉█"
_INTERVAL_NS = 100_000_000


def bar(share: float, width: int = _BAR_WIDTH) -> str:
    """Return a bar of so many columns, filled to an eighth of a column."""
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    text = "█" * (eighths // 8) + (_PARTS[eighths % 8] if eighths % 8 else "")
    return text.ljust(width)


def line(label: str, done: int, total: int, n_bytes: int, elapsed_ns: int) -> str:
    """Return the text of the bar: per cent, bytes, rate and time remaining."""
    share = done / total if total else 1.0
    seconds = elapsed_ns / 1e9
    text = f"{label} {bar(share)} {100 * share:3.0f} %  {format_bytes(n_bytes)}"
    if seconds > 0:
        text += f"  {format_bytes(n_bytes / seconds)}/s"
    if 0 < share < 1:
        text += f"  {format_seconds(seconds * (1 - share) / share)} left"
    return text


class Progress:
    """Shows how far a pass of ``total`` entries is, as often as the eye can follow; a context manager."""

    def __init__(self, label: str, total: int, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._is_on = self._stream.isatty()
        self._label = label
        self._total = total
        self._start = time.perf_counter_ns()
        self._next = self._start

    def __call__(self, stats: ScanStats) -> None:
        """Show the counters of the pass."""
        now = time.perf_counter_ns()
        if not self._is_on or now < self._next:
            return
        self._next = now + _INTERVAL_NS
        text = line(self._label, stats.n_entries, self._total, stats.unzip_bytes, now - self._start)
        self._stream.write("\r" + clip(text, terminal.width(self._stream) - 1) + "\x1b[K")
        self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_on:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
