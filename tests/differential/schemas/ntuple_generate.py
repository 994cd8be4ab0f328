"""Random schemas of RNTuples: classes, fields of them, and how they are written."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from . import ntuple_types as n
from . import types as t
from .generate import ancestors

#: Spelling, bits, whether signed. Not ULong64_t: ROOT looks for maps of it under the name with std::uint64_t, which is
#: another class to its interpreter, and writes them empty.
INTEGERS = [
    ("std::int8_t", 8, True), ("std::uint8_t", 8, False), ("std::int16_t", 16, True), ("std::uint16_t", 16, False),
    ("std::int32_t", 32, True), ("std::uint32_t", 32, False), ("std::int64_t", 64, True), ("std::uint64_t", 64, False),
    ("char", 8, True), ("long", 64, True),
]  # fmt: skip
ENUMERATIONS = ["std::int8_t", "std::int16_t", "std::int32_t", "std::int64_t"]
KEYS = ["std::set", "std::multiset", "std::unordered_set", "std::unordered_multiset"]
MAPS = ["std::map", "std::multimap", "std::unordered_map", "std::unordered_multimap"]
COMPRESSIONS = [0, 101, 106, 207, 401, 404, 505, 501]
PAGE_BYTES = [64, 128, 512, 4096, 1 << 20]
TRUNCATED_BITS = [10, 11, 15, 16, 17, 20, 24, 31]
MAX_DEPTH = 3


@dataclass
class Field:
    """A field at the top."""

    name: str
    type: t.Type
    #: Entries before it was added.
    late: int = 0


@dataclass
class Projection:
    """The lengths of a field's lists."""

    name: str
    of: int
    cpp: str


@dataclass
class Schema:
    """What one file holds."""

    seed: int
    namespace: str = ""
    enumerations: list[tuple[str, str]] = field(default_factory=list)
    classes: list[t.Class] = field(default_factory=list)
    fields: list[Field] = field(default_factory=list)
    projections: list[Projection] = field(default_factory=list)
    n_entries: int = 0
    #: Entries after which a cluster ends, and whether a cluster group does.
    clusters: dict[int, bool] = field(default_factory=dict)
    options: list[str] = field(default_factory=list)

    def value_seed(self, place: int) -> int:
        return self.seed * 1000 + place

    def expected(self, place: int) -> list[Any]:
        """The values of all entries of a field."""
        made, draws = self.fields[place], t.Draws(self.value_seed(place))
        late = [n.zero(made.type) for _ in range(made.late)]
        return late + [made.type.draw(draws) for _ in range(self.n_entries - made.late)]


