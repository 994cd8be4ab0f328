"""Progress on stderr: on a terminal one line that is written anew, elsewhere a line for each step."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

from arrowroot_lab.mining.writing import WIDTH, clean, cut
from arrowroot_lab.quantities import time_text

if TYPE_CHECKING:
    from arrowroot_lab.running.events import RunProgress

#: Of events: what is not within a step; and what stays on a terminal, too.
_STEPS = ("waiting", "turn", "case", "failed", "left", "retry", "busy")
_STAYS = ("failed", "left", "retry", "busy")


def show_line(line: str) -> None:
    """Show a line on a terminal, in the place of the last one; "": none. Elsewhere nothing is shown."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K" + clean(line)[: _width() - 1])
        sys.stderr.flush()


def _width() -> int:
    return min(shutil.get_terminal_size().columns, WIDTH)


class Screen:
    """Shows the events of a run. What is said is whole: where there is no room, it is the names that are cut."""

    def show(self, kind: str, about: str, text: str, state: RunProgress) -> None:
        """Take an event."""
        before = ""
        if state.share is not None:
            left = f", {time_text(state.left_s * 1e9)} left" if state.left_s else ""
            before = f"[{100 * state.share:3.0f} %{left}] "
        about, text = clean(about), clean(text)
        if sys.stderr.isatty():
            show_line("")
            if kind in _STAYS:
                sys.stderr.write(f"{_filled(f'{about}: {text}')}\n")
            if kind == "left" or state.share == 1:  # nothing comes after it
                return
            name = cut(about, max(_width() - len(before) - len(text) - 3, 0))
            show_line(f"{before}{name}: {text}" if name else before + text)
        elif kind in _STEPS:
            sys.stderr.write(f"{_filled(f'{before}{about}: {text}')}\n")
            sys.stderr.flush()


def _filled(line: str) -> str:
    return textwrap.fill(
        line, _width(), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
