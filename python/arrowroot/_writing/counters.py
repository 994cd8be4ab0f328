"""Which columns of lists share a counter in a tree: those that their names put together, if the data agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt


def counters_of(schema: pa.Schema, sample: pa.Table) -> list[str | None]:
    """Return the name of the counter of each column, None for one of its own.

    The lists of ``Muon_pt`` and ``Muon_eta`` are counted by ``nMuon``, and those of ``x`` by ``nx``, if that is a
    column of integers with the same values; without such a column several lists whose names begin alike share it, if
    some are not empty and all are of the same lengths.

    sample: entries from which that is told. A later list of another length is an error of the engine.
    """
    lists = [field.name for field in schema if _is_counted(field)]
    lengths = {name: _lengths(sample.column(name)) for name in lists}
    integers = {field.name for field in schema if pa.types.is_integer(field.type) and not field.nullable}
    found: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    for name in lists:
        if f"n{name}" in integers:
            if _has_values(sample.column(f"n{name}"), lengths[name]):
                found[name] = f"n{name}"
        elif "_" in name.strip("_"):
            groups.setdefault(name.partition("_")[0] or name, []).append(name)
    for prefix, names in groups.items():
        counter, first = f"n{prefix}", lengths[names[0]]
        if counter in schema.names:
            if counter in integers:
                column = sample.column(counter)
                found |= {name: counter for name in names if _has_values(column, lengths[name])}
        elif len(names) > 1 and first.any():
            # What differs from most has a counter of its own.
            alike = [name for name in names if np.array_equal(lengths[name], first)]
            found |= dict.fromkeys(alike, counter) if len(alike) > 1 else {}
    return [found.get(name) for name in schema.names]


def _is_counted(field: pa.Field) -> bool:
    """Return whether a tree stores a column as arrays of a counted length: lists of numbers, or of records."""
    kind = field.type
    if field.nullable or not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return False
    item = kind.value_type
    while pa.types.is_fixed_size_list(item):
        item = item.value_type
    return bool(pa.types.is_primitive(item) or pa.types.is_struct(item)) and not pa.types.is_null(item)


def _lengths(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    parts: Sequence[npt.NDArray[np.int64]] = [_lengths_of(chunk) for chunk in column.chunks]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _lengths_of(lists: pa.Array) -> npt.NDArray[np.int64]:
    if pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type):
        lengths: npt.NDArray[np.int64] = np.diff(lists.offsets.to_numpy().astype(np.int64))
        return lengths
    return np.zeros(len(lists), np.int64)


def _has_values(column: pa.ChunkedArray, lengths: npt.NDArray[np.int64]) -> bool:
    values = column.to_numpy()
    return bool(len(values) == len(lengths) and np.array_equal(values, lengths))
