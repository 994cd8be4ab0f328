"""How many results each series and version has in each campaign, and since when: a million is not counted anew."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from arrowroot_lab.store.migrations.newest import renew

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns, and fill them."""
    op.add_column("newest", sa.Column("n_results", sa.BigInteger, nullable=False, server_default="1"))
    op.add_column("newest", sa.Column("first_at", sa.Text, nullable=False, server_default=""))
    renew(op.get_bind())
