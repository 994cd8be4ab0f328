"""``arrowroot lab export``: results for scripts, as CSV, Parquet, or what a provider makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.errors import EXIT_DONE, RequestError

from . import asking

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_TABLES = ("results", "samples", "counters")
_DESCRIPTION = """\
Writes results, samples or counters to a file; its suffix says the format: .csv, .parquet or that of a
kind of files that a provider of engines writes. A directory gets all three as Parquet, by campaign and month, as
DuckDB, Spark and R read them, and the documents, which `arrowroot lab import` puts into the database of another
machine. What is written is there when it is whole, and replaces what was there; of a directory only what an export
wrote: else it is refused.

examples:
  arrowroot lab export results.csv
  arrowroot lab export samples.parquet --table samples --campaign storages
  arrowroot lab export results/
"""


def add_command(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = add("export", _DESCRIPTION)
    parser.add_argument(
        "out",
        metavar="OUT",
        type=_out,
        help="a file, or a directory with / at its end",
    )
    parser.add_argument("--table", choices=_TABLES, help="of a file (default: results)")
    parser.add_argument("--newest", action="store_true", help="only the newest result of each series")
    asking.add_filters(parser)
    asking.add_database(parser)


def _out(text: str) -> str:
    """The argument as it is: a slash at its end tells a directory."""
    asking.output(text)
    return text


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from arrowroot_lab.mining.exporting import (
        export,
        export_directory,
        formats,
    )  # Arrow takes its time to import

    out = Path(options.out)
    is_directory = options.out.endswith("/") or out.is_dir()
    if not is_directory and out.suffix not in formats():
        raise RequestError(
            f"{out}: the suffix says the format: {', '.join(formats())}; a directory ends with /"
        )
    if is_directory and options.table:
        raise RequestError(f"--table {options.table}: a directory gets all tables; name a file for one")
    table = options.table or "results"
    with asking.opened(options) as store:
        where = asking.filter_from(options, store, newest=options.newest)
        if is_directory:
            counts = export_directory(store, where, out)
            print(f"{out}: {', '.join(f'{n:,} {name}' for name, n in counts.items())}")
        else:
            print(f"{out}: {export(store, where, out, table):,} {table}")
    return EXIT_DONE
