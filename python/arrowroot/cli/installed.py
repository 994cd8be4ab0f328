"""The command of the laboratory, which its own package brings by an entry point."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from arrowroot import InvalidRequestError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence
    from importlib.metadata import EntryPoint


def find(name: str) -> Callable[[Sequence[str]], int] | None:
    """Return the laboratory's command if that is the name; None for the commands of this package, and for options.

    Raises: InvalidRequestError if the laboratory is not installed.
    """
    if name != "lab":
        return None
    for entry in _entry_points():
        command: Callable[[Sequence[str]], int] = entry.load()
        return command
    raise InvalidRequestError(
        "arrowroot lab is in a package of its own, which is not installed: in a clone, pip install ./lab"
    )


def parser() -> argparse.ArgumentParser | None:
    """Return the parser of the laboratory, which stands beside its command; None if it is not installed."""
    for entry in _entry_points():
        found: argparse.ArgumentParser = import_module(entry.module).parser()
        return found
    return None


def _entry_points() -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points

    return entry_points(group="arrowroot.commands", name="lab")
