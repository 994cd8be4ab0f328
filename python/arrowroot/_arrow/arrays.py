"""Between Arrow and NumPy, by their memory.

pyarrow's own ways (``to_numpy``, ``pyarrow.array``, ``pyarrow.scalar``) import pandas where it is installed, which
takes a tenth of a second that nobody asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import numpy.typing as npt

_DTYPES: dict[str, np.dtype[Any]] = {
    **{f"{sign}int{bits}": np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "halffloat": np.dtype("float16"),
    "float": np.dtype("float32"),
    "double": np.dtype("float64"),
}


def is_number(kind: pa.DataType) -> bool:
    """Return whether the values are numbers or bools, which NumPy has types for."""
    return pa.types.is_boolean(kind) or str(kind) in _DTYPES


def dtype_of(kind: pa.DataType) -> np.dtype[Any]:
    """Return NumPy's type for numbers or bools."""
    return np.dtype(np.bool_) if pa.types.is_boolean(kind) else _DTYPES[str(kind)]


def to_numpy(array: pa.Array) -> npt.NDArray[Any]:
    """Return numbers or bools; only bools are copied. The values in the place of nulls are arbitrary."""
    is_bits = pa.types.is_boolean(array.type)
    dtype = dtype_of(array.type)
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(len(array), dtype)
    if is_bits:
        first, skipped = divmod(array.offset, 8)
        packed = np.frombuffer(buffer, np.uint8, -(-(skipped + len(array)) // 8), first)
        return np.unpackbits(packed, bitorder="little", count=skipped + len(array))[skipped:].view(np.bool_)
    values = np.frombuffer(buffer, dtype, len(array), array.offset * dtype.itemsize)
    values.flags.writeable = False  # what Arrow holds does not change
    return values


def validity(array: pa.Array) -> npt.NDArray[np.bool_] | None:
    """Return a mask of the values that are not null; None: none is null."""
    return to_numpy(array.is_valid()) if array.null_count else None


def without_nulls(array: pa.Array, valid: npt.NDArray[np.bool_] | None) -> npt.NDArray[Any]:
    """Return numbers or bools, 0 or False for null. ``valid``: of :func:`validity`."""
    values = to_numpy(array)
    return values if valid is None else np.where(valid, values, values.dtype.type(0))


def to_arrow(values: npt.NDArray[np.int64]) -> pa.Array:
    """Return integers of 64 bits as an Arrow array, without a copy where they are contiguous."""
    return of_numpy(np.asarray(values, np.int64))


def of_numpy(values: npt.NDArray[Any], valid: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers or bools as an Arrow array, numbers without a copy where they are contiguous.

    valid: which of them are not null; None: all.
    """
    is_bits = values.dtype.kind == "b"
    kind = pa.bool_() if is_bits else pa.type_for_alias(values.dtype.name)
    contiguous = np.packbits(values, bitorder="little") if is_bits else np.ascontiguousarray(values)
    mask = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [mask, pa.py_buffer(contiguous)])
