"""Which columns a scan delivers: those that are read, and those that are computed."""

from __future__ import annotations

import fnmatch
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from arrowroot._errors import FilterError, InvalidRequestError, NoSuchColumnError, SchemaMismatchError
from arrowroot._expressions.functions import ENTRY_NAMES
from arrowroot._expressions.scope import Expression, columns_of
from arrowroot._hints import for_column
from arrowroot._select.columns import NOT, Lookup, name_filter, without_mark
from arrowroot._select.origins import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from arrowroot._expressions.scope import Scope
    from arrowroot._passes.computed import NeededWhere
    from arrowroot._passes.source import Source
    from arrowroot._select.columns import Choice
    from arrowroot._select.entries import EntrySet

#: What no path of a column has.
_COMPUTED = re.compile(r"[^\w./;]")


class Outputs(NamedTuple):
    """The columns that a scan delivers.

    columns: what computes each, by its name and in order; None: it is read as it is. scope: None if none is computed.
    needed_where: as of ``Computed``.
    """

    columns: Mapping[str, Expression | None]
    scope: Scope | None = None
    needed_where: NeededWhere = MappingProxyType({})

    @property
    def needed(self) -> list[str]:
        """The columns to read."""
        # Columns that are read are made of nothing else; what definitions share is looked at once.
        computed = [one for one in self.columns.values() if one is not None]
        read = (name for name, one in self.columns.items() if one is None)
        return list(dict.fromkeys([*read, *columns_of(computed)]))

    def needed_for(self, name: str) -> list[str]:
        """Return the columns to read for one that is delivered."""
        expression = self.columns[name]
        return [name] if expression is None else expression.columns

    def of(self, source: Source, entries: EntrySet) -> Source:
        """Return a pass that delivers them, of one over those that are needed. ``entries``: what that delivers."""
        if self.scope is None:
            return source
        from arrowroot._passes.computed import Computed

        return Computed(source, self.columns, self.scope, entries, self.needed_where)

    def stored(self, choice: Choice) -> Choice | None:
        """Return the part of a choice that is of columns which are read; None if there is none."""
        left = [text for text in choice.columns or () if self.columns.get(text) is None]
        if self.scope is not None:
            # A glob may be of columns alone that are computed.
            computed = [name for name, one in self.columns.items() if one is not None]
            lookup = Lookup(self.scope.candidates, left)
            left = [text for text in left if lookup.meant(text) or not fnmatch.filter(computed, text)]
        return choice._replace(columns=left or None) if left or not choice.columns else None


def may_be_computed(choice: Choice, aliases: Iterable[str]) -> bool:
    """Return whether a choice could have more than columns by their names."""
    return any(_is_more(text) or text in aliases for text in choice.columns or ())


def _is_more(text: str) -> bool:
    """Return whether a text is more than the path of a column."""
    return bool(_COMPUTED.search(text)) or text in ENTRY_NAMES


def outputs_of(
    choice: Choice, scope: Scope, choose: Callable[[Choice], list[str]]
) -> dict[str, Expression | None]:
    """Return the columns that a choice delivers, by their names and in order, with what computes them.

    choose: gives the paths of a choice among the columns that are read. Such a column has None.

    All definitions are a part of a choice that names no columns, or only leaves some out. What is no name, and no glob
    that matches something, may be an expression.

    Raises: what ``choose`` raises; FilterError for an expression that cannot be understood or computed.
    """
    texts = list(dict.fromkeys(choice.columns or ()))
    marked = [text for text in texts if text.startswith(NOT) and not scope.is_column(text)]
    leaving_out = _LeavingOut(scope, marked)
    named = _Named(scope, [text for text in texts if text not in marked])
    wanted = [text for text in named.texts if named.is_stored[text]]
    if named.texts and not wanted:
        if leaving_out.unknown:
            choose(choice._replace(columns=leaving_out.unknown))  # raises
        return leaving_out.of(named.in_order([]))
    stored = choice._replace(columns=[*wanted, *leaving_out.stored] or None)
    # A computed column takes the place of the stored one of its name.
    accepts = name_filter(choice.filter_name) if choice.filter_name is not None else lambda *_: True
    computed: Mapping[str, Expression] = (
        named.computed
        if named.texts
        else {name: one for name, one in scope.definitions.items() if accepts(name, name)}
    )
    try:
        paths = choose(stored)
    except NoSuchColumnError:
        if choice.filter_name is None or not computed:
            raise
        paths = []
    except InvalidRequestError as error:
        # All that is read may be left out, if something is computed.
        if isinstance(error, SchemaMismatchError) or not any(map(leaving_out.keeps, computed)):
            raise
        if not leaving_out.paths.issuperset(choose(stored._replace(columns=wanted or None))):
            raise
        paths = []
    return leaving_out.of(named.in_order(paths) if named.texts else {**dict.fromkeys(paths), **computed})


