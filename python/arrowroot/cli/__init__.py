"""The command `arrowroot`: ls, head, perf.

Exit codes: 0 done; 1 the file or its data are at fault (missing, unreadable, damaged); 2 the request is
(options, names that are not there); 3 the file has what arrowroot cannot read yet; 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from typing import TYPE_CHECKING, NoReturn, TextIO, TypeVar

from arrowroot import (
    ArrowrootError,
    InvalidRequestError,
    NotFoundError,
    UnsupportedError,
    __version__,
)
from arrowroot._render import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

N = TypeVar("N", int, float)

EXIT_DONE = 0
EXIT_DATA = 1
EXIT_USAGE = 2
EXIT_UNSUPPORTED = 3
EXIT_INTERRUPTED = 130

_URL_HELP = (
    "a ROOT file, and the tree in it after a colon: data/run7.root:Events, or run7.root:dir/Events;2. "
    'The text is split at its last ":" only if what stands before it ends in ".root" or is a file, '
    "and the whole is none; the tree may be left out if the file has only one"
)

_DESCRIPTION = """\
Reads ROOT files, and says what it cost.

  arrowroot ls run7.root              what is in the file
  arrowroot head run7.root:Events     the first entries
  arrowroot perf run7.root:Events     read it all and report the cost
"""

_LS = """\
Lists the keys of a file; for trees the branches with types, entries, bytes stored and in memory, codec and
baskets.

examples:
  arrowroot ls run7.root
  arrowroot ls run7.root:Events -c 'Muon_*'
  arrowroot ls run7.root --keys
  arrowroot ls run7.root --json | jq '.trees[].branches[].path'
"""

_HEAD = """\
Shows the first entries of a tree as a table that fits the terminal.

examples:
  arrowroot head run7.root
  arrowroot head run7.root:Events -n 20 -c 'Muon_*,nMuon'
  arrowroot head run7.root:Events -n 3 --json
"""

_PERF = """\
Reads a tree, keeps nothing, and reports the cost: the measures of ROOT's TTreePerfStats under their names,
how the time of the threads divides into read, decompress, decode and wait, and memory.

