"""How a series went on: its points, with marks where its level, versions or the environment changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from arrowroot_lab.errors import RequestError
from arrowroot_lab.statistics import LEAST_HISTORY, changes, median_bounds

from .environments import flat
from .format import shown
from .metrics import JUDGED, STATISTICS, Metric, judged, metric
from .results import AXES, axes_of, label, layout_names, telling
from .table import Column, ResultTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from arrowroot_lab.documents import Result
    from arrowroot_lab.store import Filter, Store, Summary, Taken

#: A point of fewer samples is too noisy to begin a series with, or to find changes by.
LEAST_SAMPLES = 5


@dataclass(frozen=True)
class Point:
    """One result of a series."""

    uuid: str
    created_at: str
    version: str
    outcome: str
    #: None if no sample is counted.
    figure: float | None
    #: Of all counted samples, in their order.
    values: tuple[float, ...]
    #: The figure that ``ratio`` is over: of the last point of the version; if it has none, of the last point.
    before: float | None
    #: What is new since that point: versions, the environment, or why there is no figure.
    marks: tuple[str, ...]
    #: It was replayed from a trace, in virtual time: one sample is enough.
    is_exact: bool = False
    #: From here on the level is so many times the one before; None: it is the same.
    change: float | None = None

    @property
    def is_firm(self) -> bool:
        """True if it has samples enough to be judged by."""
        return bool(self.figure) and (self.is_exact or len(self.values) >= LEAST_SAMPLES)


@dataclass(frozen=True)
class History:
    """A series, oldest point first."""

    series_id: str
    label: str
    metric: Metric
    statistic: str
    points: tuple[Point, ...]
    #: The same by other metrics whose level changed, if none was asked for.
    also: tuple[History, ...] = ()

    def table(self) -> ResultTable:
        """Return one row for each point."""
        columns = (
            Column("created_at", "measured", "date"),
            Column("version", "version"),
            Column(self.metric.key, self.statistic, self.metric.form),
            Column("low", "at least", self.metric.form),
            Column("high", "at most", self.metric.form),
            Column("ratio", "ratio", "ratio"),
            Column("change", "change", "ratio"),
            Column("n_counted", "samples", "count"),
            Column("marks", "marks"),
            Column("uuid", "result", "key"),
        )
        rows: list[tuple[Any, ...]] = []
        for point in self.points:
            low, high = median_bounds(point.values) or (None, None)
            ratio = point.figure / point.before if point.figure is not None and point.before else None
            rows.append(
                (
                    point.created_at,
                    point.version,
                    point.figure,
                    low,
                    high,
                    ratio,
                    point.change,
                    len(point.values),
                    "; ".join(point.marks),
                    point.uuid,
                )
            )
        notes = [
            self.told_of_changes(),
            *(
                f"{one.metric.title} (--metric {one.metric.key}): {one.told_of_changes()}"
                for one in self.also
            ),
            "A ratio is over the last point of the same version; over the last point where a version is new.",
            "Points of different runs were not taken in turns: they may differ by the machine.",
            "`lab compare --by version` judges pairs.",
        ]
        first = next((point for point in self.points if point.values), None)
        if first is not None and not first.is_firm:
            notes.append(
                f"The first point has {len(first.values)} samples; at least {LEAST_SAMPLES} make a point to judge by."
            )
        return ResultTable(
            f"{self.metric.title} of {self.label} (series {self.series_id})",
            columns,
            tuple(rows),
            tuple(notes),
        )

    def told_of_changes(self) -> str:
        """Return a sentence: where the level changed."""
        found = [point for point in self.points if point.change is not None]
        if found:
            told = ", ".join(
                f"{point.created_at[:10]} ({shown(point.change, 'ratio')} times the level before)"
                for point in found
            )
            return f"Change points: {told}. From each on the level is another one."
        most = max((len(places) for places in self._firm().values()), default=0)
        if most < LEAST_HISTORY:
            wanted = f"{LEAST_HISTORY} points of {LEAST_SAMPLES} samples"
            return f"No change points yet: {most} of the {wanted} that they want."
        return "No change points: the level did not change."

    def _firm(self) -> dict[str, list[int]]:
        """The places of the points that are judged, by line."""
        told = lines([point.version for point in self.points])
        return {
            name: [place for place in places if self.points[place].is_firm] for name, places in told.items()
        }

    def with_changes(self) -> History:
        """Return it with its change points; versions that are measured in turns have a level each."""
        points = list(self.points)
        for places in self._firm().values():
            for change in changes([points[place].figure or 0.0 for place in places]):
                place = places[change.place]
                mark = f"change point: {shown(change.ratio, 'ratio')} times the level before"
                points[place] = replace(
                    points[place], change=change.ratio, marks=(mark, *points[place].marks)
                )
        return replace(self, points=tuple(points))


def level_changes(told: Iterable[History], since: str) -> ResultTable:
    """Return one row for each change point since a date, newest first: series whose level is another one."""
    found = [
        (one, of_metric.metric, point)
        for one in told
        for of_metric in (one, *one.also)
        for point in of_metric.points
        if point.change and point.created_at >= since
    ]
    found.sort(key=lambda item: item[2].created_at, reverse=True)
    columns = (
        Column("change", "change", "ratio"),
        Column("metric", "of"),
        Column("label", "series"),
        Column("version", "version"),
        Column("created_at", "since", "date"),
        Column("series_id", "key", "key"),
    )
    rows = tuple(
        (point.change, of.title, one.label, point.version, point.created_at, one.series_id)
        for one, of, point in found
    )
    note = (
        "The level from then on over the one before. No alarm: among some hundred histories one has such a change by "
        "chance; measure both versions in turns, and let `lab compare` judge."
    )
    return ResultTable("Levels that changed", columns, rows, (note,))


def lines(versions: Sequence[str]) -> dict[str, list[int]]:
    """Return the places that go on from each other, by name: one line, unless versions are measured in turns."""
    in_turns = sum(before != now for before, now in pairwise(versions)) >= len(set(versions))
    found: dict[str, list[int]] = {}
    for place, version in enumerate(versions):
        found.setdefault(version if in_turns else "", []).append(place)
    return found


def series(store: Store, where: Filter) -> ResultTable:
    """Return one row for each series, the one measured last first."""
    found = store.rows(
        replace(where, newest_versions=True, outcome=()),
        ("series_id", "created_at", "outcome", "wall_median_ns", *AXES),
    )
    counts: dict[str, list[tuple[int, str]]] = {}
    for (key, _), span in store.spans(where).items():
        counts.setdefault(key, []).append(span)
    newest: dict[str, Any] = {}
    for one in found:
        if one.series_id in counts:
            newest.setdefault(one.series_id, one)
    axes, notes = telling([one for one in found if one.series_id in counts])
    axes = [axis for axis in axes if axis not in ("version", "campaign")]
    names = layout_names(found)
    columns = (
        Column("series_id", "series", "key"),
        *(Column(axis, axis) for axis in axes),
        Column("wall_median_ns", "wall", "time"),
        Column("n_results", "results", "count"),
        Column("last_outcome", "outcome"),
        Column("first_at", "first", "date"),
        Column("last_at", "last", "date"),
    )
    rows = tuple(
        (
            key,
            *(names.get(value, value) for value in (getattr(one, axis) for axis in axes)),
            one.wall_median_ns,
            sum(n for n, _ in counts[key]),
            one.outcome,
            min(first for _, first in counts[key]),
            one.created_at,
        )
        for key, one in newest.items()
    )
    return ResultTable("Series", columns, rows, notes)


def history(store: Store, where: Filter, *, key: str | None = None, statistic: str = "median") -> History:
    """Return the points of the one series that matches.

    key: the metric; None: the wall time (of a shared node without its queues), with the changes of CPU time and memory

    Raises: RequestError if none or several match, or there is no such metric or statistic.
    """
    found = store.summaries(where)
    known = list(dict.fromkeys(one.series_id for one in found))
    if len(known) != 1:
        told = f"{len(known)} series match, as {', '.join(known[:3])}" if known else "no series matches"
        raise RequestError(
            f"{told}; `arrowroot lab history` lists them, and --series takes the beginning of a key"
        )
    return history_of(store, found[::-1], key=key, statistic=statistic)


def history_of(
    store: Store, found: Sequence[Summary], *, key: str | None = None, statistic: str = "median"
) -> History:
    """Return the points of one series, from its rows, oldest first; ``key`` as of ``history``.

    Raises: RequestError if there is no such metric or statistic.
    """
    if statistic not in STATISTICS:
        raise RequestError(f"{statistic}: no such statistic; there are {', '.join(STATISTICS)}")
    newest = found[-1]
    keys = (key,) if key else [judged(one, is_shared=newest.node is not None).key for one in JUDGED]
    samples = store.taken((one.uuid for one in found), *keys)
    asked, *others = map(metric, keys)
    axes = [axis for axis in axes_of(newest) if axis not in ("version", "campaign", "layout")]
    points = tuple(_points(store, found, samples, statistic))
    of_others = (_other(one, at, found, samples, statistic) for at, one in enumerate(others, 1))
    also = tuple(one for one in of_others if any(point.change for point in one.points))
    told = History(newest.series_id, label(newest, axes), asked, statistic, points, also)
    return told.with_changes()


def _other(
    asked: Metric, at: int, found: Sequence[Summary], samples: dict[str, list[Taken]], statistic: str
) -> History:
    """The points of another metric, that at a place of the samples' values, without marks of what changed besides."""
    points = []
    for row in found:
        values = tuple(value for one in samples[row.uuid] if (value := one.values[at]) is not None)
        figure = STATISTICS[statistic](list(values)) if values else None
        points.append(Point(row.uuid, row.created_at, row.version, row.outcome, figure, values, None, ()))
    return History(found[-1].series_id, "", asked, statistic, tuple(points)).with_changes()


