"""A table that fails is made smaller as long as it fails: fewer entries, fewer columns, simpler kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def shrunk(table: pa.Table, fails: Callable[[pa.Table], bool], n_tries: int = 200) -> pa.Table:
    """The smallest table that fails which is found by so many tries. ``table`` does."""
    tried = iter(range(n_tries))
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for smaller in _smaller(table):
            if next(tried, None) is None:
                return table
            if fails(smaller):
                table, is_smaller = smaller, True
                break
    return table


def _smaller(table: pa.Table) -> Iterator[pa.Table]:
    """Smaller tables, by how much smaller they are."""
    n = table.num_rows
    for size in filter(None, (n // 2, n // 4, n // 8)):
        yield from (table.slice(begin, size) for begin in range(0, n, size))
    if n > 1:
        yield from (table.slice(1), table.slice(0, n - 1))
    if table.num_columns > 1:
        names = table.column_names
        yield from (table.select(some) for some in (names[::2], names[1::2]))
        yield from (table.drop_columns([name]) for name in names)
    if any(column.num_chunks > 1 for column in table.columns):
        # In memory of its own.
        yield pa.Table.from_batches(table.combine_chunks().to_batches(), table.schema)
    for place, field in enumerate(table.schema):
        for kind, array in _simpler(table.column(place).combine_chunks()):
            yield table.set_column(place, kind.with_name(field.name), array)
        if field.nullable and table.column(place).null_count == 0 and not pa.types.is_null(field.type):
            yield table.set_column(place, field.with_nullable(False), table.column(place))


def _simpler(array: pa.Array) -> Iterator[tuple[pa.Field, pa.Array]]:
    """The members of records, and the first item of each list, with as many entries."""
    kind = array.type
    if len(array) == 0:
        return
    if pa.types.is_struct(kind):
        for place, array_of_member in enumerate(array.flatten()):
            yield kind.field(place).with_nullable(array_of_member.null_count > 0), array_of_member
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        firsts = [one.values.slice(0, 1) if one.is_valid else pa.nulls(0, kind.value_type) for one in array]
        items = pa.concat_arrays([one if len(one) else pa.nulls(1, kind.value_type) for one in firsts])
        yield kind.value_field.with_nullable(items.null_count > 0 or kind.value_field.nullable), items
