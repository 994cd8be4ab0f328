"""``arrowroot lab publish``: static pages of all results."""

from __future__ import annotations

import os
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.errors import EXIT_DONE, NoDatabaseError
from arrowroot_lab.store import Store

from . import asking

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

#: Trends are seen in so many days.
_DAYS = 90
_DESCRIPTION = """\
Writes static pages: what is new, what failed and what is old; each campaign, series and result; comparisons;
the classics.

They need no server and no other host: open them from the disk, or copy them to any web server. What was published
to the directory before is replaced as a whole; a directory with anything else in it is refused. Where there is no
database yet, the classics are published alone: their results come with the laboratory.

examples:
  arrowroot lab publish pages/
  arrowroot lab publish /var/www/lab --db /data/lab.db
"""


def add_command(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = add("publish", _DESCRIPTION)
    parser.add_argument(
        "directory", metavar="DIR", type=asking.output, help="empty, not there yet, or published to before"
    )
    parser.add_argument(
        "--since",
        metavar="DATE",
        help=f"leave older results out, but for the newest of each series and version (default: {_DAYS} days ago)",
    )
    asking.add_database(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from arrowroot_lab.pages import check_place

    check_place(options.directory)
    since = asking.date(options, "since") or f"{datetime.now(timezone.utc) - timedelta(days=_DAYS):%Y-%m-%d}"
    try:
        store = asking.opened(options)
    except NoDatabaseError:
        if options.db or os.environ.get("ARROWROOT_LAB_DB"):
            raise
        print("there are no results here yet: the classics alone", file=sys.stderr)
        with tempfile.TemporaryDirectory(prefix="arrowroot-lab-") as directory:
            store = Store.open(Path(directory) / "arrowroot-lab.db")
            return _publish(store, options.directory, since, "the results that come with it")
    return _publish(store, options.directory, since)


def _publish(store: Store, directory: Path, since: str, place: str | None = None) -> int:
    from arrowroot_lab.pages import publish

    # Functions that make pages of classics.
    classics = [page for point in entry_points(group="arrowroot_lab.classics") for page in point.load()()]
    with store:
        published = publish(store, directory, classics=classics, place=place, since=since)
    pages = f"{published.n_pages:,} pages of {published.n_results:,} results"
    print(f"{pages}; begin with {published.first}", file=sys.stderr)
    print(published.first.resolve().as_uri())
    return EXIT_DONE
