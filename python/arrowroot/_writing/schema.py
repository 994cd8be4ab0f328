"""The schema that a table is written with, and batches in it.

``nullable`` of a field means that the file says which values are missing. It is decided before the first entry is
written: a tree has no room for it later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from arrowroot._errors import InvalidRequestError, NoSuchColumnError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from arrowroot._writing.data import Part

    #: A pyarrow schema, or types by name: pyarrow's, NumPy's, or the name of one.
    SchemaLike: TypeAlias = "pa.Schema | Mapping[str, Any]"

_N_QUOTED = 5


def schema_of(given: SchemaLike) -> pa.Schema:
    """Return the schema that a user has given. In a mapping, columns have no missing values.

    Raises: InvalidRequestError for types that there are not.
    """
    if isinstance(given, pa.Schema):
        return given
    if not isinstance(given, Mapping):
        raise InvalidRequestError(f"schema: expected a pyarrow schema, or types by name, got {given!r}")
    return pa.schema([_field_of(name, kind) for name, kind in given.items()])


def _field_of(name: object, kind: object) -> pa.Field:
    if not isinstance(name, str):
        raise InvalidRequestError(f"schema: names of columns are text, not {name!r}")
    if isinstance(kind, pa.Field):
        return kind.with_name(name)
    if isinstance(kind, pa.DataType):
        return pa.field(name, kind, nullable=False)
    try:
        found = pa.type_for_alias(kind) if isinstance(kind, str) else pa.from_numpy_dtype(cast("Any", kind))
    except (ValueError, TypeError, pa.ArrowException):
        raise InvalidRequestError(
            f"schema: column {name!r}: {kind!r} is not a type of Arrow or NumPy"
        ) from None
    return pa.field(name, found, nullable=False)


def inferred(part: Part, sample: pa.Table) -> pa.Schema:
    """Return the schema of data whose user gave none: what has a null in ``sample`` may have more.

    sample: the whole data where they are in memory, the first batch of a stream.
    """
    fields = []
    for place, field in enumerate(part.schema):
        exact = field.name in part.exact
        kind = _without_metadata(field.type) if exact else field.type
        kind = _narrow(kind) if field.name in part.wide else kind
        if exact:
            fields.append(field.with_type(kind))
        else:
            chunks = sample.column(place).chunks
            is_nullable = any(chunk.null_count for chunk in chunks)
            fields.append(field.with_type(_with_nulls(kind, chunks)).with_nullable(is_nullable))
    return pa.schema(fields, metadata=_metadata(part.schema))


def _metadata(schema: pa.Schema) -> dict[bytes, bytes] | None:
    # pandas' describes the frame that a table was, with columns that need not be there any more.
    kept = {name: text for name, text in (schema.metadata or {}).items() if name != b"pandas"}
    return kept or None


def _without_metadata(kind: pa.DataType) -> pa.DataType:
    return _mapped(kind, lambda field: field.remove_metadata())


def _mapped(kind: pa.DataType, change: Callable[[pa.Field], pa.Field]) -> pa.DataType:
    """Return a type with its inner fields changed, the innermost first."""

    def inner(field: pa.Field) -> pa.Field:
        return change(field.with_type(_mapped(field.type, change)))

    return _with_fields(kind, [inner(field) for field in _fields(kind)])


def _fields(kind: pa.DataType) -> list[pa.Field]:
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    if pa.types.is_struct(kind):
        return [kind.field(place) for place in range(kind.num_fields)]
    return [kind.value_field] if _is_list(kind) else []


def _is_list(kind: pa.DataType) -> bool:
    is_of = pa.types
    return bool(is_of.is_list(kind) or is_of.is_large_list(kind) or is_of.is_fixed_size_list(kind))


def _with_fields(kind: pa.DataType, fields: Sequence[pa.Field]) -> pa.DataType:
    if not fields:
        return kind
    if pa.types.is_map(kind):
        return pa.map_(fields[0].with_nullable(False), fields[1], keys_sorted=kind.keys_sorted)
    if pa.types.is_struct(kind):
        return pa.struct(fields)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(fields[0], kind.list_size)
    return pa.large_list(fields[0]) if pa.types.is_large_list(kind) else pa.list_(fields[0])


def _narrow(kind: pa.DataType) -> pa.DataType:
    """Return a type whose lists and texts, however deep, number what is in them by 32 bits."""
    is_of = pa.types
    if is_of.is_large_string(kind) or is_of.is_string_view(kind):
        return pa.string()
    if is_of.is_large_binary(kind) or is_of.is_binary_view(kind):
        return pa.binary()
    fields = [field.with_type(_narrow(field.type)) for field in _fields(kind)]
    return pa.list_(fields[0]) if is_of.is_large_list(kind) else _with_fields(kind, fields)


def _with_nulls(kind: pa.DataType, arrays: Sequence[pa.Array]) -> pa.DataType:
    """Return a type whose inner fields are nullable where these arrays have a null."""
    fields = _fields(kind)
    if pa.types.is_map(kind):
        inner = [[array.keys for array in arrays], [array.items for array in arrays]]
    elif pa.types.is_struct(kind):
        inner = [[array.field(place) for array in arrays] for place in range(len(fields))]
    else:
        # flatten() leaves out what is in lists that are null.
        inner = [[array.flatten() for array in arrays]] if fields else []
    made = [
        field.with_type(_with_nulls(field.type, parts)).with_nullable(
            any(part.null_count for part in parts) and not (pa.types.is_map(kind) and place == 0)
        )
        for place, (field, parts) in enumerate(zip(fields, inner, strict=True))
    ]
    return _with_fields(kind, made)


def conformed(
    batch: pa.RecordBatch, schema: pa.Schema, where: str, first_entry: int
) -> Iterator[pa.RecordBatch]:
    """Yield a batch in the schema of its table: columns by name, numbers converted where that is exact.

    first_entry: number of its first entry, for messages.

    Raises: InvalidRequestError, which names column and entry, for other types, for values that do not fit, and for a
    missing value where none is stored; NoSuchColumnError for columns that the table does not have.
    """
    _check_names(batch.schema, schema, where)
    arrays = []
    for field in schema:
        array = batch.column(batch.schema.get_field_index(field.name))
        try:
            array = _cast(array, field.type)
        except pa.ArrowInvalid as error:
            if "overflow" in str(error) and batch.num_rows > 1:
                # More in its lists, or texts, than 32 bits number.
                half = batch.num_rows // 2
                yield from conformed(batch.slice(0, half), schema, where, first_entry)
                yield from conformed(batch.slice(half), schema, where, first_entry + half)
                return
            raise InvalidRequestError(f"{where}: column {field.name!r}: {error}") from None
        except _OtherTypeError:
            raise InvalidRequestError(
                f"{where}: column {field.name!r} is {field.type}, and from entry {first_entry} on {array.type} came; "
                "schema= says what all of them are"
            ) from None
        _check_nulls(array, field, where, first_entry)
        arrays.append(array)
    # Flags of inner fields may differ from the table's: the engine goes by the schema that it was given.
    yield pa.RecordBatch.from_arrays(arrays, names=schema.names)


def _check_names(given: pa.Schema, schema: pa.Schema, where: str) -> None:
    names = given.names
    if names == schema.names:
        return
    for name in names:
        if names.count(name) > 1:
            raise InvalidRequestError(f"{where}: two columns are called {name!r}")
        if name not in schema.names:
            near = nearest(name, schema.names)
            raise NoSuchColumnError(
                f"{where}: the table has no column {name!r}", name, near, known=schema.names
            )
    missing = [name for name in schema.names if name not in names]
    if missing:
        more = f" and {len(missing) - _N_QUOTED} more" if len(missing) > _N_QUOTED else ""
        quoted = ", ".join(map(repr, missing[:_N_QUOTED]))
        raise InvalidRequestError(f"{where}: the data lack {quoted}{more}, which the table has")


class _OtherTypeError(Exception):
    """A type that is not converted."""


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if _has_layout(array.type, kind):
        return array
    if not _is_alike(array.type, kind):
        raise _OtherTypeError
    # pyarrow converts no nullable members to others, whether a null is among them or not.
    return array.cast(_mapped(kind, lambda field: field.with_nullable(True)))


def _has_layout(given: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether types differ at most in flags, metadata and the names of what is in lists."""
    if given == kind:
        return True
    one, other = _fields(given), _fields(kind)
    if not one or given.id != kind.id or len(one) != len(other):
        return False
    if pa.types.is_fixed_size_list(kind) and given.list_size != kind.list_size:
        return False
    if pa.types.is_struct(kind) and [field.name for field in one] != [field.name for field in other]:
        return False
    return all(_has_layout(a.type, b.type) for a, b in zip(one, other, strict=True))


