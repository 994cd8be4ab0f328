"""Whatever people have, as Arrow record batches."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pyarrow as pa

from arrowroot import _native
from arrowroot._errors import InvalidRequestError
from arrowroot._render import shown
from arrowroot._writing import frames
from arrowroot._writing.arrays import (
    array_of,
    by_column,
    from_masked,
    from_polars,
    polars_level,
    refuse_unions,
)
from arrowroot._writing.counters import with_counters
from arrowroot._writing.incoming import batch_of, batches_of, batches_taken_in, is_left_to_engine, taken_in
from arrowroot._writing.kept_types import with_types
from arrowroot._writing.naming import naming

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from arrowroot._api.scan import Scan
    from arrowroot._api.tree import Tree
    from arrowroot._writing.frames import FrameIndex

    IsAlike: TypeAlias = Callable[[pa.Schema, bool], bool]
    #: RecordBatch, Table, Arrow C stream or array, mapping of arrays, structured array, frame; or several of those.
    TableData = Any

_EXPECTED = (
    "expected a pyarrow table or batches, an Arrow stream, a dictionary of arrays, an Awkward array, or a frame of "
    "pandas or Polars"
)


class Part(NamedTuple):
    """Some entries: their batches, and what is known of them."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    #: Whether the schema is what the user has, and not what this library made of other types.
    is_arrow: bool = False
    #: All that is in the batches, where it is in memory.
    table: pa.Table | None = None
    #: Columns whose types say exactly what may be null, at every depth.
    exact: frozenset[str] = frozenset()
    #: Columns by their names, nullable where values may be missing: their types say more.
    stored: Mapping[str, pa.Field] = MappingProxyType({})
    #: Columns of libraries whose lists and texts always count by 64 bits: those of the file need not.
    wide: frozenset[str] = frozenset()
    #: True if that is all that was given, in memory.
    is_all: bool = False
    #: What is known of the index, if it was a frame of pandas.
    frame_index: FrameIndex | None = None

    def in_table(self, schema: pa.Schema | None, n_entries: int, where: str) -> Part:
        """Return it with the index of a frame as a table has it that has begun; see :func:`frames.in_table`.

        schema: of the table, None if nobody has said it yet. n_entries: those of the table so far.
        """
        if self.frame_index is None or self.table is None or schema is None:
            return self
        table = frames.in_table(self.table, self.frame_index, schema, n_entries, where)
        return self._replace(schema=table.schema, table=table, batches=iter(table.to_batches()))


def n_entries_of(data: TableData) -> int | None:
    """Return how many entries there are; None if nobody knows before they are drawn."""
    given: Any = data
    if _is_of(data, "arrowroot._api.scan", "Scan"):
        n_selected: int | None = given.num_selected
        return n_selected
    if _is_of(data, "arrowroot._api.tree", "Tree"):
        return int(given.num_entries)
    return int(given.num_rows) if isinstance(data, pa.Table | pa.RecordBatch) else None


def parts_of(
    data: TableData, where: str, *, copied: bool = False, is_alike: IsAlike | None = None
) -> Iterator[Part]:
    """Yield what was given, part by part.

    where: what it is for, in messages.
    is_alike: says whether data of a schema, which the user has said or not, go to the engine as they are, and nothing
        is learned of them.
    copied: NumPy arrays, also those inside of what other libraries have, are copied, as they may change before they
        are written.

    Raises: InvalidRequestError for what holds no columns; UnsupportedError for values that Arrow has no type for.
    """
    with naming(where):
        one = _part_of(data, where, copied=copied, is_alike=is_alike)
    if one is not None:
        yield one._replace(is_all=one.table is not None)
        return
    if isinstance(data, str | bytes | os.PathLike):
        raise InvalidRequestError(
            f"{where}: {_EXPECTED}; got {shown(data)}: a path is no data; open it (arrowroot.open(path)[tree], "
            "pyarrow.parquet.read_table(path)), or use the command arrowroot convert"
        )
    if not isinstance(data, Iterable):
        raise InvalidRequestError(f"{where}: {_EXPECTED}; got {_kind_of(data)}")
    if isinstance(data, list | tuple) and any(map(_is_row_or_batch, data)):
        raise InvalidRequestError(
            f"{where}: dictionaries of lists in a list may be rows, of which pa.Table.from_pylist(rows) makes a table, "
            "or batches, whose columns are arrays of NumPy or pyarrow then, or which come from a generator"
        )
    for item in data:
        if isinstance(item, Mapping) and any(map(_is_single, item.values())):
            raise InvalidRequestError(
                f"{where}: {_EXPECTED}; got rows, of which pa.Table.from_pylist(rows) makes a table"
            )
        with naming(where):
            part = _part_of(item, where, copied=copied, is_alike=None)
        if part is None:
            raise InvalidRequestError(
                f"{where}: {_EXPECTED}, or several of those; got {_kind_of(item)} among them"
            )
        yield part


