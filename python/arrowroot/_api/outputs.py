"""Which columns a scan delivers: those that are read, and those that are computed."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from arrowroot._errors import FilterError, NoSuchColumnError
from arrowroot._expressions.scope import Expression
from arrowroot._hints import for_column
from arrowroot._select.columns import NOT, Lookup, name_filter, without_mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from arrowroot._expressions.scope import Scope
    from arrowroot._passes.computed import NeededWhere
    from arrowroot._passes.source import Source
    from arrowroot._select.columns import Choice
    from arrowroot._select.entries import EntrySet

#: More than the path of a column.
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
        return list(dict.fromkeys(path for name in self.columns for path in self.needed_for(name)))

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
        return choice._replace(columns=left or None) if left or not choice.columns else None


def may_be_computed(choice: Choice, aliases: Iterable[str]) -> bool:
    """Return whether a choice could have more than columns by their names."""
    return any(_COMPUTED.search(text) or text in aliases for text in choice.columns or ())


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
    excluded = {without_mark(text) for text in marked}
    named = _Named(scope, [text for text in texts if text not in marked])
    stored = [
        text for text in texts if named.is_stored.get(text, without_mark(text) not in scope.definitions)
    ]
    if named.texts and not any(text in named.texts for text in stored):
        return named.in_order([])
    try:
        paths = choose(choice._replace(columns=stored or None))
    except NoSuchColumnError:
        if choice.filter_name is None or not scope.definitions:
            raise
        paths = []
    if named.texts:
        return named.in_order(paths)
    accepts = name_filter(choice.filter_name) if choice.filter_name is not None else lambda *_: True
    outputs: dict[str, Expression | None] = dict.fromkeys(paths)
    outputs |= {
        name: expression
        for name, expression in scope.definitions.items()
        if name not in excluded and accepts(name, name)
    }
    if not outputs and choice.filter_name is not None:
        choose(choice._replace(columns=stored or None))  # raises what was passed over
    return outputs


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
        words = re.findall(r"[^\W\d][\w.]*", text) if _COMPUTED.search(text) else []
        try:
            expression = Expression(text, self._scope, "columns")
            return {text: self._scope.checked(expression)} if words or text.startswith("(") else {}
        except (FilterError, NoSuchColumnError):
            # Texts in which nothing is known, and lists and patterns in one text, are no expressions that went wrong.
            known = {word for word in words if self._scope.is_column(word)}
            if known and not for_column(text, known):
                raise
            return {}

    def in_order(self, paths: list[str]) -> dict[str, Expression | None]:
        """Return what is computed, and the paths of what is read, in the order of the texts."""
        outputs: dict[str, Expression | None] = {}
        chosen = set(paths)
        for text in self.texts:
            meant = {branch.path for branch in self._lookup.meant(text)} if chosen else set()
            outputs |= dict.fromkeys(path for path in paths if path in meant)
            outputs |= self._computed[text]
        return outputs | {path: outputs.get(path) for path in paths}
