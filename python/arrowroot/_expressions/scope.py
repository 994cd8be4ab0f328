"""The names that expressions may use: the columns of a tree, definitions, and the aliases that a tree records."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._errors import (
    ArrowrootError,
    FilterError,
    InvalidRequestError,
    NoSuchColumnError,
    nearest_column,
    pointed_at,
)
from arrowroot._expressions import grammar
from arrowroot._expressions.functions import COMPARISONS, ENTRY_NAMES, NEVER_NULL, OF_TEXTS
from arrowroot._expressions.nodes import (
    Binary,
    Call,
    Item,
    Logic,
    Member,
    Name,
    Node,
    Number,
    Text,
    Unary,
    names_in,
    parts_of,
    walk,
)
from arrowroot._expressions.tokens import is_name, longer_column
from arrowroot._options import as_expression, definitions_of
from arrowroot._render import shown
from arrowroot._select.columns import by_name
from arrowroot._select.origins import ENTRY, NAMES, SAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from arrowroot._expressions.evaluation import NoRows, Rows
    from arrowroot._expressions.lists import Items
    from arrowroot._expressions.origins import Asked
    from arrowroot._select.columns import Candidate


def is_required(field: pa.Field[Any]) -> bool:
    """Return whether a column has no null, on any level."""
    inner = [field.type.field(i) for i in range(field.type.num_fields)]
    return not field.nullable and all(map(is_required, inner))


class _Referent(NamedTuple):
    """What a name in an expression stands for: a column, or another expression, and members in it."""

    path: str
    members: list[str]
    expression: Expression | None = None
    #: Where entries come from, in the place of a column; "" without a path: the numbers of the entries.
    origin: str = ""


class Alias(NamedTuple):
    """An expression that a tree records under a name; ``friend``: the tree is one by this alias, "" for none."""

    text: str
    friend: str = ""


class Expression:
    """An expression in text, its names found, its types checked."""

    def __init__(
        self, text: str, scope: Scope, what: str, *, of_draw: bool = False, n_around: int = 0
    ) -> None:
        """``what``: whose it is, for errors; ``of_draw``: as of ``grammar.parse``. n_around: how deep it is in others.

        Raises: FilterError, NoSuchColumnError, InvalidRequestError.
        """
        self.text = text
        self.what = what
        self.is_alias = of_draw
        self._scope = scope
        self.node = grammar.parse(text, scope.is_column, what, of_draw=of_draw)
        # Aliases are bound inside of what uses them: as files bring them, the depth is checked before and behind.
        self._check_depth(n_around + 1 + self.node.depth)
        self._found: dict[tuple[str, bool], _Referent] = {}
        for name in names_in(self.node):
            if (name.name, name.exact) not in self._found:
                self._found[name.name, name.exact] = self._resolve(name, n_around + 1 + self.node.depth)
        #: The columns of the tree that its names are, by their paths.
        self.own_columns: list[str] = [
            one.path for one in self._found.values() if one.path and not one.expression
        ]
        #: The definitions and aliases that its names are.
        self.uses: list[Expression] = [one.expression for one in self._found.values() if one.expression]
        #: How deep operations are inside each other, those of aliases counted. Definitions are computed one by one.
        self.depth: int = (
            1 + self.node.depth + max((one.depth for one in self.uses if one.is_alias), default=0)
        )
        self._check_depth(self.depth)
        if any(one.origin for one in self._found.values()):
            from arrowroot._expressions.origins import asked_in

            scope.asked += asked_in(self.node, self._origin_of, what)
        #: True if it needs the numbers of the entries.
        self.needs_entries: bool = any(
            one.expression.needs_entries if one.expression else not one.path for one in self._found.values()
        )
        #: True if it asks where entries come from, be it in a definition.
        self.names_origin: bool = any(
            one.expression.names_origin if one.expression else bool(one.origin)
            for one in self._found.values()
        )

    def _check_depth(self, depth: int) -> None:
        if depth > grammar.MAX_DEPTH + 1:
            raise self.error(f"more than {grammar.MAX_DEPTH} operations inside each other", self.node)

    def _origin_of(self, name: Name) -> str:
        return self._found[name.name, name.exact].origin

    def in_order(self, is_known: Callable[[Expression], bool] = lambda _: False) -> Iterator[Expression]:
        """Yield what it is made of, each once behind what that uses, and it: none is to be computed inside of another.

        is_known: what is known is left out, and what that uses. What was yielded is known.
        """
        return made_of([self], is_known)

    @property
    def columns(self) -> list[str]:
        """The columns of the tree that it needs, by their paths. Looks at all that it is made of."""
        return columns_of([self])

    @cached_property
    def numbers(self) -> Mapping[int, int]:
        """The number of each part of it, by the identity of its node: those that compute the same have the same."""
        found: dict[int, int] = {}
        for one in self.in_order(lambda one: "numbers" in vars(one)):
            _ = one is self or one.numbers
        # The parts of a node come behind it.
        for node in reversed(list(walk(self.node))):
            found[id(node)] = self._number(node, [found[id(part)] for part in parts_of(node)])
        return found

    def _number(self, node: Node, parts: Iterable[int]) -> int:
        """Return the number of a node, of those of its parts."""
        own = (value for field, value in zip(node._fields, node, strict=True) if field != "depth")
        # 1, 1.0 and true are equal, but not in text.
        key: tuple[object, ...] = (
            type(node),
            *(repr(one) for one in own if isinstance(one, str | int | float)),
            *parts,
        )
        if isinstance(node, Name):
            path, members, expression, origin = self._found[node.name, node.exact]
            of = (path, origin) if expression is None else (expression.numbers[id(expression.node)],)
            key = (Name, *of, *members)
        return self._scope.part_numbers.setdefault(key, len(self._scope.part_numbers))

    @property
    def only_column(self) -> str | None:
        """The column that it is, as it stands; None: it computes something."""
        if not isinstance(self.node, Name):
            return None
        found = self._found[self.node.name, self.node.exact]
        return None if found.members or found.expression else found.path or None

    def value_of(self, name: Name, rows: Rows) -> Items:
        """Return the value of a name in it."""
        from arrowroot._expressions import lists

        path, members, expression, origin = self._found[name.name, name.exact]
        if expression is not None:
            value = rows.definition(expression)
        elif path:
            value = rows.column(path)
        elif origin and self._scope.origin is not None:
            value = rows.origin(origin, self._scope.origin)
        else:
            value = rows.entries()
        for member in members:
            value = lists.member(value, member)
        return value

    def definition_of(self, name: Name) -> Expression | None:
        """Return the expression that a name in it stands for; None: a column."""
        return self._found[name.name, name.exact].expression

    def never_null(self, schema: pa.Schema, known: dict[int, bool] | None = None) -> bool:
        """Return whether it has a value for each entry, and each item, whatever the values of its columns are.

        schema: of the columns that it needs. known: what was found of expressions, by identity; many may use one.
        """
        known = {} if known is None else known
        for one in self.in_order(lambda one: id(one) in known):
            nodes = walk(one.node)
            known[id(one)] = all(one._never_null(node, schema, known) for node in nodes)  # noqa: SLF001 - one of these
        return known[id(self)]

    def _never_null(self, node: Node, schema: pa.Schema, known: dict[int, bool]) -> bool:
        if isinstance(node, Name):
            found = self._found[node.name, node.exact]
            if found.expression is not None:
                return not found.members and known[id(found.expression)]
            return not found.path or (not found.members and is_required(schema.field(found.path)))
        if isinstance(node, Binary):
            return node.operator in NEVER_NULL
        if isinstance(node, Call):
            return node.function in NEVER_NULL
        # An item may not be there, but for those that are chosen by a condition. Neither may a member.
        is_chosen = isinstance(node, Item) and _is_condition(node.at)
        return is_chosen or not isinstance(node, Item | Member)

    def error(self, message: str, node: Node) -> FilterError:
        """Return the error of a part of it, with the place."""
        return FilterError(message, self.text, node.place.start, node.place.end, self.what)

    def error_in(self, entry: int, message: str, node: Node) -> FilterError:
        """Return the error of a part of it that an entry has, with its file, tree and number there."""
        where, entry = self._scope.place(entry)
        text = f"{message}, in entry {entry:,}"
        return FilterError(text, self.text, node.place.start, node.place.end, f"{where}: {self.what}")

    def _resolve(self, name: Name, depth: int) -> _Referent:
        """Return what a name stands for. ``depth``: so deep in others is what it stands for."""
        parts = [name.name] if name.exact else name.name.split(".")
        # As deep as other operations: each try takes time with the length of the name.
        if name.name in self._scope.of_row and name.name not in self._scope.definitions:
            return self._origin(name)
        for n_parts in range(len(parts), max(0, len(parts) - grammar.MAX_DEPTH), -1):
            text = ".".join(parts[:n_parts])
            if (defined := self._scope.definitions.get(text)) is not None:
                return _Referent(text, parts[n_parts:], defined)
            path = self._path_of(text, name)
            if path is not None:
                return _Referent(path, parts[n_parts:])
            if (alias := self._scope.alias(text, depth)) is not None:
                return _Referent(text, parts[n_parts:], alias)
        if name.name in ENTRY_NAMES:
            return _Referent("", [])
        if name.name in self._scope.origins:
            return self._origin(name)
        raise self._unknown(name)

    def _origin(self, name: Name) -> _Referent:
        self._scope.origins_used.add(name.name)
        return _Referent("", [], origin=name.name)

    def _unknown(self, name: Name) -> NoSuchColumnError:
        scope = self._scope
        what = f"{scope.where}: {self.what}: no branch {name.name!r}"
        close: list[str] = []
        known: list[str] = []
        if (said := self._meant_by(name)) is not None:
            what = f"{what}: {said}"
        else:
            columns = (path for path, branch in scope.branches.items() if not branch.is_group)
            known = [*scope.definitions, *columns]
            close = nearest_column(name.name, [one for one in (*known, *scope.by_name) if "`" not in one])
            if name.name == SAMPLE:
                what += (
                    "; files have one where samples are scanned by their names: "
                    'ar.scan({"tt": {"files": ["tt/*.root"]}}, ...)'
                )
        error = NoSuchColumnError(what, name.name, close, _as_written, known)
        error.pointed = pointed_at(self.text, name.place.start, name.place.end)
        return error

    def _meant_by(self, name: Name) -> str | None:
        """Return what to write for a name that is of no column; None if nobody knows what was meant."""
        from arrowroot._filter_hints import for_name

        longer = None if name.exact else longer_column(self.text, name.place, self._scope.is_column)
        if longer is not None:
            return longer[0]
        if name.name in self._scope.to_define:
            return "it is defined behind this, and a definition has those before it"
        if self._is_beside_text(name):
            return f'a text stands in quotes: "{name.name}"'
        line = for_name(name.name)
        return None if line is None else f"write {line}"

    def _is_beside_text(self, name: Name) -> bool:
        """Return whether a name is compared with a column of texts."""
        for node in walk(self.node):
            is_comparison = (isinstance(node, Binary) and node.operator in COMPARISONS) or (
                isinstance(node, Call) and node.function in OF_TEXTS
            )
            if is_comparison and any(part is name for part in parts_of(node)):
                return any(self._is_text(part) for part in parts_of(node))
        return False

    def _is_text(self, node: Node) -> bool:
        """Return whether a part is a column of texts, or says by texts where entries come from."""
        scope = self._scope
        if not isinstance(node, Name):
            return False
        if node.name in scope.definitions:
            kind = scope.type_of(scope.definitions[node.name])
        elif scope.is_column(node.name) and (path := self._path_of(node.name, node)) is not None:
            kind = scope.schema_of([path]).field(path).type
        else:
            return node.name in scope.origins and node.name != ENTRY
        return holds_texts(kind)

    def _path_of(self, text: str, name: Name) -> str | None:
        """Return the column of that path or name; None if there is none, or if it only holds others."""
        scope = self._scope
        path: str | None
        if text not in scope.branches:
            same = [branch.path for branch in scope.by_name.get(text, ())]
            if len(same) > 1:
                raise self.error(
                    f"{text!r} names {len(same)} branches: {', '.join(map(repr, same[:5]))}", name
                )
            path = same[0] if same else scope.spelled(text)
            if path is None and (member := scope.branches.get(text.replace(".", "/"))) is not None:
                path = member.path
        else:
            path = scope.branches[text].path
        if path is None:
            return None
        branch = scope.branches.get(path)
        if branch is not None and branch.is_group:
            if text == name.name:
                inside = [p for p, b in scope.branches.items() if p.startswith(f"{path}/") and not b.is_group]
                some = ", ".join(map(_as_written, inside[:3])) + (", ..." if len(inside) > 3 else "")
                raise self.error(f"{text!r} is a group of columns; name one of them: {some}", name)
            return None
        if branch is not None and branch.unsupported is not None:
            raise self.error(branch.unsupported, name)
        return path


class Scope:
    """The names of one tree, or of several that are read as one."""

    def __init__(
        self,
        branches: Sequence[Candidate],
        schema_of: Callable[[list[str]], pa.Schema],
        where: str,
        canonical: Callable[[str], str | None] | None = None,
        aliases: Callable[[], Mapping[str, Alias]] = dict,
        *,
        place: Callable[[int], tuple[str, int]] | None = None,
        origin: Callable[[str, Any], Items] | None = None,
        has_samples: bool = False,
        origins_of_row: frozenset[str] | None = None,
    ) -> None:
        """Take the names.

        schema_of: the Arrow types of columns, by their paths. where: the tree, for errors. canonical: a path as the
            tree spells it. aliases: the expressions that the tree records, by their names. place: the tree of several
            that has an entry, and the number of the entry there. origin: where entries come from, by one of the names
            of ``origin=``, for their numbers; has_samples: the files are of samples. origins_of_row: as of ``OfRow``.
        """
        self.candidates = branches
        self.branches = {branch.path: branch for branch in branches}
        self.by_name = by_name(branches)
        self.schema_of = schema_of
        self.where = where
        self.canonical = canonical
        self._aliases = aliases
        self.place: Callable[[int], tuple[str, int]] = place or (lambda entry: (where, entry))
        self.origin = origin
        #: The names that are of no column, and say where entries come from.
        self.origins: frozenset[str] = frozenset()
        if origin is not None:
            self.origins = frozenset(NAMES if has_samples else (name for name in NAMES if name != SAMPLE))
        #: Those that are origins though the tree may have such a column.
        self.of_row: frozenset[str] = frozenset()
        if origin is not None and origins_of_row is not None:
            self.origins = self.of_row = origins_of_row
        #: Those that expressions ask for.
        self.origins_used: set[str] = set()
        #: Texts with which expressions compare them.
        self.asked: list[Asked] = []
        #: Columns that are computed, by their names; each may use those before it.
        self.definitions: dict[str, Expression] = {}
        #: The names of those that are still to be added.
        self.to_define: list[str] = []
        self._bound_aliases: dict[str, Expression | None] = {}
        #: The numbers of parts of expressions, by what they compute.
        self.part_numbers: dict[tuple[object, ...], int] = {}

    def spelled(self, text: str) -> str | None:
        """Return the path of a column by its name in any spelling that the tree knows; None: there is none."""
        return self.canonical(text) if self.canonical else None

    def is_column(self, text: str) -> bool:
        """Return whether a column has that path or name; a group has none."""
        if text in self.definitions:
            return True
        same = [self.branches[text]] if text in self.branches else self.by_name.get(text, ())
        return any(not branch.is_group for branch in same)

    def define(self, given: object) -> None:
        """Add the columns that a user defined. Raises: InvalidRequestError, FilterError, NoSuchColumnError."""
        given = definitions_of(given)
        self.to_define = list(given)
        for name, text in given.items():
            self.to_define.remove(name)
            if not isinstance(name, str) or not name.isidentifier() or not is_name(name):
                raise InvalidRequestError(f"define: expected a name as of a variable, got {shown(name)}")
            if not isinstance(text, str):
                example = f'"{as_expression(text) or "2*x"}"'
                raise InvalidRequestError(
                    f"define: {name}: expected an expression in text, got {shown(text)}"
                    f": write {{{name!r}: {example}}}"
                )
            # It stands for the column from here on; in its own text that name is the column as it is read.
            is_of_its_own = name in self.branches and not self.branches[name].is_group
            if not is_of_its_own and (self.is_column(name) or self.spelled(name)):
                raise InvalidRequestError(f"define: {self.where} has a column {name!r}: choose another name")
            self.definitions[name] = self.checked(Expression(text, self, f"define: {name}"))

    def alias(self, name: str, n_around: int = 0) -> Expression | None:
        """Return what an alias of the tree stands for; None: there is none of that name. ``n_around``: of what uses it.

        An alias may use others; one that is in use already stands for no alias. Its names are those of the tree,
        and none of a definition, which its author did not know.
        """
        if name not in self._bound_aliases:
            found = self._aliases().get(name)
            self._bound_aliases[name] = None
            if found is not None:
                scope = self._of_friend(found.friend) if found.friend else self._of_tree
                try:
                    self._bound_aliases[name] = Expression(
                        found.text, scope, f"alias {name}", of_draw=True, n_around=n_around
                    )
                except ArrowrootError:
                    # An alias that is too deep inside of others may be bound alone.
                    del self._bound_aliases[name]
                    raise
        return self._bound_aliases[name]

    @cached_property
    def _of_tree(self) -> Scope:
        """The same names without definitions."""
        found = copy.copy(self)
        found.definitions, found.to_define, found.origins, found.of_row = {}, [], frozenset(), frozenset()
        return found

    def _of_friend(self, friend: str) -> Scope:
        """Return the names of a friend as it has them itself."""
        mark = f"{friend}."
        aliases = {
            name.removeprefix(mark): Alias(alias.text)
            for name, alias in self._aliases().items()
            if alias.friend == friend
        }
        found = Scope((), self.schema_of, self.where, aliases=lambda: aliases, place=self.place)
        found.part_numbers = self.part_numbers
        found.branches = {
            path.removeprefix(mark): branch for path, branch in self.branches.items() if path.startswith(mark)
        }
        for path, branch in found.branches.items():
            found.by_name.setdefault(path.rpartition("/")[2], []).append(branch)
        return found

    def checked(self, expression: Expression) -> Expression:
        """Return an expression whose types fit. Raises: FilterError."""
        self.type_of(expression)
        return expression

    def type_of(self, expression: Expression) -> pa.DataType:
        """Return the Arrow type of what an expression computes. Raises: FilterError."""
        if (path := expression.only_column) is not None:
            return self.schema_of([path]).field(path).type
        # Definitions that were computed have their columns: in a long row only new ones are looked at.
        rows = self._no_rows
        schema = self.schema_of(columns_of([expression], rows.is_known))
        rows.fields.update({field.name: field for field in schema})
        return values(expression, rows).type

    @cached_property
    def _no_rows(self) -> NoRows:
        """No rows of all columns: what definitions have of them is computed once for all that use these."""
        from arrowroot._expressions.evaluation import NoRows

        return NoRows()


def made_of(
    expressions: Iterable[Expression], is_known: Callable[[Expression], bool] = lambda _: False
) -> Iterator[Expression]:
    """Yield what expressions are made of, and them, each once; see :meth:`Expression.in_order`."""
    waiting = [*expressions][::-1]
    done: set[int] = set()
    while waiting:
        one = waiting[-1]
        missing = [used for used in one.uses if id(used) not in done and not is_known(used)]
        if id(one) in done or not missing:
            waiting.pop()
            if id(one) not in done:
                yield one
            done.add(id(one))
        else:
            waiting += missing


def columns_of(
    expressions: Iterable[Expression], is_known: Callable[[Expression], bool] = lambda _: False
) -> list[str]:
    """Return the columns of the tree that expressions need, by their paths; without those of what is known."""
    return list(dict.fromkeys(path for one in made_of(expressions, is_known) for path in one.own_columns))


def parts_needed_again(expressions: Iterable[Expression]) -> set[int]:
    """Return the numbers of the parts that several expressions compute, or one several times."""
    seen: set[int] = set()
    again: set[int] = set()
    waiting: list[tuple[Expression, Node]] = [(one, one.node) for one in expressions]
    while waiting:
        expression, node = waiting.pop()
        number = expression.numbers[id(node)]
        if isinstance(node, Name):
            if (defined := expression.definition_of(node)) is not None:
                waiting.append((defined, defined.node))
        elif number in seen:
            again.add(number)
        elif not isinstance(node, Number | Text):
            seen.add(number)
            waiting.extend((expression, part) for part in parts_of(node))
    return again


def values(expression: Expression, rows: Rows, kind: pa.DataType | None = None) -> pa.Array:
    """Return what an expression computes as an Arrow array, a column that it is alone as a copy, too.

    kind: its type, if that is known.

    Raises: FilterError.
    """
    return delivered_as(expression, rows.of(expression), rows, kind)


def delivered_as(
    expression: Expression, found: Items, rows: Rows, kind: pa.DataType | None = None
) -> pa.Array:
    """Return as an Arrow array what an expression computed; see :func:`values`."""
    from arrowroot._expressions import delivered
    from arrowroot._expressions.lists import Problem

    try:
        return delivered.to_arrow(found, rows.num_rows, kind)
    except Problem as problem:
        if problem.row is None:
            raise expression.error(problem.message, expression.node) from None
        raise expression.error_in(rows.entry_of(problem.row), problem.message, expression.node) from None


def holds_texts(kind: pa.DataType) -> bool:
    """Return whether values of a type are texts, or lists of texts."""
    import pyarrow as pa

    from arrowroot._expressions.lists import Problem, of_arrow

    try:
        return of_arrow(pa.nulls(0, kind)).kind == "text"
    except Problem:
        return False


def _is_condition(node: Node) -> bool:
    """Return whether a part of an expression is a condition, and no number, by how it is written."""
    return isinstance(node, Logic) or (
        (isinstance(node, Binary) and node.operator in COMPARISONS)
        or (isinstance(node, Unary) and node.operator == "!")
    )


def _as_written(name: str) -> str:
    """Return a name as an expression writes it: in backticks if it would be taken for more than a name."""
    return repr(name) if is_name(name) else f"`{name}`"
