"""ROOT's collections: lists and maps of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._objects.record import Record, value_text
from arrowroot._objects.simple import Text, WithName, text_of
from arrowroot._sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

_REPR_ITEMS = 30
_REPR_WIDTH = 96


class ObjectList(WithName):
    """A ``TList``, ``TObjArray``, ``TClonesArray`` or another list of objects.

    ``items[0]`` and ``items["name"]`` are objects in it, the second the first one of that name; iterating gives all
    of them. Its members as an object are in ``members``; those that a class derived from ROOT's adds are found by
    name, too, where no object has it.
    """

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
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.objects)

    def __len__(self) -> int:
        return len(self.objects)

    def __contains__(self, item: object) -> bool:
        return any(found is item or name_of(found) == item for found in self.objects)

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
    """A ``TMap``: pairs of objects. ``pairs[key]`` finds a value by the text or the name of its key."""

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        """Keys and values."""
        return [(pair["key"], pair["value"]) for pair in self._as_root.get("fPairs", [])]

    def __getitem__(self, key: object) -> Any:
        for found, value in self.pairs:
            if found is key or name_of(found) == key:
                return value
        return super().__getitem__(key)  # type: ignore[index] # says what is missing

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __contains__(self, key: object) -> bool:
        return any(found is key or name_of(found) == key for found, _ in self.pairs)

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
    name = item._root_member("fName") if isinstance(item, Record) else None  # noqa: SLF001 - a neighbour
    return None if name is None else text_of(name)
