"""Readings as columns: the kind of CPU, the round trip, the node's load and network, the control kernel.

The index of series has the version, too: what is compared are the newest results of some versions.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa
from alembic import op

from arrowroot_lab.store.migrations.versions.r0006_memory import VIEWS as BEFORE
from arrowroot_lab.store.summary import load_of, network_of, readings_of

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_OF_SAMPLE = (("load_1_minute", sa.Float), ("network_bytes_per_s", sa.BigInteger))
_OF_RESULT = (
    ("cpu_model", sa.Text),
    ("round_trip_ns", sa.BigInteger),
    *_OF_SAMPLE,
    ("control_ns", sa.BigInteger),
)
_BATCH = 200

VIEWS = {
    **BEFORE,
    "results": BEFORE["results"].replace(
        "form_version,", f"{', '.join(name for name, _ in _OF_RESULT)}, form_version,"
    ),
    "samples": BEFORE["samples"].replace(
        "sample.n_entries,", f"{', '.join(f'sample.{name}' for name, _ in _OF_SAMPLE)}, sample.n_entries,"
    ),
}


def upgrade() -> None:
    """Add the columns, fill them from the documents, and make the views anew."""
    for name in reversed(VIEWS):
        op.execute(f"DROP VIEW {name}")
    for table, columns in (("result", _OF_RESULT), ("sample", _OF_SAMPLE)):
        for name, kind in columns:
            op.add_column(table, sa.Column(name, kind))
    _fill(op.get_bind())
    op.drop_index("result_series", "result")
    op.create_index("result_series", "result", ["series_id", "version", "created_at"])
    for name, query in VIEWS.items():
        op.execute(f"CREATE VIEW {name} AS {query}")


def _fill(connection: sa.Connection) -> None:
    of_result = sa.table("result", sa.column("id"), *(sa.column(name) for name, _ in _OF_RESULT))
    keys = ("result_id", "place")
    of_sample = sa.table("sample", *map(sa.column, keys), *(sa.column(name) for name, _ in _OF_SAMPLE))
    is_it = sa.and_(of_sample.c.result_id == sa.bindparam("key"), of_sample.c.place == sa.bindparam("at"))
    last = 0
    while rows := connection.execute(
        sa.text("SELECT result_id, text FROM document WHERE result_id > :last ORDER BY result_id LIMIT :n"),
        {"last": last, "n": _BATCH},
    ).all():
        last = rows[-1].result_id
        found = [(row.result_id, _read(row.text)) for row in rows]
        connection.execute(
            of_result.update().where(of_result.c.id == sa.bindparam("key")),
            [{"key": key, **readings_of(result)} for key, result in found],
        )
        samples = [
            {"key": key, "at": place, "load_1_minute": load_of(one), "network_bytes_per_s": network_of(one)}
            for key, result in found
            for place, one in enumerate(result.samples)
            if one.readings
        ]
        if samples:
            connection.execute(of_sample.update().where(is_it), samples)


def _read(text: str) -> Any:
    """What readings are taken of: the document was checked when it was put, which takes five times as long."""
    document = json.loads(text)
    samples = [
        SimpleNamespace(readings=one.get("readings") or {}, control_ns=one.get("control_ns"))
        for one in document.get("samples") or ()
    ]
    parts = {name: document.get(name) or {} for name in ("machine", "environment", "line")}
    return SimpleNamespace(samples=samples, **parts)
