"""Columns, and members of records, that come up when a table has entries already."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from arrowroot._arrow.defaults import defaults
from arrowroot._arrow.kinds import fields_of, innermost, is_list, is_view, with_fields
from arrowroot._errors import InvalidRequestError
from arrowroot._writing.counters import without_counters
from arrowroot._writing.schema import checked_schema, inferred
from arrowroot._writing.typed import nullable_as_typed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import Literal, TypeAlias

    from arrowroot._writing.data import Part

    #: How the columns of data may differ from those of their table.
    Columns: TypeAlias = Literal["fixed", "grow", "vary"]

#: The name of the values of maps, as an RNTuple has it.
VALUE = "value"
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


class Member(NamedTuple):
    """The place of a member of records that came up later."""

    column: str
    #: Names of members, from a member of the column on. What is in lists has no names between, values of maps have.
    way: tuple[str, ...]

    @property
    def path(self) -> str:
        """The name of the column that it is written as."""
        return ".".join((self.column, *self.way))


def has_other_members(field: pa.Field, known: pa.Schema) -> bool:
    """Return whether a column has records with other members than those of a table, at any depth."""
    place = known.get_field_index(field.name)
    if place < 0:
        return False
    own = known.field(place)
    return any(chain(_new_in(field.type, own.type), _new_in(own.type, field.type)))


def _new_in(given: pa.DataType, own: pa.DataType) -> Iterator[tuple[str, ...]]:
    """Yield the ways to members of the records of a type, in lists or not, that those of another one lack."""
    if pa.types.is_struct(given) and pa.types.is_struct(own):
        members = {one.name: one.type for one in fields_of(own)}
        for one in fields_of(given):
            if one.name not in members:
                yield (one.name,)
            else:
                yield from ((one.name, *way) for way in _new_in(one.type, members[one.name]))
    elif _has_items(given) and _has_items(own):
        yield from _new_in(given.value_type, own.value_type)
    elif pa.types.is_map(given) and pa.types.is_map(own):
        yield from ((VALUE, *way) for way in _new_in(given.item_type, own.item_type))


def _has_items(kind: pa.DataType) -> bool:
    return is_list(kind) or is_view(kind)


def _as_list(field: pa.Field) -> pa.Field:
    """Return a field of maps as one of lists of records of their values: all that may grow in them."""
    value = field.type.item_field.with_name(VALUE)
    return field.with_type(pa.list_(pa.field("item", pa.struct([value]), nullable=False)))


def members_apart(
    part: Part, known: pa.Schema, late: Mapping[str, Member], columns: Columns, where: str
) -> tuple[Part, dict[str, Member]]:
    """Return entries whose records have the members that those of a table began with, and others as columns.

    Such a column has all levels of the one that it is of, down to the member: structs of one member, and the same
    lists. Returns, too, the places of those that are new.

    known: of the table, with the columns of the members in ``late``.

    Raises: InvalidRequestError for a record that lacks members, unless columns may vary.
    """
    whole = with_members(known, late)
    growing = [
        field.name
        for field in part.schema
        if has_other_members(field, whole) or any(one.column == field.name for one in late.values())
    ]
    for one in late.values():
        _check_name_of(one, part.schema.names, where)
    if not growing:
        return part, {}
    new: dict[str, Member] = {}
    #: The columns that each of them becomes.
    become: dict[str, list[pa.Field]] = {}
    for name in growing:
        given, own = part.schema.field(name), whole.field(name)
        lacked = next(_new_in(own.type, given.type), None)
        if lacked is not None and columns != VARY:
            path = Member(name, lacked).path
            raise InvalidRequestError(f"{where}: the data lack {path!r}, which the table has")
        members = [Member(name, way) for way in _new_in(given.type, own.type)]
        for one in members:
            _check_name_of(one, {*new, *known.names, *part.schema.names}, where)
            new[one.path] = one
        become[name] = [
            known.field(name),
            *(known.field(path) for path, one in late.items() if one.column == name),
            *(_alone(given, one.way).with_name(one.path) for one in members),
        ]

    def split(batch: pa.RecordBatch) -> pa.RecordBatch:
        fields, arrays = [], []
        for field, array in zip(batch.schema, batch.columns, strict=True):
            for wanted in become.get(field.name, [field]):
                found = array if wanted is field else _with_levels(array, field, wanted)
                fields.append(field.with_name(wanted.name).with_type(found.type))
                arrays.append(found)
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, metadata=batch.schema.metadata))

    nothing = [pa.nulls(0, field.type) for field in part.schema]
    schema = split(pa.RecordBatch.from_arrays(nothing, schema=part.schema)).schema
    if part.table is None:
        return part._replace(schema=schema, batches=map(split, part.batches)), new
    table = pa.Table.from_batches(map(split, part.table.to_batches()), schema)
    exact, wide = (
        some.union(path for path, one in new.items() if one.column in some)
        for some in (part.exact, part.wide)
    )
    batches = iter(table.to_batches())
    return part._replace(schema=schema, batches=batches, table=table, exact=exact, wide=wide), new


def _check_name_of(member: Member, taken: Collection[str], where: str) -> None:
    """Raise InvalidRequestError for a member that is called as another is, or a column."""
    if member.path in taken:
        raise InvalidRequestError(
            f"{where}: {member.path!r} is a member of the records of {member.column!r} that comes up later, and the "
            "name of a column or another such member: give schema= with all of them, or name one otherwise"
        )


def _alone(field: pa.Field, way: tuple[str, ...]) -> pa.Field:
    """Return a field whose records have one member each, which is on the way to one of them."""
    if not way:
        return field
    if pa.types.is_map(field.type):
        return _alone(_as_list(field), way)
    if not pa.types.is_struct(field.type):
        return field.with_type(with_fields(field.type, [_alone(field.type.value_field, way)]))
    member = field.type.field(field.type.get_field_index(way[0]))
    return field.with_type(pa.struct([_alone(member, way[1:])]))


def _with_levels(array: pa.Array, given: pa.Field, wanted: pa.Field) -> pa.Array:
    """Return the values of a field with the members that records of another one have; defaults for those that lack."""
    if pa.types.is_struct(given.type) and pa.types.is_struct(wanted.type):
        fields, arrays = [], []
        for member in fields_of(wanted.type):
            place = given.type.get_field_index(member.name)
            if place < 0:
                one, inner = member, defaults(member, len(array))
            else:
                one = given.type.field(place)
                inner = _with_levels(array.field(place), one, member)
            fields.append(one.with_type(inner.type))
            arrays.append(inner)
        mask = array.is_null() if array.null_count else None
        if not fields:  # such arrays have no length of their own
            return (
                array if not given.type.num_fields else pa.array([{}] * len(array), pa.struct([]), mask=mask)
            )
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)
    if pa.types.is_map(given.type):
        return _map_with_levels(array, given, wanted)
    if _has_items(given.type) and _has_items(wanted.type):
        item = given.type.value_field
        items = _with_levels(array.values, item, wanted.type.value_field)
        kind = with_fields(given.type, [item.with_type(items.type)])
        n_own = 1 if pa.types.is_fixed_size_list(kind) else 3 if is_view(kind) else 2
        return _with_items(array, kind, n_own, items)
    return array


def _map_with_levels(array: pa.Array, given: pa.Field, wanted: pa.Field) -> pa.Array:
    """Return maps whose values have the members of those of another field, or lists of records of such values alone."""
    own = given.type.item_field
    if pa.types.is_map(wanted.type):
        values = _with_levels(array.items, own, wanted.type.item_field)
        kind = with_fields(given.type, [given.type.key_field, own.with_type(values.type)])
        pairs = pa.StructArray.from_arrays([array.keys, values], fields=fields_of(kind))
        return _with_items(array, kind, 2, pairs)
    if not _has_items(wanted.type):
        return array
    value = wanted.type.value_type.field(0)
    values = _with_levels(array.items, own, value)
    own = own.with_name(value.name).with_type(values.type)
    kind = _as_list(given.with_type(pa.map_(given.type.key_type, own))).type
    return _with_items(array, kind, 2, pa.StructArray.from_arrays([values], fields=[own]))


def _with_items(array: pa.Array, kind: pa.DataType, n_buffers: int, items: pa.Array) -> pa.Array:
    """Return lists of a kind with the ends of others."""
    own = array.buffers()[:n_buffers]
    return pa.Array.from_buffers(kind, len(array), own, array.null_count, array.offset, [items])


def as_their_records(schema: pa.Schema, late: Mapping[str, Member], known: pa.Schema) -> pa.Schema:
    """Return a schema whose members that came up later may be missing where their records in a table may."""
    whole = {name: known.field(name) for name in {one.column for one in late.values()}}
    fields = [
        _with_nulls_of(field, whole[late[field.name].column], late[field.name].way)
        if field.name in late
        else field
        for field in schema
    ]
    return pa.schema(fields, metadata=schema.metadata)


def _with_nulls_of(field: pa.Field, own: pa.Field, way: tuple[str, ...]) -> pa.Field:
    """Return a field that is nullable where another is, down to a member that this one lacks."""
    if pa.types.is_struct(own.type):
        member, place = field.type.field(0), own.type.get_field_index(way[0])
        inner = member if place < 0 else _with_nulls_of(member, own.type.field(place), way[1:])
        kind = pa.struct([inner])
    elif pa.types.is_map(own.type):
        return _with_nulls_of(field, _as_list(own), way)
    else:
        kind = with_fields(field.type, [_with_nulls_of(field.type.value_field, own.type.value_field, way)])
    return field.with_type(kind).with_nullable(own.nullable)


def without_levels(schema: pa.Schema, late: Mapping[str, Member]) -> pa.Schema:
    """Return a schema whose members that came up later have their own fields alone, by the names of their columns."""
    fields = [
        innermost(field, late[field.name].way).with_name(field.name) if field.name in late else field
        for field in schema
    ]
    return pa.schema(fields, metadata=schema.metadata)


def missing_as_typed(
    schema: pa.Schema, types: Sequence[Sequence[tuple[str, str]]], late: Mapping[str, Member]
) -> pa.Schema:
    """Return a schema whose columns may be missing where their C++ types let them.

    types: of the fields of each column, or of the member that it is, by path.
    """
    typed = nullable_as_typed(without_levels(schema, late), types)
    fields = [
        _with_innermost(field, typed.field(field.name), late[field.name].way if field.name in late else ())
        for field in schema
    ]
    return pa.schema(fields, metadata=schema.metadata)


def _with_innermost(field: pa.Field, member: pa.Field, way: tuple[str, ...]) -> pa.Field:
    if not way:
        return member.with_name(field.name)
    kind = field.type
    if not pa.types.is_struct(kind):
        return field.with_type(with_fields(kind, [_with_innermost(kind.value_field, member, way)]))
    inner = kind.field(kind.get_field_index(way[0]))
    return field.with_type(pa.struct([_with_innermost(inner, member, way[1:])]))


def check_no_late_members(given: pa.Schema, known: pa.Schema, where: str) -> None:
    """Raise InvalidRequestError for a member of a record of a tree that comes up late."""
    for field in given:
        place = known.get_field_index(field.name)
        way = None if place < 0 else next(_new_in(field.type, known.field(place).type), None)
        if way is not None:
            raise InvalidRequestError(
                f"{where}: {Member(field.name, way).path!r} comes up later, and a tree stores the members of a record "
                "together: give schema= with all members, or write an RNTuple (layout='rntuple'), whose records get "
                "members"
            )


def with_members(schema: pa.Schema, late: Mapping[str, Member]) -> pa.Schema:
    """Return a schema whose members that came up later are in their records."""
    if not late:
        return schema
    more: dict[str, list[pa.Field]] = {}
    for name, member in late.items():
        more.setdefault(member.column, []).append(schema.field(name))
    fields = [_joined(field, more.get(field.name, [])) for field in schema if field.name not in late]
    return pa.schema(fields, metadata=schema.metadata)


def _joined(field: pa.Field, others: list[pa.Field]) -> pa.Field:
    """Return a field whose records have the members of those of others, too, which are of the same levels."""
    if not others:
        return field
    if pa.types.is_map(field.type):
        values = [one.type.value_type.field(0) for one in others]
        inner = [field.type.key_field, _joined(field.type.item_field, values)]
        return field.with_type(with_fields(field.type, inner))
    if _has_items(field.type):
        item = _joined(field.type.value_field, [one.type.value_field for one in others])
        return field.with_type(with_fields(field.type, [item]))
    members: dict[str, list[pa.Field]] = {one.name: [one] for one in fields_of(field.type)}
    for one in chain.from_iterable(fields_of(other.type) for other in others):
        members.setdefault(one.name, []).append(one)
    return field.with_type(pa.struct([_joined(one[0], one[1:]) for one in members.values()]))
