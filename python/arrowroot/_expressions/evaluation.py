"""The values of expressions for the rows of a batch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from arrowroot._arrow.convert import empty_batch
from arrowroot._expressions import choices, lists, numbers, orders, physics
from arrowroot._expressions import nodes as x
from arrowroot._expressions.functions import COMPARISONS, SIZE
from arrowroot._expressions.iteration import ITERATION, OF_DRAW, REDUCTIONS
from arrowroot._expressions.lists import Items, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Sequence

    import numpy.typing as npt

    from arrowroot._expressions.scope import Expression

_COMBINING = ("first", "second", "third", "per")
_OF_VALUES: dict[str, Callable[[list[Items]], Items]] = {
    "isin": lambda values: choices.among(*values),
    "xor": lambda values: numbers.arithmetic("^", *values),
    "abs": lambda values: numbers.absolute(*values),
    "int": lambda values: numbers.truncated(*values),
    "even": lambda values: _has_rest(values[0], "=="),
    "odd": lambda values: _has_rest(values[0], "!="),
    "is_null": lambda values: choices.is_null(*values),
    "coalesce": lambda values: choices.coalesce(*values),
    "mean": lambda values: _mean(*values),
    ITERATION: lists.indices_in,
    SIZE: lambda values: lists.size(*values),
    "take": lambda values: orders.taken(*values),
    "concatenate": lambda values: orders.concatenated(*values),
    "DeltaPhi": lambda values: physics.delta_phi(*values),
    "DeltaR": physics.delta_r,
}
_OF_VALUES["in"] = _OF_VALUES["isin"]


def _mean(of: Items) -> Items:
    try:
        total = lists.reduce("sum", of)
    except Problem as problem:
        if problem.row is None:
            raise
        # A mean is a double, also where no integer has the sum.
        total = lists.reduce("sum", of._replace(data=of.data.astype(np.float64)))
    return numbers.arithmetic("/", total, lists.positive(lists.reduce("len", lists.without_nulls(of))))


def _has_rest(of: Items, comparison: str) -> Items:
    rest = numbers.arithmetic("%", of, Items(np.asarray(2)))
    return lists.compare(comparison, rest, Items(np.asarray(0)))


def _call(name: str, values: list[Items], combinations: orders.Combinations) -> Items:
    """Return the value of a function."""
    if name in _OF_VALUES:
        return _OF_VALUES[name](values)
    if name in ("min", "max") and len(values) > 1:
        return numbers.extreme(name, values)
    if name in OF_DRAW:
        return lists.reduce_all(name, values[0])
    if name in REDUCTIONS:
        return lists.reduce(name, values[0])
    if name in ("startswith", "endswith", "contains"):
        return lists.match_text(name, values[0], values[1])
    if name in ("sorted", "argsort", "reversed"):
        return orders.order(name, values[0])
    if name in ("argmin", "argmax"):
        return orders.extreme_index(name, values[0])
    if name in _COMBINING:
        return orders.combined(name, values, combinations)
    return numbers.function(name, values)


def _same_combination(nodes: Sequence[x.Node]) -> x.Call | None:
    """Return one of some nodes if all are the first, or the same other, items of combinations of one list each."""
    calls = [node for node in nodes if isinstance(node, x.Call) and node.function in orders.PICKED]
    if not calls or len(calls) < len(nodes):
        return None
    rests = {
        tuple(one.value if isinstance(one, x.Number) else None for one in call.arguments[1:])
        for call in calls
    }
    is_same = len({call.function for call in calls}) == 1 and len(rests) == 1
    return calls[0] if is_same and (None,) not in rests else None


class Rows:
    """The rows of a batch, or some of them, and what was computed of them so far, for several expressions."""

    def __init__(
        self,
        batch: pa.RecordBatch,
        entry_of: Callable[[Any], Any],
        shared: Collection[int] = (),
        some_of: tuple[Rows, npt.NDArray[np.int64]] | None = None,
    ) -> None:
        """Take the rows of a batch.

        entry_of: the numbers of the entries of rows, of one or an array of them. shared: the numbers of parts of
            expressions whose values are kept, as several need them. some_of: other rows, and which of them these are.
        """
        self.num_rows: int = batch.num_rows if some_of is None else len(some_of[1])
        self.entry_of = entry_of
        self._batch = batch
        self._shared = shared
        self._some_of = some_of
        #: Columns, definitions, and parts by their numbers.
        self._known: dict[Hashable, Items] = {}
        #: Which of the rows around them these are, by how many times those are around; and the items of lists there.
        self._at: dict[int, npt.NDArray[np.int64]] = {}
        self._inside: dict[
            tuple[int, int], tuple[lists.Level, tuple[lists.Level, ...], npt.NDArray[np.int64]]
        ] = {}
        #: Which items of lists are combined with which.
        self.combinations = orders.Combinations()
        self._ends: list[lists.Level] = []
        #: Which rows lack an item of a list that something asked for; None: none does.
        self.lacking: npt.NDArray[np.bool_] | None = None
        #: The same of definitions alone, by their identities: what uses one may forgive it.
        self._lacking: dict[int, npt.NDArray[np.bool_] | None] = {}

    def narrowed(self, chosen: npt.NDArray[np.int64]) -> Rows:
        """Return some of the rows; what is known of all of these is taken from there."""
        return Rows(self._batch, lambda row: self.entry_of(chosen[row]), self._shared, (self, chosen))

    def of(self, expression: Expression) -> Items:
        """Return the value of an expression. Raises: FilterError, with the place in its text."""
        with np.errstate(all="ignore"):
            return _Evaluation(self, expression).of(expression.node)

    def column(self, path: str) -> Items:
        """Return the values of a column."""
        if self._some_of is not None:
            self._some_of[0].read(path)
        return self._once(
            ("column", path), lambda: self._with_shared_ends(lists.of_arrow(self._batch.column(path)))
        )

    def _with_shared_ends(self, of: Items) -> Items:
        """Return values whose lists are the same object as those of others that are equal: comparing costs less."""
        if len(of.levels) != 1 or of.levels[0].valid is not None:
            return of
        ends = of.levels[0].ends
        known = next((one for one in self._ends if np.array_equal(one.ends, ends)), None)
        if known is None:
            self._ends.append(of.levels[0])
        return of if known is None else of._replace(levels=(known,))

    def read(self, path: str) -> None:
        """Have the values of a column be known of all rows of the batch."""
        if self._some_of is None:
            self.column(path)
        else:
            self._some_of[0].read(path)

    def definition(self, expression: Expression) -> Items:
        """Return the values of a defined column or an alias, which are computed once: both may have one name."""
        if not self.is_known(expression):
            for one in expression.in_order(self.is_known):
                outside, self.lacking = self.lacking, None
                self._once(("definition", id(one)), partial(self.of, one))
                self._lacking[id(one)], self.lacking = self.lacking, outside
        self._add_lacking(self._lacking.get(id(expression)))
        return self._known["definition", id(expression)]

    def is_known(self, definition: Expression) -> bool:
        """Return whether the values of a definition or an alias were computed."""
        return self.found(("definition", id(definition))) is not None

    def momentum(self, numbers: tuple[int, ...], compute: Callable[[], list[Items]]) -> list[Items]:
        """Return the parts of momenta of what has these numbers, which are computed once."""
        made: list[Items] = []

        def part(axis: int) -> Items:
            made.extend([] if made else compute())
            return made[axis]

        return [self._once(("momentum", axis, *numbers), partial(part, axis)) for axis in range(4)]

    def part(self, number: int, compute: Callable[[], Items]) -> Items:
        """Return the values of a part of an expression, which are computed once if others share it."""
        return self._once(number, compute) if number in self._shared else compute()

    def found_part(self, number: int) -> Items | None:
        """Return the values of a part of an expression if others share it, and they are computed."""
        return self.found(number) if number in self._shared else None

    def _once(self, key: Hashable, compute: Callable[[], Items]) -> Items:
        found = self.found(key)
        if found is None:
            found = self._known[key] = compute()
        return found

    def found(self, key: Hashable) -> Items | None:
        """Return what was computed so far by a key, be it of more rows; None: nothing was."""
        if key in self._known:
            return self._known[key]
        known, n_around = self._around(key)
        if known is not None:
            self._known[key] = self._chosen(known, n_around)
        return self._known.get(key)

    def _around(self, key: Hashable) -> tuple[Items | None, int]:
        """Return what is known by a key of the rows around these, and how many times those are around them."""
        if key in self._known or self._some_of is None:
            return self._known.get(key), 0
        known, n_around = self._some_of[0]._around(key)  # noqa: SLF001 - rows, too
        return known, n_around + 1

    def _chosen(self, of: Items, n_around: int) -> Items:
        """Return the values of these rows of those of the rows that are so many times around them."""
        chosen = self._indices(n_around)
        if len(of.levels) != 1 or of.levels[0].valid is not None:
            return self._with_shared_ends(lists.chosen_entries(of, chosen))
        # Columns with the same lists have the same items.
        key = n_around, id(of.levels[0])
        if key not in self._inside:
            level, inside = lists.taken_lists(of.levels[0], chosen)
            empty = self._with_shared_ends(Items(np.zeros(0), None, (level,)))
            self._inside[key] = of.levels[0], empty.levels, inside
        _, levels, inside = self._inside[key]
        return lists.chosen_entries(of._replace(levels=()), inside)._replace(levels=levels)

    def _indices(self, n_around: int) -> npt.NDArray[np.int64]:
        """Return which of the rows that are so many times around them these are."""
        if self._some_of is None:
            return np.arange(self.num_rows)
        if n_around not in self._at:
            around, chosen = self._some_of
            if n_around > 1:
                chosen = around._indices(n_around - 1)[chosen]  # noqa: SLF001 - rows, too
            self._at[n_around] = chosen
        return self._at[n_around]

    def entries(self) -> Items:
        """Return the numbers of the entries."""
        return Items(np.asarray(self.entry_of(np.arange(self.num_rows)), dtype=np.int64))

    def origin(self, name: str, origin_of: Callable[[str, Any], Items]) -> Items:
        """Return where the entries come from, by a name."""
        return self._once(("origin", name), lambda: origin_of(name, self.entries().data))

    def note_lacking(self, found: Items) -> None:
        """Note the rows in which an item that was asked for is not there."""
        if found.levels or found.valid is None or found.valid.ndim == 0 or found.valid.all():
            return
        self._add_lacking(~found.valid)

    def _add_lacking(self, rows: npt.NDArray[np.bool_] | None) -> None:
        if rows is not None:
            self.lacking = rows if self.lacking is None else self.lacking | rows


class NoRows(Rows):
    """No rows: what is computed of them has all types, and wrong types are errors. Columns may be added at any time."""

    def __init__(self) -> None:
        super().__init__(empty_batch(pa.schema([])), lambda row: row)
        #: The fields of all columns that may be asked for, by their paths.
        self.fields: dict[str, pa.Field[Any]] = {}

    def column(self, path: str) -> Items:
        """Return no values of a column."""
        batch = empty_batch(pa.schema([self.fields[path]]))
        return self._once(("column", path), lambda: self._with_shared_ends(lists.of_arrow(batch.column(0))))


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
            if problem.row is None:
                raise self._expression.error(problem.message, node) from None
            entry = self._rows.entry_of(problem.row)
            raise self._expression.error_in(entry, problem.message, node) from None

    def of(self, node: x.Node) -> Items:
        """Return the value of a node for all rows; that of a chain comes from its innermost operation on."""
        outer: list[x.Node] = []
        value = self._found(node)
        while value is None and (following := x.goes_on(node)) is not None:
            outer.append(node)
            node, value = following, self._found(following)
        if value is None:
            value = self._part(node)
        for one in reversed(outer):
            value = self._part(one, value)
        return value

    def _found(self, node: x.Node) -> Items | None:
        return self._rows.found_part(self._expression.numbers[id(node)])

    def _part(self, node: x.Node, inner: Items | None = None) -> Items:
        compute = partial(self.guarded, node, partial(self._of, node, inner))
        return self._rows.part(self._expression.numbers[id(node)], compute)

    def _of(self, node: x.Node, inner: Items | None = None) -> Items:
        """Return the value of a node; ``inner``: that of the part with which its chain goes on."""
        if isinstance(node, x.Number):
            return Items(np.asarray(node.value))
        if isinstance(node, x.Text):
            return Items(node.value)
        if isinstance(node, x.Name):
            return self._expression.value_of(node, self._rows)
        if isinstance(node, x.Logic):
            found = self._condition(node.operands[0])
            for operand in node.operands[1:]:
                found = lists.logic(node.operator, [found, self._condition(operand)])
            return found
        if isinstance(node, x.Unary):
            return self._unary(node.operator, self.of(node.operand))
        if isinstance(node, x.Binary):
            left = self.of(node.left) if inner is None else inner
            compute = lists.compare if node.operator in COMPARISONS else numbers.arithmetic
            return compute(node.operator, left, self.of(node.right))
        if isinstance(node, x.Conditional):
            condition, if_true = self._condition(node.condition), self.of(node.if_true)
            return choices.choose(condition, if_true, self.of(node.if_false) if inner is None else inner)
        if isinstance(node, x.Item):
            of = self.of(node.of)
            found = lists.item(of, self.of(node.at), node.n_outer)
            self._rows.note_lacking(found)
            return found
        if isinstance(node, x.Member):
            return lists.member(self.of(node.of), node.name)
        if node.function == "InvariantMass":
            return physics.invariant_mass(self._momentum(node.function, node.arguments))
        if node.function == "InvariantMasses":
            sides = node.arguments[:4], node.arguments[4:]
            return physics.invariant_masses(*(self._momentum(node.function, side) for side in sides))
        if node.function in ("is_null", "coalesce", *OF_DRAW):
            values = self._forgiving(*node.arguments)
        else:
            values = [self.of(argument) for argument in node.arguments]
        return _call(node.function, values, self._rows.combinations)

    def _momentum(self, function: str, nodes: Sequence[x.Node]) -> list[Items]:
        """Return x, y, z and the energy of (pt, eta, phi, mass), which are computed once for a batch.

        Momenta in combinations are taken from those of single particles, which are fewer.
        """
        others = [node for node in nodes if not isinstance(node, x.Number)]
        combined = _same_combination(others)

        def compute() -> list[Items]:
            if combined is None:
                return physics.momentum(function, [self.of(node) for node in nodes])
            single = [node.arguments[0] if isinstance(node, x.Call) else node for node in nodes]
            rest = [self.of(node) for node in combined.arguments[1:]]
            return [
                orders.combined(combined.function, [part, *rest], self._rows.combinations)
                for part in self._momentum(function, single)
            ]

        return self._rows.momentum(tuple(self._expression.numbers[id(node)] for node in nodes), compute)

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
        value = self.of(node)
        return self.guarded(node, partial(lists.truth, value))
