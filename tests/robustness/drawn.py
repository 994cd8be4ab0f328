"""Small files that ask for much, of shapes that a seed draws: nesting x width x length of names x repetition."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING

from tests.robustness.hostile import INDEX64, INT32, nested, of_classes
from tests.robustness.hostile_bytes import (
    ANY,
    STL,
    Branch,
    Column,
    Field,
    Member,
    Record,
    RootFile,
    basket,
    compressed,
    frame,
    ntuple_file,
    streamer_infos,
    tree_file,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Files = Iterator[tuple[str, bytes]]

#: Bytes of metadata, before they are compressed, that a file is drawn with at most.
MOST_BYTES = 20_000_000


def drawn(seed: int) -> Files:
    """Return files of one shape: classes, branches, fields or objects."""
    draw = random.Random(seed)
    kinds: list[Callable[[random.Random], Files]] = [_classes, _classes, _branches, _fields, _objects]
    for name, content in draw.choice(kinds)(draw):
        yield f"seed {seed}: {name}", content


def _classes(draw: random.Random) -> Files:
    """Return classes in classes: as branches, split branches and keys."""
    kind = draw.choice(["member", "base", "vector", "array"])
    depth, width = draw.choice([1, 5, 20, 60, 300]), draw.choice([1, 1, 2, 3, 5, 10, 40, 200])
    name_bytes = draw.choice([0, 10, 200, 3000, 50_000 // width])
    leaf_members = draw.choice([0, 1, 30, 1000])
    depth = max(1, min(depth, MOST_BYTES // (width * (name_bytes + 200))))
    classes = nested(depth, width, name_bytes, kind, leaf_members)
    n_branches, n_keys = draw.choice([1, 30, 1000, 5000]), draw.choice([1, 30, 1000])
    shape = f"{kind} {depth} x {width} x {name_bytes} x {leaf_members}, {n_branches}, {n_keys}"
    for place, content in of_classes(classes, n_branches=n_branches, n_keys=n_keys):
        yield f"{shape}, {place}", content
    # What is inside is asked for before what holds it.
    inner_first = [
        Branch(f"i{level}", class_name=f"C{level}") for level in range(depth, -1, -max(1, depth // 30))
    ]
    yield f"{shape}, inner first", tree_file(streamer_infos(classes), inner_first)


def _branches(draw: random.Random) -> Files:
    """Return trees of many branches, of long names and types, and of baskets that become more than they are."""
    n_branches = draw.choice([1, 30, 1000, 5000, 10_000])
    name_bytes = min(draw.choice([0, 30, 1000, 50_000]), MOST_BYTES // n_branches // 2)
    name = "n" * name_bytes
    shape = f"{n_branches} branches x {name_bytes}"
    dims = draw.choice(["", "[3]", "[1]" * 30, "[2]" * 25, "[1]" * 2000])
    n_entries = draw.choice([1, 1000, 1 << 20])
    entries = basket(bytes(4 * n_entries), n_entries, compressed(bytes(4 * n_entries)))
    plain = [
        Branch(f"{name}{i}", title=f"{name}{i}{dims}", n_entries=n_entries, basket=entries)
        for i in range(n_branches)
    ]
    yield f"{shape}, {dims[:12]!r} x {n_entries}", tree_file(b"", plain, n_entries)
    type_bytes = draw.choice([10, 1000, 60_000])
    infos = streamer_infos([("C0", 1, [Member("m", f"vector<{'T' * type_bytes}>", STL), Member("n")])])
    split = [Branch(f"{name}{i}", class_name="C0", member=i % 2) for i in range(n_branches)]
    top = Branch("top", class_name="C0", member=-2, node_type=draw.choice([0, 1, 3, 4]), branches=split)
    yield f"{shape}, split, types of {type_bytes}", tree_file(infos, [top])


def _fields(draw: random.Random) -> Files:
    """Return RNTuples of fields in fields."""
    kind = draw.choice(["record", "vector", "array", "optional", "variant"])
    depth, width = draw.choice([1, 2, 10, 35, 63, 70]), draw.choice([1, 2, 30, 3000])
    name_bytes = draw.choice([0, 10, 300, 20_000])
    width = max(1, min(width, MOST_BYTES // (depth * (name_bytes + 100))))
    name = "n" * name_bytes
    fields: list[Field] = []
    columns: list[Column] = []
    n_entries = draw.choice([1, 1000, 1 << 20])
    is_absent = draw.choice([True, False])

    def numbers(field: int) -> Column:
        first = n_entries if is_absent else None
        return Column(field, INT32, 32, first_element=first, is_listed=False)

    parent = 0
    for level in range(depth):
        place = len(fields)
        parent = place if level == 0 else parent
        role, type_name, size = {
            "record": (2, "R", None),
            "vector": (1, "std::vector<R>", None),
            "array": (0, "std::array<R,2>", 2),
            "optional": (1, "std::optional<R>", None),
            "variant": (3, "std::variant<R>", None),
        }[kind]
        fields.append(Field(parent, f"{name}{level}", type_name, role, size))
        if role == 1:
            columns.append(Column(place, INDEX64, 64, is_listed=False))
        parent = place
        if role == 2:
            for sibling in range(width - 1):
                fields.append(Field(place, f"{name}s{sibling}", "std::int32_t"))
                columns.append(numbers(len(fields) - 1))
    for leaf in range(width):
        fields.append(
            Field(parent if kind == "record" or leaf == 0 else len(fields), f"{name}l{leaf}", "std::int32_t")
        )
        columns.append(numbers(len(fields) - 1))
    compresses = draw.choice([True, False])
    shape = (
        f"{kind} fields {depth} x {width} x {name_bytes}, {n_entries} entries, {is_absent=}, {compresses=}"
    )
    yield shape, ntuple_file(fields, columns, n_entries, compresses=compresses)


def _objects(draw: random.Random) -> Files:
    """Return keys with objects of lists in lists, of counts that nothing backs and that zeros back."""
    depth = draw.choice([1, 3, 20])
    item = draw.choice(["int", "string", "C1", "pair<int,C1>", "map<int,C1>"])
    type_name = "vector<" * depth + item + ">" * depth
    members = [Member("x", "int")] * draw.choice([0, 1, 30])
    infos = streamer_infos(
        [("C0", 1, [Member("v", type_name, STL), Member("c", "C1", ANY)]), ("C1", 1, members)]
    )
    n_items = draw.choice([1, 1000, 1_000_000, 1_000_000_000])
    for what, inside in (("zeros", bytes(4 * min(n_items, 2_000_000))), ("nothing", b"")):
        data = frame(1, frame(1, struct.pack(">i", n_items) + inside)[: (1 << 29)])
        n_keys = draw.choice([1, 30, 1000])
        keys = [Record("C0", f"k{i}", data) for i in range(n_keys if len(data) < 10_000 else 1)]
        yield f"objects of {type_name}, {n_items} of {what} x {len(keys)}", RootFile(infos, keys).content()
