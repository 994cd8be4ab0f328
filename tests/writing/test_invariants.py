"""The checker of files is checked: it finds nothing in what ROOT writes, and it finds what is damaged there."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.judge import root

from .invariants import assert_sound, violations
from .invariants.container import Container
from .invariants.objects import Objects
from .invariants.reading import Findings

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).resolve().parent
CODECS = ("none", "zlib", "lzma", "lz4", "zstd")
FILES = [
    *(f"{kind}-{codec}.root" for kind in ("tree", "ntuple") for codec in (*CODECS, "empty")),
    "tree-clusters.root",
    "objects.root",
]

#: Members of a tree's record that a writer may choose, or that only pictures and sessions use: no rule is about them.
FREE = {
    "fUniqueID", "fBits", "fTitle", "fLineColor", "fLineStyle", "fLineWidth", "fFillColor", "fFillStyle",
    "fMarkerColor", "fMarkerStyle", "fMarkerSize", "fScanField", "fTimerInterval", "fUpdate",
    "fDefaultEntryOffsetLen", "fMaxEntries", "fMaxEntryLoop", "fMaxVirtualSize", "fAutoSave", "fAutoFlush",
    "fEstimate", "fSavedBytes", "fFlushedBytes", "fIOBits", "fCompress", "fBasketSize", "fSplitLevel",
    "fOffset", "fMinimum", "fIsUnsigned", "fID", "fType", "fStreamerType", "fClassVersion", "fCheckSum",
    "fParentName", "fClonesName", "fClassName",
}  # fmt: skip
#: And those of which only some values are wrong.
SOMETIMES = {"fMaximum", "fEntryOffsetLen", "fIsRange"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory: Path = tmp_path_factory.mktemp("sound")
    codecs = {"none": 0, "zlib": 101, "lzma": 207, "lz4": 404, "zstd": 505}
    trees = {**codecs, "clusters": 505, "empty": 0}
    sizes = {"clusters": (3000, 300), "empty": (0, 0)}
    calls = [
        ("write_tree", f"tree-{name}.root", codec, *sizes.get(name, (3000, 0)))
        for name, codec in trees.items()
    ]
    calls += [("write_ntuple", f"ntuple-{name}.root", codec, 3000) for name, codec in codecs.items()]
    calls += [("write_ntuple", "ntuple-empty.root", 505, 0), ("write_objects", "objects.root")]
    root.interpreted(directory, HERE / "write_sound.C", *calls)
    return directory


@pytest.mark.parametrize("name", FILES)
def test_what_root_writes_breaks_no_rule(files, name):
    assert_sound(files / name)


def damaged(path: Path, target: Path, change: Callable[[bytearray], None]) -> set[str]:
    """The rules that a copy of a file breaks after a change."""
    data = bytearray(path.read_bytes())
    before = bytes(data)
    change(data)
    assert data != before
    target.write_bytes(data)
    return {one.rule for one in violations(target)}


def put(data: bytearray, at: int, code: str, value: int) -> None:
    struct.pack_into(f">{code}", data, at, value)


def container_of(path: Path) -> Container:
    return Container(path, Findings())


def key_of(container: Container, class_name: str, name: str | None = None):
    return next(
        one for one in container.records.values() if one.class_name == class_name and name in (None, one.name)
    )


# What is changed, in which file, at which place: offsets of the header and of keys (root-io-spec, 01-container).
DAMAGES: dict[str, tuple[str, Callable[[Container, bytearray], None]]] = {
    "header-bounds": ("objects", lambda c, d: put(d, 12, "i", c.header.end + 1000)),
    "file-end": ("objects", lambda _c, d: d.extend(b"tail")),
    "free-record": ("objects", lambda c, d: put(d, 20, "i", c.header.n_free_bytes + 1)),
    "free-count": ("objects", lambda _c, d: put(d, 24, "i", 2)),
    "root-name": ("objects", lambda _c, d: put(d, 28, "i", 61)),
    "header-units": ("objects", lambda _c, d: put(d, 32, "B", 8)),
    "header-compression": ("objects", lambda _c, d: put(d, 33, "i", 1 << 20)),
    "info-record": ("objects", lambda c, d: put(d, 41, "i", c.header.n_info_bytes - 1)),
    "free-last": ("objects", lambda c, d: put(d, c.header.seek_free + key_bytes(c, c.header.seek_free) + 2, "i",
                                              c.header.end - 4)),
    "record-chain": ("objects", lambda c, d: put(d, key_of(c, "TNamed").at, "i", key_of(c, "TNamed").n_bytes + 4)),
    "key-seek": ("objects", lambda c, d: put(d, key_of(c, "TNamed").at + 18, "i", 100)),
    "key-length": ("objects", lambda c, d: put(d, key_of(c, "TNamed").at + 14, "h", key_of(c, "TNamed").key_bytes + 1)),
    "image-copy": ("objects", lambda c, d: put(d, key_of(c, "TNamed").at + 10, "I", 7)),
    "image-parent": ("objects", lambda c, d: put(d, image(c, "named") + 22, "i", 101)),
    "image-record": ("objects", lambda c, d: put(d, image(c, "named") + 18, "i", 101)),
    "list-cycles": ("objects", lambda c, d: put(d, image(c, "text") + 16, "h", 1)),
    "root-parent": ("objects", lambda c, d: put(d, c.header.begin + 22, "i", 100)),
    "directory-seek": ("objects", lambda c, d: put(d, fields(c, "a") + 18, "i", 100)),
    "directory-parent": ("objects", lambda c, d: put(d, fields(c, "a/b") + 22, "i", 100)),
    "directory-keys": ("objects", lambda c, d: put(d, fields(c, "a") + 10, "i", 1)),
    "directory-name": ("objects", lambda c, d: put(d, fields(c, "a") + 14, "i", 1)),
    "directory-version": ("objects", lambda c, d: put(d, fields(c, "a"), "h", 4)),
    "directory-uuid": ("objects", lambda c, d: put(d, fields(c, "a") + 30, "h", 2)),
    "basket-version": ("tree-none", lambda c, d: put(d, basket(c, "x"), "h", 2)),
    "basket-entries": ("tree-none", lambda c, d: put(d, basket(c, "x") + 10, "i", 7)),
    "basket-offsets": ("tree-none", lambda c, d: put(d, basket(c, "x") + 14, "i", 500)),
    "basket-flag": ("tree-none", lambda c, d: put(d, basket(c, "x") + 18, "B", 80)),
    "basket-fixed": ("tree-none", lambda c, d: put(d, basket(c, "d") + 6, "i", 4)),
    "leaf-maximum": ("tree-none", lambda c, d: put(d, basket(c, "nx") + 19, "i", 1000)),
    "leaf-counted": ("tree-none", lambda c, d: put(d, basket(c, "nx") + 19, "i", 3)),
    "text-length": ("tree-none", lambda c, d: put(d, basket(c, "c") + 19, "B", 3)),
    "basket-payload": ("tree-lz4", lambda c, d: put(d, basket(c, "d") + 19 + 40, "B", d[basket(c, "d") + 59] ^ 1)),
    "basket-key": ("tree-none", lambda c, d: put(d, basket(c, "x") - 2, "B", ord("e"))),
    "anchor-checksum": ("ntuple-none", lambda c, d: put(d, anchor(c) + 11, "B", 9)),
    "anchor-frame": ("ntuple-none", lambda c, d: put(d, anchor(c) + 5, "B", 1)),
}  # fmt: skip


def key_bytes(container: Container, seek: int) -> int:
    return container.records[seek].key_bytes


def image(container: Container, name: str) -> int:
    """Where the first copy of a key is in the key list of the root directory."""
    found = next(key for key in container.directories[0].keys if key.name == name)
    listed = container.records[container.directories[0].seek_keys]
    return listed.seek + listed.key_bytes + found.at


def fields(container: Container, path: str) -> int:
    """Where the fields of a directory begin."""
    key = next(one.key for one in container.directories if one.path == path)
    return key.seek + key.key_bytes


def basket(container: Container, name: str) -> int:
    """Where the header of a branch's first basket begins; its payload follows 19 bytes later."""
    key = key_of(container, "TBasket", name)
    return key.seek + key.parsed_bytes


