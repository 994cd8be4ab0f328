"""The results of a campaign as a matrix: one axis across, all others that vary down."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from arrowroot_lab.errors import RequestError

from .metrics import metric
from .results import axes_of, figures, label, named, natural, varying
from .table import Column, ResultTable

if TYPE_CHECKING:
    from arrowroot_lab.store import Filter, Store, Summary

#: What can stand across: an engine stands there with its version.
ACROSS = (
    "engine",
    "storage",
    "workload",
    "strategy",
    "site",
    "dataset",
    "layout",
    "storage_kind",
    "cpu_model",
)


def matrix(
    store: Store, where: Filter, *, across: str = "engine", key: str = "wall_ns", statistic: str = "median"
) -> ResultTable:
    """Return the newest figure of each series and version; an outcome that is not ok stands in its place.

    Args:
        store: where from
        where: which results, as ``Filter(campaign=("storages",))``
        across: the axis whose values are the columns
        key: the metric
        statistic: median or minimum, of the counted samples

    Raises: RequestError if there is no such axis, metric or statistic.
    """
    if across not in ACROSS:
        raise RequestError(f"{across}: no such axis; there are {', '.join(ACROSS)}")
    asked = metric(key)
    found = named(store.summaries(replace(where, newest_versions=True)))
    figure = figures(store, found, key, statistic)
    differing, notes = varying([axes_of(one) for one in found])
    down = [axis for axis in differing if axis != across and not (across == "engine" and axis == "version")]
    heads = sorted({_head(one, across, differing) for one in found}, key=natural)
    cells: dict[tuple[str | None, ...], dict[str, Any]] = {}
    for one in reversed(found):  # the newest last, so that it stays
        row = tuple(getattr(one, axis) for axis in down)
        value = figure[one.uuid] if one.outcome == "ok" else one.outcome
        cells.setdefault(row, {})[_head(one, across, differing)] = value
    columns = (
        *(Column(axis, axis) for axis in down),
        *(Column(f"{key}:{head}", head, asked.form) for head in heads),
    )
    rows = tuple(
        (*row, *(cells[row].get(head) for head in heads))
        for row in sorted(cells, key=lambda row: [natural(value or "") for value in row])
    )
    return ResultTable(f"{asked.title}, {statistic} of the samples", columns, rows, notes)


def _head(summary: Summary, across: str, differing: list[str]) -> str:
    axes = [across, "version"] if across == "engine" and "version" in differing else [across]
    return label(summary, axes).replace(" / ", " ") or "unknown"
