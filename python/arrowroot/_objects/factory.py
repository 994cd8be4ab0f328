"""The Python classes of objects."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from arrowroot._errors import ArrowrootError
from arrowroot._objects.collections import ObjectList, ObjectMap, name_of
from arrowroot._objects.entry_list import EntryList
from arrowroot._objects.graph import Graph
from arrowroot._objects.histogram import Histogram
from arrowroot._objects.matrix import Matrix
from arrowroot._objects.poly import PolyHistogram, PolyProfile
from arrowroot._objects.profile import Profile
from arrowroot._objects.record import Record, Unreadable
from arrowroot._objects.simple import Named, Parameter, Text

if TYPE_CHECKING:
    from collections.abc import Callable

    from arrowroot import _native
    from arrowroot._objects.record import TreeInside

#: Python classes by C++ class, an object's own or a base. Record: the class has other contents than its bases.
_KINDS: dict[str, type[Record]] = {
    "TProfile": Profile,
    "TProfile2D": Profile,
    "TProfile3D": Profile,
    "TProfile2Poly": PolyProfile,
    "TH2Poly": PolyHistogram,
    "TH1K": Record,
    "TH1": Histogram,
    "TGraph": Graph,
    "TGraph2D": Graph,
    "TEventList": EntryList,
    "TEntryList": EntryList,
    "TObjString": Text,
    "TList": ObjectList,
    "THashList": ObjectList,
    "TSortedList": ObjectList,
    "TObjArray": ObjectList,
    "TOrdCollection": ObjectList,
    "THashTable": ObjectList,
    "TClonesArray": ObjectList,
    "TMap": ObjectMap,
    "TRefArray": Record,
    "TSeqCollection": ObjectList,
    "TCollection": ObjectList,
    "TNamed": Named,
}


#: The same by template.
_TEMPLATES: dict[str, type[Record]] = {
    "TParameter": Parameter,
    "TVectorT": Matrix,
    "TMatrixT": Matrix,
    "TMatrixTSym": Matrix,
}


@lru_cache(maxsize=1 << 10)
def kind_of(class_name: str, bases: tuple[str, ...]) -> type[Record]:
    """Return the Python class for objects of a class.

    bases: near ones first. A name and a title say least: any other base counts before ``TNamed``.
    """
    kinds = [kind for kind in map(_kind_of_one, (class_name, *bases)) if kind is not None]
    return next((kind for kind in kinds if kind is not Named), kinds[0] if kinds else Record)


def _kind_of_one(class_name: str) -> type[Record] | None:
    template, has_arguments, _ = class_name.partition("<")
    return _TEMPLATES.get(template) if has_arguments else _KINDS.get(class_name)


class Factory:
    """Makes the objects of one graph; the engine calls it."""

    def __init__(self, tree: Callable[[_native.Table], TreeInside]) -> None:
        """``tree``: makes a tree that is among them."""
        self.tree = tree

    def record(self, class_name: str, bases: tuple[str, ...]) -> Record:
        """Return an empty record."""
        return kind_of(class_name, bases)(class_name, bases)

    def put_off(self, class_name: str, bases: tuple[str, ...], unread: _native.Unread) -> Record:
        """Return a record that reads its members when they are asked for."""
        kind = kind_of(class_name, bases)
        return kind._put_off(class_name, bases, unread, self)  # noqa: SLF001 - nobody else does

    def fill(self, record: Record, members: dict[str, Any], own: tuple[str, ...] = ()) -> None:
        """Give a record its members; ``own`` are those that it adds to those of a class of ROOT."""
        record._fill(members, own)  # noqa: SLF001 - nobody else does

    def unreadable(self, class_name: str, error: ArrowrootError, data: bytes) -> Record:
        """Return the substitute for an object that cannot be read."""
        return Unreadable(class_name, error, data)


def read_object(native: _native.File, path: str, tree: Callable[[_native.Table], TreeInside]) -> Any:
    """Return the object at ``path``: a record, or text or a list where the key holds that.

    The key itself if it is of a directory or a tree, and None if there is none.

    tree: makes a tree that is inside of it.
    """
    return native.object(path, Factory(tree))


def names_in(native: _native.File, path: str, tree: Callable[[_native.Table], TreeInside]) -> list[str]:
    """Return the names of the objects in the collection at ``path``; none if it is no collection or cannot be read."""
    try:
        found = read_object(native, path, tree)
    except ArrowrootError:
        return []
    items = found if isinstance(found, ObjectList | ObjectMap) else ()
    return [name for item in items if (name := name_of(item)) is not None]
