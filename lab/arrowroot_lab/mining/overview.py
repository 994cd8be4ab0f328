"""The first screen: what is new, what failed, and what is old."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from arrowroot_lab.errors import RequestError
from arrowroot_lab.statistics import Verdict
from arrowroot_lab.store import Filter

from .comparison import compare, compare_measured, measured_of
from .format import age_s
from .news import standing
from .results import named, telling
from .table import Column, ResultTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from arrowroot_lab.store import Store, Summary

    from .case import Compared

#: A series that nobody measured for so long is old.
OLD_DAYS = 30
_COUNTED = "Counted is the newest result of each series and version, if it is of the last run."
_BAD = ("failed", "timed out", "refused")


@dataclass(frozen=True)
class Overview:
    """Tables with their own titles; those that are empty say so."""

    #: One row for each campaign at each site: when it last ran, and how its newest results ended.
    campaigns: ResultTable
    #: The newest results that failed, timed out or were refused.
    failed: ResultTable
    #: Cases whose newest version is better or worse than the one before, by pairs of the last ``old_days``.
    changed: ResultTable
    #: Series that nobody measured for long: how many, of which engine on which storage.
    old: ResultTable
    #: All that ``changed`` was chosen from, in its order; it is not in ``tables``.
    compared: tuple[Compared, ...] = ()
    #: The UUIDs of the results in ``failed``, with their sites.
    failing: Mapping[str, str] = field(default_factory=dict)

    def tables(self) -> list[ResultTable]:
        """All of them, in the order in which they are to be read."""
        return [self.campaigns, self.changed, self.failed, self.old]


def overview(
    store: Store, where: Filter | None = None, *, at: datetime | None = None, old_days: int = OLD_DAYS
) -> Overview:
    """Return the overview of all that matches, as of ``at`` (UTC; None: now)."""
    at = at or datetime.now(timezone.utc)
    where = where or Filter()
    newest = named(store.summaries(replace(where, newest_versions=True)))
    recent = replace(where, since=where.since or _day_before(at, old_days))
    return _overview(newest, _changed(lambda: compare(store, recent, by="version")), at, old_days)


def overview_of(
    store: Store, found: Sequence[Summary], *, at: datetime, old_days: int = OLD_DAYS
) -> Overview:
    """Return the overview of results that are at hand, newest first; their samples are read from the store."""
    since = _day_before(at, old_days)
    recent = measured_of(one for one in found if one.created_at >= since)
    changed = _changed(lambda: compare_measured(store, recent, by="version"))
    return _overview(found, changed, at, old_days)


def _day_before(at: datetime, n_days: int) -> str:
    return (at - timedelta(days=n_days)).isoformat()[:10]


def _overview(
    found: Sequence[Summary], changed: tuple[ResultTable, list[Compared]], at: datetime, old_days: int
) -> Overview:
    newest = standing(found)
    limit_s = timedelta(days=old_days).total_seconds()
    old = [one for one in newest if age_s(one.created_at, at) > limit_s]
    failed = [one for one in newest if one.outcome in _BAD]
    return Overview(
        _campaigns(newest, at),
        _listed("Failed", failed, at),
        changed[0],
        _old(f"Not measured for {old_days} days", old, at),
        tuple(changed[1]),
        {one.uuid: one.site for one in failed},
    )


def _campaigns(newest: list[Summary], at: datetime) -> ResultTable:
    groups: dict[tuple[str, str], list[Summary]] = {}
    for one in newest:
        groups.setdefault((one.campaign, one.site), []).append(one)
    columns = (
        Column("campaign", "campaign"),
        Column("site", "site"),
        Column("last_at", "last result", "day"),
        Column("age_s", "age", "age"),
        Column("n_ok", "ok", "count"),
        Column("n_failed", "failed", "count"),
        Column("n_timed_out", "timed out", "count"),
        Column("n_skipped", "skipped", "count"),
        Column("n_refused", "refused", "count"),
    )
    rows = []
    for (campaign, site), group in groups.items():
        ends = Counter(one.outcome for one in group)
        counts = [ends[outcome] for outcome in ("ok", "failed", "timed out", "skipped", "refused")]
        rows.append((campaign, site, group[0].created_at, age_s(group[0].created_at, at), *counts))
    return ResultTable("Campaigns", columns, tuple(rows), (_COUNTED,))


def _listed(title: str, found: list[Summary], at: datetime) -> ResultTable:
    axes, notes = telling(found)
    columns = (
        Column("uuid", "result", "key"),
        *(Column(axis, axis) for axis in axes),
        Column("age_s", "age", "age"),
        Column("outcome", "outcome"),
        Column("reason", "reason"),
    )
    rows = tuple(
        (one.uuid, *(getattr(one, axis) for axis in axes), age_s(one.created_at, at), one.outcome, one.reason)
        for one in found
    )
    return ResultTable(title, columns, rows, notes)


def _old(title: str, found: list[Summary], at: datetime) -> ResultTable:
    """One row for each group of series that probably stopped together."""
    groups: dict[tuple[str, ...], list[Summary]] = {}
    for one in found:
        groups.setdefault((one.campaign, one.site, one.storage, one.engine), []).append(one)
    columns = (
        *(Column(axis, axis) for axis in ("campaign", "site", "storage", "engine")),
        Column("n_series", "series", "count"),
        Column("last_at", "last result", "day"),
        Column("age_s", "age", "age"),
    )
    rows = tuple(
        (*key, len({one.series_id for one in group}), group[0].created_at, age_s(group[0].created_at, at))
        for key, group in groups.items()
    )
    return ResultTable(title, columns, rows)


def _changed(
    judge: Callable[[], tuple[ResultTable, list[Compared]]],
) -> tuple[ResultTable, list[Compared]]:
    title = "Changed from the version before to the newest"
    try:
        table, compared = judge()
    except RequestError as error:
        return ResultTable(title, (), (), (f"Nothing to compare: {error}.",)), []
    told = (Verdict.BETTER.value, Verdict.WORSE.value)
    rows = tuple(row for row in table.rows if row[0] in told)
    counts = Counter(one.comparison.verdict.value for one in compared)
    note = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    return ResultTable(
        title, table.columns, rows, (f"{len(compared)} cases: {note}.", *table.notes)
    ), compared