examples:
  arrowroot perf run7.root:Events
  arrowroot perf run7.root:Events -c 'Muon_*,Jet_pt' --entries 0:100000 --threads 1 --repeat 5
  arrowroot perf run7.root:Events --fraction 0.01 --seed 7
  arrowroot perf run7.root:Events --plot reads.png
  arrowroot perf run7.root:Events --json > cost.json
  arrowroot perf --explain            what each measure means
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, as for all other errors."""
        self.exit(EXIT_USAGE, f"arrowroot: {message} (try: {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    raw = argparse.RawDescriptionHelpFormatter
    top = _Parser(prog="arrowroot", description=_DESCRIPTION, formatter_class=raw)
    top.add_argument("--version", action="version", version=f"arrowroot {__version__}")
    every = _Parser(add_help=False)
    every.add_argument("--debug", action="store_true", help="show tracebacks (as does ARROWROOT_DEBUG=1)")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    ls = commands.add_parser(
        "ls", parents=[every], description=_LS, formatter_class=raw, help="what is in a file"
    )
    ls.add_argument("url", metavar="URL[:TREE]", help=_URL_HELP)
    _add_columns(ls, "show only these branches")
    ls.add_argument("-k", "--keys", action="store_true", help="only the keys, no branches")
    ls.add_argument(
        "-l", "--long", action="store_true", help="cut nothing off, and show Arrow types and titles"
    )
    ls.add_argument("--json", action="store_true", help="as JSON")

    head = commands.add_parser(
        "head", parents=[every], description=_HEAD, formatter_class=raw, help="the first entries of a tree"
    )
    head.add_argument("url", metavar="URL[:TREE]", help=_URL_HELP)
    head.add_argument(
        "-n", type=_count, default=10, metavar="N", dest="n_entries", help="entries (default: 10)"
    )
    _add_columns(head, "show only these columns")
    head.add_argument(
        "--json", action="store_true", help="one JSON object an entry and line; NaN becomes null"
    )

    perf = commands.add_parser(
        "perf",
        parents=[every],
        description=_PERF,
        formatter_class=raw,
        help="read a tree and report the cost",
    )
    perf.add_argument("url", metavar="URL[:TREE]", nargs="?", help=_URL_HELP)
    _add_columns(perf, "read only these columns")
    perf.add_argument(
        "--entries",
        metavar="A:B",
        type=_entry_range,
        help="as a Python slice: 0:1000, or with = before a minus: --entries=-500:",
    )
    perf.add_argument(
        "--fraction", metavar="F", type=_fraction, help="read this share of the entries, at random"
    )
    perf.add_argument(
        "--seed", metavar="N", type=_count, default=0, help="of the random entries (default: 0)"
    )
    perf.add_argument("--threads", metavar="N", type=_count, default=0, help="0: as many as cores (default)")
    perf.add_argument("--repeat", metavar="N", type=_positive, default=1, help="read it so many times")
    perf.add_argument("--batch-size", metavar="SIZE", default="64 MB", help="default: 64 MB")
    perf.add_argument("--memory-budget", metavar="SIZE", default="256 MB", help="default: 256 MB")
    perf.add_argument(
        "--cold", action="store_true", help="drop the file from the page cache before each read"
    )
    perf.add_argument("--json", action="store_true", help="as JSON: see --explain for the keys")
    perf.add_argument(
        "--plot", metavar="FILE", help="draw the first read: .png, .svg or .pdf (needs matplotlib)"
    )
    perf.add_argument("--trace", metavar="FILE", help="write the physical reads of the first read as CSV")
    perf.add_argument("--explain", action="store_true", help="print the table of all measures and stop")
    return top


def _add_columns(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument(
        "-c",
        "--columns",
        action="append",
        metavar="NAMES",
        help=f"{what}: names or globs, with commas between them or the option repeated",
    )


def _number(kind: Callable[[str], N], text: str) -> N:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _count(text: str) -> int:
    number = _number(int, text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return number


def _positive(text: str) -> int:
    number = _number(int, text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is below 1")
    return number


def _fraction(text: str) -> float:
    number = _number(float, text)
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0 and at most 1")
    return number


def _entry_range(text: str) -> slice:
    match = re.fullmatch(r"\s*(-?[0-9_]+)?\s*:\s*(-?[0-9_]+)?\s*", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a range as 0:1000")
    return slice(*(None if end is None else int(end) for end in match.groups()))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; the entry point of `arrowroot`."""
    options = parser().parse_args(argv)
    debug = options.debug or os.environ.get("ARROWROOT_DEBUG", "") not in ("", "0")
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", UserWarning)
    try:
        code = _run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("arrowroot: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Who reads our output has enough of it; the interpreter must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_DONE
    except Exception as error:
        if debug:
            raise
        message, code = _judge(error)
        print(f"arrowroot: {printable(message)}", file=sys.stderr)
    return code


def _run(options: argparse.Namespace) -> int:
    # One command's imports must not cost the others their start.
    if options.command == "ls":
        from arrowroot.cli.ls import run  # noqa: PLC0415
    elif options.command == "head":
        from arrowroot.cli.head import run  # noqa: PLC0415
    else:
        from arrowroot.cli.perf import run  # noqa: PLC0415
    run(options)
    return EXIT_DONE


def _judge(error: Exception) -> tuple[str, int]:
    """Return one line that says what is wrong, and the exit code that says whose fault it is."""
    # str() of a KeyError would put its text in quotes.
    text = " ".join(str(error.args[0] if len(error.args) == 1 else error).split())
    if isinstance(error, UnsupportedError):
        return text, EXIT_UNSUPPORTED
    if isinstance(error, NotFoundError | InvalidRequestError):
        return text, EXIT_USAGE
    if isinstance(error, ArrowrootError | OSError | ImportError):
        return text, EXIT_DATA
    hint = "this is a bug in arrowroot; ARROWROOT_DEBUG=1 shows where"
    return f"{type(error).__name__}: {text} ({hint})", EXIT_DATA


def _show_warning(  # noqa: PLR0917 - as warnings.showwarning
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    del category, filename, lineno, file, line
    print(f"arrowroot: {printable(' '.join(str(message).split()))}", file=sys.stderr)
