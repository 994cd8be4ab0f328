"""From Arrow to the libraries that people work with; each is imported when asked for."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from arrowroot._arrow.chunks import may_be_too_long, with_64_bits
from arrowroot._arrow.masks import is_masked
from arrowroot._errors import UnsupportedError, missing_library, warn_recorded_schema
from arrowroot._render import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    import awkward as ak
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import polars as pl
    import pyarrow as pa


#: Options of pyarrow that say what integers become when some are null.
_TYPE_OPTIONS = {"types_mapper", "integer_object_nulls"}


@contextmanager
def _naming_column(what: str, table: pa.Table, convert: Callable[[pa.Table], object]) -> Iterator[None]:
    """Name the column in a library's error that says nothing of it. ``convert`` tells which it is, one by one."""
    try:
        yield
    except (ValueError, NotImplementedError, AssertionError) as error:
        for field in table.schema:
            try:
                convert(table.select([field.name]))
            except type(error) as found:
                why = f": {text}" if (text := str(found)) else ""
                raise UnsupportedError(
                    f"{what} cannot hold column {field.name!r} of type {field.type}{why}; leave it out, or take "
                    "to_arrow()"
                ) from error
        raise


def to_pandas(table: pa.Table, **options: Any) -> pd.DataFrame:
    """Return a ``pandas.DataFrame``: see ``Scan.to_pandas``."""
    try:
        import pandas  # noqa: F401, ICN001 - see that it is there
    except ImportError as error:
        raise missing_library("pandas", "to_pandas()") from error
    try:
        return _to_pandas(table, options)
    except Exception as error:  # the metadata of pandas are the file's, and it may raise anything of them
        metadata = dict(table.schema.metadata or {})
        if metadata.pop(b"pandas", None) is None:
            raise
        frame = _to_pandas(table.replace_schema_metadata(metadata), options)
        what = printable(repr(error)[:200])
        warn_recorded_schema(f"to_pandas(): the recorded metadata of pandas are not used: {what}")
        return frame


def _to_pandas(table: pa.Table, options: Mapping[str, Any]) -> pd.DataFrame:
    import pandas as pd

    index = set() if options.get("ignore_metadata") else _of_index(table.schema)
    apart: dict[str, Any] = {}
    for field in table.schema:
        if field.name in index:
            continue
        if _has_union(field.type):
            apart[field.name] = pd.Series(table[field.name].to_pylist(), dtype=object).to_numpy()
        elif field.nullable and not _TYPE_OPTIONS & options.keys() and _is_exact(field.type):
            dtype = pd.api.types.pandas_dtype(_with_null(field.type))
            apart[field.name] = dtype.__from_arrow__(table[field.name])
    plain = table.drop_columns(list(apart))
    with _naming_column("to_pandas()", plain, lambda table: table.to_pandas()):
        frame = plain.to_pandas(**options)
    if apart:
        # A new frame is made: many inserts would fragment the old one.
        names = [name for name in table.column_names if name not in index]
        others = (frame.iloc[:, number] for number in range(frame.shape[1]))
        columns = [apart[name] if name in apart else next(others) for name in names]
        labels = _labels(table.schema, apart, options) if table.schema.pandas_metadata else names
        # No other column may be left to tell the number of rows.
        rows = frame.index if len(apart) < table.num_columns else None
        frame = pd.DataFrame(dict(enumerate(columns)), index=rows, copy=False)
        frame.columns = labels
    if not options.get("ignore_metadata"):
        _set_categories(frame, table.schema, index)
    return cast("pd.DataFrame", frame)


def _set_categories(frame: pd.DataFrame, schema: pa.Schema, index: set[str]) -> None:
    """Give columns the categories that were recorded, in their order, behind them what else came."""
    described = (schema.pandas_metadata or {}).get("columns", ())
    told = {one["field_name"]: (one.get("metadata") or {}).get("categories") for one in described}
    columns = [name for name in schema.names if name not in index]
    for name, categories in told.items():
        if not isinstance(categories, list) or any(isinstance(one, list | dict) for one in categories):
            continue
        values: Any = None
        if index == {name}:
            values = frame.index
        elif name in columns:
            values = frame.iloc[:, columns.index(name)]
        found = getattr(getattr(values, "dtype", None), "categories", None)
        if found is None:
            continue
        others = found[~found.isin(categories)]
        wanted = [*categories, *others]
        if index == {name}:
            frame.index = values.set_categories(wanted)
        else:
            frame.isetitem(columns.index(name), values.cat.set_categories(wanted))


def _of_index(schema: pa.Schema) -> set[str]:
    """Return the columns of which pyarrow makes the index, as the metadata of pandas say."""
    described = (schema.pandas_metadata or {}).get("index_columns", ())
    return {name for name in described if isinstance(name, str)}


