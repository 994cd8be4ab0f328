"""Projected fields of RNTuples in a skim: those that stay what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from arrowroot._layout.settings import Format


def kept_projections(projections: Mapping[str, str], names: Collection[str], form: Format) -> dict[str, str]:
    """Return the projected fields among the names of chosen columns that are no columns of the output.

    projections: what each shows. form: what the output is. They are projected there, too, if what they show is a column
    of it, or a tree has branches of their names anyway, as members and counters.
    """

    def is_kept(name: str, source: str) -> bool:
        path = source.removeprefix("#")
        if form == "ttree" and name != ("n" if path != source else "") + path.replace(".", "_"):
            return False
        ends = (end for end, letter in enumerate(f"{path}.") if letter == ".")
        return any(path[:end] in names for end in ends)

    return {name: source for name, source in projections.items() if name in names and is_kept(name, source)}
