"""Objects of ROOT's classes, made here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._objects.factory import kind_of
from arrowroot._writing.texts import checked_text

if TYPE_CHECKING:
    from arrowroot._objects.record import Record


def record_of(class_name: str, members: dict[str, Any], bases: tuple[str, ...] = ()) -> Record:
    """Return an object; ``bases``: near ones first, as far as they matter."""
    record = kind_of(class_name, bases)(class_name, bases)
    record._fill(members, ())  # noqa: SLF001 - as the factory does
    return record


def members_of_object(bits: int = 0) -> dict[str, Any]:
    """Return the members of a ``TObject``."""
    return {"fUniqueID": 0, "fBits": bits}


def text(value: str, number: int = 0) -> Record:
    """Return a ``TObjString``; ``number``: of the bin whose label it is. Raises: InvalidRequestError."""
    checked = checked_text(value, "TObjString")
    return record_of("TObjString", {"fUniqueID": number, "fBits": 0, "fString": checked})


def list_of(class_name: str, items: list[Record], name: str = "") -> Record:
    """Return a ``TList`` or ``THashList``."""
    return record_of(
        class_name,
        members_of_object(1 << 16)
        | {"fName": name, "fItems": [{"option": "", "object": item} for item in items]},
    )


def named(name: str, title: str, bits: int = 0) -> dict[str, Any]:
    """Return the members of a ``TNamed``. Raises: InvalidRequestError."""
    return members_of_object(bits) | {"fName": name, "fTitle": checked_text(title, "title")}
