"""Versions as people call them: ROOT's own, not that of its package; of a commit its first digits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from arrowroot_lab.documents import decode
from arrowroot_lab.store.migrations.newest import renew
from arrowroot_lab.store.summary import summary_of

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

#: What is made of a version.
_COLUMNS = ("version", "engine_group", "storage_group", "strategy_group", "layout_group")
_BATCH = 200


def upgrade() -> None:
    """Make the columns of these results anew, and what is the newest of each version."""
    connection = op.get_bind()
    result = sa.table("result", *(sa.column(name) for name in ("id", *_COLUMNS)))
    last = 0
    while rows := connection.execute(
        sa.text(
            "SELECT id, text FROM result JOIN document ON result_id = id WHERE id > :last AND "
            "(length(version) = 40 OR versions LIKE :package) ORDER BY id LIMIT :n"
        ),
        {"last": last, "package": '%"root":%', "n": _BATCH},
    ).all():
        last = rows[-1].id
        told = [(row.id, summary_of(decode(row.text))) for row in rows]
        connection.execute(
            result.update().where(result.c.id == sa.bindparam("key")),
            [{"key": key, **{name: getattr(one, name) for name in _COLUMNS}} for key, one in told],
        )
    renew(connection, is_counted=False)
