"""Names and globs, many of which are looked at only if a name begins and ends as they do."""

from __future__ import annotations

import re
from fnmatch import translate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeAlias

    #: The texts that what a pattern matches begins and ends with.
    Ends: TypeAlias = tuple[str, str]

#: Those of what may match any name.
ANY_ENDS = ("", "")
#: Before the first of these a pattern is text. Compiled when first used, as in _sizes.
_OF_PATTERNS = r"[*?\[]"
#: Behind the last of these it is.
_BEHIND = "*?[]"


def ends_of(glob: str) -> Ends:
    """Return the texts that all names begin and end with that a name or glob matches."""
    first = re.search(_OF_PATTERNS, glob)
    return glob[: first.start()] if first else glob, glob[max(map(glob.rfind, _BEHIND)) + 1 :]


class KnownEnds:
    """Those of the ends of some globs that a name has."""

    def __init__(self, ends: Iterable[Ends]) -> None:
        self._known = set(ends)
        self._lengths = sorted({(len(begin), len(end)) for begin, end in self._known})

    def of(self, name: str) -> Iterator[Ends]:
        """Yield the known ends of a name, in the order of their lengths."""
        for n_before, n_behind in self._lengths:
            ends = (name[:n_before], name[len(name) - n_behind :])
            if ends in self._known:
                yield ends


class Globs:
    """Names and globs in order, of which the first that matches counts."""

    def __init__(self, globs: Iterable[str]) -> None:
        globs = list(globs)
        #: The first index of each, by its text.
        self.indices = {glob: index for index, glob in reversed(list(enumerate(globs)))}
        # By the texts that they begin and end with, in order.
        self._by_ends: dict[Ends, list[_Pattern]] = {}
        for glob, index in sorted(self.indices.items(), key=lambda item: item[1]):
            if re.search(_OF_PATTERNS, glob) is not None:
                self._by_ends.setdefault(ends_of(glob), []).append(_Pattern(index, glob))
        self._ends = KnownEnds(self._by_ends)

    def first(self, name: str) -> int | None:
        """Return the index of the first that matches a name; also that of the very name, whatever letters it has."""
        least = self.indices.get(name)
        for ends in self._ends.of(name):
            for pattern in self._by_ends[ends]:
                if least is not None and pattern.index > least:
                    break
                if pattern.matches(name):
                    least = pattern.index
                    break
        return least

    def covering(self, glob: str) -> int | None:
        """Return the index of the first that matches all that another one does: for sure, where that is a pattern."""
        if re.search(_OF_PATTERNS, glob) is None and "@" not in glob:
            return self.first(glob)
        found = [index for one in ("*", glob) if (index := self.indices.get(one)) is not None]
        return min(found, default=None)


class _Pattern:
    def __init__(self, index: int, glob: str) -> None:
        self.index = index
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
    for index, glob in enumerate(globs):
        # One that is never the first to match may match all the same.
        if index not in found and glob not in known and not any(map(_Pattern(index, glob).matches, names)):
            return glob
    return None
