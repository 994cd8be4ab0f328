"""Random tables, by seed: every type that can be written, with what is easily written wrongly.

Empty lists and texts, NaN and infinities, the ends of the ranges of numbers, missing values at every depth, names that
no format takes as they are, and tables whose columns come in chunks that begin in the middle of their buffers.
"""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import math
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

NUMBERS = [
    pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64(),
    pa.float16(), pa.float32(), pa.float64(), pa.bool_(),
]  # fmt: skip
TIMES = [
    pa.timestamp("ns"), pa.timestamp("us", tz="UTC"), pa.timestamp("s", tz="Europe/Zurich"), pa.timestamp("ms"),
    pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
    pa.duration("s"), pa.duration("ns"),
]  # fmt: skip
TEXTS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.binary(3)]
OTHERS = [
    pa.decimal128(12, 3),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.float64()),
    pa.null(),
]
#: Names as people have them, and as no format or only some formats take them.
PLAIN_NAMES = [
    "x",
    "pt",
    "Muon_pt",
    "Muon_eta",
    "Jet_pt",
    "nJet",
    "run",
    "s",
    "value",
    "flags",
    "_private",
    "MET_pt",
    "w2",
]
ODD_NAMES = [
    "with space", "a.b", "a/b", "x[2]", "ünïcode", "2nd", "class", "nx", "x_isvalid", "pt_", "a:b", "semi;colon",
    "_x2e_", "EF_xe40_noMu", "_x31_", "a_u00e9_b", "tab\tname", 'quo"te', "per%cent", "*star",
]  # fmt: skip
MEMBERS = ["pt", "eta", "n", "key", "value", "with space", "id"]


def draw_table(seed: int, *, odd_names: bool = True) -> pa.Table:
    """Draw a table: up to 7 columns, up to 150 entries (often few, sometimes none)."""
    chance = random.Random(seed)
    n_entries = chance.choice([0, 1, 2, 7, 40, 150])
    names = chance.sample(PLAIN_NAMES, chance.randint(1, 5))
    if odd_names and chance.random() < 0.4:
        names += chance.sample(ODD_NAMES, chance.randint(1, 2))
    fields, columns = [], []
    for name in names:
        nullable = chance.random() < 0.3
        kind = draw_type(chance, 0)
        fields.append(pa.field(name, kind, nullable=nullable or pa.types.is_null(kind)))
        columns.append(draw_array(chance, fields[-1], n_entries))
    table = pa.table(columns, schema=pa.schema(fields))
    return in_chunks(chance, table)


def draw_type(chance: random.Random, depth: int) -> pa.DataType:
    """Draw a type, nested to a depth of 3 at most; a number half of the time."""
    roll = chance.random()
    if depth >= 3 or roll < 0.45:
        return chance.choice(NUMBERS)
    if roll < 0.55:
        return chance.choice(TEXTS[:2] if depth else TEXTS)
    if roll < 0.63:
        return chance.choice(TIMES)
    if roll < 0.67 and depth == 0:
        return chance.choice(OTHERS)
    item = pa.field("item", draw_type(chance, depth + 1), nullable=chance.random() < 0.2)
    if roll < 0.84:
        return chance.choice([pa.list_, pa.list_, pa.large_list])(item)
    if roll < 0.9:
        return pa.list_(item, chance.choice([1, 2, 3]))
    if roll < 0.97:
        return pa.struct(
            [
                pa.field(name, draw_type(chance, depth + 1), nullable=chance.random() < 0.2)
                for name in chance.sample(MEMBERS, chance.randint(1, 3))
            ]
        )
    key = chance.choice([pa.string(), pa.int32()])
    return pa.map_(key, item.with_name("value"))


def draw_array(chance: random.Random, field: pa.Field, n: int) -> pa.Array:
    """Draw the values of a column."""
    return pa.array(draw_values(chance, field, n), type=field.type)


