"""How a series went on: its points, with marks where versions or the environment changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arrowroot_lab.errors import RequestError
from arrowroot_lab.statistics import median_bounds

from .environments import flat
from .metrics import STATISTICS, Metric, metric
from .results import axes_of, label, varying
from .table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot_lab.documents import Result
    from arrowroot_lab.store import Filter, Store, Summary

#: A first point of a series wants so many samples: of fewer, a median or minimum is too noisy to begin with.
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


@dataclass(frozen=True)
class History:
    """A series, oldest point first."""

    series_id: str
    label: str
    metric: Metric
    statistic: str
    points: tuple[Point, ...]

    def table(self) -> Table:
        """Return one row for each point."""
        columns = (
            Column("created_at", "measured", "date"),
            Column("version", "version"),
            Column(self.metric.key, self.statistic, self.metric.form),
            Column("low", "at least", self.metric.form),
            Column("high", "at most", self.metric.form),
            Column("ratio", "ratio", "ratio"),
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
                    len(point.values),
                    "; ".join(point.marks),
                    point.uuid,
                )
            )
        ratios = (
            "A ratio is over the last point of the same version; over the last point where a version is new."
        )
        unpaired = "Points of different runs were not taken in turns: they may differ by the machine."
        notes = [ratios, unpaired, "`lab compare --by version` judges pairs."]
        first = next((point for point in self.points if point.values), None)
        if first is not None and len(first.values) < LEAST_SAMPLES:
            notes.append(
                f"The first point has {len(first.values)} samples; at least {LEAST_SAMPLES} make a point to judge by."
            )
        return Table(
            f"{self.metric.title} of {self.label} (series {self.series_id})",
            columns,
            tuple(rows),
            tuple(notes),
        )


def series(store: Store, where: Filter) -> Table:
    """Return one row for each series, the one measured last first."""
    found = store.summaries(where)
    axes, notes = varying([axes_of(one) for one in found])
    axes = [axis for axis in axes if axis not in ("version", "campaign")]
    groups: dict[str, list[Any]] = {}
    for one in found:
        groups.setdefault(one.series_id, []).append(one)
    columns = (
        Column("series_id", "series", "key"),
        *(Column(axis, axis) for axis in axes),
        Column("n_results", "results", "count"),
        Column("first_at", "first", "date"),
        Column("last_at", "last", "date"),
        Column("last_outcome", "outcome"),
        Column("wall_median_ns", "wall", "time"),
    )
    rows = tuple(
        (
            key,
            *(getattr(group[0], axis) for axis in axes),
            len(group),
            group[-1].created_at,
            group[0].created_at,
            group[0].outcome,
            group[0].wall_median_ns,
        )
        for key, group in groups.items()
    )
    return Table("Series", columns, rows, notes)


def history(store: Store, where: Filter, *, key: str = "wall_ns", statistic: str = "median") -> History:
    """Return the points of the one series that matches.

    Raises: RequestError if none or several match, or there is no such metric or statistic.
    """
    found = store.summaries(where)
    known = list(dict.fromkeys(one.series_id for one in found))
    if len(known) != 1:
        told = f"{len(known)} series match, as {', '.join(known[:3])}" if known else "no series matches"
        raise RequestError(
            f"{told}; `arrowroot lab history` lists them, and --series takes the beginning of a key"
        )
    results = list(store.of(one.uuid for one in reversed(found)))
    return history_of(found[0], results, key=key, statistic=statistic)


def history_of(
    newest: Summary, results: Sequence[Result], *, key: str = "wall_ns", statistic: str = "median"
) -> History:
    """Return the points of one series, whose newest result has the row ``newest``, from its results, oldest first.

    Raises: RequestError if there is no such metric or statistic.
    """
    if statistic not in STATISTICS:
        raise RequestError(f"{statistic}: no such statistic; there are {', '.join(STATISTICS)}")
    asked = metric(key)
    axes = [axis for axis in axes_of(newest) if axis not in ("version", "campaign", "layout")]
    return History(
        newest.series_id, label(newest, axes), asked, statistic, _points(results, asked, statistic)
    )


def _points(results: Sequence[Result], asked: Metric, statistic: str) -> tuple[Point, ...]:
    """A run may measure several versions in turns, so each point follows the last one of its own version."""
    points: list[Point] = []
    last: dict[str, tuple[Result, Point]] = {}
    for result in results:
        follows = last.get(result.version) or last.get("")
        point = Point(
            uuid=result.uuid,
            created_at=result.created_at,
            version=result.version,
            outcome=result.outcome.value,
            figure=asked.figure(result, statistic),
            values=tuple(asked.values(result)),
            before=follows[1].figure if follows else None,
            marks=_marks(follows[0] if follows else None, result),
        )
        points.append(point)
        if point.figure is not None:
            last[result.version] = last[""] = result, point
    return tuple(points)


def _marks(before: Result | None, now: Result) -> tuple[str, ...]:
    marks = []
    if now.outcome.value != "ok":
        marks.append(f"{now.outcome.value}: {now.reason}" if now.reason else now.outcome.value)
    if before is None:
        return ("first", *marks)
    for title, old, new in (
        ("", flat(before.versions), flat(now.versions)),
        ("", flat(before.environment), flat(now.environment)),
        ("dataset ", {"file": before.dataset.get("file")}, {"file": now.dataset.get("file")}),
    ):
        marks += [
            f"{title}{name}: {_told(old.get(name))} -> {_told(new.get(name))}"
            for name in dict.fromkeys((*old, *new))
            if old.get(name) != new.get(name)
        ]
    return tuple(marks)


def _told(value: Any) -> str:
    return "none" if value is None else str(value)
