"""The C++ types of fields of an RNTuple that are asked for: by a layout, or by the metadata of Arrow fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot._arrow.kinds import fields_of, mapped, members_of
from arrowroot._errors import InvalidRequestError, NoSuchColumnError, nearest
from arrowroot._layout.columns import Matcher
from arrowroot._render import shown
from arrowroot._select.globs import without_match

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from arrowroot._layout.columns import Rules

#: The key of a C++ type in the metadata of an Arrow field.
TYPE_KEY = b"arrowroot:type"


def checked_type(value: object, what: str) -> str:
    """Return the name of a type. Raises: InvalidRequestError for what is no text."""
    if isinstance(value, str) and value.strip() and "\0" not in value:
        return value
    raise InvalidRequestError(f"{what}={shown(value)}: the name of a C++ type, as 'std::set<int>'")


def types_of(rules: Rules[str], schema: pa.Schema, where: str) -> list[list[tuple[str, str]]]:
    """Return the types of each column and of members of structs in it, by their paths: "" is the column itself.

    Columns and globs count before metadata. ``column.member`` is a member, also of structs in lists, where no column
    has that name.

    Raises: NoSuchColumnError for a name that neither a column nor a part of one has.
    """
    names = set(schema.names)
    inside = {
        name: {
            glob[len(name) + 1 :]: text
            for glob, text in rules
            if glob.startswith(f"{name}.") and glob not in names
        }
        for name in schema.names
    }
    parts = {f"{name}.{path}" for name, paths in inside.items() for path in paths}
    missing = without_match((glob for glob, _ in rules if glob[0] != "*" and glob not in parts), schema.names)
    if missing is not None:
        raise NoSuchColumnError(
            f"{where}: types: no column is called {missing!r}",
            missing,
            nearest(missing, schema.names),
            known=schema.names,
        )
    matcher = Matcher(rules)
    found = []
    for field in schema:
        types = dict(_recorded_in(field, ""))
        types.update(inside[field.name])
        glob, own = matcher.first(field.name, "")
        if glob:
            types[""] = own
        found.append(list(types.items()))
    return found


def _recorded_in(field: pa.Field, path: str) -> Iterator[tuple[str, str]]:
    """Yield the types that the metadata of a field have, and those of what is in it."""
    if field.metadata and TYPE_KEY in field.metadata:
        yield path, field.metadata[TYPE_KEY].decode(errors="replace")
    yield from _recorded_inside(field.type, path)


def _recorded_inside(kind: pa.DataType, path: str) -> Iterator[tuple[str, str]]:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        yield from _recorded_inside(kind.storage_type, path)
    for field in (*fields_of(kind, has_views=True), *members_of(kind)):
        if pa.types.is_struct(kind):
            yield from _recorded_in(field, f"{path}.{field.name}" if path else field.name)
        else:
            yield from _recorded_inside(field.type, path)


def without_types(schema: pa.Schema) -> pa.Schema:
    """Return a schema whose metadata have no types, at any depth."""
    import pyarrow as pa

    if not any(True for field in schema for _ in _recorded_in(field, "")):
        return schema
    fields = [_without(field.with_type(mapped(field.type, _without))) for field in schema]
    return pa.schema(fields, metadata=schema.metadata)


def _without(field: pa.Field) -> pa.Field:
    if not field.metadata or TYPE_KEY not in field.metadata:
        return field
    kept = {key: text for key, text in field.metadata.items() if key != TYPE_KEY}
    return field.with_metadata(kept) if kept else field.remove_metadata()
