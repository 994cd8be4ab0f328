"""Batches as those of their table: the only thing that is asked for each of them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from arrowroot._arrow.defaults import defaults
from arrowroot._arrow.kinds import innermost, stored_type
from arrowroot._arrow.nulls import first_lacking, lacks, may_lack, says_more
from arrowroot._errors import InvalidRequestError
from arrowroot._writing.casts import as_type, has_layout, may_become
from arrowroot._writing.incoming import columns_of_texts, text_bytes
from arrowroot._writing.schema import check_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class _Way(NamedTuple):
    """The way from batches of one schema to those of the table."""

    given: pa.Schema
    #: Nothing is to be looked at column by column.
    is_same: bool
    #: Columns have the table's names in its order, and the memory of its types.
    has_layout: bool
    #: A field excludes nulls that the table's does not: the engine, which goes by the table's, does not refuse them.
    says_more: bool
    #: The index in the batch of each column of the table, -1 for one that it lacks; none for other columns.
    indices: list[int]
    #: Columns of the table whose arrays are of other types, and those of which are converted: texts and lists of other
    #: forms, dictionaries and runs stay what they are, as the engine writes them piece by piece.
    is_other: list[bool]
    is_cast: list[bool]


class Conformer:
    """What batches become in a table: made once, when its schema is known, and asked once for each batch."""

    def __init__(
        self,
        schema: pa.Schema,
        where: str,
        *,
        some_suffice: bool = False,
        ways: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    ) -> None:
        """Make one.

        where: file and path of the table, for messages. some_suffice: batches need not have all columns. ways: of
        columns that are members of records: the names from a member of the record's column on.
        """
        self.schema = schema
        self._ways = ways
        self._some_suffice = some_suffice
        self._where = where
        self._places_of_texts = columns_of_texts(schema)
        self._lacking = [field for field in schema if may_lack(field)]
        # Of the batch before: mostly all have the same schema. Threads may fill the table, each with its own.
        self._way: _Way | None = None

    def is_left_alone(self, given: pa.Schema, *, is_said: bool) -> bool:
        """Return whether data of a schema go to the engine as they are: nothing is converted, nor to be looked for.

        is_said: the user has said it, so that nulls are refused which it excludes.
        """
        way = self._way_of(given)
        return way.has_layout and not (is_said and way.says_more)

    def check(self, data: pa.Table | pa.RecordBatch, first_entry: int) -> None:
        """Raise InvalidRequestError for a value that is missing where none is stored, at any depth, with its entry.

        first_entry: number of the first one, for messages. Types that are not the table's are not looked into.

        Raises, too: as :func:`check_names`.
        """
        check_names(data.schema, self.schema, self._where, some_suffice=self._some_suffice)
        names = set(data.schema.names)
        for field in self._lacking:
            if field.name not in names:
                continue
            entry, column = first_entry, data.column(field.name)
            for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
                if lacks(chunk, field):
                    raise InvalidRequestError(
                        f"{self._where}: column {field.name!r}: entry {entry + first_lacking(chunk, field)} is null, "
                        "and nulls are not stored: give a schema in which this field is nullable (schema=)"
                    )
                entry += len(chunk)

    def batches(
        self, batch: pa.RecordBatch, first_entry: int, *, exactly: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Yield a batch as those of the table: columns by name, numbers and times converted where that is exact.

        A float that is stored as a shorter one is rounded, as that is what was asked for, but stays finite. Columns
        that a batch may lack are 0 or empty then, or missing.

        first_entry: number of its first entry, for messages. exactly: of the very types of the table, which those need
            not be that the engine takes for them.

        Raises: InvalidRequestError, which names the column, for other types and for values that do not fit;
        NoSuchColumnError for columns that the table does not have.
        """
        way = self._way_of(batch.schema)
        # Flags of fields may differ from the table's: the engine goes by the schema that it was given.
        if way.is_same or (way.has_layout and not exactly):
            yield batch
            return
        if not way.indices:
            check_names(batch.schema, self.schema, self._where, some_suffice=self._some_suffice)
        arrays = []
        for field, index, is_cast in zip(
            self.schema, way.indices, way.is_other if exactly else way.is_cast, strict=True
        ):
            if index < 0:
                arrays.append(defaults(field, batch.num_rows))
                continue
            array = batch.column(index)
            if is_cast and not may_become(array.type, field.type):
                names = self._ways.get(field.name, ())
                own, other = (innermost(one, names).type for one in (field, field.with_type(array.type)))
                raise InvalidRequestError(
                    f"{self._where}: column {field.name!r} is {own}, and from entry {first_entry} on {other} came; "
                    "schema= says what all of them are"
                )
            try:
                arrays.append(as_type(array, field.type) if is_cast else array)
            except pa.ArrowInvalid as error:
                if "overflow" in str(error) and batch.num_rows > 1:
                    # More in its lists, or texts, than 32 bits number.
                    half = batch.num_rows // 2
                    yield from self.batches(batch.slice(0, half), first_entry, exactly=exactly)
                    yield from self.batches(batch.slice(half), first_entry + half, exactly=exactly)
                    return
                raise InvalidRequestError(f"{self._where}: column {field.name!r}: {error}") from None
        yield pa.RecordBatch.from_arrays(arrays, names=self.schema.names)

    def text_bytes(self, batch: pa.RecordBatch) -> list[int]:
        """Return how much memory each array of texts or binary values has in a batch of the table."""
        return text_bytes(batch, self._places_of_texts)

    def _way_of(self, given: pa.Schema) -> _Way:
        way = self._way
        if way is None or not given.equals(way.given):
            self._way = way = self._new_way(given)
        return way

    def _new_way(self, given: pa.Schema) -> _Way:
        if given.equals(self.schema):
            return _Way(given, True, True, False, [], [], [])
        names = self.schema.names
        has_these = (
            set(given.names) <= set(names) if self._some_suffice else sorted(given.names) == sorted(names)
        )
        if not has_these or len(set(given.names)) < len(given):
            return _Way(given, False, False, False, [], [], [])
        indices = [given.get_field_index(name) for name in names]
        types = given.types  # made anew each time
        pairs = [
            (kind if index < 0 else types[index], kind)
            for index, kind in zip(indices, self.schema.types, strict=True)
        ]
        is_other = [not has_layout(one, kind) for one, kind in pairs]
        is_cast = [
            is_one and not has_layout(stored_type(one), stored_type(kind))
            for is_one, (one, kind) in zip(is_other, pairs, strict=True)
        ]
        is_alike = given.names == names and not any(is_other)
        excludes_more = is_alike and any(map(says_more, given, self.schema))
        return _Way(given, False, is_alike, excludes_more, indices, is_other, is_cast)
