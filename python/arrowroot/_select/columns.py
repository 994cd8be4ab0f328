"""Which columns to read: exact paths, unique names, globs and regular expressions, made a list of paths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import translate
from functools import cached_property
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from arrowroot._errors import (
    InvalidRequestError,
    NoSuchColumnError,
    UnsupportedError,
    nearest_columns,
    warn_left_out,
)
from arrowroot._render import shown
from arrowroot._select.globs import ANY_ENDS, KnownEnds, ends_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from typing import TypeAlias

    from arrowroot._select.globs import Ends

    #: What says of a name whether it is meant: a function, or a compiled pattern that must match its begin.
    Test: TypeAlias = Callable[[str], object] | re.Pattern[str]
    #: A choice of columns as users give it: names, globs, and "!name" for what is left out; None: all.
    Columns: TypeAlias = str | Iterable[str] | Test | None
    #: What keeps columns by their names: globs, regular expressions between slashes, and tests.
    NameFilter: TypeAlias = str | Test | Iterable[str | Test] | None

# Compiled when first used, as in _sizes.
_GLOB = r"[*?\[]"
_REGEX = r"(?s)/(.*)/([aimsx]*)"
#: Marks what is to be left out.
NOT = "!"


class Candidate(Protocol):
    """A branch to choose from."""

    @property
    def path(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def type_name(self) -> str: ...
    @property
    def is_group(self) -> bool: ...
    @property
    def depth(self) -> int: ...
    @property
    def is_part(self) -> bool: ...
    @property
    def unsupported(self) -> str | None: ...


C = TypeVar("C", bound=Candidate)


def is_named(columns: Columns, path: str) -> bool:
    """Return whether a user chose a column, or left it out, by its name or that of its group, and not by a pattern."""
    if columns is None:
        return False
    if is_test(columns):
        return True
    texts = map(without_mark, texts_of(columns, "columns"))
    return any(path == text or path.startswith((f"{text}/", f"{text}.")) for text in texts)


def texts_of(given: object, what: str) -> list[str]:
    """Return the names or patterns that a user gave for the option ``what``: one text, or several.

    Raises: InvalidRequestError for anything else.
    """
    texts = [given] if isinstance(given, str) else given
    if isinstance(texts, Mapping):
        raise InvalidRequestError(
            f"{what}: expected a name or several, got {shown(given)}: nothing is renamed here; take the names, and "
            "rename the columns of what is returned"
        )
    if not isinstance(texts, Iterable) or isinstance(texts, bytes | bytearray):
        raise InvalidRequestError(f"{what}: expected a name or several, got {shown(given)}{_line_for(what)}")
    names = list(texts)
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise InvalidRequestError(f"{what}: expected names, got {shown(wrong[0])}{_line_for(what)}")
    return names


def _line_for(what: str) -> str:
    """Return how columns are written, expressions among them; "" for other options."""
    return ': write columns=["x", "2*x"]' if what == "columns" else ""


def is_test(given: object) -> bool:
    """Return whether something is no name, but says of names whether they are meant."""
    return callable(given) or isinstance(given, re.Pattern)


def _texts_and_tests(given: Any) -> list[str | Test]:
    if is_test(given):
        return [given]
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        return [*texts_of(given, "filter_name")]
    every = list(given)
    texts_of([one for one in every if not is_test(one)], "filter_name")
    return every


def without_mark(text: str) -> str:
    """Return the name in a text of ``columns``, without the mark of what is left out."""
    return text.removeprefix(NOT)


def divided(branches: Iterable[Candidate], texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the texts that name what is read, and those that name what is left out.

    A text that is the name of a branch is read, whatever it begins with.
    """
    names = list(texts)
    marked = {text for text in names if text.startswith(NOT)}
    if marked:
        marked -= {name for branch in branches for name in (branch.path, branch.name)}
    return [text for text in names if text not in marked], [text for text in names if text in marked]


def single_names(given: object, what: str) -> list[str]:
    """Return the names that a user gave for the option ``what``, each of one column.

    Raises: InvalidRequestError for patterns, and what leaves columns out.
    """
    names = texts_of(given, what)
    wrong = [name for name in names if name.startswith(NOT) or re.search(_GLOB, name)]
    if wrong:
        raise InvalidRequestError(f"{what}: expected names of single columns, got {shown(wrong[0])}")
    return names


