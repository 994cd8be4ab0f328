"""Objects as the file's own streamer information describes them.

Nothing here knows a class but those that ROOT streams by hand. So what is described wrongly, or not at all, is found:
the byte count of an object fits what its description says, or it does not.

Sources: root-io-spec, 02-serialization (Buffer, StreamerInfo, ElementTypes), 06-writing (WritingObjects, ElementLists).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .reading import BYTE_COUNT_BIT, CLASS_BIT, NEW_CLASS, Cursor, DamagedError, Findings

if TYPE_CHECKING:
    from .container import Container

#: struct's codes of the basic types of elements.
CODES = {
    1: "b", 2: "h", 3: "i", 4: "q", 5: "f", 6: "i", 8: "d", 9: "f", 11: "B", 12: "H", 13: "I", 14: "Q", 15: "I",
    16: "q", 17: "Q", 18: "?", 19: "f",
}  # fmt: skip
#: Without a range it takes three bytes: exponent, sign and mantissa.
FLOAT16 = 19
PRIMITIVES = {
    "char", "short", "int", "long", "float", "double", "unsigned char", "unsigned short", "unsigned int",
    "unsigned long",     "Long64_t", "ULong64_t", "bool", "Double32_t", "Float16_t", "long long", "unsigned long long",
}  # fmt: skip
#: Classes that are streamed by hand, all of their bytes known here.
BY_HAND = {
    "TString",
    "TObject",
    "TList",
    "THashList",
    "TObjArray",
    "TArray",
    "TCollection",
    "TSeqCollection",
    "TTreeIndex",
    "TMap",
}
ARRAYS = {
    "TArrayC": "b", "TArrayS": "h", "TArrayI": "i", "TArrayL": "q", "TArrayL64": "q", "TArrayF": "f", "TArrayD": "d",
}  # fmt: skip
#: Their members are not in their descriptions, so no checksum follows from those (ElementLists, section 12).
CHECKSUMS = {"THashList": 0xCC7E49C1, "TSeqCollection": 0xFC6C3BC6}
IS_REFERENCED = 0x10


@dataclass
class Element:
    """A base or a member of a class."""

    class_name: str
    name: str
    title: str
    type: int
    n_items: int
    dimensions: tuple[int, ...]
    max_index: tuple[int, ...]
    type_name: str
    count_name: str = ""

    @property
    def is_base(self) -> bool:
        return self.class_name == "TStreamerBase"


@dataclass
class Info:
    """The description of a version of a class."""

    name: str
    checksum: int
    version: int
    elements: list[Element]


@dataclass
class Instance:
    """An object: its members, those of its bases among them."""

    class_name: str
    members: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        if name not in self.members:
            raise DamagedError(f"class-version: this {self.class_name} has no {name}")
        return self.members[name]


class Objects:
    """Reads the objects of a file."""

    def __init__(self, container: Container, findings: Findings) -> None:
        self.findings = findings
        self.infos: dict[str, list[Info]] = {}
        #: Where the members of objects were read: their class and name, and the place in the payload.
        self.places: list[tuple[str, str, int]] = []
        key = container.records.get(container.header.seek_info)
        if key is not None:
            # Described nowhere: streamer information itself.
            for entry in Reader(self, container.payload(key), key.key_bytes).bootstrap():
                self.infos.setdefault(entry.name, []).append(entry)
        self._check()

    def read(self, payload: bytes, key_bytes: int, class_name: str) -> Instance:
        """The object that a key holds; all of its bytes are used. Raises DamagedError."""
        reader = Reader(self, payload, key_bytes)
        found = reader.instance(class_name)
        if reader.cursor.at != len(payload):
            raise DamagedError(f"{class_name} ends at {reader.cursor.at} of {len(payload)} bytes")
        return found

    def info(self, name: str, version: int, checksum: int | None = None) -> Info:
        """The description of a class. Raises DamagedError if the file has none."""
        described = self.infos.get(name, [])
        for info in described:
            if info.checksum == checksum or (checksum is None and info.version == version):
                return info
        raise DamagedError(f"info-missing: no streamer information of {name}, version {version}, in the file")

    def _check(self) -> None:
        told = self.findings
        for name, infos in self.infos.items():
            where = f"streamer information of {name}"
            for info in infos:
                told.equal(
                    "info-checksum",
                    where,
                    "fCheckSum",
                    f"{info.checksum:#010x}",
                    f"{checksum_of(info):#010x}",
                )
                self._check_elements(info, where)
            seen = [(info.version, info.checksum) for info in infos]
            told.equal("info-once", where, "its versions", len(set(seen)), len(seen))

    def _member_names(self, info: Info) -> set[str]:
        """Of a class and of its bases, as far as they are described; of arrays the one that counts them."""
        found = {"fN"} if info.name in ARRAYS else set()
        for element in info.elements:
            found.add(element.name)
            for base in self.infos.get(element.name, []) if element.is_base else []:
                found |= self._member_names(base)
        return found

    def _check_elements(self, info: Info, where: str) -> None:
        told = self.findings
        names = self._member_names(info)
        for element in info.elements:
            at = f"{where}, {element.name}"
            if element.is_base:
                told.equal("info-base", at, "fTypeName", element.type_name, "BASE")
                told.equal(
                    "info-base", at, "fType", element.type, {"TObject": 66, "TNamed": 67}.get(element.name, 0)
                )
                bases = self.infos.get(element.name, [])
                # Of a text alone ROOT does not describe TObject.
                is_known = element.name in ARRAYS or element.name in BY_HAND
                told.true("info-closure", at, bool(bases) or is_known, "the base is not described")
                known = {base.checksum for base in bases} | {CHECKSUMS.get(element.name)}
                told.true("info-base", at, not bases or element.max_index[1] in known,
                          f"the checksum of the base is {element.max_index[1]:#010x}")  # fmt: skip
            elif element.type in (61, 62, 81, 82):
                # ROOT has no description of a TObjArray in an object, nor of a pair in a class of a field. Those of
                # objects of a tree are looked up as these are read.
                is_known = element.type_name in ARRAYS or element.type_name.startswith(("TObjArray", "pair<"))
                told.true("info-closure", at, element.type_name in self.infos or is_known,
                          f"{element.type_name} is not described")  # fmt: skip
            elif 40 < element.type < 60:
                told.true(
                    "info-counter", at, element.count_name in names, f"its counter is {element.count_name!r}"
                )
            if element.class_name in ("TStreamerSTL", "TStreamerSTLstring"):
                told.equal("info-stl", at, "fType", element.type, 500)


def checksum_of(info: Info) -> int:
    """The checksum that ROOT's current algorithm gives for a description (TStreamerInfo::GetCheckSum, 6.40)."""
    if info.name in CHECKSUMS:
        return CHECKSUMS[info.name]
    found = 0

    def text(value: str) -> None:
        nonlocal found
        for byte in value.encode():
            found = (found * 3 + byte) & 0xFFFFFFFF

    def number(value: int) -> None:
        nonlocal found
        found = (found * 3 + value) & 0xFFFFFFFF

    text(info.name)
    for element in info.elements if not info.name.startswith("pair<") else []:
        if element.is_base:
            text(element.name)
            number(element.max_index[1])
    for element in info.elements:
        if element.is_base:
            continue
        if element.type == 3 and element.type_name not in PRIMITIVES:
            number(1)
        text(element.name)
        text(element.type_name)
        for extent in element.dimensions:
            number(extent)
        comment = element.title.lstrip("/ \t")
        if comment.startswith("[") and "]" in comment:
            text(comment[1 : comment.index("]")])
    return found