def _labels(schema: pa.Schema, apart: Container[str], options: Mapping[str, Any]) -> pd.Index:
    """Return what pyarrow calls the columns: by the metadata of pandas these may be numbers, too."""
    import pyarrow as pa

    plain = [field.with_type(pa.int8()) if field.name in apart else field for field in schema]
    return pa.schema(plain, schema.metadata).empty_table().to_pandas(**options).columns


def to_polars(table: pa.Table) -> pl.DataFrame:
    """Return a ``polars.DataFrame``: see ``Scan.to_polars``."""
    try:
        import polars  # noqa: ICN001 - pl is the module of types
    except ImportError as error:
        raise missing_library("polars", "to_polars()") from error
    if variants := names_of_variants(table.schema):
        raise UnsupportedError(
            f"to_polars(): Polars has no variants; leave out {', '.join(map(repr, variants))}"
        )
    return cast("pl.DataFrame", polars.from_arrow(table))


def to_awkward(table: pa.Table, *, wide_lists: bool = False) -> ak.Array:
    """Return an ``awkward.Array``: see ``Scan.to_awkward``."""
    try:
        import awkward
    except ImportError as error:
        raise missing_library("awkward", "to_awkward()") from error
    import pyarrow as pa

    named = [field for field in table.schema if _has_names(field)]
    for index, field in enumerate(table.schema):
        chunks = table.column(index).chunks or [pa.nulls(0, field.type)]
        plain = [_without_maps(_without_offset(chunk)) for chunk in chunks]
        if wide_lists or may_be_too_long(table.column(index)):
            # Awkward joins the chunks.
            plain = [_numbered_by_64_bits(chunk) for chunk in plain]
        if any(new is not old for new, old in zip(plain, chunks, strict=True)):
            column = pa.chunked_array(plain)
            table = table.set_column(index, field.with_type(column.type), column)
    with _naming_column("to_awkward()", table, awkward.from_arrow):
        found = awkward.from_arrow(table)
    for field in named:
        column = awkward.Array(_with_names(found[field.name].layout, field))
        found = awkward.with_field(found, column, field.name)
    return found


def _has_names(field: pa.Field) -> bool:
    """Return whether a field, or one inside of it, is of records that have a name."""
    from arrowroot._arrow.vectors import RECORD

    kind = field.type
    return RECORD in (field.metadata or {}) or any(_has_names(kind.field(i)) for i in range(kind.num_fields))


def _with_names(layout: ak.contents.Content, field: pa.Field) -> ak.contents.Content:
    """Return a column whose records have the names, by which Awkward finds their behaviours, that a field tells."""
    import awkward

    from arrowroot._arrow.vectors import RECORD

    if layout.is_record:
        name = (field.metadata or {}).get(RECORD)
        return awkward.contents.RecordArray(
            [_with_names(layout.content(one.name), one) for one in field.type],
            layout.fields,
            length=layout.length,
            parameters=layout.parameters if name is None else {"__record__": name.decode("utf-8", "replace")},
        )
    if layout.is_option or layout.is_indexed:
        return layout.copy(content=_with_names(layout.content, field))
    if layout.is_list and field.type.num_fields:  # a text is a list without a field
        return layout.copy(content=_with_names(layout.content, field.type.field(0)))
    return layout


def to_numpy(table: pa.Table) -> dict[str, npt.NDArray[Any]]:
    """Return a NumPy array for each column: see ``Scan.to_numpy``."""
    with _naming_column("to_numpy()", table, lambda table: column_to_numpy(table.column(0))):
        return {name: column_to_numpy(table.column(i)) for i, name in enumerate(table.column_names)}


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch of no entries; ``Schema.empty_table`` knows no unions, and imports pandas."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def names_of_variants(schema: pa.Schema) -> list[str]:
    """Return the columns that are variants, or have some inside."""
    return [field.name for field in schema if _has_union(field.type)]


def _with_null(kind: pa.DataType) -> str:
    """Return the name of pandas' type for integers or truth values that may be null."""
    name = str(kind)
    return "boolean" if name == "bool" else name.replace("uint", "UInt").replace("int", "Int")


def _holds(kind: pa.DataType, is_it: Callable[[pa.DataType], bool]) -> bool:
    """Return whether a type is of a kind, or any part of it."""
    return is_it(kind) or any(_holds(kind.field(i).type, is_it) for i in range(kind.num_fields))