def _is_row_or_batch(item: object) -> bool:
    """Return whether a dictionary is an entry whose members are all lists, or several entries: nobody can tell."""
    return (
        isinstance(item, Mapping)
        and bool(item)
        and all(isinstance(one, list | tuple) for one in item.values())
    )


def _is_single(value: object) -> bool:
    """Return whether a value is one of an entry, and no column."""
    return isinstance(value, str | bytes | Mapping) or not (
        hasattr(value, "__len__") or hasattr(value, "__iter__") or hasattr(value, "__arrow_c_array__")
    )


def is_frame(value: object) -> bool:
    """Return whether a value is a frame of pandas."""
    return _is_of(value, "pandas", "DataFrame")


def is_table_data(value: object) -> bool:
    """Return whether a value is one of the kinds of data that become a table."""
    return (
        isinstance(value, pa.RecordBatch | pa.Table | pa.RecordBatchReader)
        or (isinstance(value, Mapping) and bool(value))
        or _is_of(value, "arrowroot._api.tree", "Tree")
        or _is_dataset(value)
        or hasattr(value, "__arrow_c_stream__")
        or hasattr(value, "__arrow_c_array__")
        or is_frame(value)
        or _is_of(value, "awkward", "Array")
        or (_is_of(value, "numpy", "ndarray") and cast("Any", value).dtype.names is not None)
    )


def _is_dataset(value: object) -> bool:
    return _is_of(value, "pyarrow.dataset", "Dataset") or _is_of(value, "pyarrow.dataset", "Scanner")


def _part_of(data: TableData, where: str, *, copied: bool, is_alike: IsAlike | None) -> Part | None:
    """Return it as a part, None if it is no data."""
    if isinstance(data, pa.RecordBatch):
        return _of_table(pa.Table.from_batches([data]), is_alike, is_arrow=True)
    if isinstance(data, pa.Table):
        return _of_table(data, is_alike, is_arrow=True)
    if isinstance(data, pa.RecordBatchReader):
        return _of_batches(data.schema, data, where)
    if _is_of(data, "arrowroot._api.tree", "Tree"):
        return _of_tree(data)
    if _is_of(data, "arrowroot._api.scan", "Scan"):
        # Its own iterator keeps the errors of reading what they are; a C stream would make them pyarrow's. The engine
        # has checked what it read, and nobody else has the memory.
        return _of_scan(data.schema, data)
    if _is_of(data, "arrowroot._api.file", "Directory"):
        raise InvalidRequestError(
            f"{_EXPECTED}; got {_kind_of(data)}: write its trees one by one, file[name]"
        )
    if _is_dataset(data):
        reader = (data if hasattr(data, "to_reader") else data.scanner()).to_reader()
        return _of_batches(reader.schema, reader, where)
    if is_frame(data):
        table, index = frames.table_of(data, copied=copied)
        return _of_table(table, is_alike)._replace(frame_index=index)
    if _is_of(data, "pandas", "Series") or _is_of(data, "polars", "Series"):
        raise InvalidRequestError(
            f"{_EXPECTED}; got {_kind_of(data)}: give one column a name, as {{'x': ...}}"
        )
    if _is_of(data, "polars", "LazyFrame"):
        raise InvalidRequestError("a LazyFrame of Polars has no values yet: write what its collect() returns")
    if _is_of(data, "polars", "DataFrame"):
        part = _of_table(_from_polars(data), is_alike, copies_all=copied)
        return part._replace(wide=frozenset(data.columns))
    if _is_of(data, "awkward", "Array"):
        return _from_awkward(data, copied=copied, is_alike=is_alike)
    if _is_of(data, "numpy", "ndarray"):
        return _of_table(_from_structured(data, copied=copied), is_alike)
    if isinstance(data, Mapping):
        return _of_mapping(data, copied=copied, is_alike=is_alike)
    if hasattr(data, "__arrow_c_stream__"):
        stream = _native.Stream(data, is_column=False)
        try:
            schema = pa.schema(stream)
        except pa.ArrowException as error:
            raise InvalidRequestError(
                f"{_EXPECTED}; got {_kind_of(data)}: {error}; give one column a name, as {{'x': ...}}"
            ) from error
        return _of_batches(schema, batches_of(stream, schema), where)
    if hasattr(data, "__arrow_c_array__"):
        table = pa.Table.from_batches([batch_of(_native.as_batch(data, is_column=False))])
        return _of_table(table, is_alike, is_arrow=True)
    return None


def _of_tree(tree: Tree) -> Part:
    part = _of_scan((scan := tree.scan()).schema, scan)
    return part._replace(schema=with_types(with_counters(part.schema, tree), tree, part.stored))


