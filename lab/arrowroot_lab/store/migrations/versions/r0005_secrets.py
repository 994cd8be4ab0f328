"""Documents without secrets: older laboratories kept what a campaign's command, or a failing program, had of them."""

from __future__ import annotations

import json
from dataclasses import asdict

import sqlalchemy as sa
from alembic import op

from arrowroot_lab.documents import from_json, text_of
from arrowroot_lab.redaction import redacted
from arrowroot_lab.store.migrations.newest import renew
from arrowroot_lab.store.summary import summary_of

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_BATCH = 200
_RESULT = sa.table("result", *(sa.column(name) for name in ("id", "series_id", "stored_at")))
_DOCUMENT = sa.table("document", sa.column("result_id"), sa.column("text"))
_SAMPLE = sa.table("sample", *(sa.column(name) for name in ("result_id", "place", "reason")))
_ACCEPTED = sa.table("accepted", sa.column("series_id"), sa.column("reason"))


def upgrade() -> None:
    """Strike secrets out of documents, and make anew what columns have of these; keys are hashes of what is shown."""
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        # Else what is replaced stays in free pages of the file.
        connection.execute(sa.text("PRAGMA secure_delete = ON"))
    last, is_any = 0, False
    while rows := connection.execute(
        sa.text("SELECT result_id, text FROM document WHERE result_id > :last ORDER BY result_id LIMIT :n"),
        {"last": last, "n": _BATCH},
    ).all():
        last = rows[-1].result_id
        for row in rows:
            document = json.loads(row.text)
            shown = redacted(document)
            if shown != document:
                is_any = True
                _replace(connection, row.result_id, shown)
    for row in connection.execute(sa.text("SELECT DISTINCT reason FROM accepted")).all():
        if (reason := redacted(row.reason)) != row.reason:
            connection.execute(
                _ACCEPTED.update().where(_ACCEPTED.c.reason == row.reason).values(reason=reason)
            )
    if is_any:
        renew(connection, is_counted=False)


def _replace(connection: sa.Connection, key: int, document: dict[str, object]) -> None:
    result = from_json(document)
    before = connection.execute(
        sa.select(_RESULT.c.series_id, _RESULT.c.stored_at).where(_RESULT.c.id == key)
    ).one()
    told = {**asdict(summary_of(result, document["version"])), "stored_at": before.stored_at}  # type: ignore[arg-type]
    # Later steps add more of them, and fill these.
    known = {column["name"] for column in sa.inspect(connection).get_columns("result")}
    told = {name: value for name, value in told.items() if name in known}
    columns = sa.table("result", sa.column("id"), *map(sa.column, told))
    connection.execute(columns.update().where(columns.c.id == key).values(told))
    connection.execute(_DOCUMENT.update().where(_DOCUMENT.c.result_id == key).values(text=text_of(document)))
    for place, sample in enumerate(result.samples):
        is_it = sa.and_(_SAMPLE.c.result_id == key, _SAMPLE.c.place == place)
        connection.execute(_SAMPLE.update().where(is_it).values(reason=sample.reason))
    if before.series_id != result.series_id:
        # What was accepted of the series, under its old key, holds for the new one.
        connection.execute(
            _ACCEPTED.update()
            .where(_ACCEPTED.c.series_id == before.series_id)
            .values(series_id=result.series_id)
        )