class _LeavingOut:
    """The texts of a choice that leave something out: columns that are read, some that are computed, or both."""

    def __init__(self, scope: Scope, marked: Sequence[str]) -> None:
        self._where = scope.where
        self._marked = marked
        names = {text: without_mark(text) for text in marked}
        lookup = Lookup(scope.candidates, names.values())
        meant = {text: {branch.path for branch in lookup.meant(name)} for text, name in names.items()}
        #: The columns that are read and left out.
        self.paths: set[str] = set().union(*meant.values())
        accepts = name_filter([name for name in names.values() if not name.startswith("/")])
        #: Whether a column that is computed is delivered, by its name.
        self.keeps: Callable[[str], bool] = lambda one: one not in names.values() and not accepts(one, one)
        computed = list(scope.definitions)
        #: The texts that leave out nothing that is there.
        self.unknown = [
            text
            for text, name in names.items()
            if not meant[text] and name not in computed and not fnmatch.filter(computed, name)
        ]
        #: The texts that are of columns that are read; what is of none at all is, for the error that it gives.
        self.stored = [text for text in marked if meant[text] or text in self.unknown]

    def of(self, outputs: dict[str, Expression | None]) -> dict[str, Expression | None]:
        """Return what is delivered of some columns. Raises: InvalidRequestError if that is nothing."""
        left = {name: one for name, one in outputs.items() if one is None or self.keeps(name)}
        if self._marked and not left:
            raise InvalidRequestError(f"{self._where}: {', '.join(map(repr, self._marked))} leaves no column")
        return left


class _Named:
    """The texts of a choice that do not leave something out, and what each stands for."""

    def __init__(self, scope: Scope, texts: list[str]) -> None:
        self.texts = texts
        self._scope = scope
        self._lookup = Lookup(scope.candidates, texts)
        #: What is computed, of each text by the name that is delivered.
        self._computed: dict[str, Mapping[str, Expression]] = {}
        #: Whether each stands for columns that are read; what is neither does, for the error that it gives.
        self.is_stored: dict[str, bool] = {}
        for text in texts:
            is_there = text not in scope.definitions and bool(self._lookup.meant(text) or scope.spelled(text))
            self._computed[text] = self._computed_by(text, is_there=is_there)
            self.is_stored[text] = is_there or not self._computed[text]

    @property
    def computed(self) -> dict[str, Expression]:
        """All that is computed, by the names that are delivered."""
        return {name: one for found in self._computed.values() for name, one in found.items()}

    def _computed_by(self, text: str, *, is_there: bool) -> Mapping[str, Expression]:
        definitions = self._scope.definitions
        if text in definitions:
            return {text: definitions[text]}
        accepts = name_filter([text])
        found = {
            name: one for name, one in definitions.items() if not text.startswith("/") and accepts(name, name)
        }
        if is_there or found:
            return found
        alias = self._scope.alias(text)
        if alias is not None:
            return {text: self._scope.checked(alias)}
        is_more = _is_more(text)
        words = re.findall(r"[^\W\d][\w.]*", text) if is_more or "." in text else []
        try:
            if members := self._members(text):
                return {
                    name: self._scope.checked(Expression(name, self._scope, "columns")) for name in members
                }
            expression = Expression(text, self._scope, "columns")
            return {text: self._scope.checked(expression)} if words or text.startswith("(") else {}
        except (FilterError, NoSuchColumnError):
            # Names without a column or a member, texts in which nothing is known, and lists and patterns in one text,
            # are no expressions that went wrong.
            is_column = self._scope.is_column
            known = {
                word for word in words if is_more and (is_column(word) or is_column(word.partition(".")[0]))
            }
            # Nor are globs, in which an operand is missing. A text in parentheses is one, and no pattern.
            is_glob = re.search(r"\.[*?]|[*?]$", text) and not re.search(r"[^\w.*?]", text)
            if (known and not is_glob and not for_column(text, known, NAMES)) or (
                text.startswith("(") and text.endswith(")")
            ):
                raise
            return {}

    def _members(self, text: str) -> list[str]:
        """Return the members of a column of records that a glob with its name matches, the outermost ones.

        Fields of RNTuples list theirs as columns; records in trees have them by their types alone.

        Raises: FilterError for a column that cannot be read.
        """
        before, *glob = re.split(r"[*?\[]", text, maxsplit=1)
        column = before.rpartition(".")[0]
        while column and not self._scope.is_column(column):
            column = column.rpartition(".")[0]
        if not column or not glob:
            return []
        import pyarrow as pa

        accepts = re.compile(fnmatch.translate(text)).match

        def matched(name: str, kind: pa.DataType) -> Iterator[str]:
            while hasattr(kind, "value_type"):
                kind = kind.value_type
            for field in kind if pa.types.is_struct(kind) else ():
                member = f"{name}.{field.name}"
                if accepts(member):
                    yield member
                else:
                    yield from matched(member, field.type)

        return [*matched(column, self._scope.type_of(Expression(column, self._scope, "columns")))]

    def in_order(self, paths: list[str]) -> dict[str, Expression | None]:
        """Return what is computed, and the paths of what is read, in the order of the texts."""
        outputs: dict[str, Expression | None] = {}
        chosen = set(paths)
        for text in self.texts:
            meant = {branch.path for branch in self._lookup.meant(text)} if chosen else set()
            outputs |= dict.fromkeys(path for path in paths if path in meant)
            outputs |= self._computed[text]
        return outputs | {path: outputs.get(path) for path in paths}