def _of_scan(schema: pa.Schema, scan: Scan) -> Part:
    # It knows of all entries what may be missing, also where the first ones miss nothing.
    stored = scan.stored_fields()
    exact = frozenset(name for name in schema.names if name not in stored)
    return Part(schema, iter(scan), is_arrow=True, exact=exact, stored=stored)


def _of_table(
    table: pa.Table, is_alike: IsAlike | None, *, copies_all: bool = False, is_arrow: bool = False
) -> Part:
    if copies_all or not is_left_to_engine(table, is_alike, is_said=is_arrow):
        table = taken_in(table, copies_all=copies_all, is_said=is_arrow)
    return Part(table.schema, iter(table.to_batches()), is_arrow=is_arrow, table=table)


def _of_batches(schema: pa.Schema, given: Iterable[pa.RecordBatch], where: str) -> Part:
    def batches() -> Iterator[pa.RecordBatch]:
        with naming(where):
            yield from batches_taken_in(given, is_said=True)

    return Part(schema, batches(), is_arrow=True)


def _of_mapping(columns: Mapping[str, Any], *, copied: bool, is_alike: IsAlike | None) -> Part:
    if not columns:
        raise InvalidRequestError("no columns to write: the dictionary is empty")
    arrays, fields = {}, []
    for name, values in columns.items():
        _check_name(name)
        with by_column(name):
            array, field = array_of(name, values, copied=copied)
        arrays[name] = array
        fields.append(field)
    index = _index_of(columns)
    of_awkward = frozenset(name for name, values in columns.items() if _is_of(values, "awkward", "Array"))
    of_polars = frozenset(name for name, values in columns.items() if _is_of(values, "polars", "Series"))
    lengths = {name: len(array) for name, array in arrays.items()}
    first = next(iter(lengths))
    for name, length in lengths.items():
        if length != lengths[first]:
            raise InvalidRequestError(
                f"columns of different lengths: {first!r} has {lengths[first]} entries, {name!r} {length}"
            )
    table = pa.table(list(arrays.values()), schema=pa.schema(fields))
    frame_index = None
    if index is not None:
        table, frame_index = frames.with_index(table, index, copied=copied)
    part = _of_table(table, is_alike)
    return part._replace(exact=of_awkward, wide=of_awkward | of_polars, frame_index=frame_index)


def _index_of(columns: Mapping[str, Any]) -> Any:
    """Return the index that series of pandas have, None without any. Raises: InvalidRequestError if they differ."""
    first = None
    for name, values in columns.items():
        if _is_of(values, "pandas", "Series"):
            first = first or (name, values.index)
            if not first[1].equals(values.index):
                raise InvalidRequestError(
                    f"columns {first[0]!r} and {name!r} are pandas series whose indices differ: pandas.DataFrame(...) "
                    "pairs their values by them, and their to_numpy() by their places"
                )
    return None if first is None else first[1]


def _from_polars(frame: Any) -> pa.Table:
    for series in frame.get_columns():
        with by_column(series.name):
            from_polars(series[:0])
    # All at once: what Polars notes of its own types comes along.
    return frame.to_arrow(compat_level=polars_level())


def _from_awkward(array: Any, *, copied: bool, is_alike: IsAlike | None) -> Part:
    import awkward as ak

    for name in ak.fields(array):
        with by_column(name):
            ak.type(array[name])
    if isinstance(ak.type(array).content, ak.types.UnionType):
        # Its fields are those alone that all of its types have.
        refuse_unions(array)
    if not ak.fields(array):
        raise InvalidRequestError(
            f"{_EXPECTED}; got an Awkward array of {ak.type(array)}: give it a name, as {{'x': array}}"
        )
    if ak.is_tuple(array):
        raise InvalidRequestError(
            "the fields of an Awkward array of tuples have no names: use ak.zip({'x': ...})"
        )
    columns = {name: array[name] for name in ak.fields(array)}
    return _of_mapping(columns, copied=copied, is_alike=is_alike)


def _from_structured(array: Any, *, copied: bool) -> pa.Table:
    if array.dtype.names is None or array.ndim != 1:
        raise InvalidRequestError(
            f"{_EXPECTED}; got a NumPy array of {array.dtype}, shape {array.shape}: give it a name, as {{'x': array}}"
        )
    arrays = {}
    for name in array.dtype.names:
        with by_column(name):
            arrays[name] = from_masked(array[name], copied=copied)
    return pa.table(arrays)


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise InvalidRequestError(f"names of columns are text, not {shown(name)}")


def _is_of(value: object, module: str, name: str) -> bool:
    """Return whether a value is of a class of a library, which need not have been imported."""
    package = sys.modules.get(module)
    kind = getattr(package, name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def _kind_of(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
