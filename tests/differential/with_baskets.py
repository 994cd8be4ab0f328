"""Writes trees that hold baskets without their data, as groot does: run in ROOT's process."""

from __future__ import annotations

import struct
from pathlib import Path

from tests.judge.lazy import ROOT

N_ENTRIES = 600
#: Bit of a byte count.
COUNTED = 0x40000000
#: Bytes of a TObjArray before its items: byte count, version, TObject, name, number of items, lower bound.
ARRAY_HEAD_BYTES = 25


def word(data: bytes, place: int) -> int:
    """Return the unsigned word of 32 bits at a place."""
    (value,) = struct.unpack_from(">I", data, place)
    return value


def counted_end(data: bytes, place: int) -> int:
    """Return where what a byte count at this place counts ends."""
    return place + 4 + (word(data, place) & ~COUNTED)


def records(data: bytes, class_name: bytes) -> list[tuple[int, int, int]]:
    """Return place, bytes of the key and end of the records of a class."""
    found, at = [], 100
    while at < len(data):
        (n_bytes,) = struct.unpack_from(">i", data, at)
        if n_bytes > 0 and class_name in data[at + 26 : at + 44]:
            found.append((at, *struct.unpack_from(">H", data, at + 14), at + n_bytes))
        at += abs(n_bytes)
    return found


def with_basket(data: bytes, number: int) -> bytes:
    """Return the file with a basket as an object of its branch. The tree is uncompressed and has one branch."""
    (tree, key_bytes, tree_end) = records(data, b"\5TTree")[-1]
    stored = data[tree + key_bytes : tree_end]
    # The first array of nothing but nulls that has any is that of the baskets.
    is_array = [
        place
        for place in range(len(stored) - ARRAY_HEAD_BYTES)
        if stored[place] == 0x40
        and stored[place + 4 : place + 8] == b"\0\3\0\1"
        and (n_items := word(stored, place + 17)) > number
        and counted_end(stored, place) == place + ARRAY_HEAD_BYTES + 4 * n_items
        and not any(stored[place + ARRAY_HEAD_BYTES :][: 4 * n_items])
    ]
    array = is_array[0]
    around = [
        place
        for place in range(array + 1)
        if stored[place] == 0x40 and counted_end(stored, array) <= counted_end(stored, place) <= len(stored)
    ]
    basket, basket_key_bytes, _ = records(data, b"TBasket")[number]
    # The key of a basket has all that is streamed of it, but for the data.
    inner = b"\xff\xff\xff\xffTBasket\0" + data[basket : basket + basket_key_bytes]
    made = bytearray(stored)
    slot = array + ARRAY_HEAD_BYTES + 4 * number
    made[slot : slot + 4] = struct.pack(">I", COUNTED | len(inner)) + inner
    for place in around:
        struct.pack_into(">I", made, place, word(stored, place) + len(made) - len(stored))
    changed = bytearray(data)
    key = bytearray(data[tree : tree + key_bytes])
    in_list = data.rindex(b"\5TTree\1T") - 26
    for where, place in ((key, 0), (changed, in_list)):
        struct.pack_into(">I", where, place, key_bytes + len(made))
        struct.pack_into(">I", where, place + 6, len(made))
        struct.pack_into(">I", where, place + 18, len(data))
    changed += key + made
    struct.pack_into(">I", changed, 12, len(changed))
    return bytes(changed)


def write() -> dict[str, list[int]]:
    """Write a tree, and for each of its baskets ``NUMBER.root`` in which the branch has the basket as an object.

    The data of the baskets stay where they are. Returns: what ROOT reads of each file.
    """
    import numpy as np

    file = ROOT.TFile("whole.root", "RECREATE", "", 0)
    tree = ROOT.TTree("T", "")
    x = np.zeros(1, np.int32)
    tree.Branch("x", x, "x/I", 1000)
    tree.SetAutoFlush(0)
    for x[0] in range(N_ENTRIES):
        tree.Fill()
    tree.FlushBaskets()
    tree.Write()
    file.Close()
    whole = Path("whole.root").read_bytes()
    seen = {}
    for number in range(len(records(whole, b"TBasket"))):
        name = f"{number}.root"
        Path(name).write_bytes(with_basket(whole, number))
        file = ROOT.TFile.Open(name)
        seen[name] = [int(entry.x) for entry in file.Get("T")]
        file.Close()
    return seen