def _has_map(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return _holds(kind, pa.types.is_map)


def _has_union(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return _holds(kind, pa.types.is_union)


def _numbered_by_64_bits(array: Any) -> Any:
    kind = with_64_bits(array.type)
    return array if kind.equals(array.type) else array.cast(kind)


def _without_offset(array: Any) -> Any:
    """Return a slice with nulls as an array of its own: Awkward 2.14 takes the nulls of the whole array instead."""
    import pyarrow as pa

    is_slice = array.offset and _has_validity(array)
    return array.take(pa.array(range(len(array)), pa.int64())) if is_slice else array


def _has_validity(array: Any) -> bool:
    """Return whether an array, or one inside of it, says which values are null."""
    import pyarrow as pa

    kind = array.type
    if array.buffers()[0] is not None:
        return True
    if pa.types.is_struct(kind):
        return any(_has_validity(array.field(i)) for i in range(kind.num_fields))
    if pa.types.is_map(kind):
        return _has_validity(array.keys) or _has_validity(array.items)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _has_validity(array.values)
    return False


def _without_maps(array: Any) -> Any:
    """Return an array with each map, wherever it is, as a list of its pairs."""
    import pyarrow as pa

    kind = array.type
    if not _has_map(kind):
        return array
    mask = array.is_null() if array.null_count else None
    if pa.types.is_struct(kind):
        parts = [_without_maps(array.field(i)) for i in range(kind.num_fields)]
        fields = [kind.field(i).with_type(part.type) for i, part in enumerate(parts)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    if pa.types.is_fixed_size_list(kind):
        first = array.offset * kind.list_size
        values = _without_maps(array.values.slice(first, len(array) * kind.list_size))  # noqa: PD011 - not of pandas
        made = pa.list_(kind.value_field.with_type(values.type), kind.list_size)
        return pa.FixedSizeListArray.from_arrays(values, type=made, mask=mask)
    if pa.types.is_map(kind):
        parts = [_without_maps(array.keys), _without_maps(array.items)]
        fields = [
            one.with_type(part.type)
            for one, part in zip((kind.key_field, kind.item_field), parts, strict=True)
        ]
        values = pa.StructArray.from_arrays(parts, fields=fields)
        field = pa.field("item", values.type, nullable=False)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        values = _without_maps(array.values)
        field = kind.value_field.with_type(values.type)
    else:
        return array
    is_large = pa.types.is_large_list(kind)
    # A copy: Arrow takes no mask beside offsets that are a slice.
    offsets = pa.array(array.offsets.to_numpy(), pa.int64() if is_large else pa.int32())
    if is_large:
        return pa.LargeListArray.from_arrays(offsets, values, type=pa.large_list(field), mask=mask)
    return pa.ListArray.from_arrays(offsets, values, type=pa.list_(field), mask=mask)


def column_to_numpy(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Return one column as a NumPy array, one element for each entry."""
    import numpy as np

    arrays = [_to_numpy(chunk) for chunk in column.chunks]
    if len(arrays) == 1:
        return arrays[0]
    if not arrays:
        import pyarrow as pa

        return _to_numpy(pa.nulls(0, column.type))
    concatenate = np.ma.concatenate if any(map(is_masked, arrays)) else np.concatenate
    return cast("npt.NDArray[Any]", concatenate(arrays))


def _is_exact(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_boolean(kind) or pa.types.is_integer(kind))


def _to_numpy(array: pa.Array) -> npt.NDArray[Any]:
    import numpy as np
    import pyarrow as pa

    from arrowroot._arrow import arrays as _arrays
    from arrowroot._arrow import records

    kind = array.type
    if (pa.types.is_struct(kind) or pa.types.is_fixed_size_list(kind)) and records.dtype_of(kind) is not None:
        return records.to_numpy(array)
    if pa.types.is_fixed_size_list(kind) and not array.null_count:
        values = _to_numpy(array.flatten())
        return values.reshape(len(array), kind.list_size, *values.shape[1:])
    if (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and not array.null_count:
        return _lists(array)
    if _has_union(kind):
        return _objects(array)
    if _arrays.is_number(kind):
        valid = _arrays.validity(array)
        values = _arrays.without_nulls(array, valid)
        return values if valid is None else np.ma.masked_array(values, mask=~valid)
    return cast("npt.NDArray[Any]", array.to_numpy(zero_copy_only=False))


def _objects(array: pa.Array) -> npt.NDArray[np.object_]:
    import numpy as np

    objects = np.empty(len(array), dtype=object)
    for index, value in enumerate(array.to_pylist()):
        objects[index] = value
    return objects


def _lists(array: pa.ListArray[Any]) -> npt.NDArray[np.object_]:
    import numpy as np

    from arrowroot._arrow import arrays as _arrays

    # flatten() and offsets of a slice: the first are cut to it, the second still count from the parent's
    # start.
    values = _to_numpy(array.flatten())
    offsets = _arrays.to_numpy(array.offsets)
    bounds = (offsets - offsets[0]).tolist() if len(offsets) else []
    lists = np.empty(len(array), dtype=object)
    for i in range(len(array)):
        lists[i] = values[bounds[i] : bounds[i + 1]]
    return lists
