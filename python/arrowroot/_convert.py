"""From Arrow to the libraries that people work with; each is imported when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from arrowroot._errors import missing_library

if TYPE_CHECKING:
    import awkward as ak
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import polars as pl
    import pyarrow as pa


class Conversions:
    """The ``to_*`` methods of everything that can become a pyarrow table."""

    def to_pyarrow(self) -> pa.Table:
        """Return the data as a ``pyarrow.Table``."""
        raise NotImplementedError

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """Return a ``pandas.DataFrame``; ``options`` are those of ``pyarrow.Table.to_pandas``.

        Lists become objects (NumPy arrays). To keep Arrow's types, and copy nothing, give
        ``types_mapper=pandas.ArrowDtype``.
        """
        try:
            import pandas  # noqa: F401, ICN001, PLC0415
        except ImportError as error:
            raise missing_library("pandas", "to_pandas()") from error
        return cast("pd.DataFrame", self.to_pyarrow().to_pandas(**options))

    def to_polars(self) -> pl.DataFrame:
        """Return a ``polars.DataFrame``, without a copy where Polars can."""
        try:
            import polars  # noqa: ICN001, PLC0415
        except ImportError as error:
            raise missing_library("polars", "to_polars()") from error
        return cast("pl.DataFrame", polars.from_arrow(self.to_pyarrow()))

    def to_awkward(self) -> ak.Array:
        """Return an ``awkward.Array`` of records, one for each entry; lists of numbers are not copied.

        Awkward has no maps: they become lists of records of key and value.
        """
        try:
            import awkward  # noqa: PLC0415
        except ImportError as error:
            raise missing_library("awkward", "to_awkward()") from error
        table = self.to_pyarrow()
        fields = [field.with_type(_without_maps(field.type)) for field in table.schema]
        if any(field.type != old.type for field, old in zip(fields, table.schema, strict=True)):
            table = table.cast(_schema(fields))
        return awkward.from_arrow(table)

    def to_numpy(self) -> dict[str, npt.NDArray[Any]]:
        """Return a NumPy array for each column.

        Numbers and arrays of fixed shape are views of the Arrow buffers where the column is one chunk (shape
        (entries, ...)); booleans are unpacked. Lists become an object array of arrays, text one of ``str``.
        """
        table = self.to_pyarrow()
        return {name: column_to_numpy(table.column(i)) for i, name in enumerate(table.column_names)}


def _schema(fields: list[pa.Field]) -> pa.Schema:
    import pyarrow as pa  # noqa: PLC0415 - not needed to import arrowroot

    return pa.schema(fields)


def _without_maps(kind: pa.DataType) -> pa.DataType:
    """Return the type with each map, wherever it is, as a list of its pairs."""
    import pyarrow as pa  # noqa: PLC0415 - not needed to import arrowroot

    def inner(field: pa.Field) -> pa.Field:
        return field.with_type(_without_maps(field.type))

    if pa.types.is_map(kind):
        pair = pa.struct([inner(kind.key_field), inner(kind.item_field)])
        return pa.list_(pa.field("item", pair, nullable=False))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(inner(kind.value_field), kind.list_size)
    if pa.types.is_list(kind):
        return pa.list_(inner(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(inner(kind.value_field))
    if pa.types.is_struct(kind):
        return pa.struct([inner(kind.field(i)) for i in range(kind.num_fields)])
    return kind


def column_to_numpy(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Return one column as a NumPy array, one element for each entry."""
    import numpy as np  # noqa: PLC0415 - not needed to import arrowroot

    arrays = [_to_numpy(chunk) for chunk in column.chunks]
    if len(arrays) == 1:
        return arrays[0]
    if not arrays:
        import pyarrow as pa  # noqa: PLC0415 - not needed to import arrowroot

        return _to_numpy(pa.array([], type=column.type))
    return np.concatenate(arrays)


def _to_numpy(array: pa.Array) -> npt.NDArray[Any]:
    import pyarrow as pa  # noqa: PLC0415 - not needed to import arrowroot

    kind = array.type
    if pa.types.is_fixed_size_list(kind) and not array.null_count:
        values = _to_numpy(array.flatten())
        return values.reshape(len(array), kind.list_size, *values.shape[1:])
    if (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and not array.null_count:
        return _lists(array)
    return cast("npt.NDArray[Any]", array.to_numpy(zero_copy_only=False))


def _lists(array: pa.ListArray[Any]) -> npt.NDArray[np.object_]:
    import numpy as np  # noqa: PLC0415 - not needed to import arrowroot

    # flatten() and offsets of a slice: the first are cut to it, the second still count from the parent's
    # start.
    values = _to_numpy(array.flatten())
    offsets = array.offsets.to_numpy()
    bounds = (offsets - offsets[0]).tolist() if len(offsets) else []
    lists = np.empty(len(array), dtype=object)
    for i in range(len(array)):
        lists[i] = values[bounds[i] : bounds[i + 1]]
    return lists
