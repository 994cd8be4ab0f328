"""Notes of a tree besides its columns, on their way to another tree: what can go along, and why the rest cannot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from arrowroot._errors import ArrowrootError
from arrowroot._writing.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from arrowroot._api.tree import Tree


class Carried(NamedTuple):
    """The notes of a tree."""

    #: Options of ``create(...).tree``.
    options: Mapping[str, Any] = {}
    #: Kinds of notes that cannot go along, and why.
    left_out: tuple[tuple[str, str], ...] = ()

    def lost_in(self, what: str) -> list[tuple[str, str]]:
        """Return all notes as left out of something that records none."""
        return [*((name, f"{what} records none") for name in self.options), *self.left_out]


def carried(tree: Tree, schema: pa.Schema, *, has_all_entries: bool, has_all_trees: bool) -> Carried:
    """Return the notes of a tree of which columns of a schema are read, beside all trees of its file or alone."""
    options: dict[str, Any] = {}
    left_out = []
    notes = [
        *_notes(tree, schema),
        *_friends(tree, has_all_entries=has_all_entries, has_all_trees=has_all_trees),
    ]
    for name, given, why in notes:
        if why is None:
            try:
                Notes.of({name: given})
            except ArrowrootError as error:
                why = str(error)  # noqa: PLW2901 - it has one now
        if why is None:
            options[name] = given
        else:
            left_out.append((name, why))
    return Carried(options, tuple(left_out))


def _notes(tree: Tree, schema: pa.Schema) -> Iterator[tuple[str, Any, str | None]]:
    """Yield the notes that there are: the option of writing, its value, and why it cannot be; None if it can."""
    yield from _aliases(tree, schema)
    if info := tree.user_info:
        # Texts without a name are their own.
        yield "user_info", list(info) if all(name == text for name, text in info.items()) else info, None
    if tree.entries_reshuffled:
        yield "entries_reshuffled", True, None
    try:
        index = tree.recorded_index
    except ArrowrootError as error:
        yield "index", None, str(error)
        return
    if index is not None:
        is_there = all(name in schema.names and _is_key(schema.field(name)) for name in index)
        yield (
            "index",
            index,
            None if is_there else f"it is by {', '.join(index)}: not columns of integers here",
        )


def _aliases(tree: Tree, schema: pa.Schema) -> Iterator[tuple[str, Any, str | None]]:
    """Yield the aliases that stay, and those of columns, or of other aliases, that are not there."""
    kept = dict(tree.aliases)
    users: dict[str, list[str]] = {}
    left_out: dict[str, str] = {}
    for alias, text in kept.items():
        for name in _names_in(text):
            users.setdefault(name, []).append(alias)
    there = set(schema.names)
    waiting = sorted({column.name for column in tree.columns} - there) if kept else []
    while waiting:
        name = waiting.pop()
        for alias in users.get(name, ()):
            if kept.pop(alias, None) is not None:
                left_out[alias] = name
                if alias not in there:  # else others are of the column
                    waiting.append(alias)
    for alias in tree.aliases:
        if alias in left_out:
            yield "aliases", alias, f"{alias!r} is of {left_out[alias]!r}, which is left out"
    if kept:
        yield "aliases", kept, None


def _names_in(text: str) -> set[str]:
    """Return the names in an expression of ROOT, each also as far as each of its points."""
    words = [word.split(".") for word in re.findall(r"(?<![\w.])[^\W\d][\w.]*", text)]
    return {".".join(word[:n]) for word in words for n in range(1, len(word) + 1)}


def _friends(
    tree: Tree, *, has_all_entries: bool, has_all_trees: bool
) -> Iterator[tuple[str, Any, str | None]]:
    friends = {alias: (f"{file}:" if file else "") + path for alias, path, file in tree.recorded_friends}
    near = {alias for alias, _, file in tree.recorded_friends if not file}
    if not has_all_entries:
        stay, why = set(friends), "their entries belong to all of the tree's, and some are chosen"
    else:
        stay, why = set() if has_all_trees else near, "in the file of the input"
    if kept := {alias: place for alias, place in friends.items() if alias not in stay}:
        yield "friends", kept, None
    if stay:
        yield "friends", stay, f"{', '.join(friends[alias] for alias in friends if alias in stay)}: {why}"


def _is_key(field: pa.Field) -> bool:
    return bool(pa.types.is_integer(field.type)) and not field.nullable
