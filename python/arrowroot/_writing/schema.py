"""The schema that a table is written with.

``nullable`` of a field means that the file says which values are missing. It is decided before the first entry is
written: a tree has no room for it later.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from arrowroot._arrow.kinds import (
    all_fields_of,
    fields_of,
    is_list,
    members_of,
    narrow,
    nullable_as,
    stored_field,
    with_fields,
    within,
    without_metadata,
)
from arrowroot._arrow.nulls import n_nulls, with_nulls
from arrowroot._errors import InvalidRequestError, NoSuchColumnError, nearest
from arrowroot._render import shown
from arrowroot._writing.naming import naming

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
        from arrowroot._hints import for_type

        raise InvalidRequestError(
            f"schema: column {name!r}: {shown(kind)} is not a type of Arrow or NumPy{for_type(kind)}"
        ) from None
    return pa.field(name, found, nullable=False)


def inferred(schema: pa.Schema, part: Part, sample: pa.Table) -> pa.Schema:
    """Return the schema of data whose user gave none: what has a null in ``sample`` may have more.

    sample: the whole data where they are in memory, the first batch of a stream that has entries.
    """
    fields = []
    for index, field in enumerate(schema):
        exact = field.name in part.exact
        kind = without_metadata(field.type) if exact else field.type
        kind = narrow(kind) if field.name in part.wide else kind
        if field.name in part.stored:
            fields.append(nullable_as(field, part.stored[field.name]))
        elif exact:
            fields.append(field.with_type(kind))
        else:
            chunks = sample.column(index).chunks
            is_nullable = pa.types.is_null(kind) or any(map(n_nulls, chunks))
            fields.append(field.with_type(with_nulls(kind, chunks)).with_nullable(is_nullable))
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
        inner, new = all_fields_of(given), all_fields_of(more)
        is_alike = given.id == more.id or (is_list(given) and is_list(more))
        names = [[field.name for field in fields] for fields in (inner, new)]
        is_alike &= names[0] == names[1] or not (pa.types.is_struct(given) or pa.types.is_union(given))
        kind = given
        if is_alike and len(inner) == len(new):
            kind = with_fields(given, [_united(a, b) for a, b in zip(inner, new, strict=True)])
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
            for index, (name, array) in enumerate(zip(asked, batch.columns, strict=True)):
                one = pa.field(name, with_nulls(array.type, [array]), nullable=n_nulls(array) > 0)
                known = found[index]
                found[index] = one if known is None else _either(known, one)
    by_name = dict(zip(asked, found, strict=True))
    fields = []
    for field in schema:
        one = by_name.get(field.name)
        if field.name not in by_name:
            fields.append(field)
        elif one is None:  # there are no entries
            fields.append(field.with_type(with_nulls(field.type, [])).with_nullable(False))
        else:
            fields.append(field.with_type(one.type).with_nullable(one.nullable))
    return pa.schema(fields, metadata=schema.metadata)


def _may_have_nulls(field: pa.Field) -> bool:
    return bool(field.nullable) or any(_may_have_nulls(inner) for inner in all_fields_of(field.type))


def _either(one: pa.Field, other: pa.Field) -> pa.Field:
    """Return a field that is nullable, at every depth, where one of two is."""
    inner = [_either(a, b) for a, b in zip(all_fields_of(one.type), all_fields_of(other.type), strict=True)]
    return one.with_type(with_fields(one.type, inner)).with_nullable(one.nullable or other.nullable)


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
            inside = (*fields_of(kind, has_views=True), *members_of(kind))
            left.extend((inner.name, inner.type, level) for inner in inside)


def check_zones(field: pa.Field, where: str) -> None:
    """Raise InvalidRequestError for times in a zone that there is not: nobody could tell what they are."""
    zones = [zone for kind in within(stored_field(field).type) if (zone := getattr(kind, "tz", None))]
    for zone in zones:
        if not _is_zone(zone):
            raise InvalidRequestError(
                f"{where}: column {field.name!r}: times in the zone {zone!r}, which there is not: expected one as "
                "'Europe/Zurich', 'UTC' or '+01:00'"
            )


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


def checked_schema(schema: pa.Schema, where: str) -> pa.Schema:
    """Return a schema. Raises: InvalidRequestError for one without columns, or with names that are none, or twice."""
    if not len(schema):
        raise InvalidRequestError(f"{where}: a table without columns")
    seen: set[str] = set()
    for name in schema.names:
        if name in seen:
            raise InvalidRequestError(f"{where}: two columns are called {name!r}")
        if not name:
            raise InvalidRequestError(f"{where}: a column without a name")
        seen.add(name)
    for field in schema:
        with naming(where):
            check_field(field)
        check_zones(field, where)
    return schema


def check_names(given: pa.Schema, schema: pa.Schema, where: str, *, some_suffice: bool = False) -> None:
    """Raise InvalidRequestError, or NoSuchColumnError, for other columns than those of a table; in any order.

    some_suffice: some of the table's need not be there.
    """
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
    if missing and not some_suffice:
        more = f" and {len(missing) - _N_QUOTED} more" if len(missing) > _N_QUOTED else ""
        quoted = ", ".join(map(repr, missing[:_N_QUOTED]))
        raise InvalidRequestError(f"{where}: the data lack {quoted}{more}, which the table has")
