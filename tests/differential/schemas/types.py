"""Types of C++: how they are spelled, and which values fill.hxx puts into them.

A value is what arrowroot gives as Python objects: numbers, text, lists, dicts of members, lists of pairs for maps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_MASK = (1 << 64) - 1


class Draws:
    """The generator of fill.hxx."""

    def __init__(self, seed: int) -> None:
        self.state = seed & _MASK

    def next(self) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & _MASK
        return self.state >> 33

    def below(self, n: int) -> int:
        return self.next() % n


class Type:
    """A type: its spelling, its values, and what ROOT must be told of it."""

    cpp: str
    #: Types of members that containers inside are made of, themselves included, inner ones first.
    parts: tuple[Type, ...] = ()
    #: Arguments of TCollectionProxyInfo, if it is a container.
    proxy: str | None = None
    is_unordered = False

    def draw(self, draws: Draws) -> Any:
        raise NotImplementedError

    def walk(self) -> list[Type]:
        found: list[Type] = []
        for part in self.parts:
            found += part.walk()
        return [*found, self]


@dataclass
class Integer(Type):
    cpp: str
    bits: int
    is_signed: bool

    def draw(self, draws: Draws) -> int:
        high = draws.next()
        value = ((high << 33) ^ draws.next()) & ((1 << self.bits) - 1)
        return value - (1 << self.bits) if self.is_signed and value >> (self.bits - 1) else value


@dataclass
class Bool(Type):
    cpp: str = "bool"

    def draw(self, draws: Draws) -> bool:
        high = draws.next()
        return bool(high % 2)


@dataclass
class Enumeration(Type):
    cpp: str

    def draw(self, draws: Draws) -> int:
        return draws.below(3) * 7 - 3


@dataclass
class Float(Type):
    cpp: str

    def draw(self, draws: Draws) -> float:
        return (draws.below(2048) - 1024) * 0.5


@dataclass
class Double(Type):
    cpp: str = "double"

    def draw(self, draws: Draws) -> float:
        return (draws.below(1 << 30) - (1 << 29)) * 0.0078125


@dataclass
class Text(Type):
    cpp: str

    def draw(self, draws: Draws) -> str:
        n = 250 + draws.below(20) if draws.below(40) == 0 else draws.below(6)
        return "".join(chr(ord("a") + draws.below(26)) for _ in range(n))


@dataclass
class Sequence(Type):
    template: str
    item: Type

    def __post_init__(self) -> None:
        self.cpp = f"{self.template}<{self.item.cpp}>"
        self.parts = (self.item,)
        # A vector<bool> has its proxy built in.
        if not isinstance(self.item, Bool):
            how = "Pushfront" if "forward" in self.template else "Pushback"
            self.proxy = f"{how}<{self.cpp}>"

    def draw(self, draws: Draws) -> list[Any]:
        return [self.item.draw(draws) for _ in range(draws.below(4))]


@dataclass
class VectorOfBools(Type):
    cpp: str = "std::vector<bool>"

    def draw(self, draws: Draws) -> list[bool]:
        found = []
        for _ in range(draws.below(4)):
            found.append(bool(draws.next() % 2))
            draws.next()
        return found


@dataclass
class Keys(Type):
    template: str
    item: Type

    def __post_init__(self) -> None:
        self.cpp = f"{self.template}<{self.item.cpp}>"
        self.parts = (self.item,)
        self.proxy = f"Insert<{self.cpp}>"
        self.is_unordered = "unordered" in self.template

    def draw(self, draws: Draws) -> list[Any]:
        drawn = [self.item.draw(draws) for _ in range(draws.below(4))]
        return sorted(drawn if "multi" in self.template else set(drawn))


@dataclass
class Map(Type):
    template: str
    key: Type
    value: Type

    def __post_init__(self) -> None:
        self.cpp = f"{self.template}<{self.key.cpp}, {self.value.cpp}>"
        self.parts = (self.key, self.value)
        self.proxy = f"MapInsert<{self.cpp}>"
        self.is_unordered = "unordered" in self.template

    def draw(self, draws: Draws) -> list[Any]:
        drawn: list[tuple[Any, Any]] = []
        for _ in range(draws.below(4)):
            key, value = self.key.draw(draws), self.value.draw(draws)
            if "multi" in self.template or key not in [k for k, _ in drawn]:
                drawn.append((key, value))
        return sorted(drawn, key=lambda pair: pair[0])


@dataclass
class Pair(Type):
    first: Type
    second: Type

    def __post_init__(self) -> None:
        self.cpp = f"std::pair<{self.first.cpp}, {self.second.cpp}>"
        self.parts = (self.first, self.second)

    def draw(self, draws: Draws) -> dict[str, Any]:
        return {"first": self.first.draw(draws), "second": self.second.draw(draws)}


@dataclass
class Tuple(Type):
    """ROOT calls its members ``_0``, ``_1`` and so on."""

    items: tuple[Type, ...]

    def __post_init__(self) -> None:
        self.cpp = f"std::tuple<{', '.join(item.cpp for item in self.items)}>"
        self.parts = self.items

    def draw(self, draws: Draws) -> dict[str, Any]:
        return {f"_{place}": item.draw(draws) for place, item in enumerate(self.items)}


@dataclass
class Array(Type):
    item: Type
    n_items: int

    def __post_init__(self) -> None:
        self.cpp = f"std::array<{self.item.cpp}, {self.n_items}>"
        self.parts = (self.item,)

    def draw(self, draws: Draws) -> list[Any]:
        return [self.item.draw(draws) for _ in range(self.n_items)]


@dataclass
class Bitset(Type):
    n_bits: int

    def __post_init__(self) -> None:
        self.cpp = f"std::bitset<{self.n_bits}>"
        self.proxy = f"Pushback<ROOT::Internal::TStdBitsetHelper<{self.cpp}>>"

    def draw(self, draws: Draws) -> list[bool]:
        return [bool(draws.below(2)) for _ in range(self.n_bits)]


@dataclass
class Pointer(Type):
    to: Type
    is_unique: bool

    def __post_init__(self) -> None:
        self.cpp = f"std::unique_ptr<{self.to.cpp}>" if self.is_unique else f"{self.to.cpp}*"
        self.parts = (self.to,)

    def draw(self, draws: Draws) -> Any:
        return self.to.draw(draws) if draws.below(3) else None


@dataclass
class Member:
    """A member of a class: ``dims`` for a C array, ``counter`` for one that another member counts."""

    name: str
    type: Type
    dims: tuple[int, ...] = ()
    counter: str = ""
    is_packed: bool = False
    #: A member before that it points to the object of, one time in two.
    twin: str = ""

    def declaration(self) -> str:
        if self.counter:
            return f"{self.type.cpp} *{self.name} = nullptr;  //[{self.counter}]"
        return f"{self.type.cpp} {self.name}{''.join(f'[{d}]' for d in self.dims)}{{}};"

    def statement(self) -> str:
        """How it is filled."""
        if self.counter:
            return f"fuzz::fill_counted(o.{self.name}, o.{self.counter}, d);"
        if self.is_packed:
            return f"fuzz::fill_packed(o.{self.name}, d);"
        if self.twin:
            return f"if (d.below(2)) o.{self.name} = o.{self.twin}; else fill(o.{self.name}, d);"
        return f"fill(o.{self.name}, d);"

    def draw(self, draws: Draws, before: dict[str, Any]) -> Any:
        if self.counter:
            return [self.type.draw(draws) for _ in range(before[self.counter])]
        if self.twin and draws.below(2):
            return before[self.twin]
        return self._array(self.dims, draws)

    def _array(self, dims: tuple[int, ...], draws: Draws) -> Any:
        if not dims:
            return self.type.draw(draws)
        return [self._array(dims[1:], draws) for _ in range(dims[0])]


@dataclass
class Counter(Type):
    """A number of items of arrays."""

    cpp: str = "int"

    def draw(self, draws: Draws) -> int:
        return draws.below(4)


@dataclass
class Class(Type):
    cpp: str
    bases: list[Class] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.cpp.rpartition("::")[2]

    def all_members(self) -> list[str]:
        """Names of the members, those of bases first."""
        return [n for base in self.bases for n in base.all_members()] + [
            member.name for member in self.members
        ]

    def definition(self) -> str:
        bases = ", ".join(base.cpp for base in self.bases)
        lines = [f"struct {self.name}{' : ' + bases if bases else ''} {{"]
        lines += [f"  {member.declaration()}" for member in self.members]
        lines += ["};", f"inline void fill({self.name} &o, fuzz::Draws &d) {{", "  using fuzz::fill;"]
        lines += [f"  fill(static_cast<{base.cpp} &>(o), d);" for base in self.bases]
        for member in self.members:
            if isinstance(member.type, Counter):
                lines.append(f"  o.{member.name} = d.below(4);")
            else:
                lines.append(f"  {member.statement()}")
        return "\n".join([*lines, "}"])

    def draw(self, draws: Draws) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for base in self.bases:
            found |= base.draw(draws)
        for member in self.members:
            found[member.name] = member.draw(draws, found)
        return found


def parts_of(kind: Type) -> list[Type]:
    """All types that a type is made of."""
    found = []
    for part in kind.walk():
        found.append(part)
        if isinstance(part, Class):
            for inner in [*part.bases, *(member.type for member in part.members)]:
                found += parts_of(inner)
    return found
