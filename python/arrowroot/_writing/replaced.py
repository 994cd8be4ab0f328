"""What a file that is there would lose if one with a single table took its place."""

from __future__ import annotations

import os

from arrowroot._errors import CorruptFileError, InvalidRequestError, NoSuchFileError
from arrowroot._render import shown
from arrowroot._saving.replacing import is_special
from arrowroot._storage.readers import Opening

#: So many names are told.
_N_TOLD = 3


def check_nothing_is_lost(path: str, name: str, *, with_others: bool = False) -> None:
    """Raise before a file with one table takes the place of a file that has other objects.

    Whoever names a table of a file means that table. What is no file of ROOT's has nothing to lose.

    path: of this machine. name: of the table, with its directories.
    with_others: the new file may have more than the table, so one that has this table may be replaced.

    Raises: InvalidRequestError with the lines to write; StorageError for a file that may not be read.
    """
    others = _others(path, name, with_others=with_others)
    if not others:
        return
    more = len(others) - _N_TOLD
    told = f"{', '.join(map(shown, others[:_N_TOLD]))}{f' and {more} more' if more > 0 else ''}"
    stem = path.removesuffix(".root")
    second, whole = f"{stem}-2.root", f"{stem}-all.root"
    raise InvalidRequestError(
        f"{shown(path)}: files are written as a whole, and this one would lose {told}: write "
        f"{shown(f'{second}:{name}')}, then ar.merge({shown(whole)}, [{shown(path)}, {shown(second)}]), or arrowroot "
        "merge, has all in one file; to replace the file, remove it first"
    )


def _others(path: str, name: str, *, with_others: bool) -> list[str]:
    """Return the objects of a file, each once, that are not the table of a name."""
    if is_special(path) or not os.path.isfile(path):  # noqa: PTH113 - text
        return []
    try:
        keys = Opening([path]).open().keys("", recursive=True, cycles=False)
    except (CorruptFileError, NoSuchFileError):
        return []
    name = "/".join(part for part in name.split("/") if part)
    found = [key.path for key in keys if not key.is_directory]
    return [] if with_others and name in found else [one for one in found if one != name]
