"""The grammar of filters in text: "nMuon >= 2 && Muon_pt[0] > 20" made a tree of what is to be computed.

Nothing is evaluated here, and Python's own evaluation is never used. Lowest precedence first, as in C:

    or          := and ("||" and)*
    and         := bit_or ("&&" bit_or)*
    bit_or      := bit_and ("|" bit_and)*
    bit_and     := comparison ("&" comparison)*
    comparison  := sum (("==" | "!=" | "<" | "<=" | ">" | ">=") sum)?
    sum         := product (("+" | "-") product)*
    product     := unary (("*" | "/" | "%") unary)*
    unary       := ("!" | "-" | "+")* postfix
    postfix     := primary ("[" or "]" | "." name)*
    primary     := number | text | "true" | "false" | name | name "(" or ("," or)* ")" | "(" or ")"
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias

from arrowroot._errors import FilterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Only programs that went wrong write longer texts and deeper nesting, which would exhaust the stack.
_MAX_CHARACTERS = 100_000
MAX_DEPTH = 100
_MAX_INTEGER = 2**64 - 1

#: Names of functions, with the fewest and most arguments.
FUNCTIONS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("any", "all", "sum", "count", "len", "Min$", "Max$"), (1, 1)),
    **dict.fromkeys(("min", "max"), (1, 1000)),
    **dict.fromkeys(("abs", "sqrt", "exp", "log", "log10", "floor", "ceil"), (1, 1)),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"), (1, 1)),
    **dict.fromkeys(("isnan", "isfinite"), (1, 1)),
    **dict.fromkeys(("pow", "atan2", "hypot"), (2, 2)),
    **dict.fromkeys(("startswith", "endswith", "contains"), (2, 2)),
    "isin": (2, 10_000),
}
#: Functions by the names that TTree::Draw and C++ give them.
_ALIASES = {"Sum$": "sum", "Length$": "len", "fabs": "abs", "TMath::Abs": "abs"}
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_INSTEAD = {
    "=": 'to compare, write "=="',
    "^": "write pow(x, n) for a power; there is no exclusive or",
    "and": 'write "&&"',
    "or": 'write "||"',
    "not": 'write "!", and what it is of in parentheses',
    "in": "write isin(n, 1, 2, 3)",
}
#: Truth values, and how else to write them.
_TRUTHS = {"true": "(1 == 1)", "false": "(1 == 0)"}
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<number>0[xX][0-9a-fA-F]+ | (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<name>[^\W\d]\w*(?:(?:\.|::)[^\W\d]\w*|\.[0-9]+)*\$?)
    | `(?P<quoted>[^`]+)`
    | (?P<text>"(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*')
    | (?P<operator>&&|\|\||==|!=|<=|>=|[-+*/%<>!&|()\[\],.=^?])""",
    re.VERBOSE | re.DOTALL,
)
#: Characters that may be of one name: those of no operator, but the dot. Names are looked for among so many.
_RUN = re.compile(r"""[^\s"'`&|=!<>()\[\],+\-*/%^?]{1,1000}""")
#: A dot and, after a space, the member that it is of.
_MEMBER = re.compile(r"\.\s+[^\W\d`]|\.\s*`")
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'"}


def is_name(text: str) -> bool:
    """Return whether a text is a name as it stands, without backticks."""
    found = _TOKEN.fullmatch(text)
    return found is not None and found["name"] is not None and text not in (*_INSTEAD, *_TRUTHS)


class Place(NamedTuple):
    """A place in the text of a filter."""

    start: int
    end: int


class Number(NamedTuple):
    """A number or truth value in the text."""

    value: float | int | bool
    place: Place
    depth: int = 0


class Text(NamedTuple):
    """A text in quotes."""

    value: str
    place: Place
    depth: int = 0


class Name(NamedTuple):
    """A column, and perhaps members inside it: "a.b.c" as it stands. ``exact``: in backticks."""

    name: str
    place: Place
    exact: bool
    depth: int = 0


class Unary(NamedTuple):
    """An operator before its operand."""

    operator: str
    operand: Node
    place: Place
    depth: int


