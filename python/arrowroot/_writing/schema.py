"""The schema that a table is written with, and batches in it.

``nullable`` of a field means that the file says which values are missing. It is decided before the first entry is
written: a tree has no room for it later.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from arrowroot._errors import InvalidRequestError, NoSuchColumnError, nearest
from arrowroot._render import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from arrowroot._writing.data import Part

    #: A pyarrow schema, or types by name: pyarrow's, NumPy's, or the name of one.
    SchemaLike: TypeAlias = "pa.Schema | Mapping[str, Any]"

_N_QUOTED = 5
#: The most levels of lists, structs and the like inside of a column: pyarrow and the Arrow schema that a file records
#: take 64 with the table, the column and what stands around the record.
MAX_LEVELS = 60
#: Why more cannot be written.
TOO_DEEP = f"lists, structs or maps are nested in more than {MAX_LEVELS} levels, the most that a column has"


def schema_of(given: SchemaLike) -> pa.Schema:
    """Return the schema that a user has given. In a mapping, columns have no missing values.

    Raises: InvalidRequestError for types that there are not.
    """
    if isinstance(given, pa.Schema):
        return given
    if not isinstance(given, Mapping):
        raise InvalidRequestError(f"schema: expected a pyarrow schema, or types by name, got {shown(given)}")
    return pa.schema([_field_of(name, kind) for name, kind in given.items()])


def _field_of(name: object, kind: object) -> pa.Field:
    if not isinstance(name, str):
        raise InvalidRequestError(f"schema: names of columns are text, not {shown(name)}")
    if isinstance(kind, pa.Field):
        return kind.with_name(name)
    if isinstance(kind, pa.DataType):
        return pa.field(name, kind, nullable=False)
    try:
        found = pa.type_for_alias(kind) if isinstance(kind, str) else pa.from_numpy_dtype(cast("Any", kind))
    except (ValueError, TypeError, pa.ArrowException):
        raise InvalidRequestError(
            f"schema: column {name!r}: {shown(kind)} is not a type of Arrow or NumPy; lists are "
            "pa.list_(pa.float32()), and those of 3 items pa.list_(pa.float32(), 3)"
        ) from None
    return pa.field(name, found, nullable=False)


def inferred(schema: pa.Schema, part: Part, sample: pa.Table) -> pa.Schema:
    """Return the schema of data whose user gave none: what has a null in ``sample`` may have more.

    sample: the whole data where they are in memory, the first batch of a stream that has entries.
    """
    fields = []
    for place, field in enumerate(schema):
        exact = field.name in part.exact
        kind = _without_metadata(field.type) if exact else field.type
        kind = _narrow(kind) if field.name in part.wide else kind
        if exact:
            fields.append(field.with_type(kind))
        else:
            chunks = sample.column(place).chunks
            is_nullable = pa.types.is_null(kind) or any(map(_n_nulls, chunks))
            fields.append(field.with_type(_with_nulls(kind, chunks)).with_nullable(is_nullable))
    return pa.schema(fields, metadata=schema.metadata)


def is_open(kind: pa.DataType) -> bool:
    """Return whether values have no type yet, at any depth: all are missing, or lists are empty."""
    return bool(pa.types.is_null(kind)) or any(is_open(field.type) for field in fields_of(kind))


def united(schema: pa.Schema, other: pa.Schema) -> pa.Schema:
    """Return a schema whose columns without a type have those of another one, of the same names in any order.

    What is nullable in one of the two is.
    """
    fields = [_united(field, other.field(field.name)) for field in schema]
    return pa.schema(fields, metadata=schema.metadata)


def _united(one: pa.Field, other: pa.Field) -> pa.Field:
    given, more = one.type, other.type
    if pa.types.is_null(given):
        kind = more
    else:
        inner, new = fields_of(given), fields_of(more)
        is_alike = given.id == more.id or (_is_list(given) and _is_list(more))
        names = [[field.name for field in fields] for fields in (inner, new)]
        is_alike &= names[0] == names[1] or not pa.types.is_struct(given)
        kind = given
        if is_alike and len(inner) == len(new):
            kind = _with_fields(given, [_united(a, b) for a, b in zip(inner, new, strict=True)])
    return one.with_type(kind).with_nullable(one.nullable or other.nullable)


def nullable_as_found(
    schema: pa.Schema, read: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
) -> pa.Schema:
    """Return a schema whose nullable fields are those that have a null.

    read: reads some columns, batch by batch; it is called for those that may have one.
    """
    asked = [field.name for field in schema if _may_have_nulls(field)]
    found: list[pa.Field | None] = [None] * len(asked)
    if asked:
        for batch in read(asked):
            for place, (name, array) in enumerate(zip(asked, batch.columns, strict=True)):
                one = pa.field(name, _with_nulls(array.type, [array]), nullable=_n_nulls(array) > 0)
                known = found[place]
                found[place] = one if known is None else _either(known, one)
    by_name = dict(zip(asked, found, strict=True))
    fields = []
    for field in schema:
        one = by_name.get(field.name)
        if field.name not in by_name:
            fields.append(field)
        elif one is None:  # there are no entries
            fields.append(field.with_type(_with_nulls(field.type, [])).with_nullable(False))
        else:
            fields.append(field.with_type(one.type).with_nullable(one.nullable))
    return pa.schema(fields, metadata=schema.metadata)


def _may_have_nulls(field: pa.Field) -> bool:
    return bool(field.nullable) or any(_may_have_nulls(inner) for inner in fields_of(field.type))


def _either(one: pa.Field, other: pa.Field) -> pa.Field:
    """Return a field that is nullable, at every depth, where one of two is."""
    inner = [_either(a, b) for a, b in zip(fields_of(one.type), fields_of(other.type), strict=True)]
    return one.with_type(_with_fields(one.type, inner)).with_nullable(one.nullable or other.nullable)


def _without_metadata(kind: pa.DataType) -> pa.DataType:
    return _mapped(kind, lambda field: field.remove_metadata())


def _mapped(kind: pa.DataType, change: Callable[[pa.Field], pa.Field]) -> pa.DataType:
    """Return a type with its inner fields changed, the innermost first."""

    def inner(field: pa.Field) -> pa.Field:
        return change(field.with_type(_mapped(field.type, change)))

    return _with_fields(kind, [inner(field) for field in fields_of(kind)])


def fields_of(kind: pa.DataType, *, has_views: bool = False) -> list[pa.Field]:
    """Return the fields inside of a type: of lists, structs and maps; ``has_views``: and of views of lists."""
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    if pa.types.is_struct(kind):
        return [kind.field(place) for place in range(kind.num_fields)]
    is_list = _is_list(kind) or (has_views and _is_view(kind))
    return [kind.value_field] if is_list else []


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema as layouts see it; see :func:`stored_field`."""
    return pa.schema([stored_field(field) for field in schema])


