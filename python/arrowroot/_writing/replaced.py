"""Objects that a file would lose if one with a single table took its place."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from arrowroot._errors import CorruptFileError, InvalidRequestError, NoSuchFileError
from arrowroot._render import shown
from arrowroot._saving.replacing import is_special
from arrowroot._storage.readers import Opening
from arrowroot._storage.url import as_location, split_url

if TYPE_CHECKING:
    from arrowroot._storage.url import Location

#: So many names are told.
_N_TOLD = 3
#: Identifiers of ROOT's processes, which belong to the references in a table.
_PROCESS_CLASS = "TProcessID"


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
    second, _ = _beside(path)
    raise InvalidRequestError(
        f"{shown(path)}: files are written as a whole, and this one would lose {told}: write "
        f"{shown(f'{second}:{name}')}, then {_merging(path)}, or arrowroot merge, has all in one file; to replace the "
        "file, remove it first"
    )


def refuse_object(path: Location, data: Any) -> None:
    """Raise InvalidRequestError for a histogram or another object in the place of a table, with the line to write."""
    from arrowroot._writing.data import is_table_data

    if is_table_data(data) and not isinstance(data, dict):
        return
    from arrowroot._writing.objects import is_object

    if not is_object(data):
        return
    file, name = split_url(path) if isinstance(path, str) else (as_location(path), None)
    is_there = os.path.exists(file)  # noqa: PTH110 - text
    if isinstance(data, dict):
        written = "; ".join(f"new[{shown(one)}] = data[{shown(one)}]" for one in data)
    else:
        written = f"new[{shown(name or getattr(data, 'name', None) or 'h')}] = hist"
    raise InvalidRequestError(
        f"write() writes a table, and objects are set: write with ar.create("
        f"{shown(_beside(file)[0] if is_there else file)}) as new: {written}"
        f"{f'; then {_merging(file)} has all in one file' if is_there else ''}"
    )


def _beside(path: str) -> tuple[str, str]:
    """Return the names of a file beside one that is there, and of one that has what is in both."""
    stem = path.removesuffix(".root")
    return f"{stem}-2.root", f"{stem}-all.root"


def _merging(path: str) -> str:
    second, whole = _beside(path)
    return f"ar.merge({shown(whole)}, [{shown(path)}, {shown(second)}])"


def _others(path: str, name: str, *, with_others: bool) -> list[str]:
    """Return the objects of a file, each once, that are not the table of a name."""
    if is_special(path) or not os.path.isfile(path):  # noqa: PTH113 - text
        return []
    try:
        keys = Opening([path]).open().keys("", recursive=True, cycles=False)
    except (CorruptFileError, NoSuchFileError):
        return []
    name = "/".join(part for part in name.split("/") if part)
    found = [key.path for key in keys if not key.is_directory and key.class_name != _PROCESS_CLASS]
    return [] if with_others and name in found else [one for one in found if one != name]
