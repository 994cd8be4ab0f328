"""``arrowroot lab show``: results, one result, a matrix, or the overview."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from arrowroot_lab.errors import EXIT_DONE, RequestError
from arrowroot_lab.mining import matrix, overview, report, results_table
from arrowroot_lab.mining.matrix import ACROSS

from . import asking

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from arrowroot_lab.mining import ResultTable
    from arrowroot_lab.store import Filter, Store

_DESCRIPTION = """\
Shows the newest result of each series and version; or all of one result; or one campaign as a matrix; or what is
new, what failed and what is old.

examples:
  arrowroot lab show                            the newest results
  arrowroot lab show --outcome failed --all     all that ever failed
  arrowroot lab show 1f3a                       one result: samples, counters...
  arrowroot lab show --matrix storage --metric cpu_efficiency
  arrowroot lab show --overview                 changes, failures, what is old
"""


def add_command(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = add("show", _DESCRIPTION)
    parser.add_argument("result", nargs="?", metavar="RESULT", help="a UUID, or the beginning of one")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--matrix", choices=ACROSS, metavar="AXIS", help=f"this across, all else down: {', '.join(ACROSS)}"
    )
    what.add_argument("--overview", action="store_true", help="what is new, what failed, what is old")
    what.add_argument("--all", action="store_true", help="old results, too")
    what.add_argument("--document", action="store_true", help="the document of RESULT, byte for byte")
    parser.add_argument("--limit", type=int, metavar="N", help="so many results, the newest")
    asking.add_mining(parser)
    # It is known whether one was asked for.
    parser.set_defaults(metric=None, statistic=None)


def _check(options: argparse.Namespace) -> None:
    """Raise RequestError if an option would have no effect."""
    if options.document and not options.result:
        raise RequestError("--document is of one result: `arrowroot lab show RESULT --document`")
    for name in ("metric", "statistic"):
        if getattr(options, name) is not None and not options.matrix:
            raise RequestError(
                f"--{name} is of a matrix: `arrowroot lab show --matrix storage --{name} {name.upper()}`"
            )
    shown = options.result or (options.matrix and "--matrix") or (options.overview and "--overview")
    if options.limit is not None and shown:
        raise RequestError(f"--limit is of a list of results, and {shown} is none")
    if options.result:
        told = [f"--{name}" for name in ("matrix", "overview", "all") if getattr(options, name)]
        told += asking.told_filters(options)
        if told:
            raise RequestError(f"{', '.join(told)}: {options.result} is one result, which is shown whole")
    if options.document:
        told = [f"--{name}" for name in ("json", "csv", "markdown") if getattr(options, name)]
        if told:
            raise RequestError(f"{told[0]}: --document is shown as it is")


def _overview(store: Store, where: Filter, *, is_for_programs: bool) -> list[ResultTable]:
    """Return which places got slower, or are silent: what is to be read first; all sites; and what is new."""
    from arrowroot_lab.watching import telling_places
    from arrowroot_lab.watching.choosing import Chosen
    from arrowroot_lab.watching.evidence import with_evidence
    from arrowroot_lab.watching.sites import sites

    at = datetime.now(timezone.utc)
    found = overview(store, where, at=at)
    told = sites(Chosen.of(store, where, at), at, found.failing)
    n_sites = len(told.table.rows)
    ill = telling_places.table(with_evidence(told.alarms, store), n_sites)
    if told.to_watch:
        ill = replace(ill, notes=(*ill.notes, f"No alarm yet, but high: {'; '.join(told.to_watch)}."))
    if told.silent_tests:
        ill = replace(
            ill, notes=(*ill.notes, f"Silent, though the site is not: {'; '.join(told.silent_tests)}.")
        )
    # Programs take numbers.
    of_sites = [told.table, told.parts_table] if is_for_programs else [told.text_table]
    return [ill, *(of_sites if n_sites > 1 else []), *found.tables()]


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    _check(options)
    with asking.opened(options) as store:
        if options.document:
            print(store.document(options.result), end="")
            return EXIT_DONE
        if options.result:
            tables = report(store.result(options.result), store.place)
        elif options.overview:
            where = asking.filter_from(options, store)
            tables = _overview(store, where, is_for_programs=options.json or options.csv)
        elif options.matrix:
            where = asking.filter_from(options, store)
            tables = [
                matrix(
                    store,
                    where,
                    across=options.matrix,
                    key=options.metric or "wall_ns",
                    statistic=options.statistic or "median",
                )
            ]
        else:
            where = asking.filter_from(options, store, newest_versions=not options.all)
            tables = [results_table(store, where, limit=options.limit)]
    asking.tell(options, tables)
    return EXIT_DONE
