"""Where entries come from, as values of expressions."""

from __future__ import annotations

from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from arrowroot._errors import NoSuchOriginWarning, nearest, warn
from arrowroot._expressions.functions import OF_TEXTS
from arrowroot._expressions.lists import Items
from arrowroot._expressions.nodes import Binary, Call, Name, Node, Text, parts_of, walk
from arrowroot._render import N_QUOTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from arrowroot._select.origins import Origins


class OriginOf:
    """The values of names of origin: trees are opened once there are entries."""

    def __init__(self, origins: Callable[[], Origins]) -> None:
        self._make = origins

    @cached_property
    def _origins(self) -> Origins:
        return self._make()

    def __call__(self, name: Any, entries: npt.NDArray[np.int64]) -> Items:
        """Return the values of a name for the numbers of entries."""
        if not len(entries):
            return Items(entries if name == "entry" else pa.array([], pa.string()))
        trees = self._origins.numbers_of(entries)
        if name == "entry":
            return Items(self._origins.entries_in(entries, trees))
        texts, codes = self._origins.texts(name)
        return Items(pc.take(pa.array(texts, pa.string()), pa.array(codes[trees])))


class Asked(NamedTuple):
    """A text with which an origin is compared: by "==", or by one of the functions of texts."""

    origin: str
    by: str
    text: str
    #: The expression that asks, for messages.
    what: str

    @property
    def verb(self) -> str:
        """The words of messages between an origin and the text."""
        words = {"startswith": "begins with", "endswith": "ends with", "contains": "contains"}
        return words.get(self.by, "is called")

    def is_of(self, text: str) -> bool:
        """Return whether a text is one that is asked for."""
        if self.by in ("startswith", "endswith"):
            return bool(getattr(text, self.by)(self.text))
        return self.text in text if self.by == "contains" else self.text == text


def asked_in(node: Node, origin_of: Callable[[Name], str], what: str) -> Iterator[Asked]:
    """Yield the texts with which an expression compares origins. ``origin_of``: that which a name stands for, or ""."""
    for one in walk(node):
        if isinstance(one, Binary) and one.operator in ("==", "!="):
            by = "=="
        elif isinstance(one, Call) and one.function in OF_TEXTS:
            by = one.function
        else:
            continue
        parts = parts_of(one)
        origin = next((found for part in parts if isinstance(part, Name) and (found := origin_of(part))), "")
        if origin:
            yield from (Asked(origin, by, part.value, what) for part in parts if isinstance(part, Text))


def warn_of_none(asked: Iterable[Asked], known: Callable[[str], Sequence[str] | None]) -> None:
    """Warn of texts that no origin has, once for each expression and origin.

    known: the texts that there are of an origin; None: nobody knows.
    """
    missed: dict[tuple[str, str], list[Asked]] = {}
    there: dict[str, tuple[Sequence[str] | None, frozenset[str]]] = {}
    for one in asked:
        if one.origin not in there:
            found = known(one.origin)
            there[one.origin] = found, frozenset(found or ())
        texts, names = there[one.origin]
        # Programs compare with thousands of names.
        is_there = one.text in names if one.by == "==" else any(map(one.is_of, texts or ()))
        if texts is not None and not is_there:
            missed.setdefault((one.what, one.origin), []).append(one)
    for (what, origin), those in missed.items():
        texts = there[origin][0] or ()
        quoted = those[:N_QUOTED]
        told = " or ".join(
            f"{verb} {' or '.join(repr(one.text) for one in some)}"
            for verb, some in groupby(quoted, lambda one: one.verb)
        )
        near = list(dict.fromkeys(text for one in quoted for text in _near(one.text, texts)))[:N_QUOTED]
        hint = (
            f"did you mean {' or '.join(map(repr, near))}?"
            if near
            else f"there are {', '.join(map(repr, texts[:N_QUOTED]))}{_more(texts)}"
        )
        warn(f"{what}: no {origin} {told}{_more(those)}; {hint}", NoSuchOriginWarning)


def _near(text: str, texts: Sequence[str]) -> list[str]:
    """Return the texts that may be meant by one; a file goes by its whole path, of which people know the end."""
    return [one for one in texts if one.endswith(f"/{text}")][:N_QUOTED] or nearest(text, texts)


def _more(of: Sequence[object]) -> str:
    return f" and {len(of) - N_QUOTED:,} more" if len(of) > N_QUOTED else ""