def anchor(container: Container) -> int:
    key = key_of(container, "ROOT::RNTuple")
    return key.seek + key.key_bytes


@pytest.mark.parametrize("rule", DAMAGES)
def test_damage_is_found(files, tmp_path, rule):
    name, change = DAMAGES[rule]
    path = files / f"{name}.root"
    container = container_of(path)
    assert rule in damaged(path, tmp_path / "damaged.root", lambda data: change(container, data))


def test_a_change_of_any_member_of_a_tree_that_matters_is_found(files, tmp_path):
    path = files / "tree-none.root"
    container = container_of(path)
    objects = Objects(container, Findings())
    key = key_of(container, "TTree")
    objects.places.clear()
    objects.read(container.payload(key), key.key_bytes, "TTree")
    target, missed, n_changed, seen = tmp_path / "damaged.root", [], 0, {}
    for class_name, member, at in objects.places:
        if member in FREE | SOMETIMES or seen.get((class_name, member), 0) >= 3:
            continue
        seen[class_name, member] = seen.get((class_name, member), 0) + 1
        place = key.seek + key.key_bytes + at

        def change(data: bytearray, place: int = place) -> None:
            data[place + 1] ^= 0x21

        n_changed += 1
        if not damaged(path, target, change):
            missed.append(f"{class_name}::{member}")
    assert n_changed > 60
    assert not missed


