"""The text of an expression, cut into numbers, names, texts and operators."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from arrowroot._errors import FilterError
from arrowroot._expressions.nodes import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Words that are operators, and how else to write them.
WORDS = ("and", "or", "not", "in")
#: Truth values, and how else to write them.
TRUTHS = {"true": "(1 == 1)", "false": "(1 == 0)", "True": "(1 == 1)", "False": "(1 == 0)"}
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<number>0[xX][0-9a-fA-F]+ | (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<name>[^\W\d]\w*(?:(?:\.|::)[^\W\d]\w*|\.[0-9]+)*\$?)
    | `(?P<quoted>[^`]+)`
    | (?P<text>"(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*')
    | (?P<operator>\*\*|<<|>>|&&|\|\||==|!=|<=|>=|[-+*/%<>!&|()\[\],.=^?:~@])""",
    re.VERBOSE | re.DOTALL,
)
#: Longer names of columns are not looked for.
_LONGEST = 1000
#: Characters that may be of one name: those of no operator, but the dot.
_RUN = re.compile(r"""[^\s"'`&|=!<>()\[\],+\-*/%^?]{1,""" + f"{_LONGEST}}}")
#: A dot and, after a space, the member that it is of.
_MEMBER = re.compile(r"\.\s+[^\W\d`]|\.\s*`")


class Token(NamedTuple):
    """A part of the text; ``kind``: a group of the pattern, or "end"."""

    kind: str
    text: str
    place: Place


def is_name(text: str) -> bool:
    """Return whether a text is a name as it stands, without backticks."""
    found = _TOKEN.fullmatch(text)
    return found is not None and found["name"] is not None and text not in (*WORDS, *TRUTHS)


def longer_column(text: str, place: Place, is_column: Callable[[str], bool]) -> tuple[str, Place] | None:
    """Return what to say of a name that is the beginning of a column's with spaces or signs of operators in it.

    place: of the name in the text. None if there is no such column.
    """
    for end in range(min(len(text), place.start + _LONGEST), place.end, -1):
        name = text[place.start : end]
        if name[-1] not in " `" and is_column(name):
            return f"the column is `{name}`, in backticks", Place(place.start, end)
    return None


class Cutter:
    """Cuts a text into tokens."""

    def __init__(self, text: str, is_column: Callable[[str], bool], what: str) -> None:
        """``is_column``, ``what``: as of ``grammar.parse``."""
        self._text = text
        self._is_column = is_column
        self._what = what

    def tokens(self) -> Iterator[Token]:
        """Yield the tokens, the end as the last one. Raises: FilterError."""
        position = 0
        is_operand = True  # it comes next
        while position < len(self._text):
            match = _TOKEN.match(self._text, position)
            place = Place(position, match.end() if match else position + 1)
            if is_operand and (name := self._longer_name(place, match)):
                yield Token("quoted", name, Place(position, position + len(name)))
                position += len(name)
                is_operand = False
                continue
            if match is None:
                what = self._text[position]
                if what in "\"'`":
                    self.fail(f"a {what} that is not closed", place)
                self.refuse_sign(place)
                self.fail(f"unexpected {what!r}", place)
            kind = match.lastgroup or ""
            if kind == "number" and self._text[place.end : place.end + 1].isidentifier():
                from arrowroot._filter_hints import for_number

                self.fail(
                    "a number that goes on as a name: numbers have no letters behind them, and no _"
                    f"{for_number(self._text[position:], match[kind])}",
                    Place(position, place.end + 1),
                )
            if kind != "space":
                yield Token(kind, match[kind], place)
                is_operand = kind == "operator" and match[kind] not in (")", "]", ".")
            position = place.end
        yield Token("end", "", Place(len(self._text), len(self._text) + 1))

    def _longer_name(self, place: Place, match: re.Match[str] | None) -> str | None:
        """Return the longest name of a column at a place that is longer than the token there; None: there is none.

        Only what would be an error is looked at: a valid text means what it means without columns.
        """
        kind, found = (match.lastgroup, match[0]) if match else (None, "")
        if kind in ("space", "quoted", "text") or (kind == "operator" and found not in (".", "@")):
            return None
        if kind == "number" and not self._text[place.end : place.end + 1].isidentifier():
            return None
        beginning = _RUN.match(self._text, place.start)
        run = beginning[0] if beginning else ""
        for end in range(len(run), len(found), -1):
            if self._is_column(run[:end]) and not _MEMBER.match(self._text, place.start + end - 1):
                return run[:end]
        return None

    def fail(self, message: str, place: Place) -> NoReturn:
        """Raise FilterError with the place in the text."""
        raise FilterError(message, self._text, place.start, place.end, self._what)

    def refuse_sign(self, place: Place) -> None:
        """Raise FilterError with what to write if something of another language stands at a place."""
        from arrowroot._filter_hints import for_sign

        known = for_sign(self._text, place.start)
        if known is not None:
            self.fail(f"unexpected {known[0]!r}: write {known[1]}", place)
