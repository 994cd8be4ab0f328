"""Python's objects as those of ROOT's classes, by their members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._errors import UnsupportedError
from arrowroot._objects.factory import kind_of
from arrowroot._objects.record import Record, Unreadable
from arrowroot._objects.simple import text_of

if TYPE_CHECKING:
    from collections.abc import Mapping


#: Titles of objects whose classes give them none of their own. Source: ``TObject::GetTitle`` (ROOT 6.40).
_TITLES = {
    "TObjString": "Collectable string class",
    "TList": "Doubly linked list",
    "THashList": "Doubly linked list with hashtable for lookup",
    "TObjArray": "An array of objects",
}


class Described(NamedTuple):
    """An object to write."""

    class_name: str
    title: str
    members: Mapping[str, Any]


def object_of(value: Any, name: str) -> Described:
    """Return an object that is to be called ``name`` as ROOT has it.

    Raises: UnsupportedError for what no class of ROOT is known for, or what was not readable when it was read.
    """
    if isinstance(value, str):
        return Described("TObjString", _TITLES["TObjString"], _object() | {"fString": value})
    if isinstance(value, Unreadable):
        raise UnsupportedError(f"{name}: it could not be read, so it cannot be written: {value.error}")
    if isinstance(value, Record):
        return _described(value, name)
    from arrowroot._writing.histograms import from_uhi, is_histogram, is_numpy_histogram, of_numpy

    if is_histogram(value):
        return _described(from_uhi(value, name), name)
    if is_numpy_histogram(value):
        return _described(of_numpy(value, name), name)
    raise UnsupportedError(
        f"{name}: no class of ROOT is known for {type(value).__module__}.{type(value).__qualname__}; histograms, what "
        "arrowroot.open gives of objects, text, and data with columns can be written"
    )


def _described(record: Record, name: str) -> Described:
    """Return a record under its new name."""
    members = record.members
    if "fName" in members:
        members["fName"] = name
    title = text_of(members["fTitle"]) if "fTitle" in members else _TITLES.get(record.class_name, "")
    return Described(record.class_name, title, members)


def record_of(class_name: str, members: dict[str, Any], bases: tuple[str, ...] = ()) -> Record:
    """Return an object of one of ROOT's classes, made here; ``bases``: near ones first, as far as they matter."""
    record = kind_of(class_name, bases)(class_name, bases)
    record._fill(members, ())  # noqa: SLF001 - as the factory does
    return record


def _object(bits: int = 0) -> dict[str, Any]:
    return {"fUniqueID": 0, "fBits": bits}


def text(value: str, number: int = 0) -> Record:
    """Return a ``TObjString``; ``number``: of the bin whose label it is."""
    return record_of("TObjString", {"fUniqueID": number, "fBits": 0, "fString": value})


def list_of(class_name: str, items: list[Record]) -> Record:
    """Return a ``TList`` or ``THashList``."""
    return record_of(
        class_name,
        _object(1 << 16) | {"fName": "", "fItems": [{"option": "", "object": item} for item in items]},
    )


def named(name: str, title: str, bits: int = 0) -> dict[str, Any]:
    """Return the members of a ``TNamed``."""
    return _object(bits) | {"fName": name, "fTitle": title}
