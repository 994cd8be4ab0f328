"""Errors that know columns and entries alone get the name of their table."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from arrowroot._errors import ArrowrootError, InvalidRequestError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def reraising(where: str) -> Iterator[None]:
    """Raise our errors for those of pyarrow, with the name of a table."""
    try:
        yield
    except pa.ArrowException as error:
        ours = _ours_of(error)
        if ours is None:
            raise
        raise ours(f"{where}: {error}") from error


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Name a table in errors that know columns and entries alone, as pyarrow's; those of a store have the file."""
    with reraising(where):
        try:
            yield
        except (InvalidRequestError, UnsupportedError) as error:
            error.args = (f"{where}: {error.args[0]}",)
            raise
        except UnicodeDecodeError as error:
            raise InvalidRequestError(f"{where}: a name of the schema is not UTF-8: {error}") from None


def _ours_of(error: pa.ArrowException) -> type[ArrowrootError] | None:
    """Return our error for one of pyarrow's, None for others."""
    if isinstance(error, pa.ArrowNotImplementedError):
        return UnsupportedError
    is_of_data = isinstance(error, pa.ArrowInvalid | pa.ArrowTypeError | pa.ArrowKeyError)
    return InvalidRequestError if is_of_data else None