def pattern_for(text: str, names: Iterable[str]) -> str | None:
    """Return the pattern that a text is, or that of the collection which it names; None: it is neither."""
    if text.startswith(NOT) or re.search(_GLOB, text):
        return text
    of_collection = f"{text}_"
    return f"{text}_*" if any(name.startswith(of_collection) for name in names) else None


def id_names(given: object, what: str) -> tuple[str, ...]:
    """Return the names of the columns that hold ids, given for the option ``what``. Raises: InvalidRequestError."""
    names = single_names(given, what)
    if repeated := [name for index, name in enumerate(names) if name in names[:index]]:
        raise InvalidRequestError(f"{what}: {repeated[0]!r} is named twice; ids are of different columns")
    return tuple(names)


def id_paths(names: Iterable[str], chosen: Callable[[str], list[str]], where: str) -> list[str]:
    """Return the path of each column that holds ids, by names of which ``chosen`` gives the paths.

    Raises: InvalidRequestError for a name of several columns, and two names of one.
    """
    found: dict[str, str] = {}
    for name in names:
        paths = chosen(name)
        if len(paths) != 1:
            raise InvalidRequestError(
                f"{where}: {name!r} stands for {len(paths)} columns, of which one can hold ids: "
                f"{', '.join(map(repr, paths[:5]))}"
            )
        if paths[0] in found:
            raise InvalidRequestError(
                f"{where}: {found[paths[0]]!r} and {name!r} are one column; ids are of different columns"
            )
        found[paths[0]] = name
    return list(found)


def whole(branches: Iterable[C]) -> list[C]:
    """Return the branches (depth first) without the parts of those that are there themselves.

    A field of an RNTuple and the members inside it are all columns. A request for many columns wants values once.
    """
    kept: list[C] = []
    around: str | None = None
    for branch in branches:
        if branch.is_part and around is not None and branch.path.startswith(around):
            continue
        around = f"{branch.path}."
        kept.append(branch)
    return kept


def by_name(branches: Iterable[C]) -> dict[str, list[C]]:
    """Return the branches of each name; those called "x[10]" go by "x", too, if nothing else does."""
    found: dict[str, list[C]] = {}
    without_dims: dict[str, list[C]] = {}
    for branch in branches:
        found.setdefault(branch.name, []).append(branch)
        if branch.name.endswith("]"):
            without_dims.setdefault(branch.name.partition("[")[0], []).append(branch)
    return {**without_dims, **found}


class Choice(NamedTuple):
    """Which columns a user asks for; :func:`select` says what it means, and ``Tree.scan`` explains it."""

    columns: list[str] | None = None
    filter_name: list[str | Test] | None = None
    assemble: bool = False
    raw: bool = False

    @classmethod
    def of(
        cls, columns: object = None, filter_name: object = None, *, assemble: bool = False, raw: bool = False
    ) -> Choice:
        """Return a choice as a user gave it. Raises: InvalidRequestError for what is no text, nor several."""
        if is_test(columns):
            if filter_name is not None:
                raise InvalidRequestError("columns and filter_name: which of the two tests? give one")
            columns, filter_name = None, columns
        return cls(
            None if columns is None else texts_of(columns, "columns"),
            None if filter_name is None else _texts_and_tests(filter_name),
            assemble,
            raw,
        )

    def names_some_of(self, branches: Iterable[Candidate]) -> bool:
        """Return whether columns are named or matched; else all are meant, but those that are left out."""
        return self.columns is not None and bool(divided(branches, self.columns)[0])

    def left_out_in_vain(self, branches: Sequence[Candidate]) -> list[str]:
        """Return what is to be left out, but is none of some branches, by its name or pattern."""
        excluded = [without_mark(text) for text in divided(branches, self.columns or [])[1]]
        found = Lookup(branches, excluded)
        return [name for name in excluded if not found.meant(name)]

    def not_leaving_out(self, names: Iterable[str]) -> Choice:
        """Return the choice without the texts that leave out ``names``."""
        dropped = {f"{NOT}{name}" for name in names}
        # No columns at all would be none; what only leaves some out chooses all.
        return self._replace(columns=[text for text in self.columns or [] if text not in dropped] or None)


class Selection(NamedTuple):
    """The paths chosen, and (path, C++ type) of columns that were asked for but cannot be read."""

    paths: list[str]
    left_out: list[tuple[str, str]]


