"""RNTuples: anchor, envelopes and their checksums, schema, page lists, pages.

Sources: ROOT's tree/ntuple/doc/BinaryFormatSpecification.md (1.0.2), root-io-spec 05-rntuple (ERRATA, NOTES).
"""

from __future__ import annotations

import bisect
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import xxhash

from .reading import DamagedError, Findings, unpacked

if TYPE_CHECKING:
    from .container import Container, Key

#: Bits of an element by the number of the column's type; None where the column says.
COLUMN_BITS: dict[int, int | None] = {
    0x00: 1, 0x01: 8, 0x02: 8, 0x03: 8, 0x04: 8, 0x05: 16, 0x06: 16, 0x07: 32, 0x08: 32, 0x09: 64, 0x0A: 64, 0x0B: 16,
    0x0C: 32, 0x0D: 64, 0x0E: 32, 0x0F: 64, 0x10: 96, 0x11: 16, 0x12: 16, 0x13: 32, 0x14: 32, 0x15: 64, 0x16: 64,
    0x18: 32, 0x19: 64, 0x1A: 32, 0x1B: 64, 0x1C: None, 0x1D: None,
}  # fmt: skip
#: Columns of the ends of collections: as they are, and split with deltas.
INDEX = {0x0E: (4, False), 0x0F: (8, False), 0x1A: (4, True), 0x1B: (8, True)}
FORBIDDEN = set(" ./\\") | {chr(code) for code in range(32)} | {chr(127)}


