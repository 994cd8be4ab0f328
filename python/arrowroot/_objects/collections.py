"""ROOT's collections: lists and maps of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex

from arrowroot._errors import InvalidRequestError, NotFoundError, OutOfRangeError, WrongTypeError
from arrowroot._objects.record import NOT_THERE, Record, TreeInside, value_text
from arrowroot._objects.simple import Text, WithName, text_of
from arrowroot._render import shown
from arrowroot._sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

_REPR_ITEMS = 30
_REPR_WIDTH = 96


class ObjectList(WithName):
    """A ``TList``, ``TObjArray``, ``TClonesArray`` or another list of objects.

    It is a sequence of them. ``found[0]`` and ``found["name"]`` are objects in it, the second the first one of that
    name; ``get`` and ``in`` mean the same. It is no mapping: ``keys``, ``values`` and ``items`` are not there. Its
    members as an object are in ``members``.

        >>> found = objects["list"]
        >>> len(found), found["first"].title, found.options
        (2, '1', ['draw', ''])
    """

    keys = values = items = NOT_THERE

    @property
    def objects(self) -> list[Any]:
        """The objects in it, in order; None in an empty place."""
        if "fItems" in self._as_root:
            return [item["object"] for item in self._as_root["fItems"]]
        found = self._as_root.get("fObjects", self._as_root.get("fArray"))
        return list(found) if isinstance(found, list) else []

    @property
    def options(self) -> list[str]:
        """The options with which the objects of a ``TList`` were added, such as how to draw them."""
        return [text_of(item["option"]) for item in self._as_root.get("fItems", [])]

    def __getitem__(self, key: int | slice | str) -> Any:
        if isinstance(key, slice):
            return self.objects[key]
        if not isinstance(key, str):
            return self._at(key)
        for item in self.objects:
            if name_of(item) == key:
                return item
        hint = "; its member of that name is in .members" if key in self._members else ""
        raise NotFoundError(self._missing(key, "object", self._names()) + hint)

    def _at(self, index: SupportsIndex) -> Any:
        try:
            return self.objects[index]
        except IndexError:
            raise OutOfRangeError(
                f"{self.class_name} has no object {index}: it has {counted(len(self), 'object')}, counted from 0"
            ) from None
        except TypeError:
            raise WrongTypeError(
                f"{self.class_name} gives objects by number, slice or name, not by {shown(index)}"
            ) from None

    def get(self, name: int | str, default: Any = None) -> Any:
        """Return what ``[name]`` does, or ``default`` if there is nothing of that name or at that index."""
        try:
            return self[name]
        except (LookupError, TypeError):  # as of a name that is none
            return default

    def __iter__(self) -> Iterator[Any]:
        return iter(self.objects)

    def __len__(self) -> int:
        return len(self.objects)

    def __reversed__(self) -> Iterator[Any]:
        return iter(self.objects[::-1])

    def __contains__(self, item: object) -> bool:
        return any(_is_meant(found, item) for found in self.objects)

    def index(self, item: Any) -> int:
        """Return the index of the first one that is ``item``, or has that name. Raises: InvalidRequestError.

        >>> objects["list"].index("second"), objects["list"].count("second")
        (1, 1)
        """
        for index, found in enumerate(self.objects):
            if _is_meant(found, item):
                return index
        raise InvalidRequestError(f"{self.class_name} has no {shown(item)}")

    def count(self, item: Any) -> int:
        """Return how many of them are ``item``, or have that name."""
        return sum(_is_meant(found, item) for found in self.objects)

    def _names(self) -> list[str]:
        return [name for item in self.objects if (name := name_of(item)) is not None]

    def _ipython_key_completions_(self) -> list[str]:
        return self._names()

    def summary(self) -> str:
        """Return how many objects there are."""
        return counted(len(self), "object")

    def __repr__(self) -> str:
        lines = [
            f"{i:>3}  {value_text(item, _REPR_WIDTH)}" for i, item in enumerate(self.objects[:_REPR_ITEMS])
        ]
        left = len(self) - len(lines)
        return self._repr_with_own(*lines, *([f"... {left} more"] if left else []))


class ObjectMap(Record):
    """A ``TMap``: a mapping of objects by objects. ``found[key]`` takes a key, or the text or the name of one.

    Its members as an object are in ``members``.

        >>> found = objects["map"]
        >>> {key.value: value.value for key, value in found.pairs}
        {'energy': '13.6 TeV'}
    """

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        """Keys and values, in the order of the file; a key may come twice."""
        return [(pair["key"], pair["value"]) for pair in self._as_root.get("fPairs", [])]

    def _mapping(self) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in self.pairs:
            found.setdefault(key, value)  # as TMap finds it
        return found

    def _key(self, given: object) -> Any:
        """Return the key that is meant, or what was given if there is none."""
        found = self._mapping()
        if given in found or given is None:
            return given
        return next((key for key in found if name_of(key) == given), given)

    def __getitem__(self, name: Any) -> Any:
        return super().__getitem__(self._key(name))

    def __contains__(self, name: object) -> bool:
        return super().__contains__(self._key(name))

    def _no_key(self, name: object) -> NotFoundError:
        return NotFoundError(self._missing(name, "key", self._ipython_key_completions_()))

    def _ipython_key_completions_(self) -> list[str]:
        return [name for key in self if (name := name_of(key)) is not None]

    def summary(self) -> str:
        """Return how many pairs there are."""
        return counted(len(self), "pair")

    def __repr__(self) -> str:
        half = _REPR_WIDTH // 2
        lines = [
            f"  {value_text(key, half)} -> {value_text(value, half)}"
            for key, value in self.pairs[:_REPR_ITEMS]
        ]
        left = len(self) - len(lines)
        return self._repr_with_own(*lines, *([f"... {left} more"] if left else []))


def _is_meant(found: Any, item: object) -> bool:
    """Return whether an object is ``item``, or has it for a name."""
    return found is item or (item is not None and name_of(found) == item)


def name_of(item: Any) -> str | None:
    """Return the text or the name by which an object in a collection is found."""
    if isinstance(item, Text):
        return item.value
    if not isinstance(item, Record) and isinstance(item, TreeInside):
        return item.name
    name = item._root_member("fName") if isinstance(item, Record) else None  # noqa: SLF001 - a neighbour
    return None if name is None else text_of(name)
