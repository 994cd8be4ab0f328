"""Columns for what comparisons and histories ask of results; names of strategies with their caches."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from arrowroot_lab.canonical import key_of
from arrowroot_lab.store.summary import strategy_name

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

#: Names of a case for people, which are in no key.
_NAMES = ("dataset_name", "storage_name", "workload_name")
_AXES = ("engine", "storage", "strategy", "layout")
_BATCH = 200

VIEWS = {
    "results": """
        SELECT uuid, created_at, stored_at, campaign, run, commit_id, site, engine, version, versions, dataset,
               dataset_values, dataset_file, layout, storage, storage_kind, workload, strategy, outcome, reason,
               n_samples, n_counted, n_disturbed, wall_median_ns, wall_minimum_ns, cpu_median_ns, cpu_minimum_ns,
               peak_rss_bytes, n_entries, n_cores, case_id, series_id, environment_id, engine_group, storage_group,
               strategy_group, layout_group, form_version, document.text AS document
        FROM result JOIN document ON document.result_id = result.id""",
    "samples": """
        SELECT result.uuid, sample.place, sample.turn, sample.started_at, sample.outcome, sample.reason,
               sample.is_counted, sample.wall_ns, sample.cpu_ns, sample.peak_rss_bytes, sample.n_entries,
               sample.control_before_ns, sample.control_after_ns, sample.trace
        FROM sample JOIN result ON result.id = sample.result_id""",
    "newest_results": """
        SELECT results.* FROM results JOIN (
            SELECT uuid, row_number() OVER (PARTITION BY series_id ORDER BY created_at DESC, uuid DESC) AS place
            FROM newest
        ) AS ranked ON ranked.uuid = results.uuid WHERE ranked.place = 1""",
}


def upgrade() -> None:
    """Add the columns, fill them from the documents, and make the views anew."""
    for name in reversed(VIEWS):
        op.execute(f"DROP VIEW {name}")
    op.add_column("result", sa.Column("n_cores", sa.Integer, nullable=False, server_default="1"))
    for name in ("environment_id", *(f"{axis}_group" for axis in _AXES)):
        op.add_column("result", sa.Column(name, sa.Text, nullable=False, server_default=""))
    op.add_column("sample", sa.Column("n_entries", sa.BigInteger))
    op.add_column("sample", sa.Column("trace", sa.Text))
    _fill(op.get_bind())
    for name, query in VIEWS.items():
        op.execute(f"CREATE VIEW {name} AS {query}")


def _fill(connection: sa.Connection) -> None:
    of_result, of_sample = (_table(name, *columns) for name, columns in _FILLED.items())
    last = 0
    while rows := connection.execute(
        sa.text(
            "SELECT id, site, version, text FROM result JOIN document ON result_id = id WHERE id > :last ORDER BY id "
            "LIMIT :n"
        ),
        {"last": last, "n": _BATCH},
    ).all():
        last = rows[-1].id
        documents = [(row, json.loads(row.text)) for row in rows]
        connection.execute(
            of_result.update().where(of_result.c.id == sa.bindparam("key")),
            [{"key": row.id, **_of_result(row, document)} for row, document in documents],
        )
        samples = [
            {"key": row.id, "at": place, "n_entries": (sample.get("details") or {}).get("n_entries")}
            for row, document in documents
            for place, sample in enumerate(document.get("samples") or [])
        ]
        if samples:
            where = sa.and_(
                of_sample.c.result_id == sa.bindparam("key"), of_sample.c.place == sa.bindparam("at")
            )
            connection.execute(of_sample.update().where(where), samples)


_FILLED = {
    "result": ("id", "strategy", "n_cores", "environment_id", *(f"{axis}_group" for axis in _AXES)),
    "sample": ("result_id", "place", "n_entries"),
}


def _table(name: str, *columns: str) -> sa.TableClause:
    return sa.table(name, *(sa.column(column) for column in columns))


def _of_result(row: Any, document: dict[str, Any]) -> dict[str, Any]:
    case, machine = document["case"], document["machine"]
    told: dict[str, Any] = {
        "strategy": strategy_name(case["strategy"]),
        "n_cores": int(case.get("threads") or 1) * int(case.get("workers") or 1),
        "environment_id": key_of(document.get("environment") or {}),
    }
    for axis in _AXES:
        peers = {key: value for key, value in case.items() if key not in (axis, *_NAMES)}
        shared = [] if axis == "engine" else [row.version]
        place = {key: value for key, value in machine.items() if (axis, key) != ("storage", "storage")}
        told[f"{axis}_group"] = key_of([peers, shared, row.site, place])
    return told
