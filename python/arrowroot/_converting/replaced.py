"""Files and tables that the output of a command would take the place of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot._errors import InvalidRequestError
from arrowroot._render import shown
from arrowroot._saving.replacing import is_special
from arrowroot._skimming.replaced import check_nothing_is_lost
from arrowroot._writing.older import Older, path_in_file

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_replaced(outputs: Iterable[tuple[str, str | None]], *, is_forced: bool, hint: str = "") -> None:
    """Raise if a ROOT file that is there would be replaced without --force, with all that is in it.

    An empty file is nothing to lose. outputs: paths, and the tables that are named. hint: what else may be meant.

    Raises: InvalidRequestError.
    """
    for path, table in outputs:
        if is_forced or not _is_there(path):
            continue
        if table is not None:
            try:
                check_nothing_is_lost(path, table)
            except InvalidRequestError as error:
                raise InvalidRequestError(f"{error}, or write --force") from None
        raise InvalidRequestError(f"{path} is there, and would be replaced: write --force for that{hint}")


def check_table_replaced(path: str, table: str | None, *, is_forced: bool, hint: str = "") -> None:
    """Raise if a ROOT file would be replaced without --force, or the table of it that is named; one more is added.

    Raises: InvalidRequestError.
    """
    if is_forced or table is None or not _is_there(path):
        check_replaced([(path, None)], is_forced=is_forced, hint=hint)
        return
    older = Older.beside(path, "")
    if older is None or not older.objects:
        check_replaced([(path, None)], is_forced=False, hint=hint)
    elif older.has(path_in_file(table)):
        what = f"{path} has {shown(table)}, which would be replaced"
        raise InvalidRequestError(f"{what}: write --force for that{hint}")


def _is_there(path: str) -> bool:
    place = Path(path)
    return not is_special(path) and place.is_file() and place.stat().st_size > 0
