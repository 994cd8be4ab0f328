"""TTree::Draw's "Iteration$": the index of an item in its list, which is that of what stands beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot._expressions.functions import SIZE
from arrowroot._expressions.nodes import (
    Call,
    Item,
    Member,
    Name,
    Node,
    depth_of,
    goes_on,
    parts_of,
    walk,
    with_parts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

ITERATION = "Iteration$"
#: Functions of the items of one list, which are a formula of their own.
OF_DRAW = ("Sum$", "Length$", "Min$", "Max$")
REDUCTIONS = ("any", "all", "sum", "prod", "count", "len", "min", "max", *OF_DRAW)
_OF_ONE_LIST = (*REDUCTIONS, SIZE, "mean", "argmin", "argmax")
#: Functions whose arguments are formulas of their own, and whose result is a list with a length of its own.
_MAKING_LISTS = ("sorted", "argsort", "reversed", "take", "concatenate", "first", "second", "third", "per")
#: One list is enough; the first ones may be single values.
_MAX_LISTS = 16


def with_lists(node: Node) -> Node:
    """Return a tree whose calls of "Iteration$" have as arguments what may be lists in the same formula."""
    return _with_lists(node, _lists_in(node))


def height(node: Node) -> int:
    """Return how many operations are inside each other."""
    found: dict[int, int] = {}
    for one in reversed(list(walk(node))):
        found[id(one)] = depth_of(one, lambda part: found[id(part)])
    return found[id(node)]


def _with_lists(node: Node, lists: Sequence[Node]) -> Node:
    chain = [node]
    while (following := goes_on(chain[-1])) is not None:
        chain.append(following)
    made, of = _one_with_lists(chain[-1], lists), chain.pop()
    while chain:
        parts = [made if part is of else _with_lists(part, lists) for part in parts_of(chain[-1])]
        made, of = with_parts(chain[-1], parts), chain.pop()
    return made


def _one_with_lists(node: Node, lists: Sequence[Node]) -> Node:
    if _is_iteration(node):
        return with_parts(node, lists)
    parts = list(parts_of(node))
    if isinstance(node, Item):
        index = _with_lists(node.at, [*_lists_in(node.of), *lists][:_MAX_LISTS])
        return with_parts(node, [_with_lists(node.of, lists), index])
    is_own = isinstance(node, Call) and (
        node.function in _MAKING_LISTS or (node.function in _OF_ONE_LIST and len(parts) == 1)
    )
    return with_parts(node, [_with_lists(part, _lists_in(part) if is_own else lists) for part in parts])


def _lists_in(node: Node) -> list[Node]:
    """Return the first parts of a formula that may be lists whose items go along with each other."""
    found: list[Node] = []
    waiting = [node]
    while waiting and len(found) < _MAX_LISTS:
        one = waiting.pop()
        if isinstance(one, Call) and one.function in _OF_ONE_LIST and len(one.arguments) == 1:
            continue
        makes_lists = isinstance(one, Call) and one.function in _MAKING_LISTS
        is_whole = isinstance(one, Name | Item | Member) or makes_lists
        if is_whole and not any(map(_is_iteration, walk(one))):
            found.append(one)
        elif not makes_lists:
            waiting.extend(reversed([one.of] if isinstance(one, Item) else parts_of(one)))
    return found


def _is_iteration(node: Node) -> bool:
    return isinstance(node, Call) and node.function == ITERATION
