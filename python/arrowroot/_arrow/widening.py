"""One type for columns that have several: numbers widened without loss, nulls where one of them may have some."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from arrowroot._arrow.flags import with_flags_of
from arrowroot._arrow.kinds import fields_of, with_fields

#: Bits of integers that floating-point numbers hold exactly, by the bits that these take.
_EXACT_BITS = {16: 11, 32: 24, 64: 53}


def joined(one: pa.Field, other: pa.Field, *, promote: bool) -> pa.Field | None:
    """Return a field for the values of both; None: there is none without a loss.

    promote: numbers may be widened, at any depth, as NumPy does; only as far as every value is kept, so that int64 and
    double have no type in common.
    """
    kind = _type_of_both(one.type, other.type, promote=promote)
    if kind is None:
        return None
    return one.with_type(kind).with_nullable(one.nullable or other.nullable)


def _type_of_both(one: pa.DataType, other: pa.DataType, *, promote: bool) -> pa.DataType | None:
    if one == other:
        return one
    inner, of_other = fields_of(one), fields_of(other)
    if not inner:
        return _wider(one, other) if promote else None
    is_alike = one.id == other.id and [field.name for field in inner] == [field.name for field in of_other]
    if not is_alike or (pa.types.is_fixed_size_list(one) and one.list_size != other.list_size):
        return None
    both = [joined(mine, theirs, promote=promote) for mine, theirs in zip(inner, of_other, strict=True)]
    fields = [field for field in both if field is not None]
    return with_fields(one, fields) if len(fields) == len(both) else None


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the narrowest type that has all values of two types of numbers, or of one and truth values."""
    if not all(map(_is_number, (one, other))):
        return None
    kind = pa.from_numpy_dtype(np.promote_types(one.to_pandas_dtype(), other.to_pandas_dtype()))
    if pa.types.is_floating(kind):
        n_exact = _EXACT_BITS[kind.bit_width]
        integers = [each for each in (one, other) if pa.types.is_integer(each)]
        if any(each.bit_width - pa.types.is_signed_integer(each) > n_exact for each in integers):
            return None
    return kind


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def widened(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the columns of a schema, in which its own have their types or wider ones.

    A column that it lacks is null. Raises: InvalidRequestError, which names a column with a missing value where none
    may be.
    """

    def column(field: pa.Field) -> pa.Array:
        found = places.get(field.name)
        if found is None:
            return pa.nulls(batch.num_rows, field.type)
        array = batch.column(found)
        is_same_layout = _type_of_both(array.type, field.type, promote=False) is not None
        return array if is_same_layout else array.cast(field.type)

    places = {name: index for index, name in enumerate(batch.schema.names)}
    arrays = [column(field) for field in schema]
    if not arrays:
        return batch
    own = [field.with_type(array.type) for field, array in zip(schema, arrays, strict=True)]
    return with_flags_of(pa.RecordBatch.from_arrays(arrays, schema=pa.schema(own)), schema)
