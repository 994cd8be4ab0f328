"""Passes over trees that lack columns, or have narrower numbers, as passes over what all of a row deliver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot._errors import SchemaMismatchError
from arrowroot._passes.source import TreeSource, import_batch

if TYPE_CHECKING:
    import pyarrow as pa

    from arrowroot._api.tree import Tree
    from arrowroot._options import Options
    from arrowroot._select.entries import EntrySet

#: Bytes of a missing value of text, a list or a record, about.
_NULL_BYTES = 8


class Conformed(TreeSource):
    """A pass over one tree in the schema of many; a column that the tree lacks is null."""

    def __init__(
        self, tree: Tree, schema: pa.Schema, names: list[str], entries: EntrySet, options: Options
    ) -> None:
        """``names``: the columns of the schema that the tree has."""
        if not names and options.batch_bytes is not None:
            # Of columns alone that it lacks the engine knows no size.
            an_entry = sum(_null_bytes(field.type) for field in schema) or _NULL_BYTES
            options = options._replace(batch_entries=max(1, options.batch_bytes // an_entry))
        source = tree.source(names, entries, options)
        super().__init__(source.native, source.place(), source.budgets)
        self._own = source
        self._schema = schema

    @property
    def column_names(self) -> list[str]:
        return list(self._schema.names)

    def schema(self) -> pa.Schema:
        return self._schema

    def next_batch(self) -> pa.RecordBatch | None:
        from arrowroot._arrow.widening import widened

        batch = self._own.next_batch()
        if batch is None:
            return None
        own = import_batch(batch, self._own)
        try:
            return widened(own, self._schema)
        except ValueError as error:
            raise SchemaMismatchError(
                f"{self.place()}: column {str(error)!r} has missing values, and other files say that it has none: "
                "leave the column out"
            ) from None


def _null_bytes(kind: pa.DataType) -> int:
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:
        return _NULL_BYTES