class Binary(NamedTuple):
    """An operator between two operands."""

    operator: str
    left: Node
    right: Node
    place: Place
    depth: int


class Logic(NamedTuple):
    """Operands with && or || between them."""

    operator: str
    operands: list[Node]
    place: Place
    depth: int


class Call(NamedTuple):
    """A function."""

    function: str
    arguments: list[Node]
    place: Place
    depth: int


class Item(NamedTuple):
    """One item of a list, or the items for which a condition holds."""

    of: Node
    at: Node
    place: Place
    depth: int


class Member(NamedTuple):
    """A member of a record."""

    of: Node
    name: str
    place: Place
    depth: int


Node: TypeAlias = Number | Text | Name | Unary | Binary | Logic | Call | Item | Member


class _Token(NamedTuple):
    kind: str
    text: str
    place: Place


def parse(text: str, is_column: Callable[[str], bool] = lambda _: False) -> Node:
    """Return the tree of a filter's text.

    is_column: tells the names of columns. Where such a name begins as no name of the grammar does, or goes on beyond it
        ("rec.slc..length", "x."), the longest one is meant, if it has no character that an operator has.

    Raises: FilterError, with the place, for what is not in the grammar.
    """
    if len(text) > _MAX_CHARACTERS:
        raise FilterError(
            f"a filter of {len(text):,} characters; at most {_MAX_CHARACTERS:,} are read", "", 0, 0
        )
    return _Parser(text, is_column).whole()


def names_in(node: Node) -> Iterator[Name]:
    """Return the names of columns, in the order of the text."""
    if isinstance(node, Name):
        yield node
    elif isinstance(node, Unary):
        yield from names_in(node.operand)
    elif isinstance(node, Binary):
        yield from names_in(node.left)
        yield from names_in(node.right)
    elif isinstance(node, Item):
        yield from names_in(node.of)
        yield from names_in(node.at)
    elif isinstance(node, Member):
        yield from names_in(node.of)
    elif isinstance(node, Logic | Call):
        for part in node.operands if isinstance(node, Logic) else node.arguments:
            yield from names_in(part)


