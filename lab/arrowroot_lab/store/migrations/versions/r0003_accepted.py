"""Changes that somebody has accepted, with the reason."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make their table."""
    op.create_table(
        "accepted",
        sa.Column("series_id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("before", sa.Text, primary_key=True),
        sa.Column("now", sa.Text, primary_key=True),
        sa.Column("ratio", sa.Float),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("accepted_at", sa.Text, nullable=False),
    )
