"""Kinds of columns, and values of them."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import math
import random
import struct as packing
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
TEXTS = [
    pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(3),
]  # fmt: skip
#: Not inside of others.
OTHERS = [
    pa.decimal128(12, 3), pa.decimal256(70, 2), pa.null(),
    pa.month_day_nano_interval(), pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.float64()),
    pa.dictionary(pa.uint8(), pa.float64(), ordered=True),
    pa.run_end_encoded(pa.int16(), pa.string()), pa.run_end_encoded(pa.int64(), pa.float64()),
]  # fmt: skip

if hasattr(pa, "decimal32"):  # the oldest pyarrow has none
    OTHERS += [pa.decimal32(5, 2), pa.decimal64(12, 2)]


def required(kind: pa.DataType, name: str = "item") -> pa.Field:
    """A field of which nothing is missing."""
    return pa.field(name, kind, nullable=False)


def list_of(kind: pa.DataType) -> pa.DataType:
    """Lists in which nothing is missing."""
    return pa.list_(required(kind))


def struct(**members: pa.DataType) -> pa.DataType:
    """Records of which nothing is missing."""
    return pa.struct([required(kind, name) for name, kind in members.items()])


_PAIR = pa.struct([("x", pa.int32()), ("y", pa.string())])
_RECORD = pa.struct([("a", pa.int32()), ("b.c", pa.string()), ("d", pa.list_(pa.float32()))])
#: Each type that can be written, and lists and records of some.
KINDS = [
    *NUMBERS, *TIMES, *TEXTS, *OTHERS,
    pa.list_(pa.int32()), pa.list_(required(pa.int32(), "element")), pa.large_list(pa.int32()),
    pa.list_view(pa.int32()), pa.large_list_view(pa.int32()), pa.list_(pa.int32(), 2),
    pa.list_(pa.list_(pa.int32(), 2), 3), pa.list_(pa.int32(), 0), pa.list_(pa.string(), 2), pa.list_(_PAIR, 2),
    pa.list_(pa.list_(pa.int32())),
    pa.list_(pa.string()), pa.list_(pa.binary()), pa.list_(pa.null()), pa.list_(pa.timestamp("ns")), _RECORD,
    pa.struct([]), pa.list_(_RECORD), pa.list_(pa.list_(_RECORD)), pa.map_(pa.string(), pa.int32()),
    pa.list_(pa.map_(pa.string(), pa.int32())), pa.list_(pa.dictionary(pa.int32(), pa.string())),
]  # fmt: skip
#: Names as people have them, and as no format or only some formats take them.
PLAIN_NAMES = [
    "x", "pt", "Muon_pt", "Muon_eta", "Jet_pt", "nJet", "run", "s", "value", "flags", "_private", "MET_pt", "w2",
]  # fmt: skip
ODD_NAMES = [
    "with space", "a.b", "a/b", "x[2]", "ünïcode", "2nd", "class", "nx", "x_isvalid", "pt_", "a:b", "semi;colon",
    "_x2e_", "EF_xe40_noMu", "_x31_", "a_u00e9_b", "tab\tname", 'quo"te', "per%cent", "*star",
]  # fmt: skip
MEMBERS = ["pt", "eta", "n", "key", "value", "with space", "id", "class", "int"]
#: Lists of the same lengths.
SHARED = ["Ele_a", "Ele_b", "Ele_c"]


class Chance(random.Random):
    """What is drawn from: floating-point numbers of all kinds, or as far from 0 as a bound alone."""

    bound: float | None = None


class Stream:
    """Data with the C interface and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def draw(seed: int, bound: float | None = None) -> pa.Table:
    """Draw a table: up to 11 columns, up to 150 entries (often few, sometimes none)."""
    chance = Chance(seed)
    chance.bound = bound
    n_entries = chance.choice([0, 1, 2, 7, 40, 150])
    names = chance.sample(PLAIN_NAMES, chance.randint(1, 5))
    if chance.random() < 0.4:
        names += chance.sample(ODD_NAMES, chance.randint(1, 2))
    fields, arrays = [], []
    for name in names:
        kind = draw_record(chance) if chance.random() < 0.15 else draw_type(chance, 0)
        fields.append(pa.field(name, kind, nullable=chance.random() < 0.3 or pa.types.is_null(kind)))
        arrays.append(draw_array(chance, fields[-1], n_entries))
    lengths = [chance.choice([0, 1, 3]) for _ in range(n_entries)]
    for name in SHARED[: chance.choice([0, 0, 2, 3])]:
        fields.append(required(pa.list_(required(chance.choice(NUMBERS))), name))
        draw_one = drawer(chance, fields[-1].type.value_type)
        arrays.append(pa.array([[draw_one() for _ in range(n)] for n in lengths], fields[-1].type))
    return in_chunks(chance, pa.table(arrays, schema=pa.schema(fields)))


