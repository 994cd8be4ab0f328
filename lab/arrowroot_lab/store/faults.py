"""What databases complain about, told as what happened and what can be done."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from arrowroot_lab.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What SQLite or PostgreSQL says, and what that means here; the first that is found.
_MEANINGS = (
    ("file is not a database", "it is no SQLite database; name another file by --db"),
    ("database disk image is malformed", "the database is damaged; restore a copy, or save what `sqlite3 FILE .recover` finds"),
    ("malformed database schema", "the database is damaged; restore a copy, or save what `sqlite3 FILE .recover` finds"),
    ("database or disk is full", "the disk is full; the result was not stored. Make room, and run the campaign again: it resumes"),
    ("no space left on device", "the disk is full; the result was not stored. Make room, and run the campaign again: it resumes"),
    ("disk i/o error", "the disk does not take or give the data (full, over quota, or broken)"),
    ("attempt to write a readonly database", "it may not be written; name one that may by --db"),
    ("unable to open database file", "the file cannot be opened; are directory and file there, and may you read and write both?"),
    ("database is locked", "another process has kept it locked for too long; is one stopped in the middle of a write?"),
    ("no such table", "a table is missing; the database is damaged, or not the laboratory's"),
    ("no such column", "a column is missing; the database is damaged, or not the laboratory's"),
    ("connection refused", "no server answers there"),
    ("could not translate host name", "the host has no such name"),
    ("password authentication failed", "the server refuses user or password"),
    ("does not exist", "it is not there; make it with createdb"),
)  # fmt: skip


@contextmanager
def told(place: str) -> Iterator[None]:
    """Turn a database's errors into StoreError, with the place and what can be done."""
    try:
        yield
    except SQLAlchemyError as error:
        raise StoreError(f"{place}: {meaning(error)}") from error


def meaning(error: SQLAlchemyError) -> str:
    """Return what an error of the database means: one sentence, with the database's own words."""
    words = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    said = " ".join(words.split())
    for part, told_as in _MEANINGS:
        if part in said.lower():
            return f"{told_as} ({said})"
    return f"the database says: {said}"
