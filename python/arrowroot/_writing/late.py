"""Columns, and members of records, that come up when a table has entries already."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from arrowroot._arrow.defaults import defaults
from arrowroot._arrow.kinds import fields_of, is_list
from arrowroot._errors import InvalidRequestError
from arrowroot._writing.counters import without_counters
from arrowroot._writing.schema import checked_schema, inferred

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Literal, TypeAlias

    from arrowroot._writing.data import Part

    #: How the columns of data may differ from those of their table.
    Columns: TypeAlias = Literal["fixed", "grow", "vary"]

#: Not at all; some may be new; some may be new, and others not there.
FIXED, GROW, VARY = COLUMNS = ("fixed", "grow", "vary")


class LateColumns(NamedTuple):
    """The columns of some entries that their table has not."""

    #: As they are stored.
    schema: pa.Schema
    #: As they come back when they are read.
    recorded: pa.Schema
    #: The first entries, with all of their columns.
    sample: pa.Table


def late_columns(part: Part, known: pa.Schema, where: str) -> tuple[Part, LateColumns | None]:
    """Return some entries, and those of their columns that their table has not; None if there is none, or no entry.

    The types are told as those of the first entries of a table are. Raises: InvalidRequestError for names and types
    that no column has.
    """
    given = checked_schema(part.schema, where)
    has = set(known.names)
    names = [name for name in given.names if name not in has]
    if not names:
        return part, None
    sample = part.table
    if sample is None:
        drawn = []
        for batch in part.batches:
            drawn.append(batch)
            if batch.num_rows:
                break
        part = part._replace(batches=chain(drawn, part.batches))
        sample = pa.Table.from_batches(drawn[-1:], given)
    if not sample.num_rows:
        return part, None
    new = without_counters(pa.schema([given.field(name) for name in names]))
    schema = inferred(new, part, sample.select(names))
    return part, LateColumns(schema, new if part.is_arrow else schema, sample)


def has_other_members(field: pa.Field, known: pa.Schema) -> bool:
    """Return whether a column is a record that a table has with other members, in it or in records in it."""
    place = known.get_field_index(field.name)
    return (
        place >= 0 and _may_grow(field, known.field(place)) and _differs(field.type, known.field(place).type)
    )


def _may_grow(given: pa.Field, own: pa.Field) -> bool:
    """Return whether a field is a record that gets members: the table's is never missing."""
    return pa.types.is_struct(given.type) and pa.types.is_struct(own.type) and not own.nullable


def _differs(given: pa.StructType, own: pa.StructType) -> bool:
    """Return whether a record has other members than that of a table, or records in it that grow have."""
    members = {one.name: one for one in fields_of(given)}
    if set(members) != set(_names(own)):
        return True
    grown = ((members[one.name], one) for one in fields_of(own) if _may_grow(members[one.name], one))
    return any(_differs(member.type, one.type) for member, one in grown)


def members_apart(part: Part, known: pa.Schema, columns: Columns, where: str) -> tuple[Part, dict[str, str]]:
    """Return entries whose records have the members of those of the table, and others as columns ``record.member``.

    Returns, too: the paths of the records of these columns. Raises: InvalidRequestError for a record that lacks
    members, unless columns may vary.
    """
    own = {
        field.name: known.field(field.name).type for field in part.schema if has_other_members(field, known)
    }
    if not own:
        return part, {}
    apart: dict[str, str] = {}

    def split(batch: pa.RecordBatch) -> pa.RecordBatch:
        fields, arrays = [], []
        for field, array in zip(batch.schema, batch.columns, strict=True):
            if field.name in own:
                record = _split(field, array, own[field.name], field.name)
                lacked = "" if columns == VARY else record.lacked
                if lacked:
                    raise InvalidRequestError(f"{where}: the data lack {lacked!r}, which the table has")
                fields.append(record.field)
                arrays.append(record.array)
                for path, one, inner in record.late:
                    apart[one.name] = path
                    fields.append(one)
                    arrays.append(inner)
            else:
                fields.append(field)
                arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, metadata=batch.schema.metadata))

    schema = split(pa.RecordBatch.from_pylist([], schema=part.schema)).schema
    if part.table is None:
        return part._replace(schema=schema, batches=map(split, part.batches)), apart
    table = pa.Table.from_batches(map(split, part.table.to_batches()), schema)
    exact, wide = (
        some.union(name for name, record in apart.items() if _column_of(record, some))
        for some in (part.exact, part.wide)
    )
    batches = iter(table.to_batches())
    return part._replace(schema=schema, batches=batches, table=table, exact=exact, wide=wide), apart


