"""The grammar of expressions in text: "nMuon >= 2 && Muon_pt[0] > 20" made a tree of what is to be computed.

Nothing is evaluated here, and Python's own evaluation is never used. Lowest precedence first, as in C and Python:

    conditional := or ("?" conditional ":" or)*
    or          := and (("||" | "or") and)*
    and         := not (("&&" | "and") not)*
    not         := "not" not | bit_or
    bit_or      := bit_and ("|" bit_and)*
    bit_and     := comparison ("&" comparison)*
    comparison  := shift (("==" | "!=" | "<" | "<=" | ">" | ">=") shift | "not"? "in" choices)?
    shift       := sum (("<<" | ">>") sum)*
    sum         := product (("+" | "-") product)*
    product     := unary (("*" | "/" | "%") unary)*
    unary       := ("!" | "-" | "+" | "~")* power
    power       := postfix ("**" unary)?
    postfix     := primary ("[" conditional? "]" | "." name | "." method "(" ... ")")*
    primary     := number | text | truth | name | name "(" (conditional ("," conditional)*)? ")" | "(" conditional ")"
    choices     := "(" conditional ("," conditional)* ","? ")" | "[" ... "]"

Refused, because C and Python read it differently: what "not" is of, or "&" and "|" stand between, if it is a
comparison without parentheses; and "^".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from arrowroot._errors import FilterError
from arrowroot._expressions.functions import COMPARISONS, CONSTANTS, FUNCTIONS, METHODS, SIZE, function_of
from arrowroot._expressions.iteration import ITERATION, height, with_lists
from arrowroot._expressions.nodes import (
    Binary,
    Call,
    Conditional,
    Item,
    Logic,
    Member,
    Name,
    Node,
    Number,
    Place,
    Text,
    Unary,
    depth_of,
)
from arrowroot._expressions.tokens import TRUTHS, WORDS, Cutter, Token, longer_column

if TYPE_CHECKING:
    from collections.abc import Callable

#: Only programs that went wrong write longer texts, and aliases of files have no reason to be as long.
_MAX_CHARACTERS, _MAX_CHARACTERS_OF_ALIAS = 1_000_000, 100_000
#: Deeper nesting would exhaust the stack.
MAX_DEPTH = 100
_MAX_INTEGER = 2**64 - 1
#: How much operators bind.
_LEVELS = {
    "|": 0,
    "&": 1,
    **dict.fromkeys((*COMPARISONS, "in"), 2),
    **dict.fromkeys(("<<", ">>"), 3),
    **dict.fromkeys(("+", "-"), 4),
    **dict.fromkeys(("*", "/", "%"), 5),
}
_INSTEAD = {
    "=": 'to compare, write "=="',
    "^": 'it is a power in TTree::Draw, and "exclusive or" in C: write x ** n, or xor(a, b)',
    "and": "it stands between two conditions",
    "or": "it stands between two conditions",
    "not": 'write "!", and what it is of in parentheses',
    "in": "it stands between a value and (a, b, c)",
}
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'"}


def parse(
    text: str,
    is_column: Callable[[str], bool] = lambda _: False,
    what: str = "filter",
    *,
    of_draw: bool = False,
) -> Node:
    """Return the tree of an expression's text.

    is_column: tells the names of columns. Where such a name begins as no name of the grammar does, or goes on beyond it
        ("rec.slc..length", "x."), the longest one is meant, if it has no character that an operator has.
    what: whose expression it is, for errors. of_draw: it was written for TTree::Draw, where "^" is a power.

    Raises: FilterError, with the place, for what is not in the grammar.
    """
    most = _MAX_CHARACTERS_OF_ALIAS if of_draw else _MAX_CHARACTERS
    if len(text) > most:
        raise FilterError(
            f"an expression of {len(text):,} characters; at most {most:,} are read", "", 0, 0, what
        )
    return _Parser(text, is_column, what, of_draw=of_draw).whole()


class _Parser:
    def __init__(self, text: str, is_column: Callable[[str], bool], what: str, *, of_draw: bool) -> None:
        self._text = text
        self._is_column = is_column
        self._what = what
        self._cutter = Cutter(text, is_column, what)
        self._tokens = [
            one._replace(text="**") if of_draw and (one.kind, one.text) == ("operator", "^") else one
            for one in self._cutter.tokens()
        ]
        self._next = 0
        self._nesting = 0
        self._has_iterations = False
        #: What was closed by parentheses last.
        self._closed: Node | None = None

    def whole(self) -> Node:
        if not self._text.strip():
            self._fail(f"the {self._noun} is empty", Place(0, len(self._text)))
        node = self._conditional()
        token = self._tokens[self._next]
        if token.kind != "end":
            self._unexpected(token, "an operator")
        if self._has_iterations:
            node = with_lists(node)
            if height(node) > MAX_DEPTH:
                self._fail(f"more than {MAX_DEPTH} operations inside each other", node.place)
        return node

    @property
    def _noun(self) -> str:
        return "filter" if self._what == "filter" else "expression"

    def _fail(self, message: str, place: Place) -> NoReturn:
        self._cutter.fail(message, place)

    def _unexpected(self, token: Token, expected: str) -> NoReturn:
        if token.text in _INSTEAD:
            column = f"; the column is `{token.text}`, in backticks" if self._is_column(token.text) else ""
            self._fail(f"unexpected {token.text!r}: {_INSTEAD[token.text]}{column}", token.place)
        if token.kind in ("operator", "name"):
            self._cutter.refuse_sign(token.place)
        before = self._tokens[self._next - 1] if self._next else token
        if before.kind == "name" and (longer := longer_column(self._text, before.place, self._is_column)):
            self._fail(*longer)
        if token.kind == "name" and token.text not in WORDS:
            from arrowroot._filter_hints import for_word

            behind = self._tokens[self._next + 1 : self._next + 3]
            line = for_word(token.text, [one.text for one in behind])
            if line is not None:
                self._fail(f"unexpected {token.text!r}: write {line}", token.place)
        found = f"the {self._noun} ends" if token.kind == "end" else f"there is {token.text!r}"
        self._fail(f"{expected} is expected where {found}", token.place)

    def _take(self, *operators: str) -> Token | None:
        token = self._tokens[self._next]
        if token.kind not in ("operator", "name") or token.text not in operators:
            return None
        self._next += 1
        return token

    def _expect(self, operator: str) -> Token:
        token = self._take(operator)
        if token is None:
            self._unexpected(self._tokens[self._next], repr(operator))
        return token

    def _depth(self, place: Place, *parts: Node) -> int:
        return self._bounded(1 + max(part.depth for part in parts), place)

    def _bounded(self, depth: int, place: Place) -> int:
        if depth > MAX_DEPTH:
            self._fail(f"more than {MAX_DEPTH} operations inside each other", place)
        return depth

    def _binary(self, operator: str, left: Node, right: Node) -> Node:
        node = Binary(operator, left, right, Place(left.place.start, right.place.end), 0)
        return node._replace(depth=self._bounded(depth_of(node), node.place))

    def _choice_of_two(self, condition: Node, if_true: Node, if_false: Node, place: Place) -> Node:
        node = Conditional(condition, if_true, if_false, place, 0)
        return node._replace(depth=self._bounded(depth_of(node), place))

    def _conditional(self) -> Node:
        # Parentheses, indices and arguments are all parsed here.
        self._nesting += 1
        if self._nesting > MAX_DEPTH // 2:
            self._fail(
                f"more than {MAX_DEPTH // 2} parentheses inside each other", self._tokens[self._next].place
            )
        choices: list[tuple[Node, Node]] = []
        node = self._condition()
        while self._take("?"):
            choices.append((node, self._conditional()))
            self._expect(":")
            node = self._condition()
        for condition, if_true in reversed(choices):
            place = Place(condition.place.start, node.place.end)
            node = self._choice_of_two(condition, if_true, node, place)
        self._nesting -= 1
        return node

    def _condition(self) -> Node:
        return self._logic("||", "or", lambda: self._logic("&&", "and", self._not))

    def _logic(self, operator: str, word: str, operand: Callable[[], Node]) -> Node:
        operands = [operand()]
        while self._take(operator, word):
            operands.append(operand())
        if len(operands) == 1:
            return operands[0]
        place = Place(operands[0].place.start, operands[-1].place.end)
        return Logic(operator, operands, place, self._depth(place, *operands))

    def _not(self) -> Node:
        before = []
        while token := self._take("not"):
            if self._is_column("not"):
                self._fail(
                    "'not' is an operator, and the name of a column: write `not` in backticks for the column, and "
                    '"!" for the operator',
                    token.place,
                )
            before.append(token)
        node = self._operation()
        if before and self._is_open(node):
            self._fail(
                '"not" is of the first value alone in C, and of all of this in Python: write parentheses',
                node.place,
            )
        for token in reversed(before):
            place = Place(token.place.start, node.place.end)
            node = Unary("!", node, place, self._depth(place, node))
        return node

    def _is_open(self, node: Node) -> bool:
        """Return whether it is two values with an operator between them, without parentheses around."""
        of = node.operand if isinstance(node, Unary) and node.operator == "!" else node
        is_of_two = isinstance(node, Binary) or (isinstance(of, Call) and of.function == "in")
        return is_of_two and node is not self._closed

    def _operation(self, lowest: int = 0) -> Node:
        """Return operands with operators between them that bind at least as much as those of a level."""
        node = self._unary()
        while (level := self._level()) >= lowest:
            is_open = self._is_open(node)
            token = self._tokens[self._next]
            if token.text in ("in", "not"):
                node = self._choice(node)
            else:
                self._next += 1
                self._refuse_comparison(token, node, is_open=is_open)
                right = self._operation(level + 1)
                self._refuse_comparison(token, right, is_open=self._is_open(right))
                node = self._binary(token.text, node, right)
            again = self._tokens[self._next]
            if level == _LEVELS["in"] and self._level() == level:
                self._cutter.refuse_sign(again.place)
                self._fail(
                    'a comparison of a comparison, which in C compares a truth value: write "a < b && b < c", '
                    "or parentheses if that is meant",
                    again.place,
                )
        return node

    def _level(self) -> int:
        """Return how much the operator that comes binds; -1 if none comes."""
        token = self._tokens[self._next]
        if token.kind == "name" and token.text == "not":
            follows = self._tokens[self._next + 1]
            return _LEVELS["in"] if (follows.kind, follows.text) == ("name", "in") else -1
        return _LEVELS.get(token.text, -1) if token.kind in ("operator", "name") else -1

    def _refuse_comparison(self, token: Token, node: Node, *, is_open: bool) -> None:
        """Raise FilterError for a comparison without parentheses beside "&" or "|"."""
        if (
            is_open
            and token.text in ("&", "|")
            and (not isinstance(node, Binary) or node.operator in COMPARISONS)
        ):
            self._fail(
                f'"{token.text}" binds less than a comparison in C, and more in Python: write "{token.text * 2}" '
                'between conditions, "(a & b) == c" for bits',
                Place(min(token.place.start, node.place.start), max(token.place.end, node.place.end)),
            )

    def _choice(self, left: Node) -> Node:
        """Return whether a value is "in" or "not in" some others."""
        is_not = self._take("not") is not None
        token = self._expect("in")
        opened = self._take("(", "[")
        if opened is None:
            self._fail(
                "values in parentheses follow: x in (1, 2, 3); of a list write any(v == x)", token.place
            )
        arguments = [left, *self._arguments(")" if opened.text == "(" else "]")]
        if len(arguments) == 1:
            self._fail("no value is in parentheses without any", token.place)
        place = Place(left.place.start, self._tokens[self._next - 1].place.end)
        node: Node = Call("in", arguments, place, self._depth(place, *arguments))
        return Unary("!", node, place, self._depth(place, node)) if is_not else node

    def _unary(self) -> Node:
        before = []
        while token := self._take("!", "-", "+", "~"):
            before.append(token)
        node = self._power()
        for token in reversed(before):
            place = Place(token.place.start, node.place.end)
            if token.text == "-" and isinstance(node, Number) and not isinstance(node.value, bool):
                if -node.value < -(_MAX_INTEGER // 2 + 1) and isinstance(node.value, int):
                    self._fail("an integer that does not fit into 64 bits", place)
                node = Number(-node.value, place)
            else:
                node = Unary(token.text, node, place, self._depth(place, node))
        return node

    def _power(self) -> Node:
        node = self._postfix()
        token = self._take("**")
        if token is None:
            return node
        self._nesting += 1  # powers of powers are parsed inside each other
        if self._nesting > MAX_DEPTH // 2:
            self._fail(f"more than {MAX_DEPTH // 2} powers inside each other", token.place)
        exponent = self._unary()
        self._nesting -= 1
        return self._binary(token.text, node, exponent)

    def _postfix(self) -> Node:
        node = self._primary()
        n_outer = 0
        while token := self._take("[", ".") or self._take_numbered():
            if token.text == "[":
                if self._take("]"):
                    n_outer += 1
                    continue
                index = self._conditional()
                place = Place(node.place.start, self._expect("]").place.end)
                node = Item(node, index, n_outer, place, self._depth(place, node, index))
                continue
            if token.kind == "number":
                place = Place(node.place.start, token.place.end)
                node = Member(node, token.text[1:], place, self._depth(place, node))
                continue
            name = self._tokens[self._next]
            if name.kind not in ("name", "quoted"):
                self._unexpected(name, "the name of a member")
            self._next += 1
            *members, last = name.text.split(".") if name.kind == "name" else [name.text]
            if name.kind == "name" and last in METHODS and self._take("("):
                node = self._method(self._members(node, members, name), last)
            else:
                node = self._members(node, [*members, last], name)
        return node

    def _members(self, node: Node, names: list[str], token: Token) -> Node:
        place = Place(node.place.start, token.place.end)
        for name in names:
            node = Member(node, name, place, self._depth(place, node))
        return node

    def _method(self, of: Node, name: str) -> Node:
        """Return what a method of a list gives; its opening parenthesis is taken."""
        method = METHODS[name]
        arguments = self._arguments(")")
        place = Place(of.place.start, self._tokens[self._next - 1].place.end)
        if len(arguments) != (method == "at"):
            self._fail(f"{name}() takes {int(method == 'at')} arguments, not {len(arguments)}", place)
        depth = self._depth(place, of, *arguments)
        if method in ("front", "back"):
            return Item(of, Number(0 if method == "front" else -1, place), 0, place, depth)
        if method == "at":
            return Item(of, arguments[0], 0, place, depth)
        size = Call(SIZE, [of], place, depth)
        return (
            Binary("==", size, Number(0, place), place, self._depth(place, size))
            if method == "empty"
            else size
        )

    def _take_numbered(self) -> Token | None:
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
        if token.kind == "name" and token.text not in WORDS:
            return self._named(token)
        if token.kind == "operator" and token.text == "(":
            node = self._conditional()
            end = self._expect(")").place.end
            self._closed = node._replace(place=Place(token.place.start, end))
            return self._closed
        if token.kind == "operator" and token.text == "@":
            # TTree::Draw has it before a collection of whose items it is not to look at each.
            name = self._tokens[self._next]
            if name.text.rpartition(".")[2] in METHODS and self._tokens[self._next + 1].text == "(":
                return self._primary()
        self._next -= 1
        return self._unexpected(token, "a column, a number or a text")

    def _named(self, token: Token) -> Node:
        if token.text in TRUTHS:
            if self._is_column(token.text):
                self._fail(
                    f"{token.text!r} is a truth value, and the name of a column: write `{token.text}` in backticks "
                    f"for the column, and {TRUTHS[token.text]} for the truth value",
                    token.place,
                )
            return Number(token.text.lower() == "true", token.place)
        if self._take("("):
            return self._call(token)
        if token.text == ITERATION:
            self._has_iterations = True
            return Call(ITERATION, [], token.place, 0)
        if token.text in CONSTANTS and not self._is_column(token.text):
            return Number(CONSTANTS[token.text], token.place)
        return Name(token.text, token.place, exact=False)

    def _arguments(self, end: str) -> list[Node]:
        """Return expressions with commas between them, and perhaps one behind, up to the closing sign."""
        arguments: list[Node] = []
        while not self._take(end):
            if arguments:
                self._expect(",")
                if arguments and self._take(end):
                    break
            arguments.append(self._conditional())
        return arguments

    def _call(self, name: Token) -> Node:
        owner, _, method = name.text.rpartition(".")
        function = function_of(name.text)
        if function is None and owner and method in METHODS:
            return self._method(Name(owner, Place(name.place.start, name.place.end), exact=False), method)
        if name.text in CONSTANTS and self._take(")"):
            return Number(
                CONSTANTS[name.text], Place(name.place.start, self._tokens[self._next - 1].place.end)
            )
        if function is None and self._is_column(name.text):
            self._fail(
                f"there is no function {name.text!r}, but a column: its items are {name.text}[0]", name.place
            )
        if function is None:
            from arrowroot._filter_hints import for_function

            self._fail(f"there is no function {name.text!r}{for_function(name.text, FUNCTIONS)}", name.place)
        arguments = self._arguments(")")
        place = Place(name.place.start, self._tokens[self._next - 1].place.end)
        fewest, most = FUNCTIONS[function]
        if not fewest <= len(arguments) <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} or more"
            self._fail(f"{name.text}() takes {wanted}, not {len(arguments)} arguments", place)
        if function == "where":
            condition, if_true, if_false = arguments
            return self._choice_of_two(condition, if_true, if_false, place)
        depth = self._depth(place, *arguments)
        if function in ("MinIf$", "MaxIf$"):
            # One of the entry is for all of its items.
            of, condition = arguments
            self._has_iterations = True
            is_item = Binary(">=", Call(ITERATION, [], place, 0), Number(0, place), place, 1)
            holds = Logic("&&", [condition, is_item], place, depth)
            return Call(function.replace("If", ""), [Item(of, holds, 0, place, depth)], place, depth)
        return Call(function, arguments, place, depth)

    def _number(self, token: Token) -> Number:
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

    def _unescaped(self, token: Token) -> str:
        def character(match: re.Match[str]) -> str:
            if match[1] not in _ESCAPES:
                at = token.place.start + 1 + match.start()
                self._fail(f"there is no escape {match[0]}", Place(at, at + 2))
            return _ESCAPES[match[1]]

        return re.sub(r"\\(.)", character, token.text[1:-1], flags=re.DOTALL)
