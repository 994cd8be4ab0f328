"""What comes in is checked before anybody goes by it.

An Arrow array may contradict itself, and its memory may change while it is looked at. What is taken in contradicts
itself nowhere, and shares at most numbers, bools and the bytes of texts and binary values with what was given.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from arrowroot import _native
from arrowroot._arrow.kinds import stored_field, within
from arrowroot._arrow.nulls import check_said, lacking
from arrowroot._errors import InvalidRequestError
from arrowroot._writing.schema import check_field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

#: Batches of so many entries at most are taken by the engine as a whole, or refused.
N_AT_ONCE = 1000


def taken_in(table: pa.Table, *, copies_all: bool = False, is_said: bool = False) -> pa.Table:
    """Return a table taken in.

    copies_all: it shares nothing with what was given.
    is_said: its schema is what the user says: nulls are refused where it has no nullable fields.

    Raises: InvalidRequestError, which names column and entry, for what is not as its type says; UnsupportedError for
    types that no column can have.
    """
    for field in table.schema:
        check_field(field)
    check_data(table)
    batches = list(batches_taken_in(table.to_batches(), copies_all=copies_all, is_said=is_said))
    return pa.Table.from_batches(batches, table.schema)


def batches_taken_in(
    batches: Iterable[pa.RecordBatch], *, copies_all: bool = False, is_said: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield batches taken in, as :func:`taken_in` does."""
    incoming = _native.Incoming(copies_all=copies_all)
    first_entry, schema, indices, said = 0, None, [], []
    for batch in batches:
        if schema is None or not batch.schema.equals(schema):
            for field in batch.schema:
                check_field(field)
            schema, indices = batch.schema, columns_of_texts(batch.schema)
            said = lacking(schema) if is_said else []
        check_data(batch, first_entry)
        taken = pa.record_batch(_Capsules(*incoming.take(batch, text_bytes(batch, indices), first_entry)))
        check_said(taken, said, first_entry)
        yield taken
        first_entry += batch.num_rows


def is_left_to_engine(
    table: pa.Table, is_alike: Callable[[pa.Schema, bool], bool] | None, *, is_said: bool
) -> bool:
    """Return whether a table need not be taken in, as the engine does that with each batch, and nobody looks before.

    is_alike: says whether data of a schema go to the engine as they are. is_said: as :func:`taken_in` has it.

    Raises: InvalidRequestError.
    """
    if is_alike is None or table.num_rows > N_AT_ONCE or not is_alike(table.schema, is_said):
        return False
    check_data(table)
    return len(table.to_batches()) <= 1


def columns_of_texts(schema: pa.Schema) -> list[int]:
    """Return the indices of columns that have texts or binary values, or may have some."""
    is_of = pa.types
    is_any = (is_of.is_string, is_of.is_binary, is_of.is_large_string, is_of.is_large_binary)
    return [
        index
        for index, field in enumerate(schema)
        if any(is_text(kind) for kind in within(stored_field(field).type) for is_text in is_any)
    ]


def text_bytes(batch: pa.RecordBatch, indices: list[int]) -> list[int]:
    """Return how much memory each array of texts or binary values has: the C interface does not tell, and offsets lie.

    indices: of the columns that have some, see :func:`columns_of_texts`.
    """
    return [n_bytes for index in indices for n_bytes in _text_bytes(batch.column(index))]


class _Capsules:
    """A batch in the C interface."""

    def __init__(self, schema: object, array: object) -> None:
        self._capsules = (schema, array)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._capsules


def check_sizes(array: pa.Array | pa.ChunkedArray, first_entry: int = 0, of: str = "") -> None:
    """Raise InvalidRequestError for a column whose memory is too short for what it says: it cannot be looked at.

    of: what is said of it before.
    """
    for chunk in array.chunks if isinstance(array, pa.ChunkedArray) else [array]:
        try:
            chunk.validate()
        except pa.ArrowException as error:
            raise InvalidRequestError(of + _spoilt(first_entry, error)) from None
        first_entry += len(chunk)