def _column_of(path: str, names: Collection[str]) -> str | None:
    """Return which of these names a path begins with; None if it begins with none."""
    ends = [end for end, letter in enumerate(f"{path}.") if letter == "."]
    return next((path[:end] for end in reversed(ends) if path[:end] in names), None)


def check_no_late_members(given: pa.Schema, known: pa.Schema, where: str) -> None:
    """Raise InvalidRequestError for a member that comes up late, and that its record cannot get."""
    for field in given:
        place = known.get_field_index(field.name)
        late = None if place < 0 else _late_inside(field.type, known.field(place).type, field.name)
        if late is not None:
            raise InvalidRequestError(
                f"{where}: {late!r} comes up later, and its record is of a tree, may be missing, or is in a list: "
                "records of an RNTuple that are never missing get members; give schema= with all members of others"
            )


def _late_inside(given: pa.DataType, own: pa.DataType, path: str) -> str | None:
    """Return the path of the first member of records that the table's lack, at any depth; None if there is none."""
    if pa.types.is_struct(given) and pa.types.is_struct(own):
        members = {one.name: one.type for one in fields_of(own)}
        inside = [(one, f"{path}.{one.name}") for one in fields_of(given)]
        late = (
            _late_inside(one.type, members[one.name], name) if one.name in members else name
            for one, name in inside
        )
        return next(filter(None, late), None)
    if is_list(given) and is_list(own):
        return _late_inside(given.value_type, own.value_type, path)
    return None


def _names(record: pa.StructType) -> list[str]:
    return [one.name for one in fields_of(record)]


class _Split(NamedTuple):
    """A record with the members of that of a table."""

    field: pa.Field
    array: pa.Array
    #: Its other members as columns, behind the paths of the records that they are of.
    late: list[tuple[str, pa.Field, pa.Array]]
    #: The path of a member that it lacks, "" if it has all.
    lacked: str


def _split(field: pa.Field, array: pa.StructArray, own: pa.StructType, path: str) -> _Split:
    """Return a record with the members of another one, defaults for those that it lacks, and its others as columns."""
    given = {
        one.name: (one, inner) for one, inner in zip(fields_of(field.type), array.flatten(), strict=True)
    }
    fields, arrays, late, lacked = [], [], [], ""
    for one in fields_of(own):
        place = f"{path}.{one.name}"
        if one.name not in given:
            lacked = lacked or place
            member, inner = one, defaults(one, len(array))
        else:
            member, inner = given.pop(one.name)
            if _may_grow(member, one):
                member, inner, more, lacks = _split(member, inner, one.type, place)
                late += more
                lacked = lacked or lacks
        fields.append(member.with_type(inner.type))
        arrays.append(inner)
    record = pa.StructArray.from_arrays(arrays, fields=fields)
    late += [(path, one.with_name(f"{path}.{name}"), inner) for name, (one, inner) in given.items()]
    return _Split(field.with_type(record.type), record, late, lacked)


def with_members(schema: pa.Schema, records: Mapping[str, str]) -> pa.Schema:
    """Return a schema whose late members are in their records.

    records: paths of the records of columns ``record.member``.
    """
    fields = {field.name: field for field in schema if field.name not in records}
    for name, path in records.items():
        column = _column_of(path, fields) or path
        late = schema.field(name).with_name(name[len(path) + 1 :])
        fields[column] = _with_member(fields[column], path[len(column) + 1 :], late)
    return pa.schema(fields.values(), metadata=schema.metadata)


def _with_member(record: pa.Field, path: str, late: pa.Field) -> pa.Field:
    """Return a record that has a member more, or in which the record of a path has it."""
    members = {one.name: one for one in fields_of(record.type)}
    if inside := _column_of(path, members) if path else None:
        members[inside] = _with_member(members[inside], path[len(inside) + 1 :], late)
    else:
        members[late.name] = late
    return record.with_type(pa.struct(members.values()))
