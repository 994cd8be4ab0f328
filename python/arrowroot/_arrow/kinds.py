"""Types of Arrow taken apart and put together: what is in lists, structs and maps, at any depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def fields_of(kind: pa.DataType, *, has_views: bool = False) -> list[pa.Field]:
    """Return the fields inside of a type: of lists, structs and maps; ``has_views``: and of views of lists."""
    if not kind.num_fields:
        return []
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    if pa.types.is_struct(kind):
        return [kind.field(index) for index in range(kind.num_fields)]
    return [kind.value_field] if is_list(kind) or (has_views and is_view(kind)) else []


#: Identifiers of types that have nothing inside, and one form: most columns are asked for no more.
PLAIN = frozenset(
    kind.id
    for kind in (
        pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
        pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.binary(1),
    )
)  # fmt: skip
_LIST = pa.list_(pa.int8()).id


def within(kind: pa.DataType) -> Iterator[pa.DataType]:
    """Yield a type and those inside of it."""
    yield kind
    if isinstance(kind, pa.BaseExtensionType):
        yield from within(kind.storage_type)
    for field in (*fields_of(kind), *members_of(kind)):
        yield from within(field.type)


def members_of(kind: pa.DataType) -> list[pa.Field]:
    """Return the members of a union; none of other types."""
    return [kind.field(index) for index in range(kind.num_fields)] if pa.types.is_union(kind) else []


def all_fields_of(kind: pa.DataType) -> list[pa.Field]:
    """Return the fields inside of a type: of lists of any kind, structs and maps, and the members of unions."""
    return [*fields_of(kind, has_views=True), *members_of(kind)]


def mapped(kind: pa.DataType, change: Callable[[pa.Field], pa.Field]) -> pa.DataType:
    """Return a type with its inner fields changed, the innermost first."""

    def inner(field: pa.Field) -> pa.Field:
        return change(field.with_type(mapped(field.type, change)))

    return with_fields(kind, [inner(field) for field in all_fields_of(kind)])


def with_fields(kind: pa.DataType, fields: Sequence[pa.Field]) -> pa.DataType:
    """Return a type with other fields inside; itself if there are none."""
    if not fields:
        return kind
    if pa.types.is_map(kind):
        return pa.map_(fields[0].with_nullable(False), fields[1], keys_sorted=kind.keys_sorted)
    if pa.types.is_struct(kind):
        return pa.struct(fields)
    if pa.types.is_union(kind):
        return pa.union(fields, kind.mode, kind.type_codes)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(fields[0], kind.list_size)
    if is_view(kind):
        is_large = pa.types.is_large_list_view(kind)
        return pa.large_list_view(fields[0]) if is_large else pa.list_view(fields[0])
    return pa.large_list(fields[0]) if pa.types.is_large_list(kind) else pa.list_(fields[0])


def nullable_as(field: pa.Field, other: pa.Field) -> pa.Field:
    """Return a field that is nullable where another is, at any depth, as far as their types are made alike."""
    inner, others = all_fields_of(field.type), all_fields_of(other.type)
    kind = field.type
    if len(inner) == len(others):
        kind = with_fields(kind, [nullable_as(one, of) for one, of in zip(inner, others, strict=True)])
    return field.with_type(kind).with_nullable(other.nullable)


def nullable_in_either(field: pa.Field, other: pa.Field) -> pa.Field:
    """Return a field that is nullable where one of two of the same type is, at any depth."""
    inner = zip(all_fields_of(field.type), all_fields_of(other.type), strict=False)
    kind = with_fields(field.type, [nullable_in_either(one, of) for one, of in inner])
    return field.with_type(kind).with_nullable(field.nullable or other.nullable)


def has_more_nulls(field: pa.Field, other: pa.Field) -> bool:
    """Return whether something in a field may be missing that may not in another of the same type, at any depth."""
    inside = zip(fields_of(field.type), fields_of(other.type), strict=False)
    return (field.nullable and not other.nullable) or any(has_more_nulls(one, of) for one, of in inside)


def innermost(field: pa.Field, way: tuple[str, ...]) -> pa.Field:
    """Return the field of a member on its way from a field, through lists, too."""
    for name in way:
        while not pa.types.is_struct(field.type):
            field = field.type.value_field
        field = field.type.field(field.type.get_field_index(name))
    return field


def narrow(kind: pa.DataType) -> pa.DataType:
    """Return a type whose lists and texts, however deep, number what is in them by 32 bits."""
    if kind.id in PLAIN:
        return kind
    is_of = pa.types
    if is_of.is_large_string(kind) or is_of.is_string_view(kind):
        return pa.string()
    if is_of.is_large_binary(kind) or is_of.is_binary_view(kind):
        return pa.binary()
    if is_of.is_dictionary(kind):
        return pa.dictionary(kind.index_type, narrow(kind.value_type), kind.ordered)
    fields = [field.with_type(narrow(field.type)) for field in fields_of(kind)]
    return pa.list_(fields[0]) if is_of.is_large_list(kind) else with_fields(kind, fields)


def without_metadata(kind: pa.DataType) -> pa.DataType:
    """Return a type whose inner fields have no metadata."""
    return mapped(kind, lambda field: field.remove_metadata())


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema as layouts see it; see :func:`stored_field`."""
    return pa.schema([stored_field(field) for field in schema])


def stored_field(field: pa.Field) -> pa.Field:
    """Return a field as layouts see it: dictionaries and runs are values, lists and texts of any kind are plain."""
    return field.with_type(stored_type(field.type))


def stored_type(kind: pa.DataType) -> pa.DataType:
    """Return a type as layouts see it; see :func:`stored_field`."""
    if kind.id in PLAIN or (kind.id == _LIST and kind.value_type.id in PLAIN):
        return kind
    is_of = pa.types
    if is_of.is_dictionary(kind) or is_of.is_run_end_encoded(kind):
        return stored_type(kind.value_type)
    if is_view(kind):
        return pa.list_(stored_field(kind.value_field))
    plain = narrow(kind)
    return with_fields(plain, [stored_field(field) for field in fields_of(plain)])


def is_list(kind: pa.DataType) -> bool:
    """Return whether values are lists, of any kind but views."""
    is_of = pa.types
    return bool(is_of.is_list(kind) or is_of.is_large_list(kind) or is_of.is_fixed_size_list(kind))


def is_view(kind: pa.DataType) -> bool:
    """Return whether values are views of lists."""
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))
