"""Columns in several chunks, where one would be too long: Arrow numbers what is in lists and texts by 32 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from arrowroot._errors import BatchTooLongError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

#: The most items of a list column, or bytes of a text column, in one array.
_MAX_ITEMS = 2**31 - 1
#: The most items in a byte: truth values.
_ITEMS_PER_BYTE = 8


def needs_chunks(error: Exception) -> bool:
    """Return whether an error says that a batch would be too long: several batches will do."""
    import pyarrow as pa

    # pyarrow has no error of its own for arrays that together are too long for one.
    return isinstance(error, BatchTooLongError) or (
        isinstance(error, pa.ArrowInvalid) and "overflow" in str(error)
    )


def may_be_too_long(values: pa.Table | pa.ChunkedArray) -> bool:
    """Return whether several chunks might have too many items to be made one."""
    n_chunks = (
        values.num_chunks if hasattr(values, "num_chunks") else max(map(_n_chunks, values.columns), default=0)
    )
    return bool(n_chunks > 1 and values.nbytes * _ITEMS_PER_BYTE > _MAX_ITEMS)


def _n_chunks(column: pa.ChunkedArray) -> int:
    return cast("int", column.num_chunks)


def with_64_bits(kind: pa.DataType) -> pa.DataType:
    """Return a type whose lists and texts, however deep, number what is in them by 64 bits; variants stay."""
    import pyarrow as pa

    is_of = pa.types
    if is_of.is_string(kind):
        return pa.large_string()
    if is_of.is_binary(kind):
        return pa.large_binary()
    if is_of.is_list(kind):
        return pa.large_list(kind.value_field.with_type(with_64_bits(kind.value_type)))
    if is_of.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(with_64_bits(kind.value_type)), kind.list_size)
    if is_of.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return pa.struct([field.with_type(with_64_bits(field.type)) for field in fields])
    return kind


def taken(table: pa.Table, indices: npt.NDArray[np.int64], n_at_once: int) -> Iterator[pa.RecordBatch]:
    """Yield rows by their indices, in batches of at most ``n_at_once``.

    ``Table.take`` would make each column one array before. Costs a pass over the chunks for every batch.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    batches = table.to_batches()
    starts = np.cumsum([0, *(batch.num_rows for batch in batches)])
    for first in range(0, len(indices), n_at_once):
        here = indices[first : first + n_at_once]
        owner = np.searchsorted(starts, here, side="right") - 1
        by_batch = np.argsort(owner, kind="stable")
        parts = [
            pc.take(batches[i], pa.array(here[by_batch][owner[by_batch] == i] - starts[i]))
            for i in np.unique(owner).tolist()
        ]
        order = np.empty(len(here), dtype=np.int64)
        order[by_batch] = np.arange(len(here))
        (joined,) = pa.Table.from_batches(parts).combine_chunks().to_batches()
        yield pc.take(joined, pa.array(order))
