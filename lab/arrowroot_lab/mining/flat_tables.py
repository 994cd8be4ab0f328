"""Results, samples and counters as Arrow tables: what is exported, and what notebooks get."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from arrowroot_lab.documents import in_utc
from arrowroot_lab.store import Summary

from .results import AXES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arrowroot_lab.store import Filter, Store

_DATE = pa.timestamp("ms", tz="UTC")
#: Results of a batch.
_BATCH = 1000
TABLES = ("results", "samples", "counters")
_SUMMARY = {
    field.name: _DATE
    if field.name.endswith("_at")
    else pa.int64()
    if "int" in str(field.type)
    else pa.float64()
    if "float" in str(field.type)
    else pa.string()
    for field in fields(Summary)
}
_LABELS = {
    "uuid": pa.string(),
    "created_at": _DATE,
    **dict.fromkeys((*AXES, "storage_kind", "cpu_model"), pa.string()),
}
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
    **dict.fromkeys(("peak_virtual_bytes", "user_ns", "system_ns", "queued_ns"), pa.int64()),
    "n_entries": pa.int64(),
    "control_before_ns": pa.int64(),
    "control_after_ns": pa.int64(),
    "trace": pa.string(),
    "load_1_minute": pa.float64(),
    "network_bytes_per_s": pa.int64(),
    "round_trip_ns": pa.int64(),
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


def batches(store: Store, keys: Sequence[int], name: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table of some results, as ``Store.keys`` has them, in batches.

    Memory does not grow with their number, but for the keys.
    """
    columns = schema(store, name)
    n_own = len(columns) if name != "samples" else len(_LABELS) + len(_SAMPLE)
    own = [field.name for field in columns][:n_own]
    is_empty = True
    for start in range(0, len(keys), _BATCH):
        some = keys[start : start + _BATCH]
        rows = store.flat(name, own, some)
        values = list(zip(*rows, strict=True)) if rows else [()] * n_own
        arrays = [_array(told, field.type) for told, field in zip(values, columns, strict=False)]
        if n_own < len(columns):
            arrays += _pivoted(store, some, rows, [field.name for field in columns][n_own:])
        yield pa.RecordBatch.from_arrays(arrays, schema=columns)
        is_empty = False
    if is_empty:
        yield pa.RecordBatch.from_pylist([], columns)


def flat_table(store: Store, where: Filter | None, name: str) -> pa.Table:
    """Return a whole table."""
    return pa.Table.from_batches(batches(store, store.keys(where), name), schema(store, name))


def _pivoted(store: Store, keys: Sequence[int], rows: Sequence[Any], names: Sequence[str]) -> list[pa.Array]:
    """The counters of samples, a column for each."""
    places = {(row.uuid, row.place): number for number, row in enumerate(rows)}
    values: dict[str, list[int | None]] = {name: [None] * len(rows) for name in names}
    for uuid, place, layer, name, value in map(tuple, store.flat("counters", list(_COUNTER), keys)):
        column, row = values.get(f"{layer}.{name}"), places.get((uuid, place))
        if column is not None and row is not None:  # others may write meanwhile
            column[row] = value
    return [pa.array(told, pa.int64()) for told in values.values()]


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if kind == _DATE:
        return pa.array([None if told is None else in_utc(told) for told in values], pa.string()).cast(_DATE)
    if kind == pa.bool_():
        return pa.array([bool(told) for told in values], kind)
    return pa.array(values, kind)
