"""NumPy's arrays as columns of a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def plain(values: npt.NDArray[Any]) -> pa.Array:
    """Return one value for each entry."""
    return pa.array(values)


def list_of(offsets: npt.NDArray[np.int32], values: npt.NDArray[Any] | pa.Array) -> pa.Array:
    """Return a list for each entry; the items of entry i are from ``offsets[i]`` to ``offsets[i + 1]``."""
    items = values if isinstance(values, pa.Array) else pa.array(values)
    kind = pa.list_(pa.field("item", items.type, nullable=False))
    return pa.ListArray.from_arrays(pa.array(offsets), items, type=kind)


def nested_list_of(
    offsets: npt.NDArray[np.int32], inner: npt.NDArray[np.int32], values: npt.NDArray[Any]
) -> pa.Array:
    """Return a list of lists for each entry: ``offsets`` count lists, ``inner`` their items."""
    return list_of(offsets, list_of(inner, values))


def batch_of(columns: dict[str, pa.Array]) -> pa.RecordBatch:
    """Return a batch of columns without missing values."""
    fields = [pa.field(name, array.type, nullable=False) for name, array in columns.items()]
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=pa.schema(fields))