def draw_values(chance: random.Random, field: pa.Field, n: int) -> list[Any]:
    """Draw values of a field, None among them if it is nullable."""
    draw = drawer(chance, field.type)
    return [None if field.nullable and chance.random() < 0.2 else draw() for _ in range(n)]


def drawer(chance: random.Random, kind: pa.DataType) -> Callable[[], Any]:
    """A function that draws one value of a type."""
    types = pa.types
    if types.is_null(kind):
        return lambda: None
    if types.is_boolean(kind):
        return lambda: chance.random() < 0.5
    if types.is_integer(kind):
        bits = kind.bit_width
        low, high = (
            (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
            if types.is_signed_integer(kind)
            else (0, (1 << bits) - 1)
        )
        return lambda: chance.choice([low, high, 0, 1, chance.randint(low, high), chance.randint(0, 100)])
    if types.is_floating(kind):
        largest = {16: 65504.0, 32: 3.4028234663852886e38, 64: 1.7976931348623157e308}[kind.bit_width]
        smallest = {16: 2.0**-24, 32: 2.0**-149, 64: 5e-324}[kind.bit_width]
        special = [0.0, -0.0, math.nan, math.inf, -math.inf, largest, -largest, smallest]
        return lambda: chance.choice(
            [chance.choice(special), chance.gauss(0, 1), float(chance.randint(-50, 50))]
        )
    if types.is_dictionary(kind):
        words = ["red", "green", "", "blau"] if types.is_string(kind.value_type) else [0.5, -1.0, 2.0]
        return lambda: chance.choice(words)
    if types.is_decimal(kind):
        return lambda: decimal.Decimal(chance.randint(-(10**11), 10**11)).scaleb(-3)
    if types.is_fixed_size_binary(kind):
        return lambda: chance.randbytes(kind.byte_width)
    if types.is_binary(kind) or types.is_large_binary(kind):
        return lambda: chance.randbytes(chance.choice([0, 1, 5]))
    if types.is_string(kind) or types.is_large_string(kind):
        long = "z" * 300
        return lambda: chance.choice(["", "a", "two words", "ünï", "\t\n", long, str(chance.random())])
    if types.is_temporal(kind):
        return time_drawer(chance, kind)
    if types.is_struct(kind):
        members = [(kind.field(i), drawer(chance, kind.field(i).type)) for i in range(kind.num_fields)]
        return lambda: {
            one.name: None if one.nullable and chance.random() < 0.2 else draw() for one, draw in members
        }
    if types.is_map(kind):
        draw_key = drawer(chance, kind.key_type)

        def draw_map() -> list[tuple[Any, Any]]:
            keys = list({draw_key() for _ in range(chance.choice([0, 1, 3]))})
            return list(zip(keys, draw_values(chance, kind.item_field, len(keys)), strict=True))

        return draw_map
    if types.is_fixed_size_list(kind):
        return lambda: draw_values(chance, kind.value_field, kind.list_size)
    return lambda: draw_values(chance, kind.value_field, chance.choice([0, 0, 1, 2, 5]))


def time_drawer(chance: random.Random, kind: pa.DataType) -> Callable[[], Any]:
    """A function that draws a time, as its stored integer."""
    if pa.types.is_date32(kind):
        return lambda: dt.date(1970, 1, 1) + dt.timedelta(days=chance.randint(-20000, 40000))
    if pa.types.is_date64(kind):
        return lambda: chance.randint(-20000, 40000) * 86_400_000
    if pa.types.is_time(kind):
        per_day = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}[kind.unit]
        return lambda: chance.randrange(per_day)
    return lambda: chance.randint(-(1 << 50), 1 << 50)


def in_chunks(chance: random.Random, table: pa.Table) -> pa.Table:
    """The same entries, whole or in chunks that are slices of larger arrays."""
    n = table.num_rows
    if n < 2 or chance.random() < 0.3:
        return table
    cuts = sorted({0, n, *(chance.randrange(n) for _ in range(chance.randint(1, 3)))})
    return pa.concat_tables([table.slice(a, b - a) for a, b in itertools.pairwise(cuts)])
