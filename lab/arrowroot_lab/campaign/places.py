"""Where the keys of a TOML text stand: tomllib tells values, and not their lines."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: A key of the document: names of tables and keys, and numbers of elements of arrays.
Key = tuple[str | int, ...]


def lines_of(text: str) -> dict[Key, int]:
    """Return the line, counted from 1, of each table, key and element. ``text`` must be TOML that tomllib has taken."""
    return _Scanner(text.replace("\r\n", "\n")).scan()


def dotted(key: Key) -> str:
    """Return a key as TOML writes it: ``storage."50 ms".kind``; elements of arrays count from 0: ``include[0]``."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            is_bare = part.isascii() and part.replace("-", "a").replace("_", "a").isalnum()
            name = part if is_bare else '"' + part.encode("unicode_escape").decode().replace('"', '\\"') + '"'
            text += f".{name}" if text else name
    return text


class _Scanner:
    """Walks over the text once. It checks nothing: tomllib has."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        #: How many elements arrays of tables have so far.
        self._n_elements: dict[Key, int] = {}
        self._found: dict[Key, int] = {}

    def scan(self) -> dict[Key, int]:
        table: Key = ()
        while self._skip(" \t\n"):
            if self._text.startswith("[[", self._at):
                line = self._line
                self._advance(2)
                names = self._names("]")
                self._advance(2)
                array = (*self._resolved(names[:-1]), names[-1])
                n = self._n_elements.get(array, 0)
                self._n_elements[array] = n + 1
                table = (*array, n)
                self._found.setdefault(array, line)
                self._found.setdefault(table, line)
            elif self._text[self._at] == "[":
                line = self._line
                self._advance(1)
                table = self._resolved(self._names("]"))
                self._advance(1)
                self._note(table, line)
            else:
                self._pair(table)
        return self._found

    def _resolved(self, names: list[str]) -> Key:
        """The key of a header: names of arrays of tables mean their last elements."""
        key: Key = ()
        for name in names:
            key = (*key, name)
            if key in self._n_elements:
                key = (*key, self._n_elements[key] - 1)
        return key

    def _note(self, key: Key, line: int) -> None:
        """Note a key; tables above it that have no line of their own begin with it."""
        for n in range(1, len(key) + 1):
            self._found.setdefault(key[:n], line)

    def _pair(self, table: Key) -> None:
        line = self._line
        key = (*table, *self._names("="))
        self._advance(1)
        self._skip(" \t")
        self._note(key, line)
        self._value(key)

    def _value(self, key: Key) -> None:
        start = self._text[self._at]
        if start in "\"'":
            self._string()
        elif start == "[":
            self._advance(1)
            n = 0
            while self._skip(" \t\n,") and self._text[self._at] != "]":
                element = (*key, n)
                self._found[element] = self._line
                self._value(element)
                n += 1
            self._advance(1)
        elif start == "{":
            self._advance(1)
            while self._skip(" \t\n,") and self._text[self._at] != "}":
                self._pair(key)
            self._advance(1)
        else:
            while self._at < len(self._text) and self._text[self._at] not in ",]}#\n":
                self._at += 1

    def _names(self, end: str) -> list[str]:
        """The names of a dotted key, up to the character after it."""
        names = []
        while True:
            self._skip(" \t")
            start = self._at
            if self._text[start] in "\"'":
                self._string()
                told: dict[str, Any] = tomllib.loads(f"key = {self._text[start : self._at]}")
                names.append(str(told["key"]))
            else:
                while self._text[self._at] not in f" \t.{end}":
                    self._at += 1
                names.append(self._text[start : self._at])
            self._skip(" \t")
            if self._text[self._at] == end:
                return names
            self._advance(1)

    def _string(self) -> None:
        quote = self._text[self._at]
        is_long = self._text.startswith(quote * 3, self._at)
        end = quote * (3 if is_long else 1)
        self._advance(len(end))
        while not self._text.startswith(end, self._at):
            self._advance(2 if quote == '"' and self._text[self._at] == "\\" else 1)
        self._advance(len(end))
        # A long string may end with up to two quotes of its own.
        while is_long and self._text.startswith(quote, self._at):
            self._advance(1)

    def _skip(self, characters: str) -> bool:
        """Skip characters, and comments where lines may end; return whether something is left."""
        while self._at < len(self._text):
            if self._text[self._at] == "#" and "\n" in characters:
                self._advance((self._text.find("\n", self._at) + 1 or len(self._text)) - self._at)
            elif self._text[self._at] in characters:
                self._advance(1)
            else:
                return True
        return False

    def _advance(self, n: int) -> None:
        self._line += self._text.count("\n", self._at, self._at + n)
        self._at += n