def _is_alike(given: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether values of a type may become another, if they all fit: not text of numbers, or the like."""
    is_of = pa.types
    if given == kind or is_of.is_null(given):
        return True
    if is_of.is_dictionary(given):
        return _is_alike(given.value_type, kind)
    if is_of.is_map(given) or is_of.is_map(kind):
        both = is_of.is_map(given) and is_of.is_map(kind)
        return both and _are_alike(given, kind)
    if is_of.is_struct(given) and is_of.is_struct(kind):
        return [f.name for f in _fields(given)] == [f.name for f in _fields(kind)] and _are_alike(given, kind)
    if _is_list(given) and _is_list(kind):
        return _is_alike(given.value_type, kind.value_type)
    return any(is_it(given) and is_it(kind) for is_it in (_is_number, _is_text, _is_bytes, is_of.is_temporal))


def _are_alike(given: pa.DataType, kind: pa.DataType) -> bool:
    pairs = zip(_fields(given), _fields(kind), strict=True)
    return all(_is_alike(one.type, other.type) for one, other in pairs)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_text(kind: pa.DataType) -> bool:
    is_of = pa.types
    return bool(is_of.is_string(kind) or is_of.is_large_string(kind) or is_of.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    is_of = pa.types
    return bool(is_of.is_binary(kind) or is_of.is_large_binary(kind) or is_of.is_binary_view(kind))


def _check_nulls(array: pa.Array, field: pa.Field, where: str, first_entry: int) -> None:
    place = _first_null(array, field)
    if place is not None:
        raise InvalidRequestError(
            f"{where}: column {field.name!r}: a value is missing in entry {first_entry + place}, and the table was "
            f"begun without missing values in it; say so with schema=, where {field.name!r} is nullable"
        )


def _first_null(array: pa.Array, field: pa.Field) -> int | None:
    """Return the place of the first value in which one is null that must not be."""
    if array.null_count and not field.nullable and not pa.types.is_null(field.type):
        is_null = np.asarray(array.is_null().to_numpy(zero_copy_only=False))
        return int(np.argmax(is_null))
    kind = field.type
    if pa.types.is_map(kind):
        inner = [(array.keys, kind.key_field), (array.items, kind.item_field)]
        return _of_lists(array, inner)
    if pa.types.is_struct(kind):
        # Members of what is missing count as missing, too.
        found = [
            _first_null(array.field(place), member)
            for place, member in enumerate(_fields(kind))
            if not array.null_count
        ]
        return min((place for place in found if place is not None), default=None)
    return _of_lists(array, [(array.flatten(), kind.value_field)]) if _is_list(kind) else None


def _of_lists(array: pa.Array, inner: Sequence[tuple[pa.Array, pa.Field]]) -> int | None:
    """Return the first list that has a null item, among the items of all lists that are there."""
    places = [place for items, field in inner if (place := _first_null(items, field)) is not None]
    if not places:
        return None
    if pa.types.is_fixed_size_list(array.type):
        lengths = np.where(array.is_null().to_numpy(zero_copy_only=False), 0, array.type.list_size)
    elif pa.types.is_map(array.type):
        offsets = np.asarray(array.offsets.to_numpy())
        return int(np.searchsorted(offsets, min(places) + int(offsets[0]), side="right")) - 1
    else:
        lengths = np.nan_to_num(array.value_lengths().to_numpy(zero_copy_only=False)).astype(np.int64)
    return int(np.searchsorted(np.cumsum(lengths), min(places), side="right"))
