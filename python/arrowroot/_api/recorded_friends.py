"""The friends that a tree's record names, and theirs."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from arrowroot._errors import InvalidRequestError, NoSuchKeyError, UnsupportedError
from arrowroot._objects.record import kind_text
from arrowroot._select.events import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arrowroot._api.tree import Tree

#: The most friends, and friends of friends, that are opened for one tree.
_N_FOLLOWED = 64


def follow(tree: Tree) -> None:
    """Open the recorded friends of a tree, each with its own, and add them.

    A circle ends where it closes: a tree is not added to a friend of its own.

    Raises: what opening a file and ``add_friend`` raise. UnsupportedError for more than 64 friends.
    """
    _follow(tree, [], count(1))


def _follow(tree: Tree, around: list[str], numbers: Iterator[int]) -> None:
    """Add the recorded friends. ``around``: the trees that this one is a friend of."""
    around = [*around, _place_of(tree)]
    for alias, name, file in tree.recorded_friends:
        try:
            found = tree.friend_in(file, name)
        except NoSuchKeyError as error:
            if not file:
                error.args = (f"{error}; {_of_a_chain(alias, name)}",)
            raise
        if not isinstance(found, type(tree)):
            raise UnsupportedError(f"{tree.location}: its friend {name!r} is {kind_text(found)}")
        place = _place_of(found)
        if place == around[-1]:
            # The friend has the name of the tree, and no file.
            raise InvalidRequestError(
                f"{tree.location}: its friend {alias!r} would be the tree itself; {_of_a_chain(alias, name)}"
            )
        if place in around:
            continue
        if next(numbers) > _N_FOLLOWED:
            raise UnsupportedError(
                f"{tree.location}: more than {_N_FOLLOWED} friends of friends; add those that are needed by add_friend"
            )
        _follow(found, around, numbers)
        try:
            tree.add_friend(found, alias)
        except InvalidRequestError as error:
            if found.num_entries < tree.num_entries:
                error.args = (f"{error}; {_of_a_chain(alias, name)}",)
            raise


def _place_of(tree: Tree) -> str:
    return f"{place_of(tree.url)}:{tree.path}"


def _of_a_chain(alias: str, name: str) -> str:
    """Say what to do about a friend that was a TChain: a TFriendElement (ROOT 6.40) names one file at most."""
    return (
        "if the friend was a TChain, ROOT recorded no file of it, or one alone: give them all, "
        f"arrowroot.scan(..., friends={{{alias!r}: arrowroot.Friends([...], {name!r})}})"
    )
