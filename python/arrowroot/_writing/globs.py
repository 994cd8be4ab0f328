"""Names and globs in order, of which the first that matches counts."""

from __future__ import annotations

import re
from fnmatch import translate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Before the first and behind the last of these a pattern is text.
_OF_PATTERNS = re.compile(r"[*?\[]")
_BEHIND = re.compile(r"[^*?\[\]]*$")


class Globs:
    """Names and globs, many of which are looked at only if a name begins and ends as they do."""

    def __init__(self, globs: Iterable[str]) -> None:
        globs = list(globs)
        #: The first place of each, by its text.
        self.places = {glob: place for place, glob in reversed(list(enumerate(globs)))}
        # By the texts that they begin and end with, in order.
        self._by_ends: dict[tuple[str, str], list[_Pattern]] = {}
        for glob, place in sorted(self.places.items(), key=lambda item: item[1]):
            if (first := _OF_PATTERNS.search(glob)) is not None:
                behind = _BEHIND.search(glob)
                ends = (glob[: first.start()], behind[0] if behind else "")
                self._by_ends.setdefault(ends, []).append(_Pattern(place, glob))
        self._lengths = sorted({(len(begin), len(end)) for begin, end in self._by_ends})

    def first(self, name: str) -> int | None:
        """Return the place of the first that matches a name; also that of the very name, whatever letters it has."""
        least = self.places.get(name)
        for n_before, n_behind in self._lengths:
            ends = (name[:n_before], name[len(name) - n_behind :])
            for pattern in self._by_ends.get(ends, ()):
                if least is not None and pattern.place > least:
                    break
                if pattern.matches(name):
                    least = pattern.place
                    break
        return least

    def covering(self, glob: str) -> int | None:
        """Return the place of the first that matches all that another one does: for sure, where that is a pattern."""
        if _OF_PATTERNS.search(glob) is None and "@" not in glob:
            return self.first(glob)
        found = [place for one in ("*", glob) if (place := self.places.get(one)) is not None]
        return min(found, default=None)


class _Pattern:
    def __init__(self, place: int, glob: str) -> None:
        self.place = place
        self._glob = glob
        self._compiled: re.Pattern[str] | None = None

    def matches(self, name: str) -> bool:
        """Return whether it stands for a name, as fnmatchcase does."""
        if self._compiled is None:
            self._compiled = re.compile(translate(self._glob))
        return self._compiled.match(name) is not None


def without_match(globs: Iterable[str], names: Iterable[str]) -> str | None:
    """Return the first of some names and globs that matches none of the names; None: each has one."""
    globs, names = list(globs), list(names)
    known, in_order = set(names), Globs(globs)
    found = {in_order.first(name) for name in names}
    for place, glob in enumerate(globs):
        # One that is never the first to match may match all the same.
        if place not in found and glob not in known and not any(map(_Pattern(place, glob).matches, names)):
            return glob
    return None
