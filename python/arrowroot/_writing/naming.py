"""Errors that know columns and entries alone get the name of their table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from arrowroot._errors import ArrowrootError, InvalidRequestError, UnsupportedError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class _Reraising:
    """Where an error is told of. It is no generator: these take longer than all else that is done for a small batch."""

    __slots__ = ("_where",)

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        ours = _ours_of(error) if isinstance(error, pa.ArrowException) else None
        if ours is not None:
            raise ours(f"{self._where}: {error}") from error


class _Naming(_Reraising):
    __slots__ = ()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            return
        if isinstance(error, InvalidRequestError | UnsupportedError):
            error.args = (f"{self._where}: {error.args[0]}",)
        elif isinstance(error, UnicodeDecodeError):
            raise InvalidRequestError(f"{self._where}: a name of the schema is not UTF-8: {error}") from None
        else:
            super().__exit__(kind, error, traceback)


def reraising(where: str) -> AbstractContextManager[None]:
    """Raise our errors for those of pyarrow, with the name of a table."""
    return _Reraising(where)


def naming(where: str) -> AbstractContextManager[None]:
    """Name a table in errors that know columns and entries alone, as pyarrow's; those of a store have the file."""
    return _Naming(where)


def _ours_of(error: pa.ArrowException) -> type[ArrowrootError] | None:
    """Return our error for one of pyarrow's, None for others."""
    if isinstance(error, pa.ArrowNotImplementedError):
        return UnsupportedError
    is_of_data = isinstance(error, pa.ArrowInvalid | pa.ArrowTypeError | pa.ArrowKeyError)
    return InvalidRequestError if is_of_data else None
