"""Trees of objects that ROOT and arrowroot write of the same values with the same settings.

It is imported in ROOT's process too, which has no arrowroot.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from typing import Any

#: Names of numbers in C++, and a function that draws one.
NUMBERS = {
    "bool": lambda chance: chance.random() < 0.5,
    "unsigned char": lambda chance: chance.randrange(256),
    "short": lambda chance: chance.randrange(-(1 << 15), 1 << 15),
    "unsigned short": lambda chance: chance.randrange(1 << 16),
    "int": lambda chance: chance.randrange(-(1 << 31), 1 << 31),
    "unsigned int": lambda chance: chance.randrange(1 << 32),
    "Long64_t": lambda chance: chance.randrange(-(1 << 63), 1 << 63),
    "ULong64_t": lambda chance: chance.randrange(1 << 64),
    "float": lambda chance: chance.randrange(1 << 20) / 64,
    "double": lambda chance: chance.gauss(0, 1),
    # In the ranges of the tests, and exactly a float.
    "packed": lambda chance: chance.randrange(-9 << 10, 9 << 10) / 1024,
}


@dataclass(frozen=True)
class Array:
    """Fixed arrays of numbers."""

    of: str
    dims: tuple[int, ...]


@dataclass(frozen=True)
class Packed:
    """Numbers of a packed type, or fixed arrays of them; the annotation is the comment behind a member."""

    #: "Double32_t" or "Float16_t".
    of: str
    annotation: str = ""
    dims: tuple[int, ...] = ()

    @property
    def precision(self) -> str:
        """As a layout says it."""
        return self.of.removesuffix("_t") + self.annotation


@dataclass(frozen=True)
class Vector:
    """A ``std::vector``."""

    of: Kind


@dataclass(frozen=True)
class Class:
    """A class of members in order."""

    name: str
    members: tuple[tuple[str, Kind], ...]


#: The name of a number, "string", or one of these.
Kind = str | Array | Packed | Vector | Class


def spelled(kind: Kind) -> str:
    """The type in C++."""
    if isinstance(kind, str):
        return "std::string" if kind == "string" else kind
    if isinstance(kind, Vector):
        return f"std::vector<{spelled(kind.of)}>"
    if isinstance(kind, Packed):
        return kind.of
    assert isinstance(kind, Class)
    return kind.name


def declared(kind: Kind, versions: dict[str, int]) -> list[str]:
    """Declarations of the classes of a type, those inside of others before them; with these versions."""
    if isinstance(kind, Vector):
        return declared(kind.of, versions)
    if not isinstance(kind, Class):
        return []
    found = [line for _, member in kind.members for line in declared(member, versions)]
    members = []
    for name, member in kind.members:
        if isinstance(member, Array | Packed):
            dims = "".join(f"[{n}]" for n in member.dims)
            comment = f" //{member.annotation}" if isinstance(member, Packed) and member.annotation else ""
            members.append(f"{member.of} {name}{dims};{comment}")
            if isinstance(member, Packed) and member.dims:
                # PyROOT takes them for other arrays.
                members.append(f"void set_{name}(int place, double value) {{ {name}[place] = value; }}")
        else:
            members.append(f"{spelled(member)} {name};")
    lines = "\n".join([*members, f"ClassDefNV({kind.name}, {versions.get(kind.name, 2)})"])
    return [*found, f"struct {kind.name} {{\n{lines}\n}};"]


def precision_of(kind: Kind) -> str | None:
    """The precision of the packed numbers of a type."""
    if isinstance(kind, Packed):
        return kind.precision
    if isinstance(kind, Vector):
        return precision_of(kind.of)
    members = [precision_of(member) for _, member in kind.members] if isinstance(kind, Class) else []
    return next((one for one in members if one is not None), None)


def draw(kind: Kind, chance: random.Random) -> Any:
    """A value."""
    if kind == "string":
        return chance.choice(["", "a", "two words", "z" * 300])
    if isinstance(kind, str):
        return NUMBERS[kind](chance)
    if isinstance(kind, Array | Packed):
        return _arrays("packed" if isinstance(kind, Packed) else kind.of, kind.dims, chance)
    if isinstance(kind, Vector):
        return [draw(kind.of, chance) for _ in range(chance.choice([0, 0, 1, 2, 5]))]
    return {name: draw(member, chance) for name, member in kind.members}


def _arrays(of: str, dims: tuple[int, ...], chance: random.Random) -> Any:
    if not dims:
        return draw(of, chance)
    return [_arrays(of, dims[1:], chance) for _ in range(dims[0])]


def _class(name: str, **members: Kind) -> Class:
    return Class(name, tuple(members.items()))


#: Numbers that are not packed.
_PLAIN = [name for name in NUMBERS if name != "packed"]
_POINT = {"x": "float", "y": "double", "ok": "bool"}
_ALL = {
    f"m{place}": kind
    for place, kind in enumerate([*_PLAIN, "string", Array("float", (3,)), Array("short", (2, 3))])
}
_RANGE = Packed("Double32_t", "[-10,10,12]")
#: Objects by name; each class has its own name, as arrowroot gives them.
OBJECTS: dict[str, Kind] = {
    "point": _class("Point", **_POINT),
    "all": _class(
        "All", **_ALL, v=Vector("float"), w=Vector("bool"), t=Vector("string"), vv=Vector(Vector("int"))
    ),
    "deep": _class(
        "Deep",
        n="int",
        p=_class(
            "Deep_p",
            **_POINT,
            q=_class("Deep_p_q", a="short", hits=Vector(_class("Deep_p_q_hits", e="float"))),
        ),
        s="string",
    ),
    "event": _class(
        "Event",
        n="int",
        tracks=Vector(
            _class(
                "Event_tracks", pt="float", p=_class("Event_tracks_p", **_POINT), cov=Array("float", (2, 2))
            )
        ),
        end="double",
    ),
    "points": Vector(_class("Points", **_POINT)),
    "alls": Vector(_class("Alls", **_ALL, v=Vector("float"), t=Vector("string"))),
    "tracks": Vector(
        _class(
            "Tracks",
            pt="float",
            p=_class("Tracks_p", **_POINT, q=_class("Tracks_p_q", a="short")),
            hits=Vector(_class("Tracks_hits", e="float", ids=Vector("int"))),
        )
    ),
    "packed": _class("Pack", n="int", a=_RANGE, b=Packed("Double32_t", _RANGE.annotation, (3,)), f="float"),
    "packs": Vector(
        _class(
            "Packs", a=_RANGE, b=Packed("Double32_t", _RANGE.annotation, (2,)), p=_class("Packs_p", e=_RANGE)
        )
    ),
    # Draw takes the branch x.n for the part n of x.s.n.k.
    "beside": Vector(
        _class(
            "Beside",
            n="int",
            s=_class("Beside_s", n=_class("Beside_s_n", k="int"), m=_class("Beside_s_m", k="int")),
        )
    ),
    # One dictionary cannot have vector<Float16_t> and vector<float>, which are one type in C++.
    "halves": Vector(_class("Halves", a=Packed("Float16_t"), s="string")),
    "shorter": _class("Shorter", a=Packed("Double32_t"), v=Vector(Vector(Packed("Double32_t")))),
}


@dataclass(frozen=True)
class Case:
    """A tree of one column ``x`` of objects, and how it is written."""

    kind: str
    split: int
    memberwise: bool
    flush: int | None
    basket_size: int

    @property
    def file_name(self) -> str:
        """The name of both files, each in a directory of its own."""
        ways = "members" if self.memberwise else "objects"
        return f"{self.kind}-{self.split:02}-{ways}-{self.flush}.root"

    @property
    def schema_name(self) -> str:
        """The name of the file with the Arrow schema that arrowroot has written into the tree."""
        return f"{self.file_name}.schema"

    @property
    def values(self) -> list[Any]:
        """The values of the entries, the same in every process."""
        chance = random.Random(self.kind)
        return [draw(OBJECTS[self.kind], chance) for _ in range(120)]

    @property
    def branch_name(self) -> str:
        """As ``TTree::Branch`` is given it: with a dot where an object is split, so that no two have one name."""
        return "x." if self.split and isinstance(OBJECTS[self.kind], Class) else "x"


def cases() -> list[Case]:
    """All of them: each object at each split level, both ways, with and without flushes."""
    return [
        Case(kind, split, memberwise, flush, 1200 if flush is None else 32000)
        for kind, split, memberwise, flush in itertools.product(
            OBJECTS, [0, 1, 2, 99], [False, True], [None, 50]
        )
    ]
