"""Files that the output of a command would take the place of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot._errors import InvalidRequestError
from arrowroot._saving.replacing import is_special
from arrowroot._writing.replaced import check_nothing_is_lost

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_replaced(outputs: Iterable[tuple[str, str | None]], *, is_forced: bool, hint: str = "") -> None:
    """Raise if a ROOT file that is there would be replaced without --force, with all that is in it.

    An empty file is nothing to lose. outputs: paths, and the tables that are named. hint: what else may be meant.

    Raises: InvalidRequestError.
    """
    for path, table in outputs:
        place = Path(path)
        if is_forced or is_special(path) or not place.is_file() or not place.stat().st_size:
            continue
        if table is not None:
            try:
                check_nothing_is_lost(path, table)
            except InvalidRequestError as error:
                raise InvalidRequestError(f"{error}, or write --force") from None
        raise InvalidRequestError(f"{path} is there, and would be replaced: write --force for that{hint}")
