"""The tree of what an expression computes."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Place(NamedTuple):
    """A place in the text of an expression."""

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


class Conditional(NamedTuple):
    """One value where a condition holds, and another where it does not."""

    condition: Node
    if_true: Node
    if_false: Node
    place: Place
    depth: int


class Item(NamedTuple):
    """One item of a list, or some: those of a list of indices, or for which a condition holds.

    n_outer: of so many levels of lists outside of it all items are meant, as of "x[][0]".
    """

    of: Node
    at: Node
    n_outer: int
    place: Place
    depth: int


class Member(NamedTuple):
    """A member of a record."""

    of: Node
    name: str
    place: Place
    depth: int


Node: TypeAlias = Number | Text | Name | Unary | Binary | Logic | Call | Conditional | Item | Member


def parts_of(node: Node) -> Sequence[Node]:
    """Return what a node computes with, in the order of the text."""
    if isinstance(node, Unary):
        return (node.operand,)
    if isinstance(node, Binary):
        return node.left, node.right
    if isinstance(node, Logic):
        return node.operands
    if isinstance(node, Call):
        return node.arguments
    if isinstance(node, Conditional):
        return node.condition, node.if_true, node.if_false
    if isinstance(node, Item):
        return node.of, node.at
    return (node.of,) if isinstance(node, Member) else ()


def with_parts(node: Node, parts: Sequence[Node]) -> Node:
    """Return a node that computes with others in place of its :func:`parts_of`."""
    if isinstance(node, Unary):
        return node._replace(operand=parts[0])
    if isinstance(node, Binary):
        return node._replace(left=parts[0], right=parts[1])
    if isinstance(node, Logic):
        return node._replace(operands=list(parts))
    if isinstance(node, Call):
        return node._replace(arguments=list(parts))
    if isinstance(node, Conditional):
        return node._replace(condition=parts[0], if_true=parts[1], if_false=parts[2])
    if isinstance(node, Item):
        return node._replace(of=parts[0], at=parts[1])
    return node._replace(of=parts[0]) if isinstance(node, Member) else node


def goes_on(node: Node) -> Node | None:
    """Return the part of a node with which a chain goes on: "a + b" of "a + b - c", "d ? e : f" of "b ? c : d ? e : f".

    None: with none. A chain may be long, as that of generated weights: all that goes through nodes does so in a loop
    along it, and it counts as one operation inside of what is around it.
    """
    if isinstance(node, Binary) and isinstance(node.left, Binary):
        return node.left
    if isinstance(node, Conditional) and isinstance(node.if_false, Conditional):
        return node.if_false
    return None


def depth_of(node: Node, of_part: Callable[[Node], int] = attrgetter("depth")) -> int:
    """Return how many operations are inside each other; ``of_part``: tells it of the parts of the node."""
    following = goes_on(node)
    return max((of_part(part) + (part is not following) for part in parts_of(node)), default=0)


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all that it computes with, in the order of the text."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(reversed(parts_of(one)))


def names_in(node: Node) -> Iterator[Name]:
    """Return the names of columns, in the order of the text."""
    return (one for one in walk(node) if isinstance(one, Name))
