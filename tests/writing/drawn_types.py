"""Tables of columns of C++ types that are drawn: the types, values as Arrow, and as C++ shows them."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

#: Values of a type: so many, as Arrow, and each as C++ shows it.
Drawn = tuple[pa.Array, list[str]]


@dataclass(frozen=True)
class CppType:
    """A C++ type and how values of it are drawn."""

    name: str
    draw: Callable[[np.random.Generator, int], Drawn]
    #: Values may be missing: Arrow takes nulls of them.
    takes_nulls: bool = True


def _field(name: str, array: pa.Array) -> pa.Field:
    return pa.field(name, array.type, nullable=array.null_count > 0)


def _number(name: str, kind: pa.DataType, low: int, high: int, scale: float = 1) -> CppType:
    def draw(rng: np.random.Generator, n: int) -> Drawn:
        values = [int(one) * scale for one in rng.integers(low, high, n)]
        return pa.array(values, kind), [f"{one:.17g}" for one in values]

    return CppType(name, draw)


def _bools(rng: np.random.Generator, n: int) -> Drawn:
    values = [bool(one) for one in rng.integers(0, 2, n)]
    return pa.array(values, pa.bool_()), ["true" if one else "false" for one in values]


def _texts(rng: np.random.Generator, n: int) -> Drawn:
    values = ["x" * int(rng.integers(0, 20)) + str(one) for one in rng.integers(0, 10**6, n)]
    return pa.array(values, pa.string()), [f'"{one}"' for one in values]


LEAVES = [
    CppType("bool", _bools),
    CppType("std::string", _texts),
    _number("char", pa.int8(), -128, 128),
    _number("std::int8_t", pa.int8(), -128, 128),
    _number("std::uint8_t", pa.uint8(), 0, 256),
    _number("std::int16_t", pa.int16(), -(2**15), 2**15),
    _number("std::uint16_t", pa.uint16(), 0, 2**16),
    _number("std::int32_t", pa.int32(), -(2**31), 2**31),
    _number("std::uint32_t", pa.uint32(), 0, 2**32),
    _number("std::int64_t", pa.int64(), -(2**53), 2**53),
    _number("std::uint64_t", pa.uint64(), 0, 2**53),
    _number("float", pa.float32(), -(2**12), 2**12, 0.25),
    _number("double", pa.float64(), -(2**12), 2**12, 0.125),
    CppType("std::byte", _number("", pa.uint8(), 0, 256).draw),
    CppType("std::atomic<std::int32_t>", _number("", pa.int32(), -9, 9).draw),
    CppType("Color", _number("", pa.int32(), 0, 9).draw),
]
LISTS = ("std::vector", "ROOT::VecOps::RVec")
SETS = ("std::set", "std::unordered_set", "std::multiset", "std::unordered_multiset")
MAPS = ("std::map", "std::unordered_map", "std::multimap", "std::unordered_multimap")
KEYS = ("std::string", "std::int32_t")
#: Values of maps: few, as ROOT needs a dictionary of each map, which takes a second to compile.
VALUES = ("float", "std::vector<std::string>")
#: ROOT 6.40 looks for the number of the alternative behind the largest one, and not where the alignment of others has
#: it: of a record or array beside `std::bitset`. Of sets and maps it takes 16 bytes as the alignment, so 64 for what
#: has 56 bytes in C++: made in a tuple, such a variant overwrites what is behind. ROOT aborts, or waits in malloc.
_IN_NO_VARIANT = re.compile(r"std::(array|pair|tuple|(unordered_)?(multi)?(set|map))<")
#: What is to have a dictionary.
LINKED = [
    "enum Color",
    *(f"class {template}<{key}>+" for template in SETS for key in KEYS),
    *(
        f"class {template}<{key},{value}>+"
        for template in MAPS
        for key, value in zip(KEYS, VALUES, strict=True)
    ),
]


def _offsets(rng: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    return np.concatenate([[0], np.cumsum(rng.integers(0, 4, n))]).astype(np.int32)


def _lists(template: str, item: CppType) -> CppType:
    def draw(rng: np.random.Generator, n: int) -> Drawn:
        ends = _offsets(rng, n)
        items, shown = item.draw(rng, int(ends[-1]))
        array = pa.ListArray.from_arrays(ends, items, type=pa.list_(_field("item", items)))
        return array, [f"[{','.join(shown[a:b])}]" for a, b in itertools.pairwise(ends)]

    return CppType(f"{template}<{item.name}>", draw)


def _unordered(name: str, item: CppType, array_of: Callable[..., pa.Array]) -> CppType:
    """Sets and maps: of equal items there is one, and they are shown in the order of their texts."""

    def draw(rng: np.random.Generator, n: int) -> Drawn:
        ends = _offsets(rng, n)
        items, shown = item.draw(rng, int(ends[-1]))
        kept: list[int] = []
        new, texts = [0], []
        for a, b in itertools.pairwise(ends):
            keys = [one.split(",")[0] for one in shown[a:b]] if "map<" in name else shown[a:b]
            own = [int(a) + keys.index(key) for key in dict.fromkeys(keys)]
            texts.append(f"[{','.join(sorted(shown[place] for place in own))}]")
            kept += own
            new.append(len(kept))
        return array_of(pa.array(new, pa.int32()), items.take(pa.array(kept, pa.int64()))), texts

    return CppType(name, draw)


def _set(template: str, item: CppType) -> CppType:
    def of(ends: pa.Array, items: pa.Array) -> pa.Array:
        return pa.ListArray.from_arrays(ends, items, type=pa.list_(_field("item", items)))

    return _unordered(f"{template}<{item.name}>", item, of)


def _map(template: str, key: CppType, value: CppType) -> CppType:
    def of(ends: pa.Array, pairs: pa.Array) -> pa.Array:
        kind = pa.map_(pairs.type[0].type, pairs.type[1].with_name("value"))
        return pa.MapArray.from_arrays(ends, pairs.field(0), pairs.field(1), type=kind)

    pair = _record("std::pair", [key, value])
    return _unordered(f"{template}<{key.name},{value.name}>", pair, of)


def _record(template: str, members: list[CppType]) -> CppType:
    def draw(rng: np.random.Generator, n: int) -> Drawn:
        drawn = [member.draw(rng, n) for member in members]
        fields = [_field(f"m{number}", array) for number, (array, _) in enumerate(drawn)]
        array = pa.StructArray.from_arrays([one for one, _ in drawn], fields=fields)
        return array, [f"[{','.join(texts)}]" for texts in zip(*(texts for _, texts in drawn), strict=True)]

    takes_nulls = all(member.takes_nulls for member in members)
    return CppType(f"{template}<{','.join(one.name for one in members)}>", draw, takes_nulls)


def _array(item: CppType, size: int) -> CppType:
    def draw(rng: np.random.Generator, n: int) -> Drawn:
        items, shown = item.draw(rng, n * size)
        array = pa.FixedSizeListArray.from_arrays(items, type=pa.list_(_field("item", items), size))
        return array, [f"[{','.join(shown[k * size : (k + 1) * size])}]" for k in range(n)]

    name = f"std::bitset<{size}>" if item.name == "bool" and size > 3 else f"std::array<{item.name},{size}>"
    return CppType(name, draw, item.takes_nulls)


def _nullable(template: str, value: CppType) -> CppType:
    def draw(rng: np.random.Generator, n: int) -> Drawn:
        values, shown = value.draw(rng, n)
        places = [k if rng.integers(0, 3) else None for k in range(n)]
        texts = ["null" if k is None else shown[k] for k in places]
        return values.take(pa.array(places, pa.int64())), texts

    return CppType(f"{template}<{value.name}>", draw)


def _variant(alternatives: list[CppType]) -> CppType:
    def draw(rng: np.random.Generator, n: int) -> Drawn:
        tags = rng.integers(0, len(alternatives), n)
        places = np.zeros(n, np.int32)
        shown = [""] * n
        children = []
        for tag, one in enumerate(alternatives):
            own = np.flatnonzero(tags == tag)
            places[own] = np.arange(len(own))
            values, texts = one.draw(rng, len(own))
            children.append(values)
            for place, text in zip(own, texts, strict=True):
                # A null, whatever alternative it is of, is none of them.
                shown[place] = "[]" if text == "null" else f"[{tag},{text}]"
        array = pa.UnionArray.from_dense(pa.array(tags, pa.int8()), pa.array(places), children)
        return array, shown

    return CppType(f"std::variant<{','.join(one.name for one in alternatives)}>", draw, takes_nulls=False)


def _drawn_type(rng: np.random.Generator, depth: int) -> CppType:
    """Draw a type of at most so many levels."""
    if depth == 0 or rng.integers(0, 6) == 0:
        return LEAVES[rng.integers(0, len(LEAVES))]
    plain = [one for one in LEAVES if "atomic" not in one.name]
    number = int(rng.integers(0, len(KEYS)))
    key, value = (next(one for one in LEAVES if one.name == name) for name in (KEYS[number], "float"))
    inner = [_drawn_type(rng, depth - 1) for _ in range(3)]
    # What C++ cannot copy, or Arrow's take cannot.
    inner = [one if "atomic" not in one.name and "unique_ptr" not in one.name else plain[0] for one in inner]
    several = inner[: int(rng.integers(1, 4))]
    nullable = next((one for one in inner if one.takes_nulls and "variant" not in one.name), plain[1])
    kind = rng.integers(0, 9)
    if kind == 0:
        return _set(SETS[rng.integers(0, 4)], key)
    if kind == 1:
        return _map(MAPS[rng.integers(0, 4)], key, _lists("std::vector", LEAVES[1]) if number else value)
    if kind == 2:
        return _record("std::pair", inner[:2])
    if kind == 3:
        return _record("std::tuple", several)
    if kind == 4:
        return _array(inner[0], int(rng.integers(1, 6)))
    if kind == 5:
        return _nullable(("std::optional", "std::unique_ptr")[rng.integers(0, 2)], nullable)
    if kind == 6:
        distinct = list({one.name: one for one in several}.values())
        distinct = [one for one in distinct if _IN_NO_VARIANT.search(one.name) is None]
        return _variant([one for one in distinct if one.takes_nulls] or [plain[0]])
    return _lists(LISTS[rng.integers(0, 2)], inner[0])


@dataclass(frozen=True)
class DrawnTable:
    """A table, and what it becomes as an RNTuple."""

    table: pa.Table
    #: The C++ types that are asked for, by column, or by column and member of records without a name.
    types: dict[str, str]
    #: Fields, columns and what ``projections="flat"`` shows of their members: as which type they are read ("": that of
    #: the file), and each value as C++ shows it.
    fields: dict[str, tuple[str, list[str]]]
    layout: dict[str, Any]


def draw(seed: int) -> DrawnTable:
    """Draw a table: up to 4 columns of drawn types, or records of such, and up to 40 entries in several clusters."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 7, 20, 40]))
    numbers = [float(one) for one in range(n)]
    columns = {"n": _field("n", pa.array(numbers))}
    arrays = [pa.array(numbers)]
    types: dict[str, str] = {}
    fields = {"n": ("double", [f"{one:.17g}" for one in numbers])}
    for number in range(int(rng.integers(1, 5))):
        name = f"c{number}"
        drawn = _drawn_type(rng, 3)
        if rng.integers(0, 4):
            array, shown = drawn.draw(rng, n)
            types[name] = drawn.name
            fields[name] = drawn.name, shown
        else:
            members = [drawn, *(_drawn_type(rng, 2) for _ in range(int(rng.integers(0, 3))))]
            array = _draw_records(rng, n, name, members, fields)
            types |= {f"{name}.m{place}": one.name for place, one in enumerate(members)}
        columns[name] = _field(name, array)
        arrays.append(array)
    layout = {
        "flush": int(rng.choice([3, 7, 1000])),
        "compression": [None, "zstd", "lz4:1"][rng.integers(0, 3)],
        "encoding": ["auto", "plain", "split"][rng.integers(0, 3)],
    }
    return DrawnTable(pa.table(arrays, schema=pa.schema(columns.values())), types, fields, layout)


def _draw_records(
    rng: np.random.Generator,
    n: int,
    name: str,
    members: list[CppType],
    fields: dict[str, tuple[str, list[str]]],
) -> pa.Array:
    """Records without a name, or lists of such, and the fields that they become."""
    ends = _offsets(rng, n) if rng.integers(0, 2) else None
    drawn = [one.draw(rng, n if ends is None else int(ends[-1])) for one in members]
    parts = [_field(f"m{place}", array) for place, (array, _) in enumerate(drawn)]
    array = pa.StructArray.from_arrays([one for one, _ in drawn], fields=parts)
    records = [f"[{','.join(one)}]" for one in zip(*(shown for _, shown in drawn), strict=True)]
    shown = {"": records} | {f"_m{place}": one for place, (_, one) in enumerate(drawn)}
    if ends is not None:
        array = pa.ListArray.from_arrays(ends, array, type=pa.list_(_field("item", array)))
        spans = list(itertools.pairwise(map(int, ends)))
        shown = {part: [f"[{','.join(one[a:b])}]" for a, b in spans] for part, one in shown.items()}
        fields[f"n{name}"] = "", [str(b - a) for a, b in spans]
    fields |= {name + part: ("", one) for part, one in shown.items()}
    return array
