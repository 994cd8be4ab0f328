"""Columns that are members of the same objects, as records or lists of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arrowroot._arrow.vectors import RECORD, TYPE, as_vectors
from arrowroot._errors import CorruptFileError
from arrowroot._passes.source import Around, Source, import_batch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from arrowroot._arrow.vectors import Convert
    from arrowroot._select.objects import Zip

#: Key of the metadata of a member's field: the title of its column.
TITLE = b"title"


class Zipped(Around[Source]):
    """A pass that delivers members of objects as one column of records, or of lists of them.

    Values are copied only where a file lacks a member that others have.
    """

    def __init__(
        self, source: Source, columns: Sequence[Zip], notes: Mapping[str, Mapping[bytes, str]]
    ) -> None:
        """``columns``: to deliver; ``notes``: metadata of members, by their paths."""
        super().__init__(source)
        self.is_of_paths = True
        self._columns = columns
        self._notes = notes
        self._schema: pa.Schema | None = None
        self._parts: list[_Part] = []

    @property
    def column_names(self) -> list[str]:
        return [column.name for column in self._columns]

    def schema(self) -> pa.Schema:
        if self._schema is None:
            import pyarrow as pa

            inner = self._source.schema()
            self._parts = [_Part.of(one, inner, self._notes) for one in self._columns]
            self._schema = pa.schema([part.delivered for part in self._parts], inner.metadata)
        return self._schema

    def next_batch(self) -> pa.RecordBatch | None:
        import pyarrow as pa

        batch = self._source.next_batch()
        if batch is None:
            return None
        ours = import_batch(batch, self._source)
        schema = self.schema()
        return pa.RecordBatch.from_arrays(
            [part.array(ours, self.place()) for part in self._parts], schema=schema
        )


class _Part(NamedTuple):
    """A column to deliver, as it is put together, and then with ROOT's vectors as those of others."""

    field: pa.Field
    delivered: pa.Field
    convert: Convert | None
    #: Columns of the members; None: it is read as it is.
    paths: list[str] | None

    @classmethod
    def of(cls, column: Zip, inner: pa.Schema, notes: Mapping[str, Mapping[bytes, str]]) -> _Part:
        members = column.members
        field = inner.field(column.name) if members is None else _field(column, inner, notes)
        if members is None:
            type_name = notes.get(column.name, {}).get(TYPE, "")
            return cls(field, *as_vectors(field, type_name), None)
        return cls(field, *as_vectors(field, is_chosen=True), list(members.values()))

    def array(self, batch: pa.RecordBatch, where: str) -> pa.Array:
        import pyarrow as pa

        if self.paths is None:
            made = batch.column(self.field.name)
        elif pa.types.is_struct(self.field.type):
            made = pa.StructArray.from_arrays(
                [batch.column(path) for path in self.paths], fields=list(self.field.type)
            )
        else:
            made = _zipped([batch.column(path) for path in self.paths], self.field, where)
        return made if self.convert is None else self.convert(made)


def _field(column: Zip, inner: pa.Schema, notes: Mapping[str, Mapping[bytes, str]]) -> pa.Field:
    """Return the field of a record of columns, or of a list of records, of columns of lists."""
    import pyarrow as pa

    given = column.members or {}
    columns = [inner.field(path) for path in given.values()]
    note = {RECORD: column.record} if column.record else None
    if not column.is_list:
        members = [
            pa.field(member, field.type, field.nullable, notes.get(path))
            for (member, path), field in zip(given.items(), columns, strict=True)
        ]
        return pa.field(column.name, pa.struct(members), nullable=False, metadata=note)
    is_nullable = all(field.nullable for field in columns)
    members = []
    for (member, path), field in zip(given.items(), columns, strict=True):
        item = field.type.value_field
        may_lack = item.nullable or (field.nullable and not is_nullable)
        members.append(pa.field(member, item.type, may_lack, notes.get(path)))
    items = pa.field("item", pa.struct(members), nullable=False, metadata=note)
    return pa.field(column.name, pa.list_(items), is_nullable)


def _zipped(lists: Sequence[pa.ListArray], field: pa.Field, where: str) -> pa.ListArray:
    """Return lists of records, of lists of their members. Raises: CorruptFileError if they differ in length."""
    import pyarrow as pa

    first = lists[0]
    if not all(one is first or _is_like(one, first) for one in lists):
        return _of_differing(lists, field, where)
    offsets = first.offsets
    n_items = offsets[-1].as_py()
    values = [one.values.slice(0, n_items) for one in lists]
    records = pa.StructArray.from_arrays(values, fields=list(field.type.value_type))
    return pa.ListArray.from_arrays(
        offsets, records, type=field.type, mask=first.is_null() if first.null_count else None
    )


def _is_like(one: pa.ListArray, other: pa.ListArray) -> bool:
    """Return whether lists have the same numbers of items, at the same indices, and the same are missing."""
    mine, others = ((lists.buffers()[1].address, lists.offset) for lists in (one, other))
    if one.null_count or other.null_count:
        return one.null_count == other.null_count and bool(
            one.is_null().equals(other.is_null()) and one.offsets.equals(other.offsets)
        )
    return mine == others or bool(one.offsets.equals(other.offsets))


def _of_differing(lists: Sequence[pa.ListArray], field: pa.Field, where: str) -> pa.ListArray:
    """Return lists of records where members are missing in some files: they are null for all items of an entry."""
    import numpy as np
    import pyarrow as pa

    from arrowroot._arrow import arrays

    ends = [arrays.to_numpy(one.offsets).astype(np.int64) for one in lists]
    is_there = [arrays.to_numpy(one.is_valid()) for one in lists]
    lengths = [np.where(there, np.diff(end), 0) for end, there in zip(ends, is_there, strict=True)]
    n_items = np.maximum.reduce(lengths)
    for member, there, length in zip(field.type.value_type, is_there, lengths, strict=True):
        if (there & (length != n_items)).any():
            at = int((there & (length != n_items)).argmax())
            raise CorruptFileError(
                f"{where}: member {member.name!r} of {field.name!r} has {length[at]:,} items where another has"
                f' {n_items[at]:,}; leave it out with "!{field.name}.{member.name}"'
            )
    offsets = np.concatenate([[0], np.cumsum(n_items)])
    owner = np.repeat(np.arange(len(n_items)), n_items)
    values = []
    for one, end, there in zip(lists, ends, is_there, strict=True):
        indices = np.arange(offsets[-1]) + (end[:-1] - offsets[:-1])[owner]
        values.append(one.values.take(pa.array(indices, mask=~there[owner])))
    records = pa.StructArray.from_arrays(values, fields=list(field.type.value_type))
    is_lacking = ~np.logical_or.reduce(is_there)
    mask = pa.array(is_lacking) if is_lacking.any() else None
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), records, type=field.type, mask=mask)