@pytest.mark.parametrize("name", ["ntuple-none.root", "ntuple-zstd.root"])
def test_a_change_of_any_byte_of_an_rntuple_is_found(files, tmp_path, name):
    path = files / name
    container = container_of(path)
    findings = Findings()
    spans = spans_of(container, findings)
    chance = random.Random(7)
    for _ in range(60):
        begin, end = chance.choice(spans)
        place, bit = chance.randrange(begin, end), 1 << chance.randrange(8)

        def change(data: bytearray, place: int = place, bit: int = bit) -> None:
            data[place] ^= bit

        assert damaged(path, tmp_path / "damaged.root", change), f"a change at {place}"


def spans_of(container: Container, findings: Findings) -> list[tuple[int, int]]:
    """The ranges that locators of an RNTuple name in its file."""
    from .invariants.ntuples import Ntuple

    ntuple = Ntuple(container, findings, key_of(container, "ROOT::RNTuple"), "Events")
    ntuple.check()
    return list(ntuple.taken)


def test_a_description_that_is_wrong_or_missing_is_found(files, tmp_path):
    path, target = files / "tree-none.root", tmp_path / "damaged.root"
    key = container_of(path).header.seek_info
    # The record is compressed where the file is; this file's is not.
    data = path.read_bytes()
    name = data.index(b"fEntryNumber", key)
    assert "info-checksum" in damaged(path, target, lambda d: put(d, name + 1, "B", ord("e")))
    described = (
        data.index(b"\x08TLeafObj", key) if b"\x08TLeafObj" in data else data.index(b"\x06TLeafS", key)
    )
    assert "info-missing" in damaged(path, target, lambda d: put(d, described + 6, "B", ord("X")))


def test_the_name_of_a_class_in_full_twice_is_found(files, tmp_path):
    """Readers take it; ROOT refers back to the first place."""
    path = files / "tree-none.root"
    container = container_of(path)
    key = key_of(container, "TTree")
    payload = container.payload(key)
    begin = payload.index(b"\xff\xff\xff\xffTBranch\0")
    again = struct.pack(">I", 0x80000000 | (begin + key.key_bytes + 2))
    assert payload.count(again) > 5
    place = key.seek + key.key_bytes + payload.index(again)
    assert "class-reference" in damaged(
        path, tmp_path / "damaged.root", lambda d: put(d, place, "I", 0x80000004)
    )
