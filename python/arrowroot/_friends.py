"""The columns of a tree and of its friends under one set of names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot._select import Candidate


class FriendBranch(NamedTuple):
    """A branch by the name under which it is delivered, and where it is: the part, and its path there."""

    path: str
    name: str
    type_name: str
    is_group: bool
    depth: int
    is_part: bool
    unsupported: str | None
    part: int
    inner: str


def together(
    parts: Sequence[tuple[str | None, Sequence[Candidate]]], columns: Sequence[str] | None
) -> list[FriendBranch]:
    """Return the branches of a tree (alias None) and its friends to choose ``columns`` from.

    The tree's own go by their path. A friend's go by theirs if no other tree has it, and by "alias.path" if
    one has or if they are asked for so.
    """
    owners: dict[str, int] = {}
    for _, branches in parts:
        for branch in branches:
            owners[branch.path] = owners.get(branch.path, 0) + 1
    result = []
    for part, (alias, branches) in enumerate(parts):

        def named(branch: Candidate, path: str, name: str, part: int = part) -> FriendBranch:
            kind = branch.type_name
            return FriendBranch(
                path,
                name,
                kind,
                branch.is_group,
                branch.depth,
                branch.is_part,
                branch.unsupported,
                part,
                branch.path,
            )

        for branch in branches:
            is_free = alias is None or owners[branch.path] == 1
            result.append(named(branch, branch.path if is_free else f"{alias}.{branch.path}", branch.name))
        if alias is not None and any(text.startswith(f"{alias}.") for text in columns or ()):
            # By this second name alone: the short one must not look ambiguous.
            aliased = [(branch, f"{alias}.{branch.path}") for branch in branches]
            result += [named(branch, name, name) for branch, name in aliased]
    return result
