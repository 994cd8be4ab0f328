"""What the terminal can do: its width and its colours."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TextIO

_WIDE = 10_000


def width(stream: TextIO | None = None) -> int:
    """Return the columns to fill: those of the terminal, or practically no limit when the output is piped."""
    if not (stream or sys.stdout).isatty() and "COLUMNS" not in os.environ:
        return _WIDE
    return max(20, shutil.get_terminal_size().columns)


class Style:
    """Text attributes on a terminal that takes them, nothing elsewhere or with NO_COLOR."""

    def __init__(self, stream: TextIO) -> None:
        self.is_on = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def _with(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_on else text

    def strong(self, text: str) -> str:
        """Return the text in bold."""
        return self._with("1", text)

    def faint(self, text: str) -> str:
        """Return the text in a weak colour."""
        return self._with("2", text)

    def accent(self, text: str) -> str:
        """Return the text in the accent colour."""
        return self._with("36", text)
