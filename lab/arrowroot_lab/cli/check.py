"""``arrowroot lab check``: fails if a run is not what the baseline was."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta, timezone
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.errors import RequestError
from arrowroot_lab.mining.writing import clean
from arrowroot_lab.watching.check import Acceptance, check
from arrowroot_lab.watching.sides import run_of

from . import asking
from .screen import Screen

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from arrowroot_lab.store import Store
    from arrowroot_lab.watching.confirming import Confirming

_DESCRIPTION = """\
Judges the rounds of each site against its nights before: a storage, a node or an engine that got slower, a site that is
silent, by results of any machine (`arrowroot lab import`). Three rounds in a row are needed.

With --baseline: compares a run with another one, and fails on what nobody has accepted: a case that fails now, other
values, any change of an exact count (reads, bytes, vector reads), more than 3 % of peak memory, and a time that 10
pairs of the two engines, measured again in turns, confirm to be more than 1 % worse (at 99.5 %).

examples:
  arrowroot lab check                         all sites; --at-site RAL: one
  arrowroot lab check --as-of 2026-11-20 --json
  arrowroot lab check --baseline 1f3a2b       the newest of each case since
  arrowroot lab check --baseline 1f3a2b --run 90ce11 --junit check.xml
  arrowroot lab check --baseline 1f3a2b --accept 'store.n_reads=spans merged'
  arrowroot lab check --baseline 1f3a2b --no-confirm   measure nothing