def every_kind(n_entries: int, seed: int = 1) -> pa.Table:
    """A table with a column of each kind, called as its type."""
    chance = Chance(seed)
    fields = [pa.field(str(kind), kind) for kind in KINDS]
    return pa.table([draw_array(chance, field, n_entries) for field in fields], schema=pa.schema(fields))


def draw_type(chance: Chance, depth: int, *, has_views: bool = True) -> pa.DataType:
    """Draw a type, nested to a depth of 3 at most; a number half of the time."""
    roll = chance.random()
    if depth >= 3 or roll < 0.45:
        return chance.choice(NUMBERS)
    if roll < 0.55:
        return chance.choice(TEXTS[:3] if depth else TEXTS)
    if roll < 0.63:
        return chance.choice(TIMES)
    if roll < 0.67 and depth == 0:
        return chance.choice(OTHERS)
    # pyarrow makes no views in lists of a fixed size.
    is_fixed = 0.84 <= roll < 0.9
    kind = draw_type(chance, depth + 1, has_views=has_views and not is_fixed)
    item = pa.field("item", kind, nullable=chance.random() < 0.2)
    if is_fixed:
        return pa.list_(item, chance.choice([1, 2, 3]))
    if roll < 0.84:
        views = [pa.list_view, pa.large_list_view] if has_views else []
        return chance.choice([*[pa.list_] * 6, pa.large_list, *views])(item)
    if roll < 0.97:
        return draw_record(chance, depth, has_views=has_views)
    return pa.map_(chance.choice([pa.string(), pa.int32()]), item.with_name("value"))


def draw_record(chance: Chance, depth: int = 0, *, has_views: bool = True) -> pa.DataType:
    """Draw a record of some members, or at the top a list of such as often."""
    members = [
        pa.field(name, draw_type(chance, depth + 1, has_views=has_views), nullable=chance.random() < 0.2)
        for name in chance.sample(MEMBERS, chance.randint(1, 4))
    ]
    is_list = depth == 0 and chance.random() < 0.5
    return (
        pa.list_(pa.field("item", pa.struct(members), nullable=chance.random() < 0.2))
        if is_list
        else pa.struct(members)
    )


def draw_array(chance: Chance, field: pa.Field, n: int) -> pa.Array:
    """Draw the values of a column, in memory of its own."""
    values = draw_values(chance, field, n)
    if pa.types.is_run_end_encoded(field.type):
        import pyarrow.compute as pc

        array = pa.array(values, field.type.value_type)
        return pc.run_end_encode(array, run_end_type=field.type.run_end_type)
    return pa.array(values, field.type)


def draw_values(chance: Chance, field: pa.Field, n: int) -> list[Any]:
    """Draw values of a field, None among them if it is nullable."""
    draw_one = drawer(chance, field.type)
    return [None if field.nullable and chance.random() < 0.2 else draw_one() for _ in range(n)]


