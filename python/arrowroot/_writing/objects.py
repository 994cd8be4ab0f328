"""Python's objects as those of ROOT's classes, by their members."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Number
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._errors import UnsupportedError
from arrowroot._objects.record import Record, Unreadable
from arrowroot._objects.simple import text_of
from arrowroot._writing.histograms import from_uhi, is_histogram, is_numpy_histogram, of_numpy
from arrowroot._writing.records import list_of, members_of_object, record_of, text

if TYPE_CHECKING:
    from collections.abc import Mapping


#: Titles of objects whose classes give them none of their own. Source: ``TObject::GetTitle`` (ROOT 6.40).
_TITLES = {
    "TObjString": "Collectable string class",
    "TList": "Doubly linked list",
    "THashList": "Doubly linked list with hashtable for lookup",
    "TObjArray": "An array of objects",
    "TMap": "A (key,value) map",
}
#: Lists and dictionaries of objects are in each other so deep at most.
_MAX_DEPTH = 100


class Described(NamedTuple):
    """An object to write."""

    class_name: str
    title: str
    members: Mapping[str, Any]
    #: What leads back to it from its members.
    itself: Record | None = None


def object_of(value: Any, name: str) -> Described:
    """Return an object that is to be called ``name`` as ROOT has it.

    Raises: UnsupportedError for what no class of ROOT is known for, or what was not readable when it was read.
    """
    if isinstance(value, str):
        return Described("TObjString", _TITLES["TObjString"], text(value).members)
    return _described(_record(value, name, 0), name)


def becomes_table(value: object) -> bool:
    """Return whether a value would be written as a table, and not as an object."""
    from arrowroot._writing.data import is_table_data

    if isinstance(value, Iterator):  # of batches: no object of ROOT is one
        return True
    if isinstance(value, list | tuple) and value and not is_numpy_histogram(value):
        return all(is_table_data(one) and not isinstance(one, dict) for one in value)
    return is_table_data(value) and not (isinstance(value, dict) and are_objects(value))


def is_object(value: object) -> bool:
    """Return whether a value is a histogram or another object of a file, or a dictionary of such."""
    if isinstance(value, dict):
        return bool(value) and all(map(_is_single, value.values()))
    return _is_single(value)


def _is_single(value: object) -> bool:
    return isinstance(value, Record) or is_histogram(value) or is_numpy_histogram(value)


def are_objects(value: Mapping[Any, Any], depth: int = 0) -> bool:
    """Return whether a dictionary holds objects by name, and not columns of values, which lists of texts are, too."""
    are_possible = all(isinstance(name, str) and _is_object(item, depth) for name, item in value.items())
    return are_possible and not all(map(_are_texts, value.values()))


def _is_object(value: object, depth: int) -> bool:
    if isinstance(value, list | dict) and depth >= _MAX_DEPTH:
        return True
    if isinstance(value, dict):
        return are_objects(value, depth + 1)
    if isinstance(value, list):
        return all(_is_object(item, depth + 1) for item in value)
    return isinstance(value, str) or _is_single(value)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _record(value: Any, name: str, depth: int) -> Record:
    """Return any object but text as a record; what is new is called ``name``."""
    where = f"{name}: " if depth else ""  # the object itself is named by who writes it
    if isinstance(value, Unreadable):
        raise UnsupportedError(f"{where}it could not be read, so it cannot be written: {value.error}")
    if isinstance(value, Record):
        return value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list | dict) and depth >= _MAX_DEPTH:
        raise UnsupportedError(f"{where}lists and dictionaries in each other, more than {_MAX_DEPTH} deep")
    if isinstance(value, list):
        if value and all(isinstance(item, Number) for item in value):
            raise UnsupportedError(
                f'{where}numbers are no objects of ROOT, but a table: write {{"x": values}}'
            )
        items = [_record(item, f"{name}_{index}", depth + 1) for index, item in enumerate(value)]
        return list_of("TList", items, name)
    if isinstance(value, dict) and are_objects(value):
        pairs = [{"key": text(key), "value": _record(item, key, depth + 1)} for key, item in value.items()]
        return record_of("TMap", members_of_object() | {"fName": name, "fPairs": pairs})
    if is_histogram(value):
        return from_uhi(value, name)
    if is_numpy_histogram(value):
        return of_numpy(value, name)
    more = '; values make a table: write {"x": values}' if hasattr(value, "__len__") else ""
    if isinstance(value, dict):
        more = "; of rows pa.Table.from_pylist(rows) makes such data"
    elif type(value).__module__.startswith("cppyy"):
        more = '; ROOT writes objects of PyROOT: ROOT.TFile.Open("new.root", "RECREATE").WriteObject(h, "h")'
    elif isinstance(value, Number):
        more = '; write {"x": [value]}, a table of one entry, or str(value), a text'
    raise UnsupportedError(
        f"{where}no class of ROOT is known for {type(value).__module__}.{type(value).__qualname__}; histograms, what "
        "arrowroot.open gives of objects, text, lists and dictionaries of these, and data with columns can be written"
        f"{more}"
    )


def _described(record: Record, name: str) -> Described:
    """Return a record under its new name."""
    members = record.members
    if "fName" in members:
        members["fName"] = name
    title = text_of(members["fTitle"]) if "fTitle" in members else _TITLES.get(record.class_name, "")
    return Described(record.class_name, title, members, record)
