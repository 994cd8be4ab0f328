"""Filters: expressions in text or of pyarrow, bound to the columns of a tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from arrowroot._arrow.convert import empty_batch
from arrowroot._errors import FilterError, InvalidRequestError, NoSuchColumnError, nearest, pointed_at
from arrowroot._render import shown
from arrowroot._select.columns import by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    import pyarrow.compute as pc

    from arrowroot._filter.grammar import Name, Node
    from arrowroot._filter.lists import Items
    from arrowroot._select.columns import Candidate

    Mask: TypeAlias = npt.NDArray[np.bool_]
    #: What users may give.
    FilterLike: TypeAlias = str | pc.Expression | None


class Filter(Protocol):
    """A condition on the entries of one tree."""

    @property
    def text(self) -> str:
        """The condition as text, for people."""

    @property
    def columns(self) -> list[str]:
        """The columns that it needs, by their paths."""

    def mask(self, batch: pa.RecordBatch, entry_of: Callable[[int], int]) -> Mask:
        """Return which rows of a batch of these columns are selected.

        ``entry_of``: the entry of a row, for messages. Raises: FilterError.
        """


def bind(
    given: object,
    branches: Sequence[Candidate],
    schema_of: Callable[[list[str]], pa.Schema],
    where: str,
    canonical: Callable[[str], str | None] | None = None,
) -> Filter:
    """Return a filter that a user gave, bound to the columns of a tree, its types checked.

    ``schema_of``: the Arrow types of columns, by their paths. ``canonical``: a path as the tree spells it.

    Raises: FilterError for what cannot be understood or computed; NoSuchColumnError, with the nearest names, for
    columns that are not there; InvalidRequestError for what is neither text nor an expression of pyarrow.
    """
    if isinstance(given, str):
        return TextFilter(given, branches, schema_of, where, canonical)
    import pyarrow.compute as pc

    if isinstance(given, pc.Expression):
        return ArrowFilter(given, branches, schema_of, where)
    hint = 'write filter="x > 1"'
    if isinstance(given, list | tuple) and given and all(isinstance(one, str) for one in given):
        hint = f"write filter={' && '.join(f'({one})' for one in given)!r}"
    elif hasattr(given, "__len__") and not isinstance(given, bytes):
        hint = "a mask, or numbers of entries, are for entries="
    raise InvalidRequestError(
        f"filter: expected text or an expression of pyarrow.compute, got {shown(given)}: {hint}"
    )


def _as_written(name: str) -> str:
    """Return a name as a filter writes it: in backticks if it would be taken for more than a name."""
    from arrowroot._filter import grammar

    return repr(name) if grammar.is_name(name) else f"`{name}`"


class TextFilter:
    """A filter in the grammar of :mod:`arrowroot._filter.grammar`."""

    def __init__(
        self,
        text: str,
        branches: Sequence[Candidate],
        schema_of: Callable[[list[str]], pa.Schema],
        where: str,
        canonical: Callable[[str], str | None] | None,
    ) -> None:
        from arrowroot._filter import grammar

        self.text = text
        self._where = where
        self._branches = {branch.path: branch for branch in branches}
        self._by_name = by_name(branches)
        self._canonical = canonical
        self._node = grammar.parse(text, self._is_column)
        if next(grammar.names_in(self._node), None) is None:
            self._fail("it names no column", self._node)
        #: The column, and the members in it, of each name in the text.
        self._found = {(name.name, name.exact): self._resolve(name) for name in grammar.names_in(self._node)}
        self.columns = list(dict.fromkeys(path for path, _ in self._found.values()))
        # An empty batch has all types, so that wrong types are errors before anything is read.
        self.mask(empty_batch(schema_of(self.columns)), lambda row: row)

    def _resolve(self, name: Name) -> tuple[str, list[str]]:
        from arrowroot._filter import grammar

        parts = [name.name] if name.exact else name.name.split(".")
        # As deep as other operations: each try takes time with the length of the name.
        for n_parts in range(len(parts), max(0, len(parts) - grammar.MAX_DEPTH), -1):
            path = self._path_of(".".join(parts[:n_parts]), name)
            if path is not None:
                return path, parts[n_parts:]
        known = [path for path, branch in self._branches.items() if not branch.is_group]
        close = nearest(name.name, [other for other in (*known, *self._by_name) if "`" not in other])
        what = f"{self._where}: filter: no branch {name.name!r}"
        from arrowroot._hints import for_name

        line = for_name(name.name)
        if line is not None:
            what, close, known = f"{what}: write {line}", [], []
        raise self._pointing(NoSuchColumnError(what, name.name, close, _as_written, known), name)

    def _is_column(self, text: str) -> bool:
        """Return whether a column has that path or name; a group has none."""
        same = [self._branches[text]] if text in self._branches else self._by_name.get(text, ())
        return any(not branch.is_group for branch in same)

    def _path_of(self, text: str, name: Name) -> str | None:
        """Return the column of that path or name; None if there is none, or if it only holds others."""
        path: str | None = text
        if text not in self._branches:
            same = [branch.path for branch in self._by_name.get(text, ())]
            if len(same) > 1:
                self._fail(f"{text!r} names {len(same)} branches: {', '.join(map(repr, same[:5]))}", name)
            path = same[0] if same else self._canonical(text) if self._canonical else None
            if path is None and text.replace(".", "/") in self._branches:
                path = text.replace(".", "/")
        if path is None:
            return None
        branch = self._branches.get(path)
        if branch is not None and branch.is_group:
            if text == name.name:
                inside = [p for p, b in self._branches.items() if p.startswith(f"{path}/") and not b.is_group]
                some = ", ".join(map(_as_written, inside[:3])) + (", ..." if len(inside) > 3 else "")
                self._fail(f"{text!r} is a group of columns; name one of them: {some}", name)
            return None
        if branch is not None and branch.unsupported is not None:
            self._fail(branch.unsupported, name)
        return path

    def _pointing(self, error: NoSuchColumnError, node: Node) -> NoSuchColumnError:
        """Return the error with the place in the text."""
        error.pointed = pointed_at(self.text, node.place.start, node.place.end)
        return error

    def _fail(self, message: str, node: Node) -> None:
        raise FilterError(message, self.text, node.place.start, node.place.end)

    def mask(self, batch: pa.RecordBatch, entry_of: Callable[[int], int]) -> Mask:
        import numpy as np

        from arrowroot._filter.lists import truth

        evaluation = _Evaluation(self.text, batch, self._found, entry_of)
        with np.errstate(all="ignore"):
            result = evaluation.of(self._node)
            if result.levels:
                self._fail(
                    "this is a list for each entry, not one truth value: say any(...), all(...) or count(...) > n",
                    self._node,
                )
            result = evaluation.guarded(self._node, lambda: truth(result))
        selected = result.data if result.valid is None else result.data & result.valid
        return cast("Mask", np.broadcast_to(selected, (batch.num_rows,)))


class _Evaluation:
    """The values of the parts of an expression for one batch."""

    def __init__(
        self,
        text: str,
        batch: pa.RecordBatch,
        found: dict[tuple[str, bool], tuple[str, list[str]]],
        entry_of: Callable[[int], int],
    ) -> None:
        self._text = text
        self._batch = batch
        self._found = found
        self._entry_of = entry_of
        self._columns: dict[tuple[str, bool], Items] = {}

    def guarded(self, node: Node, compute: Callable[[], Items]) -> Items:
        """Return the value of a node. Raises: FilterError with the place of the node."""
        from arrowroot._filter.lists import Problem

        try:
            return compute()
        except Problem as problem:
            message = problem.message
            if problem.row is not None:
                message += f", in entry {self._entry_of(problem.row):,}"
            raise FilterError(message, self._text, node.place.start, node.place.end) from None

    def of(self, node: Node) -> Items:
        """Return the value of a node for all rows."""
        return self.guarded(node, lambda: self._of(node))

    def _of(self, node: Node) -> Items:
        import numpy as np

        from arrowroot._filter import grammar as x
        from arrowroot._filter import lists, numbers

        if isinstance(node, x.Number):
            return lists.Items(np.asarray(node.value))
        if isinstance(node, x.Text):
            return lists.Items(node.value)
        if isinstance(node, x.Name):
            return self._column(node)
        if isinstance(node, x.Logic):
            return lists.logic(node.operator, [self._condition(operand) for operand in node.operands])
        if isinstance(node, x.Unary):
            operand = self.of(node.operand)
            if node.operator == "!":
                value = lists.truth(operand)
                return value._replace(data=np.asarray(~value.data))
            return numbers.negative(operand) if node.operator == "-" else operand
        if isinstance(node, x.Binary):
            left, right = self.of(node.left), self.of(node.right)
            if node.operator in ("==", "!=", "<", "<=", ">", ">="):
                return lists.compare(node.operator, left, right)
            return numbers.arithmetic(node.operator, left, right)
        if isinstance(node, x.Item):
            return lists.item(self.of(node.of), self.of(node.at))
        if isinstance(node, x.Member):
            return lists.member(self.of(node.of), node.name)
        return self._call(node)

    def _condition(self, node: Node) -> Items:
        from arrowroot._filter.lists import truth

        return self.guarded(node, lambda: truth(self.of(node)))

    def _column(self, name: Name) -> Items:
        from arrowroot._filter import lists

        key = (name.name, name.exact)
        if key not in self._columns:
            path, members = self._found[key]
            value = lists.of_arrow(self._batch.column(path))
            for member in members:
                value = lists.member(value, member)
            self._columns[key] = value
        return self._columns[key]

    def _call(self, node: Any) -> Items:
        from arrowroot._filter import lists, numbers

        values = [self.of(argument) for argument in node.arguments]
        name = node.function
        if name in ("min", "max") and len(values) > 1:
            return numbers.extreme(name, values)
        if name in ("any", "all", "sum", "count", "len", "min", "max", "Min$", "Max$"):
            return lists.reduce(name, values[0])
        if name == "isin":
            return lists.logic("||", [lists.compare("==", values[0], value) for value in values[1:]])
        if name in ("startswith", "endswith", "contains"):
            return lists.match_text(name, values[0], values[1])
        return numbers.absolute(values[0]) if name == "abs" else numbers.function(name, values)


class AllOf:
    """Several filters that must all hold."""

    def __init__(self, filters: Sequence[Filter]) -> None:
        self.text = " && ".join(one.text for one in filters)
        self.columns = list(dict.fromkeys(name for one in filters for name in one.columns))
        self._filters = filters

    def mask(self, batch: pa.RecordBatch, entry_of: Callable[[int], int]) -> Mask:
        import numpy as np

        return cast("Mask", np.logical_and.reduce([one.mask(batch, entry_of) for one in self._filters]))


def _paths_of(branches: Iterable[Candidate]) -> list[str]:
    """Return the paths of what can be read; a friend's column may go by two names, with its alias and without."""
    return list(dict.fromkeys(b.path for b in branches if not b.is_group and b.unsupported is None))