def drawer(chance: Chance, kind: pa.DataType) -> Callable[[], Any]:
    """A function that draws one value of a type."""
    types = pa.types
    if types.is_null(kind):
        return lambda: None
    if types.is_boolean(kind):
        return lambda: chance.random() < 0.5
    if types.is_integer(kind):
        bits = kind.bit_width
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        if not types.is_signed_integer(kind):
            low, high = 0, (1 << bits) - 1
        return lambda: chance.choice([low, high, 0, 1, chance.randint(low, high), chance.randint(0, 100)])
    if types.is_floating(kind):
        if (bound := chance.bound) is not None:
            return lambda: _rounded(chance.uniform(-bound, bound), kind)
        largest = {16: 65504.0, 32: 3.4028234663852886e38, 64: 1.7976931348623157e308}[kind.bit_width]
        smallest = {16: 2.0**-24, 32: 2.0**-149, 64: 5e-324}[kind.bit_width]
        special = [0.0, -0.0, math.nan, math.inf, -math.inf, largest, -largest, smallest]
        return lambda: chance.choice(
            [chance.choice(special), _rounded(chance.gauss(0, 1), kind), float(chance.randint(-50, 50))]
        )
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        words = [0.5, -1.0, 2.0] if types.is_floating(kind.value_type) else ["red", "green", "", "blau"]
        return lambda: chance.choice(words)
    if types.is_decimal(kind):
        most = 10 ** min(kind.precision - 1, 11)
        return lambda: decimal.Decimal(chance.randint(-most, most)).scaleb(-kind.scale)
    if types.is_fixed_size_binary(kind):
        return lambda: chance.randbytes(kind.byte_width)
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        return lambda: chance.randbytes(chance.choice([0, 1, 5, 20]))
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return lambda: chance.choice(["", "a", "two words", "ünï", "\t\n", "z" * 300, str(chance.random())])
    if types.is_temporal(kind):
        return _time_drawer(chance, kind)
    if types.is_struct(kind):
        members = [
            (kind.field(place), drawer(chance, kind.field(place).type)) for place in range(kind.num_fields)
        ]
        return lambda: {
            one.name: None if one.nullable and chance.random() < 0.2 else draw_one()
            for one, draw_one in members
        }
    if types.is_map(kind):
        draw_key = drawer(chance, kind.key_type)

        def draw_map() -> list[tuple[Any, Any]]:
            keys = list({draw_key(): None for _ in range(chance.choice([0, 1, 3]))})
            return list(zip(keys, draw_values(chance, kind.item_field, len(keys)), strict=True))

        return draw_map
    if types.is_fixed_size_list(kind):
        return lambda: draw_values(chance, kind.value_field, kind.list_size)
    return lambda: draw_values(chance, kind.value_field, chance.choice([0, 0, 1, 2, 5]))


def _rounded(value: float, kind: pa.DataType) -> float:
    """A number that the type has, so that it is the same in memory and in its list."""
    letter = {16: "e", 32: "f", 64: "d"}[kind.bit_width]
    return float(packing.unpack(letter, packing.pack(letter, value))[0])


def _time_drawer(chance: Chance, kind: pa.DataType) -> Callable[[], Any]:
    """A function that draws a time, as its stored integer."""
    if pa.types.is_interval(kind):
        return lambda: (chance.randint(-9, 9), chance.randint(-99, 99), chance.randint(-(1 << 50), 1 << 50))
    if pa.types.is_date32(kind):
        return lambda: dt.date(1970, 1, 1) + dt.timedelta(days=chance.randint(-20000, 40000))
    if pa.types.is_date64(kind):
        return lambda: chance.randint(-20000, 40000) * 86_400_000
    if pa.types.is_time(kind):
        per_day = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}[kind.unit]
        return lambda: chance.randrange(per_day)
    # As far as Python has times.
    most = 1 << {"s": 33, "ms": 43}.get(kind.unit, 50)
    return lambda: chance.randint(-most, most)


def in_chunks(chance: Chance, table: pa.Table) -> pa.Table:
    """The same entries, whole or in chunks that are slices of larger arrays, an empty one among them."""
    n = table.num_rows
    if n < 2 or chance.random() < 0.3:
        return table
    cuts = sorted([0, n, *(chance.randrange(n) for _ in range(chance.randint(1, 4)))])
    return pa.concat_tables([table.slice(a, b - a) for a, b in itertools.pairwise(cuts)])
