"""A pass with columns that are computed from those that are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._expressions.evaluation import Rows
from arrowroot._expressions.scope import values
from arrowroot._passes.in_turn import numbers_behind
from arrowroot._passes.source import import_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._cost.cost import Cost
    from arrowroot._cost.plan import Plan, ScanStats
    from arrowroot._expressions.scope import Expression, Scope
    from arrowroot._passes.source import Source
    from arrowroot._select.entries import EntrySet


def computed_schema(read: pa.Schema, outputs: Mapping[str, Expression | None], scope: Scope) -> pa.Schema:
    """Return the schema of outputs, of that of the columns that they need. ``outputs``: as of :class:`Computed`."""
    import pyarrow as pa

    fields = []
    for name, expression in outputs.items():
        path = name if expression is None else expression.only_column
        if path is not None:
            fields.append(read.field(path).with_name(name))
        elif expression is not None:
            fields.append(pa.field(name, scope.type_of(expression)))
    return pa.schema(fields, read.metadata)


def computed(
    read: pa.RecordBatch,
    outputs: Mapping[str, Expression | None],
    schema: pa.Schema,
    entry_of: Callable[[Any], Any],
) -> pa.RecordBatch:
    """Return a batch of outputs, of one of the columns that they need. ``entry_of``: as of ``Filter.mask``.

    Raises: FilterError for values that cannot be computed.
    """
    import pyarrow as pa

    rows = Rows(read, entry_of)
    columns = [
        read.column(name) if expression is None else values(expression, rows, schema.field(name).type)
        for name, expression in outputs.items()
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


class Computed:
    """Delivers columns of a pass, and values of expressions of them, in any order."""

    def __init__(
        self, source: Source, outputs: Mapping[str, Expression | None], scope: Scope, entries: EntrySet
    ) -> None:
        """Take a pass over all columns that are needed.

        outputs: the columns to deliver, in order; None: the one of that name as it is read. entries: what the source
            delivers, unless it knows better.
        """
        self._source = source
        self._outputs = outputs
        self._scope = scope
        self._entries = entries
        self._n_delivered = 0
        self._n_last = 0
        self._schema: pa.Schema | None = None
        self.is_of_paths: bool = getattr(source, "is_of_paths", False)

    @property
    def num_entries(self) -> int:
        return self._source.num_entries

    @property
    def column_names(self) -> list[str]:
        return list(self._outputs)

    def schema(self) -> pa.Schema:
        if self._schema is None:
            self._schema = computed_schema(self._source.schema(), self._outputs, self._scope)
        return self._schema

    def next_batch(self) -> pa.RecordBatch | None:
        schema = self.schema()
        batch = self._source.next_batch()
        if batch is None:
            return None
        read = import_batch(batch, self._source)
        self._n_last = read.num_rows
        self._n_delivered += read.num_rows
        return computed(read, self._outputs, schema, self._entry_of)

    def numbers(self) -> npt.NDArray[np.int64]:
        """Return the numbers of the entries in the last batch."""
        return numbers_behind(self._source, self._entries, self._n_delivered, self._n_last)

    def _entry_of(self, row: Any) -> Any:
        return self.numbers()[row]

    def place(self) -> str:
        return self._source.place()

    def plan(self) -> Plan:
        return self._source.plan()

    def stats(self) -> ScanStats:
        return self._source.stats()

    def cost(self) -> Cost:
        return self._source.cost()

    def cancel(self) -> None:
        self._source.cancel()
