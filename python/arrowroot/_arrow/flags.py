"""Batches whose fields say otherwise which values may be missing."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def with_flags_of(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch in a schema that differs from its own in metadata, and in what may be missing, at any depth.

    Nothing is copied. Raises: ValueError, with the name of a column that has a missing value where there must be none.
    """
    arrays = []
    for field, array in zip(schema, batch.columns, strict=True):
        if _lacks(array, field):
            raise ValueError(field.name)
        arrays.append(array if array.type == field.type else _retyped(array, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _retyped(array: pa.Array, kind: pa.DataType) -> pa.Array:
    # A cast takes no nullable members for others, whatever they hold.
    return pa.Array._import_from_c_capsule(  # noqa: SLF001 - the C data interface, which has no other face
        kind.__arrow_c_schema__(), array.__arrow_c_array__()[1]
    )


def _lacks(array: Any, field: pa.Field) -> bool:
    """Return whether a value is missing where the field says that none is."""
    kind = array.type
    if array.null_count:
        if not field.nullable:
            return True
        array = array.drop_null()
    if pa.types.is_struct(kind):
        members = zip(array.flatten(), field.type, strict=True)
        return any(_lacks(member, inner) for member, inner in members)
    if pa.types.is_map(kind):
        first, last = (array.offsets[0].as_py(), array.offsets[-1].as_py()) if len(array) else (0, 0)
        return _lacks(array.items.slice(first, last - first), field.type.item_field)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _lacks(array.flatten(), field.type.value_field)
    return False
