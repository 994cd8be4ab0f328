"""Values that are missing: where they may be, and where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from arrowroot._arrow.kinds import (
    PLAIN,
    fields_of,
    is_list,
    is_view,
    members_of,
    with_fields,
    within,
)
from arrowroot._errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def lacking(schema: pa.Schema) -> list[tuple[int, pa.Field]]:
    """Return the fields that are not nullable, or have such a one inside, with their indices."""
    return [(index, field) for index, field in enumerate(schema) if may_lack(field)]


def check_said(batch: pa.RecordBatch, fields: Sequence[tuple[int, pa.Field]], first_entry: int) -> None:
    """Raise InvalidRequestError for a null where the batch's own schema has a field that is not nullable, at any depth.

    fields: as :func:`lacking` has them. first_entry: number of the first one, for messages.
    """
    for index, field in fields:
        if lacks(array := batch.column(index), field):
            raise InvalidRequestError(
                f"column {field.name!r}: entry {first_entry + first_lacking(array, field)} of the data is null, or "
                "has a null in it, and their own schema calls that field non-nullable: make it nullable there"
            )


def says_more(given: pa.Field, field: pa.Field) -> bool:
    """Return whether a field of the same layout excludes nulls, at any depth, where another one does not."""
    return (field.nullable and not given.nullable) or any(
        map(says_more, fields_of(given.type), fields_of(field.type))
    )


def may_lack(field: pa.Field) -> bool:
    """Return whether a field, or one inside of it, is not nullable."""
    return not field.nullable or any(map(may_lack, _said_inside(field.type)))


def lacks(array: pa.Array, field: pa.Field) -> bool:
    """Return whether a value is missing that must not be."""
    if array.type.id in PLAIN:
        return not field.nullable and bool(array.null_count > 0)
    if isinstance(array, pa.ExtensionArray):
        kind = field.type
        storage = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
        return lacks(array.storage, field.with_type(storage))
    if not field.nullable and n_nulls(array) and _has_null(array):
        return True
    fields = _said_inside(field.type)
    if len(_said_inside(array.type)) != len(fields) or not any(map(may_lack, fields)):
        return False
    children = (
        [array.field(index) for index in range(len(fields))] if pa.types.is_struct(array.type) else None
    )
    # Mostly nothing is missing, and nothing is copied to see that.
    around = children or ([array.keys, array.items] if pa.types.is_map(array.type) else [array.values])
    if not any(map(lacks, around, fields)):
        return False
    if is_view(array.type):
        return any(lacks(items, fields[0]) for items in _items_in_use(array))
    # Lists leave out what is in missing ones.
    parts = _present(array) if children or pa.types.is_map(array.type) else [array]
    return any(any(map(lacks, within_present(part), fields)) for part in parts)


def first_lacking(array: pa.Array, field: pa.Field) -> int:
    """Return the place of the first value that lacks something; there is one."""
    first, n = 0, len(array)
    while n > 1:
        half = n // 2
        if lacks(array.slice(first, half), field):
            n = half
        else:
            first, n = first + half, n - half
    return first


def _said_inside(kind: pa.DataType) -> list[pa.Field]:
    """Return the fields inside of a type as it is given, before lists of views and extensions are plain."""
    if isinstance(kind, pa.BaseExtensionType):
        return _said_inside(kind.storage_type)
    return fields_of(kind, has_views=True)


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


def n_nulls(array: pa.Array) -> int:
    """Return how many values are missing, or more: dictionaries and runs may have some that no entry uses."""
    if pa.types.is_run_end_encoded(array.type):
        return n_nulls(array.values)
    if pa.types.is_dictionary(array.type):
        return int(array.null_count + array.dictionary.null_count)
    return int(array.null_count)


def with_nulls(kind: pa.DataType, arrays: Sequence[pa.Array]) -> pa.DataType:
    """Return a type whose inner fields are nullable where these arrays have a null."""
    if pa.types.is_union(kind):
        # Its own fields say nothing: a null is none of them.
        members = [[array.field(index) for array in arrays] for index in range(kind.num_fields)]
        named = zip(members_of(kind), members, strict=True)
        return with_fields(kind, [one.with_type(with_nulls(one.type, parts)) for one, parts in named])
    fields = fields_of(kind, has_views=True)
    if pa.types.is_map(kind) or pa.types.is_struct(kind):
        arrays = [part for array in arrays for part in _present(array)]
    if pa.types.is_map(kind):
        inner = [list(parts) for parts in zip(*map(items_of_maps, arrays), strict=True)] or [[], []]
    elif pa.types.is_struct(kind):
        inner = [[array.field(index) for array in arrays] for index in range(len(fields))]
    elif is_view(kind):
        inner = [[items for array in arrays for items in _items_in_use(array)]]
    else:
        # flatten() leaves out what is in lists that are null.
        inner = [[array.flatten() for array in arrays]] if fields else []
    made = [
        field.with_type(with_nulls(field.type, parts)).with_nullable(
            any(map(n_nulls, parts)) and not (pa.types.is_map(kind) and index == 0)
        )
        for index, (field, parts) in enumerate(zip(fields, inner, strict=True))
    ]
    return with_fields(kind, made)


def _present(array: pa.Array) -> list[pa.Array]:
    """Return structs or maps without the missing ones, whose members are not missing themselves."""
    if not array.null_count or not _has_nulls_inside(array):
        return [array]
    shadow = _shadow(array)
    if is_picked(shadow.type):
        return [shadow.drop_null()]
    return [array.slice(first, n) for first, n in present_runs(array)]


def is_picked(kind: pa.DataType) -> bool:
    """Return whether pyarrow picks entries out of arrays of a type."""
    return not any(any(is_one(inner) for is_one in _UNPICKED) for inner in within(kind))


def present_runs(array: pa.Array) -> list[tuple[int, int]]:
    """Return first entry and number of entries of each run of entries that are not missing."""
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    edges = np.flatnonzero(np.diff(valid, prepend=False, append=False))
    return [(first, end - first) for first, end in edges.reshape(-1, 2).tolist()]


def _shadow(array: pa.Array) -> pa.Array:
    """Return structs with bools for views of texts: what is missing is the same."""
    kind = array.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return pa.array(np.ones(len(array), np.bool_), mask=array.is_null().to_numpy(zero_copy_only=False))
    if not pa.types.is_struct(kind) or not kind.num_fields:
        return array
    members = [_shadow(array.field(index)) for index in range(kind.num_fields)]
    fields = [pa.field(kind.field(index).name, member.type) for index, member in enumerate(members)]
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
        inside = [array.field(index) for index in range(kind.num_fields)]
    elif pa.types.is_map(kind):
        inside = [array.items]
    else:
        inside = [array.values] if is_list(kind) else []
    return any(n_nulls(one) > 0 or _has_nulls_inside(one) for one in inside)


def within_present(array: pa.Array) -> list[pa.Array]:
    """Return what is in lists, structs or maps that are not missing."""
    if pa.types.is_map(array.type):
        return list(items_of_maps(array))
    # flatten() of structs takes their missing values along, that of lists leaves out what is in missing ones.
    return array.flatten() if pa.types.is_struct(array.type) else [array.flatten()]


def items_of_maps(array: pa.MapArray) -> tuple[pa.Array, pa.Array]:
    """Return the keys and the items of maps: those of a slice alone."""
    offsets = array.offsets.to_numpy()
    first, last = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
    return array.keys.slice(first, last - first), array.items.slice(first, last - first)
