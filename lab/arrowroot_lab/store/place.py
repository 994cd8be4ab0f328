"""Where the database is, and connections to it that several processes can use at the same time."""

from __future__ import annotations

import ctypes
import os
import sqlite3
from pathlib import Path
from shutil import copyfile, rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from weakref import finalize

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from arrowroot_lab.documents import MAX_BYTES
from arrowroot_lab.errors import RequestError, StoreError
from arrowroot_lab.location import Location
from arrowroot_lab.redaction import redacted

from .faults import READ_ONLY

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: How long a writer waits for others; each of them holds the lock for milliseconds.
BUSY_TIMEOUT_S = 120
DEFAULT_PLACE = "arrowroot-lab.db"
#: A row has one document, and some more.
_LIMIT_LENGTH = 0  # SQLITE_LIMIT_LENGTH
_MOST_OF_A_ROW = MAX_BYTES + (1 << 20)
_EXPECTED = (
    "expected a path, or postgresql://USER@HOST:PORT/DATABASE, where PORT is a number, and @, : and / of names are "
    "%40, %3A and %2F"
)


def resolve(place: str | Path | None) -> URL:
    """Return the URL of the database: of ``place``, else ARROWROOT_LAB_DB, else the site's, else ./arrowroot-lab.db.

    Args:
        place: a path, or a URL: ``sqlite:///path``, ``postgresql://user@host/database``

    Raises: RequestError if it is a URL of another kind.
    """
    chosen = place or os.environ.get("ARROWROOT_LAB_DB") or _of_site() or DEFAULT_PLACE
    location = Location(chosen if isinstance(chosen, str) else str(chosen))
    told = location.whole()
    if "://" not in told:
        if location.is_url and not os.path.lexists(told):
            raise RequestError(f"{location}: this is neither a path nor a URL; {_EXPECTED}")
        return URL.create("sqlite", database=told)
    url = _parsed(told)
    kind = url.get_backend_name()
    if kind == "postgres":  # as other programs have it
        kind = "postgresql"
    if kind not in ("sqlite", "postgresql"):
        raise RequestError(
            f"{url.drivername}://...: results are kept in SQLite (a path) or PostgreSQL (postgresql://...)"
        )
    if kind == "sqlite" and url.database in (None, "", ":memory:"):
        raise RequestError(
            "sqlite://: a database in memory is gone with its process; name a file, as sqlite:///results.db"
        )
    return url.set(drivername="postgresql+psycopg" if kind == "postgresql" else "sqlite")


def _of_site() -> str | None:
    """The place that the site's file names; what reads that file is imported if nobody else names one."""
    from arrowroot_lab.campaign.site import here

    return here().store


def _parsed(told: str) -> URL:
    try:
        url = make_url(told)
    except (ArgumentError, ValueError):
        url = None
    if url is None or "@" in (url.host or ""):
        # A password may be anywhere in it, and in the parser's words.
        scheme = redacted(told.partition("://")[0])
        raise RequestError(f"{scheme}://...: this is no URL of a database; {_EXPECTED}")
    return url


def shown(url: URL) -> str:
    """The place for people: a path, or a URL without user and passwords."""
    told = (
        str(url.database)
        if url.get_backend_name() == "sqlite"
        else _open(url).render_as_string(hide_password=True)
    )
    return str(Location(told))


def server_of(url: URL) -> str | None:
    """Return the URL of a database on a server, without its passwords; None of a file."""
    if url.get_backend_name() == "sqlite":
        return None
    return _open(url)._replace(password=None).render_as_string(hide_password=False)


def _open(url: URL) -> URL:
    """The URL as PostgreSQL's clients write it, its query without what is secret: SQLAlchemy hands all of it on."""
    secret = [name for name, value in url.query.items() if redacted({name: str(value)}) != {name: str(value)}]
    return url.set(drivername=url.get_backend_name()).difference_update_query(secret)