class Reader:
    """Reads one payload. References count from the beginning of its key."""

    def __init__(self, objects: Objects, payload: bytes, key_bytes: int) -> None:
        self.objects = objects
        self.cursor = Cursor(payload)
        self.offset = key_bytes
        self.classes: dict[int, str] = {}
        self.seen: dict[int, Any] = {}

    # -- frames

    def head(self) -> tuple[int, int | None]:
        """A version, and where what it is of ends; None if no byte count is there."""
        begin = self.cursor.at
        count = self.cursor.integer("I")
        if not count & BYTE_COUNT_BIT:
            self.cursor.at = begin
            return self.cursor.integer("h"), None
        end = begin + 4 + (count & ~BYTE_COUNT_BIT)
        if end > self.cursor.end:
            raise DamagedError(f"byte-count: an object at {begin} ends at {end} of {self.cursor.end}")
        return self.cursor.integer("h"), end

    def close(self, what: str, end: int | None) -> None:
        if end is not None and self.cursor.at != end:
            raise DamagedError(f"byte-count: {what} ends at {self.cursor.at}, but its byte count says {end}")

    def slot(self) -> Any:
        """The target of a pointer: an Instance, or None."""
        begin = self.cursor.at
        tag = self.cursor.integer("I")
        end = None
        if tag & BYTE_COUNT_BIT and tag != NEW_CLASS and not tag & CLASS_BIT:
            end = self.cursor.at + (tag & ~BYTE_COUNT_BIT)
            tag = self.cursor.integer("I")
        if tag == NEW_CLASS:
            at = self.cursor.at - 4
            raw = bytearray()
            while (byte := self.cursor.take(1)) != b"\0":
                raw += byte
            name = raw.decode()
            if name in self.classes.values():
                self.objects.findings.add("class-once", name, "its name stands in full twice in one record")
            self.classes[at + self.offset + 2] = name
        elif tag & CLASS_BIT:
            place = tag & ~CLASS_BIT
            if place not in self.classes:
                raise DamagedError(f"class-reference: no class is at {place} (tag at {begin})")
            name = self.classes[place]
        else:
            if tag == 0:
                return None
            if tag not in self.seen:
                raise DamagedError(f"object-reference: no object is at {tag} (tag at {begin})")
            return self.seen[tag]
        found = Instance(name)
        self.seen[begin + self.offset + 2] = found
        if name == "TBasket":  # inside a tree's record: it has no description
            self.cursor.at = self.cursor.end if end is None else end
        else:
            self.instance(name, found)
        self.close(name, end)
        return found

    # -- classes

    def instance(self, name: str, into: Instance | None = None) -> Instance:
        into = into or Instance(name)
        if name in BY_HAND or name in ARRAYS or name == "TObjString":
            self.by_hand(name, into)
            return into
        begin = self.cursor.at
        version, end = self.head()
        checksum = self.cursor.integer("I") if version <= 0 and end is not None else None
        try:
            info = self.objects.info(name, version, checksum)
            for element in info.elements:
                self.element(element, into)
        except DamagedError as error:
            raise DamagedError(f"{error}, in {name} at {begin}") from error
        self.close(name, end)
        return into

    def by_hand(self, name: str, into: Instance) -> None:
        cursor, members = self.cursor, into.members
        if name == "TString":
            members["text"] = cursor.string()
        elif name == "TObject":
            version = cursor.integer("h")
            if version != 1:
                raise DamagedError(f"object-version: a TObject of version {version}")
            members["fUniqueID"], members["fBits"] = cursor.integer("I"), cursor.integer("I")
            if members["fBits"] & IS_REFERENCED:
                cursor.take(2)
        elif name in ARRAYS:
            members["values"] = cursor.many(ARRAYS[name], cursor.integer("i"))
        elif name == "TObjString":
            _, end = self.head()
            self.by_hand("TObject", into)
            members["text"] = cursor.string()
            self.close(name, end)
        elif name in ("TList", "THashList", "TObjArray"):
            version, end = self.head()
            self.objects.findings.equal(
                "collection-version", name, "the version", version, 3 if name == "TObjArray" else 5
            )
            self.by_hand("TObject", into)
            members["fName"] = cursor.string()
            n_items = cursor.integer("i")
            if name == "TObjArray":
                cursor.integer("i")
            members["items"] = []
            for _ in range(n_items):
                members["items"].append(self.slot())
                if name != "TObjArray":
                    cursor.string()  # the option
            self.close(name, end)
        elif name == "TMap":
            version, end = self.head()
            self.objects.findings.equal("collection-version", name, "the version", version, 3)
            self.by_hand("TObject", into)
            members["fName"] = cursor.string()
            members["items"] = [(self.slot(), self.slot()) for _ in range(cursor.integer("i"))]
            self.close(name, end)
        elif name == "TTreeIndex":
            version, end = self.head()
            self.objects.findings.equal("index-version", name, "the version", version, 2)
            self.instance("TVirtualIndex", into)
            members["names"] = cursor.string(), cursor.string()
            n_entries = cursor.integer("q")
            major, minor, entries = (cursor.many("q", n_entries) for _ in range(3))
            told = self.objects.findings
            values = list(zip(major, minor, strict=True))
            told.true("index-sorted", name, sorted(values) == values, "its values are not sorted")
            told.true(
                "index-entries", name, sorted(entries) == list(range(n_entries)), "it has not each entry once"
            )
            self.close(name, end)
        else:
            raise DamagedError(f"objects of {name} are not read here")

    def element(self, element: Element, into: Instance) -> None:
        cursor, kind, members = self.cursor, element.type, into.members
        self.objects.places.append((into.class_name, element.name, cursor.at))
        if element.is_base:
            self.instance(element.name, into)
        elif element.class_name in ("TStreamerSTL", "TStreamerSTLstring"):
            _, end = self.head()
            if end is None:
                raise DamagedError(f"byte-count: {element.name} has none")
            members[element.name] = cursor.take(end - cursor.at)
        elif kind == FLOAT16 and "[" not in element.title:
            members[element.name] = cursor.take(3)
        elif kind in CODES:
            members[element.name] = cursor.one(CODES[kind])
        elif kind - 20 in CODES:
            members[element.name] = cursor.many(CODES[kind - 20], element.n_items)
        elif kind - 40 in CODES:
            is_there = cursor.integer("B")
            n_items = int(members[element.count_name])
            self.objects.findings.equal(
                "counted-pointer", element.name, "its flag", is_there, int(n_items > 0 and is_there != 0)
            )
            members[element.name] = cursor.many(CODES[kind - 40], n_items) if is_there else []
            members[f"{element.name}.flag"] = is_there
        elif kind == 65:
            members[element.name] = cursor.string()
        elif kind in (61, 62, 66, 67):
            members[element.name] = self.instance(element.type_name)
        elif kind in (63, 68):  # never null: the object is in the pointer's place
            members[element.name] = self.instance(element.type_name.rstrip("*"))
        elif kind in (64, 69):
            members[element.name] = self.slot()
        elif kind in (81, 82):
            members[element.name] = [self.instance(element.type_name) for _ in range(element.n_items)]
        else:
            raise DamagedError(f"elements of type {kind} are not read here ({element.name})")

    # -- streamer information, which describes all else and is described nowhere

    def bootstrap(self) -> list[Info]:
        """The list of the streamer information."""
        _, end = self.head()
        self.by_hand("TObject", Instance("TObject"))
        self.cursor.string()
        found = []
        for _ in range(self.cursor.integer("i")):
            info = self._framed(self._info)
            if isinstance(info, Info):
                found.append(info)
            self.cursor.string()
        self.close("the list of streamer information", end)
        return found

    def _framed(self, read: Any) -> Any:
        """A pointer slot whose object is read by ``read(class)``; of an unknown class it is passed over."""
        begin = self.cursor.at
        count, tag = self.cursor.integer("I"), self.cursor.integer("I")
        if not count & BYTE_COUNT_BIT:
            raise DamagedError(f"byte-count: an object at {begin} has none")
        end = begin + 4 + (count & ~BYTE_COUNT_BIT)
        if tag == NEW_CLASS:
            at, raw = self.cursor.at - 4, bytearray()
            while (byte := self.cursor.take(1)) != b"\0":
                raw += byte
            name = self.classes[at + self.offset + 2] = raw.decode()
        else:
            place = tag & ~CLASS_BIT
            if not tag & CLASS_BIT or place not in self.classes:
                raise DamagedError(f"class-reference: no class is at {place} (tag at {begin + 4})")
            name = self.classes[place]
        found = read(name)
        self.close(name, end)
        return found

    def _named(self) -> tuple[str, str]:
        _, end = self.head()
        self.by_hand("TObject", Instance("TObject"))
        names = self.cursor.string(), self.cursor.string()
        self.close("TNamed", end)
        return names

    def _info(self, class_name: str) -> Info | None:
        _, end = self.head()
        if class_name == "TList":  # listOfRules
            self.by_hand("TObject", Instance("TObject"))
            self.cursor.string()
            for _ in range(self.cursor.integer("i")):
                self._framed(self.instance)
                self.cursor.string()
            self.close(class_name, end)
            return None
        if class_name != "TStreamerInfo":
            raise DamagedError(f"info-class: a {class_name} among the streamer information")
        name, _ = self._named()
        checksum, version = self.cursor.integer("I"), self.cursor.integer("i")
        elements = self._framed(self._elements)
        self.close(class_name, end)
        return Info(name, checksum, version, elements)

    def _elements(self, class_name: str) -> list[Element]:
        _, end = self.head()
        self.by_hand("TObject", Instance("TObject"))
        self.cursor.string()
        n_elements = self.cursor.integer("i")
        self.cursor.integer("i")
        found = [self._framed(self._element) for _ in range(n_elements)]
        self.close(class_name, end)
        return found

    def _element(self, class_name: str) -> Element:
        cursor = self.cursor
        _, end = self.head()
        outer = []
        if class_name == "TStreamerSTLstring":
            outer.append(self.head()[1])
        version, inner = self.head()
        name, title = self._named()
        kind, _, n_items, n_dimensions = (cursor.integer("i") for _ in range(4))
        max_index = tuple(cursor.integer("I") for _ in range(5))
        type_name = cursor.string()
        if version != 4:
            raise DamagedError(f"info-element: {name} is of version {version}")
        self.close("TStreamerElement", inner)
        found = Element(
            class_name, name, title, kind, n_items, max_index[: max(0, n_dimensions)], max_index, type_name
        )
        if class_name == "TStreamerBase":
            cursor.integer("i")
        elif class_name in ("TStreamerBasicPointer", "TStreamerLoop"):
            cursor.integer("i")
            found.count_name = cursor.string()
            cursor.string()
        elif class_name in ("TStreamerSTL", "TStreamerSTLstring"):
            cursor.take(8)
            for one in outer:
                self.close("TStreamerSTL", one)
        self.close(class_name, end)
        return found
