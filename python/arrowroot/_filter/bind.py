"""Filters: expressions in text or of pyarrow, bound to the columns of a tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from arrowroot._arrow.convert import empty_batch
from arrowroot._errors import (
    FilterError,
    InvalidRequestError,
    NoSuchColumnError,
    nearest_column,
    warn_of_draw,
)
from arrowroot._expressions.scope import Expression
from arrowroot._render import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    import pyarrow.compute as pc

    from arrowroot._expressions.scope import Scope
    from arrowroot._select.columns import Candidate

    Mask: TypeAlias = npt.NDArray[np.bool_]
    #: What users may give.
    FilterLike: TypeAlias = str | pc.Expression | None


#: The operators of tuples of Parquet, a column, an operator and a value, and ours.
_SIGNS = {**{sign: sign for sign in ("==", "!=", "<", ">", "<=", ">=")}, "=": "=="}
_N_OF_CONDITION = 3


class Filter(Protocol):
    """A condition on the entries of one tree."""

    @property
    def text(self) -> str:
        """The condition as text, for people."""

    @property
    def columns(self) -> list[str]:
        """The columns that it needs, by their paths."""

    def mask(self, batch: pa.RecordBatch, entry_of: Callable[[Any], Any]) -> Mask:
        """Return which rows of a batch of these columns are selected.

        ``entry_of``: the numbers of the entries of rows, of one or an array of them. Raises: FilterError.
        """


def bind(given: object, scope: Scope) -> Filter:
    """Return a filter that a user gave, bound to the columns of a tree, its types checked.

    Raises: FilterError for what cannot be understood or computed; NoSuchColumnError, with the nearest names, for
    columns that are not there; InvalidRequestError for what is neither text nor an expression of pyarrow.
    """
    if isinstance(given, str):
        return TextFilter(given, scope)
    import pyarrow.compute as pc

    if isinstance(given, pc.Expression):
        return ArrowFilter(given, scope)
    hint = 'write filter="x > 1"'
    if (text := _of_tuples(given)) is not None:
        raise InvalidRequestError(f"filter: expected text, got tuples as of Parquet: write filter={text!r}")
    if isinstance(given, list | tuple) and given and all(isinstance(one, str) for one in given):
        hint = f"write filter={' && '.join(f'({one})' for one in given)!r}"
    elif hasattr(given, "__len__") and not isinstance(given, bytes):
        hint = "a mask, or numbers of entries, are for entries="
    raise InvalidRequestError(
        f"filter: expected text or an expression of pyarrow.compute, got {shown(given)}: {hint}"
    )


def _of_tuples(given: object, depth: int = 2) -> str | None:
    """Return the text of (column, operator, value), a list of these, or of lists, as pyarrow.parquet takes them.

    All of a list hold, and any of the lists. None: it is something else. depth: so many lists may be in each other.
    """
    if (
        isinstance(given, tuple)
        and len(given) == _N_OF_CONDITION
        and all(isinstance(one, str) for one in given[:2])
    ):
        name, sign, value = given
        if sign in ("in", "not in") and isinstance(value, list | tuple | set) and value:
            return f"{'!' * (sign == 'not in')}isin({', '.join([name, *map(_literal, value)])})"
        return f"{name} {_SIGNS[sign]} {_literal(value)}" if sign in _SIGNS else None
    if not isinstance(given, list) or not given or depth == 0:
        return None
    each = [_of_tuples(one, depth - 1) for one in given]
    if len(each) == 1 or None in each:
        return each[0] if len(each) == 1 else None
    return (" || " if isinstance(given[0], list) else " && ").join(f"({one})" for one in each)


def _literal(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return shown(value).lower() if isinstance(value, bool) else shown(value)


class TextFilter:
    """A filter in the grammar of :mod:`arrowroot._expressions.grammar`."""

    def __init__(self, text: str, scope: Scope) -> None:
        self.text = text
        self._expression = Expression(text, scope, "filter")
        self._has_warned = False
        self.columns = self._expression.columns
        if not (self.columns or self._expression.names_origin or self._expression.needs_entries):
            raise self._expression.error("it names no column", self._expression.node)
        # An empty batch has all types, so that wrong types are errors before anything is read.
        self.mask(empty_batch(scope.schema_of(self.columns)), lambda row: row)

    def mask(self, batch: pa.RecordBatch, entry_of: Callable[[Any], Any]) -> Mask:
        import numpy as np

        from arrowroot._expressions.evaluation import Rows
        from arrowroot._expressions.lists import Problem, truth

        rows, node = Rows(batch, entry_of), self._expression.node
        result = rows.of(self._expression)
        if result.levels:
            raise self._expression.error(
                "this is a list for each entry, not one truth value: say any(...), all(...) or count(...) > n",
                node,
            )
        try:
            result = truth(result)
        except Problem as problem:
            raise self._expression.error(problem.message, node) from None
        selected = result.data if result.valid is None else result.data & result.valid
        mask = cast("Mask", np.broadcast_to(selected, (batch.num_rows,)))
        if rows.lacking is not None and not self._has_warned and bool((mask & rows.lacking).any()):
            self._has_warned = True
            warn_of_draw(self.text)
        return mask


class Behind:
    """A filter on entries of one of several trees, whose numbers there are counted from the first entry of all."""

    def __init__(self, condition: Filter, first_entry: int) -> None:
        self._condition = condition
        self._first_entry = first_entry
        self.text = condition.text
        self.columns = condition.columns

    def mask(self, batch: pa.RecordBatch, entry_of: Callable[[Any], Any]) -> Mask:
        return self._condition.mask(batch, lambda row: self._first_entry + entry_of(row))


class AllOf:
    """Several filters that must all hold."""

    def __init__(self, filters: Sequence[Filter]) -> None:
        self.text = " && ".join(one.text for one in filters)
        self.columns = list(dict.fromkeys(name for one in filters for name in one.columns))
        self._filters = filters

    def mask(self, batch: pa.RecordBatch, entry_of: Callable[[Any], Any]) -> Mask:
        import numpy as np

        return cast("Mask", np.logical_and.reduce([one.mask(batch, entry_of) for one in self._filters]))


def _paths_of(branches: Iterable[Candidate]) -> list[str]:
    """Return the paths of what can be read; a friend's column may go by two names, with its alias and without."""
    return list(dict.fromkeys(b.path for b in branches if not b.is_group and b.unsupported is None))


