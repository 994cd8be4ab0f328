"""The command `arrowroot`; each of its commands is a module here.

Exit codes: 0 done; 1 the file or its data are at fault (missing, unreadable, damaged); 2 the request is
(options, names that are not there); 3 the file has what arrowroot cannot read yet; 4 bad inputs were left out, as was
asked for; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

from arrowroot import CorruptFileError, InvalidRequestError, RecoveredWarning
from arrowroot._render import printable, without_secrets
from arrowroot._terminal import readable
from arrowroot.cli import installed
from arrowroot.cli.failures import (
    EXIT_DATA,
    EXIT_DONE,
    EXIT_INTERRUPTED,
    say,
    say_with_traceback,
    wants_traceback,
)
from arrowroot.cli.parser import parse

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


#: The modules of commands that have the name of another one.
_MODULES = {"tail": "head"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; the entry point of `arrowroot`."""
    # Python has no stream for what the caller closed.
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - as long as the process
    if sys.stdout is None:
        print("arrowroot: the standard output is closed", file=sys.stderr)
        return EXIT_DATA
    with readable(sys.stdout), readable(sys.stderr):
        return _main(argv)


def _main(argv: Sequence[str] | None) -> int:
    arguments = sys.argv[1:] if argv is None else list(argv)
    while arguments[:1] == ["help"] or (
        arguments[0:1] in (["-h"], ["--help"]) and arguments[1:] and not arguments[1].startswith("-")
    ):
        arguments = [*arguments[1:], "--help"]
    if arguments[1:] in (["help"], ["-?"], ["/?"]) and not os.path.exists(arguments[1]):  # noqa: PTH110 - text
        arguments[1] = "--help"
    try:
        if arguments and (other := installed.find(arguments[0])):
            return other(arguments[1:])
    except InvalidRequestError as error:
        return say(error)
    if argv is None:  # the process is ours
        sys.meta_path.insert(0, _NoPandas())
    options = parse(arguments)
    RecoveredWarning.forget()  # each command says it for itself
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", UserWarning)
    # These warnings are for the authors of libraries; pyparsing's are UserWarnings, too.
    warnings.simplefilter("ignore", DeprecationWarning)
    _recovered.clear()
    try:
        code = _run(options)
        sys.stdout.flush()
        _say_recovered()
    except KeyboardInterrupt:
        _say_recovered()
        print("arrowroot: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has enough of it; the interpreter must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_DONE
    except Exception as error:  # noqa: BLE001 - whatever it is, it is said
        if not isinstance(error, CorruptFileError):  # that one says it itself
            _say_recovered()
        if wants_traceback(options):
            return say_with_traceback(error)
        return say(error)
    return code


class _NoPandas:
    """Finds no pandas. pyarrow imports it to see if a value is one of its: 0.3 s of CPU, and no command has any."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Refuse pandas, and leave all else to others."""
        del path, target
        if name == "pandas":
            raise ModuleNotFoundError("no command needs it", name=name)


def _run(options: argparse.Namespace) -> int:
    # One command's imports must not cost the others their start.
    name = _MODULES.get(options.command, options.command)
    code: int | None = import_module(f"arrowroot.cli.{name}").run(options)
    return EXIT_DONE if code is None else code


def _show_warning(  # noqa: PLR0917 - as warnings.showwarning
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    del filename, lineno, file, line
    text = f"arrowroot: {printable(without_secrets(' '.join(str(message).split())))}"
    if issubclass(category, RecoveredWarning):
        _recovered.append(text)
    else:
        print(text, file=sys.stderr)


#: Warnings of recovered files, which are shown unless an error says the same.
_recovered: list[str] = []


def _say_recovered() -> None:
    while _recovered:
        print(_recovered.pop(0), file=sys.stderr)
