"""The columns of a tree and of its friends under one set of names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arrowroot._select import Candidate


class FriendBranch(NamedTuple):
    """A branch by the name under which it is delivered, and where it is: the part, and its path there."""

    path: str
    name: str
    type_name: str
    is_group: bool
    is_part: bool
    unsupported: str | None
    part: int
    inner: str


def together(
    parts: Sequence[tuple[str | None, Sequence[Candidate]]], columns: str | Iterable[str] | None
) -> list[FriendBranch]:
    """Return the branches of a tree (alias None) and its friends to choose ``columns`` from.

    The tree's own go by their path. A friend's go by theirs if no other tree has it, and by "alias.path" if
    one has or if they are asked for so.
    """
    owners: dict[str, int] = {}
    for _, branches in parts:
        for branch in branches:
            owners[branch.path] = owners.get(branch.path, 0) + 1
    asked = [columns] if isinstance(columns, str) else list(columns or ())
    result = []
    for part, (alias, branches) in enumerate(parts):
        by_alias = alias is not None and any(text.startswith(f"{alias}.") for text in asked)
        for branch in branches:
            aliased = f"{alias}.{branch.path}"
            names = [branch.path] if alias is None or owners[branch.path] == 1 else [aliased]
            if by_alias and aliased not in names:
                names.append(aliased)
            for i, name in enumerate(names):
                # Only the first stands for the branch's short name, which must not look ambiguous.
                short = branch.name if i == 0 else name
                result.append(
                    FriendBranch(
                        name,
                        short,
                        branch.type_name,
                        branch.is_group,
                        branch.is_part,
                        branch.unsupported,
                        part,
                        branch.path,
                    )
                )
    return result
