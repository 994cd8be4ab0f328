"""Reads keys of a TOML document with their types; notes each fault with its line, and goes on."""

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

from arrowroot_lab.errors import CampaignError
from arrowroot_lab.location import whole

from .places import dotted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from .places import Key

T = TypeVar("T")

#: So many faults are told at once.
_MOST_FAULTS = 20
_TYPES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    dict: "a table",
    list: "a list",
}


class Faults:
    """The faults of one file, in the order of its lines."""

    def __init__(self, path: Path, lines: dict[Key, int]) -> None:
        self.path, self._lines = path, lines
        self._found: list[CampaignError] = []

    def add(self, key: Key, problem: str) -> None:
        """Note a fault at a key; of one that is missing, the line is that of the table that should have it."""
        line = next((self._lines[key[:n]] for n in range(len(key), 0, -1) if key[:n] in self._lines), None)
        self._found.append(CampaignError(self.path, line, dotted(key), problem))

    def __bool__(self) -> bool:
        return bool(self._found)

    def raise_them(self) -> None:
        """Raise the first fault, which tells the others, too; do nothing if there is none."""
        if self._found:
            first, *others = sorted(self._found, key=lambda fault: fault.line or 0)
            raise first.with_others(others, _MOST_FAULTS)


def near(name: str, known: Collection[str]) -> str:
    """Return which known names are near one that is not, else all of them: an end of a sentence."""
    return nearest(name, known) or (f"; known: {', '.join(sorted(known)[:20])}" if known else "")


def nearest(name: str, known: Collection[str]) -> str:
    """Return a question for the known names that are near one that is not; "" if there are none."""
    # Dashes, with which all options begin, make none of them near.
    bare = {one.lstrip("-"): one for one in known}
    close = [bare[one] for one in get_close_matches(name.lstrip("-"), list(bare), n=3, cutoff=0.6)]
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def type_text(value: Any) -> str:
    """Return what a TOML value is, for people."""
    return next(
        (text for kind, text in _TYPES.items() if type(whole(value)) is kind), f"a {type(value).__name__}"
    )


class TomlTable:
    """One table of the document. Each key is asked for once; ``end`` tells of those that nobody asked for."""

    def __init__(self, faults: Faults, key: Key, values: Any) -> None:
        self.faults, self.key = faults, key
        self._asked: set[str] = set()
        if not isinstance(values, dict):
            faults.add(key, f"expected a table, not {type_text(values)}")
            values = {}
            self._asked.add("")
        self._values: dict[str, Any] = values

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def fault(self, name: str | None, problem: str) -> None:
        """Note a fault at a key of this table, or at the table itself."""
        self.faults.add((*self.key, name) if name is not None else self.key, problem)

    def end(self) -> None:
        """Note keys that nobody has asked for."""
        for name in self._values:
            if name not in self._asked:
                self.fault(name, f"this key is not known here{near(name, self._asked)}")

    def names(self) -> list[str]:
        """All keys; they count as asked for."""
        self._asked.update(self._values)
        return list(self._values)

    def table(self, name: str) -> TomlTable:
        """A table in this one; an empty one if it is not there."""
        return TomlTable(self.faults, (*self.key, name), self._take(name, {}))

    def tables(self, name: str) -> list[TomlTable]:
        """An array of tables."""
        values = self._of_type(name, list, [])
        return [TomlTable(self.faults, (*self.key, name, n), value) for n, value in enumerate(values)]

    def raw(self, name: str) -> Any:
        """Any value, None if it is not there."""
        return self._take(name, None)

    def text(self, name: str, default: T) -> str | T:
        """A text that is not empty."""
        value: str | T = self._of_type(name, str, default)
        if isinstance(self._values.get(name), str) and isinstance(value, str) and not value.strip():
            self.fault(name, "expected a text that is not empty")
            return default
        return value

    def required(self, name: str, what: str) -> str:
        """A text that must be there."""
        if name not in self._values:
            self._asked.add(name)
            self.fault(name, f"this key is missing: {what}")
            return ""
        return self.text(name, "")

    def is_true(self, name: str, *, default: bool = False) -> bool:
        """A truth value."""
        return bool(self._of_type(name, bool, default))

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``."""
        value = self._of_type(name, int, default)
        if not low <= value <= high:
            self.fault(name, f"expected a whole number from {low} to {high}, not {value}")
            return default
        return int(value)

    def wholes(self, name: str, default: int, low: int, high: int) -> list[int]:
        """A whole number from ``low`` to ``high``, or a list of them."""
        numbers = self._values.get(name)
        if not isinstance(numbers, list):
            return [self.whole(name, default, low, high)]
        self._asked.add(name)
        if not numbers or not all(type(one) is int and low <= one <= high for one in numbers):
            self.fault(name, f"expected whole numbers from {low} to {high}, not {numbers}")
            return [default]
        return numbers

    def one_of(self, name: str, default: str, known: Collection[str]) -> str:
        """One of some words."""
        value = self._of_type(name, str, default)
        if value not in known:
            self.fault(name, f"expected one of {', '.join(map(repr, known))}, not {value!r}")
            return default
        return str(value)

    def parsed(self, name: str, default: T, parse: Callable[[str], T]) -> T:
        """A text, or the text of a number, as a function converts it; it raises ValueError with what is wrong."""
        value = self._take(name, None)
        if value is None:
            return default
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            self.fault(name, f"expected a text, not {type_text(value)}")
            return default
        return self._converted(name, value, default, parse)

    def share(self, name: str, parse: Callable[[str | float], float]) -> float | None:
        """A share, as a text or a number."""
        value = self._take(name, None)
        if value is None:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not is_number and not isinstance(value, str):
            self.fault(name, f"expected a share such as '1 %', not {type_text(value)}")
            return None
        return self._converted(name, value, None, parse)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, or one alone."""
        value = self._take(name, [])
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list):
            self.fault(name, f"expected a list of texts, not {type_text(value)}")
            return ()
        if name in self._values and not value:
            self.fault(name, "expected a list that is not empty")
        found = []
        for n, item in enumerate(value):
            if isinstance(item, str) and item.strip() and "\0" not in item:
                found.append(item)
            else:
                said = repr(item) if isinstance(item, str) else type_text(item)
                self.faults.add((*self.key, name, n), f"expected a text that is not empty, not {said}")
        return tuple(found)

    def _converted(self, name: str, value: Any, default: T, parse: Callable[[Any], T]) -> T:
        try:
            return parse(value)
        except ValueError as error:
            self.fault(name, str(error))
            return default

    def _of_type(self, name: str, kind: type, default: Any) -> Any:
        value = self._take(name, default)
        # TOML's true is no number, though Python's is.
        is_it = isinstance(value, str) if kind is str else type(value) is kind
        if name in self._values and not is_it:
            self.fault(name, f"expected {_TYPES[kind]}, not {type_text(value)}")
            return default
        if isinstance(value, str) and "\0" in value:
            self.fault(name, "expected a text without NUL")
            return default
        return value

    def _take(self, name: str, default: Any) -> Any:
        self._asked.add(name)
        return self._values.get(name, default)