def name_filter(filter_name: Iterable[str | Test]) -> Callable[[str, str], bool]:
    """Return the test of a branch's (path, name) for globs, ``/regex/`` and tests, any of which may match.

    A glob matches the branch's whole path or its name alone, and its ``*`` goes across "/". A regular
    expression matches from the start of either, and takes flags after the last slash: ``/muon_/i``. A function is
    asked for the path.
    """
    patterns: dict[Ends, list[re.Pattern[str]]] = {}
    functions = []
    for text in filter_name:
        if isinstance(text, re.Pattern):
            patterns.setdefault(ANY_ENDS, []).append(text)
            continue
        if not isinstance(text, str):
            functions.append(text)
            continue
        regex = re.fullmatch(_REGEX, text)
        try:
            pattern = re.compile(
                f"(?{regex[2]}){regex[1]}" if regex and regex[2] else regex[1] if regex else translate(text)
            )
        except (re.error, RecursionError, OverflowError) as error:
            raise InvalidRequestError(f"filter_name: {text[:200]!r}: {error}") from None
        patterns.setdefault(_ends_of(text), []).append(pattern)
    known = KnownEnds(patterns)
    return lambda path, name: (
        any(
            pattern.match(text)
            for text in (path, name)
            for ends in known.of(text)
            for pattern in patterns[ends]
        )
        or any(function(path) for function in functions)
    )


def matching(branches: Sequence[C], filter_name: Iterable[str | Test]) -> list[C]:
    """Return the branches (depth first) that a filter accepts or names exactly, a group with its members."""
    return with_members(branches, _accepted(filter_name))


def with_members(branches: Iterable[C], accepts: Callable[[Candidate], bool]) -> list[C]:
    """Return the branches (depth first) that are accepted, a group with its members."""
    found = []
    group_depth: int | None = None
    for branch in branches:
        if group_depth is not None and branch.depth <= group_depth:
            group_depth = None
        inside = group_depth is not None
        if inside or accepts(branch):
            found.append(branch)
            if branch.is_group and not inside:
                group_depth = branch.depth
    return found


class Lookup(Generic[C]):
    """Finds branches (depth first) by each of many texts, without a look at all of them for each."""

    def __init__(self, branches: Sequence[C], texts: Iterable[str]) -> None:
        self._branches = branches
        self._texts = texts

    @cached_property
    def indices(self) -> dict[str, list[int]]:
        """The indices of the branches of each path."""
        found: dict[str, list[int]] = {}
        for index, branch in enumerate(self._branches):
            found.setdefault(branch.path, []).append(index)
        return found

    @cached_property
    def by_name(self) -> dict[str, list[C]]:
        """As the function of that name; whole paths, which are most of what is asked for, do without."""
        return by_name(self._branches)

    @cached_property
    def _near(self) -> dict[Ends, list[int]]:
        """The indices of the branches whose path or name has the ends of a pattern, for each."""
        found: dict[Ends, list[int]] = {_ends_of(text): [] for text in self._texts if re.search(_GLOB, text)}
        known = KnownEnds(found)
        for index, branch in enumerate(self._branches):
            for ends in {*known.of(branch.path), *known.of(branch.name)}:
                found[ends].append(index)
        return found

    def matching(self, text: str) -> list[C]:
        """Return what the function of that name does for one of the texts that is a pattern, nothing for others."""
        if not re.search(_GLOB, text):
            return []
        accepts = _accepted([text])
        return self._with_members(
            index for index in self._near[_ends_of(text)] if accepts(self._branches[index])
        )

    def meant(self, text: str) -> list[C]:
        """Return the branches of that path, else of that name, else those that a glob matches, groups with members.

        So "x[3]" does not mean "x3" if it is there.
        """
        paths = [text] if text in self.indices else {branch.path for branch in self.by_name.get(text, [])}
        named = self._with_members(sorted(index for path in paths for index in self.indices[path]))
        return named or self.matching(text)

    def _with_members(self, indices: Iterable[int]) -> list[C]:
        """Return the branches at ascending indices, a group with its members."""
        found: list[C] = []
        end = 0
        for index in indices:
            if index >= end:
                ones = [self._branches[index], *self.behind(index)]
                found += ones
                end = index + len(ones)
        return found

    def behind(self, index: int) -> Iterable[C]:
        """Return what is inside of a group, those that follow it and are deeper; of what is no group, nothing."""
        group = self._branches[index]
        if not group.is_group:
            return ()
        following = islice(self._branches, index + 1, None)
        return takewhile(lambda branch: branch.depth > group.depth, following)


