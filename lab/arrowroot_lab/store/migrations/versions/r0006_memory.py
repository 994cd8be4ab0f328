"""Virtual memory, user and system time and the wait for a processor of samples; whether others used the node."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from arrowroot_lab.store.migrations.versions.r0002_groups import VIEWS as BEFORE

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

OF_SAMPLE = ("peak_virtual_bytes", "user_ns", "system_ns", "queued_ns")

VIEWS = {
    **BEFORE,
    "results": BEFORE["results"].replace("n_cores,", "n_cores, node,"),
    "samples": BEFORE["samples"].replace(
        "sample.n_entries,", f"{', '.join(f'sample.{name}' for name in OF_SAMPLE)}, sample.n_entries,"
    ),
}


def upgrade() -> None:
    """Add the columns, which no older result has values of, and make the views anew."""
    for name in reversed(VIEWS):
        op.execute(f"DROP VIEW {name}")
    op.add_column("result", sa.Column("node", sa.Text))
    for name in OF_SAMPLE:
        op.add_column("sample", sa.Column(name, sa.BigInteger))
    for name, query in VIEWS.items():
        op.execute(f"CREATE VIEW {name} AS {query}")
