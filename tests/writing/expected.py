"""What other readers are to find in a file, from the table that was written: a twin of the writer's rules.

The rules are those of docs/writing.md. Values are plain: floats as hexadecimal text, so that they are compared exactly
and NaN is equal to NaN; times, decimals and bytes as the integers that are stored.
"""

from __future__ import annotations

import decimal
import math
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

types = pa.types
BYTE = pa.field("item", pa.uint8(), nullable=False)


def stored_name(name: str) -> str:
    """A name as it stands in files: letters, digits and ``_``; all else as its number, ``_x2e_``, ``_u00e9_``."""
    if name == "":
        return "_x_"
    out: list[str] = []
    for place in range(len(name) - 1, -1, -1):
        letter, after = name[place], "".join(reversed(out))
        if letter == "_":
            kept = not _looks_like_a_number(after, place == 0) and not (place == 0 and name == "_x_")
        else:
            kept = (letter.isascii() and letter.isalpha()) or (letter in "0123456789" and place > 0)
        out.append(
            letter if kept else f"_x{ord(letter):02x}_" if " " <= letter <= "~" else f"_u{ord(letter):04x}_"
        )
    return "".join(reversed(out))


def branch_name(name: str) -> str:
    """A name as a branch of a tree has it: dots between two other characters stay."""
    parts = name.split(".")
    return ".".join(map(stored_name, parts)) if all(parts) else stored_name(name)


def _looks_like_a_number(text: str, is_first: bool) -> bool:
    """True if a text begins as the number of a character that is not kept: ``x2e_``, or ``u00e9_``."""
    if number := re.match(r"x([2-7][0-9a-f])_", text):
        letter = chr(int(number[1], 16))
        return not letter.isalpha() and letter != "\x7f" and (is_first or not letter.isdigit())
    number = re.match(r"u([0-9a-f]{4}|10[0-9a-f]{4}|[1-9a-f][0-9a-f]{4})_", text)
    if number is None:
        return False
    code = int(number[1], 16)
    return not 0xD800 <= code < 0xE000 and not 0x20 <= code < 0x7F


def shown(value: Any) -> Any:
    """A value as it is compared; of a column all of them, as they are stored."""
    if isinstance(value, pa.Array | pa.ChunkedArray):
        value = stored_values(value)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value.hex()
    if isinstance(value, list | tuple):
        return [shown(one) for one in value]
    if isinstance(value, dict):
        return {name: shown(one) for name, one in value.items()}
    return value


