"""Texts that a file keeps: titles, names of aliases, notes."""

from __future__ import annotations

from arrowroot import _native
from arrowroot._errors import InvalidRequestError
from arrowroot._render import shown


def checked_text(value: object, what: str) -> str:
    """Return a text, such as a title. Raises: InvalidRequestError, naming ``what``, also for what UTF-8 cannot say."""
    if not isinstance(value, str):
        raise InvalidRequestError(f"{what}: expected text, got {shown(value)}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidRequestError(f"{what}: {shown(value)} is no text: {error.reason}") from None
    return value


def fault_of_name(name: str) -> str | None:
    """Return why ROOT opens no RNTuple, and no attribute set of one, by a name; None if it does."""
    return _native.name_fault(name)