class Generator:
    """Makes one schema of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"ntuple {seed}")
        self.schema = Schema(seed, f"n{seed}")
        self.n_members = 0

    def make(self) -> Schema:
        schema, pick = self.schema, self.random
        for _ in range(pick.randint(0, 2)):
            name = f"Kind{len(schema.enumerations)}"
            schema.enumerations.append((name, pick.choice(ENUMERATIONS)))
        for level in range(pick.randint(0, 3)):
            schema.classes.append(self.new_class(f"C{level}"))
        schema.n_entries = pick.choice([0, 1, 2, 5, 17, 40, 40, 90, 90, 200])
        for place in range(pick.randint(1, 7)):
            late = pick.randint(0, schema.n_entries) if place and pick.random() < 0.25 else 0
            schema.fields.append(Field(f"f{place}", self.type(0), late))
        for place, made in enumerate(schema.fields):
            is_list = isinstance(n.bare(made.type), t.Sequence | t.VectorOfBools | t.Keys | t.Map)
            if is_list and not made.late and pick.random() < 0.3:
                cpp = f"ROOT::RNTupleCardinality<std::uint{pick.choice([32, 64])}_t>"
                schema.projections.append(Projection(f"n_{made.name}", place, cpp))
        for entry in range(1, schema.n_entries + 1):
            if pick.random() < 0.05:
                schema.clusters[entry] = pick.random() < 0.3
        schema.options = self.options()
        return schema

    def options(self) -> list[str]:
        pick = self.random
        page = pick.choice(PAGE_BYTES)
        return [
            f"SetCompression({pick.choice(COMPRESSIONS)})",
            # In this order: ROOT wants the first pages to be no larger than pages may be.
            f"SetInitialUnzippedPageSize({min(page, pick.choice([32, 64, 256]))})",
            f"SetMaxUnzippedPageSize({page})",
            f"SetEnablePageChecksums({str(pick.random() < 0.7).lower()})",
            f"SetUseBufferedWrite({str(pick.random() < 0.6).lower()})",
        ]

    def new_class(self, name: str) -> t.Class:
        pick, before = self.random, self.schema.classes
        made = t.Class(f"{self.schema.namespace}::{name}")
        for base in pick.sample(before, min(pick.choice([0, 0, 0, 1, 1, 2]), len(before))):
            if not ancestors(base) & {a for b in made.bases for a in ancestors(b)}:
                made.bases.append(base)
        for _ in range(pick.randint(1, 4)):
            self.n_members += 1
            dims = tuple(pick.randint(1, 3) for _ in range(pick.choice([0, 0, 0, 0, 1, 2])))
            name = f"m{self.n_members}"
            if pick.random() < 0.08:
                made.members.append(t.Member(name, t.Float("Double32_t"), dims, is_packed=True))
            else:
                made.members.append(t.Member(name, self.scalar() if dims else self.type(1), dims))
        return made

    def type(self, depth: int) -> t.Type:
        """Anything that a field may be."""
        pick = self.random
        kind = pick.random()
        if depth >= MAX_DEPTH or kind < 0.30:
            return self.scalar()
        if kind < 0.52:
            return self.sequence(depth)
        if kind < 0.60:
            return self.associative(depth)
        if kind < 0.70 and self.schema.classes:
            return pick.choice(self.schema.classes)
        if kind < 0.75:
            return t.Array(self.type(depth + 1), pick.randint(1, 4))
        if kind < 0.80:
            items = tuple(self.type(depth + 1) for _ in range(pick.randint(1, 4)))
            return n.Tuple(items, "std::pair" if len(items) == 2 else "std::tuple")
        if kind < 0.86:
            return n.Variant(tuple(self.alternative(depth + 1) for _ in range(pick.randint(1, 4))))
        if kind < 0.91:
            return n.Optional(self.held(depth + 1, (t.Keys, t.Map)))
        if kind < 0.95:
            return t.Pointer(self.type(depth + 1), is_unique=True)
        if kind < 0.97:
            return t.Bitset(pick.choice([1, 7, 8, 9, 63, 64, 65, 130]))
        return n.Atomic(self.number())

    def held(self, depth: int, odd: tuple[type[t.Type], ...]) -> t.Type:
        """What a variant or an optional may hold.

        ROOT 6.40 takes a wrong size for those of some types: it crashes, or writes other values, which it reads back
        as other libraries do.
        """
        kind = self.type(depth)
        return self.scalar() if any(isinstance(part, odd) for part in t.parts_of(kind)) else kind

    def alternative(self, depth: int) -> t.Type:
        """What a variant may hold: ROOT's size is wrong if the largest one's is no multiple of the alignment of all."""
        kind = self.held(depth, (n.Variant, t.Keys, t.Map, t.Pointer, t.Array, t.Bitset))
        is_compound = isinstance(kind, t.Class | n.Tuple | n.Optional)
        return self.scalar() if is_compound and not n.is_aligned_to_eight(kind) else kind

    def number(self) -> t.Type:
        pick = self.random
        return pick.choice([t.Integer(*pick.choice(INTEGERS)), t.Float("float"), t.Double()])

    def scalar(self) -> t.Type:
        pick = self.random
        kind = pick.random()
        if kind < 0.60:
            return self.encoded(self.number())
        if kind < 0.70:
            return t.Bool()
        if kind < 0.75:
            return n.Byte()
        if kind < 0.82 and self.schema.enumerations:
            return t.Enumeration(f"{self.schema.namespace}::{pick.choice(self.schema.enumerations)[0]}")
        return self.with_index(t.Text("std::string"), ", ROOT::ENTupleColumnType::kChar")

    def encoded(self, kind: t.Type) -> t.Type:
        """A number in a column type that it may have."""
        pick = self.random
        if pick.random() < 0.4:
            return kind

        def stored_as(name: str, kept: str | int = "all") -> n.Encoded:
            return n.Encoded(
                kind, f"f.SetColumnRepresentatives({{{{ROOT::ENTupleColumnType::k{name}}}}});", kept
            )

        if kind.cpp in n.PLAIN_OR_SPLIT:
            return stored_as(pick.choice(["", "Split"]) + n.PLAIN_OR_SPLIT[kind.cpp])
        bits = pick.choice(TRUNCATED_BITS)
        truncated = n.Encoded(kind, f"fuzz::truncate<{kind.cpp}>(f, {bits});", bits)
        if isinstance(kind, t.Float):
            # The values of types.py are steps of 0.5 from -512 on.
            bits = pick.randint(11, 24)
            high = -512 + 0.5 * ((1 << bits) - 1)
            quantized = n.Encoded(kind, f"fuzz::quantize<float>(f, {bits}, -512, {high});")
            return pick.choice(
                [
                    stored_as("Real32"),
                    stored_as("SplitReal32"),
                    stored_as("Real16", "half"),
                    truncated,
                    quantized,
                ]
            )
        if isinstance(kind, t.Double):
            names = [
                ("Real64", "all"),
                ("SplitReal64", "all"),
                ("Real32", "single"),
                ("SplitReal32", "single"),
            ]
            return pick.choice([*(stored_as(*name) for name in names), truncated])
        return kind

    def with_index(self, kind: t.Type, more: str = "") -> t.Type:
        """What has ends of lists, in a column type that they may have."""
        pick = self.random
        if pick.random() < 0.5:
            return kind
        index = f"ROOT::ENTupleColumnType::{pick.choice(n.INDEXES)}"
        return n.Encoded(kind, f"f.SetColumnRepresentatives({{{{{index}{more}}}}});")

    def sequence(self, depth: int) -> t.Type:
        pick = self.random
        item = self.type(depth + 1)
        if isinstance(n.bare(item), t.Bool):
            return t.VectorOfBools()
        # ROOT 6.40 crashes where an RVec is of variants of sets.
        has_set = any(isinstance(part, t.Keys | t.Map) for part in item.walk())
        if pick.random() < 0.25 and n.can_be_copied(item) and not has_set:
            return self.with_index(t.Sequence("ROOT::RVec", item))
        return self.with_index(t.Sequence("std::vector", item)) if n.can_be_moved(item) else item

    def associative(self, depth: int) -> t.Type:
        pick = self.random
        key = pick.choice([t.Integer("std::int32_t", 32, is_signed=True), t.Double(), t.Text("std::string")])
        if pick.random() < 0.4:
            return t.Keys(pick.choice(KEYS), key)
        value = self.type(depth + 1)
        if not n.can_be_copied(value):
            return t.Keys("std::set", key)
        # ROOT 6.40 writes memory that is no object's, without end, where an unordered_multimap holds more than numbers.
        is_number = isinstance(n.bare(value), t.Integer | t.Float | t.Double)
        return t.Map(pick.choice(MAPS if is_number else MAPS[:3]), key, value)
