"""The files that a command is to write, looked at before it works."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot import InvalidRequestError
from arrowroot._saving.replacing import is_special
from arrowroot._storage.readers import scheme_of
from arrowroot._storage.url import split_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def check(outputs: Iterable[tuple[str, str | None]], inputs: Mapping[str, str]) -> None:
    """Raise before any work if a file that is asked for cannot be written, or would take the place of another.

    Args:
        outputs: Options, and the path given for each; None where none was.
        inputs: What the files are that must stay, by path or URL.

    Raises: InvalidRequestError.
    """
    taken = {os.path.realpath(_local(path)): what for path, what in inputs.items()}
    for option, path in outputs:
        if path is None:
            continue
        problem = _problem(path)
        if problem is None and (other := taken.setdefault(os.path.realpath(path), option)) != option:
            problem = f"it is {other}, which would be overwritten"
        if problem is not None:
            raise InvalidRequestError(f"{option} {path}: {problem}")


def _local(url: str) -> str:
    bare, _ = split_options(url)
    if scheme_of(bare) == "file":
        return bare.partition("://")[2].removeprefix("localhost") or bare
    return bare


def _problem(path: str) -> str | None:
    # The directory is that of the file itself: a symbolic link stays one.
    parent = Path(os.path.realpath(path)).parent
    if not parent.is_dir():
        return "there is no such directory"
    if Path(path).is_dir():
        return "it is a directory, expected the name of a file"
    if not is_special(path) and not os.access(parent, os.W_OK):
        return "its directory may not be written"
    return None
