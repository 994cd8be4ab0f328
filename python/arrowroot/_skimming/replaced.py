"""Objects that a file would lose if a skim took its place."""

from __future__ import annotations

from arrowroot._errors import CorruptFileError, InvalidRequestError
from arrowroot._render import shown
from arrowroot._writing.older import Older, path_in_file

#: So many names are told.
_N_TOLD = 3


def check_nothing_is_lost(path: str, name: str) -> None:
    """Raise before a skim takes the place of a file that has objects, but not the tree of the skim.

    Whoever names a tree of a file means that tree. The trees of the inputs go along, so a file that has it is an older
    skim, and may have others. What is no file of ROOT's has nothing to lose.

    path: of this machine. name: of the tree, with its directories.

    Raises: InvalidRequestError with the lines to write; StorageError for a file that may not be read.
    """
    try:
        older = Older.of(path)
    except CorruptFileError:
        return
    name = path_in_file(name)
    if older is None or older.has(name) or not (others := older.objects):
        return
    more = len(others) - _N_TOLD
    told = f"{', '.join(map(shown, others[:_N_TOLD]))}{f' and {more} more' if more > 0 else ''}"
    stem = path.removesuffix(".root")
    second, whole = f"{stem}-2.root", f"{stem}-all.root"
    raise InvalidRequestError(
        f"{shown(path)}: a skim is written as a whole, and this one would lose {told}: write "
        f"{shown(f'{second}:{name}')}, then ar.merge({shown(whole)}, [{shown(path)}, {shown(second)}]), or arrowroot "
        "merge, has all in one file; to replace the file, remove it first"
    )
