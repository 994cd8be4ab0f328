"""Batches whose fields say otherwise which values may be missing."""

from __future__ import annotations

import pyarrow as pa

from arrowroot._arrow.nulls import lacks
from arrowroot._errors import InvalidRequestError


def with_flags_of(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch in a schema that differs from its own in metadata, and in what may be missing, at any depth.

    Nothing is copied. Raises: InvalidRequestError, which names a column with a missing value where none may be.
    """
    arrays = []
    for field, array in zip(schema, batch.columns, strict=True):
        if lacks(array, field):
            raise InvalidRequestError(field.name)
        arrays.append(array if array.type == field.type else _retyped(array, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _retyped(array: pa.Array, kind: pa.DataType) -> pa.Array:
    # A cast takes no nullable members for others, whatever they hold.
    return pa.Array._import_from_c_capsule(  # noqa: SLF001 - the C data interface, which has no other face
        kind.__arrow_c_schema__(), array.__arrow_c_array__()[1]
    )
