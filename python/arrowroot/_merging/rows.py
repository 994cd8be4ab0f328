"""Tables of the rule "unique": a row that was there before is not written again."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._api.file import File
from arrowroot._options import Options
from arrowroot._skimming.tables import Style, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from arrowroot import _native
    from arrowroot._api.tree import Tree
    from arrowroot._skimming.tables import InputTable
    from arrowroot._storage.readers import Opening
    from arrowroot._writing.file import WritableFile
    from arrowroot._writing.table import TableWriter

_DIGEST_BYTES = 16


class Rows(NamedTuple):
    """The rows of a table of an input that are new."""

    table: InputTable
    batches: list[pa.RecordBatch]
    digests: set[bytes]
    num_entries: int


class UniqueRows:
    """The tables of one output of which each row is written once.

    In memory are 16 bytes of each row, and the new rows of one input.
    """

    def __init__(self, output: WritableFile, merger: _native.Merger, *, has_provenance: bool) -> None:
        self._output = output
        self._has_provenance = has_provenance
        self._merger = merger
        self._tables: dict[str, _Written] = {}

    def read(self, opening: Opening) -> list[Rows]:
        """Return the new rows of an input. Raises: SchemaMismatchError, and errors of reading."""
        with File(opening) as file:
            paths = [path for path in file.trees if self._merger.rule_of(path) == "unique"]
            return [rows for path in paths if (rows := self._rows(file[path], path)) is not None]

    def _rows(self, tree: Tree, path: str) -> Rows | None:
        known = self._tables.get(path)
        first = None if known is None else known.first
        table = table_of(tree, path, None, Options.of({}), first, style=Style())
        if table is None:
            return None
        seen = set() if known is None else known.digests
        rows = Rows(table, [], set(), tree.num_entries)
        for batch in tree.scan(table.columns if first is None else first.columns):
            if new := [at for at, _ in unseen(batch, seen, rows.digests)]:
                rows.batches.append(batch.take(new))
        return rows

    def write(self, found: list[Rows]) -> None:
        """Write rows of an input, which is in for good."""
        for rows in found:
            table = rows.table
            known = self._tables.get(table.path)
            if known is None:
                written = table.written(Style(), has_all_entries=False, has_all_trees=False)
                left_out = [f"{what}: {why}" for what, why in (*written.left_out, *table.left_out)]
                if self._has_provenance:
                    left_out.append("provenance: rows of the rule unique are not of one input")
                writer = self._output.tree(table.path, table.schema, **written.options)
                writer.comes_back_as(table.recorded)
                writer.shows_as(table.projected_types)
                known = self._tables[table.path] = _Written(table, writer, left_out)
            known.add(rows)

    def finish(self) -> list[tuple[Any, ...]]:
        """End the tables; return what became of each, as the engine tells it of others."""
        return [table.finish() for table in self._tables.values()]


class _Written:
    """A table of the output."""

    def __init__(self, first: InputTable, writer: TableWriter, notes: list[str]) -> None:
        self.first = first
        self.digests: set[bytes] = set()
        self._writer = writer
        self._notes = notes
        self._n_inputs = 0
        self._n_read = 0

    def add(self, rows: Rows) -> None:
        self._n_inputs += 1
        lost = (f"attribute set {name!r}: of the entries of inputs" for name in rows.table.kept_sets)
        self._notes += [note for note in lost if note not in self._notes]
        self._n_read += rows.num_entries
        self.digests |= rows.digests
        for batch in rows.batches:
            self._writer.append(batch)

    def finish(self) -> tuple[Any, ...]:
        n_entries = self._writer.num_entries
        self._writer.close()
        if n_entries < self._n_read:
            self._notes.append(
                f"{self._n_read - n_entries} of {self._n_read} rows are as one before, and left out"
            )
        first = self.first
        return (
            first.path,
            first.tree.class_name,
            "unique",
            self._n_inputs,
            n_entries,
            0,
            0,
            0,
            tuple(self._notes),
        )


def unseen(
    batch: pa.RecordBatch, seen: set[bytes], added: set[bytes]
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield number and values of the rows that are in neither set, and add them to the second."""
    for at, row in enumerate(zip(*(column.to_pylist() for column in batch.columns), strict=True)):
        digest = blake2b(repr(row).encode(), digest_size=_DIGEST_BYTES).digest()
        if digest not in seen and digest not in added:
            added.add(digest)
            yield at, row
