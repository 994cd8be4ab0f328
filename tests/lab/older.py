"""Databases of older laboratories: rows as they stood at an earlier step."""

from __future__ import annotations

from sqlalchemy import inspect

from arrowroot_lab.documents import encode
from arrowroot_lab.store import summary_of, tables
from arrowroot_lab.store.store import _sample_row


class OlderStore:
    """Puts results as a laboratory did that knew fewer columns: those that the tables have now."""

    def __init__(self, connection):
        tables_of_then = inspect(connection)
        self.connection = connection
        self.columns = {
            table.name: {column["name"] for column in tables_of_then.get_columns(table.name)}
            for table in (tables.result, tables.sample, tables.newest)
        }

    def put(self, result, **changed):
        """Put one; ``changed``: what it had in these columns."""
        row = self._known(tables.result, {**vars(summary_of(result)), **changed})
        key = self.connection.execute(tables.result.insert().returning(tables.result.c.id), row).scalar_one()
        self.connection.execute(tables.document.insert(), {"result_id": key, "text": encode(result)})
        samples = [_sample_row(key, place, sample) for place, sample in enumerate(result.samples)]
        for sample in samples:
            self.connection.execute(tables.sample.insert(), self._known(tables.sample, sample))
        known_as = [tables.newest.c[name] == row[name] for name in ("series_id", "version", "campaign")]
        self.connection.execute(tables.newest.delete().where(*known_as))
        newest = self._known(tables.newest, {**row, "result_id": key})
        self.connection.execute(tables.newest.insert(), newest)

    def _known(self, table, told):
        names = self.columns[table.name]
        return {name: value for name, value in told.items() if name in names}
