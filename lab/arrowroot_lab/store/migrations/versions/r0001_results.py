"""Results, their documents, samples and counters, the newest of each series and version, and the views."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

INTEGER_64 = sa.BigInteger().with_variant(sa.Integer, "sqlite")

#: The names that docs/lab/documents.md promises to whoever mines by SQL.
VIEWS = {
    "results": """
        SELECT uuid, created_at, stored_at, campaign, run, commit_id, site, engine, version, versions, dataset,
               dataset_values, dataset_file, layout, storage, storage_kind, workload, strategy, outcome, reason,
               n_samples, n_counted, n_disturbed, wall_median_ns, wall_minimum_ns, cpu_median_ns, cpu_minimum_ns,
               peak_rss_bytes, n_entries, case_id, series_id, form_version, document.text AS document
        FROM result JOIN document ON document.result_id = result.id""",
    "samples": """
        SELECT result.uuid, sample.place, sample.turn, sample.started_at, sample.outcome, sample.reason,
               sample.is_counted, sample.wall_ns, sample.cpu_ns, sample.peak_rss_bytes, sample.control_before_ns,
               sample.control_after_ns
        FROM sample JOIN result ON result.id = sample.result_id""",
    "counters": """
        SELECT result.uuid, counter.place, counter.layer, counter.name, counter.value
        FROM counter JOIN result ON result.id = counter.result_id""",
    "newest_results": """
        SELECT results.* FROM results JOIN (
            SELECT uuid, row_number() OVER (PARTITION BY series_id ORDER BY created_at DESC, uuid DESC) AS place
            FROM newest
        ) AS ranked ON ranked.uuid = results.uuid WHERE ranked.place = 1""",
}


def _key(target: str = "result.id") -> sa.Column[int]:
    return sa.Column("result_id", INTEGER_64, sa.ForeignKey(target), primary_key=True, autoincrement=False)


def upgrade() -> None:
    """Make all of it."""
    text, integer, big = sa.Text, sa.Integer, sa.BigInteger
    op.create_table(
        "result",
        sa.Column("id", INTEGER_64, primary_key=True),
        sa.Column("uuid", text, nullable=False),
        sa.Column("form_version", integer, nullable=False),
        sa.Column("created_at", text, nullable=False),
        sa.Column("stored_at", text, nullable=False),
        sa.Column("case_id", text, nullable=False),
        sa.Column("series_id", text, nullable=False),
        sa.Column("site", text, nullable=False),
        sa.Column("campaign", text, nullable=False),
        sa.Column("run", text),
        sa.Column("commit_id", text),
        sa.Column("engine", text, nullable=False),
        sa.Column("version", text, nullable=False),
        sa.Column("versions", text, nullable=False),
        sa.Column("dataset", text, nullable=False),
        sa.Column("dataset_values", text, nullable=False),
        sa.Column("dataset_file", text),
        sa.Column("layout", text),
        sa.Column("storage", text, nullable=False),
        sa.Column("storage_kind", text, nullable=False),
        sa.Column("workload", text, nullable=False),
        sa.Column("strategy", text, nullable=False),
        sa.Column("outcome", text, nullable=False),
        sa.Column("reason", text),
        sa.Column("n_samples", integer, nullable=False),
        sa.Column("n_counted", integer, nullable=False),
        sa.Column("n_disturbed", integer, nullable=False),
        sa.Column("wall_median_ns", big),
        sa.Column("wall_minimum_ns", big),
        sa.Column("cpu_median_ns", big),
        sa.Column("cpu_minimum_ns", big),
        sa.Column("peak_rss_bytes", big),
        sa.Column("n_entries", big),
    )
    op.create_index("result_uuid", "result", ["uuid"], unique=True)
    op.create_index("result_series", "result", ["series_id", "created_at"])
    op.create_index("result_case", "result", ["case_id", "site"])
    op.create_index("result_campaign", "result", ["campaign", "run"])
    op.create_index("result_created", "result", ["created_at"])
    op.create_table("document", _key(), sa.Column("text", text, nullable=False))
    op.create_table(
        "sample",
        _key(),
        sa.Column("place", integer, primary_key=True, autoincrement=False),
        sa.Column("turn", big, nullable=False),
        sa.Column("started_at", text, nullable=False),
        sa.Column("outcome", text, nullable=False),
        sa.Column("reason", text),
        sa.Column("is_counted", integer, nullable=False),
        sa.Column("wall_ns", big),
        sa.Column("cpu_ns", big),
        sa.Column("peak_rss_bytes", big),
        sa.Column("control_before_ns", big),
        sa.Column("control_after_ns", big),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "counter",
        _key(),
        sa.Column("place", integer, primary_key=True, autoincrement=False),
        sa.Column("layer", text, primary_key=True),
        sa.Column("name", text, primary_key=True),
        sa.Column("value", big, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "newest",
        sa.Column("series_id", text, primary_key=True),
        sa.Column("version", text, primary_key=True),
        sa.Column("campaign", text, primary_key=True),
        sa.Column("result_id", INTEGER_64, sa.ForeignKey("result.id"), nullable=False),
        sa.Column("created_at", text, nullable=False),
        sa.Column("uuid", text, nullable=False),
    )
    for name, query in VIEWS.items():
        op.execute(f"CREATE VIEW {name} AS {query}")
