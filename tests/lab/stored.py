"""Rows of a store, as whoever mines it by SQL has them."""

from sqlalchemy import text


def rows(store, query, **values):
    with store._engine.connect() as connection:
        return connection.execute(text(query), values).mappings().all()