def engine_of(url: URL, *, may_write: bool = True) -> Engine:
    """Return the engine of SQLAlchemy for a database, not yet connected."""
    if url.get_backend_name() == "sqlite":
        return _sqlite_engine(Path(str(url.database)), may_write=may_write)
    try:
        return create_engine(url, pool_pre_ping=True)
    except (ImportError, NoSuchModuleError) as error:
        raise StoreError(
            f"{shown(url)}: PostgreSQL needs the package psycopg: in a clone, pip install './lab[postgresql]'"
        ) from error


class _Connection(sqlite3.Connection):
    """A connection that is not closed if its files may not be written any more.

    SQLite maps the index of its log into memory, and writes there at each lock, and as it closes. If the file system
    has become read-only meanwhile, the kernel ends the process for that (SIGBUS).
    """

    #: None: it only reads.
    path: Path | None = None

    def close(self) -> None:
        """Close it, or leave it to the end of the process."""
        if self.path is None or _may_still_be_written(self.path):
            super().close()
        else:
            # The last reference that goes would close it, too.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))


def _may_still_be_written(path: Path) -> bool:
    return all(os.access(one, os.W_OK) for one in (path, Path(f"{path}-shm")) if one.exists())


def _sqlite_engine(path: Path, *, may_write: bool) -> Engine:
    """SQLite with a write-ahead log: readers wait for nobody, writers queue up at their first statement."""
    query, copy = "mode=rwc" if may_write else "mode=ro", None
    if not may_write and not _log_of(path).exists() and not os.access(path.parent, os.W_OK):
        # SQLite wants to make its index of the log even to read, and could not.
        if _is_never_written(path.parent):
            query = "immutable=1"
        else:
            copy = _copy_of(path)
    uri = f"file:{quote(str((copy or path).absolute()))}?{query}"
    engine = create_engine(
        URL.create("sqlite", database=uri, query={"uri": "true"}),
        connect_args={"timeout": BUSY_TIMEOUT_S, "factory": _Connection},
    )
    if copy is not None:
        finalize(engine, rmtree, copy.parent, ignore_errors=True)

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin where "begin" below says
        # What is no laboratory's may stand in a file that somebody else has made.
        connection.execute("PRAGMA trusted_schema = OFF")
        if hasattr(connection, "setlimit"):  # Python 3.11
            connection.setlimit(_LIMIT_LENGTH, _MOST_OF_A_ROW)
        if may_write:
            connection.path = path
            connection.execute("PRAGMA journal_mode = WAL")
        # A process that dies loses nothing. A power cut may take what was put since the log was last written out, which
        # closing does; waiting for the disk at each commit would cost 6 ms on a virtual one.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        if may_write and not _may_still_be_written(path):
            raise StoreError(f"{Location(str(path))}: {READ_ONLY}")
        # A transaction that reads first and asks for the lock later fails at once if another has written meanwhile.
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _log_of(path: Path) -> Path:
    return Path(f"{path}-wal")


def _is_never_written(directory: Path) -> bool:
    """True if nobody can make a write-ahead log there: its file system is read-only, or its owner may not either."""
    return bool(os.statvfs(directory).f_flag & os.ST_RDONLY) or not directory.stat().st_mode & 0o222


def _copy_of(path: Path) -> Path | None:
    """A copy of a database that others may write, in a directory of its own; None if somebody writes it just now.

    Read where it is, without the log, pages would change while they are read. Raises: StoreError if it cannot be made.
    """
    try:
        copy = Path(mkdtemp(prefix="arrowroot-lab-")) / path.name
        before = path.stat()
        copyfile(path, copy)
        after = path.stat()
    except OSError as error:
        raise StoreError(
            f"{path}: you may not write its directory, so that it is read from a copy, which cannot be made: {error}"
        ) from error
    # Who writes has a log, and brings it into the file before it is gone.
    if _log_of(path).exists() or (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
        rmtree(copy.parent, ignore_errors=True)
        return None
    return copy
