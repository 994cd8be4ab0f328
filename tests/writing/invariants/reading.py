"""Bytes of a file: big-endian numbers, ROOT's strings, and payloads that are compressed in blocks."""

from __future__ import annotations

import lzma
import struct
import zlib
from dataclasses import dataclass, field

import cramjam
import xxhash

#: Bit of a byte count, and of the tag of a class that was seen before.
BYTE_COUNT_BIT = 0x40000000
CLASS_BIT = 0x80000000
NEW_CLASS = 0xFFFFFFFF


class DamagedError(Exception):
    """Reading cannot go on: the message says where."""


@dataclass(frozen=True)
class Violation:
    """A rule that a file breaks."""

    rule: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.where}: {self.what}"


@dataclass
class Findings:
    """The rules that a file breaks, as they are found."""

    violations: list[Violation] = field(default_factory=list)

    def add(self, rule: str, where: str, what: object) -> None:
        self.violations.append(Violation(rule, where, str(what)))

    def equal(self, rule: str, where: str, name: str, found: object, wanted: object) -> None:
        if found != wanted:
            self.add(rule, where, f"{name} is {found}, not {wanted}")

    def true(self, rule: str, where: str, holds: bool, what: object) -> None:
        if not holds:
            self.add(rule, where, what)


class Cursor:
    """A place in bytes. Reading past the end raises DamagedError."""

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end

    def take(self, n: int) -> bytes:
        if n < 0 or self.at + n > self.end:
            raise DamagedError(f"{n} bytes at {self.at}, but only {self.end - self.at} are left")
        self.at += n
        return self.data[self.at - n : self.at]

    def one(self, code: str) -> int | float:
        (value,) = struct.unpack(f">{code}", self.take(struct.calcsize(f">{code}")))
        return value  # type: ignore[no-any-return]

    def integer(self, code: str) -> int:
        return int(self.one(code))

    def many(self, code: str, n: int) -> list[int | float]:
        return list(struct.unpack(f">{n}{code}", self.take(n * struct.calcsize(f">{code}"))))

    def string(self) -> str:
        n = self.integer("B")
        if n == 255:
            n = self.integer("i")
        return self.take(n).decode("utf-8", "surrogateescape")


def string_bytes(text: str) -> int:
    """The bytes of a string in a file."""
    n = len(text.encode("utf-8", "surrogateescape"))
    return n + (5 if n > 254 else 1)


def unpacked(stored: bytes, n_bytes: int, where: str) -> bytes:
    """A payload, from its blocks if it is compressed.

    It is compressed if what it is stored in is less than ``n_bytes``: there is no other flag. Raises DamagedError if a
    block has no known method, is not of the length that its head says, or if the checksum of LZ4 is another.
    """
    if len(stored) == n_bytes:
        return stored
    if len(stored) > n_bytes:
        raise DamagedError(f"{where}: {len(stored)} bytes are stored for {n_bytes}")
    parts, at = [], 0
    while at < len(stored):
        head = stored[at : at + 9]
        if len(head) < 9:
            raise DamagedError(f"{where}: {len(head)} bytes after the last block")
        n_stored = int.from_bytes(head[3:6], "little")
        n_whole = int.from_bytes(head[6:9], "little")
        block = stored[at + 9 : at + 9 + n_stored]
        if len(block) != n_stored:
            raise DamagedError(f"{where}: a block of {n_stored} bytes, but {len(block)} are left")
        part = _unpacked_block(head[:3], block, n_whole, where)
        if len(part) != n_whole:
            raise DamagedError(f"{where}: a block has {len(part)} bytes, not {n_whole}")
        parts.append(part)
        at += 9 + n_stored
    whole = b"".join(parts)
    if len(whole) != n_bytes:
        raise DamagedError(f"{where}: blocks of {len(whole)} bytes, not {n_bytes}")
    return whole


def _unpacked_block(method: bytes, block: bytes, n_whole: int, where: str) -> bytes:
    try:
        if method == b"ZL\x08":
            return zlib.decompress(block)
        if method == b"XZ\x00":
            return lzma.decompress(block, format=lzma.FORMAT_XZ)
        if method == b"ZS\x01":
            return bytes(cramjam.zstd.decompress(block))
        if method == b"L4\x01":
            if xxhash.xxh64_digest(block[8:]) != block[:8]:
                raise DamagedError(f"{where}: the checksum of an LZ4 block is another")
            return bytes(cramjam.lz4.decompress_block(block[8:], output_len=n_whole))
    except (zlib.error, lzma.LZMAError, cramjam.DecompressionError) as error:
        raise DamagedError(f"{where}: a block of {method!r} does not decompress: {error}") from error
    raise DamagedError(f"{where}: no method of compression is {method!r}")
