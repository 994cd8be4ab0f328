"""The schema: made where there is none, brought up to date where it is old, refused where it is another's or newer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import inspect, text

from arrowroot_lab.errors import StoreError

from .faults import RIGHTS
from .tables import metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

#: The newest step of ``migrations/versions``.
REVISION = "0008"
VERSION_TABLE = "arrowroot_lab_version"
#: Steps run one process at a time; PostgreSQL has locks that are numbers.
_LOCK = 0x6C61_6221
#: What whoever writes needs of tables: ``newest`` is replaced, and what was accepted can be taken back.
_RIGHTS = {
    "SELECT": tuple(metadata.tables),
    "INSERT": tuple(metadata.tables),
    "UPDATE": ("newest",),
    "DELETE": ("accepted",),
}


def bring_up_to_date(engine: Engine, place: str) -> None:
    """Make the tables, or add what they lack; several processes may do so at the same time.

    Raises: StoreError if the database is another program's, or of a newer laboratory, or may not be written.
    """
    with engine.connect() as connection:
        if revision_of(connection, place) == REVISION:
            _check_rights(connection, place)
            return
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        if revision_of(connection, place) != REVISION:
            try:
                upgrade(connection, REVISION)
            except StoreError as error:
                raise StoreError(f"{place}: {error}") from error


def _check_rights(connection: Connection, place: str) -> None:
    """Raise StoreError if a server does not let the user write: it is told before hours of measuring."""
    if connection.dialect.name != "postgresql":
        return
    of_table = text("SELECT has_table_privilege(:name, :right)")
    # Numbers of results are drawn from a sequence.
    of_sequence = text("SELECT has_sequence_privilege(pg_get_serial_sequence(:name, 'id'), :right)")
    asked = [(of_table, right, name) for right, names in _RIGHTS.items() for name in names]
    lacks = [
        f"{right} on {name if query is of_table else f'the sequence of {name}.id'}"
        for query, right, name in [*asked, (of_sequence, "USAGE", "result")]
        if not connection.execute(query, {"name": name, "right": right}).scalar_one()
    ]
    if lacks:
        raise StoreError(f"{place}: this user may not write it: it lacks {', '.join(lacks)}; {RIGHTS}")


def revision_of(connection: Connection, place: str) -> str | None:
    """Return the step at which the database is; None if it is empty.

    Raises: StoreError if it is another program's, or of a newer laboratory.
    """
    tables = inspect(connection).get_table_names()
    if VERSION_TABLE not in tables:
        if tables:
            raise StoreError(
                f"{place}: the database is another program's: it has the tables {', '.join(sorted(tables)[:5])}, and "
                "none of the laboratory's; name another one by --db"
            )
        return None
    query = f"SELECT version_num FROM {VERSION_TABLE}"  # noqa: S608 - a name of ours
    revision = connection.execute(text(query)).scalar_one_or_none()
    if revision is None or str(revision) > REVISION:
        raise StoreError(
            f"{place}: the database is of a newer laboratory (step {revision}, this one knows {REVISION}); "
            "update arrowroot-lab"
        )
    return str(revision)


def check_foreign(connection: Connection, place: str) -> None:
    """Raise StoreError if a database of others has what would run when it is read, or that a step of ours would start.

    A view in the place of a table may have no end, and triggers do whatever they like with what is written.
    """
    if connection.dialect.name != "sqlite":
        return
    found = connection.execute(text("SELECT type, name FROM sqlite_master WHERE type IN ('view', 'trigger')"))
    for kind, name in found:
        if kind == "trigger" or name in (*metadata.tables, VERSION_TABLE):
            raise StoreError(f"{place}: it has a {kind} {name!r}: this is no database of the laboratory's")


def upgrade(connection: Connection, revision: str) -> None:
    """Run the steps up to one of them.

    Raises: StoreError if one cannot be made of what is there.
    """
    from alembic import command
    from alembic.config import Config
    from alembic.util.exc import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, revision)
    except (CommandError, ValueError, LookupError, TypeError, AttributeError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise StoreError(f"the database cannot be brought up to date, is it damaged? ({problem})") from error