class LittleEndian:
    """A place in the bytes of an envelope."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def take(self, n: int) -> bytes:
        if n < 0 or self.at + n > len(self.data):
            raise DamagedError(f"{n} bytes at {self.at} of {len(self.data)} in an envelope")
        self.at += n
        return self.data[self.at - n : self.at]

    def one(self, code: str) -> int:
        (value,) = struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))
        return int(value)

    def string(self) -> str:
        return self.take(self.one("I")).decode("utf-8", "surrogateescape")

    def record(self) -> int:
        """Where the record frame that begins here ends."""
        begin, size = self.at, self.one("q")
        if size < 8 or begin + size > len(self.data):
            raise DamagedError(f"a record frame of {size} bytes at {begin}")
        return begin + size

    def list(self) -> tuple[int, int]:
        """Where the list frame that begins here ends, and how many items it has."""
        begin, size = self.at, -self.one("q")
        if size < 12 or begin + size > len(self.data):
            raise DamagedError(f"a list frame of {size} bytes at {begin}")
        return begin + size, self.one("I")

    def locator(self) -> tuple[int, int]:
        """Bytes and offset."""
        size = self.one("i")
        if size >= 0:
            return size, self.one("Q")
        kind = (-size >> 24) & 0x7F
        if kind != 1:
            raise DamagedError(f"a locator of type {kind}")
        return self.one("Q"), self.one("Q")


@dataclass
class Field:
    name: str
    type_name: str
    parent: int
    role: int
    flags: int
    n_items: int = 0


@dataclass
class Column:
    type: int
    bits: int
    field: int
    flags: int
    representation: int
    first_element: int
    n_elements: int = 0
    #: It was suppressed in a cluster.
    is_skipped: bool = False


@dataclass
class Schema:
    fields: list[Field] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)
    #: Columns of the header; others came up later.
    n_in_header: int = 0


class Ntuple:
    """Checks one RNTuple."""

    def __init__(self, container: Container, findings: Findings, key: Key, where: str) -> None:
        self.container = container
        self.findings = findings
        self.key = key
        self.where = where
        self.name = key.name
        self.schema = Schema()
        blobs = [one for one in container.records.values() if one.class_name == "RBlob"]
        self.blobs = sorted(blobs, key=lambda one: one.seek)
        self.starts = [one.seek for one in self.blobs]
        #: What lies where in the blobs: two different pages do not overlap.
        self.taken: dict[tuple[int, int], str] = {}

    def check(self) -> None:
        self.check_from(self.container.payload(self.key), self.key.name)
        self._overlaps()

    def check_from(self, payload: bytes, name: str) -> None:
        """Check what an anchor leads to."""
        self.name = name
        header, footer = self._anchor(payload)
        raw_header = self._envelope("header", 1, *header)
        self._header(LittleEndian(raw_header[:-8], 8))
        raw_footer = self._envelope("footer", 2, *footer)
        self._footer(LittleEndian(raw_footer[:-8], 8), raw_header[-8:])

    def _anchor(self, payload: bytes) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        told, where = self.findings, f"{self.where}, anchor"
        told.equal("anchor-length", where, "its payload", len(payload), 78)
        count, version = struct.unpack_from(">IH", payload)
        told.equal("anchor-frame", where, "its byte count", count, 0x40000042)
        told.equal("anchor-frame", where, "its class version", version, 2)
        told.equal("anchor-checksum", where, "its checksum", payload[70:78].hex(),
                   xxhash.xxh3_64(payload[6:70]).digest().hex())  # fmt: skip
        epoch, _, _, _, *numbers = struct.unpack_from(">4H7Q", payload, 6)
        told.equal("anchor-version", where, "the epoch", epoch, 1)
        told.true("anchor-maximum", where, 0 < numbers[6] <= 1 << 30, f"keys of at most {numbers[6]} bytes")
        return (numbers[0], numbers[1], numbers[2]), (numbers[3], numbers[4], numbers[5])

    def _stored(self, what: str, rule: str, offset: int, n_bytes: int) -> bytes:
        """Bytes that a locator names: inside of one blob."""
        place = bisect.bisect_right(self.starts, offset) - 1
        blob = self.blobs[place] if place >= 0 else None
        inside = blob is not None and (
            blob.seek + blob.key_bytes <= offset and offset + n_bytes <= blob.seek + blob.n_bytes
        )
        if blob is None or not inside:
            self.findings.add(rule, f"{self.where}, {what}", f"{n_bytes} bytes at {offset} lie in no blob")
        else:
            self.container.reached.add(blob.seek)
        self.taken[(offset, offset + n_bytes)] = what
        return self.container.data[offset : offset + n_bytes]

    def _envelope(self, what: str, kind: int, offset: int, n_stored: int, n_bytes: int) -> bytes:
        told, where = self.findings, f"{self.where}, {what}"
        raw = unpacked(self._stored(what, "envelope-place", offset, n_stored), n_bytes, where)
        head = int.from_bytes(raw[:8], "little")
        told.equal("envelope-head", where, "its type", head & 0xFFFF, kind)
        told.equal("envelope-head", where, "its length", head >> 16, n_bytes)
        told.equal("envelope-checksum", where, "its checksum", raw[-8:][::-1].hex(),
                   xxhash.xxh3_64(raw[:-8]).digest().hex())  # fmt: skip
        return raw

    # -- the schema

    def _flags(self, cursor: LittleEndian, what: str) -> None:
        self.findings.equal("feature-flags", f"{self.where}, {what}", "the feature flags", cursor.one("q"), 0)

    def _header(self, cursor: LittleEndian) -> None:
        self._flags(cursor, "header")
        self.findings.equal("ntuple-name", self.where, "its name", cursor.string(), self.name)
        cursor.string()
        self.findings.true("ntuple-writer", self.where, cursor.string() != "", "no writer is named")
        self._description(cursor, "header")
        self.schema.n_in_header = len(self.schema.columns)
        self._check_schema()

    def _description(self, cursor: LittleEndian, what: str) -> None:
        for read in (self._field, self._column, self._skipped, self._skipped):
            end, n_items = cursor.list()
            for _ in range(n_items):
                item_end = cursor.record()
                read(cursor)
                if cursor.at > item_end:
                    self.findings.add(
                        "frame-length", f"{self.where}, {what}", f"an item ends after {item_end}"
                    )
                cursor.at = item_end
            self.findings.equal("frame-length", f"{self.where}, {what}", "the end of a list", cursor.at, end)
            cursor.at = end

    def _skipped(self, cursor: LittleEndian) -> None:
        """Aliases and further information of types: nothing here depends on them."""

    def _field(self, cursor: LittleEndian) -> None:
        cursor.take(8)
        parent, role, flags = cursor.one("I"), cursor.one("H"), cursor.one("H")
        name, type_name, _, _ = (cursor.string() for _ in range(4))
        found = Field(name, type_name, parent, role, flags)
        if flags & 1:
            found.n_items = cursor.one("Q")
        self.schema.fields.append(found)

    def _column(self, cursor: LittleEndian) -> None:
        kind, bits, of_field = cursor.one("H"), cursor.one("H"), cursor.one("I")
        flags, representation = cursor.one("H"), cursor.one("H")
        first = cursor.one("q") if flags & 1 else 0
        self.schema.columns.append(Column(kind, bits, of_field, flags, representation, abs(first)))

    def _check_schema(self) -> None:
        told, fields = self.findings, self.schema.fields
        seen: set[tuple[int, str]] = set()
        for number, one in enumerate(fields):
            where = f"{self.where}, field {one.name}"
            told.true(
                "field-parent",
                where,
                one.parent <= number,
                f"its parent is field {one.parent}, itself {number}",
            )
            told.true("field-role", where, one.role <= 4, f"its role is {one.role}")
            told.true(
                "field-name",
                where,
                bool(one.name) and not FORBIDDEN & set(one.name),
                "its name is not allowed",
            )
            key = (-1 if one.parent == number else one.parent, one.name)
            told.true("field-name", where, key not in seen, "there are two of its name")
            seen.add(key)
        last = -1
        for number, column in enumerate(self.schema.columns):
            where = f"{self.where}, column {number}"
            told.true(
                "column-order", where, column.field >= last, "columns are not in the order of their fields"
            )
            last = column.field
            told.true("column-field", where, column.field < len(fields), f"there is no field {column.field}")
            told.true("column-type", where, column.type in COLUMN_BITS, f"its type is {column.type:#x}")
            bits = COLUMN_BITS.get(column.type)
            if bits is not None:
                told.equal("column-bits", where, "its bits", column.bits, bits)

    # -- clusters and pages

    def _footer(self, cursor: LittleEndian, header_checksum: bytes) -> None:
        told = self.findings
        self._flags(cursor, "footer")
        told.equal(
            "header-checksum", f"{self.where}, footer", "the header's", cursor.take(8), header_checksum
        )
        end = cursor.record()
        self._description(cursor, "footer")
        cursor.at = end
        self._check_schema()
        end, n_groups = cursor.list()
        next_entry = 0
        for group in range(n_groups):
            where = f"cluster group {group}"
            item_end = cursor.record()
            first, span, n_clusters = cursor.one("Q"), cursor.one("Q"), cursor.one("I")
            n_bytes = cursor.one("Q")
            size, offset = cursor.locator()
            told.equal("group-entries", f"{self.where}, {where}", "its first entry", first, next_entry)
            raw = self._envelope(f"page list of {where}", 3, offset, size, n_bytes)
            next_entry = self._page_list(LittleEndian(raw[:-8], 8), header_checksum, where, first, n_clusters)
            told.equal("group-entries", f"{self.where}, {where}", "its entries", span, next_entry - first)
            cursor.at = item_end
        told.equal("frame-length", f"{self.where}, footer", "the end of the cluster groups", cursor.at, end)
        cursor.at = end
        if cursor.at < len(cursor.data):  # from 1.0.1.0 on
            self._attribute_sets(cursor)

    def _attribute_sets(self, cursor: LittleEndian) -> None:
        """RNTuples that say more about this one; their anchors lie in blobs. Source: ``SerializeAttributeSet``."""
        end, n_sets = cursor.list()
        for _ in range(n_sets):
            item_end = cursor.record()
            cursor.take(4)
            n_bytes = cursor.one("I")
            size, offset = cursor.locator()
            name = cursor.string()
            where = f"{self.where}, attribute set {name}"
            payload = unpacked(
                self._stored(f"attribute set {name}", "attributes-place", offset, size), n_bytes, where
            )
            inner = Ntuple(self.container, self.findings, self.key, where)
            inner.taken = self.taken
            inner.check_from(payload, name)
            cursor.at = item_end
        self.findings.equal(
            "frame-length", f"{self.where}, footer", "the end of the attribute sets", cursor.at, end
        )

    def _page_list(
        self, cursor: LittleEndian, header_checksum: bytes, group: str, first: int, n_clusters: int
    ) -> int:
        told, where = self.findings, f"{self.where}, page list of {group}"
        told.equal("header-checksum", where, "the header's", cursor.take(8), header_checksum)
        end, n_summaries = cursor.list()
        told.equal("cluster-count", where, "clusters", n_summaries, n_clusters)
        sizes, next_entry = [], first
        for number in range(n_summaries):
            item_end = cursor.record()
            begin, packed = cursor.one("Q"), cursor.one("Q")
            n_entries, flags = packed & ((1 << 56) - 1), packed >> 56
            told.equal("cluster-entries", where, f"the first entry of cluster {number}", begin, next_entry)
            told.true("cluster-entries", where, n_entries > 0, f"cluster {number} has no entries")
            told.equal("cluster-flags", where, f"the flags of cluster {number}", flags, 0)
            sizes.append(n_entries)
            next_entry += n_entries
            cursor.at = item_end
        cursor.at = end
        end, n_listed = cursor.list()
        told.equal("cluster-count", where, "clusters with pages", n_listed, n_clusters)
        for number in range(n_listed):
            cluster_end, n_columns = cursor.list()
            # Of clusters before a column was added there may be fewer.
            n_first = self.schema.n_in_header
            told.true("cluster-columns", where, n_first <= n_columns <= len(self.schema.columns),
                      f"cluster {number} has {n_columns} of {len(self.schema.columns)} columns")  # fmt: skip
            self._cluster(cursor, n_columns, sizes[number], f"{group}, cluster {number}")
            told.equal("frame-length", where, f"the end of cluster {number}", cursor.at, cluster_end)
            cursor.at = cluster_end
        return next_entry

    def _cluster(self, cursor: LittleEndian, n_columns: int, n_entries: int, where: str) -> None:
        told = self.findings
        n_elements: list[int | None] = []
        last_ends: list[int | None] = []
        for number in range(n_columns):
            column = self.schema.columns[number]
            at = f"{self.where}, {where}, column {number}"
            end, n_pages = cursor.list()
            elements, last_end, pages = 0, 0, []
            for _ in range(n_pages):
                n_items = cursor.one("i")
                size, offset = cursor.locator()
                pages.append((abs(n_items), n_items < 0, size, offset))
            first = cursor.one("q")
            if first < 0:
                n_elements.append(None)
                last_ends.append(None)
                column.is_skipped = True
                told.equal("column-pages", at, "pages of a column that is suppressed", n_pages, 0)
                cursor.at = end
                continue
            settings = cursor.one("I")
            told.true("column-compression", at, settings < 600, f"its compression is {settings}")
            for place, page in enumerate(pages):
                last_end = self._page(column, page, f"{where}, column {number}, page {place}", last_end)
                elements += page[0]
            expected = max(column.n_elements, column.first_element)
            if column.is_skipped:
                # Another representation had the elements between.
                told.true(
                    "column-first", at, first >= expected, f"its first element is {first}, after {expected}"
                )
            else:
                told.equal("column-first", at, "its first element", first, expected)
            column.n_elements = first + elements
            told.equal("frame-length", at, "the end of its pages", cursor.at, end)
            cursor.at = end
            n_elements.append(elements)
            last_ends.append(last_end if column.type in INDEX else None)
        self._counts(n_entries, n_elements, last_ends, where)

    def _page(self, column: Column, page: tuple[int, bool, int, int], where: str, last_end: int) -> int:
        """Check a page: its elements, whether it has a checksum, its bytes, and their offset. Returns its last end."""
        n_items, has_checksum, size, offset = page
        told, at = self.findings, f"{self.where}, {where}"
        n_bytes = (n_items * column.bits + 7) // 8
        told.true("page-items", at, n_items > 0, "it has no elements")
        raw = self._stored(where, "page-place", offset, size + 8 * has_checksum)
        stored = raw[:size]
        if has_checksum:
            told.equal(
                "page-checksum",
                at,
                "its checksum",
                raw[size:][::-1].hex(),
                xxhash.xxh3_64(stored).digest().hex(),
            )
        try:
            values = unpacked(stored, n_bytes, at)
        except DamagedError as error:
            told.add("page-bytes", at, error)
            return last_end
        if column.type in INDEX:
            width, is_split = INDEX[column.type]
            ends = _ends(values, width, is_split=is_split)
            grows = all(a <= b for a, b in zip([last_end, *ends], ends, strict=False))
            told.true("page-ends", at, grows, "ends of its collections that do not grow")
            return ends[-1] if ends else last_end
        return last_end

    def _counts(
        self, n_entries: int, n_elements: list[int | None], last_ends: list[int | None], where: str
    ) -> None:
        """Columns have as many elements as entries, or as the items that the collection above them counts."""
        schema = self.schema
        of_field: dict[int, list[int]] = {}
        for number, column in enumerate(schema.columns):
            of_field.setdefault(column.field, []).append(number)
        items: list[int | None] = []
        for number, one in enumerate(schema.fields):
            is_top = one.parent == number
            base = n_entries if is_top else items[one.parent]
            if one.flags & 1 and base is not None:
                base *= one.n_items
            inside = base
            if one.flags & 2:  # projected: it has no columns of its own
                items.append(None)
                continue
            columns = of_field.get(number, [])
            for place in [place for place in columns if place < len(n_elements)]:
                if (
                    n_elements[place] is not None
                    and base is not None
                    and schema.columns[place].first_element == 0
                ):
                    is_second = (
                        schema.columns[place].type in (0x01, 0x02, 0x03)
                        and len(columns) > 1
                        and place > columns[0]
                    )
                    wanted = (
                        last_ends[columns[0]] if is_second and last_ends[columns[0]] is not None else base
                    )
                    self.findings.equal("column-elements", f"{self.where}, {where}, field {one.name}",
                                        f"elements of column {place}", n_elements[place], wanted)  # fmt: skip
            ends = [
                last_ends[place]
                for place in columns
                if place < len(last_ends) and last_ends[place] is not None
            ]
            if one.role == 1:
                inside = ends[0] if ends else 0
            elif one.role in (3, 4):
                inside = None
            items.append(inside)

    def _overlaps(self) -> None:
        before = (0, 0)
        for span in sorted(self.taken):
            if span[0] < before[1] and span != before:
                self.findings.add(
                    "page-overlap", f"{self.where}, {self.taken[span]}", f"it overlaps what is at {before}"
                )
            before = max(before, span, key=lambda one: one[1])


def _ends(values: bytes, width: int, *, is_split: bool) -> list[int]:
    n_items = len(values) // width
    if not is_split:
        return list(struct.unpack(f"<{n_items}{'I' if width == 4 else 'Q'}", values))
    joined = bytearray(len(values))
    for byte in range(width):
        joined[byte::width] = values[byte * n_items : (byte + 1) * n_items]
    deltas = struct.unpack(f"<{n_items}{'I' if width == 4 else 'Q'}", bytes(joined))
    found, total = [], 0
    for delta in deltas:
        total = (total + delta) & ((1 << (8 * width)) - 1)
        found.append(total)
    return found


def check_ntuple(container: Container, findings: Findings, key: Key, where: str) -> None:
    """Check one RNTuple."""
    Ntuple(container, findings, key, where).check()
