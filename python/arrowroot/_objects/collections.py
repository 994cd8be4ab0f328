"""ROOT's collections: lists and maps of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._objects.record import NOT_THERE, Record, Table, value_text
from arrowroot._objects.simple import Text, WithName, text_of
from arrowroot._sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

_REPR_ITEMS = 30
_REPR_WIDTH = 96


class ObjectList(WithName):
    """A ``TList``, ``TObjArray``, ``TClonesArray`` or another list of objects.

    ``found[0]`` and ``found["name"]`` are objects in it, the second the first one of that name; iterating gives all
    of them. Its members as an object are in ``members``, and are found by name, too, where no object has it.

    It is a sequence and no mapping: ``keys``, ``values`` and ``items`` are not there.
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
        if isinstance(key, int | slice):
            return self.objects[key]
        for item in self.objects:
            if name_of(item) == key:
                return item
        if key in self._members:
            return self._members[key]
        raise KeyError(self._missing(key, "object", self._names()))

    def get(self, name: int | str, default: Any = None) -> Any:
        """Return what ``[name]`` does, or ``default`` if there is nothing of that name or at that place."""
        try:
            return self[name]
        except LookupError:
            return default

    def __iter__(self) -> Iterator[Any]:
        return iter(self.objects)

    def __len__(self) -> int:
        return len(self.objects)

    def __contains__(self, item: object) -> bool:
        if isinstance(item, str) and item in self._members:
            return True
        return any(found is item or name_of(found) == item for found in self.objects)

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

    def _no_key(self, name: object) -> KeyError:
        return KeyError(self._missing(name, "key", self._ipython_key_completions_()))

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


def name_of(item: Any) -> str | None:
    """Return the text or the name by which an object in a collection is found."""
    if isinstance(item, Text):
        return item.value
    if not isinstance(item, Record) and isinstance(item, Table):
        return item.name
    name = item._root_member("fName") if isinstance(item, Record) else None  # noqa: SLF001 - a neighbour
    return None if name is None else text_of(name)
