"""Commands that other packages bring, by the entry point ``arrowroot.commands``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GROUP = "arrowroot.commands"
#: Commands that are in a package of their own.
PACKAGES = {"lab": "arrowroot-lab"}


def find(name: str) -> Callable[[Sequence[str]], int] | None:
    """Return the command of another package; None for the commands of this one, and for options.

    Raises: InvalidRequestError if the package that is known to have it is not installed.
    """
    if name not in PACKAGES:
        return None
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=name):
        command: Callable[[Sequence[str]], int] = entry.load()
        return command
    raise InvalidRequestError(
        f"arrowroot {name} is in a package of its own, which is not installed: pip install {PACKAGES[name]}, "
        "or in a checkout pip install ./lab"
    )
