"""``arrowroot lab import``: results of other machines."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from arrowroot_lab.errors import EXIT_DONE, EXIT_FAILED
from arrowroot_lab.location import Location
from arrowroot_lab.mining.writing import clean
from arrowroot_lab.store import Store

from . import asking
from .screen import show_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from arrowroot_lab.store.merging import Merged

JSON_FORM = "arrowroot-lab.import/1"
#: Refused documents that are told one by one; JSON has all.
_MOST = 20
_DESCRIPTION = """\
Puts results of other machines into the database. Each has a UUID, so what is there already stays as it is, and
importing twice is importing once. A document at fault, or another one under a known UUID, is refused; all others are
taken.

examples:
  arrowroot lab export results/        there; then copy the directory
  arrowroot lab import results/        here
  arrowroot lab import other.db another.db
  arrowroot lab import postgresql://lab@host/results
  arrowroot lab import result.json results.jsonl

Exit codes: 0 all are there now; 1 some were refused; 2 the request is at fault; 130 interrupted, those so far are kept.
"""


def add_command(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = add("import", _DESCRIPTION)
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        type=Location,
        help="a directory that export wrote, or of documents (.json, .jsonl); a file of these; another database",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    asking.add_database(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from arrowroot_lab.store.merging import merge  # Arrow takes its time to import

    told = []
    with Store.open(options.db) as store:
        for source in options.sources:
            name = str(source)
            merged = merge(store, source, tell=_progress(clean(name)))
            show_line("")
            told.append((name, merged))
            if not options.json:
                _say(name, merged, store.place)
        place = store.place
    if options.json:
        sources = [
            {
                "source": source,
                "n_new": merged.n_new,
                "n_known": merged.n_known,
                "refused": [one._asdict() for one in merged.refused],
            }
            for source, merged in told
        ]
        print(json.dumps({"form": JSON_FORM, "database": place, "sources": sources}, indent=1))
    return EXIT_FAILED if any(merged.refused for _, merged in told) else EXIT_DONE


def _say(source: str, merged: Merged, place: str) -> None:
    n_refused = len(merged.refused)
    counts = f"{merged.n_new:,} new, {merged.n_known:,} known, {n_refused:,} refused"
    print(
        clean(
            f"{source}: {counts}; {place} has all but what is refused" if n_refused else f"{source}: {counts}"
        )
    )
    for one in merged.refused[:_MOST]:
        print(clean(f"refused: {one.place}: {one.problem}"), file=sys.stderr)
    if n_refused > _MOST:
        print(f"refused: and {n_refused - _MOST:,} more; --json has all", file=sys.stderr)


def _progress(source: str) -> Callable[[Merged], None]:
    def show(merged: Merged) -> None:
        if merged.n % 50 == 0:
            show_line(f"{merged.n:,} documents of {source}")

    return show
