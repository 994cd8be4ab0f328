"""Columns whose C++ types, as they are asked for, let values be missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from arrowroot import _native
from arrowroot._arrow.kinds import all_fields_of, nullable_in_either, with_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


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


def unsaid(schema: Mapping[str, Any]) -> set[str]:
    """Return the columns of a schema of types by name: nobody has said whether values may be missing."""
    return {name for name, kind in schema.items() if not isinstance(kind, pa.Field)}