def listed(branches: Sequence[C], texts: Iterable[str]) -> list[C]:
    """Return the branches that the texts name or match, all if they only leave some out, without those."""
    taken, left_out = divided(branches, texts)
    found = matching(branches, taken) if taken else branches
    names = [without_mark(text) for text in left_out]
    lookup = Lookup(branches, names)
    excluded = {branch.path for name in names for branch in lookup.meant(name)}
    return [branch for branch in found if branch.path not in excluded]


def _ends_of(text: str) -> Ends:
    """Return the ends of what a glob, or a regular expression, matches."""
    return ANY_ENDS if re.fullmatch(_REGEX, text) else ends_of(text)


def _accepted(filter_name: Iterable[str | Test]) -> Callable[[Candidate], bool]:
    texts = set(filter_name)
    accepts = name_filter(texts)
    return lambda branch: branch.path in texts or branch.name in texts or accepts(branch.path, branch.name)


def _standing_for(branches: Iterable[C], *, assemble: bool) -> list[C]:
    """Return the columns among branches (depth first); with ``assemble`` the outermost groups and columns."""
    if not assemble:
        return whole(branch for branch in branches if not branch.is_group)
    outermost: list[C] = []
    for branch in branches:
        around = outermost[-1] if outermost else None
        if around is None or not (around.is_group and branch.path.startswith(f"{around.path}/")):
            outermost.append(branch)
    return whole(outermost)


def select(branches: Sequence[Candidate], choice: Choice, where: str) -> Selection:
    """Choose columns from a tree's branches (depth first, groups before their members).

    ``columns``: each an exact path, a name that only one branch has, or a glob; a group stands for its
    members. They keep the order asked for, without repeats. What stands behind a "!" is left out of the others, or of
    all. ``filter_name`` (see :func:`matching`) then keeps those that match. With neither, all columns are chosen.
    ``where`` names the tree in errors.
    ``assemble``: a group stands for itself, and for what is inside of it. ``raw``: what cannot be read is chosen
    too.

    Raises: NoSuchColumnError with the nearest names, also where ``filter_name`` leaves nothing; UnsupportedError
    for a column named exactly, or a group, of which nothing can be read (others of that kind are reported in
    ``left_out``); InvalidRequestError for a name of several branches, and where nothing is left or what is to be left
    out is a part of what is read whole.
    """
    columns, filter_name, assemble, raw = choice
    taken, excluded = divided(branches, columns or [])
    texts = [*taken, *map(without_mark, excluded)]
    index = _Index(branches, texts, where, assemble=assemble, raw=raw)
    chosen: Iterable[Candidate]
    if columns is not None and (taken or not excluded):
        chosen = (branch for text in dict.fromkeys(taken) for branch in index.resolve(text))
        if filter_name is not None:
            chosen = whole(filter(_accepted(filter_name), chosen))
    else:
        found = branches if filter_name is None else matching(branches, filter_name)
        chosen = _standing_for(found, assemble=assemble)
    unique = {branch.path: branch for branch in chosen}
    if excluded:
        unique = index.without(excluded, unique)
    if filter_name is not None and not unique:
        text = ", ".join(one if isinstance(one, str) else shown(one) for one in filter_name)
        names = (name for branch in branches for name in (branch.path, branch.name))
        what = f"{where}: filter_name {text!r} leaves no column"
        raise NoSuchColumnError(what, text, nearest_columns(text, names), known=_columns(branches))
    if raw:
        return Selection(list(unique), [])
    left_out = {path: b.type_name for path, b in unique.items() if b.unsupported is not None}
    if assemble:
        inside, hollow = _unreadable_inside(branches, unique)
        unique = {path: branch for path, branch in unique.items() if path not in hollow}
        left_out |= inside
    return Selection([path for path in unique if path not in left_out], list(left_out.items()))


def without_short(paths: list[str], short: Mapping[str, str], where: str) -> list[str]:
    """Leave out, with a warning, the columns that do not have all entries. ``short``: by path, what they have."""
    warn_left_out([(path, short[path]) for path in paths if path in short], where, "with too few entries")
    return [path for path in paths if path not in short]