def stored_type(kind: pa.DataType) -> pa.DataType:
    """The stored type of a type: numbers, texts, lists, structs."""
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return stored_type(kind.value_type)
    if types.is_date32(kind) or types.is_time32(kind) or types.is_decimal32(kind):
        return pa.int32()
    if types.is_interval(kind):
        parts = {"months": pa.int32(), "days": pa.int32(), "nanoseconds": pa.int64()}
        return pa.struct([pa.field(name, part, nullable=False) for name, part in parts.items()])
    if types.is_temporal(kind) or types.is_decimal64(kind):
        return pa.int64()
    if types.is_decimal(kind):
        return pa.list_(BYTE, kind.bit_width // 8)
    if types.is_fixed_size_binary(kind):
        return pa.list_(BYTE, kind.byte_width)
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        return pa.list_(BYTE)
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        return pa.list_(kind.value_field)
    return pa.string() if types.is_string_view(kind) else kind


def stored_values(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column as they are stored: every kind of list is a list, every map a list of structs."""
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in stored_values(chunk)]
    kind = array.type
    if types.is_dictionary(kind):
        return stored_values(array.dictionary_decode())
    if types.is_run_end_encoded(kind):
        return stored_values(pc.run_end_decode(array))
    if types.is_date32(kind) or types.is_time32(kind):
        return array.view(pa.int32()).to_pylist()
    if types.is_interval(kind):
        names = ("months", "days", "nanoseconds")
        return [None if one is None else dict(zip(names, one, strict=True)) for one in array.to_pylist()]
    if types.is_temporal(kind):
        return array.view(pa.int64()).to_pylist()
    stored = stored_type(kind)
    if types.is_decimal(kind):
        with decimal.localcontext() as context:
            context.prec = 100
            numbers = [None if one is None else int(one.scaleb(kind.scale)) for one in array.to_pylist()]
        width = kind.bit_width // 8 if types.is_nested(stored) else None
        return [
            one if one is None or not width else list(one.to_bytes(width, "little", signed=True))
            for one in numbers
        ]
    if types.is_struct(kind):
        members = [
            (kind.field(number).name, stored_values(array.field(number))) for number in range(kind.num_fields)
        ]
        return [
            {name: values[entry] for name, values in members} if array[entry].is_valid else None
            for entry in range(len(array))
        ]
    if types.is_map(kind) or (types.is_nested(stored) and types.is_nested(kind)):
        return [stored_values(one.values) if one.is_valid else None for one in array]
    if types.is_nested(stored):
        return [None if one is None else list(one) for one in array.to_pylist()]
    return array.to_pylist()


def nothing(kind: pa.DataType) -> Any:
    """The value that stands where one is missing."""
    kind = stored_type(kind)
    if types.is_fixed_size_list(kind):
        return [None if kind.value_field.nullable else nothing(kind.value_type)] * kind.list_size
    if types.is_struct(kind):
        return {
            one.name: None if one.nullable else nothing(one.type)
            for one in (kind.field(i) for i in range(kind.num_fields))
        }
    if types.is_string(kind) or types.is_large_string(kind):
        return ""
    if types.is_floating(kind):
        return 0.0
    if types.is_boolean(kind):
        return False
    return 0 if types.is_integer(kind) else []


def deep(change: Callable[[Any], Any], values: list[Any], depth: int) -> list[Any]:
    """Change each value that is inside of ``depth`` lists."""
    return [change(one) if depth == 0 else deep(change, one, depth - 1) for one in values]


class Branch:
    """A branch: its values entry by entry, and whether it is a text or one of vectors in ROOT's eyes."""

    def __init__(self, name: str, values: list[Any], kind: pa.DataType) -> None:
        self.name = name
        self.values = values
        self.kind = kind


def branches(table: pa.Table, schema: pa.Schema, others: Collection[str] = ()) -> dict[str, Branch]:
    """The branches of a tree but the counters, of some columns of a table.

    ``others``: its columns that are objects, whose names are taken, too.
    """
    own: list[Branch] = []
    ended: list[Branch] = []
    for field in schema:
        values = stored_values(table.column(field.name))
        for branch in _of_field(branch_name(field.name), field, values, 0):
            (own if branch.name == branch_name(field.name) else ended).append(branch)
    found = {branch.name: branch for branch in own}
    taken = {stored_name(name) for name in others}
    for branch in ended:
        name = branch.name
        while name in found or name in taken:
            name += "_"
        found[name] = branch
    return found


def _of_field(name: str, field: pa.Field, values: list[Any], depth: int) -> Iterator[Branch]:
    kind = stored_type(field.type)
    if types.is_null(kind):
        yield Branch(f"{name}_isvalid", deep(lambda _: False, values, depth), pa.bool_())
        return
    if field.nullable:
        yield Branch(f"{name}_isvalid", deep(lambda one: one is not None, values, depth), pa.bool_())
    present = deep(lambda one: nothing(kind) if one is None else one, values, depth)
    if types.is_struct(kind):
        for number in range(kind.num_fields):
            member = kind.field(number)
            of_member = deep(lambda one, member=member: one[member.name], present, depth)
            yield from _of_field(f"{name}_{stored_name(member.name)}", member, of_member, depth)
    elif types.is_map(kind) and depth == 0 and is_known(kind):
        yield Branch(name, present, kind)
    elif types.is_map(kind):
        pair = pa.field("entries", pa.struct([kind.key_field, kind.item_field]), nullable=False)
        renamed = pa.struct([kind.key_field.with_name("key"), kind.item_field.with_name("value")])
        yield from _of_field(name, pair.with_type(renamed), present, depth + 1)
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        yield from _of_field(name, kind.value_field, present, depth + 1)
    else:
        yield Branch(name, present, kind)


def is_known(kind: pa.MapType) -> bool:
    """Whether ROOT 6.40 has a dictionary of a map."""
    key, value = (stored_type(one) for one in (kind.key_type, kind.item_type))
    numbers = [pa.int32(), pa.int64(), pa.float32(), pa.float64()]
    if kind.item_field.nullable:
        return False
    if key == pa.float16() or value == pa.float16():
        key, value = (pa.float32() if one == pa.float16() else one for one in (key, value))
    if types.is_string(key) or types.is_large_string(key):
        return value in numbers or types.is_string(value) or types.is_large_string(value)
    return value in {pa.int32(): numbers[:1], pa.int64(): numbers, pa.float64(): numbers}.get(key, [])


def flat(value: Any) -> list[Any]:
    """The values of nested lists in order."""
    if not isinstance(value, list):
        return [value]
    return [inner for one in value for inner in flat(one)]
