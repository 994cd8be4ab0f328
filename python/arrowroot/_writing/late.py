"""Columns, and members of records, that come up when a table has entries already."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from arrowroot._arrow.defaults import defaults
from arrowroot._arrow.kinds import fields_of
from arrowroot._errors import InvalidRequestError
from arrowroot._writing.counters import without_counters
from arrowroot._writing.schema import checked_schema, inferred

if TYPE_CHECKING:
    from collections.abc import Mapping
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
    """Return whether a column is a record of a table that has it with other members."""
    place = known.get_field_index(field.name)
    own = field.type if place < 0 else known.field(place).type
    are_records = pa.types.is_struct(field.type) and pa.types.is_struct(own)
    return are_records and set(_names(field.type)) != set(_names(own))


def members_apart(part: Part, known: pa.Schema, columns: Columns, where: str) -> tuple[Part, dict[str, str]]:
    """Return entries whose records have the members of those of the table, and others as columns ``record.member``.

    Returns, too: the records of these columns. Raises: InvalidRequestError for a record that lacks members, unless
    columns may vary.
    """
    fields = [known.field(field.name) for field in part.schema if has_other_members(field, known)]
    own = {field.name: field.type for field in fields if not field.nullable}
    if not own:
        return part, {}
    apart: dict[str, str] = {}
    for name, kind in own.items():
        given = _names(part.schema.field(name).type)
        apart |= {f"{name}.{one}": name for one in given if one not in _names(kind)}
        lacking = [one for one in _names(kind) if one not in given]
        if lacking and columns != VARY:
            lacked = f"{name}.{lacking[0]}"
            raise InvalidRequestError(f"{where}: the data lack {lacked!r}, which the table has")

    def split(batch: pa.RecordBatch) -> pa.RecordBatch:
        fields, arrays = [], []
        for field, array in zip(batch.schema, batch.columns, strict=True):
            found = _split(field, array, own[field.name]) if field.name in own else [(field, array)]
            fields += [one for one, _ in found]
            arrays += [one for _, one in found]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, metadata=batch.schema.metadata))

    schema = split(pa.RecordBatch.from_pylist([], schema=part.schema)).schema
    if part.table is None:
        return part._replace(schema=schema, batches=map(split, part.batches)), apart
    table = pa.Table.from_batches(map(split, part.table.to_batches()), schema)
    exact, wide = (
        some.union(name for name, record in apart.items() if record in some)
        for some in (part.exact, part.wide)
    )
    batches = iter(table.to_batches())
    return part._replace(schema=schema, batches=batches, table=table, exact=exact, wide=wide), apart


def _names(record: pa.StructType) -> list[str]:
    return [one.name for one in fields_of(record)]


def _split(field: pa.Field, array: pa.StructArray, own: pa.StructType) -> list[tuple[pa.Field, pa.Array]]:
    """Return a record with the members of another one, defaults for those that it lacks, and its others as columns."""
    given = {
        one.name: (one, inner) for one, inner in zip(fields_of(field.type), array.flatten(), strict=True)
    }
    members = [given.pop(one.name, (one, None)) for one in fields_of(own)]
    arrays = [defaults(one, len(array)) if inner is None else inner for one, inner in members]
    fields = [one.with_type(inner.type) for (one, _), inner in zip(members, arrays, strict=True)]
    record = pa.StructArray.from_arrays(arrays, fields=fields)
    late = [(one.with_name(f"{field.name}.{name}"), inner) for name, (one, inner) in given.items()]
    return [(field.with_type(record.type), record), *late]


def with_members(schema: pa.Schema, records: Mapping[str, str]) -> pa.Schema:
    """Return a schema whose late members are in their records. ``records``: those of columns ``record.member``."""
    fields = {field.name: field for field in schema if field.name not in records}
    for name, record in records.items():
        late = schema.field(name).with_name(name[len(record) + 1 :])
        fields[record] = fields[record].with_type(pa.struct([*fields_of(fields[record].type), late]))
    return pa.schema(fields.values(), metadata=schema.metadata)