class ArrowFilter:
    """A filter that is an expression of ``pyarrow.compute``; its fields are the paths of columns."""

    def __init__(
        self,
        expression: pc.Expression,
        branches: Sequence[Candidate],
        schema_of: Callable[[list[str]], pa.Schema],
        where: str,
    ) -> None:
        self.text = str(expression)
        self._expression = expression
        self._where = where
        if "FieldPath(" in self.text:
            raise InvalidRequestError(
                f"filter: {self.text}: name the columns; fields by number are not taken"
            )
        # A text has the names of a few columns, mostly: the types of all others are not worked out then.
        schema = schema_of(_paths_of(branch for branch in branches if branch.path in self.text))
        if not schema.names or not self._is_bound(schema, schema.names):
            schema = schema_of(_paths_of(branches))
        self.columns = self._needed(schema)
        if not self.columns:
            raise FilterError(f"{self.text}: it names no column", "", 0, 0)

    def _needed(self, schema: pa.Schema) -> list[str]:
        """Return the fewest columns with which the expression has a type. pyarrow does not tell its fields."""
        import pyarrow as pa

        names = schema.names
        self._mask_of(pa.Table.from_batches([empty_batch(schema)]))
        needed: list[str] = []
        while not self._is_bound(schema, needed):
            # Bisection finds the first name that the expression needs, with all names before it there.
            low, high = 0, len(names)
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
                raise NoSuchColumnError(what, name, nearest(name, names), known=names) from None
            raise FilterError(f"{self._where}: {self.text}: {message[:500]}", "", 0, 0) from None
        if not pa.types.is_boolean(mask.type):
            raise FilterError(f"{self.text}: gives values of type {mask.type}, not truth values", "", 0, 0)
        known = mask.fill_null(False)
        return cast("Mask", arrays.to_numpy(known.combine_chunks()))

    def mask(self, batch: pa.RecordBatch, entry_of: Callable[[int], int]) -> Mask:
        del entry_of  # pyarrow does not say where something went wrong
        import pyarrow as pa

        return self._mask_of(pa.Table.from_batches([batch]))
