"""The results as a table, and the words that tables of results share: axes that vary, and those that do not."""

from __future__ import annotations

import re
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from arrowroot_lab.errors import RequestError
from arrowroot_lab.quantities import SIZES, parse_bytes

from .metrics import STATISTICS, metric
from .table import Column, ResultTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Row

    from arrowroot_lab.store import Filter, Store, Summary

#: What tells results apart, most telling first; each is a column of the view ``results``.
AXES = (
    "campaign",
    "site",
    "node",
    "dataset",
    "layout",
    "storage",
    "workload",
    "engine",
    "version",
    "strategy",
)
_ON_AXES = attrgetter(*AXES)
#: What is shown of results, and asked of a row for that.
_OF_TABLE = (
    "uuid",
    *AXES,
    "wall_median_ns",
    "outcome",
    "cpu_median_ns",
    "n_counted",
    "created_at",
    "n_disturbed",
)
#: Sizes in a name, as those of caches.
_SIZE = re.compile(rf"\b\d+(\.\d+)? ({'|'.join(SIZES)})\b")
#: Metrics whose figures the rows have already; those of others are made of the samples.
_IN_ROWS = {
    ("wall_ns", "median"): "wall_median_ns",
    ("wall_ns", "minimum"): "wall_minimum_ns",
    ("cpu_ns", "median"): "cpu_median_ns",
    ("cpu_ns", "minimum"): "cpu_minimum_ns",
}


def results_table(store: Store, where: Filter | None = None, *, limit: int | None = None) -> ResultTable:
    """Return one row for each result, newest first; what all have in common is told in the notes."""
    found = store.rows(where, _OF_TABLE, limit=limit)
    return _table(found, layout_names(found))


def table_of(found: Sequence[Summary]) -> ResultTable:
    """Return one row for each of these results, in their order, whose layouts have names."""
    return _table(found, {})


def _table(found: Sequence[Summary | Row[Any]], names: Mapping[str, str]) -> ResultTable:
    """The table of results; ``names``: of layouts that are hashes."""
    axes, notes = telling(found)
    columns = (
        Column("uuid", "result", "key"),
        *(Column(axis, axis) for axis in axes),
        Column("wall_median_ns", "wall", "time"),
        Column("outcome", "outcome"),
        Column("cpu_median_ns", "CPU", "time"),
        Column("n_counted", "counted", "count"),
        Column("created_at", "measured", "date"),
    )
    rows = tuple(map(attrgetter(*(column.key for column in columns)), found))
    if "layout" in axes and names:
        at = 1 + axes.index("layout")
        rows = tuple((*row[:at], names.get(row[at]), *row[at + 1 :]) for row in rows)
    busy = [one for one in found if one.outcome == "ok" and one.wall_median_ns is None and one.n_disturbed]
    if n_busy := len(busy):
        are = "result has no wall time" if n_busy == 1 else "results have no wall time"
        why = "the machine was busy, so no sample counts. --again measures once more"
        notes = (*notes, f"{n_busy} {are}: {why}; 'shared = true' in the campaign counts every sample.")
    return ResultTable("Results", columns, rows, notes)


def axes_of(summary: Summary | Row[Any]) -> dict[str, str]:
    """Return the values of a result on the axes; an axis that it has no value of is not there."""
    return {axis: value for axis, value in zip(AXES, _ON_AXES(summary), strict=True) if value is not None}


def layout_names(found: Sequence[Summary | Row[Any]]) -> dict[str, str]:
    """Return names of layouts, of which results have hashes: those of the datasets that are laid out so.

    Layouts of one name, as where a file was written anew, are numbered from the oldest on.

    Args:
        found: newest first
    """
    datasets: dict[str, dict[str, None]] = {}
    for one in reversed(found):
        if one.layout is not None:
            datasets.setdefault(one.layout, {})[one.dataset] = None
    names = {layout: ", ".join(of_layout) for layout, of_layout in datasets.items()}
    alike: dict[str, list[str]] = {}
    for layout, name in names.items():
        alike.setdefault(name, []).append(layout)
    return {
        layout: name if len(alike[name]) == 1 else f"{name}, layout {alike[name].index(layout) + 1}"
        for layout, name in names.items()
    }


def named(found: Sequence[Summary]) -> list[Summary]:
    """Return the same results with names of their layouts, in place of hashes."""
    names = layout_names(found)
    return [one if one.layout is None else replace(one, layout=names[one.layout]) for one in found]


def varying(cases: Sequence[dict[str, str]]) -> tuple[list[str], tuple[str, ...]]:
    """Return the axes on which cases differ, and one sentence on those where all are equal."""
    differing, equal = [], []
    for axis in AXES:
        values = {case.get(axis) for case in cases}
        if len(values) > 1:
            differing.append(axis)
        elif values and axis != "layout" and (value := values.pop()) is not None:
            equal.append(f"{axis} {value}")
    return differing, (f"All: {', '.join(equal)}.",) if equal else ()


def telling(found: Sequence[Summary | Row[Any]]) -> tuple[list[str], tuple[str, ...]]:
    """Return the axes that tell results apart, and sentences on the others.

    A version goes without saying where each engine has one, and so does a layout where each dataset has one: the notes
    tell the versions.
    """
    axes, notes = varying([axes_of(one) for one in found])
    versions = {(one.engine, one.version) for one in found}
    if "engine" in axes and "version" in axes and len(versions) == len({engine for engine, _ in versions}):
        axes.remove("version")
        notes = (*notes, f"Versions: {', '.join(' '.join(one) for one in sorted(versions))}.")
    layouts = {(one.dataset, one.layout) for one in found}
    if "dataset" in axes and "layout" in axes and len(layouts) == len({dataset for dataset, _ in layouts}):
        axes.remove("layout")
    return axes, notes


def natural(name: str) -> list[tuple[int, str]]:
    """A key to sort names by, in which 0.10 comes after 0.9, and 128 KiB before 1 MiB."""
    in_bytes = _SIZE.sub(lambda size: str(parse_bytes(size[0])), name)
    return [
        (int(part), "") if part.isdecimal() else (-1, part.casefold())
        for part in re.split(r"(\d+)", in_bytes)
    ]


def figures(store: Store, found: Sequence[Summary], key: str, statistic: str) -> dict[str, float | None]:
    """Return the figure of each result, by UUID.

    Raises: RequestError if there is no such metric or statistic.
    """
    asked = metric(key)
    if statistic not in STATISTICS:
        raise RequestError(f"{statistic}: no such statistic; there are {', '.join(STATISTICS)}")
    column = _IN_ROWS.get((key, statistic))
    if column is not None:
        return {one.uuid: getattr(one, column) for one in found}
    samples = store.taken((one.uuid for one in found), asked.key)
    told: dict[str, float | None] = {}
    for uuid, taken in samples.items():
        values = [sample.value for sample in taken if sample.value is not None]
        told[uuid] = STATISTICS[statistic](values) if values else None
    return told


def label(summary: Summary, axes: Iterable[str]) -> str:
    """Return a short name of a result: its values on some axes."""
    values: list[Any] = [getattr(summary, axis) for axis in axes]
    return " / ".join(str(value) for value in values if value is not None)
