"""Types of the fields of RNTuples, beside those of types.py: spellings, values, and zeros."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import types as t

#: Column types of a number or text; the first one of each is what ROOT takes.
PLAIN_OR_SPLIT = {
    "std::int16_t": "Int16", "std::uint16_t": "UInt16", "std::int32_t": "Int32", "std::uint32_t": "UInt32",
    "std::int64_t": "Int64", "std::uint64_t": "UInt64",
}  # fmt: skip
INDEXES = ["kIndex32", "kIndex64", "kSplitIndex32", "kSplitIndex64"]


@dataclass
class Byte(t.Type):
    cpp: str = "std::byte"

    def draw(self, draws: t.Draws) -> int:
        high = draws.next()
        return ((high << 33) ^ draws.next()) & 0xFF


@dataclass
class Atomic(t.Type):
    item: t.Type

    def __post_init__(self) -> None:
        self.cpp = f"std::atomic<{self.item.cpp}>"
        self.parts = (self.item,)

    def draw(self, draws: t.Draws) -> Any:
        return self.item.draw(draws)


@dataclass
class Optional(t.Type):
    item: t.Type

    def __post_init__(self) -> None:
        self.cpp = f"std::optional<{self.item.cpp}>"
        self.parts = (self.item,)

    def draw(self, draws: t.Draws) -> Any:
        return self.item.draw(draws) if draws.below(3) else None


@dataclass
class Tuple(t.Type):
    """A tuple, or a pair: RNTuples call the members of both by their numbers."""

    items: tuple[t.Type, ...]
    template: str = "std::tuple"

    def __post_init__(self) -> None:
        self.cpp = f"{self.template}<{', '.join(item.cpp for item in self.items)}>"
        self.parts = self.items

    def draw(self, draws: t.Draws) -> dict[str, Any]:
        return {str(place): item.draw(draws) for place, item in enumerate(self.items)}


@dataclass
class Variant(t.Type):
    items: tuple[t.Type, ...]

    def __post_init__(self) -> None:
        self.cpp = f"std::variant<{', '.join(item.cpp for item in self.items)}>"
        self.parts = self.items

    def draw(self, draws: t.Draws) -> Any:
        return self.items[draws.below(len(self.items))].draw(draws)


@dataclass
class Encoded(t.Type):
    """A type in a column type of choice."""

    item: t.Type
    #: Statement of C++ on `f`, the field.
    statement: str
    #: What the column type keeps of a value: "all", "single", "half", or the number of bits of a truncated one.
    kept: str | int = "all"

    def __post_init__(self) -> None:
        self.cpp = self.item.cpp
        self.parts = self.item.parts
        self.proxy = self.item.proxy

    def draw(self, draws: t.Draws) -> Any:
        value = self.item.draw(draws)
        if self.kept == "all":
            return value
        if self.kept == "single":
            return float(np.float32(value))
        if self.kept == "half":
            return float(np.float16(value))
        bits = (
            struct.unpack("<I", struct.pack("<f", value))[0] >> (32 - int(self.kept)) << (32 - int(self.kept))
        )
        return struct.unpack("<f", struct.pack("<I", bits))[0]


def bare(kind: t.Type) -> t.Type:
    """The type, whatever its column type."""
    return bare(kind.item) if isinstance(kind, Encoded) else kind


def statements(kind: t.Type, path: tuple[int, ...] = ()) -> list[str]:
    """How the column types inside of a field are chosen."""
    if isinstance(kind, Encoded):
        places = ", ".join(map(str, path))
        own = [f"{{ auto &f = fuzz::at(*field, {{{places}}}); {kind.statement} }}"]
        return own + statements(kind.item, path)
    if isinstance(kind, t.Class):
        # Bases are subfields before the members; an array of arrays is a field in a field.
        lines = [line for place, base in enumerate(kind.bases) for line in statements(base, (*path, place))]
        for place, member in enumerate(kind.members, len(kind.bases)):
            lines += statements(member.type, (*path, place, *[0] * len(member.dims)))
        return lines
    if isinstance(kind, t.Map):
        return statements(kind.key, (*path, 0, 0)) + statements(kind.value, (*path, 0, 1))
    return [line for place, item in enumerate(kind.parts) for line in statements(item, (*path, place))]


def zero(kind: t.Type) -> Any:
    """What a field has in entries from before it was added."""
    match kind:
        case Encoded() | Atomic():
            return zero(kind.item)
        case Optional() | Variant() | t.Pointer():
            return None
        case Tuple():
            return {str(place): zero(item) for place, item in enumerate(kind.items)}
        case t.Class():
            members = {name: value for base in kind.bases for name, value in zero(base).items()}
            return members | {m.name: repeated(zero(m.type), m.dims) for m in kind.members}
        case t.Array():
            return [zero(kind.item)] * kind.n_items
        case t.Bitset():
            return [False] * kind.n_bits
        case t.Sequence() | t.VectorOfBools() | t.Keys() | t.Map():
            return []
        case t.Text():
            return ""
        case t.Bool():
            return False
        case t.Float() | t.Double():
            return 0.0
    return 0


def repeated(value: Any, dims: tuple[int, ...]) -> Any:
    return [repeated(value, dims[1:])] * dims[0] if dims else value


def is_aligned_to_eight(kind: t.Type) -> bool:
    """Whether an object is, and so has a multiple of eight bytes."""
    wide = (t.Double, t.Text, t.Sequence, t.VectorOfBools, t.Keys, t.Map, t.Pointer, t.Bitset)
    parts = [bare(part) for part in t.parts_of(kind)]
    return any(isinstance(part, wide) or (isinstance(part, t.Integer) and part.bits == 64) for part in parts)


def can_be_copied(kind: t.Type) -> bool:
    if isinstance(kind, t.Class):
        return all(can_be_copied(part) for part in [*kind.bases, *(m.type for m in kind.members)])
    return not isinstance(kind, Atomic | t.Pointer) and all(can_be_copied(part) for part in kind.parts)


def can_be_moved(kind: t.Type) -> bool:
    if isinstance(kind, t.Class):
        return all(can_be_moved(part) for part in [*kind.bases, *(m.type for m in kind.members)])
    if isinstance(kind, t.Sequence | t.Pointer | t.Map):
        return True
    return not isinstance(kind, Atomic) and all(can_be_moved(part) for part in kind.parts)
