"""Small objects: names, texts, parameters."""

from __future__ import annotations

from typing import Any

from arrowroot._objects.record import Record, value_text

_SUMMARY_WIDTH = 60


def text_of(value: Any) -> str:
    """Return text; bytes that are no UTF-8 are replaced."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


class WithName(Record):
    """An object with a name."""

    @property
    def name(self) -> str:
        """Its name; "" for an object that has none."""
        return text_of(self._root_member("fName"))


class Named(WithName):
    """An object with a name and a title: a ``TNamed``, or of a class that derives from it.

    >>> objects["named"].name, objects["named"].title
    ('named', 'a title')
    """

    @property
    def title(self) -> str:
        """Its title."""
        return text_of(self._root_member("fTitle"))

    def summary(self) -> str:
        """Return what it is, on one line."""
        own = [name for name in self.members if name not in ("fUniqueID", "fBits", "fName", "fTitle")]
        return super().summary() if own else value_text(self.title, _SUMMARY_WIDTH)


class Text(Record):
    """A ``TObjString``; ``str()`` of it is the text.

    >>> objects["text"].value, str(objects["text"])
    ('a text', 'a text')
    """

    @property
    def value(self) -> str:
        """The text."""
        return text_of(self._root_member("fString"))

    def __str__(self) -> str:
        return self.value

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, Text) else other)

    def __hash__(self) -> int:
        return hash(self.value)

    def summary(self) -> str:
        """Return the text, on one line."""
        return value_text(self.value, _SUMMARY_WIDTH)


class Parameter(WithName):
    """A ``TParameter<T>``: a named number.

    >>> objects["parameter"].value
    13.6
    """

    @property
    def value(self) -> bool | int | float:
        """The number."""
        return self.number_of("fVal")

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def summary(self) -> str:
        """Return the number."""
        return str(self.value)
