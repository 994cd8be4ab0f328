"""The rounds of each site against its nights before: what rose there, and which of its series share it.

A site has one history, whatever kinds of machines its jobs land on: CPU time is scaled by the control kernel, and kept
apart from the time of reading.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrowroot_lab.documents import in_utc
from arrowroot_lab.mining.history import lines
from arrowroot_lab.runs import command_of
from arrowroot_lab.statistics.rises import (
    LEAST_RISE,
    LEAST_RISE_OF_MEMORY,
    LEAST_ROUNDS,
    MOST_ROUNDS,
    WINDOW,
    middles,
    rises,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from arrowroot_lab.statistics.rises import Rise

    Array = np.ndarray[Any, Any]

#: Rounds on each side that a kind of machine is compared with, and how often it must have been there for that.
_N_NEIGHBOURS, _LEAST_OF_MODEL = 4, 4
#: Metrics by which a place is judged, as ``metrics`` names them; of several that rose alike the first is told.
MEMORY = "peak_rss_bytes"
METRICS = ("wall_ns", "cpu_ns", MEMORY)
#: The first round of a rise is known to so many rounds.
_NEAR = 1
#: What commands that measure nothing twice are one round of.
_LONGEST_ROUND = timedelta(days=1)


class Figure(NamedTuple):
    """One result, as far as its place is judged by it."""

    uuid: str
    site: str
    storage: str
    #: What was read, and how: all that is asked but for the storage and the engine.
    case: str
    engine: str
    version: str
    run: str | None
    created_at: str
    #: Medians; None: none is counted.
    wall_ns: float | None
    cpu_ns: float | None
    #: Of the control kernel; None: not measured.
    control_ns: float | None = None
    #: Kind of CPU.
    model: str | None = None
    n_cores: int = 1
    #: Of the process, resident; None: none is counted.
    peak_rss_bytes: float | None = None
    #: Coarser names of what was measured: ``case`` has all of it.
    workload: str = ""
    campaign: str = ""


class Group(NamedTuple):
    """Series of a site that a fault would share."""

    #: ``site``, ``storage``, ``engine``, ``case`` or ``series``.
    kind: str
    name: str


class Row(NamedTuple):
    """A series of a site: versions that were measured in turns have one each."""

    storage: str
    case: str
    engine: str
    version: str


@dataclass(frozen=True)
class SiteRise:
    """A rise at one site, by one metric."""

    history: SiteHistory
    group: Group
    metric: str
    rise: Rise

    @property
    def is_open(self) -> bool:
        """True if it goes on."""
        return self.rise.end is None

    @property
    def since(self) -> str:
        """When its first round began."""
        return self.history.rounds[self.rise.begin]

    @property
    def earliest(self) -> int:
        """The round since which it may have been there: behind the last one of its own before the rise."""
        own = self.history.own_rounds(self.rise.members)
        before = own[own < self.rise.begin]
        return int(before[-1]) + 1 if len(before) else self.rise.begin

    @property
    def seen(self) -> str:
        """When the round began in which it was seen."""
        return self.history.rounds[self.rise.seen]

    def sides(self, row: int) -> tuple[Figure | None, Figure | None]:
        """Return the last result of a series before the rise, and the newest one."""
        results = self.history.results[row]
        before = (one for one in reversed(results[: self.rise.begin]) if one and one.wall_ns)
        now = (one for one in reversed(results[self.rise.begin :]) if one and one.wall_ns)
        return next(before, None), next(now, None)

    def changed(self) -> dict[str, tuple[str, str]]:
        """Return the engines that have another version since its first rounds: engine -> (before, now)."""
        found = {}
        begin = self.rise.begin
        for row in self.rise.members:
            results = self.history.results[row]
            before = next((one for one in reversed(results[: max(0, begin - _NEAR)]) if one), None)
            now = next((one for one in results[begin + _NEAR :] if one), None)
            if before and now and before.version != now.version:
                found[now.engine] = before.version, now.version
        return found

    def first_with(self, engine: str, version: str) -> str | None:
        """Return when the first round of its site began in which an engine had a version; None: it never had."""
        rows = [row for row in self.history.results if any(one and one.engine == engine for one in row)]
        for begin, results in zip(self.history.rounds, zip(*rows, strict=True), strict=True):
            if any(one and (one.engine, one.version) == (engine, version) for one in results):
                return begin
        return None

    def engines(self) -> set[str]:
        """Return the engines of its series."""
        return {self.history.rows[row].engine for row in self.rise.members}


@dataclass(frozen=True)
class SiteHistory:
    """All series of one site, by round."""

    site: str
    #: Beginnings of the rounds.
    rounds: list[str]
    rows: list[Row]
    #: By row and round; None: no result.
    results: list[list[Figure | None]]

    def storages(self) -> list[str]:
        """Return the names of its storages."""
        return list(dict.fromkeys(row.storage for row in self.rows))

    def of_storage(self, storage: str) -> list[list[Figure | None]]:
        """Return the results of a storage, by row and round."""
        return [
            results for row, results in zip(self.rows, self.results, strict=True) if row.storage == storage
        ]

    def groups(self) -> dict[Group, list[int]]:
        """Return the rows of each group, the largest first; one that is the same as a larger one is left out."""
        found: dict[Group, list[int]] = {}
        for kind in ("site", "storage", "engine", "case", "series"):
            for at, row in enumerate(self.rows):
                found.setdefault(Group(kind, self._name(kind, row)), []).append(at)
        first: dict[tuple[int, ...], Group] = {}
        for group, rows in found.items():
            first.setdefault(tuple(rows), group)
        return {group: list(rows) for rows, group in first.items()}

    def members(self, group: Group) -> list[int]:
        """Return the rows of a group, of this site or another one."""
        return [at for at, row in enumerate(self.rows) if self._name(group.kind, row) == group.name]

    def _name(self, kind: str, row: Row) -> str:
        return {"site": self.site, "series": _label(row)}.get(kind) or str(getattr(row, kind))

    @cached_property
    def rises(self) -> list[SiteRise]:
        """The rises, by each metric, ended or not."""
        groups = self.groups()
        return [
            SiteRise(self, one.group, metric, one)
            for metric, logs in self._logs.items()
            for one in rises(logs, groups, least=LEAST_RISE_OF_MEMORY if metric == MEMORY else LEAST_RISE)
            if isinstance(one.group, Group)
        ]

    def level(
        self, rows: Sequence[int], metric: str, n_rounds: int = WINDOW, since: int | None = None
    ) -> float | None:
        """Return the median of the last rounds of some series over their usual level; None: too few rounds.

        n_rounds: how many rounds in which one of them was measured
        since: the first of these rounds, instead of their number
        """
        logs, rounds, own = self._logs[metric], self.own_rounds(rows), list(rows)
        last = rounds[-n_rounds:] if since is None else rounds[rounds >= since]
        over = middles(logs[own][:, last], axis=1)
        over -= self._usual_until(metric, int(rounds[-WINDOW:][0]))[own]
        told = over[np.isfinite(over)]
        return math.exp(float(np.median(told))) if len(told) else None

    def own_rounds(self, rows: Sequence[int]) -> Array:
        """Return the rounds in which one of some series was measured."""
        return np.flatnonzero(self._is_there[list(rows)].any(axis=0))

    @cached_property
    def _is_there(self) -> Array:
        return np.array([[one is not None for one in row] for row in self.results])

    def _usual_until(self, metric: str, end: int) -> Array:
        """The usual level of each series, before a round; NaN: too few rounds tell it."""
        if (known := self._usual.get((metric, end))) is not None:
            return known
        logs = self._logs[metric][:, :end]
        usual = np.isfinite(logs)
        for one in self.rises:
            if one.metric == metric:
                usual[list(one.rise.members), one.rise.begin : one.rise.end] = False
        usual &= usual[:, ::-1].cumsum(axis=1)[:, ::-1] <= MOST_ROUNDS
        before = middles(np.where(usual, logs, np.nan), axis=1)
        before[usual.sum(axis=1) < LEAST_ROUNDS] = np.nan
        self._usual[metric, end] = before
        return before

    @cached_property
    def _usual(self) -> dict[tuple[str, int], Array]:
        return {}

    @cached_property
    def _logs(self) -> dict[str, Array]:
        """Logarithms of each metric by row and round, as if all had been measured on the same kind of machine."""
        shape = len(self.rows), len(self.rounds)
        told = {metric: np.full(shape, np.nan) for metric in METRICS}
        models, known = np.full(shape, -1), dict[str, int]()
        controls = [one.control_ns for row in self.results for one in row if one and one.control_ns]
        usual = statistics.median(controls) if controls else None
        for at, row in enumerate(self.results):
            for column, one in enumerate(row):
                if one is None:
                    continue
                for metric, value in zip(METRICS, _scaled(one, usual), strict=True):
                    told[metric][at, column] = value
                if one.model:
                    models[at, column] = known.setdefault(one.model, len(known))
        return {metric: _alike(np.log(values), models) for metric, values in told.items()}


def histories(figures: Iterable[Figure]) -> list[SiteHistory]:
    """Return the history of each site."""
    by_site = defaultdict(list)
    for one in figures:
        by_site[one.site].append(one)
    return [_history(site, found) for site, found in sorted(by_site.items())]


def _history(site: str, found: list[Figure]) -> SiteHistory:
    found.sort(key=attrgetter("created_at"))
    by_command = defaultdict(list)
    by_series = defaultdict(list)
    for one in found:
        # The results of no command are those of a day.
        command = command_of(one.run) if one.run else one.created_at[:10]
        series = one.storage, one.case, one.engine
        by_command[command].append((series, one.created_at))
        by_series[series].append((command, one))
    columns, rounds = _rounds(by_command)
    by_row: dict[Row, list[Figure | None]] = {}
    for key, of_series in by_series.items():
        for version, places in lines([one.version for _, one in of_series]).items():
            row = by_row.setdefault(Row(*key, version), [None] * len(rounds))
            for place in places:
                command, one = of_series[place]
                row[columns[command]] = one
    return SiteHistory(site, rounds, list(by_row), list(by_row.values()))


def _rounds(by_command: Mapping[str, Sequence[tuple[Hashable, str]]]) -> tuple[dict[str, int], list[str]]:
    """Return the round of each command, and the beginnings of the rounds.

    Commands in a row that measure nothing twice within a day are one round, as the campaigns of a night are: a slow
    hour is one round that was slow, and not as many as there are campaigns.

    by_command: series and date of each result, commands in their order
    """
    columns: dict[str, int] = {}
    rounds: list[str] = []
    known: set[Hashable] = set()
    for command, results in by_command.items():
        begin, own = results[0][1], {series for series, _ in results}
        if not rounds or known & own or _time(begin) - _time(rounds[-1]) >= _LONGEST_ROUND:
            rounds.append(begin)
            known = set()
        known |= own
        columns[command] = len(rounds) - 1
    return columns, rounds


def _time(date: str) -> datetime:
    return datetime.fromisoformat(in_utc(date).replace("Z", "+00:00"))


def _label(row: Row) -> str:
    return " / ".join(filter(None, (row.case, row.storage, row.engine, row.version)))


def _scaled(one: Figure, usual: float | None) -> tuple[float, float, float]:
    """The metrics, as if the control kernel had taken its usual time: what waits is not scaled, nor is memory."""
    if not one.wall_ns:
        return math.nan, math.nan, math.nan
    cpu = one.cpu_ns or 0.0
    scale = usual / one.control_ns if usual and one.control_ns else 1.0
    busy = min(cpu / one.n_cores, one.wall_ns)
    return one.wall_ns + busy * (scale - 1), cpu * scale or math.nan, one.peak_rss_bytes or math.nan


def _alike(logs: Array, models: Array) -> Array:
    """The figures without what a kind of machine differs by from the rounds around those that it was used in."""
    known = np.unique(models[models >= 0])
    n = logs.shape[1]
    left: Array = logs.copy()
    if len(known) < 2:
        return left
    aside = np.arange(-_N_NEIGHBOURS, _N_NEIGHBOURS + 1)
    near = np.arange(n)[:, None] + aside[aside != 0]
    beyond = (near < 0) | (near >= n)
    over = logs - middles(np.where(beyond, np.nan, logs[:, np.where(beyond, 0, near)]), axis=2)
    for model in known:
        its = models == model
        told = over[its & np.isfinite(over)]
        if its.any(axis=0).sum() >= _LEAST_OF_MODEL and len(told):
            left[its] -= np.median(told)
    return left