class ArrowFilter:
    """A filter that is an expression of ``pyarrow.compute``; its fields are the paths of columns."""

    def __init__(self, expression: pc.Expression, scope: Scope) -> None:
        self.text = str(expression)
        self._expression = expression
        self._where = scope.where
        if "FieldPath(" in self.text:
            raise InvalidRequestError(
                f"filter: {self.text}: name the columns; fields by number are not taken"
            )
        # A text has the names of a few columns, mostly: the types of all others are not worked out then.
        schema = scope.schema_of(_paths_of(one for one in scope.candidates if one.path in self.text))
        if not schema.names or not self._is_bound(schema, schema.names):
            schema = scope.schema_of(_paths_of(scope.candidates))
        self.columns = self._needed(schema)
        if not self.columns:
            raise FilterError(f"{self.text}: it names no column", "", 0, 0)
        defined = [name for name in self.columns if name in scope.definitions]
        if defined:
            raise InvalidRequestError(
                f"filter: {self.text}: {defined[0]!r} is a definition, too, and an expression of pyarrow is of the "
                "columns that are read: write the filter in text"
            )

    def _needed(self, schema: pa.Schema) -> list[str]:
        """Return the fewest columns with which the expression has a type. pyarrow does not tell its fields."""
        import pyarrow as pa

        names = schema.names
        self._mask_of(pa.Table.from_batches([empty_batch(schema)]))
        needed: list[str] = []
        while names and not self._is_bound(schema, needed):
            # Bisection finds the first name that the expression needs, with all names before it there.
            low, high = 1, len(names)
            while low < high:
                middle = (low + high) // 2
                if self._is_bound(schema, [*needed, *names[:middle]]):
                    high = middle
                else:
                    low = middle + 1
            needed.append(names[low - 1])
            names = names[: low - 1]
        return needed

    def _is_bound(self, schema: pa.Schema, names: list[str]) -> bool:
        import pyarrow as pa

        try:
            fields = pa.schema([schema.field(name) for name in dict.fromkeys(names)])
            self._evaluated(pa.Table.from_batches([empty_batch(fields)]))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError):
            return False
        return True

    def _evaluated(self, table: pa.Table) -> pa.ChunkedArray:
        import pyarrow as pa
        from pyarrow import acero

        # pyarrow's engine sees no rows in a table without columns: a column without a name is always there.
        table = table.append_column("\0", pa.nulls(table.num_rows))
        source = acero.Declaration("table_source", acero.TableSourceNodeOptions(table))
        project = acero.Declaration(
            "project", acero.ProjectNodeOptions([self._expression], ["mask"]), [source]
        )
        return project.to_table(use_threads=False).column("mask")

    def _mask_of(self, table: pa.Table) -> Mask:
        import pyarrow as pa

        from arrowroot._arrow import arrays

        try:
            mask = self._evaluated(table)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError) as error:
            message = str(error).split("\n", 1)[0]
            missing = re.match(r"No match for FieldRef\.Name\((.*?)\) in ", message)
            if missing:
                name = missing[1]
                what = f"{self._where}: filter: no branch {name!r}"
                names = [known for known in table.column_names if known != "\0"]
                raise NoSuchColumnError(what, name, nearest_column(name, names), known=names) from None
            raise FilterError(f"{self._where}: {self.text}: {message[:500]}", "", 0, 0) from None
        if not pa.types.is_boolean(mask.type):
            raise FilterError(f"{self.text}: gives values of type {mask.type}, not truth values", "", 0, 0)
        known = mask.fill_null(False) if mask.null_count else mask
        return cast("Mask", arrays.to_numpy(known.combine_chunks()))

    def mask(self, batch: pa.RecordBatch, entry_of: Callable[[Any], Any]) -> Mask:
        del entry_of  # pyarrow does not say where something went wrong
        import pyarrow as pa

        return self._mask_of(pa.Table.from_batches([batch]))