def stored_field(field: pa.Field) -> pa.Field:
    """Return a field as layouts see it: dictionaries and runs are values, lists and texts of any kind are plain."""
    return field.with_type(_stored_type(field.type))


def _stored_type(kind: pa.DataType) -> pa.DataType:
    is_of = pa.types
    if is_of.is_dictionary(kind) or is_of.is_run_end_encoded(kind):
        return _stored_type(kind.value_type)
    if _is_view(kind):
        return pa.list_(stored_field(kind.value_field))
    plain = _narrow(kind)
    return _with_fields(plain, [stored_field(field) for field in fields_of(plain)])


def check_field(field: pa.Field) -> None:
    """Raise InvalidRequestError for what the C interface cannot say, at any depth, before anybody else looks inside.

    Texts of C end at a NUL, so that no name has one; types are nested in :data:`MAX_LEVELS` levels at most.
    Raises, too, UnicodeDecodeError for a name that is not UTF-8.
    """
    # No recursion: a type may be nested more deeply than Python calls.
    left = [(field.name, field.type, 0)]
    while left:
        name, kind, level = left.pop()
        if "\0" in name:
            raise InvalidRequestError(f"column {name!r}: a name has no NUL character")
        if level > MAX_LEVELS:
            raise InvalidRequestError(f"column {field.name!r}: {TOO_DEEP}")
        try:
            getattr(kind, "tz", None)
        except UnicodeDecodeError as error:
            raise InvalidRequestError(f"column {field.name!r}: a zone that is not UTF-8: {error}") from None
        if isinstance(kind, pa.BaseExtensionType):
            left.append((name, kind.storage_type, level))
        elif pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
            left.append((name, kind.value_type, level + 1))
        else:
            # A map is a list of structs.
            level += 2 if pa.types.is_map(kind) else 1
            left.extend((inner.name, inner.type, level) for inner in fields_of(kind, has_views=True))


