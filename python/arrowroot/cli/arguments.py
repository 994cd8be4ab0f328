"""Values of options, and the options that several commands have."""

from __future__ import annotations

import argparse
import math
import re
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from arrowroot import InvalidRequestError
from arrowroot._render import shown
from arrowroot._sizes import LARGEST, parse_rate, parse_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

N = TypeVar("N", int, float)

_SPLIT_HELP = (
    'The text is split at the last ":" before which stands what ends in ".root" or is a file, '
    "unless the whole is one"
)
_OPTION_HELP = "?arrowroot.NAME=VALUE sets an option of the storage"
URL_HELP = (
    "a ROOT file or URL, and the tree in it after a colon: data/run7.root:Events, run7.root:dir/Events;2, "
    f"root://host//run7.root:Events. {_SPLIT_HELP}; the tree may be left out if the file has only one. {_OPTION_HELP}"
)
JSON_HELP = "as JSON; of several files, one document a line"
OBJECT_HELP = (
    "a ROOT file or URL, and an object in it after a colon: run7.root:h_pt, run7.root:dir/h_pt;2. "
    f"{_SPLIT_HELP}. {_OPTION_HELP}"
)


class Command(NamedTuple):
    """A command: its help, the line about it among all commands, and the function that gives its parser the options."""

    name: str
    description: str
    summary: str
    add_options: Callable[[argparse.ArgumentParser], None]


def add_columns(command: argparse.ArgumentParser, what: str, *, single: bool = False) -> None:
    """Add -c, the columns of a command; with ``single`` no patterns."""
    how = "with commas between them or the option repeated"
    names = f"names, {how}" if single else f"names or globs, {how}; '!NAME' leaves out"
    command.add_argument(
        "-c",
        "--columns",
        action="append",
        metavar="NAMES",
        help=f"{what}: {names}",
    )


def bins_and_ranges(numbers: Sequence[str]) -> tuple[str, str]:
    """Return the options for bins and ends as histograms of ROOT have them, and what to say of their bins."""
    # A value that begins with a minus is one behind = alone.
    ends = zip(numbers[1::3], numbers[2::3], strict=False)
    ranges = [f"--range{'=' if low.startswith('-') else ' '}{low}:{high}" for low, high in ends]
    said = ", and one number of bins is that of both axes" if len(set(numbers[::3])) > 1 else ""
    return " ".join([f"--bins {numbers[0]}", *ranges]), said


def add_filter(command: argparse.ArgumentParser, what: str) -> None:
    """Add --filter, the condition on the entries of a command."""
    command.add_argument("--filter", metavar="TEXT", help=f"{what}, as 'nMuon >= 2 && Muon_pt[0] > 20'")


def add_define(command: argparse.ArgumentParser) -> None:
    """Add --define, columns that are computed."""
    command.add_argument(
        "--define",
        metavar="NAME=TEXT",
        action="append",
        default=[],
        type=_defined,
        help="a column that is computed, as 'pt=sqrt(px**2 + py**2)', for columns and filters; may be repeated",
    )


def _defined(text: str) -> tuple[str, str]:
    name, equals, expression = (part.strip() for part in text.partition("="))
    if not (name and equals and expression):
        raise argparse.ArgumentTypeError(f"{shown(text)} is no NAME=TEXT, as 'pt=sqrt(px**2 + py**2)' is")
    return name, expression


def definitions_of(options: argparse.Namespace) -> dict[str, str] | None:
    """Return the columns that are computed, by their names. Raises: InvalidRequestError for two of one name."""
    found = dict(options.define)
    if len(found) < len(options.define):
        raise InvalidRequestError("--define: two columns of one name")
    return found or None


def _number(kind: Callable[[str], N], text: str) -> N:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a number") from None


def _counting(text: str, lowest: int) -> int:
    number = _number(int, text)
    if number < lowest:
        raise argparse.ArgumentTypeError(f"{text} is below {lowest}")
    if number > LARGEST:
        raise argparse.ArgumentTypeError(f"{shown(text)} is more than can be counted")
    return number


def count(text: str) -> int:
    """Return a number from 0 on."""
    return _counting(text, 0)


def positive(text: str) -> int:
    """Return a number from 1 on."""
    return _counting(text, 1)


def batch_size(text: str) -> str:
    """Return the size of batches. Raises: ArgumentTypeError for a bare number, which may be of entries or bytes."""
    if text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"{text} of what? write --batch-entries {text}, or --batch-size {text}B"
        )
    return text


def fraction(text: str) -> float:
    """Return a share above 0 and at most 1."""
    number = _number(float, text)
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0 and at most 1")
    return number


def entry_range(text: str) -> slice:
    """Return the slice of A:B."""
    match = re.fullmatch(r"\s*(-?[0-9_]+)?\s*:\s*(-?[0-9_]+)?\s*", text)
    if (ends := re.fullmatch(r"([0-9]+)\s*(?:-|,|\.\.+)\s*([0-9]+)", text)) is not None:
        raise argparse.ArgumentTypeError(f"{shown(text)} is no range: write --entries {ends[1]}:{ends[2]}")
    if text.isdecimal():
        raise argparse.ArgumentTypeError(f"{shown(text)} is no range: write --entries 0:{text} for so many")
    if match is None:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a range as 0:1000")
    return slice(*(None if end is None else int(end) for end in match.groups()))


def duration(text: str) -> float:
    """Return seconds above 0 of text as 5ms."""
    seconds = checked(parse_seconds, text)
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return seconds


def latency(text: str) -> float:
    """Return seconds from 0 on of text as 5ms."""
    return checked(parse_seconds, text)


def budget(text: str) -> float:
    """Return seconds from 0 on of a number."""
    seconds = _number(float, text)
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 on")
    return seconds


def rate(text: str) -> float:
    """Return bytes per second of text as 12MB/s."""
    return checked(parse_rate, text)


def checked(parse: Callable[[str, str], N], text: str) -> N:
    """Return what a parser makes of a text, whose errors name the option then."""
    try:
        return parse(text, "this")
    except InvalidRequestError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("this: ")) from None


def name_and_value(text: str) -> tuple[str, str]:
    """Return both of NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not (equals and name):
        # The text may be a secret that somebody forgot to name.
        raise argparse.ArgumentTypeError("expected NAME=VALUE")
    return name, value


def add_storage(command: argparse.ArgumentParser, *, with_strategy: bool = True) -> None:
    """Add the options of the storage: those most used under their names, all of them by -O."""
    group = command.add_argument_group("storage", "see: arrowroot config")
    if with_strategy:
        group.add_argument(
            "--strategy", metavar="NAME", help="how reads are made: auto, direct, treecache, ..."
        )
    group.add_argument("--cache-size", metavar="SIZE", help="of the strategy: 30MB, 512k")
    group.add_argument(
        "-O",
        "--option",
        metavar="NAME=VALUE",
        type=name_and_value,
        action="append",
        default=[],
        help="any option of the storage; may be repeated",
    )