Exit codes: 0 no alarm; 1 an alarm, or a slower engine; 2 the request is at fault; 4 a slower place; 5 a silent one;
6 one that cannot be judged yet, and none of these; 130 interrupted.
"""


def add_command(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = add("check", _DESCRIPTION)
    parser.add_argument(
        "--baseline",
        metavar="RUN",
        help="the UUID of a run, or its beginning, as `lab run` tells it (default: each site's nights before)",
    )
    parser.add_argument(
        "--as-of", metavar="DATE", help="judge places as they were then, UTC: 2026-11-20 (default: now)"
    )
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        metavar="NAME=REASON",
        help="accept what is found under this name (a glob), from now on; may be repeated",
    )
    parser.add_argument("--take-back", metavar="NAME", help="accept what has this name (a glob) no longer")
    parser.add_argument("--no-confirm", action="store_true", help="do not measure: times are only suspected")
    parser.add_argument(
        "--file",
        metavar="CAMPAIGN",
        type=asking.campaign,
        help="of the confirming run (default: where the campaign's results say it is)",
    )
    parser.add_argument(
        "--run",
        metavar="RUN",
        dest="judged",
        help="the run that is judged (default: the newest result of each series since the baseline)",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument(
        "--markdown", metavar="FILE", type=asking.output, help="write a report for a merge request"
    )
    parser.add_argument("--junit", metavar="FILE", type=asking.output, help="write a report for CI")
    # The baseline and the newest results say which dates, and a case that fails now is what is looked for.
    asking.add_filters(parser, without=("run", "since", "until", "outcome"))
    asking.add_database(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    return _check_run(options) if options.baseline else _check_places(options)


def _check_places(options: argparse.Namespace) -> int:
    """Judge the places of all results."""
    from arrowroot_lab.mining import writing
    from arrowroot_lab.watching import telling_places
    from arrowroot_lab.watching.alarms import alarms
    from arrowroot_lab.watching.choosing import Chosen
    from arrowroot_lab.watching.evidence import with_evidence

    for name in ("accept", "take_back", "no_confirm", "file", "judged"):
        if getattr(options, name):
            option = "run" if name == "judged" else name.replace("_", "-")
            raise RequestError(f"--{option} is of a comparison with a run: name that, too (--baseline RUN)")
    for place in (options.markdown, options.junit):
        if place is not None:
            writing.check_place(place)
    at = _date(options.as_of)
    with asking.opened(options) as store:
        chosen = Chosen.of(store, asking.filter_from(options, store), at)
        if not chosen.shown:
            raise RequestError(f"{store.place}: no result of the 90 days before {at:%Y-%m-%d}")
        found = with_evidence(chosen.alarms(alarms(chosen.figures, at)), store)
    sites = chosen.sites
    told = telling_places.table(found, len(sites))
    if options.markdown:
        writing.to_file(options.markdown, writing.markdown(told))
    if options.junit:
        writing.to_file(options.junit, telling_places.junit(found, sites))
    if options.json:
        print(json.dumps(telling_places.document(found, len(sites)), indent=1))
    else:
        asking.tell_text([told])
    return telling_places.exit_code(found)


def _date(told: str | None) -> datetime:
    """The end of a day, or a time, UTC; None: now."""
    if told is None:
        return datetime.now(timezone.utc)
    try:
        at = datetime.fromisoformat(told.replace("Z", "+00:00"))
    except ValueError:
        raise RequestError(f"--as-of {told}: expected a date, as 2026-11-20 or 2026-11-20T06:00Z") from None
    at = at if at.tzinfo else at.replace(tzinfo=timezone.utc)
    return at + timedelta(days=1) if len(told) == len("2026-11-20") else at


def _check_run(options: argparse.Namespace) -> int:
    """Compare a run with the baseline."""
    if options.as_of:
        raise RequestError("--as-of is of places; a comparison with --baseline has --run and --until")
    from arrowroot_lab.mining import writing
    from arrowroot_lab.store import Store
    from arrowroot_lab.watching import telling

    for place in (options.markdown, options.junit):
        if place is not None:
            writing.check_place(place)
    accepts = [_acceptance(text) for text in options.accept]
    store = Store.open(options.db, must_exist=True)
    if accepts or options.take_back or not options.no_confirm:
        store.close()
        store = Store.open(options.db)
    with store:
        where = asking.filter_from(options, store)
        if options.take_back:
            _take_back(store, options.take_back)
        confirming = None if options.no_confirm else _confirming(store, options)
        found = check(
            store, where, options.baseline, run=options.judged, confirming=confirming, accepts=accepts
        )
    if options.markdown:
        writing.to_file(options.markdown, telling.markdown(found))
    if options.junit:
        writing.to_file(options.junit, telling.junit(found))
    if options.json:
        print(json.dumps(telling.document(found), indent=1))
    else:
        asking.tell_text([telling.table(found)])
    return found.exit_code


def _acceptance(text: str) -> Acceptance:
    name, separator, reason = text.partition("=")
    if not (separator and name.strip() and reason.strip()):
        raise RequestError(f"--accept {text}: expected NAME=REASON, as store.n_reads='spans are merged'")
    return Acceptance(name.strip(), reason.strip())


def _take_back(store: Store, name: str) -> None:
    found = [one for one in store.accepted() if fnmatchcase(one.name, name)]
    if not found:
        names = ", ".join(sorted({one.name for one in store.accepted()})) or "none"
        raise RequestError(f"--take-back {name}: nothing of this name is accepted; there are {names}")
    store.take_back(found)


def _confirming(store: Store, options: argparse.Namespace) -> Confirming | None:
    """Return what measures again, from the campaign's file; None if that is not there: then nobody can."""
    from arrowroot_lab.campaign.origin import Origin
    from arrowroot_lab.campaign.read import read
    from arrowroot_lab.location import Location
    from arrowroot_lab.running.events import Progress
    from arrowroot_lab.store import Filter
    from arrowroot_lab.watching.confirming import Confirming

    first = next(iter(store.results(Filter(run=(f"{run_of(store, options.baseline)}*",)), limit=1)))
    told = first.campaign
    path = options.file or Path(told.get("path") or "")
    if not options.file and (repository := told.get("repository")):
        path = Origin(Location(repository), str(path), told.get("commit"))
    if isinstance(path, Path) and not path.is_file():
        if options.file:
            raise RequestError(f"{path}: this campaign is not there")
        problem = f"{path}: the campaign is not there, so times are not confirmed; --file names it"
        print(f"arrowroot lab: {clean(problem)}", file=sys.stderr)
        return None
    return Confirming(store, read(path), first.site, Progress(Screen().show))
