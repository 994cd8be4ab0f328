"""Frames of pandas: their columns, and their index as pyarrow keeps it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from arrowroot._errors import IndexLeftOutWarning, InvalidRequestError, warn
from arrowroot._writing.arrays import array_of, by_column, is_sparse

if TYPE_CHECKING:
    from collections.abc import Collection

#: pyarrow's name for an index that has none; the number is that of the level.
_UNNAMED = "__index_level_{}__"
_METADATA = b"pandas"
#: More categories than these are not recorded: those that are used come back in the order in which they are met.
_MAX_CATEGORIES = 10_000


class FrameIndex(NamedTuple):
    """What is known of the index of a frame."""

    #: Its entries if they are an unnamed range, which need not be a column.
    range: range | None
    #: Columns of levels without a name.
    unnamed: tuple[str, ...]


def table_of(frame: Any, *, copied: bool) -> tuple[pa.Table, FrameIndex]:
    """Return a frame as a table: its columns, then its index, and pandas' metadata as pyarrow has them.

    An index is a column, or one for each level, called as the level or ``__index_level_0__``; a count from 0 without a
    name is in the metadata alone. Another range is a column, too: metadata would number other entries as these, if some
    are chosen, or files are read together. A NaN is a number and stays one.

    Raises: InvalidRequestError for names that are no text, or not different.
    """
    arrays: dict[str, Any] = {}
    for index, name in enumerate(frame.columns):
        if not isinstance(name, str):
            raise InvalidRequestError(
                f"names of columns are text, not {name!r}: frame.set_axis(names, axis=1) gives them others"
            )
        if name in arrays:
            raise InvalidRequestError(f"two columns are called {name!r}")
        with by_column(name):
            arrays[name] = _array_of(name, frame.iloc[:, index], copied=copied)
    return _with_index(arrays, frame, copied=copied)


def with_index(table: pa.Table, index: Any, *, copied: bool) -> tuple[pa.Table, FrameIndex]:
    """Return a table with the index that its series of pandas have, as :func:`table_of` does."""
    if (found := _range_of(index)) is not None and _is_plain(found):
        return table, FrameIndex(found, ())
    arrays = dict(zip(table.column_names, table.columns, strict=True))
    pandas = sys.modules["pandas"]
    # Names of columns are texts: of none pandas would take them for numbers.
    frame = pandas.DataFrame(index=index, columns=pandas.Index([""])[:0])
    made, frame_index = _with_index(arrays, frame, copied=copied)
    fields = [*table.schema, *list(made.schema)[len(table.schema) :]]
    return pa.table(made.columns, schema=pa.schema(fields, metadata=made.schema.metadata)), frame_index


def _is_plain(found: range) -> bool:
    return found.start == 0 and found.step == 1


def _with_index(arrays: dict[str, Any], frame: Any, *, copied: bool) -> tuple[pa.Table, FrameIndex]:
    """Return the columns of a frame, and its index. frame: what is known of the columns, and the index."""
    found = _range_of(frame.index)
    levels = {} if found is not None and _is_plain(found) else _levels_of(frame.index, arrays)
    for name, level in levels.items():
        with by_column(name):
            _check_codes(frame.index, level)
            arrays[name] = _array_of(name, frame.index.get_level_values(level), copied=copied)
    table = pa.table(arrays).replace_schema_metadata(_metadata_of(frame, list(levels), found))
    unnamed = tuple(name for name, level in levels.items() if frame.index.names[level] is None)
    return table, FrameIndex(found, unnamed)


def _array_of(name: str, values: Any, *, copied: bool) -> pa.Array | pa.ChunkedArray:
    array = array_of(name, values, copied=copied)[0]
    # For the metadata pyarrow looks at it.
    array.slice(0, 1).validate(full=True)
    return array


def _check_codes(index: Any, level: int) -> None:
    """Raise InvalidRequestError for codes of a level that are none of its values: pandas may go by them unseen."""
    if isinstance(index, sys.modules["pandas"].MultiIndex) and len(index):
        codes, n_values = index.codes[level], len(index.levels[level])
        least, most = codes.min(), codes.max()
        if least < -1 or most >= n_values:
            code = least if least < -1 else most
            raise InvalidRequestError(
                f"code {code} of the index is none of the {n_values} values of its level"
            )


def with_counted(frame: Any, schema: pa.Schema | None) -> Any:
    """Return a frame of several that are read together, with a range as an index of numbers, which is a column.

    schema: of all of them, if it is said; then it says if there is such a column.
    """
    if _range_of(frame.index) is None:
        return frame
    has_column = schema is None or _UNNAMED.format(0) in schema.names
    return frame.set_axis(frame.index.to_numpy(), axis=0) if has_column else frame.reset_index(drop=True)


def in_table(table: pa.Table, index: FrameIndex, schema: pa.Schema, n_entries: int, where: str) -> pa.Table:
    """Return a frame's table with the index as a table that has begun has it: a column, or none.

    n_entries: those of the table so far. where: file and table, for the message.

    Warns with IndexLeftOutWarning if the table has no column for an index that is no range from 0, or from there on.
    """
    name = _UNNAMED.format(0)
    if index.range is not None and name in schema.names and name not in table.schema.names:
        return table.append_column(name, pa.array(index.range, pa.int64()))
    extra = [one for one in index.unnamed if one not in schema.names]
    if extra and not (index.range is not None and index.range.start == n_entries and index.range.step == 1):
        warn(
            f"{where}: from entry {n_entries} on the index of the frame is left out: the table has no column "
            f"{extra[0]!r}, as its schema, or the first frame, had none; give the index a name, or leave it out by "
            "reset_index(drop=True)",
            IndexLeftOutWarning,
        )
    return table.drop_columns(extra) if extra else table


def _range_of(index: Any) -> range | None:
    """Return the entries of an index that is an unnamed range."""
    kind = sys.modules["pandas"].RangeIndex
    is_range = isinstance(index, kind) and index.name is None
    return range(index.start, index.stop, index.step) if is_range else None


def _levels_of(index: Any, columns: Collection[str]) -> dict[str, int]:
    """Return the column of each level of an index, and its number: a name that another column has counts as none."""
    levels: dict[str, int] = {}
    for level, given in enumerate(index.names):
        name, number = None if given is None else str(given), level
        while name is None or name in columns or name in levels:
            name, number = _UNNAMED.format(number), number + 1
        levels[name] = level
    return levels


def _categories_of(values: Any) -> list[Any] | None:
    """Return the categories of a column that has some: which and in what order its values alone do not tell."""
    if not isinstance(values.dtype, sys.modules["pandas"].CategoricalDtype):
        return None
    categories: list[Any] = values.dtype.categories.tolist()
    is_told = len(categories) <= _MAX_CATEGORIES and all(type(one) in (str, int, float) for one in categories)
    return categories if is_told else None


def _metadata_of(frame: Any, levels: list[str], found: range | None) -> dict[bytes, bytes]:
    """Return what pyarrow records of a frame, with our names of the columns of its index."""
    head = frame.iloc[:1]
    dense = {}
    for name in frame.columns:
        if is_sparse(head[name]):
            with by_column(name):
                dense[name] = head[name].sparse.to_dense()
    head = head.assign(**dense)
    if levels:
        head = head.rename_axis(index=levels)
    described = pa.Table.from_pandas(head, preserve_index=True if levels else None).schema.pandas_metadata
    described["index_columns"] = levels
    if not levels and found is not None:
        bounds = {"start": found.start, "stop": found.stop, "step": found.step}
        described["index_columns"] = [{"kind": "range", "name": None, **bounds}]
    for column in described["columns"]:
        name = column["field_name"]
        values = frame[name] if name not in levels else frame.index.get_level_values(levels.index(name))
        if name in levels:
            # A name that is no text is made one, as pyarrow does with a warning.
            given = frame.index.names[levels.index(name)]
            column["name"] = None if given is None else str(given)
        if (categories := _categories_of(values)) is not None:
            column["metadata"]["categories"] = categories
    return {_METADATA: json.dumps(described).encode()}
