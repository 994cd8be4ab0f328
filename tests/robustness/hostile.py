"""Small files that ask for much: nesting x width x length of names x repetition, and numbers that nothing backs."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tests.robustness.hostile_bytes import (
    ANY,
    BASE,
    COUNTER,
    INT,
    POINTER,
    STL,
    Branch,
    Column,
    Field,
    Member,
    Record,
    RootFile,
    basket,
    frame,
    ntuple_file,
    streamer_infos,
    tree_file,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    Classes = list[tuple[str, int, list[Member]]]

#: ROOT's codes of column types.
BIT, BYTE, INT32, INDEX64, SWITCH, REAL32_TRUNC = 0x00, 0x01, 0x07, 0x0F, 0x10, 0x1D


def nested(depth: int, width: int, name_bytes: int, kind: str = "member", leaf_members: int = 1) -> Classes:
    """Return classes of which each holds the next one `width` times; C0 is the outermost.

    `kind`: whether as a member, a base (once), an item of a vector, or in versions of a base.
    """
    classes: Classes = []
    for level in range(depth):
        inner = f"C{level + 1}"
        names = [f"{'m' * name_bytes}{i}" for i in range(width)]
        match kind:
            case "base":
                members = [Member(inner, code=BASE), *(Member(name) for name in names)]
            case "vector":
                members = [Member(name, f"vector<{inner}>", STL) for name in names]
            case "array":
                members = [Member(name, inner, ANY + 20, 3) for name in names]
            case _:
                members = [Member(name, inner, ANY) for name in names]
        classes.append((f"C{level}", 1, members))
    classes.append((f"C{depth}", 1, [Member(f"{'x' * name_bytes}{i}") for i in range(leaf_members)]))
    return classes


def versions(n_versions: int, n_members: int) -> Classes:
    """Return a class whose base has a base, all of them in many versions."""
    found: Classes = []
    for name, base in (("C0", "C1"), ("C1", "C2"), ("C2", "")):
        for version in range(1, n_versions + 1):
            bases = [Member(base, code=BASE)] if base else []
            found.append((name, version, bases + [Member(f"v{i}") for i in range(n_members)]))
    return found


def counted(n_members: int) -> Classes:
    """Return a class whose arrays are counted by a member of a base."""
    of_base = [Member("n", code=COUNTER), *(Member(f"b{i}") for i in range(n_members))]
    arrays = [
        Member(f"a{i}", "int*", POINTER + INT, count_name="n", class_name="C1") for i in range(n_members)
    ]
    return [("C0", 1, [Member("C1", code=BASE), *arrays]), ("C1", 1, of_base)]


def of_classes(classes: Classes, *, n_branches: int = 1, n_keys: int = 1) -> Iterator[tuple[str, bytes]]:
    """Return a tree whose branches hold the outermost class, and keys that do."""
    infos = streamer_infos(classes)
    branches = [Branch(f"b{i}", class_name="C0") for i in range(n_branches)]
    yield "tree", tree_file(infos, branches)
    split = [Branch(f"s{i}", class_name="C0", member=i % 2) for i in range(n_branches)]
    yield "split", tree_file(infos, [Branch("top", class_name="C0", member=-2, node_type=1, branches=split)])
    keys = [Record("C0", f"k{i}", struct.pack(">IH", 0x40000002, 1) + bytes(64)) for i in range(n_keys)]
    yield "keys", RootFile(infos, keys).content()


def class_cases() -> Iterator[tuple[str, bytes]]:
    """Return files of classes."""
    shapes: dict[str, tuple[Classes, int, int]] = {
        "long names": (nested(14, 2, 4000), 1, 1),
        "long names that compress": (nested(15, 2, 60_000), 1, 1),
        "long names in few": (nested(1, 40_000, 0, leaf_members=1), 1, 1),
        "wide": (nested(3, 36, 10), 40, 40),
        "refused": (nested(6, 9, 10), 40, 40),
        "refused by far": (nested(40, 4, 10), 40, 400),
        "deep": (nested(60, 1, 3000, leaf_members=800), 40, 40),
        "bases": (nested(50, 800, 10, "base"), 20, 20),
        "bases with long names": (nested(50, 20, 3000, "base"), 20, 20),
        "long names in many branches": (nested(60, 2, 25_000, "vector", 30), 5000, 1),
        "vectors": (nested(14, 2, 1000, "vector"), 40, 40),
        "arrays": (nested(9, 3, 1000, "array"), 40, 40),
        "versions": (versions(30, 30), 40, 40),
        "counted": (counted(4000), 20, 20),
        "many keys": (nested(3, 3, 30), 3, 3000),
    }
    for name, (classes, n_branches, n_keys) in shapes.items():
        for kind, content in of_classes(classes, n_branches=n_branches, n_keys=n_keys):
            yield f"{name}, {kind}", content


def object_cases() -> Iterator[tuple[str, bytes]]:
    """Return files of objects."""
    n_lists = 500_000
    lists = frame(6, struct.pack(">I", n_lists) + struct.pack(">II", 1, 7) * n_lists)
    yield "many short lists", RootFile(keys=[Record("vector<vector<int> >", "v", lists)]).content()


def lz4_claim(n_bytes: int) -> bytes:
    """Return a block of zstd and one of LZ4 that claim to become more than they do."""
    return b"L4\x01" + struct.pack("<I", 20)[:3] + struct.pack("<I", n_bytes)[:3] + bytes(20)


def tree_cases() -> Iterator[tuple[str, bytes]]:
    """Return trees whose numbers nothing backs."""
    huge = 1_000_000_000
    zeros = basket(bytes(4 << 20), 1 << 20)
    yield "zeros that compress", tree_file(b"", [Branch("x", n_entries=1 << 20, basket=zeros)], 1 << 20)
    many = [Branch(f"x{i}", n_entries=1 << 20, basket=basket(bytes(4 << 20), 1 << 20)) for i in range(40)]
    yield "zeros in many branches", tree_file(b"", many, 1 << 20)
    one = basket(struct.pack(">i", 1), 1)
    yield "more entries than baskets", tree_file(b"", [Branch("x", n_entries=1, basket=one)], huge)
    yield "a billion entries in a basket", tree_file(b"", [Branch("x", n_entries=huge, basket=one)], huge)
    for n_items in (100_000_000, huge):
        few = basket(bytes(400), 1)
        array = Branch("x", title=f"x[{n_items}]", n_items=n_items, n_entries=1, basket=few)
        yield f"arrays of {n_items}", tree_file(b"", [array], 1)
        empty = basket(b"", 0)
        array = Branch("x", title=f"x[{n_items}]", n_items=n_items, n_entries=3, basket=empty)
        yield f"arrays of {n_items} of nothing", tree_file(b"", [array], 3)
    claims = basket(b"", 1 << 20, lz4_claim((1 << 24) - 1) * 8, 8 * ((1 << 24) - 1))
    yield "claims of LZ4", tree_file(b"", [Branch("x", n_entries=1 << 20, basket=claims)], 1 << 20)
    often = 150_000
    listed = Branch("x", n_entries=often, basket=one, n_listed=often)
    yield "a basket listed often", tree_file(b"", [listed], often)
    yield "small clusters", tree_file(b"", [Branch("x", n_entries=1, basket=one)], huge, 1)
    yield "half as many clusters", tree_file(b"", [Branch("x", n_entries=1, basket=one)], 3_999_999, 1)
    infos = streamer_infos([("C0", 1, [Member("x", code=INT + 20, n_items=huge)])])
    yield "an array in a class", tree_file(infos, [Branch("x", class_name="C0", n_entries=1, basket=one)], 1)
    arrays = [
        ("C0", 1, [Member("x", "C1", ANY + 20, huge)]),
        ("C1", 1, [Member("y", code=INT + 20, n_items=huge)]),
    ]
    yield (
        "arrays of arrays",
        tree_file(streamer_infos(arrays), [Branch("x", class_name="C0", n_entries=1, basket=one)], 1),
    )
    nothing: Classes = [("C0", 1, [Member("x", "C1", ANY + 20, huge)]), ("C1", 1, [])]
    yield (
        "arrays of nothing",
        tree_file(streamer_infos(nothing), [Branch("x", class_name="C0", n_entries=1, basket=one)], 1),
    )
    yield (
        "keys with arrays of nothing",
        RootFile(
            streamer_infos(nothing), [Record("C0", "k", struct.pack(">IH", 0x40000002, 1) + bytes(64))]
        ).content(),
    )
    yield "a long title", tree_file(b"", [Branch("x" * 60_000, title="y" * 60_000)] * 50, 0)
    dims = Branch("x", title="x" + "[1]" * 20_000, n_entries=1, basket=one)
    yield "many dimensions", tree_file(b"", [dims], 1)
    yield "many branches", tree_file(b"", [Branch(f"x{i}") for i in range(20_000)], 0)
    yield "branches of one name", tree_file(b"", [Branch("x") for _ in range(20_000)], 0)
    yield (
        "an object of zeros",
        RootFile(
            streamer_infos([("C0", 1, [Member("x", "vector<int>", STL)])]),
            [Record("C0", "k", bytes(100_000_000))],
        ).content(),
    )
    for item, n_bytes in (("string", 1), ("vector<vector<int>>", 4), ("C1", 1)):
        inner = struct.pack(">i", 2_000_000) + bytes(2_000_000 * n_bytes)
        data = struct.pack(">IH", 0x40000000 | len(inner) + 2, 1) + inner
        data = struct.pack(">IH", 0x40000000 | len(data) + 2, 1) + data
        classes = [("C0", 1, [Member("x", f"vector<{item}>", STL)]), ("C1", 1, [Member("c", "char", 1)])]
        yield f"an object of {item}", RootFile(streamer_infos(classes), [Record("C0", "k", data)]).content()


def ntuple_cases() -> Iterator[tuple[str, bytes]]:
    """Return RNTuples whose numbers nothing backs."""
    huge = 500_000_000
    top = Field(0, "x", "std::int32_t")
    page = (1, struct.pack("<i", 1))
    first = Column(0, INT32, 32, [page])
    late = Field(1, "late", "std::int32_t")
    for n_entries in (huge, (1 << 28) - 1, 1 << 40):
        deferred = [Column(0, INT32, 32, first_element=n_entries, is_listed=False)]
        yield f"deferred to {n_entries}", ntuple_file([top], deferred, n_entries)
        yield f"absent, {n_entries}", ntuple_file([top], [Column(0, INT32, 32, is_listed=False)], n_entries)
    yield (
        "deferred beside one",
        ntuple_file([top, late], [first, Column(1, INT32, 32, first_element=1, is_listed=False)], 1),
    )
    for n_items in (1000, 1_000_000, huge):
        fields = [
            Field(0, "x", f"std::array<std::int32_t,{n_items}>", array_size=n_items),
            Field(0, "_0", "std::int32_t"),
        ]
        column = Column(1, INT32, 32, is_listed=False)
        yield f"absent arrays of {n_items}", ntuple_file(fields, [column], 200_000_000 // n_items)
        fields = [Field(0, "x", f"std::bitset<{n_items}>", array_size=n_items)]
        yield (
            f"absent bitsets of {n_items}",
            ntuple_file(fields, [Column(0, BIT, 1, is_listed=False)], 2_000_000_000 // n_items),
        )
    deep = [Field(max(0, i - 1), f"a{i}", "", 2 if i < 40 else 0, array_size=3) for i in range(41)]
    yield "arrays in arrays", ntuple_file(deep, [Column(40, INT32, 32, is_listed=False)], 1)
    empty = [Field(0, "x", "std::array<E,1000000000>", 0, 1_000_000_000), Field(0, "_0", "E", 2)]
    yield "arrays of empty records", ntuple_file(empty, [], 1000)
    lists = [Field(0, "l", "std::vector<E>", 1), Field(0, "_0", "E", 2)]
    ends = Column(0, INDEX64, 64, [(1, struct.pack("<Q", 2_000_000_000))])
    yield "lists of empty records", ntuple_file(lists, [ends], 1)
    many = 60_000
    views = [top, *(Field(i + 1, f"p{i}", "std::int32_t", source=0) for i in range(many))]
    yield "projected fields", ntuple_file(views, [first], 1, aliases=[(0, i + 1) for i in range(many)])
    n_views = 3000
    zeros = Column(0, INT32, 32, [(100_000, bytes(400_000))])
    views = [top, *(Field(i + 1, f"p{i}", "std::int32_t", source=0) for i in range(n_views))]
    yield "views of zeros", ntuple_file(views, [zeros], 100_000, aliases=[(0, i + 1) for i in range(n_views)])
    absent = [Field(i, f"a{i}", "std::int32_t") for i in range(1000)]
    columns = [Column(i, INT32, 32, first_element=1 << 20, is_listed=False) for i in range(1000)]
    yield "a thousand deferred", ntuple_file(absent, columns, 1 << 20)
    yield "many clusters", ntuple_file([top], [Column(0, INT32, 32, is_listed=False)], 1, n_clusters=30_000)
    yield (
        "a page list in many groups",
        ntuple_file([top], [first], 1, n_clusters=3000, n_groups=1000, compresses=True),
    )
    often = 150_000
    yield (
        "a page listed often",
        ntuple_file([top], [Column(0, INT32, 32, [page] * often)], often, compresses=True),
    )
    names = [Field(i, f"{'n' * 3000}{i}", "std::int32_t") for i in range(1000)]
    yield "long names", ntuple_file(names, [Column(i, INT32, 32, is_listed=False) for i in range(1000)], 1)
    nested_names = [Field(max(0, i - 1), f"{'n' * 20_000}{i}", "C", 2 if i < 59 else 0) for i in range(60)]
    yield "long names in each other", ntuple_file(nested_names, [Column(59, INT32, 32, is_listed=False)], 1)
    for bits in (0, 1, 31, 32):
        column = Column(0, REAL32_TRUNC, bits, [(1 << 27, b"\0" * 16)])
        yield f"truncated to {bits} bits", ntuple_file([Field(0, "x", "float")], [column], 1 << 27)
    switch = Column(0, SWITCH, 96, [(1, bytes(12))])
    fields = [Field(0, "v", "std::variant<int>", 3), Field(0, "_0", "std::int32_t")]
    yield "variants", ntuple_file(fields, [switch, Column(1, INT32, 32, is_listed=False)], huge)


def cases() -> Iterator[tuple[str, bytes]]:
    """Return all files by their names."""
    groups = {"class": class_cases, "object": object_cases, "tree": tree_cases, "ntuple": ntuple_cases}
    for kind, found in groups.items():
        for name, content in found():
            yield f"{kind}: {name}", content
