"""Seeded damage to ROOT files: what a disk, a network or an attacker does to bytes."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field
from typing import Literal

import xxhash

#: Values that size and count fields do not expect.
HOSTILE = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x40000000,
           0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0x3FFFFFFF, 0x00FFFFFF]  # fmt: skip


#: Of an anchor, its byte count and version first and its checksum last; of the checksum, what it counts.
ANCHOR_BYTES, ANCHOR_HEAD_BYTES, ANCHOR_CHECKED_BYTES = 78, 6, 64
#: So many damaged RNTuples get checksums that are right.
MENDED_SHARE = 0.9


@dataclass(frozen=True)
class Regions:
    """Where damage does most: half-open ranges of bytes."""

    header: tuple[int, int]
    record_heads: list[tuple[int, int]]  # of keys and baskets, and what stands first in their payload
    records: list[tuple[int, int]]
    #: Header, footer and page lists of RNTuples that are not compressed. Each ends with its checksum.
    envelopes: list[tuple[int, int]] = field(default_factory=list)
    #: Anchors of RNTuples, where their checksum begins to count.
    anchors: list[int] = field(default_factory=list)


def find_regions(data: bytes) -> Regions:
    """Walk the records of a sound file. Stops where they make no sense; never fails."""
    begin = struct.unpack_from(">i", data, 8)[0] if len(data) >= 12 else 0
    heads, records, envelopes, anchors, at = [], [], [], [], begin
    while at > 0 and at + 18 <= len(data) and len(records) < 10000:
        (n_bytes,) = struct.unpack_from(">i", data, at)
        if n_bytes == 0:
            break
        if n_bytes < 0:  # a gap
            at -= n_bytes
            continue
        key_bytes = struct.unpack_from(">h", data, at + 14)[0]
        stop = min(at + n_bytes, len(data))
        heads.append((at, min(at + max(key_bytes, 18) + 16, stop)))
        records.append((at, stop))
        payload = at + key_bytes
        if is_envelope(data[payload:stop]):
            envelopes.append((payload, stop))
        if b"ROOT::RNTuple" in data[at:payload] and stop - payload == ANCHOR_BYTES:  # not compressed
            anchors.append(payload + ANCHOR_HEAD_BYTES)
        at += n_bytes
    return Regions((0, min(max(begin, 100), len(data))), heads, records, envelopes, anchors)


def is_envelope(payload: bytes) -> bool:
    """Whether it is an RNTuple's header, footer or page list, not compressed."""
    n_bytes = int.from_bytes(payload[2:8], "little")
    return 16 <= n_bytes == len(payload) and payload[-8:] == xxhash.xxh3_64_digest(payload[:-8])[::-1]


def mend(data: bytearray, regions: Regions) -> None:
    """Make the checksums of envelopes and anchors right: what was damaged is then read, and not refused at once."""
    for start, stop in regions.envelopes:
        data[stop - 8 : stop] = xxhash.xxh3_64_digest(data[start : stop - 8])[::-1]
    for start in regions.anchors:
        stop = start + ANCHOR_CHECKED_BYTES
        data[stop : stop + 8] = xxhash.xxh3_64_digest(data[start:stop])


def mutate(data: bytes, regions: Regions, seed: str) -> tuple[bytes, str]:
    """Damage a file in one to four places. Returns it, and what was done in words.

    The same ``seed`` gives the same damage on every machine.
    """
    rng = random.Random(seed)
    damaged, said = bytearray(data), []
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        if len(damaged) < 4:
            break
        kind = rng.choices(
            ["flip", "overwrite", "hostile", "random", "swap", "repeat", "remove", "truncate", "grow"],
            weights=[30, 10, 25, 8, 8, 5, 4, 8, 2],
        )[0]
        start = _place(rng, regions, len(damaged))
        is_little = any(low <= start < high for low, high in regions.envelopes)
        said.append(f"{kind} at {start}{_apply(rng, damaged, kind, start, 'little' if is_little else 'big')}")
    if regions.envelopes and len(damaged) == len(data) and rng.random() < MENDED_SHARE:
        mend(damaged, regions)
        said.append("checksums mended")
    return bytes(damaged), ", ".join(said)


def _place(rng: random.Random, regions: Regions, size: int) -> int:
    if regions.envelopes and rng.random() < 0.6:
        low, high = rng.choice(regions.envelopes)
        return min(rng.randrange(low, high), size - 1)
    where = rng.random()
    if where < 0.15:
        low, high = regions.header
    elif where < 0.6 and regions.record_heads:
        low, high = rng.choice(regions.record_heads)
    elif where < 0.85 and regions.records:
        # The tree's own record and the streamer info come last in a file.
        low, high = rng.choice(regions.records[-8:])
    else:
        low, high = 0, size
    return min(rng.randrange(low, max(high, low + 1)), size - 1)


def _apply(
    rng: random.Random, data: bytearray, kind: str, start: int, order: Literal["big", "little"]
) -> str:
    size = len(data)
    length = min(rng.choice([1, 2, 4, 8, 16, 64, 300]), size - start)
    if kind == "flip":
        bit = rng.randrange(8)
        data[start] ^= 1 << bit
        return f" bit {bit}"
    if kind == "overwrite":
        byte = rng.choice([0, 0xFF])
        data[start : start + length] = bytes([byte]) * length
        return f" {length} x {byte}"
    if kind == "hostile":
        width = rng.choice([1, 2, 4, 4, 4, 8])
        value = rng.choice(HOSTILE) & ((1 << 8 * width) - 1)
        data[start : start + width] = value.to_bytes(width, order)[: size - start]
        return f" {value:#x} in {width}"
    if kind == "random":
        data[start : start + length] = rng.randbytes(length)
        return f" {length}"
    if kind == "swap":
        other = rng.randrange(size)
        length = min(length, size - other)
        here, there = data[start : start + length], data[other : other + length]
        data[start : start + length], data[other : other + length] = there[: len(here)], here[: len(there)]
        return f" with {other}, {length}"
    if kind == "repeat":
        data[start:start] = data[start : start + length]
        return f" {length}"
    if kind == "remove":
        del data[start : start + length]
        return f" {length}"
    if kind == "truncate":
        stop = rng.choice([start, rng.randrange(size), size - 1 - rng.randrange(min(size, 100))])
        del data[max(stop, 1) :]
        return f" to {len(data)}"
    data.extend(bytes(rng.randrange(1, 100)))
    return f" to {len(data)}"
