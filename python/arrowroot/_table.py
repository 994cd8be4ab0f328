"""Columns in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, overload

from arrowroot._chunks import may_be_too_long, taken
from arrowroot._convert import Conversions
from arrowroot._errors import NoSuchColumnError, nearest
from arrowroot._render import (
    clip,
    columns_that_fit,
    html_table,
    printable,
    scalar_text,
    text_table,
    type_text,
    width_of,
)
from arrowroot._sizes import counted, format_bytes, parse_size

if TYPE_CHECKING:
    import pyarrow as pa

_HEAD_ROWS = 5
_TAIL_ROWS = 5
_REPR_COLUMNS = 40
_REPR_WIDTH = 120
_MAX_CELL = 40
_HTML_COLUMNS = 30
#: Of rows that are picked of columns too long for one chunk, in each of their chunks.
_TAKEN_BYTES = parse_size("64 MB")


class Table(Conversions):
    """Columns of a tree in memory, as Arrow; a thin face of a ``pyarrow.Table``.

    Anything that takes the Arrow C stream interface takes it as it is: ``pyarrow.table(t)``,
    ``polars.DataFrame(t)``, ``duckdb.from_arrow(t.to_pyarrow())``.
    """

    __slots__ = ("_table",)

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
        return cast("list[str]", self._table.column_names)

    @property
    def schema(self) -> pa.Schema:
        """Names and Arrow types of the columns."""
        return self._table.schema

    @property
    def num_rows(self) -> int:
        """Number of entries in the table."""
        return cast("int", self._table.num_rows)

    @property
    def num_columns(self) -> int:
        """Number of columns."""
        return cast("int", self._table.num_columns)

    @property
    def nbytes(self) -> int:
        """Bytes of the values in memory."""
        return cast("int", self._table.nbytes)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of entries, and of columns."""
        return self.num_rows, self.num_columns

    def __len__(self) -> int:
        """Return the number of entries."""
        return self.num_rows

    def __contains__(self, name: object) -> bool:
        """Return whether there is a column of that name."""
        return name in self._table.column_names

    def _ipython_key_completions_(self) -> list[str]:
        return self.column_names

    # Neither rows nor columns are what everybody would expect; pandas would take the names for rows.
    __iter__ = None

    @overload
    def __getitem__(self, key: str) -> pa.ChunkedArray: ...
    @overload
    def __getitem__(self, key: slice | list[str]) -> Table: ...
    def __getitem__(self, key: str | slice | list[str]) -> pa.ChunkedArray | Table:
        """Return a column by name, or a table of columns by names or of rows by a slice."""
        if isinstance(key, str):
            self._check(key)
            return self._table.column(key)
        if isinstance(key, slice):
            start, stop, step = key.indices(self.num_rows)
            if step == 1:
                return Table(self._table.slice(start, max(0, stop - start)))
            import numpy as np  # noqa: PLC0415 - not needed to import arrowroot
            import pyarrow as pa  # noqa: PLC0415

            places = np.arange(start, stop, step, dtype=np.int64)
            if may_be_too_long(self._table):
                n_at_once = max(1, _TAKEN_BYTES * self.num_rows // self.nbytes)
                batches = taken(self._table, places, n_at_once)
                return Table(pa.Table.from_batches(batches, self.schema))
            return Table(self._table.take(pa.array(places)))
        if isinstance(key, list):
            for name in key:
                if not isinstance(name, str):
                    raise TypeError(
                        f"a list selects columns by their names, not by {name!r}; rows are a slice"
                    )
                self._check(name)
            return Table(self._table.select(key))
        raise TypeError(f"a table is indexed by a name, a list of names or a slice, not by {key!r}")

    def _check(self, name: str) -> None:
        if name not in self._table.column_names:
            names = self._table.column_names
            raise NoSuchColumnError(f"no column {name!r}", name, nearest(name, names), known=names)

    def equals(self, other: Table | pa.Table) -> bool:
        """Return whether both have the same columns, types and values, however they are chunked."""
        return cast("bool", self._table.equals(other.to_pyarrow() if isinstance(other, Table) else other))

    def __eq__(self, other: object) -> bool:
        return self.equals(other) if isinstance(other, Table) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the data through the Arrow C stream interface."""
        return self._table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Return the schema through the Arrow C data interface."""
        return self._table.schema.__arrow_c_schema__()

    def to_pyarrow(self) -> pa.Table:
        """Return the ``pyarrow.Table`` inside."""
        return self._table

    def to_pydict(self) -> dict[str, list[Any]]:
        """Return the columns as lists of Python values."""
        return cast("dict[str, list[Any]]", self._table.to_pydict())

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the entries as dicts of Python values."""
        return cast("list[dict[str, Any]]", self._table.to_pylist())

    def _sample(self, n_columns: int) -> list[list[str]]:
        """Return names, types and the cells of the first and last rows, as text."""
        table = self._table.select(list(range(min(n_columns, self.num_columns))))
        rows = table.num_rows
        if rows > _HEAD_ROWS + _TAIL_ROWS:
            parts = [table.slice(0, _HEAD_ROWS), table.slice(rows - _TAIL_ROWS)]
        else:
            parts = [table]
        cells: list[list[str]] = []
        for part in parts:
            if cells:
                cells.append(["…"] * table.num_columns)
            columns = [[scalar_text(value) for value in column] for column in part.columns]
            cells += [list(row) for row in zip(*columns, strict=True)]
        names = [printable(name) for name in table.column_names]
        return [names, [type_text(kind) for kind in table.schema.types], *cells]

    def _summary(self) -> str:
        return (
            f"{counted(self.num_rows, 'entry', 'entries')} x {counted(self.num_columns, 'column')}, "
            f"{format_bytes(self.nbytes)}"
        )

    def __repr__(self) -> str:
        text = f"arrowroot.Table: {self._summary()}"
        if not self.num_columns:
            return text
        import shutil  # noqa: PLC0415 - its own imports cost more than ours

        rows = [[clip(cell, _MAX_CELL) for cell in row] for row in self._sample(_REPR_COLUMNS)]
        widths = [max(width_of(row[i]) for row in rows) for i in range(len(rows[0]))]
        n_fitting = columns_that_fit(widths, shutil.get_terminal_size((_REPR_WIDTH, 24)).columns)
        text += "\n" + text_table([row[:n_fitting] for row in rows], n_header=2, right=[True] * n_fitting)
        if self.num_columns > n_fitting:
            text += f"\n... {counted(self.num_columns - n_fitting, 'more column')}"
        return text

    def _repr_html_(self) -> str:
        rows = self._sample(_HTML_COLUMNS)
        n_shown = len(rows[0])
        caption = self._summary() + (f" (the first {n_shown} shown)" if n_shown < self.num_columns else "")
        return html_table(rows, n_header=2, caption=caption)