def column_of(values: object) -> pa.Array | pa.ChunkedArray:
    """Return a column that has the Arrow C array or stream interface.

    pyarrow ends the process when it makes an array of maps without a key: they are the only column of a batch, which is
    checked before.
    """
    if not hasattr(values, "__arrow_c_stream__"):
        return _only_column(_native.as_batch(values, is_column=True), 0)
    stream = _native.Stream(values, is_column=True)
    chunks: list[pa.Array] = []
    first_entry = 0
    for batch in stream:
        chunks.append(_only_column(batch, first_entry))
        first_entry += len(chunks[-1])
    return pa.chunked_array(chunks, pa.schema(stream).field(0).type)


def _only_column(capsules: tuple[object, object], first_entry: int) -> pa.Array:
    batch = pa.array(_Capsules(*capsules))
    check_sizes(batch, first_entry)
    return batch.field(0)


def batch_of(capsules: tuple[object, object], first_entry: int = 0) -> pa.RecordBatch:
    """Return a batch of the Arrow C array interface. first_entry: number of its first entry, for errors.

    Its columns are made when it has been checked, as those of :func:`column_of` are.
    """
    array = pa.array(_Capsules(*capsules))
    if not pa.types.is_struct(array.type):
        raise InvalidRequestError(f"one column of {array.type}: give it a name, as {{'x': ...}}")
    try:
        array.validate()
    except pa.ArrowException as error:
        found = re.match(r"Struct child array #(\d+)", str(error))
        names = [field.name for field in array.type]
        index = int(found[1]) if found else len(names)
        of = f"column {names[index]!r}" if index < len(names) else "the data"
        raise InvalidRequestError(f"{of}: {_spoilt(first_entry, error)}") from None
    return pa.RecordBatch.from_struct_array(array)


def batches_of(stream: _native.Stream, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a stream of this schema, as :func:`batch_of` makes them."""
    first_entry = 0
    for capsules in stream:
        batch = batch_of(capsules, first_entry)
        yield batch.replace_schema_metadata(schema.metadata)
        first_entry += batch.num_rows


def _spoilt(first_entry: int, error: pa.ArrowException) -> str:
    return f"entries from {first_entry} of the data on are spoilt: {error}"


def check_data(data: pa.Table | pa.RecordBatch, first_entry: int = 0) -> None:
    """Raise InvalidRequestError for data whose memory is too short for what they say: see :func:`check_sizes`."""
    try:
        data.validate()
    except pa.ArrowException as error:
        for name, column in zip(data.schema.names, data.columns, strict=True):
            check_sizes(column, first_entry, f"column {name!r}: ")
        raise InvalidRequestError(f"the data contradict themselves: {error}") from None


def _text_bytes(array: pa.Array) -> Iterator[int]:
    kind = array.type
    is_of = pa.types
    if isinstance(array, pa.ExtensionArray):
        yield from _text_bytes(array.storage)
    elif is_of.is_dictionary(kind):
        yield from _text_bytes(array.dictionary)
    elif (
        is_of.is_string(kind)
        or is_of.is_large_string(kind)
        or is_of.is_binary(kind)
        or is_of.is_large_binary(kind)
    ):
        text = array.buffers()[2]
        yield 0 if text is None else text.size
    elif is_of.is_map(kind):
        yield from _text_bytes(array.keys)
        yield from _text_bytes(array.items)
    elif is_of.is_struct(kind) or is_of.is_union(kind):
        for index in range(kind.num_fields):
            yield from _text_bytes(array.field(index))
    elif isinstance(array, _LISTS) or is_of.is_run_end_encoded(kind):
        yield from _text_bytes(array.values)


_LISTS = (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray, pa.ListViewArray, pa.LargeListViewArray)
