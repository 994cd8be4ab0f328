"""Progress on stderr: on a terminal one line that is written anew."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from arrowroot_lab.mining.writing import clean

if TYPE_CHECKING:
    from arrowroot_lab.running.events import RunProgress


def show_line(line: str) -> None:
    """Show a line on a terminal, in the place of the last one; "": none. Elsewhere nothing is shown."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K" + clean(line)[: shutil.get_terminal_size().columns - 1])
        sys.stderr.flush()


class Screen:
    """Shows the events of a run: a line on a terminal, else a line for each event that matters."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()

    def show(self, kind: str, about: str, text: str, state: RunProgress) -> None:
        """Take an event."""
        taken, left, left_s = state
        progress = f"{taken} of {taken + left} samples" if taken + left else ""
        if left and left_s is not None:
            progress += f", {_duration(left_s)} left"
        line = clean(f"{about}: {text}")
        with_progress = f"[{progress}] {line}" if progress else line
        if self._is_terminal:
            show_line(with_progress)
            if kind in ("case", "gap", "left", "retry"):
                sys.stderr.write("\r\x1b[K" + line + "\n")
        elif kind not in ("dataset", "rehearsal"):
            sys.stderr.write(f"{with_progress}\n")
        sys.stderr.flush()


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
