"""What the pages are made of: the rows of all results, and what is kept of their documents once they were read."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.measured import Spread, spread_of
from arrowroot_lab.mining.metrics import metric
from arrowroot_lab.mining.results import axes_of, label, named, natural, varying
from arrowroot_lab.runs import command_of
from arrowroot_lab.store import Filter
from arrowroot_lab.watching.site_results import site_results

from .html import slug

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from arrowroot_lab.documents import Result
    from arrowroot_lab.store import Store, Summary

#: So many results have a page, and more where more are the newest of their series and version.
MAX_RESULT_PAGES = 5000
#: Outcomes that somebody has to look at.
BAD = ("failed", "timed out", "refused")
#: So many programs are told of, with how much longer each takes than the fastest.
MAX_NAMED = 4
OTHERS = "the others"
#: Kinds of storages -> what they speak.
_PROTOCOLS = {
    "root": "XRootD",
    "xrootd": "XRootD",
    "xcache": "XCache",
    "http": "HTTP",
    "davs": "WebDAV",
    "s3": "S3",
}
#: Axes by which programs differ; the others are what they are measured on.
PROGRAM = ("engine", "version", "strategy")


@dataclass(frozen=True)
class Facts(Spread):
    """What pictures need of a document, beside its row."""

    #: The median of the counted samples.
    cpu_efficiency: float | None
    #: Of the storage, as it was measured before the samples; None if it was not.
    round_trip_ns: float | None


def facts_of(result: Result) -> Facts:
    """Return what is kept of a document."""
    shares = metric("cpu_efficiency").values(result)
    return Facts(
        **vars(spread_of(result)),
        cpu_efficiency=statistics.median(shares) if shares else None,
        round_trip_ns=result.line.get("latency_before_ns"),
    )


class Snapshot:
    """All results of a store at one moment.

    Attributes:
        at: the moment, UTC: ages are counted to it
        summaries: rows, newest first: of all, or of those since a date and the newest of each series and version
        since: this date
        facts: by UUID; filled while the series are written
        figures: what the alarms of places are made of
        paged: the UUIDs of results that have a page
    """

    def __init__(self, store: Store, at: datetime, since: str | None = None) -> None:
        self.store, self.at, self.since = store, at, since
        rows = store.summaries(Filter(since=since))
        newest = store.summaries(Filter(newest_versions=True))
        rows += [one for one in newest if since is not None and one.created_at < since]
        storages = storage_names(rows)
        self.summaries = [replace(one, storage=storages.get(one.storage, one.storage)) for one in named(rows)]
        self.facts: dict[str, Facts] = {}
        self.figures = [
            one._replace(storage=storages.get(one.storage, one.storage))
            for one in site_results(store, Filter(), at)
        ]
        self.paged = self._paged({one.uuid for one in newest})

    def _paged(self, newest: set[str]) -> frozenset[str]:
        """The newest of each series and version, the last run, what failed, and others as far as there is room."""
        last = next(iter(runs_of(self.summaries).values()), [])
        first = [one for one in self.summaries if one.uuid in newest]
        failed = [one for one in self.summaries if one.outcome in BAD]
        room = max(MAX_RESULT_PAGES - len(first) - len(last), 0)
        others = [*failed, *self.summaries][:room]
        return frozenset(one.uuid for one in (*first, *last, *others))

    @property
    def campaigns(self) -> list[str]:
        """The names of all campaigns, the one that ran last first."""
        return list(dict.fromkeys(one.campaign for one in self.summaries))

    def of_campaign(self, name: str) -> list[Summary]:
        """The results of a campaign, newest first."""
        return [one for one in self.summaries if one.campaign == name]

    def series(self) -> dict[str, list[Summary]]:
        """The results of each series, oldest first."""
        groups: dict[str, list[Summary]] = {}
        for one in reversed(self.summaries):
            groups.setdefault(one.series_id, []).append(one)
        return groups


def storage_names(found: Sequence[Summary]) -> dict[str, str]:
    """Return new names of storages that are called as an engine is: one word may be a protocol and a program."""
    engines = {one.engine for one in found}
    return {
        one.storage: f"{one.storage} ({_PROTOCOLS.get(one.storage_kind, 'storage')})"
        for one in found
        if one.storage in engines
    }


def has_time(one: Summary) -> bool:
    """True if a result has a wall time: it ended well, and a sample of it counts."""
    return one.outcome == "ok" and one.wall_median_ns is not None


def why_no_time(one: Summary) -> str:
    """Return the word for a result without a wall time: its outcome, or that all samples were disturbed."""
    return "disturbed" if one.outcome == "ok" else one.outcome


def runs_of(found: Sequence[Summary]) -> dict[str, list[Summary]]:
    """Return the results of each command, the newest first; results that tell no run are of one.

    What a command measures on several workers is a run of each: their UUIDs begin with the same.
    """
    runs: dict[str, list[Summary]] = {}
    for one in found:
        runs.setdefault(command_of(one.run or ""), []).append(one)
    return runs


def axes(found: Sequence[Summary]) -> tuple[list[str], list[str]]:
    """Return the axes on which results differ: those of the programs, and the others."""
    differing, _ = varying([axes_of(one) for one in found])
    differing = [axis for axis in differing if axis != "campaign"]
    if "layout" in differing and len({(one.dataset, one.layout) for one in found}) == len(
        {one.dataset for one in found}
    ):
        # The name of a dataset tells its layout better than a hash does.
        differing.remove("layout")
    if len({(one.engine, one.version) for one in found}) == len({one.engine for one in found}):
        # Each engine has one version, which the notes of the tables tell.
        differing = [axis for axis in differing if axis != "version"]
    programs = [axis for axis in differing if axis in PROGRAM]
    return programs, [axis for axis in differing if axis not in PROGRAM]


def in_order(found: Sequence[Summary]) -> list[Summary]:
    """Return results by their names, as a table is read: what they are measured on, and then the programs."""
    names = ("dataset", "storage", "workload", "site", "layout", *PROGRAM)
    return sorted(found, key=lambda one: [natural(str(getattr(one, name))) for name in names])


def answers(found: Sequence[Summary]) -> str | None:
    """Return what results answer: which program is the fastest, which storage costs how much, or how long all takes.

    It is of medians: only pairs are judged. Times that were measured alone speak, if there are any; the fastest of a
    single case is none. None without a time.
    """
    timed = [one for one in found if has_time(one)]
    measured = [one for one in timed if not one.is_virtual]
    n_real = sum(one.outcome == "ok" and not one.is_virtual for one in found)
    if n_real and not measured:
        return f"Of {n_real} measured {'cases' if n_real > 1 else 'case'} no sample counts, as the machine was busy."
    told = _fastest(measured or timed) or _extent(measured or timed)
    return told if measured or told is None else f"In virtual time: {told}"


def _fastest(found: Sequence[Summary]) -> str | None:
    across, down = axes(found)
    told = []
    rows = _rows(found, across, down)
    if across and len(rows) > 1:
        best, where, ratios = _leader(rows)
        if len(ratios) > MAX_NAMED:
            ratios = {OTHERS: [ratio for of_one in ratios.values() for ratio in of_one]}
        others = ", ".join(
            f"{name} {'take' if name == OTHERS else 'takes'} {_times(of_one)}"
            for name, of_one in ratios.items()
        )
        told.append(f"By their medians {best} is the fastest{where}: {others} times as long.")
    rows = _rows(found, ["storage"], [*(axis for axis in down if axis != "storage"), *across])
    if "storage" in down and len(rows) > 1:
        best, where, ratios = _leader(rows)
        # Not by the ratios: some engines cannot read from all storages.
        slow = Counter(
            max((name for name in row if name != best), key=row.__getitem__)
            for row in rows.values()
            if best in row
        )
        worst = slow.most_common(1)[0][0]
        slowest = f'"{worst}", most often the slowest, takes' if len(ratios) > 1 else f'"{worst}" takes'
        told.append(
            f'Of the storages "{best}" is the fastest{where}; {slowest} {_times(ratios[worst])} times as long.'
        )
    return " ".join(told) or None


def _extent(found: Sequence[Summary]) -> str | None:
    """From the least to the most time."""
    if not found:
        return None
    names = [*axes(found)[1], *axes(found)[0]]
    ends = [
        f"{shown(one.wall_median_ns, 'time')} ({label(one, names) or one.workload})"
        for one in sorted(found, key=lambda one: one.wall_median_ns or 0)
    ]
    if len(ends) == 1:
        return f"The median time of a sample is {ends[0]}."
    return f"The median times of {len(ends)} cases are from {ends[0]} to {ends[-1]}."


def _rows(found: Sequence[Summary], across: Sequence[str], down: Sequence[str]) -> dict[str, dict[str, int]]:
    """The times of the cases that have two at least: by name on the axes down, and across."""
    rows: dict[str, dict[str, int]] = {}
    for one in found:
        if has_time(one) and one.wall_median_ns:
            rows.setdefault(label(one, down), {})[label(one, across)] = one.wall_median_ns
    return {name: row for name, row in rows.items() if len(row) > 1}


def _leader(rows: dict[str, dict[str, int]]) -> tuple[str, str, dict[str, list[float]]]:
    """The program that is the fastest most often, in how many cases, and the times of each other over its own."""
    wins = Counter(min(row, key=row.__getitem__) for row in rows.values())
    (best, n_best), *_ = wins.most_common()
    ratios: dict[str, list[float]] = {}
    for row in rows.values():
        for name, wall_ns in row.items():
            if best in row and name != best:
                ratios.setdefault(name, []).append(wall_ns / row[best])
    return best, f" in {n_best} of {len(rows)} cases", ratios


def _times(ratios: Sequence[float]) -> str:
    low, high = (
        f"{value:.2f}" if value < 1.1 else f"{value:.1f}" if value < 10 else f"{value:,.0f}"
        for value in (min(ratios), max(ratios))
    )
    return low if low == high else f"{low} to {high}"


def result_page(uuid: str) -> str:
    """The address of a result, from the top of the site."""
    return f"results/{slug(uuid)}.html"


def series_page(series_id: str) -> str:
    """The address of a series."""
    return f"series/{slug(series_id)}.html"


def campaign_page(name: str) -> str:
    """The address of a campaign."""
    return f"campaigns/{slug(name)}.html"


def compare_page(campaign: str, axis: str) -> str:
    """The address of the comparisons of a campaign on an axis."""
    return f"compare/{slug(campaign)}-by-{slug(axis)}.html"


def explore_page() -> str:
    """Return the address of the page that people choose in."""
    return "explore.html"


def classics_page() -> str:
    """Return the address of the first page of the classics."""
    return "classics/index.html"


def classic_page(name: str) -> str:
    """The address of a classic."""
    return f"classics/{slug(name)}.html"
