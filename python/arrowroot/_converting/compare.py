"""Comparing two tables, bit by bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from arrowroot._arrow.kinds import fields_of, is_view
from arrowroot._arrow.nulls import is_picked, items_of_maps, present_runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def difference(
    first: tuple[pa.Schema, Iterable[pa.RecordBatch]], second: tuple[pa.Schema, Iterable[pa.RecordBatch]]
) -> str | None:
    """Return where the second of two tables differs from the first, None if it does not.

    Types must be the same but for what they say of missing values, values the same bit by bit: a NaN is equal to a NaN.
    """
    schema, other = first[0], second[0]
    if schema.names != other.names:
        lost = [name for name in schema.names if name not in other.names]
        more = [name for name in other.names if name not in schema.names]
        return (
            f"other columns: without {lost}, with {more}"
            if lost or more
            else "its columns are in another order"
        )
    for name, kind, found in zip(schema.names, schema.types, other.types, strict=True):
        if _plain(kind) != _plain(found):
            return f"column {name!r} is {found}, not {kind}"
    n_entries = 0
    for one, two in _aligned(first[1], second[1]):
        if one is None or two is None:
            return f"it has {'more' if one is None else 'fewer'} entries than {n_entries}"
        for name, a, b in zip(schema.names, one.columns, two.columns, strict=True):
            if not same(a, b):
                index = next(i for i in range(len(a)) if not same(a.slice(i, 1), b.slice(i, 1)))
                return f"column {name!r}, entry {n_entries + index}: {b[index]}, not {a[index]}"
        n_entries += one.num_rows
    return None


def _aligned(
    first: Iterable[pa.RecordBatch], second: Iterable[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch | None, pa.RecordBatch | None]]:
    """Yield pieces of two tables with the same entries; None where one of them has no more."""
    sides = (iter(first), iter(second))
    have: list[pa.RecordBatch | None] = [None, None]
    while True:
        for side, batches in enumerate(sides):
            held = have[side]
            while held is None or not held.num_rows:
                held = next(batches, None)
                if held is None:
                    break
            have[side] = held
        one, two = have
        if one is None or two is None:
            if one is not two:
                yield one, two
            return
        n = min(one.num_rows, two.num_rows)
        yield one.slice(0, n), two.slice(0, n)
        have = [one.slice(n), two.slice(n)]


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return a type without what it says of missing values, and without metadata."""
    is_of = pa.types
    if is_of.is_struct(kind):
        return pa.struct(
            [pa.field(f.name, _plain(f.type)) for f in (kind.field(i) for i in range(kind.num_fields))]
        )
    if is_of.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    if is_of.is_fixed_size_list(kind):
        return pa.list_(_plain(kind.value_type), kind.list_size)
    if is_of.is_large_list(kind):
        return pa.large_list(_plain(kind.value_type))
    return pa.list_(_plain(kind.value_type)) if is_of.is_list(kind) else kind


def same(a: Any, b: Any) -> bool:
    """Return whether two arrays of like types have the same values, bit by bit."""
    a, b = _decoded(a), _decoded(b)
    if len(a) != len(b) or a.null_count != b.null_count:
        return False
    is_of, kind = pa.types, a.type
    if a.null_count and (is_of.is_floating(kind) or fields_of(kind, has_views=True)):
        valid = a.is_valid()
        if not valid.equals(b.is_valid()):
            return False
        if not is_picked(kind):
            return all(same(a.slice(first, n), b.slice(first, n)) for first, n in present_runs(a))
        a, b = a.filter(valid), b.filter(valid)
    if is_of.is_floating(kind):
        whole = {16: np.uint16, 32: np.uint32, 64: np.uint64}[kind.bit_width]
        left, right = (array.to_numpy(zero_copy_only=False) for array in (a, b))
        return bool(np.array_equal(left.view(whole), right.view(whole)))
    if is_of.is_struct(kind):
        return all(same(a.field(i), b.field(i)) for i in range(kind.num_fields))
    if is_of.is_map(kind):
        lengths = [np.diff(maps.offsets.to_numpy()) for maps in (a, b)]
        pairs = zip(items_of_maps(a), items_of_maps(b), strict=True)
        return bool(np.array_equal(*lengths)) and all(same(one, other) for one, other in pairs)
    if is_of.is_list(kind) or is_of.is_large_list(kind):
        return bool(a.value_lengths().equals(b.value_lengths())) and same(a.flatten(), b.flatten())
    if is_view(kind):
        return bool(a.sizes.equals(b.sizes)) and same(a.flatten(), b.flatten())
    if is_of.is_fixed_size_list(kind):
        return same(a.flatten(), b.flatten())
    return bool(a.equals(b))


def _decoded(array: Any) -> Any:
    """Dictionaries and runs as the values that they stand for."""
    if pa.types.is_run_end_encoded(array.type):
        import pyarrow.compute as pc

        return _decoded(pc.run_end_decode(array))
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