def check_zones(field: pa.Field, where: str) -> None:
    """Raise InvalidRequestError for times in a zone that there is not: nobody could tell what they are."""
    zones = [zone for kind in within(stored_field(field).type) if (zone := getattr(kind, "tz", None))]
    for zone in zones:
        if not _is_zone(zone):
            raise InvalidRequestError(
                f"{where}: column {field.name!r}: times in the zone {zone!r}, which there is not: expected one as "
                "'Europe/Zurich', 'UTC' or '+01:00'"
            )


def within(kind: pa.DataType) -> Iterator[pa.DataType]:
    """Yield a type and those inside of it."""
    yield kind
    if isinstance(kind, pa.BaseExtensionType):
        yield from within(kind.storage_type)
    for field in fields_of(kind):
        yield from within(field.type)


@lru_cache(256)
def _is_zone(name: str) -> bool:
    import zoneinfo

    if re.fullmatch(r"[+-]([01]\d|2[0-3]):?[0-5]\d", name):
        return True
    try:
        zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        # A machine without any of them knows nothing of this one either.
        return not zoneinfo.available_timezones()
    return True


def _is_list(kind: pa.DataType) -> bool:
    is_of = pa.types
    return bool(is_of.is_list(kind) or is_of.is_large_list(kind) or is_of.is_fixed_size_list(kind))


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


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
    if is_of.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _narrow(kind.value_type), kind.ordered)
    fields = [field.with_type(_narrow(field.type)) for field in fields_of(kind)]
    return pa.list_(fields[0]) if is_of.is_large_list(kind) else _with_fields(kind, fields)


def _n_nulls(array: pa.Array) -> int:
    """Return how many values are missing, or more: dictionaries and runs may have some that no entry uses."""
    if pa.types.is_run_end_encoded(array.type):
        return _n_nulls(array.values)
    if pa.types.is_dictionary(array.type):
        return int(array.null_count + array.dictionary.null_count)
    return int(array.null_count)


def _with_nulls(kind: pa.DataType, arrays: Sequence[pa.Array]) -> pa.DataType:
    """Return a type whose inner fields are nullable where these arrays have a null."""
    fields = fields_of(kind)
    if pa.types.is_map(kind) or pa.types.is_struct(kind):
        arrays = [_present(array) for array in arrays]
    if pa.types.is_map(kind):
        inner = [list(parts) for parts in zip(*map(items_of_maps, arrays), strict=True)] or [[], []]
    elif pa.types.is_struct(kind):
        inner = [[array.field(place) for array in arrays] for place in range(len(fields))]
    else:
        # flatten() leaves out what is in lists that are null.
        inner = [[array.flatten() for array in arrays]] if fields else []
    made = [
        field.with_type(_with_nulls(field.type, parts)).with_nullable(
            any(map(_n_nulls, parts)) and not (pa.types.is_map(kind) and place == 0)
        )
        for place, (field, parts) in enumerate(zip(fields, inner, strict=True))
    ]
    return _with_fields(kind, made)


def _present(array: pa.Array) -> pa.Array:
    """Return structs or maps without the missing ones, whose members are not missing themselves."""
    if not array.null_count or not _has_nulls_inside(array):
        return array
    # pyarrow picks nothing out of these: where there are some, what is missing itself counts inside, too.
    shadow = _shadow(array)
    has_unpicked = any(any(is_one(kind) for is_one in _UNPICKED) for kind in within(shadow.type))
    return array if has_unpicked else shadow.drop_null()


