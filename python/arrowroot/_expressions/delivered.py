"""Computed values as Arrow columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from arrowroot._arrow import arrays
from arrowroot._errors import BatchTooLongError
from arrowroot._expressions.lists import Array, Items, Level, Problem, row_of

#: Arrow numbers the items of a list column by 32 bits.
_MAX_ITEMS = 2**31 - 1


def to_arrow(of: Items, n_rows: int, kind: pa.DataType | None = None) -> pa.Array:
    """Return the values of all rows as an Arrow array.

    kind: the type of the column, if it is known; integers are of 64 bits with a sign or without.

    Raises: Problem for integers that do not fit; BatchTooLongError for more items than a list column has.
    """
    if isinstance(of.data, str):
        return pa.nulls(n_rows, pa.string()).fill_null(of.data)
    data, valid = of.data, of.valid
    if kind is not None and isinstance(data, np.ndarray):
        data = _as_kind(data, kind, of.levels)
    if of.is_constant:
        data = np.broadcast_to(data, (n_rows,))
        valid = None if valid is None else np.broadcast_to(valid, (n_rows,))
    if isinstance(data, pa.Array):
        found = data
        if valid is not None:
            found = data.take(arrays.of_numpy(np.arange(len(data)), valid))
    elif data.dtype.kind == "O":
        raise Problem("some of the integers need a sign, and others 64 bits: write 1.0 * x for doubles")
    else:
        found = arrays.of_numpy(data, valid)
    may_lack: list[bool] = []
    while kind is not None and pa.types.is_list(kind):
        may_lack.append(kind.value_field.nullable)
        kind = kind.value_type
    for level, is_nullable in zip(
        reversed(of.levels), reversed(may_lack or [True] * len(of.levels)), strict=True
    ):
        found = _list(level, found, is_nullable=is_nullable)
    return found


def _list(level: Level, items: pa.Array, *, is_nullable: bool) -> pa.Array:
    if len(items) > _MAX_ITEMS:
        raise BatchTooLongError("a list column of more than 2^31 - 1 items")
    ends = arrays.of_numpy(level.ends.astype(np.int32))
    valid = None if level.valid is None else pa.py_buffer(np.packbits(level.valid, bitorder="little"))
    kind = pa.list_(pa.field("item", items.type, is_nullable))
    return pa.Array.from_buffers(kind, len(ends) - 1, [valid, ends.buffers()[1]], children=[items])


def _as_kind(data: Array, kind: pa.DataType, levels: tuple[Level, ...]) -> Array:
    """Return numbers in the type that a column has in all batches."""
    while pa.types.is_list(kind):
        kind = kind.value_type
    dtype = arrays.dtype_of(kind)
    if data.dtype.kind in "iuO" and dtype.kind in "iu" and data.dtype != dtype and data.size:
        limits = np.iinfo(dtype)
        if int(data.min()) < limits.min or int(data.max()) > limits.max:
            is_wrong = np.asarray((data < limits.min) | (data > limits.max), dtype=np.bool_)
            raise Problem(
                f"an integer does not fit into {dtype.name}, the type of the column: compute doubles, by 1.0 * x, or "
                "x * 2.0 ** n for a shift",
                row_of(is_wrong, levels),
            )
    return data.astype(dtype, copy=False)
