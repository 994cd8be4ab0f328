"""Databases of older laboratories: rows as they stood at an earlier step."""

from __future__ import annotations

from sqlalchemy import inspect

from arrowroot_lab.documents import encode
from arrowroot_lab.store import summary_of, tables
from arrowroot_lab.store.store import _sample_row


def put_older(connection, result, **changed):
    """Put a result as a laboratory did that knew fewer columns; ``changed``: what it had in them."""

    def known(table, told):
        names = {column["name"] for column in inspect(connection).get_columns(table.name)}
        return {name: value for name, value in told.items() if name in names}

    row = known(tables.result, {**vars(summary_of(result)), **changed})
    key = connection.execute(tables.result.insert().returning(tables.result.c.id), row).scalar_one()
    connection.execute(tables.document.insert(), {"result_id": key, "text": encode(result)})
    for place, sample in enumerate(result.samples):
        connection.execute(tables.sample.insert(), known(tables.sample, _sample_row(key, place, sample)))
    known_as = [tables.newest.c[name] == row[name] for name in ("series_id", "version", "campaign")]
    connection.execute(tables.newest.delete().where(*known_as))
    connection.execute(tables.newest.insert(), known(tables.newest, {**row, "result_id": key}))
