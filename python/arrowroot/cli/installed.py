"""The command of the laboratory, which its own package brings by an entry point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def find(name: str) -> Callable[[Sequence[str]], int] | None:
    """Return the laboratory's command if that is the name; None for the commands of this package, and for options.

    Raises: InvalidRequestError if the laboratory is not installed.
    """
    if name != "lab":
        return None
    from importlib.metadata import entry_points

    for entry in entry_points(group="arrowroot.commands", name=name):
        command: Callable[[Sequence[str]], int] = entry.load()
        return command
    raise InvalidRequestError(
        "arrowroot lab is in a package of its own, which is not installed: pip install arrowroot-lab, "
        "or in a checkout pip install ./lab"
    )