class _Parser:
    def __init__(self, text: str, is_column: Callable[[str], bool]) -> None:
        self._text = text
        self._is_column = is_column
        self._tokens = list(self._cut())
        self._next = 0
        self._nesting = 0

    def whole(self) -> Node:
        if not self._text.strip():
            self._fail("the filter is empty", Place(0, len(self._text)))
        node = self._or()
        token = self._tokens[self._next]
        if token.kind != "end":
            self._unexpected(token, "an operator")
        return node

    def _cut(self) -> Iterator[_Token]:
        position = 0
        is_operand = True  # it comes next
        while position < len(self._text):
            match = _TOKEN.match(self._text, position)
            place = Place(position, match.end() if match else position + 1)
            if is_operand and (name := self._longer_name(place, match)):
                yield _Token("quoted", name, Place(position, position + len(name)))
                position += len(name)
                is_operand = False
                continue
            if match is None:
                what = self._text[position]
                if what in "\"'`":
                    self._fail(f"a {what} that is not closed", place)
                self._refuse_sign(place)
                self._fail(f"unexpected {what!r}", place)
            kind = match.lastgroup or ""
            if kind == "number" and self._text[place.end : place.end + 1].isidentifier():
                self._fail("a number that goes on as a name", Place(position, place.end + 1))
            if kind != "space":
                yield _Token(kind, match[kind], place)
                is_operand = kind == "operator" and match[kind] not in (")", "]", ".")
            position = place.end
        yield _Token("end", "", Place(len(self._text), len(self._text) + 1))

    def _longer_name(self, place: Place, match: re.Match[str] | None) -> str | None:
        """Return the longest name of a column at a place that is longer than the token there; None: there is none.

        Only what would be an error is looked at: a valid text means what it means without columns.
        """
        kind, found = (match.lastgroup, match[0]) if match else (None, "")
        if kind in ("space", "quoted", "text") or (kind == "operator" and found != "."):
            return None
        if kind == "number" and not self._text[place.end : place.end + 1].isidentifier():
            return None
        beginning = _RUN.match(self._text, place.start)
        run = beginning[0] if beginning else ""
        for end in range(len(run), len(found), -1):
            if self._is_column(run[:end]) and not _MEMBER.match(self._text, place.start + end - 1):
                return run[:end]
        return None

    def _fail(self, message: str, place: Place) -> NoReturn:
        raise FilterError(message, self._text, place.start, place.end)

    def _unexpected(self, token: _Token, expected: str) -> NoReturn:
        if token.text in _INSTEAD:
            column = f"; the column is `{token.text}`, in backticks" if self._is_column(token.text) else ""
            self._fail(f"unexpected {token.text!r}: {_INSTEAD[token.text]}{column}", token.place)
        if token.kind == "operator":
            self._refuse_sign(token.place)
        if token.kind == "name":
            from arrowroot._hints import for_word

            line = for_word(token.text)
            if line is not None:
                self._fail(f"unexpected {token.text!r}: write {line}", token.place)
        found = "the filter ends" if token.kind == "end" else f"there is {token.text!r}"
        self._fail(f"{expected} is expected where {found}", token.place)

    def _refuse_sign(self, place: Place) -> None:
        """Raise FilterError with what to write if something of another language stands at a place."""
        from arrowroot._hints import for_sign

        known = for_sign(self._text, place.start)
        if known is not None:
            self._fail(f"unexpected {known[0]!r}: write {known[1]}", place)

    def _take(self, *operators: str) -> _Token | None:
        token = self._tokens[self._next]
        if token.kind != "operator" or token.text not in operators:
            return None
        self._next += 1
        return token

    def _expect(self, operator: str) -> _Token:
        token = self._take(operator)
        if token is None:
            self._unexpected(self._tokens[self._next], repr(operator))
        return token

    def _depth(self, place: Place, *parts: Node) -> int:
        depth = 1 + max(part.depth for part in parts)
        if depth > MAX_DEPTH:
            self._fail(f"more than {MAX_DEPTH} operations inside each other", place)
        return depth

    def _or(self) -> Node:
        # Parentheses, indices and arguments are all parsed here.
        self._nesting += 1
        if self._nesting > MAX_DEPTH // 2:
            self._fail(
                f"more than {MAX_DEPTH // 2} parentheses inside each other", self._tokens[self._next].place
            )
        node = self._logic("||", lambda: self._logic("&&", self._bit_or))
        self._nesting -= 1
        return node

    def _logic(self, operator: str, operand: Callable[[], Node]) -> Node:
        operands = [operand()]
        while self._take(operator):
            operands.append(operand())
        if len(operands) == 1:
            return operands[0]
        place = Place(operands[0].place.start, operands[-1].place.end)
        return Logic(operator, operands, place, self._depth(place, *operands))

    def _left(self, operators: tuple[str, ...], operand: Callable[[], Node]) -> Node:
        node = operand()
        while token := self._take(*operators):
            node = self._binary(token, node, operand())
        return node

    def _binary(self, token: _Token, left: Node, right: Node) -> Binary:
        place = Place(left.place.start, right.place.end)
        return Binary(token.text, left, right, place, self._depth(place, left, right))

    def _bit_or(self) -> Node:
        return self._left(("|",), lambda: self._left(("&",), self._comparison))

    def _comparison(self) -> Node:
        left = self._sum()
        token = self._take(*_COMPARISONS)
        if token is None:
            return left
        node = self._binary(token, left, self._sum())
        again = self._take(*_COMPARISONS)
        if again:
            self._fail(
                'a comparison of a comparison, which in C compares a truth value: write "a < b && b < c", '
                "or parentheses if that is meant",
                again.place,
            )
        return node

    def _sum(self) -> Node:
        return self._left(("+", "-"), lambda: self._left(("*", "/", "%"), self._unary))

    def _unary(self) -> Node:
        before = []
        while token := self._take("!", "-", "+"):
            before.append(token)
        node = self._postfix()
        for token in reversed(before):
            place = Place(token.place.start, node.place.end)
            if token.text == "-" and isinstance(node, Number) and not isinstance(node.value, bool):
                if -node.value < -(_MAX_INTEGER // 2 + 1) and isinstance(node.value, int):
                    self._fail("an integer that does not fit into 64 bits", place)
                node = Number(-node.value, place)
            else:
                node = Unary(token.text, node, place, self._depth(place, node))
        return node

    def _postfix(self) -> Node:
        node = self._primary()
        while token := self._take("[", ".") or self._take_numbered():
            if token.text == "[":
                index = self._or()
                place = Place(node.place.start, self._expect("]").place.end)
                node = Item(node, index, place, self._depth(place, node, index))
                continue
            if token.kind == "number":
                node = Member(
                    node,
                    token.text[1:],
                    Place(node.place.start, token.place.end),
                    self._depth(token.place, node),
                )
                continue
            name = self._tokens[self._next]
            if name.kind not in ("name", "quoted"):
                self._unexpected(name, "the name of a member")
            self._next += 1
            place = Place(node.place.start, name.place.end)
            for member in name.text.split(".") if name.kind == "name" else [name.text]:
                node = Member(node, member, place, self._depth(place, node))
        return node

    def _take_numbered(self) -> _Token | None:
        """Take the member of a tuple, which is called by its number and so looks like one: that of "x[0].1"."""
        token = self._tokens[self._next]
        if token.kind != "number" or not re.fullmatch(r"\.[0-9]+", token.text):
            return None
        self._next += 1
        return token

    def _primary(self) -> Node:
        token = self._tokens[self._next]
        self._next += 1
        if token.kind == "number":
            return self._number(token)
        if token.kind == "text":
            return Text(self._unescaped(token), token.place)
        if token.kind == "quoted":
            return Name(token.text, token.place, exact=True)
        if token.kind == "name" and token.text not in _INSTEAD:
            if token.text in _TRUTHS:
                if self._is_column(token.text):
                    self._fail(
                        f"{token.text!r} is a truth value, and the name of a column: write `{token.text}` in backticks "
                        f"for the column, and {_TRUTHS[token.text]} for the truth value",
                        token.place,
                    )
                return Number(token.text == "true", token.place)
            return self._call(token) if self._take("(") else Name(token.text, token.place, exact=False)
        if token.kind == "operator" and token.text == "(":
            node = self._or()
            end = self._expect(")").place.end
            return node._replace(place=Place(token.place.start, end))
        self._next -= 1
        return self._unexpected(token, "a column, a number or a text")

    def _call(self, name: _Token) -> Node:
        function = _ALIASES.get(name.text, name.text)
        if function not in FUNCTIONS:
            from arrowroot._hints import for_function

            self._fail(f"there is no function {name.text!r}{for_function(name.text, FUNCTIONS)}", name.place)
        arguments = []
        if not self._take(")"):
            arguments.append(self._or())
            while self._take(","):
                arguments.append(self._or())
            self._expect(")")
        place = Place(name.place.start, self._tokens[self._next - 1].place.end)
        fewest, most = FUNCTIONS[function]
        if not fewest <= len(arguments) <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} or more"
            self._fail(f"{name.text}() takes {wanted}, not {len(arguments)} arguments", place)
        return Call(function, arguments, place, self._depth(place, *arguments))

    def _number(self, token: _Token) -> Number:
        text = token.text
        if text.isdecimal() and text[0] == "0" and len(text) > 1:
            self._fail("an integer that begins with 0, which is octal in C: write it without", token.place)
        if text.isdecimal() or text[:2] in ("0x", "0X"):
            # int() itself refuses texts of thousands of digits.
            value = (
                int(text, 0) if not text.isdecimal() else int(text) if len(text) < 100 else _MAX_INTEGER + 1
            )
            if value > _MAX_INTEGER:
                self._fail("an integer that does not fit into 64 bits", token.place)
            return Number(value, token.place)
        return Number(float(text), token.place)

    def _unescaped(self, token: _Token) -> str:
        def character(match: re.Match[str]) -> str:
            if match[1] not in _ESCAPES:
                at = token.place.start + 1 + match.start()
                self._fail(f"there is no escape {match[0]}", Place(at, at + 2))
            return _ESCAPES[match[1]]

        return re.sub(r"\\(.)", character, token.text[1:-1], flags=re.DOTALL)
