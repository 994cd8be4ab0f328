"""The values of expressions for the rows of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arrowroot._expressions import choices, lists, numbers, orders, physics
from arrowroot._expressions import nodes as x
from arrowroot._expressions.lists import Items, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._expressions.scope import Expression

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_REDUCTIONS = ("any", "all", "sum", "prod", "count", "len", "min", "max", "Min$", "Max$")
_OF_VALUES: dict[str, Callable[[list[Items]], Items]] = {
    "isin": lambda values: lists.logic("||", [lists.compare("==", values[0], value) for value in values[1:]]),
    "xor": lambda values: numbers.arithmetic("^", *values),
    "abs": lambda values: numbers.absolute(*values),
    "int": lambda values: numbers.truncated(*values),
    "even": lambda values: _has_rest(values[0], "=="),
    "odd": lambda values: _has_rest(values[0], "!="),
    "is_null": lambda values: choices.is_null(*values),
    "coalesce": lambda values: choices.coalesce(*values),
    "mean": lambda values: numbers.arithmetic(
        "/", lists.reduce("sum", values[0]), lists.positive(lists.reduce("len", values[0]))
    ),
    "take": lambda values: orders.taken(*values),
    "concatenate": lambda values: orders.concatenated(*values),
    "DeltaPhi": lambda values: physics.delta_phi(*values),
    "DeltaR": physics.delta_r,
    "InvariantMass": physics.invariant_mass,
    "InvariantMasses": physics.invariant_masses,
}
_OF_VALUES["in"] = _OF_VALUES["isin"]


def _has_rest(of: Items, comparison: str) -> Items:
    rest = numbers.arithmetic("%", of, Items(np.asarray(2)))
    return lists.compare(comparison, rest, Items(np.asarray(0)))


def _call(name: str, values: list[Items]) -> Items:
    """Return the value of a function."""
    if name in _OF_VALUES:
        return _OF_VALUES[name](values)
    if name in ("min", "max") and len(values) > 1:
        return numbers.extreme(name, values)
    if name in _REDUCTIONS:
        return lists.reduce(name, values[0])
    if name in ("startswith", "endswith", "contains"):
        return lists.match_text(name, values[0], values[1])
    if name in ("sorted", "argsort", "reversed"):
        return orders.order(name, values[0])
    if name in ("argmin", "argmax"):
        return orders.extreme_index(name, values[0])
    if name in ("first", "second", "third", "per"):
        return orders.combined(name, values)
    return numbers.function(name, values)


class Rows:
    """The rows of a batch, and what was computed of them so far, for several expressions."""

    def __init__(self, batch: pa.RecordBatch, entry_of: Callable[[Any], Any]) -> None:
        """``entry_of``: the numbers of the entries of rows, of one or an array of them."""
        self.batch = batch
        self.entry_of = entry_of
        self._columns: dict[str, Items] = {}
        self._definitions: dict[str, Items] = {}
        #: Which rows lack an item of a list that something asked for; None: none does.
        self.lacking: npt.NDArray[np.bool_] | None = None

    def of(self, expression: Expression) -> Items:
        """Return the value of an expression. Raises: FilterError, with the place in its text."""
        with np.errstate(all="ignore"):
            return _Evaluation(self, expression).of(expression.node)

    def column(self, path: str) -> Items:
        """Return the values of a column."""
        if path not in self._columns:
            self._columns[path] = lists.of_arrow(self.batch.column(path))
        return self._columns[path]

    def definition(self, name: str, expression: Expression) -> Items:
        """Return the values of a defined column, which are computed once."""
        if name not in self._definitions:
            self._definitions[name] = self.of(expression)
        return self._definitions[name]

    def entries(self) -> Items:
        """Return the numbers of the entries."""
        return Items(np.asarray(self.entry_of(np.arange(self.batch.num_rows)), dtype=np.int64))

    def note_lacking(self, found: Items) -> None:
        """Note the rows in which an item that was asked for is not there."""
        if found.levels or found.valid is None or found.valid.ndim == 0 or found.valid.all():
            return
        self.lacking = ~found.valid if self.lacking is None else self.lacking | ~found.valid


class _Evaluation:
    """The values of the parts of an expression for one batch."""

    def __init__(self, rows: Rows, expression: Expression) -> None:
        self._rows = rows
        self._expression = expression

    def guarded(self, node: x.Node, compute: Callable[[], Items]) -> Items:
        """Return the value of a node. Raises: FilterError with the place of the node."""
        try:
            return compute()
        except Problem as problem:
            message = problem.message
            if problem.row is not None:
                message += f", in entry {self._rows.entry_of(problem.row):,}"
            raise self._expression.error(message, node) from None

    def of(self, node: x.Node) -> Items:
        """Return the value of a node for all rows."""
        return self.guarded(node, lambda: self._of(node))

    def _of(self, node: x.Node) -> Items:
        if isinstance(node, x.Number):
            return Items(np.asarray(node.value))
        if isinstance(node, x.Text):
            return Items(node.value)
        if isinstance(node, x.Name):
            return self._expression.value_of(node, self._rows)
        if isinstance(node, x.Logic):
            return lists.logic(node.operator, [self._condition(operand) for operand in node.operands])
        if isinstance(node, x.Unary):
            return self._unary(node.operator, self.of(node.operand))
        if isinstance(node, x.Binary):
            left, right = self.of(node.left), self.of(node.right)
            compute = lists.compare if node.operator in _COMPARISONS else numbers.arithmetic
            return compute(node.operator, left, right)
        if isinstance(node, x.Conditional):
            return choices.choose(
                self._condition(node.condition), *self._forgiving(node.if_true, node.if_false)
            )
        if isinstance(node, x.Item):
            of = self.of(node.of)
            found = lists.item(of, self.of(node.at), node.n_outer)
            self._rows.note_lacking(found)
            return found
        if isinstance(node, x.Member):
            return lists.member(self.of(node.of), node.name)
        if node.function in ("is_null", "coalesce"):
            return _call(node.function, self._forgiving(*node.arguments))
        return _call(node.function, [self.of(argument) for argument in node.arguments])

    @staticmethod
    def _unary(operator: str, operand: Items) -> Items:
        if operator == "!":
            value = lists.truth(operand)
            return value._replace(data=np.asarray(~value.data))
        if operator == "~":
            return numbers.inverted(operand)
        return numbers.negative(operand) if operator == "-" else operand

    def _forgiving(self, *nodes: x.Node) -> list[Items]:
        """Return values of which those that are not there are asked for, or not used."""
        lacking = self._rows.lacking
        values = [self.of(node) for node in nodes]
        self._rows.lacking = lacking
        return values

    def _condition(self, node: x.Node) -> Items:
        return self.guarded(node, lambda: lists.truth(self.of(node)))
