"""Records of numbers as NumPy's structured arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from arrowroot._arrow import arrays

if TYPE_CHECKING:
    import numpy.typing as npt


def dtype_of(kind: pa.DataType) -> np.dtype[Any] | None:
    """Return NumPy's type for numbers, arrays of fixed shape and records of such; None for all else.

    It has none for records without members, or with some that have the same name, or none.
    """
    if arrays.is_number(kind):
        return arrays.dtype_of(kind)
    if pa.types.is_fixed_size_list(kind):
        inner = dtype_of(kind.value_type)
        if inner is None:
            return None
        base, shape = inner.subdtype or (inner, ())
        return np.dtype((base, (kind.list_size, *shape)))
    if not pa.types.is_struct(kind):
        return None
    members: dict[str, np.dtype[Any]] = {}
    for i in range(kind.num_fields):
        # Not "None in": NumPy takes None for float64, which is equal to it.
        inner = dtype_of(kind.field(i).type)
        if inner is None:
            return None
        members[kind.field(i).name] = inner
    if len(members) < max(1, kind.num_fields) or "" in members:
        return None
    return np.dtype(list(members.items()))


def to_numpy(array: pa.Array) -> npt.NDArray[Any]:
    """Return what :func:`dtype_of` has a type for, one element or row for each entry; records are copied.

    A masked array if something is null.
    """
    values, mask = _parts(array)
    return values if mask is None else cast("npt.NDArray[Any]", np.ma.masked_array(values, mask=mask))


def _parts(array: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Return the values and their mask as ``numpy.ma`` has it, None if nothing is null."""
    kind, n, valid = array.type, len(array), arrays.validity(array)
    mask: npt.NDArray[Any] | None = None
    if arrays.is_number(kind):
        return arrays.without_nulls(array, valid), None if valid is None else ~valid
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        values, mask = _parts(array.values.slice(array.offset * size, n * size))
        values = values.reshape(n, size, *values.shape[1:])
        mask = None if mask is None else mask.reshape(values.shape)
    else:
        values = np.zeros(n, dtype_of(kind))
        for i, name in enumerate(values.dtype.names or ()):
            values[name], inner = _parts(array.field(i))
            if inner is not None:
                mask = np.zeros(n, np.ma.make_mask_descr(values.dtype)) if mask is None else mask
                mask[name] = inner
    if valid is not None:
        mask = np.zeros(values.shape, np.ma.make_mask_descr(values.dtype)) if mask is None else mask
        mask[~valid] = True
    return values, mask
