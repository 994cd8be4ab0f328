"""Values of one type as those of another, where that is exact: numbers, times, texts and what holds them."""

from __future__ import annotations

from typing import cast

import pyarrow as pa

from arrowroot._arrow.kinds import all_fields_of, fields_of, is_list, mapped
from arrowroot._arrow.nulls import within_present


def as_type(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array as another type, which its own :func:`may_become`.

    Raises: pa.ArrowInvalid for values that do not fit.
    """
    # pyarrow converts no nullable members to others, whether a null is among them or not.
    made = array.cast(mapped(kind, lambda field: field.with_nullable(True)))
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
        for one, other in zip(within_present(given), within_present(made), strict=True):
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


def have_layout(given: pa.Schema, schema: pa.Schema) -> bool:
    """Return whether schemas differ at most in flags, metadata and the names of what is in lists."""
    return given.names == schema.names and all(map(has_layout, given.types, schema.types))


def has_layout(given: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether types differ at most in flags, metadata and the names of what is in lists."""
    if given == kind:
        return True
    one, other = all_fields_of(given), all_fields_of(kind)
    if not one or given.id != kind.id or len(one) != len(other):
        return False
    if pa.types.is_fixed_size_list(kind) and given.list_size != kind.list_size:
        return False
    has_names = pa.types.is_struct(kind) or pa.types.is_union(kind)
    if has_names and [field.name for field in one] != [field.name for field in other]:
        return False
    if pa.types.is_union(kind) and given.type_codes != kind.type_codes:
        return False
    return all(has_layout(a.type, b.type) for a, b in zip(one, other, strict=True))


def may_become(given: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether values of a type may become another, if they all fit: not text of numbers, or the like."""
    is_of = pa.types
    if given == kind or is_of.is_null(given):
        return True
    if is_of.is_dictionary(given):
        return may_become(given.value_type, kind)
    if is_of.is_map(given) or is_of.is_map(kind):
        both = is_of.is_map(given) and is_of.is_map(kind)
        return both and _may_all_become(given, kind)
    if is_of.is_struct(given) and is_of.is_struct(kind):
        return [f.name for f in fields_of(given)] == [f.name for f in fields_of(kind)] and _may_all_become(
            given, kind
        )
    if is_list(given) and is_list(kind):
        return may_become(given.value_type, kind.value_type)
    return any(is_it(given) and is_it(kind) for is_it in (_is_number, _is_text, _is_bytes, *_TIMES))


def _may_all_become(given: pa.DataType, kind: pa.DataType) -> bool:
    pairs = zip(fields_of(given), fields_of(kind), strict=True)
    return all(may_become(one.type, other.type) for one, other in pairs)


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
