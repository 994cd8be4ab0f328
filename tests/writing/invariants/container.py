"""The file as a container: header, records, free list, directories and their keys.

Sources: root-io-spec, 01-container (FileHeader, Record, Directory, FreeSegments, LargeFiles), 06-writing/WritingFiles.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .reading import Cursor, DamagedError, Findings, string_bytes, unpacked

if TYPE_CHECKING:
    from pathlib import Path

#: From here on offsets take 8 bytes (ROOT's kStartBigFile).
BIG = 2_000_000_000


@dataclass(frozen=True)
class Key:
    """The head of a record, or its copy in a key list."""

    n_bytes: int
    version: int
    object_bytes: int
    datime: int
    key_bytes: int
    cycle: int
    seek: int
    seek_directory: int
    class_name: str
    name: str
    title: str
    #: Where it was read, and how many bytes it took.
    at: int = field(compare=False)
    parsed_bytes: int = field(compare=False)

    def __str__(self) -> str:
        return f"key {self.class_name} {self.name!r};{self.cycle} at {self.seek}"

    @property
    def is_directory(self) -> bool:
        return self.class_name in ("TDirectory", "TDirectoryFile")


@dataclass(frozen=True)
class Header:
    """The first bytes of a file."""

    version: int
    begin: int
    end: int
    seek_free: int
    n_free_bytes: int
    n_free: int
    n_name_bytes: int
    units: int
    compression: int
    seek_info: int
    n_info_bytes: int
    uuid: bytes


@dataclass(frozen=True)
class Directory:
    """A directory with its keys."""

    path: str
    key: Key
    seek_keys: int
    keys: tuple[Key, ...]


class Container:
    """A file whose container was walked. What it breaks is in ``findings``."""

    def __init__(self, path: Path, findings: Findings) -> None:
        #: Large files are mapped: a slice is bytes in either case.
        with path.open("rb") as file:
            is_large = path.stat().st_size > 1 << 27
            self.data: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if is_large else file.read()
        self.findings = findings
        self.records: dict[int, Key] = {}
        self.gaps: list[tuple[int, int]] = []
        self.directories: list[Directory] = []
        #: Records that something refers to.
        self.reached: set[int] = set()
        self.header = self._header()
        self._walk()
        self._free_list()
        self._root()
        self._info_record()

    # -- what others take

    def payload(self, key: Key) -> bytes:
        """The payload of a record, unpacked. Raises DamagedError."""
        start = key.seek + key.key_bytes
        return unpacked(self.data[start : key.seek + key.n_bytes], key.object_bytes, str(key))

    def record(self, seek: int, rule: str, where: str) -> Key | None:
        """The record at a place, noted as reached; a violation if there is none."""
        found = self.records.get(seek)
        if found is None:
            self.findings.add(rule, where, f"no record begins at {seek}")
        else:
            self.reached.add(seek)
        return found

    def unreached(self) -> None:
        """Every record is to be one that something refers to. To be asked when all tables were looked at."""
        for seek, key in self.records.items():
            if seek not in self.reached:
                self.findings.add("record-unreached", str(key), "nothing refers to this record")

    # -- walking

    def _header(self) -> Header:
        cursor = Cursor(self.data)
        if cursor.take(4) != b"root":
            raise DamagedError("the file does not begin with 'root'")
        version, begin = cursor.integer("i"), cursor.integer("i")
        wide = "q" if version >= 1_000_000 else "i"
        end, seek_free = cursor.integer(wide), cursor.integer(wide)
        n_free_bytes, n_free, n_name = cursor.integer("i"), cursor.integer("i"), cursor.integer("i")
        units, compression = cursor.integer("B"), cursor.integer("i")
        seek_info, n_info_bytes = cursor.integer(wide), cursor.integer("i")
        uuid = cursor.take(18)
        header = Header(
            version, begin, end, seek_free, n_free_bytes, n_free, n_name, units, compression, seek_info,
            n_info_bytes, uuid,
        )  # fmt: skip
        told = self.findings
        told.true("header-bounds", "header", 0 <= begin <= end <= len(self.data),
                  f"fBEGIN {begin}, fEND {end}, file of {len(self.data)} bytes")  # fmt: skip
        told.true("header-begin", "header", begin >= cursor.at, f"fBEGIN {begin} lies in the header")
        told.equal("header-width", "header", "wide", version >= 1_000_000, end > BIG)
        told.equal("header-units", "header", "fUnits", units, 8 if version >= 1_000_000 else 4)
        told.true("header-compression", "header", 0 <= compression < 600, f"fCompress is {compression}")
        told.equal("header-uuid", "header", "the version of the UUID", uuid[:2], b"\x00\x01")
        told.true("header-name", "header", 10 <= n_name <= 10_000, f"fNbytesName is {n_name}")
        told.equal("file-end", "header", "the size of the file", len(self.data), end)
        return header

    def _key(self, at: int) -> Key:
        cursor = Cursor(self.data, at)
        return parse_key(cursor)

    def _walk(self) -> None:
        at, end = self.header.begin, self.header.end
        while at < end:
            n_bytes = Cursor(self.data, at).integer("i")
            if n_bytes < 0:
                self.gaps.append((at, at - n_bytes))
                at -= n_bytes
                continue
            if n_bytes == 0:
                raise DamagedError(f"record-chain: a record of no bytes at {at}")
            key = self._key(at)
            self._check_key(key)
            self.records[at] = key
            at += n_bytes
        self.findings.equal("record-chain", "records", "the end of the last record", at, end)

    def _check_key(self, key: Key) -> None:
        told, where = self.findings, str(key)
        told.equal("key-seek", where, "fSeekKey", key.seek, key.at)
        told.true("key-lengths", where, key.parsed_bytes <= key.key_bytes <= key.n_bytes,
                  f"fKeylen {key.key_bytes}, its strings end at {key.parsed_bytes}, fNbytes {key.n_bytes}")  # fmt: skip
        told.true("key-object", where, key.n_bytes - key.key_bytes <= key.object_bytes or key.class_name == "RBlob",
                  f"{key.n_bytes - key.key_bytes} bytes are stored for {key.object_bytes}")  # fmt: skip
        told.true("key-cycle", where, key.cycle != 0 or key.class_name == "TBasket", "the cycle is 0")
        told.true("key-version", where, key.version % 1000 == 4, f"the version is {key.version}")
        told.true("key-width", where, key.version >= 1000 or key.at <= BIG, "a narrow key beyond 2 GB")
        if key.class_name == "TBasket":
            told.equal("key-width", where, "the version", key.version, 1004)
        else:
            told.equal("key-length", where, "fKeylen", key.key_bytes, key.parsed_bytes)

    def _free_list(self) -> None:
        told, header, where = self.findings, self.header, "free list"
        key = self.record(header.seek_free, "free-record", where)
        if key is None:
            return
        told.equal("free-record", where, "fNbytesFree", header.n_free_bytes, key.n_bytes)
        cursor = Cursor(self.payload(key))
        entries: list[tuple[int, int]] = []
        while not entries or entries[-1][1] <= header.end:
            version = cursor.integer("h")
            wide = "q" if version > 1000 else "i"
            first, last = cursor.integer(wide), cursor.integer(wide)
            told.equal("free-width", where, "wide", version > 1000, last > BIG)
            told.equal("free-version", where, "the version", version % 1000, 1)
            entries.append((first, last))
        told.equal("free-last", where, "the first byte of the last free segment", entries[-1][0], header.end)
        told.true("free-last", where, entries[-1][1] > header.end, "the last free segment ends before fEND")
        told.equal("free-count", where, "nfree", header.n_free, len(entries))
        for first, last in entries[:-1]:
            told.true("free-gap", where, last - first + 1 >= 4, f"a gap of {last - first + 1} bytes")
        told.equal("free-gaps", where, "the free segments", [(a, b + 1) for a, b in entries[:-1]], self.gaps)
        rest = cursor.end - cursor.at
        told.true("free-length", where, rest <= 8 * len(entries), f"{rest} bytes after the last free segment")

    def _root(self) -> None:
        told, header = self.findings, self.header
        key = self.record(header.begin, "root-record", "root directory")
        if key is None:
            return
        name = key.key_bytes + string_bytes(key.name) + string_bytes(key.title)
        told.equal("root-name", "root directory", "fNbytesName", header.n_name_bytes, name)
        told.equal("root-parent", "root directory", "fSeekPdir of its key", key.seek_directory, 0)
        cursor = Cursor(self.data, key.seek + key.key_bytes)
        told.equal("root-name", "root directory", "its name", cursor.string(), key.name)
        told.equal("root-name", "root directory", "its title", cursor.string(), key.title)
        self._directory(key, "", header.begin + header.n_name_bytes, header.n_name_bytes, 0)

    def _directory(self, key: Key, path: str, at: int, n_name_bytes: int, parent: int) -> None:
        told, where = self.findings, f"directory {path or '/'}"
        cursor = Cursor(self.data, at)
        version = cursor.integer("h")
        created, modified = cursor.integer("I"), cursor.integer("I")
        n_keys_bytes, n_name = cursor.integer("i"), cursor.integer("i")
        wide = "q" if version > 1000 else "i"
        seek, seek_parent, seek_keys = cursor.integer(wide), cursor.integer(wide), cursor.integer(wide)
        uuid_version = cursor.integer("h")
        cursor.take(16)
        told.equal("directory-version", where, "the version", version % 1000, 5)
        told.equal("directory-uuid", where, "the version of the UUID", uuid_version, 1)
        told.equal("directory-width", where, "wide", version > 1000, max(seek, seek_parent, seek_keys) > BIG)
        told.true("directory-times", where, created <= modified, f"created {created}, modified {modified}")
        told.equal("directory-name", where, "fNbytesName", n_name, n_name_bytes)
        told.equal("directory-seek", where, "fSeekDir", seek, key.seek)
        told.equal("directory-parent", where, "fSeekParent", seek_parent, parent)
        told.equal(
            "directory-length", where, "the payload", key.object_bytes - (n_name_bytes - key.key_bytes), 60
        )
        told.equal("directory-packed", where, "fNbytes", key.n_bytes, key.key_bytes + key.object_bytes)
        if seek_keys == 0:  # it was never saved: ROOT writes no list then
            told.equal("directory-keys", where, "fNbytesKeys without a key list", n_keys_bytes, 0)
            self.directories.append(Directory(path, key, 0, ()))
            return
        listed = self.record(seek_keys, "directory-keys", where)
        if listed is None:
            return
        told.equal("directory-keys", where, "fNbytesKeys", n_keys_bytes, listed.n_bytes)
        told.equal("directory-keys", where, "the parent of its key list", listed.seek_directory, key.seek)
        keys = self._key_list(listed, where, key.seek)
        self.directories.append(Directory(path, key, seek_keys, tuple(keys)))
        for inner in keys:
            if inner.is_directory:
                name = f"{path}/{inner.name}" if path else inner.name
                record = self.records[inner.seek]
                told.equal(
                    "directory-class", f"directory {name}", "the class", record.class_name, "TDirectory"
                )
                if any(known.key.seek == inner.seek for known in self.directories):
                    told.add("directory-once", where, f"{name} is in another directory, too")
                    continue
                self._directory(record, name, inner.seek + record.key_bytes, record.key_bytes, key.seek)

    def _key_list(self, listed: Key, where: str, seek: int) -> list[Key]:
        told = self.findings
        cursor = Cursor(self.payload(listed))
        keys: list[Key] = []
        cycles: dict[str, list[int]] = {}
        for _ in range(cursor.integer("i")):
            begin = cursor.at
            image = parse_key(cursor)
            told.equal(
                "image-length", where, f"{image.name!r} in the key list", cursor.at - begin, image.key_bytes
            )
            record = self.record(image.seek, "image-record", f"{where}, {image.name!r} in the key list")
            if record is None:
                continue
            bytes_of_record = self.data[image.seek : image.seek + image.key_bytes]
            told.true("image-copy", where, cursor.data[begin : cursor.at] == bytes_of_record,
                      f"{image} in the key list is not the head of its record")  # fmt: skip
            told.equal("image-parent", where, f"fSeekPdir of {image.name!r}", image.seek_directory, seek)
            told.true(
                "list-basket", where, image.class_name not in ("TBasket", "RBlob"), f"{image} is listed"
            )
            cycles.setdefault(image.name, []).append(abs(image.cycle))
            keys.append(image)
        for name, found in cycles.items():
            told.equal("list-cycles", where, f"cycles of {name!r}", found, sorted(set(found), reverse=True))
        rest = cursor.end - cursor.at
        told.true("list-length", where, rest in (0, 8), f"{rest} bytes after the last key")
        return keys

    def _info_record(self) -> None:
        header, where = self.header, "streamer information"
        key = self.record(header.seek_info, "info-record", where)
        if key is not None:
            self.findings.equal("info-record", where, "fNbytesInfo", header.n_info_bytes, key.n_bytes)
            self.findings.equal(
                "info-record", where, "its key", (key.class_name, key.name), ("TList", "StreamerInfo")
            )


def parse_key(cursor: Cursor) -> Key:
    """A key where the cursor stands."""
    at = cursor.at
    n_bytes, version, object_bytes = cursor.integer("i"), cursor.integer("h"), cursor.integer("i")
    datime, key_bytes, cycle = cursor.integer("I"), cursor.integer("h"), cursor.integer("h")
    wide = "q" if version > 1000 else "i"
    seek, seek_directory = cursor.integer(wide), cursor.integer(wide)
    names = cursor.string(), cursor.string(), cursor.string()
    return Key(
        n_bytes, version, object_bytes, datime, key_bytes, cycle, seek, seek_directory & 0xFFFFFFFFFFFF, *names, at,
        cursor.at - at,
    )  # fmt: skip