def _columns(branches: Iterable[Candidate]) -> list[str]:
    """Return the paths of what is no group, and no part of a column that is there itself."""
    return [branch.path for branch in whole(branch for branch in branches if not branch.is_group)]


def _unreadable_inside(branches: Sequence[C], chosen: Container[str]) -> tuple[dict[str, str], set[str]]:
    """Return (path: C++ type) of what cannot be read inside of the chosen groups, and those with nothing else."""
    left_out: dict[str, str] = {}
    hollow: set[str] = set()
    around: list[C] = []
    for branch in branches:
        while around and branch.depth <= around[-1].depth:
            around.pop()
        if branch.is_group:
            if branch.path in chosen:
                around.append(branch)
                hollow.add(branch.path)
        elif around and branch.unsupported is not None:
            left_out[branch.path] = branch.type_name
        else:
            hollow.difference_update(group.path for group in around)
    return left_out, hollow


class _Index:
    def __init__(
        self, branches: Sequence[Candidate], texts: Iterable[str], where: str, *, assemble: bool, raw: bool
    ) -> None:
        self.branches = branches
        self.lookup = Lookup(branches, texts)
        self.where = where
        self.assemble = assemble
        self.raw = raw
        self.by_path = {branch.path: branch for branch in branches}

    def resolve(self, text: str) -> list[Candidate]:
        branch = self.by_path.get(text)
        if branch is None:
            same_name = self.lookup.by_name.get(text, [])
            if len(same_name) > 1:
                paths = ", ".join(repr(other.path) for other in same_name[:5])
                raise InvalidRequestError(f"{self.where}: {text!r} names {len(same_name)} branches: {paths}")
            branch = same_name[0] if same_name else None
        if branch is None:
            return self._matching(text)
        if branch.is_group:
            return self._inside(branch)
        if branch.unsupported is not None and not self.raw:
            raise UnsupportedError(f"{self.where}: {branch.unsupported}")
        return [branch]

    def without(self, excluded: list[str], chosen: dict[str, Candidate]) -> dict[str, Candidate]:
        """Return the chosen ones without what the texts name."""
        left = dict(chosen)
        for text in dict.fromkeys(excluded):
            found = self.lookup.meant(without_mark(text))
            if not found:
                raise self._unknown(without_mark(text))
            for branch in found:
                left.pop(branch.path, None)
            for branch in found:
                for separator in re.finditer(r"[/.]", branch.path):
                    around = left.get(branch.path[: separator.start()])
                    if around and (around.is_group if separator[0] == "/" else branch.is_part):
                        raise InvalidRequestError(
                            f"{self.where}: {text!r}: {branch.path!r} is inside of {around.path!r}, which is read "
                            "whole; choose what else is inside of it"
                        )
        if not left:
            raise InvalidRequestError(f"{self.where}: {', '.join(map(repr, excluded))} leaves no column")
        return left

    def _inside(self, group: Candidate) -> list[Candidate]:
        """Return the columns of a group, or itself."""
        index = self.lookup.indices[group.path][-1]
        columns = [branch for branch in self.lookup.behind(index) if not branch.is_group]
        if self.raw:
            return columns or [group]
        if all(column.unsupported is not None for column in columns):
            reason = columns[0].unsupported if columns else f"{group.type_name} has no members"
            raise UnsupportedError(f"{self.where}: nothing in {group.path!r} can be read: {reason}")
        return [group] if self.assemble else columns

    def _matching(self, text: str) -> list[Candidate]:
        found = self.lookup.matching(text)
        if not found:
            raise self._unknown(text)
        return _standing_for(found, assemble=self.assemble)

    def _unknown(self, text: str) -> NoSuchColumnError:
        names = [*self.by_path, *self.lookup.by_name]
        what = "no branch matches" if re.search(_GLOB, text) else "no branch"
        what = f"{self.where}: {what} {text!r}"
        from arrowroot._hints import for_column
        from arrowroot._select.origins import NAMES

        hint = for_column(text, set(names), NAMES)
        if hint:
            return NoSuchColumnError(what + hint, text, [])
        return NoSuchColumnError(what, text, nearest_columns(text, names), known=_columns(self.branches))
