"""Random schemas: classes, and the branches of a tree of them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from . import types as t

INTEGERS = [
    ("char", 8, True), ("signed char", 8, True), ("unsigned char", 8, False), ("short", 16, True),
    ("unsigned short", 16, False), ("int", 32, True), ("unsigned int", 32, False), ("long", 64, True),
    ("unsigned long", 64, False), ("Long64_t", 64, True), ("ULong64_t", 64, False), ("int16_t", 16, True),
]  # fmt: skip
INT, SHORT = t.Integer("int", 32, is_signed=True), t.Integer("short", 16, is_signed=True)
UNSIGNED_LONG = t.Integer("unsigned long", 64, is_signed=False)
SEQUENCES = ["std::vector"] * 6 + ["std::list", "std::deque", "std::forward_list", "ROOT::RVec"]
KEYS = ["std::set"] * 3 + ["std::multiset", "std::unordered_set", "std::unordered_multiset"]
MAPS = ["std::map"] * 4 + ["std::multimap", "std::unordered_map", "std::unordered_multimap"]
SPLIT_LEVELS = [0, 0, 0, 1, 2, 99, 99]
BASKET_BYTES = [300, 2000, 32000]
#: Values for members of one number, bare or in an array, that ROOT packs.
PACKED = ["Double32_t", "Float16_t"]


@dataclass
class Branch:
    """A branch at the top of the tree."""

    name: str
    type: t.Type
    split: int
    basket_bytes: int


@dataclass
class Schema:
    """What one file holds."""

    seed: int
    namespace: str = ""
    enumeration: t.Enumeration = field(default_factory=lambda: t.Enumeration("int"))
    classes: list[t.Class] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    n_entries: int = 0
    is_member_wise: bool = True
    compression: int = 0
    offset_map: bool = False

    def value_seed(self, branch: int) -> int:
        return self.seed * 1000 + branch

    def expected(self, branch: int) -> list[Any]:
        """The values of all entries of a branch."""
        draws = t.Draws(self.value_seed(branch))
        return [self.branches[branch].type.draw(draws) for _ in range(self.n_entries)]


class Generator:
    """Makes one schema of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.schema = Schema(seed, f"s{seed}")
        self.n_members = 0

    def make(self) -> Schema:
        schema, pick = self.schema, self.random
        schema.enumeration = t.Enumeration(f"{schema.namespace}::Kind")
        for level in range(pick.randint(1, 3)):
            schema.classes.append(self.new_class(f"C{level}", n_members=pick.randint(1, 5), is_top=False))
        if pick.random() < 0.5:
            schema.branches.append(self.branch("items", self.container(depth=0)))
        # The last one: it may have members that cannot be copied, and is no item of a container.
        top = self.new_class("Top", n_members=pick.randint(2, 7), is_top=True)
        schema.classes.append(top)
        schema.branches.append(self.branch("top." if pick.random() < 0.5 else "top", top))
        schema.n_entries = pick.randint(1, 9)
        schema.is_member_wise = pick.random() < 0.6
        schema.compression = pick.choice([0, 0, 505])
        schema.offset_map = pick.random() < 0.2
        return schema

    def branch(self, name: str, kind: t.Type) -> Branch:
        pick = self.random
        return Branch(name, kind, pick.choice(SPLIT_LEVELS), pick.choice(BASKET_BYTES))

    def new_class(self, name: str, *, n_members: int, is_top: bool) -> t.Class:
        pick, before = self.random, self.schema.classes
        made = t.Class(f"{self.schema.namespace}::{name}")
        n_bases = pick.choice([0, 0, 0, 1, 1, 2]) if before else 0
        for base in pick.sample(before, min(n_bases, len(before))):
            if not ancestors(base) & {a for b in made.bases for a in ancestors(b)}:
                made.bases.append(base)
        for _ in range(n_members):
            made.members += self.members(is_top=is_top)
        if is_top:
            # Files do not describe enumerations: a member gives them away.
            made.members.append(t.Member(self.new_name(), self.schema.enumeration))
        return made

    def new_name(self) -> str:
        self.n_members += 1
        return f"m{self.n_members}"

    def members(self, *, is_top: bool) -> list[t.Member]:
        """Usually one member; two where one counts the other or both may point to one object."""
        pick = self.random
        kind = pick.random()
        if kind < 0.30:
            return [t.Member(self.new_name(), self.scalar(), self.dims())]
        if kind < 0.36:
            return [t.Member(self.new_name(), t.Float(pick.choice(PACKED)), self.dims(), is_packed=True)]
        if kind < 0.72:
            # ROOT 6.40 splits an array of one container and then writes nothing of it.
            dims = (pick.randint(2, 3),) if pick.random() < 0.1 else ()
            return [t.Member(self.new_name(), self.container(depth=0), dims)]
        if kind < 0.80 and self.schema.classes:
            dims = (pick.randint(1, 3),) if pick.random() < 0.3 else ()
            return [t.Member(self.new_name(), pick.choice(self.schema.classes), dims)]
        if kind < 0.86:
            counter = t.Member(self.new_name(), t.Counter())
            item = self.counted_item()
            return [counter, t.Member(self.new_name(), item, counter=counter.name)]
        if kind < 0.94 and self.schema.classes:
            target = pick.choice(self.schema.classes)
            pointer = t.Member(self.new_name(), t.Pointer(target, is_unique=is_top and pick.random() < 0.3))
            if pick.random() < 0.4 and "unique" not in pointer.type.cpp:
                return [pointer, t.Member(self.new_name(), pointer.type, twin=pointer.name)]
            return [pointer]
        return [t.Member(self.new_name(), pick.choice([self.fixed, self.pair, self.array, self.tuple])(0))]

    def dims(self) -> tuple[int, ...]:
        pick = self.random
        return tuple(pick.randint(1, 3) for _ in range(pick.choice([0, 0, 0, 0, 1, 2])))

    def number(self) -> t.Type:
        pick = self.random
        return pick.choice([t.Integer(*pick.choice(INTEGERS)), t.Float("float"), t.Double()])

    def scalar(self) -> t.Type:
        pick = self.random
        kind = pick.random()
        if kind < 0.65:
            return self.number()
        if kind < 0.75:
            return t.Bool()
        if kind < 0.82:
            return self.schema.enumeration
        return t.Text(pick.choice(["std::string", "std::string", "TString"]))

    def key(self) -> t.Type:
        pick = self.random
        return pick.choice([INT, SHORT, t.Double(), UNSIGNED_LONG, t.Text("std::string")])

    def counted_item(self) -> t.Type:
        pick = self.random
        return (
            pick.choice(self.schema.classes)
            if self.schema.classes and pick.random() < 0.25
            else self.number()
        )

    def fixed(self, depth: int) -> t.Type:
        return t.Bitset(self.random.randint(1, 20)) if self.random.random() < 0.5 else self.array(depth)

    def array(self, depth: int) -> t.Type:
        """An array in a container."""
        pick = self.random
        kind = pick.random()
        if kind < 0.5:
            return t.Array(self.number(), pick.randint(1, 4))
        # ROOT 6.40 writes nothing of an array of one container.
        return t.Array(
            self.scalar_or_class() if kind < 0.8 else self.container(depth + 1), pick.randint(2, 3)
        )

    def tuple(self, depth: int) -> t.Type:
        pick = self.random
        kinds = [self.scalar_or_class() for _ in range(pick.randint(1, 3))]
        if pick.random() < 0.4:
            kinds[-1] = self.container(depth + 1)
        return t.Tuple(tuple(kinds))

    def pair(self, depth: int) -> t.Type:
        return t.Pair(self.scalar_or_class(), self.item(depth + 1))

    def scalar_or_class(self) -> t.Type:
        pick = self.random
        return (
            pick.choice(self.schema.classes) if self.schema.classes and pick.random() < 0.3 else self.scalar()
        )

    def item(self, depth: int) -> t.Type:
        """What a container may hold."""
        pick = self.random
        kind = pick.random()
        if self.schema.classes and kind < 0.4:
            return pick.choice(self.schema.classes)
        if depth < 2 and kind < 0.55:
            return self.container(depth + 1)
        if depth < 2 and kind < 0.62:
            return self.pair(depth + 1)
        if depth < 2 and kind < 0.68:
            return self.array(depth + 1)
        if depth < 2 and kind < 0.72:
            return self.tuple(depth + 1)
        return self.scalar()

    def container(self, depth: int) -> t.Type:
        pick = self.random
        kind = pick.random()
        if kind < 0.65:
            if depth == 0 and self.schema.classes and pick.random() < 0.12:
                return t.Sequence("std::vector", t.Pointer(pick.choice(self.schema.classes), is_unique=False))
            template, item = pick.choice(SEQUENCES), self.item(depth)
            if isinstance(item, t.Bool):
                return t.VectorOfBools()
            # ROOT 6.40 writes counts and no items of an RVec of strings or containers, and other memory than the items
            # where enumerations are in anything but a vector.
            is_odd = "RVec" in template and not isinstance(item, t.Integer | t.Float | t.Double | t.Class)
            if is_odd or isinstance(item, t.Enumeration):
                template = "std::vector"
            return t.Sequence(template, item)
        if kind < 0.78:
            return t.Keys(pick.choice(KEYS), self.key())
        return t.Map(pick.choice(MAPS), self.key(), self.item(depth))


def ancestors(made: t.Class) -> set[str]:
    """A class and all its bases, by name."""
    return {made.cpp}.union(*(ancestors(base) for base in made.bases))
