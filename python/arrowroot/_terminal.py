"""The abilities of the terminal: its width, its colours and its letters."""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

_WIDE = 10_000
_USUAL = 80
_NARROWEST = 20
#: For what we draw, letters of one column that every encoding has.
_PLAIN = dict(zip("█▇▆▅▄▃▂▁▉▊▋▌▍▎▏▓▒░·─│└├┤…µ²±", "#####:..####:..#+.,-|`|+.u2~", strict=True))
#: The first of Unicode's letters of dots, which graphs are drawn with.
_BRAILLE = 0x2800


def width(stream: TextIO | None = None, piped: int = _WIDE) -> int:
    """Return the columns to fill: those of the terminal, or ``piped`` if it is none (practically no limit)."""
    # shutil.get_terminal_size() would do, if importing it did not cost as much as listing a file.
    set_by_user = os.environ.get("COLUMNS", "")
    if set_by_user.isdecimal() and int(set_by_user) > 0:
        return max(_NARROWEST, int(set_by_user))
    out = stream or sys.stdout
    if not out.isatty():
        return piped
    try:
        return max(_NARROWEST, os.get_terminal_size(out.fileno()).columns or _USUAL)
    except OSError:
        return _USUAL


@contextmanager
def readable(stream: TextIO) -> Iterator[None]:
    """Have a stream whose encoding lacks letters write others for them: lines as of "-", other letters as escapes.

    Not where the user has said what to write instead.
    """
    usual = ("strict", "surrogateescape", "backslashreplace")
    if (
        not isinstance(stream, io.TextIOWrapper)
        or stream.closed
        or stream.errors not in usual
        or codecs.lookup(stream.encoding).name == "utf-8"
    ):
        yield
        return
    before = stream.errors
    codecs.register_error("arrowroot.plain", _plain)
    stream.reconfigure(errors="arrowroot.plain")
    try:
        yield
    finally:
        if not stream.closed:
            stream.reconfigure(errors=before)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_plain_letter, error.object[error.start : error.end])), error.end


def _plain_letter(letter: str) -> str:
    if _BRAILLE <= ord(letter) < _BRAILLE + 256:
        return " " if ord(letter) == _BRAILLE else "*"
    return _PLAIN.get(letter) or letter.encode("ascii", "backslashreplace").decode()


class Style:
    """Text attributes on a terminal that takes them, nothing elsewhere or with NO_COLOR."""

    def __init__(self, stream: TextIO) -> None:
        self.is_on = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def _with(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_on else text

    def strong(self, text: str) -> str:
        """Return the text in bold."""
        return self._with("1", text)

    def headed(self, name: str, said: str) -> str:
        """Return a heading that fits the terminal: a name in bold, and what is said of it."""
        import textwrap

        lines = textwrap.fill(
            said,
            width(),
            initial_indent=f"{name}  ",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        return self.strong(name) + lines[len(name) :]

    def faint(self, text: str) -> str:
        """Return the text in a weak colour."""
        return self._with("2", text)

    def accent(self, text: str) -> str:
        """Return the text in the accent colour."""
        return self._with("36", text)
