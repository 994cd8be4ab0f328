"""What databases complain about, told as what happened and what can be done."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from arrowroot_lab.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

_DAMAGED = "the database is damaged; restore a copy, or save what `sqlite3 FILE .recover` finds"
_FULL = "the disk is full, nothing of the result was stored; make room"
READ_ONLY = "it may not be written; name one that may by --db"
_AWAY = "the server has ended or is being started; see that it is there"
#: How a user of PostgreSQL comes to what is needed.
RIGHTS = (
    "let the owner of its tables grant the rights (docs/lab/sites.md#postgresql), or name another one by --db"
)
_FOREIGN = "a table or column is missing; the database is damaged, or not the laboratory's"
#: What SQLite or PostgreSQL says, as patterns, and what that means here; the first that is found.
_MEANINGS = (
    ("file is not a database", "it is no SQLite database; name another file by --db"),
    ("database disk image is malformed", _DAMAGED),
    ("malformed database schema", _DAMAGED),
    ("database or disk is full", _FULL),
    ("no space left on device", _FULL),
    (
        "disk i/o error",
        "the disk does not take or give the data: full, over quota, or broken",
    ),
    ("attempt to write a readonly database", READ_ONLY),
    ("in a read-only transaction", READ_ONLY),
    (
        "unable to open database file",
        "the file cannot be opened; may you read and write it, and its directory?",
    ),
    ("database is locked", "another process keeps it locked; is one stopped in the middle of a write?"),
    ("no such table", _FOREIGN),
    ("no such column", _FOREIGN),
    ("database system is (shutting down|starting up|in recovery)", _AWAY),
    ("terminating connection|server closed the connection", _AWAY),
    ("connection refused", "no server answers there"),
    ("is the server running", "no server answers there"),
    ("could not translate host name", "the host has no such name"),
    ("failed to resolve host", "the host has no such name"),
    ("password authentication failed", "the server refuses user or password"),
    ("fatal: role", "the server does not know the user"),
    ("database .* does not exist", "it is not there; make it with createdb"),
    ("(relation|column) .* does not exist", _FOREIGN),
    ("permission denied for", f"this user may not do that; {RIGHTS}"),
)


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
        if re.search(part, said.lower()):
            return f"{told_as} ({said})"
    return f"the database says: {said}"


def is_of_values(error: BaseException) -> bool:
    """True if PostgreSQL refused what was to be stored (classes 22 and 54 of its errors): others it may take."""
    refused = error.__cause__.orig if isinstance(error.__cause__, DBAPIError) else None
    return str(getattr(refused, "sqlstate", None))[:2] in ("22", "54")