def _shadow(array: pa.Array) -> pa.Array:
    """Return structs with bools for views of texts: what is missing is the same."""
    kind = array.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return pa.array(np.ones(len(array), np.bool_), mask=array.is_null().to_numpy(zero_copy_only=False))
    if not pa.types.is_struct(kind) or not kind.num_fields:
        return array
    members = [_shadow(array.field(place)) for place in range(kind.num_fields)]
    fields = [pa.field(kind.field(place).name, member.type) for place, member in enumerate(members)]
    return pa.StructArray.from_arrays(members, fields=fields, mask=array.is_null())


_UNPICKED = (
    pa.types.is_run_end_encoded,
    pa.types.is_string_view,
    pa.types.is_binary_view,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)


def _has_nulls_inside(array: pa.Array) -> bool:
    """Return whether there may be nulls inside, also those of what is missing itself."""
    kind = array.type
    if pa.types.is_struct(kind):
        inside = [array.field(place) for place in range(kind.num_fields)]
    elif pa.types.is_map(kind):
        inside = [array.items]
    else:
        inside = [array.values] if _is_list(kind) else []
    return any(_n_nulls(one) > 0 or _has_nulls_inside(one) for one in inside)


def conformed(
    batch: pa.RecordBatch, schema: pa.Schema, where: str, first_entry: int, *, exactly: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield a batch in the schema of its table: columns by name, numbers and times converted where that is exact.

    Texts and lists of other forms, dictionaries and runs stay what they are, as the engine writes them piece by piece,
    unless ``exactly`` the types of the schema are asked for.
    A float that is stored as a shorter one is rounded, as that is what was asked for, but stays finite.

    first_entry: number of its first entry, for messages.

    Raises: InvalidRequestError, which names the column, for other types and for values that do not fit;
    NoSuchColumnError for columns that the table does not have.
    """
    if batch.schema.equals(schema):
        # As wide tables are filled event by event: nothing is looked at column by column.
        yield batch
        return
    check_names(batch.schema, schema, where)
    arrays = []
    for field in schema:
        array = batch.column(batch.schema.get_field_index(field.name))
        try:
            array = _cast(array, field.type, exactly=exactly)
        except pa.ArrowInvalid as error:
            if "overflow" in str(error) and batch.num_rows > 1:
                # More in its lists, or texts, than 32 bits number.
                half = batch.num_rows // 2
                yield from conformed(batch.slice(0, half), schema, where, first_entry, exactly=exactly)
                yield from conformed(batch.slice(half), schema, where, first_entry + half, exactly=exactly)
                return
            raise InvalidRequestError(f"{where}: column {field.name!r}: {error}") from None
        except _OtherTypeError:
            raise InvalidRequestError(
                f"{where}: column {field.name!r} is {field.type}, and from entry {first_entry} on {array.type} came; "
                "schema= says what all of them are"
            ) from None
        arrays.append(array)
    # Flags of inner fields may differ from the table's: the engine goes by the schema that it was given.
    yield pa.RecordBatch.from_arrays(arrays, names=schema.names)


def check_missing(table: pa.Table, schema: pa.Schema, where: str, first_entry: int) -> None:
    """Raise InvalidRequestError for a value that is missing where none is stored, at any depth, with its entry.

    first_entry: number of the first one, for messages. Types that are not the schema's are not looked into.

    Raises, too: as :func:`check_names`.
    """
    check_names(table.schema, schema, where)
    for field in schema:
        entry = first_entry
        for chunk in table.column(field.name).chunks:
            if _lacks(chunk, field):
                raise InvalidRequestError(
                    f"{where}: column {field.name!r}: entry {entry + _first_lacking(chunk, field)} is null, and nulls "
                    "are not stored: give a schema in which this field is nullable (schema=)"
                )
            entry += len(chunk)


def check_said(batch: pa.RecordBatch, first_entry: int) -> None:
    """Raise InvalidRequestError for a null where the batch's own schema has a field that is not nullable, at any depth.

    first_entry: number of the first one, for messages.
    """
    for place, field in enumerate(batch.schema):
        if may_lack(field) and _lacks(array := batch.column(place), field):
            raise InvalidRequestError(
                f"column {field.name!r}: entry {first_entry + _first_lacking(array, field)} of the data is null, or "
                "has a null in it, and their own schema calls that field non-nullable: make it nullable there"
            )


def says_more(given: pa.Field, field: pa.Field) -> bool:
    """Return whether a field of the same layout excludes nulls, at any depth, where another one does not."""
    return (field.nullable and not given.nullable) or any(
        map(says_more, fields_of(given.type), fields_of(field.type))
    )


def _lacks(array: pa.Array, field: pa.Field) -> bool:
    """Return whether a value is missing that must not be."""
    if isinstance(array, pa.ExtensionArray):
        kind = field.type
        storage = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
        return _lacks(array.storage, field.with_type(storage))
    if not field.nullable and _n_nulls(array) and _has_null(array):
        return True
    fields = _said_inside(field.type)
    if len(_said_inside(array.type)) != len(fields) or not any(map(may_lack, fields)):
        return False
    children = (
        [array.field(place) for place in range(len(fields))] if pa.types.is_struct(array.type) else None
    )
    # Mostly nothing is missing, and nothing is copied to see that.
    around = children or ([array.keys, array.items] if pa.types.is_map(array.type) else [array.values])
    if not any(map(_lacks, around, fields)):
        return False
    if _is_view(array.type):
        return any(_lacks(items, fields[0]) for items in _items_in_use(array))
    # Members of a missing struct are not missing themselves.
    present = array.drop_null() if array.null_count else array
    inside = [present.field(place) for place in range(len(fields))] if children else _inside(present)
    return any(map(_lacks, inside, fields))


def may_lack(field: pa.Field) -> bool:
    """Return whether a field, or one inside of it, is not nullable."""
    return not field.nullable or any(map(may_lack, _said_inside(field.type)))


def _said_inside(kind: pa.DataType) -> list[pa.Field]:
    """Return the fields inside of a type as it is given, before lists of views and extensions are plain."""
    if isinstance(kind, pa.BaseExtensionType):
        return _said_inside(kind.storage_type)
    is_view = pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind)
    return [kind.value_field] if is_view else fields_of(kind)


def _has_null(array: pa.Array) -> bool:
    """Return whether an entry is missing: values of dictionaries and runs may be that no entry uses."""
    import pyarrow.compute as pc

    if pa.types.is_run_end_encoded(array.type):
        return _has_null(array.values.slice(array.find_physical_offset(), array.find_physical_length()))
    if pa.types.is_dictionary(array.type) and not array.null_count:
        return bool(pc.any(array.dictionary.is_null().take(array.indices)).as_py())
    return bool(array.null_count > 0)


def _items_in_use(array: pa.Array) -> Iterator[pa.Array]:
    """Yield the items that lists of views have, each once: many lists may have the same ones."""
    starts, sizes = (
        one.to_numpy(zero_copy_only=False).astype(np.int64) for one in (array.offsets, array.sizes)
    )
    is_used = array.is_valid().to_numpy(zero_copy_only=False) & (sizes > 0)
    order = np.argsort(starts[is_used], kind="stable")
    starts, sizes = starts[is_used][order], sizes[is_used][order]
    ends = np.maximum.accumulate(starts + sizes)
    # One row of items ends where the next one begins behind it.
    begins = np.flatnonzero(np.concatenate([[True], starts[1:] > ends[:-1]])[: len(starts)])
    for first, last in zip(begins, [*(begins[1:] - 1), -1], strict=False):
        yield array.values.slice(int(starts[first]), int(ends[last] - starts[first]))


def _first_lacking(array: pa.Array, field: pa.Field) -> int:
    """Return the place of the first value that lacks something; there is one."""
    first, n = 0, len(array)
    while n > 1:
        half = n // 2
        if _lacks(array.slice(first, half), field):
            n = half
        else:
            first, n = first + half, n - half
    return first


def check_names(given: pa.Schema, schema: pa.Schema, where: str) -> None:
    """Raise InvalidRequestError, or NoSuchColumnError, for other columns than those of a table; in any order."""
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


def _cast(array: pa.Array, kind: pa.DataType, *, exactly: bool) -> pa.Array:
    if _has_layout(array.type, kind):
        return array
    if not exactly and _has_layout(_stored_type(array.type), _stored_type(kind)):
        return array
    if not _is_alike(array.type, kind):
        raise _OtherTypeError
    # pyarrow converts no nullable members to others, whether a null is among them or not.
    made = array.cast(_mapped(kind, lambda field: field.with_nullable(True)))
    _check_kept(array, made)
    return made


def _check_kept(given: pa.Array, made: pa.Array) -> None:
    """Raise pa.ArrowInvalid for values that are others after a cast: pyarrow checks integers alone."""
    kind = made.type
    if pa.types.is_dictionary(given.type):
        _check_kept(given.dictionary_decode(), made)
    elif pa.types.is_null(given.type) or given.type == kind:
        return
    elif fields_of(kind):
        for one, other in zip(_inside(given), _inside(made), strict=True):
            _check_kept(one, other)
    elif pa.types.is_floating(kind) and not _is_wider(kind, given.type):
        _check_finite(given, made)
    elif pa.types.is_temporal(kind) and not made.cast(given.type, safe=False).equals(given):
        raise pa.ArrowInvalid(f"some {given.type} are other values as {kind}")


def _check_finite(given: pa.Array, made: pa.Array) -> None:
    import pyarrow.compute as pc

    floats = made.cast(pa.float32()) if pa.types.is_float16(made.type) else made
    infinite = pc.is_inf(floats)
    is_whole = pa.types.is_integer(given.type)
    if pc.any(infinite).as_py() and (is_whole or not infinite.equals(pc.is_inf(given))):
        raise pa.ArrowInvalid(f"some {given.type} are larger than any {made.type}")
    # pyarrow checks integers that become other floats.
    if is_whole and floats is not made and not floats.cast(given.type, safe=False).equals(given):
        raise pa.ArrowInvalid(f"some {given.type} are no {made.type}")


def _is_wider(kind: pa.DataType, given: pa.DataType) -> bool:
    """Return whether a float holds all values of another one."""
    return bool(pa.types.is_floating(given)) and cast("int", kind.bit_width) > cast("int", given.bit_width)


def _inside(array: pa.Array) -> list[pa.Array]:
    """Return what is in lists, structs or maps that are not missing."""
    if pa.types.is_map(array.type):
        return list(items_of_maps(array))
    # flatten() of structs takes their missing values along, that of lists leaves out what is in missing ones.
    return array.flatten() if pa.types.is_struct(array.type) else [array.flatten()]


def have_layout(given: pa.Schema, schema: pa.Schema) -> bool:
    """Return whether schemas differ at most in flags, metadata and the names of what is in lists."""
    return given.names == schema.names and all(map(_has_layout, given.types, schema.types))


def _has_layout(given: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether types differ at most in flags, metadata and the names of what is in lists."""
    if given == kind:
        return True
    one, other = fields_of(given), fields_of(kind)
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
        return [f.name for f in fields_of(given)] == [f.name for f in fields_of(kind)] and _are_alike(
            given, kind
        )
    if _is_list(given) and _is_list(kind):
        return _is_alike(given.value_type, kind.value_type)
    return any(is_it(given) and is_it(kind) for is_it in (_is_number, _is_text, _is_bytes, *_TIMES))


def _are_alike(given: pa.DataType, kind: pa.DataType) -> bool:
    pairs = zip(fields_of(given), fields_of(kind), strict=True)
    return all(_is_alike(one.type, other.type) for one, other in pairs)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_local(kind: pa.DataType) -> bool:
    """Return whether values are days, or times of days, of no zone."""
    return bool(pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None))


def _is_instant(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.tz is not None)


#: Times that may become others of their kind: without a day, or a zone, they are others.
_TIMES = (_is_local, _is_instant, pa.types.is_time, pa.types.is_duration)


def _is_text(kind: pa.DataType) -> bool:
    is_of = pa.types
    return bool(is_of.is_string(kind) or is_of.is_large_string(kind) or is_of.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    is_of = pa.types
    return bool(is_of.is_binary(kind) or is_of.is_large_binary(kind) or is_of.is_binary_view(kind))


def items_of_maps(array: pa.MapArray) -> tuple[pa.Array, pa.Array]:
    """Return the keys and the items of maps: those of a slice alone."""
    offsets = array.offsets.to_numpy()
    first, last = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
    return array.keys.slice(first, last - first), array.items.slice(first, last - first)