def _points(
    store: Store, found: Sequence[Summary], samples: dict[str, list[Taken]], statistic: str
) -> Iterator[Point]:
    """A run may measure several versions in turns, so each point follows the last one of its own version."""
    figures: dict[str, float | None] = {}
    follows: dict[str, Summary | None] = {}
    last: dict[str, Summary] = {}
    for row in found:
        values = [sample.value for sample in samples[row.uuid] if sample.value is not None]
        figures[row.uuid] = STATISTICS[statistic](values) if values else None
        follows[row.uuid] = last.get(row.version) or last.get("")
        if values:
            last[row.version] = last[""] = row
    told = _documents(store, found, follows)
    for row in found:
        taken, before = samples[row.uuid], follows[row.uuid]
        yield Point(
            uuid=row.uuid,
            created_at=row.created_at,
            version=row.version,
            outcome=row.outcome,
            figure=figures[row.uuid],
            values=tuple(sample.value for sample in taken if sample.value is not None),
            before=figures[before.uuid] if before else None,
            marks=_marks(before, row, told),
            is_exact=bool(taken) and all(sample.trace for sample in taken),
        )


def _documents(
    store: Store, found: Sequence[Summary], follows: dict[str, Summary | None]
) -> dict[str, Result]:
    """The documents of the results at which something changed, and of those before: of most nothing did."""
    needed = {
        one.uuid: None
        for row in found
        if (before := follows[row.uuid]) is not None and _surroundings(before) != _surroundings(row)
        for one in (before, row)
    }
    return {result.uuid: result for result in store.of(needed)}


def _surroundings(row: Summary) -> tuple[str | None, ...]:
    return row.versions, row.environment_id, row.dataset_file


def _marks(before: Summary | None, now: Summary, told: dict[str, Result]) -> tuple[str, ...]:
    marks = []
    if now.outcome != "ok":
        marks.append(f"{now.outcome}: {now.reason}" if now.reason else now.outcome)
    if before is None:
        return ("first", *marks)
    if _surroundings(before) == _surroundings(now):
        return tuple(marks)
    first, second = told[before.uuid], told[now.uuid]
    for title, old, new in (
        ("", flat(first.versions), flat(second.versions)),
        ("", flat(first.environment), flat(second.environment)),
        ("dataset ", {"file": before.dataset_file}, {"file": now.dataset_file}),
    ):
        marks += [
            f"{title}{name}: {_told(old.get(name))} -> {_told(new.get(name))}"
            for name in dict.fromkeys((*old, *new))
            if old.get(name) != new.get(name)
        ]
    return tuple(marks)


def _told(value: Any) -> str:
    return "none" if value is None else str(value)
