"""Files that are there when they are whole: made beside their place, or elsewhere if nothing can take it."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Names of open files. What they lead to is added to, as by a shell's ``>>``.
_OPEN = re.compile(r"/dev/(stdin|stdout|stderr|fd/[0-9]+)|/proc/[a-z0-9-]+/(task/[0-9]+/)?fd/[0-9]+")


def is_special(place: Path) -> bool:
    """Return whether no other file can take the place: of a pipe or a device, and of an open file by its number."""
    name = os.path.abspath(place)  # noqa: PTH100 - links are not followed
    return _OPEN.fullmatch(name) is not None or (place.exists() and not place.is_file())


@contextmanager
def scratch(place: Path) -> Iterator[Path]:
    """Yield a directory for what is made for a place: beside it, so that it can be renamed. It is gone afterwards.

    Raises: OSError if it cannot be made.
    """
    beside = None if is_special(place) else place.resolve().parent
    if beside is not None:
        beside.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".making-", dir=beside))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def put(made: Path, place: Path) -> None:
    """Let a whole file take a place. A symbolic link stays one, and the permissions of what was there are kept.

    What is special is written itself, behind what it has.

    Raises: OSError.
    """
    if is_special(place):
        sys.stdout.flush()
        with made.open("rb") as whole, place.open("ab") as file:
            shutil.copyfileobj(whole, file)
        return
    target = place.resolve()
    with made.open("rb") as file:
        # Some file systems say only now that there is no room.
        os.fsync(file.fileno())
        if target.exists():
            os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
    made.replace(target)
