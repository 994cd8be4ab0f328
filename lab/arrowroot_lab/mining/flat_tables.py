"""Results, samples and counters as Arrow tables: what is exported, and what notebooks get."""

from __future__ import annotations

from dataclasses import asdict, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from arrowroot_lab.store import Summary, summary_of

from .results import AXES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arrowroot_lab.documents import Result
    from arrowroot_lab.store import Filter, Store

_DATE = pa.timestamp("ms", tz="UTC")
#: Rows of a batch: results, or the samples or counters of so many.
_N_RESULTS = 1000
_SUMMARY = {
    field.name: _DATE
    if field.name.endswith("_at")
    else pa.int64()
    if "int" in str(field.type)
    else pa.string()
    for field in fields(Summary)
}
_LABELS = {"uuid": pa.string(), "created_at": _DATE, **dict.fromkeys(AXES, pa.string())}
_SAMPLE = {
    "place": pa.int64(),
    "turn": pa.int64(),
    "started_at": _DATE,
    "outcome": pa.string(),
    "reason": pa.string(),
    "is_counted": pa.bool_(),
    "wall_ns": pa.int64(),
    "cpu_ns": pa.int64(),
    "peak_rss_bytes": pa.int64(),
    "control_before_ns": pa.int64(),
    "control_after_ns": pa.int64(),
}
_COUNTER = {
    "uuid": pa.string(),
    "place": pa.int64(),
    "layer": pa.string(),
    "name": pa.string(),
    "value": pa.int64(),
}


def schema(store: Store, name: str) -> pa.Schema:
    """Return the columns of a table: results, samples (with the counters, as ``store.n_reads``), or counters."""
    if name == "results":
        return pa.schema(_SUMMARY)
    if name == "counters":
        return pa.schema(_COUNTER)
    counters = {f"{layer}.{counter}": pa.int64() for layer, counter in store.counter_names()}
    return pa.schema({**_LABELS, **_SAMPLE, **counters})


def batches(store: Store, where: Filter | None, name: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table, newest results first, in batches: memory does not grow with the store."""
    columns, rows_of = schema(store, name), TABLES[name]
    rows: list[dict[str, Any]] = []
    for place, result in enumerate(store.results(where), 1):
        rows += rows_of(result)
        if place % _N_RESULTS == 0:
            yield pa.RecordBatch.from_pylist(rows, columns)
            rows = []
    yield pa.RecordBatch.from_pylist(rows, columns)


def flat_table(store: Store, where: Filter | None, name: str) -> pa.Table:
    """Return a whole table."""
    return pa.Table.from_batches(batches(store, where, name), schema(store, name))


def _results(result: Result) -> list[dict[str, Any]]:
    return [_dated(asdict(summary_of(result)))]


def _samples(result: Result) -> list[dict[str, Any]]:
    summary = summary_of(result)
    labels = {key: getattr(summary, key) for key in _LABELS}
    rows = []
    for place, sample in enumerate(result.samples):
        before, after = sample.control_ns or (None, None)
        told = {key: getattr(sample, key, None) for key in _SAMPLE}
        told |= {
            "place": place,
            "outcome": sample.outcome.value,
            "is_counted": sample.is_counted(),
            "control_before_ns": before,
            "control_after_ns": after,
        }
        counters = {
            f"{layer}.{name}": value
            for layer, metrics in sample.counters.items()
            for name, value in metrics.items()
        }
        rows.append(_dated({**labels, **told, **counters}))
    return rows


def _counters(result: Result) -> list[dict[str, Any]]:
    return [
        {"uuid": result.uuid, "place": place, "layer": layer, "name": name, "value": value}
        for place, sample in enumerate(result.samples)
        for layer, metrics in sample.counters.items()
        for name, value in metrics.items()
    ]


def _dated(row: dict[str, Any]) -> dict[str, Any]:
    dates = {key: value for key, value in row.items() if key.endswith("_at") and value is not None}
    return {
        **row,
        **{key: datetime.fromisoformat(value.replace("Z", "+00:00")) for key, value in dates.items()},
    }


#: name -> its rows of one result.
TABLES: dict[str, Callable[[Result], list[dict[str, Any]]]] = {
    "results": _results,
    "samples": _samples,
    "counters": _counters,
}
