"""Lists of pages that have many results: the runs by month, the newest results as far as there is room."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrowroot_lab.documents import N_COMMIT
from arrowroot_lab.mining.format import N_KEY
from arrowroot_lab.mining.results import natural

from .ills import what_of
from .snapshot import runs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot_lab.store import Summary

#: Of more runs, or days of runs, those of a month are folded; of more results those of each test are listed.
MOST_DAYS, MOST_RESULTS = 10, 500


@dataclass(frozen=True)
class Day:
    """The runs of one day, or one of the runs of a single site."""

    #: Of its first result, and so is the commit.
    date: str
    n_runs: int
    n_results: int
    sites: tuple[str, ...]
    #: "": other runs have the same beginning, or it is none.
    run: str
    commit: str


def months_of(found: Sequence[Summary]) -> dict[str, list[Day]]:
    """Return the runs of each month, the newest first: of several sites by day."""
    is_alone = len({one.site for one in found}) == 1
    shorts = Counter(run[:N_KEY] for run in runs_of(found))
    groups: dict[str, list[Summary]] = {}
    for run, of_run in runs_of(found).items():
        groups.setdefault(run if is_alone else of_run[0].created_at[:10], []).extend(of_run)
    months: dict[str, list[Day]] = {}
    for group in groups.values():
        runs = runs_of(group)
        short = next(iter(runs))[:N_KEY]
        sites = tuple(sorted({one.site for one in group}, key=natural))
        one = Day(
            group[0].created_at,
            len(runs),
            len(group),
            sites,
            short if len(runs) == 1 and shorts[short] == 1 else "",
            (group[0].commit_id or "")[:N_COMMIT],
        )
        months.setdefault(one.date[:7], []).append(one)
    return months


def listed_of(found: Sequence[Summary]) -> Sequence[Summary]:
    """Return the results that a page lists: of very many the newest of each test, on whichever kind of machine."""
    if len(found) <= MOST_RESULTS:
        return found
    newest: dict[tuple[object, ...], Summary] = {}
    for one in sorted(found, key=lambda one: one.created_at):
        newest[what_of(one), one.version] = one
    kept = sorted(newest.values(), key=lambda one: one.created_at, reverse=True)[:MOST_RESULTS]
    uuids = {one.uuid for one in kept}
    return [one for one in found if one.uuid in uuids]


def last_days(found: Sequence[Summary]) -> str:
    """Return how many series were last measured on each day, for the script: ``2026-10-30:225 2026-10-29:3``."""
    last: dict[tuple[str, str], str] = {}
    for one in found:
        last.setdefault((one.campaign, one.series_id), one.created_at[:10])
    return " ".join(f"{day}:{n}" for day, n in Counter(last.values()).items())
