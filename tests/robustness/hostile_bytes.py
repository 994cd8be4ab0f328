"""Writes ROOT files by hand: containers, streamer information, trees and RNTuples of any shape, sound or not.

Source: the streamers of TFile, TKey, TStreamerInfo, TTree (ROOT 6.40) and RNTuple's specification.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import xxhash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BEGIN = 100
OBJECT = struct.pack(">HII", 1, 0, 0x03000000)
#: Type codes of elements: `TVirtualStreamerInfo::EReadWrite`.
BASE, INT, COUNTER, ANY, STL = 0, 3, 6, 62, 300
POINTER = 40


def string(text: str) -> bytes:
    data = text.encode()
    return (bytes([len(data)]) if len(data) < 255 else b"\xff" + struct.pack(">I", len(data))) + data


def frame(version: int, content: bytes) -> bytes:
    return struct.pack(">IH", 0x40000000 | (len(content) + 2), version) + content


def pointer(class_name: str, content: bytes) -> bytes:
    """Return an object behind the name of its class."""
    behind = b"\xff\xff\xff\xff" + class_name.encode() + b"\0" + content
    return struct.pack(">I", 0x40000000 | len(behind)) + behind


def named(name: str, title: str = "") -> bytes:
    return frame(1, OBJECT + string(name) + string(title))


def array(pointers: list[bytes]) -> bytes:
    """Return a `TObjArray`."""
    return frame(3, OBJECT + string("") + struct.pack(">ii", len(pointers), 0) + b"".join(pointers))


@dataclass
class Member:
    """A base (`code` 0) or member of a class."""

    name: str
    type_name: str = "int"
    code: int = INT
    n_items: int = 0
    count_name: str = ""
    class_name: str = ""

    def content(self) -> bytes:
        dims = [self.n_items, 0, 0, 0, 0]
        numbers = struct.pack(">4i5i", self.code, 4, self.n_items, int(self.n_items > 0), *dims)
        type_name = "BASE" if self.code == BASE else self.type_name
        element = frame(4, named(self.name) + numbers + string(type_name))
        match self.code:
            case 0:
                return pointer("TStreamerBase", frame(3, element + struct.pack(">i", 1)))
            case 300:
                return pointer("TStreamerSTL", frame(3, element + struct.pack(">ii", 1, 0)))
            case code if 40 < code < 60:
                count = struct.pack(">i", 1) + string(self.count_name) + string(self.class_name)
                return pointer("TStreamerBasicPointer", frame(2, element + count))
            case code if code >= 61:
                return pointer("TStreamerObjectAny", frame(2, element))
        return pointer("TStreamerBasicType", frame(2, element))


def streamer_infos(classes: Iterable[tuple[str, int, list[Member]]]) -> bytes:
    """Return the list of the record of streamer information: name, version and members of each class."""
    entries = []
    for number, (name, version, members) in enumerate(classes):
        elements = pointer("TObjArray", array([member.content() for member in members]))
        head = named(name) + struct.pack(">II", 1000 + number, version)
        entries.append(pointer("TStreamerInfo", frame(9, head + elements)) + b"\0")
    return frame(5, OBJECT + string("") + struct.pack(">i", len(entries)) + b"".join(entries))


@lru_cache(maxsize=8)  # many records of a file hold the same
def compressed(data: bytes) -> bytes:
    """Return data in blocks of zlib of less than 16 MiB."""
    blocks = []
    for start in range(0, len(data), (1 << 24) - 1):
        part = data[start : start + (1 << 24) - 1]
        packed = zlib.compress(part, 9)
        sizes = struct.pack("<I", len(packed))[:3] + struct.pack("<I", len(part))[:3]
        blocks.append(b"ZL\x08" + sizes + packed)
    packed = b"".join(blocks)
    return packed if len(packed) < len(data) else data


@dataclass
class Record:
    """A record with its key."""

    class_name: str
    name: str
    data: bytes
    #: Bytes as they are stored, if they are not the data in zlib.
    stored: bytes | None = None
    n_bytes: int | None = None
    #: Between the key and the data: the head of a basket.
    head: bytes = b""
    at: int = 0

    def key(self, at: int, stored: bytes) -> bytes:
        texts = string(self.class_name) + string(self.name) + string("")
        key_bytes = 26 + len(texts) + len(self.head)
        n_bytes = len(self.data) if self.n_bytes is None else self.n_bytes
        numbers = (key_bytes + len(stored), 4, n_bytes, 0, key_bytes, 1, at, BEGIN)
        return struct.pack(">ihiIhhii", *numbers) + texts


@dataclass
class RootFile:
    """A file with keys in its root directory."""

    infos: bytes = b""
    keys: list[Record] = field(default_factory=list)
    #: Records without a key in the list.
    records: list[Record] = field(default_factory=list)

    def content(self) -> bytes:
        top = string("TFile") + string("f") + string("")
        own_name = string("f") + string("")
        name_bytes = 26 + len(top) + len(own_name)
        data = bytearray(BEGIN + name_bytes + 30 + 18 + 12)

        def add(record: Record) -> bytes:
            stored = compressed(record.data) if record.stored is None else record.stored
            record.at = len(data)
            key = record.key(record.at, stored)
            data.extend(key + record.head + stored)
            return key

        for record in self.records:
            add(record)
        in_list = b"".join(add(record) for record in self.keys)
        info = Record("TList", "StreamerInfo", self.infos)
        info_at, info_bytes = (0, 0)
        if self.infos:
            info_at = len(data)
            add(info)
            info_bytes = len(data) - info_at
        keys = Record("TFile", "f", struct.pack(">i", len(self.keys)) + in_list)
        keys.stored = keys.data
        keys_at = len(data)
        add(keys)
        keys_bytes = len(data) - keys_at
        uuid = struct.pack(">H", 1) + bytes(16)
        directory = struct.pack(">hIIiiiii", 5, 0, 0, keys_bytes, name_bytes, BEGIN, 0, keys_at) + uuid
        first = own_name + directory
        head = struct.pack(
            ">ihiIhhii", 26 + len(top) + len(first), 4, len(first), 0, 26 + len(top), 1, BEGIN, 0
        )
        record_bytes = head + top + first
        data[BEGIN : BEGIN + len(record_bytes)] = record_bytes
        header = b"root" + struct.pack(">7i", 64000, BEGIN, len(data), len(data), 0, 0, name_bytes)
        header += struct.pack(">Biii", 4, 101, info_at, info_bytes) + uuid
        data[: len(header)] = header
        return bytes(data)


@dataclass
class Branch:
    """A branch with one basket at most, which may be listed several times: each time for as many entries."""

    name: str
    leaf: str = "TLeafI"
    title: str = ""
    n_items: int = 1
    #: Class of the objects of a `TBranchElement`, and the rest of what it knows.
    class_name: str = ""
    member: int = -1
    node_type: int = 0
    branches: list[Branch] = field(default_factory=list)
    n_entries: int = 0
    basket: Record | None = None
    n_listed: int = 1

    def content(self) -> bytes:
        attributes = frame(2, struct.pack(">hh", 0, 0))
        n_baskets = self.n_listed if self.basket is not None else 0
        numbers = struct.pack(">iiiiq", 101, 32000, 0, n_baskets, self.n_entries)
        numbers += frame(1, bytes(5)) + struct.pack(
            ">iiiqqqq", 0, self.n_listed + 1, 0, self.n_entries, 0, 0, 0
        )
        is_element = bool(self.class_name)
        leaf_class = "TLeafElement" if is_element else self.leaf
        leaf = named(self.name, self.title or self.name)
        leaf = frame(2, leaf + struct.pack(">iii??I", self.n_items, 4, 0, False, False, 0))
        leaf = frame(1, leaf + (struct.pack(">ii", -1, -1) if is_element else struct.pack(">ii", 0, 0)))
        size, seek = (0, 0)
        if self.basket is not None:
            stored = compressed(self.basket.data) if self.basket.stored is None else self.basket.stored
            size = len(self.basket.key(0, stored)) + len(self.basket.head) + len(stored)
            seek = self.basket.at
        first = [self.n_entries * i // self.n_listed for i in range(self.n_listed + 1)]
        arrays = b"\1" + struct.pack(f">{self.n_listed}ii", *[size] * self.n_listed, 0)
        arrays += b"\1" + struct.pack(f">{self.n_listed}qq", *first)
        arrays += b"\1" + struct.pack(f">{self.n_listed}qq", *[seek] * self.n_listed, 0)
        lists = array([branch.content() for branch in self.branches])
        lists += array([pointer(leaf_class, leaf)]) + array([])
        base = frame(13, named(self.name, self.title) + attributes + numbers + lists + arrays + string(""))
        if not is_element:
            return pointer("TBranch", base)
        part = string(self.class_name) + string("") + string("")
        part += struct.pack(">Ihiiii", 0, 1, self.member, self.node_type, -1, 0) + bytes(8)
        return pointer("TBranchElement", frame(10, base + part))


def basket(data: bytes, n_entries: int, stored: bytes | None = None, n_bytes: int | None = None) -> Record:
    """Return a basket of entries of one size."""
    record = Record("TBasket", "b", data, stored, n_bytes)
    record.head = bytes(19)
    key_bytes = 26 + len(string("TBasket") + string("b") + string("")) + 19
    last = (len(data) if n_bytes is None else n_bytes) + key_bytes
    record.head = struct.pack(">hiiiiB", 3, 32000, 0, n_entries, last, 0)
    return record


def tree(branches: list[Branch], n_entries: int = 0, auto_flush: int = 0) -> Record:
    """Return the record of a tree called t."""
    attributes = frame(2, bytes(8)) + frame(2, bytes(4)) + frame(2, bytes(8))
    numbers = struct.pack(">5qd4i", n_entries, 0, 0, 0, 0, 1.0, 0, 25, 0, 1000)
    numbers += struct.pack(">i6q", 0, 1000000000000, 1000000000000, 0, -300000000, auto_flush, 1000000)
    numbers += b"\0\0" + frame(1, bytes(5))
    lists = array([branch.content() for branch in branches]) + array([])
    tail = bytes(4) + struct.pack(">ii", 0, 0) + bytes(16)
    return Record("TTree", "t", frame(20, named("t") + attributes + numbers + lists + tail))


def tree_file(infos: bytes, branches: list[Branch], n_entries: int = 0, auto_flush: int = 0) -> bytes:
    """Return a file with one tree. The places of the baskets are known once they are written."""
    # One that several branches share is written once.
    baskets: dict[int, Record] = {}
    left = list(branches)
    while left:
        branch = left.pop()
        left += branch.branches
        if branch.basket is not None:
            baskets[id(branch.basket)] = branch.basket
    file = RootFile(infos, [], list(baskets.values()))
    file.content()
    file.keys = [tree(branches, n_entries, auto_flush)]
    return file.content()


def record_frame(content: bytes) -> bytes:
    return struct.pack("<q", len(content) + 8) + content


def list_frame(items: list[bytes]) -> bytes:
    content = b"".join(items)
    return struct.pack("<qI", -(len(content) + 12), len(items)) + content


def text(value: str) -> bytes:
    return struct.pack("<I", len(value.encode())) + value.encode()


def envelope(kind: int, content: bytes) -> tuple[bytes, int]:
    """Return an envelope and its checksum."""
    data = struct.pack("<Q", kind | (len(content) + 16) << 16) + content
    checksum = xxhash.xxh3_64_intdigest(data)
    return data + struct.pack("<Q", checksum), checksum


@dataclass
class Field:
    """A field of an RNTuple; `parent` is a number of a field, its own at the top."""

    parent: int
    name: str
    type_name: str = ""
    role: int = 0
    array_size: int | None = None
    source: int | None = None

    def content(self) -> bytes:
        flags = (1 if self.array_size is not None else 0) | (2 if self.source is not None else 0)
        data = struct.pack("<IIIHH", 0, 0, self.parent, self.role, flags)
        data += text(self.name) + text(self.type_name) + text("") + text("")
        if self.array_size is not None:
            data += struct.pack("<Q", self.array_size)
        if self.source is not None:
            data += struct.pack("<I", self.source)
        return record_frame(data)


@dataclass
class Column:
    """A column and its page in the only cluster: number of elements and stored bytes; none if deferred."""

    field: int
    code: int
    bits: int
    pages: list[tuple[int, bytes]] = field(default_factory=list)
    first_element: int | None = None
    is_listed: bool = True
    is_suppressed: bool = False

    def content(self) -> bytes:
        flags = 1 if self.first_element is not None else 0
        data = struct.pack("<HHIHH", self.code, self.bits, self.field, flags, 0)
        if self.first_element is not None:
            data += struct.pack("<q", self.first_element)
        return record_frame(data)


def ntuple_file(
    fields: list[Field],
    columns: list[Column],
    n_entries: int,
    *,
    n_clusters: int = 1,
    n_groups: int = 1,
    aliases: Iterable[tuple[int, int]] = (),
    compresses: bool = False,
) -> bytes:
    """Return a file with one RNTuple, all of whose clusters have the same pages, and all groups the same page list.

    Pages of equal bytes are stored once. ``compresses``: the envelopes.
    """
    as_stored = compressed if compresses else bytes
    aliased = [record_frame(struct.pack("<II", *alias)) for alias in aliases]
    lists = list_frame([one.content() for one in fields]) + list_frame([one.content() for one in columns])
    lists += list_frame(aliased) + list_frame([])
    header, checksum = envelope(1, struct.pack("<Q", 0) + text("n") + text("") + text("w") + lists)
    blobs = {page: Record("RBlob", "", page, page) for column in columns for _, page in column.pages}
    summaries = [
        record_frame(struct.pack("<QQ", number * n_entries, n_entries)) for number in range(n_clusters)
    ]
    file = RootFile(records=[*blobs.values()])

    def place(record: Record) -> int:
        return record.at + 26 + len(string(record.class_name) + string(record.name) + string(""))

    def parts() -> tuple[bytes, Callable[[int], bytes]]:
        pages = []
        for column in columns:
            if not column.is_listed:
                continue
            items = [
                struct.pack("<iiQ", n_elements, len(page), place(blobs[page]))
                for n_elements, page in column.pages
            ]
            content = b"".join(items) + (
                struct.pack("<q", -1) if column.is_suppressed else struct.pack("<qI", 0, 0)
            )
            pages.append(struct.pack("<qI", -(len(content) + 12), len(items)) + content)
        clusters = [list_frame(pages)] * n_clusters
        page_list, _ = envelope(3, struct.pack("<Q", checksum) + list_frame(summaries) + list_frame(clusters))

        def footer(at: int) -> bytes:
            link = struct.pack("<QiQ", len(page_list), len(as_stored(page_list)), at)
            group = record_frame(struct.pack("<QQI", 0, n_entries * n_clusters, n_clusters) + link)
            content = (
                struct.pack("<QQ", 0, checksum)
                + record_frame(b"")
                + list_frame([group] * n_groups)
                + list_frame([])
            )
            return envelope(2, content)[0]

        return page_list, footer

    file.content()
    page_list, footer = parts()
    stored = [Record("RBlob", "", one, as_stored(one)) for one in (header, page_list, footer(0))]
    file.records += stored
    file.content()
    stored[2].data = footer(place(stored[1]))
    stored[2].stored = as_stored(stored[2].data)
    members = struct.pack(">4H", 1, 0, 0, 0)
    header_link, footer_link = (
        (place(one), len(one.stored or b""), len(one.data)) for one in (stored[0], stored[2])
    )
    members += struct.pack(">7Q", *header_link, *footer_link, 1 << 30)
    anchor = frame(2, members) + struct.pack(">Q", xxhash.xxh3_64_intdigest(members))
    file.keys = [Record("ROOT::RNTuple", "n", anchor, anchor)]
    return file.content()
