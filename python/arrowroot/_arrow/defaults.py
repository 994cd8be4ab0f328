"""The values of entries that nobody has given any: 0, false, empty texts and lists; missing, where that can be."""

from __future__ import annotations

import pyarrow as pa

from arrowroot._arrow.kinds import fields_of, stored_field


def defaults(field: pa.Field, n: int) -> pa.Array:
    """Return so many default values of a field, as they are stored: values in place of dictionaries and runs."""
    while isinstance(field.type, pa.BaseExtensionType):
        field = field.with_type(field.type.storage_type)
    kind = stored_field(field).type
    # A null in a union is none of its members.
    if field.nullable or pa.types.is_null(kind) or pa.types.is_union(kind):
        return pa.nulls(n, kind)
    inner = fields_of(kind)
    if pa.types.is_fixed_size_list(kind):
        return pa.Array.from_buffers(kind, n, [None], children=[defaults(inner[0], n * kind.list_size)])
    if pa.types.is_struct(kind):
        return pa.Array.from_buffers(kind, n, [None], children=[defaults(one, n) for one in inner])
    if pa.types.is_map(kind):
        inner = [pa.field("entries", pa.struct(inner), nullable=False)]
    if inner:
        return pa.Array.from_buffers(
            kind, n, [None, _zeros(4 * (n + 1))], children=[defaults(one, 0) for one in inner]
        )
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return pa.Array.from_buffers(kind, n, [None, _zeros(4 * (n + 1)), _zeros(0)])
    return pa.Array.from_buffers(kind, n, [None, _zeros((n * kind.bit_width + 7) // 8)])


def _zeros(n_bytes: int) -> pa.Buffer:
    return pa.py_buffer(bytes(n_bytes))
