"""The message of a command that failed, and the exit code that says whose fault it is."""

from __future__ import annotations

import os
import re
import shlex
import sys
from typing import TYPE_CHECKING

from arrowroot import (
    ArrowrootError,
    CorruptFileError,
    InvalidRequestError,
    NotFoundError,
    UnsupportedError,
)
from arrowroot._render import printable, without_secrets
from arrowroot.cli.parser import EXIT_USAGE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

EXIT_DONE = 0
EXIT_DATA = 1
EXIT_UNSUPPORTED = 3
#: Done, but for inputs that were left out, as was asked for.
EXIT_SKIPPED = 4
EXIT_INTERRUPTED = 130

_WORST_FIRST = (EXIT_DATA, EXIT_UNSUPPORTED, EXIT_USAGE)


def wants_traceback(options: argparse.Namespace) -> bool:
    """Return whether errors are to be shown as Python does."""
    return bool(options.debug) or os.environ.get("ARROWROOT_DEBUG", "") not in ("", "0")


def say(error: Exception) -> int:
    """Say on stderr what is wrong, in one line but for a place shown, and return the exit code."""
    message, code = _judge(error)
    lines = without_secrets(message).split("\n")
    print("arrowroot: " + "\n".join(map(printable, lines)), file=sys.stderr)
    return code


def say_with_traceback(error: Exception) -> int:
    """Say on stderr where it came from, as Python does, and return the exit code.

    Errors of the system and of libraries have the names of files as they were typed: none of it gives access.
    """
    import traceback

    lines = without_secrets("".join(traceback.format_exception(error))).split("\n")
    print("\n".join(map(printable, lines)), end="", file=sys.stderr)
    return _judge(error)[1]


def worst(codes: Iterable[int]) -> int:
    """Return the exit code for several files: that of the worst failure."""
    return min(codes, key=_WORST_FIRST.index, default=EXIT_DONE)


def _judge(error: Exception) -> tuple[str, int]:
    # str() of a KeyError would put its text in quotes.
    whole = str(error.args[0] if len(error.args) == 1 else error)
    if isinstance(error, OSError) and error.errno is not None and error.strerror:
        whole = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    # The wrong place in a filter is shown below the message.
    text = " ".join(whole.split()) + getattr(error, "pointed", "")
    if isinstance(error, UnsupportedError):
        return text, EXIT_UNSUPPORTED
    if isinstance(error, CorruptFileError):
        # What is not there in a file that was cut short, too.
        return text, EXIT_DATA
    if isinstance(error, NotFoundError | InvalidRequestError):
        # Where Python takes a list, an option takes commas.
        several = re.search(r": several are a list: write \[([^]]*)\]", text)
        if several is not None:
            names = shlex.quote(",".join(re.findall(r"'([^']*)'", several[1])))
            text = text.replace(several[0], f": several have commas between them: write -c {names}")
        return text, EXIT_USAGE
    if isinstance(error, ArrowrootError | OSError | ImportError):
        return text, EXIT_DATA
    hint = "this is a bug in arrowroot; ARROWROOT_DEBUG=1 shows where"
    return f"{type(error).__name__}: {text} ({hint})", EXIT_DATA
