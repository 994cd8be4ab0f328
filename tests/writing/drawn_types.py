"""Columns of C++ types that are drawn: the type, values of it as Arrow, and as C++ shows them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
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
    #: Types in it, and itself, of which ROOT has no fields without their dictionaries.
    linked: frozenset[str] = field(default_factory=frozenset)
    #: Values may be told apart by their texts, and ordered.
    is_key: bool = False
    #: Values may be missing: Arrow takes nulls of them.
    takes_nulls: bool = True


def _field(name: str, array: pa.Array) -> pa.Field:
    return pa.field(name, array.type, nullable=array.null_count > 0)


def _number(name: str, kind: pa.DataType, low: int, high: int, scale: float = 1) -> CppType:
    def draw(rng: np.random.Generator, n: int) -> Drawn:
        values = [int(one) * scale for one in rng.integers(low, high, n)]
        return pa.array(values, kind), [f"{one:.17g}" for one in values]

    return CppType(name, draw, is_key=True)


def _bools(rng: np.random.Generator, n: int) -> Drawn:
    values = [bool(one) for one in rng.integers(0, 2, n)]
    return pa.array(values, pa.bool_()), ["true" if one else "false" for one in values]


def _texts(rng: np.random.Generator, n: int) -> Drawn:
    values = ["x" * int(rng.integers(0, 20)) + str(one) for one in rng.integers(0, 10**6, n)]
    return pa.array(values, pa.string()), [f'"{one}"' for one in values]


LEAVES = [
    CppType("bool", _bools),
    CppType("std::string", _texts, is_key=True),
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
]
LISTS = ("std::vector", "ROOT::VecOps::RVec")
SETS = ("std::set", "std::unordered_set", "std::multiset", "std::unordered_multiset")
MAPS = ("std::map", "std::unordered_map", "std::multimap", "std::unordered_multimap")


def _offsets(rng: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    return np.concatenate([[0], np.cumsum(rng.integers(0, 4, n))]).astype(np.int32)


def _lists(template: str, item: CppType) -> CppType:
    def draw(rng: np.random.Generator, n: int) -> Drawn:
        ends = _offsets(rng, n)
        items, shown = item.draw(rng, int(ends[-1]))
        array = pa.ListArray.from_arrays(ends, items, type=pa.list_(_field("item", items)))
        return array, [f"[{','.join(shown[a:b])}]" for a, b in itertools.pairwise(ends)]

    return CppType(f"{template}<{item.name}>", draw, item.linked)


def _unordered(
    name: str, item: CppType, array_of: Callable[..., pa.Array], linked: frozenset[str]
) -> CppType:
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

    return CppType(name, draw, linked | {name})


def _set(template: str, item: CppType) -> CppType:
    def of(ends: pa.Array, items: pa.Array) -> pa.Array:
        return pa.ListArray.from_arrays(ends, items, type=pa.list_(_field("item", items)))

    return _unordered(f"{template}<{item.name}>", item, of, item.linked)


def _map(template: str, key: CppType, value: CppType) -> CppType:
    def of(ends: pa.Array, pairs: pa.Array) -> pa.Array:
        kind = pa.map_(pairs.type[0].type, pairs.type[1].with_name("value"))
        return pa.MapArray.from_arrays(ends, pairs.field(0), pairs.field(1), type=kind)

    pair = _record("std::pair", [key, value])
    return _unordered(f"{template}<{key.name},{value.name}>", pair, of, key.linked | value.linked)


def _record(template: str, members: list[CppType]) -> CppType:
    def draw(rng: np.random.Generator, n: int) -> Drawn:
        drawn = [member.draw(rng, n) for member in members]
        fields = [_field(f"m{number}", array) for number, (array, _) in enumerate(drawn)]
        array = pa.StructArray.from_arrays([one for one, _ in drawn], fields=fields)
        return array, [f"[{','.join(texts)}]" for texts in zip(*(texts for _, texts in drawn), strict=True)]

    linked = frozenset[str]().union(*(member.linked for member in members))
    takes_nulls = all(member.takes_nulls for member in members)
    return CppType(f"{template}<{','.join(one.name for one in members)}>", draw, linked, False, takes_nulls)


def _array(item: CppType, size: int) -> CppType:
    def draw(rng: np.random.Generator, n: int) -> Drawn:
        items, shown = item.draw(rng, n * size)
        array = pa.FixedSizeListArray.from_arrays(items, type=pa.list_(_field("item", items), size))
        return array, [f"[{','.join(shown[k * size : (k + 1) * size])}]" for k in range(n)]

    name = f"std::bitset<{size}>" if item.name == "bool" and size > 3 else f"std::array<{item.name},{size}>"
    return CppType(name, draw, item.linked, False, item.takes_nulls)


def _nullable(template: str, value: CppType) -> CppType:
    def draw(rng: np.random.Generator, n: int) -> Drawn:
        values, shown = value.draw(rng, n)
        places = [k if rng.integers(0, 3) else None for k in range(n)]
        texts = ["null" if k is None else shown[k] for k in places]
        return values.take(pa.array(places, pa.int64())), texts

    return CppType(f"{template}<{value.name}>", draw, value.linked)


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
                shown[place] = "null" if text == "null" else f"[{tag},{text}]"
        array = pa.UnionArray.from_dense(pa.array(tags, pa.int8()), pa.array(places), children)
        return array, shown

    linked = frozenset[str]().union(*(one.linked for one in alternatives))
    return CppType(f"std::variant<{','.join(one.name for one in alternatives)}>", draw, linked, False, False)


def drawn_type(rng: np.random.Generator, depth: int) -> CppType:
    """Draw a type of at most so many levels."""
    if depth == 0 or rng.integers(0, 6) == 0:
        return LEAVES[rng.integers(0, len(LEAVES))]
    plain = [one for one in LEAVES if "atomic" not in one.name]
    keys = [one for one in LEAVES if one.is_key]
    key = keys[rng.integers(0, len(keys))]
    inner = [drawn_type(rng, depth - 1) for _ in range(3)]
    # What C++ cannot copy, or Arrow's take cannot.
    inner = [one if "atomic" not in one.name and "unique_ptr" not in one.name else plain[0] for one in inner]
    several = inner[: int(rng.integers(1, 4))]
    nullable = next((one for one in inner if one.takes_nulls and "variant" not in one.name), plain[1])
    movable = [one if "variant" not in one.name else plain[2] for one in inner]
    kind = rng.integers(0, 9)
    if kind == 0:
        return _set(SETS[rng.integers(0, 4)], key)
    if kind == 1:
        return _map(MAPS[rng.integers(0, 4)], key, movable[0])
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
        return _variant([one for one in distinct if one.takes_nulls] or [plain[0]])
    return _lists(LISTS[rng.integers(0, 2)], inner[0])
