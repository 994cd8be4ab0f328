"""Alembic's environment: the steps run on the connection, and in the transaction, that ``schema.py`` hands over."""

from __future__ import annotations

from alembic import context

from arrowroot_lab.store.schema import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"], version_table=VERSION_TABLE, transactional_ddl=True
)
with context.begin_transaction():
    context.run_migrations()
