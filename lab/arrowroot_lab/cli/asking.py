"""Options that commands share: which database, which results, and in which form they are told."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arrowroot_lab.documents import Outcome
from arrowroot_lab.errors import RequestError
from arrowroot_lab.location import Location
from arrowroot_lab.mining import writing
from arrowroot_lab.mining.metrics import METRICS, READINGS, STATISTICS
from arrowroot_lab.quantities import parse_rate, parse_time_ns
from arrowroot_lab.store import Filter, Store
from arrowroot_lab.store.filters import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arrowroot_lab.campaign.origin import Origin
    from arrowroot_lab.mining import ResultTable

#: The beginning of a date as documents write it.
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d(T[\d:.]*Z?)?)?)?")
_BOUND = re.compile(r"(?P<name>\w+)\s*(?P<sign>[<>]=?)\s*(?P<value>.+)")
_PARSED: dict[str, Callable[[str], float]] = {
    "round_trip_ns": parse_time_ns,
    "load_1_minute": float,
    "network_bytes_per_s": parse_rate,
}
#: The filters by names and by keys.
_FILTERS = (*NAMES, "series", "case")


def add_database(parser: argparse.ArgumentParser) -> None:
    """Add ``--db``."""
    parser.add_argument(
        "--db",
        metavar="URL",
        type=Location,
        help="the database: a path, sqlite:///path or postgresql://host/name (default: ARROWROOT_LAB_DB, else "
        "the site's, else ./arrowroot-lab.db)",
    )


def output(text: str) -> Path:
    """Return the path of what is written; the type of an argument, which is no URL."""
    location = Location(text)
    if location.is_url:
        raise argparse.ArgumentTypeError(
            f"{location}: files are written on this machine, and this is no path of it"
        )
    return Path(text)


def source(text: str) -> Path:
    """Return the path of what is read on this machine; the type of an argument, which is no URL."""
    location = Location(text)
    # A file may have any name.
    if location.is_url and not os.path.lexists(text):
        raise argparse.ArgumentTypeError(f"{location}: expected a file on this machine, and no URL")
    return Path(text)


def add_campaign(parser: argparse.ArgumentParser) -> None:
    """Add the campaign that a command is about."""
    parser.add_argument(
        "campaign",
        metavar="CAMPAIGN",
        type=campaign,
        help="a TOML file, or one of a commit, REPO[@BRANCH]:PATH, of a repository that the site's file trusts",
    )


def campaign(text: str) -> Path | Origin:
    """Return the campaign that is named; a URL is one of a repository, or none."""
    from arrowroot_lab.campaign.origin import given

    try:
        found = given(text)
    except RequestError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return source(text) if isinstance(found, Path) else found


def add_site(parser: argparse.ArgumentParser) -> None:
    """Add ``--site``, which is for ``site.choose``."""
    parser.add_argument(
        "--site",
        metavar="FILE",
        type=_site,
        help="the site's TOML file, or only its name (default: ARROWROOT_SITE, else "
        "~/.config/arrowroot/site.toml, else the host's name)",
    )


def add_filters(parser: argparse.ArgumentParser, *, without: Sequence[str] = ()) -> None:
    """Add an option for each filter, but for some, which then filter nothing."""
    group = parser.add_argument_group(
        "which results", "Names or globs, with commas between alternatives: --engine 'mine*,other'"
    )
    told: dict[str, dict[str, Any]] = {name: {"metavar": "NAMES", "default": ""} for name in NAMES}
    for name in ("series", "case"):
        told[name] = {"metavar": "NAMES", "default": "", "help": f"beginning of its key ({name}_id)"}
    told["reading"] = {
        "metavar": "BOUND", "action": "append", "type": _bound, "default": [],
        "help": "load_1_minute<2, round_trip_ns>=10ms, network_bytes_per_s<100MB/s; may be repeated",
    }  # fmt: skip
    told["since"] = {"metavar": "DATE", "help": "measured then or later, UTC: 2026-01-31, or 2026-01"}
    told["until"] = {"metavar": "DATE", "help": "measured before"}
    for name, option in told.items():
        if name in without:
            parser.set_defaults(**{name: option.get("default")})
        else:
            group.add_argument(_option(name), dest=name, **option)


def add_metric(parser: argparse.ArgumentParser) -> None:
    """Add ``--metric`` and ``--statistic``."""
    parser.add_argument(
        "--metric",
        default="wall_ns",
        metavar="NAME",
        help=f"{', '.join((*METRICS, *READINGS))}, or a counter as store.n_reads (default: the wall time)",
    )
    parser.add_argument(
        "--statistic",
        default="median",
        choices=list(STATISTICS),
        help="of the counted samples (default: median)",
    )


def add_forms(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``, ``--csv`` and ``--markdown``."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true", help="values in their units, with the columns' titles")
    group.add_argument("--csv", action="store_true", help="values in their units")
    group.add_argument("--markdown", action="store_true", help="for a report or a merge request")


def add_mining(parser: argparse.ArgumentParser) -> None:
    """Add all of these: what commands that show figures of results have."""
    add_metric(parser)
    add_filters(parser)
    add_database(parser)
    add_forms(parser)


def opened(options: argparse.Namespace) -> Store:
    """Open the database for reading."""
    return Store.open(options.db, must_exist=True)


def told_filters(options: argparse.Namespace) -> list[str]:
    """Return the filters that the options tell."""
    names = [name for name in (*_FILTERS, "reading", "since", "until") if getattr(options, name)]
    return [_option(name) for name in names]


def filter_from(options: argparse.Namespace, store: Store, **more: Any) -> Filter:
    """Return the filter that the options tell.

    Raises: RequestError if a name is that of no result, or a date is none.
    """
    told: dict[str, Any] = {name: _alternatives(getattr(options, name)) for name in _FILTERS}
    for name in NAMES:
        whole = getattr(options, name).strip()
        # A name may have commas of its own: "disk, cold".
        if len(told[name]) > 1 and whole in store.names(name):
            told[name] = (whole,)
    since, until = date(options, "since"), date(options, "until")
    for name in NAMES:
        for one in told[name]:
            if name == "outcome" and one in {outcome.value for outcome in Outcome}:
                continue  # that nothing failed is an answer
            alone: dict[str, Any] = {name: (one,)}
            if not store.count(Filter(**alone)):
                there = ", ".join(store.names(name)[:20]) or "none"
                raise RequestError(f"{_option(name)} {one}: no result has it; there are {there}")
    return Filter(**told, reading=tuple(options.reading), since=since, until=until, **more)


def date(options: argparse.Namespace, option: str) -> str | None:
    """Return a date that the options tell, UTC. Raises: RequestError if it is none."""
    told: str | None = getattr(options, option)
    if told is not None and not _DATE.fullmatch(told):
        raise RequestError(f"--{option} {told}: expected a date, or its beginning: 2026-01-31, or 2026-01")
    return told


def tell(options: argparse.Namespace, tables: Sequence[ResultTable]) -> None:
    """Print tables in the form that the options ask for."""
    if options.json:
        sys.stdout.write(writing.as_json(tables))
    elif options.csv:
        sys.stdout.write("\n".join(writing.as_csv(table) for table in tables))
    elif options.markdown:
        sys.stdout.write("\n".join(writing.markdown(table) for table in tables))
    else:
        tell_text(tables)


def tell_text(tables: Sequence[ResultTable]) -> None:
    """Print tables for people, as wide as the terminal."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else writing.WIDTH
    sys.stdout.write("\n".join(writing.text(table, width) for table in tables))


def _site(text: str) -> str:
    """A name or a path, which is no URL."""
    source(text)
    return text


def _option(name: str) -> str:
    """The option of a filter: ``--site`` is the site's file, in the commands that measure."""
    return "--at-site" if name == "site" else f"--{name.replace('_', '-')}"


def _bound(text: str) -> tuple[str, str, float]:
    """A reading, a sign and a value with its unit."""
    match = _BOUND.fullmatch(text)
    if match is None or match["name"] not in READINGS:
        raise argparse.ArgumentTypeError(
            f"{text}: expected one of {', '.join(READINGS)}, one of < <= > >=, and a value: load_1_minute<2"
        )
    name, value = match["name"], match["value"]
    try:
        bound = _PARSED[name](value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from None
    return name, match["sign"], bound


def _alternatives(told: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in told.split(",") if name.strip())
