"""A pass with columns that are computed from those that are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrowroot._expressions.evaluation import Rows
from arrowroot._expressions.lists import Items, truth, valid_of
from arrowroot._expressions.scope import delivered_as, parts_needed_again
from arrowroot._passes.in_turn import numbers_behind
from arrowroot._passes.source import Around, Source, import_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._expressions.scope import Expression, Scope
    from arrowroot._select.entries import EntrySet

    #: Conditions by the names of the columns that are needed only where one of them holds.
    NeededWhere: TypeAlias = Mapping[str, Sequence[str]]


def computed_schema(read: pa.Schema, outputs: Mapping[str, Expression | None], scope: Scope) -> pa.Schema:
    """Return the schema of outputs, of that of the columns that they need. ``outputs``: as of :class:`Computed`."""
    import pyarrow as pa

    fields = []
    never_null: dict[int, bool] = {}
    for name, expression in outputs.items():
        path = name if expression is None else expression.only_column
        if path is not None:
            fields.append(read.field(path).with_name(name))
        elif expression is not None:
            kind, is_nullable = scope.type_of(expression), not expression.never_null(read, never_null)
            fields.append(pa.field(name, kind if is_nullable else without_nulls(kind), is_nullable))
    return pa.schema(fields, read.metadata)


def without_nulls(kind: pa.DataType) -> pa.DataType:
    """Return the type of values, or lists of them, of which none is null."""
    import pyarrow as pa

    if not pa.types.is_list(kind):
        return kind
    return pa.list_(pa.field("item", without_nulls(kind.value_type), nullable=False))


class Computing:
    """Computes outputs, batch after batch."""

    def __init__(self, outputs: Mapping[str, Expression | None], needed_where: NeededWhere) -> None:
        """See :class:`Computed`."""
        self._outputs = outputs
        self._expressions = {name: one for name, one in outputs.items() if one is not None}
        self._needed_where = needed_where
        self._shared = parts_needed_again(self._expressions.values())

    def batch(
        self, read: pa.RecordBatch, schema: pa.Schema, entry_of: Callable[[Any], Any]
    ) -> pa.RecordBatch:
        """Return a batch of the outputs, of one of the columns that they need; ``entry_of``: as of ``Filter.mask``.

        Raises: FilterError for values that cannot be computed.
        """
        import pyarrow as pa

        batch = _ComputedBatch(Rows(read, entry_of, self._shared), self._expressions, self._needed_where)
        columns = []
        for name, expression in self._outputs.items():
            path = name if expression is None else expression.only_column
            kind = schema.field(name).type
            columns.append(batch.column(name, kind) if path is None else read.column(path))
        return pa.RecordBatch.from_arrays(columns, schema=schema)


class _Some(NamedTuple):
    """Some rows of a batch: what is computed of them, and which they are; None: all."""

    rows: Rows
    at: npt.NDArray[np.int64] | None = None


class _ComputedBatch:
    """Values that are computed for a batch."""

    def __init__(self, rows: Rows, expressions: Mapping[str, Expression], needed_where: NeededWhere) -> None:
        self._n_rows = rows.num_rows
        self._expressions = expressions
        self._needed_where = needed_where
        #: The rows in which one of some conditions holds.
        self._some: dict[tuple[str, ...], _Some] = {(): _Some(rows)}
        self._found: dict[str, tuple[Items, _Some]] = {}

    def column(self, name: str, kind: pa.DataType) -> pa.Array:
        """Return a column as it is delivered."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from arrowroot._arrow import arrays

        found, (rows, at) = self._value(name)
        if at is not None and not found.levels and isinstance(found.data, np.ndarray):
            found, rows, at = _spread(found, at, self._n_rows), self._some[()].rows, None
        array = delivered_as(self._expressions[name], found, rows, kind)
        if at is None:
            return array
        indices, is_there = np.zeros(self._n_rows, dtype=np.int64), np.zeros(self._n_rows, dtype=np.bool_)
        indices[at], is_there[at] = np.arange(len(at)), True
        return pc.take(array, arrays.of_numpy(indices, is_there), memory_pool=pa.system_memory_pool())

    def _value(self, name: str) -> tuple[Items, _Some]:
        if name not in self._found:
            some = self._rows_where(tuple(self._needed_where.get(name, ())))
            self._found[name] = some.rows.of(self._expressions[name]), some
        return self._found[name]

    def _rows_where(self, conditions: tuple[str, ...]) -> _Some:
        if conditions not in self._some:
            if len(conditions) == 1:
                value, some = self._value(conditions[0])
                self._some[conditions] = _narrowed(some, _holds(value, some.rows.num_rows))
            else:
                in_one = np.zeros(self._n_rows, dtype=np.bool_)
                for condition in conditions:
                    value, (rows, at) = self._value(condition)
                    in_one[slice(None) if at is None else at] |= _holds(value, rows.num_rows)
                self._some[conditions] = _narrowed(self._some[()], in_one)
        return self._some[conditions]


def _spread(of: Items, at: npt.NDArray[np.int64], n_rows: int) -> Items:
    """Return values of some rows as those of all, null elsewhere."""
    data, valid = np.zeros(n_rows, dtype=of.data.dtype), np.zeros(n_rows, dtype=np.bool_)
    data[at], valid[at] = of.data, valid_of(of)
    return Items(data, valid)


def _holds(value: Items, n_rows: int) -> npt.NDArray[np.bool_]:
    """Return in which rows a condition holds; in all if it is none of the rows, but of the items of a list."""
    if value.levels or value.kind in ("text", "record"):
        return np.ones(n_rows, dtype=np.bool_)
    is_true = truth(value)
    return np.broadcast_to(is_true.data & valid_of(is_true), (n_rows,))


def _narrowed(some: _Some, mask: npt.NDArray[np.bool_]) -> _Some:
    if mask.all():
        return some
    chosen = np.flatnonzero(mask)
    return _Some(some.rows.narrowed(chosen), chosen if some.at is None else some.at[chosen])


class Computed(Around[Source]):
    """Delivers columns of a pass, and values of expressions of them, in any order."""

    def __init__(
        self,
        source: Source,
        outputs: Mapping[str, Expression | None],
        scope: Scope,
        entries: EntrySet,
        needed_where: NeededWhere,
    ) -> None:
        """Take a pass over all columns that are needed.

        outputs: the columns to deliver, in order; None: the one of that name as it is read. entries: what the source
            delivers, unless it knows better. needed_where: where none of the conditions holds, which are among the
            outputs, a column that has some is null, and is not computed. No condition needs itself.
        """
        super().__init__(source)
        self._outputs = outputs
        self._scope = scope
        self._entries = entries
        self._computing = Computing(outputs, needed_where)
        self._n_delivered = 0
        self._n_last = 0
        self._schema: pa.Schema | None = None

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
        return self._computing.batch(read, schema, self._entry_of)

    def numbers(self) -> npt.NDArray[np.int64]:
        """Return the numbers of the entries in the last batch."""
        return numbers_behind(self._source, self._entries, self._n_delivered, self._n_last)

    def _entry_of(self, row: Any) -> Any:
        return self.numbers()[row]
