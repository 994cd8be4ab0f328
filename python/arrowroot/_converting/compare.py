"""Comparing two tables, bit by bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from arrowroot._arrow.kinds import fields_of, is_view
from arrowroot._arrow.nulls import is_picked, items_of_maps, present_runs

if TYPE_CHECKING:
    from collections.abc import Iterable


def difference(
    first: tuple[pa.Schema, Iterable[pa.RecordBatch]],
    second: tuple[pa.Schema, Iterable[pa.RecordBatch]],
    *,
    by_name: bool = False,
) -> str | None:
    """Return where the second of two tables differs from the first, None if it does not.

    Types must be the same but for what they say of missing values, values the same bit by bit: a NaN is equal to a NaN.
    by_name: the members of records that both have are compared, in whatever order they are.
    """
    comparison = Comparison(first[0], *second, by_name=by_name)
    if comparison.found is None:
        for batch in first[1]:
            if comparison.add(batch) is not None:
                break
    return comparison.end()


class Comparison:
    """A table that is compared with another one as its batches come."""

    def __init__(
        self,
        schema: pa.Schema,
        other: pa.Schema,
        batches: Iterable[pa.RecordBatch],
        *,
        by_name: bool = False,
    ) -> None:
        """``other``, ``batches``: the table that is compared with it."""
        self.names = schema.names
        self._batches = iter(batches)
        #: Entries of the other table that were drawn and not compared.
        self._held: pa.RecordBatch | None = None
        self._n_entries = 0
        #: Where the other one differs; None: nowhere so far.
        self.found = _of_schemas(schema, other, by_name=by_name)

    def add(self, batch: pa.RecordBatch) -> str | None:
        """Compare more entries; return the first difference, None if there is none so far."""
        while self.found is None and batch.num_rows:
            held = self._next()
            if held is None:
                self.found = f"it has fewer entries than {self._n_entries + batch.num_rows}"
                break
            n = min(batch.num_rows, held.num_rows)
            self._compare(batch.slice(0, n), held.slice(0, n))
            self._n_entries += n
            batch, self._held = batch.slice(n), held.slice(n)
        return self.found

    def end(self) -> str | None:
        """Return the first difference, once all entries were compared."""
        if self.found is None and self._next() is not None:
            self.found = f"it has more entries than {self._n_entries}"
        return self.found

    def _next(self) -> pa.RecordBatch | None:
        while self._held is None or not self._held.num_rows:
            self._held = next(self._batches, None)
            if self._held is None:
                return None
        return self._held

    def _compare(self, one: pa.RecordBatch, two: pa.RecordBatch) -> None:
        for name, a, b in zip(self.names, one.columns, two.columns, strict=True):
            if not same(a, b):
                index = next(i for i in range(len(a)) if not same(a.slice(i, 1), b.slice(i, 1)))
                self.found = f"column {name!r}, entry {self._n_entries + index}: {b[index]}, not {a[index]}"
                return


def _of_schemas(schema: pa.Schema, other: pa.Schema, *, by_name: bool) -> str | None:
    """Return how the columns of another table differ; None if they do not."""
    if schema.names != other.names:
        lost = [name for name in schema.names if name not in other.names]
        more = [name for name in other.names if name not in schema.names]
        return (
            f"other columns: without {lost}, with {more}"
            if lost or more
            else "its columns are in another order"
        )
    for name, kind, found in zip(schema.names, schema.types, other.types, strict=True):
        is_same = _is_alike(kind, found) if by_name else _plain(kind) == _plain(found)
        if not is_same:
            return f"column {name!r} is {found}, not {kind}"
    return None


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
    if is_of.is_list_view(kind):
        return pa.list_view(_plain(kind.value_type))
    if is_of.is_large_list_view(kind):
        return pa.large_list_view(_plain(kind.value_type))
    if is_of.is_large_list(kind):
        return pa.large_list(_plain(kind.value_type))
    return pa.list_(_plain(kind.value_type)) if is_of.is_list(kind) else kind


def _is_alike(kind: pa.DataType, found: pa.DataType) -> bool:
    """Return whether types are the same but for members that one record has alone, and their order."""
    inner, others = fields_of(kind), fields_of(found)
    if pa.types.is_struct(kind) and pa.types.is_struct(found):
        by_name = {field.name: field.type for field in others}
        return all(_is_alike(one.type, by_name[one.name]) for one in inner if one.name in by_name)
    if not inner or (kind.id, getattr(kind, "list_size", 0)) != (found.id, getattr(found, "list_size", 0)):
        return bool(_plain(kind) == _plain(found))
    return all(_is_alike(one.type, of.type) for one, of in zip(inner, others, strict=True))


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
        names = [kind.field(i).name for i in range(kind.num_fields)]
        others = [b.type.field(i).name for i in range(b.type.num_fields)]
        if names != others:
            return all(same(a.field(name), b.field(name)) for name in names if name in others)
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
