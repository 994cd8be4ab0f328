"""Which columns to read: exact paths, unique names, globs and regular expressions, made a list of paths."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import cached_property
from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from arrowroot._errors import (
    InvalidRequestError,
    NoSuchColumnError,
    UnsupportedError,
    nearest,
    warn_left_out,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence
    from typing import TypeAlias

    #: A choice of columns as users give it: names, globs, and "!name" for what is left out; None: all.
    Columns: TypeAlias = str | Iterable[str] | None

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


def texts_of(given: object, what: str) -> list[str]:
    """Return the names or patterns that a user gave for the option ``what``: one text, or several.

    Raises: InvalidRequestError for anything else.
    """
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, Iterable) or isinstance(texts, bytes):
        raise InvalidRequestError(f"{what}: expected a name or several, got {given!r}")
    names = list(texts)
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise InvalidRequestError(f"{what}: expected names, got {wrong[0]!r}")
    return names


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
        raise InvalidRequestError(f"{what}: expected names of single columns, got {wrong[0]!r}")
    return names


def id_names(given: object, what: str) -> tuple[str, ...]:
    """Return the names of the columns that hold ids, given for the option ``what``. Raises: InvalidRequestError."""
    names = single_names(given, what)
    if repeated := [name for place, name in enumerate(names) if name in names[:place]]:
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
    filter_name: list[str] | None = None
    assemble: bool = False
    raw: bool = False

    @classmethod
    def of(
        cls, columns: object = None, filter_name: object = None, *, assemble: bool = False, raw: bool = False
    ) -> Choice:
        """Return a choice as a user gave it. Raises: InvalidRequestError for what is no text, nor several."""
        return cls(
            None if columns is None else texts_of(columns, "columns"),
            None if filter_name is None else texts_of(filter_name, "filter_name"),
            assemble,
            raw,
        )

    def names_some_of(self, branches: Iterable[Candidate]) -> bool:
        """Return whether columns are named or matched; else all are meant, but those that are left out."""
        return self.columns is not None and bool(divided(branches, self.columns)[0])

    def left_out_in_vain(self, branches: Sequence[Candidate]) -> list[str]:
        """Return what is to be left out, but is none of some branches, by its name or pattern."""
        excluded = divided(branches, self.columns or [])[1]
        return [name for name in map(without_mark, excluded) if not meant_by(branches, name)]

    def not_leaving_out(self, names: Iterable[str]) -> Choice:
        """Return the choice without the texts that leave out ``names``."""
        dropped = {f"{NOT}{name}" for name in names}
        # No columns at all would be none; what only leaves some out chooses all.
        return self._replace(columns=[text for text in self.columns or [] if text not in dropped] or None)


class Selection(NamedTuple):
    """The paths chosen, and (path, C++ type) of columns that were asked for but cannot be read."""

    paths: list[str]
    left_out: list[tuple[str, str]]


def name_filter(filter_name: Iterable[str]) -> Callable[[str, str], bool]:
    """Return the test of a branch's (path, name) for globs and ``/regex/``, any of which may match.

    A glob matches the branch's whole path or its name alone, and its ``*`` goes across "/". A regular
    expression matches from the start of either, and takes flags after the last slash: ``/muon_/i``.
    """
    patterns = []
    for text in filter_name:
        regex = re.fullmatch(_REGEX, text)
        try:
            patterns.append(
                re.compile(
                    f"(?{regex[2]}){regex[1]}"
                    if regex and regex[2]
                    else regex[1]
                    if regex
                    else translate(text)
                )
            )
        except (re.error, RecursionError, OverflowError) as error:
            raise InvalidRequestError(f"filter_name: {text[:200]!r}: {error}") from None
    return lambda path, name: any(pattern.match(path) or pattern.match(name) for pattern in patterns)


def matching(branches: Sequence[C], filter_name: Iterable[str]) -> list[C]:
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


def meant_by(branches: Sequence[C], text: str) -> list[C]:
    """Return the branches of that path, else of that name, else those that a glob matches, groups with members.

    So "x[3]" does not mean "x3" if it is there.
    """
    by_path = with_members(branches, lambda branch: branch.path == text)
    names = {branch.path for branch in by_name(branches).get(text, [])} if not by_path else set()
    named = by_path or with_members(branches, lambda branch: branch.path in names)
    return named or (matching(branches, [text]) if re.search(_GLOB, text) else [])


def listed(branches: Sequence[C], texts: Iterable[str]) -> list[C]:
    """Return the branches that the texts name or match, all if they only leave some out, without those."""
    taken, left_out = divided(branches, texts)
    found = matching(branches, taken) if taken else branches
    excluded = {branch.path for text in left_out for branch in meant_by(branches, without_mark(text))}
    return [branch for branch in found if branch.path not in excluded]


def _accepted(filter_name: Iterable[str]) -> Callable[[Candidate], bool]:
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
    index = _Index(branches, where, assemble=assemble, raw=raw)
    chosen: Iterable[Candidate]
    if columns is not None and (taken or not excluded):
        chosen = (branch for text in taken for branch in index.resolve(text))
        if filter_name is not None:
            chosen = whole(filter(_accepted(filter_name), chosen))
    else:
        found = branches if filter_name is None else matching(branches, filter_name)
        chosen = _standing_for(found, assemble=assemble)
    unique = {branch.path: branch for branch in chosen}
    if excluded:
        unique = index.without(excluded, unique)
    if filter_name is not None and not unique:
        text = ", ".join(filter_name)
        names = (name for branch in branches for name in (branch.path, branch.name))
        what = f"{where}: filter_name {text!r} leaves no column"
        raise NoSuchColumnError(what, text, nearest(text, names), known=_columns(branches))
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
    def __init__(self, branches: Sequence[Candidate], where: str, *, assemble: bool, raw: bool) -> None:
        self.branches = branches
        self.where = where
        self.assemble = assemble
        self.raw = raw
        self.by_path = {branch.path: branch for branch in branches}

    @cached_property
    def by_name(self) -> dict[str, list[Candidate]]:
        """As the function of that name; whole paths, which are most of what is asked for, do without."""
        return by_name(self.branches)

    def resolve(self, text: str) -> list[Candidate]:
        branch = self.by_path.get(text)
        if branch is None:
            same_name = self.by_name.get(text, [])
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
        for text in excluded:
            found = meant_by(self.branches, without_mark(text))
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
        """Return the columns of a group, those that follow it and are deeper; or itself."""
        behind = islice(self.branches, self.branches.index(group) + 1, None)
        columns = [b for b in takewhile(lambda b: b.depth > group.depth, behind) if not b.is_group]
        if self.raw:
            return columns or [group]
        if all(column.unsupported is not None for column in columns):
            reason = columns[0].unsupported if columns else f"{group.type_name} has no members"
            raise UnsupportedError(f"{self.where}: nothing in {group.path!r} can be read: {reason}")
        return [group] if self.assemble else columns

    def _matching(self, text: str) -> list[Candidate]:
        found = matching(self.branches, [text]) if re.search(_GLOB, text) else []
        if not found:
            raise self._unknown(text)
        return _standing_for(found, assemble=self.assemble)

    def _unknown(self, text: str) -> NoSuchColumnError:
        names = [*self.by_path, *self.by_name]
        what = "no branch matches" if re.search(_GLOB, text) else "no branch"
        what = f"{self.where}: {what} {text!r}"
        return NoSuchColumnError(what, text, nearest(text, names), known=_columns(self.branches))
