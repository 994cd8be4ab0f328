"""All of one result: what was asked, what came of it, in which environment, and the command that repeats it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from .environments import flat
from .metrics import METRICS, metric
from .table import Column, ResultTable

if TYPE_CHECKING:
    from arrowroot_lab.documents import Result

_KEY_AND_VALUE = (Column("key", "key"), Column("value", "value"))


def again(result: Result, place: str) -> str | None:
    """Return the command that measures a result once more, for the same database; None if nobody knows it.

    place: of the database
    """
    return shlex.join([*result.command, "--db", place]) if result.command else None


def report(result: Result, place: str) -> list[ResultTable]:
    """Return the tables of a result: what it is, figures, samples, counters, predictions, environment.

    place: of its database
    """
    tables = [
        _what(result, place),
        _figures(result),
        _samples(result),
        _counters(result),
        _predictions(result),
    ]
    environment = flat({"machine": result.machine, "environment": result.environment, "line": result.line})
    tables.append(_keys("Environment", environment))
    return [table for table in tables if table.rows]


def _what(result: Result, place: str) -> ResultTable:
    checked = result.checked or {}
    told: dict[str, Any] = {
        "result": result.uuid,
        "measured": result.created_at,
        "outcome": result.outcome.value,
        "reason": result.reason,
        "site": result.site,
        "node": "shared: others used it, too; every sample counts" if result.is_shared else None,
        "case": result.case_id,
        "series": result.series_id,
        **flat({key: value for key, value in result.case.items() if key not in ("dataset", "layout")}),
        **{f"version of {name}": version for name, version in result.versions.items()},
        **{f"dataset {key}": value for key, value in result.dataset.items()},
        **{f"campaign {key}": value for key, value in result.campaign.items()},
        **{f"values checked: {key}": value for key, value in checked.items()},
        "runner": result.runner,
        "again": again(result, place),
    }
    return _keys("Result", told)


def _keys(title: str, told: dict[str, Any]) -> ResultTable:
    rows = tuple((key, _shown(value)) for key, value in told.items() if value is not None)
    return ResultTable(title, _KEY_AND_VALUE, rows)


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


def _figures(result: Result) -> ResultTable:
    """One row for each metric would need one form for each cell; so figures are told as text there."""
    from .format import shown

    columns = (
        Column("metric", "of the counted samples"),
        Column("median", "median"),
        Column("minimum", "minimum"),
        Column("maximum", "maximum"),
    )
    rows = []
    for one in METRICS.values():
        values = one.values(result)
        if values:
            median = one.figure(result)
            rows.append(
                (one.title, *(shown(value, one.form) for value in (median, min(values), max(values))))
            )
    return ResultTable("Figures", columns, tuple(rows))


def _samples(result: Result) -> ResultTable:
    columns = (
        Column("turn", "turn", "count"),
        Column("started_at", "started", "date"),
        Column("outcome", "outcome"),
        Column("wall_ns", "wall", "time"),
        Column("cpu_ns", "CPU", "time"),
        Column("peak_rss_bytes", "memory", "bytes"),
        Column("control_before_ns", "control", "time"),
        Column("why", "not counted, as"),
    )
    rows = tuple(
        (
            sample.turn,
            sample.started_at,
            sample.outcome.value,
            sample.wall_ns,
            sample.cpu_ns,
            sample.peak_rss_bytes,
            sample.control_ns[0] if sample.control_ns else None,
            sample.reason or "; ".join(sample.disturbed) or None,
        )
        for sample in result.samples
    )
    return ResultTable(
        "Samples",
        columns,
        rows,
        ("Each in its order; the control kernel takes the same time on a quiet machine.",),
    )


def _counters(result: Result) -> ResultTable:
    from .format import shown

    names = {
        f"{layer}.{name}": None
        for sample in result.counted()
        for layer, metrics in sample.counters.items()
        for name in metrics
    }
    columns = (
        Column("counter", "counter"),
        Column("median", "median"),
        Column("minimum", "minimum"),
        Column("maximum", "maximum"),
    )
    rows = []
    for key in names:
        one = metric(key)
        values = one.values(result)
        rows.append(
            (key, *(shown(value, one.form) for value in (one.figure(result), min(values), max(values))))
        )
    return ResultTable("Counters", columns, tuple(rows))


def _predictions(result: Result) -> ResultTable:
    """Predictions beside the median that was measured; a gap beyond the error that was told is said to be one."""
    measured = metric("wall_ns").figure(result)
    rows = []
    for one in result.predictions:
        wall, error = one.get("wall_ns"), one.get("error_share", one.get("error"))
        ratio = measured / wall if measured and wall else None
        gap = None if ratio is None or error is None else not 1 - error <= ratio <= 1 + error
        rows.append((str(one.get("by", "")), wall, error, measured, ratio, gap))
    columns = (
        Column("by", "predicted by"),
        Column("predicted_wall_ns", "predicted", "time"),
        Column("error_share", "error", "share"),
        Column("wall_ns", "measured", "time"),
        Column("ratio", "measured over predicted", "ratio"),
        Column("is_beyond", "beyond it"),
    )
    return ResultTable("Predictions", columns, tuple(rows))
