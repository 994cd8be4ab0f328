"""Columns whose C++ types, as they are asked for, let values be missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from arrowroot import _native
from arrowroot._arrow.kinds import all_fields_of, nullable_in_either, with_fields
from arrowroot._writing.schema import checked_schema, schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot._writing.schema import SchemaLike


def nullable_as_typed(schema: pa.Schema, types: Sequence[Sequence[tuple[str, str]]]) -> pa.Schema:
    """Return a schema that is nullable, at every depth, where the C++ types of its columns let values be missing.

    types: of each column and what is in it, by path, as ``types_of`` has them.
    """
    if not any(types):
        return schema
    typed = pa.Schema._import_from_c_capsule(_native.nullable_as_typed(schema, types))  # noqa: SLF001 - it has no other face
    # What the interface makes of a field may lack something that this library has no use for.
    fields = [nullable_in_either(field, one) for field, one in zip(schema, typed, strict=True)]
    return pa.schema(fields, metadata=schema.metadata)


def nullable_where_said(schema: pa.Schema, typed: pa.Schema, said: pa.Schema) -> pa.Schema:
    """Return a schema that is nullable where the same one with C++ types is, unless the user's own excludes it."""
    fields = [_where_said(*three) for three in zip(schema, typed, said, strict=True)]
    return pa.schema(fields, metadata=schema.metadata)


def _where_said(field: pa.Field, typed: pa.Field, said: pa.Field) -> pa.Field:
    inner = [all_fields_of(one.type) for one in (field, typed, said)]
    kind = with_fields(field.type, [_where_said(*three) for three in zip(*inner, strict=True)])
    return field.with_type(kind).with_nullable(field.nullable or (typed.nullable and said.nullable))


class GivenSchema(NamedTuple):
    """The schema that a user has given for a table."""

    schema: pa.Schema
    #: The same one, nullable also where nobody has said whether values may be missing; None if all of it is said.
    unsaid: pa.Schema | None


def given_schema(given: SchemaLike, where: str) -> GivenSchema:
    """Return the schema that a user has given, checked; types by name say nothing of what may be missing."""
    schema = checked_schema(schema_of(given), where)
    if isinstance(given, pa.Schema):
        return GivenSchema(schema, None)
    kinds = zip(schema, given.values(), strict=True)
    unsaid = [field if isinstance(kind, pa.Field) else _unsaid(field) for field, kind in kinds]
    return GivenSchema(schema, pa.schema(unsaid))


def _unsaid(field: pa.Field) -> pa.Field:
    """Return a field that is nullable, and all in it."""
    kind = with_fields(field.type, [_unsaid(inner) for inner in all_fields_of(field.type)])
    return field.with_type(kind).with_nullable(True)
