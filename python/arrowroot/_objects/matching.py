"""Finds the tree of each list of entries."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from arrowroot._errors import ArrowrootError
from arrowroot._sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arrowroot._objects.entry_list import EntryList
    from arrowroot._select.events import Member

    #: A tree's path with one directory at most, and the parts of the file's path.
    Name = tuple[str, tuple[str, ...]]

_N_QUOTED = 2
#: The number of parts of a tree's path that ROOT notes: the last directory and the name.
_N_NOTED = 2


class Matched(NamedTuple):
    """The lists of each tree, and the lists with entries that are of none of the trees."""

    of_trees: list[list[EntryList]]
    unused: list[EntryList]


class UnclearError(ArrowrootError):
    """The tree of a list cannot be told; the text says why."""


def matched(lists: Sequence[EntryList], trees: Sequence[Member]) -> Matched:
    """Return which of the lists belong to each of some trees in a row.

    A list belongs to the trees that it names, as TChain::SetEntryList finds them (ROOT 6.40): by the tree's name and
    the file's without protocol, host and options, which is from the working directory if it is relative. A name that a
    list lacks is that of the only tree there is. Lists of one name go in their order to the trees of that name, as with
    TChain's "sync", and several go to an only tree one after the other. One list of a tree that is there several times
    does not say which of them it means: TChain::Draw writes the entries of all into it, and reads those of one.

    Files may have been moved: those that are found nowhere so are told apart by the longest common end of their paths.

    Raises: UnclearError if there is no single answer.
    """
    only = trees[0] if len(trees) == 1 else None
    lists_by_name, trees_by_name = _by_name(lists, only), _trees_by_name(trees)
    pairs = {name: name for name in trees_by_name if name in lists_by_name}
    pairs |= _moved(
        [name for name in lists_by_name if name not in pairs],
        [name for name in trees_by_name if name not in pairs],
        {name for name, those in lists_by_name.items() if any(one.num_entries for one in those)},
    )
    found: list[list[EntryList]] = [[] for _ in trees]
    for here, there in pairs.items():
        indices = trees_by_name[here]
        of_place = _shared_out(lists_by_name[there], [trees[index] for index in indices])
        for index, those in zip(indices, of_place, strict=True):
            found[index] = those
    used = {id(one) for those in found for one in those}
    return Matched(found, [one for one in lists if one.num_entries and id(one) not in used])


def quoted(trees: Sequence[tuple[str, str]]) -> str:
    """Return the names of some trees and their files for a message."""
    text = ", ".join(
        f"{tree!r} of {file!r}" if file else f"{tree!r} of any file" for tree, file in trees[:_N_QUOTED]
    )
    return text + (", ..." if len(trees) > _N_QUOTED else "")


def _by_name(lists: Sequence[EntryList], only: Member | None) -> dict[Name, list[EntryList]]:
    found = defaultdict(list)
    for one in lists:
        tree, file = one.tree_name, one.file_name
        if only is not None:
            tree, file = tree or only.path, file or only.url
        found[_short(tree), _parts(file)].append(one)
    return found


def _trees_by_name(trees: Sequence[Member]) -> dict[Name, list[int]]:
    found = defaultdict(list)
    for index, tree in enumerate(trees):
        found[_short(tree.path), _parts(tree.url)].append(index)
    return found


def _shared_out(lists: list[EntryList], trees: list[Member]) -> list[list[EntryList]]:
    """Return which of the lists of one name belong to each of the trees of that name."""
    paths = {tree.path.lstrip("/") for tree in trees}
    # ROOT notes only the last directory: lists tell such trees apart only if they name the whole path.
    whole = [one for one in lists if one.tree_name.lstrip("/") in paths]
    names = {one.tree_name for one in whole}
    short = [
        one for one in lists if one.tree_name not in names and one.tree_name.strip("/").count("/") < _N_NOTED
    ]
    if (whole or len(paths) > 1) and any(one.num_entries for one in short):
        raise UnclearError(
            f"a list is of {short[0].tree_name!r} of {short[0].file_name!r}, which may be "
            f"{' or '.join(map(repr, sorted(paths)))}"
        )
    if not whole:
        return _in_order(short, trees)
    found: list[list[EntryList]] = [[] for _ in trees]
    for path in paths:
        indices = [i for i, tree in enumerate(trees) if tree.path.lstrip("/") == path]
        of_path = [one for one in whole if one.tree_name.lstrip("/") == path]
        for index, those in zip(indices, _in_order(of_path, [trees[i] for i in indices]), strict=True):
            found[index] = those
    return found


def _in_order(lists: list[EntryList], trees: list[Member]) -> list[list[EntryList]]:
    """Return which of some lists belong to each of some trees; all have one name."""
    if len(trees) == 1 or not any(one.num_entries for one in lists):
        _refuse_overlap(lists)
        return [lists for _ in trees]
    if len(lists) != len(trees):
        raise UnclearError(
            f"{counted(len(lists), 'list')} of {lists[0].tree_name!r} of {lists[0].file_name!r}, which is there "
            f"{len(trees)} times: name it once, or give each a list of its own"
        )
    as_written = {one.file_name: one for one in lists}
    if len(as_written) == len(lists) and as_written.keys() == {tree.url for tree in trees}:
        return [[as_written[tree.url]] for tree in trees]
    return [[one] for one in lists]


def _refuse_overlap(lists: list[EntryList]) -> None:
    import numpy as np

    if len(lists) <= 1:
        return
    numbers = np.concatenate([one.to_numpy() for one in lists])
    if len(np.unique(numbers)) < len(numbers):
        raise UnclearError(
            f"{len(lists)} lists are of {lists[0].tree_name!r} of {lists[0].file_name!r}, which is there once, and "
            "have entries in common"
        )


def _moved(lists: list[Name], trees: list[Name], filled: set[Name]) -> dict[Name, Name]:
    """Return for the names of trees those of lists whose paths have the longest end in common with them.

    ``filled``: the names of lists with entries. Each must be the other's single best, or UnclearError is raised where
    it matters.
    """
    best_lists = dict(_bests(trees, lists))
    best_trees = dict(_bests(lists, trees))
    pairs = {
        tree: found[0]
        for tree, found in best_lists.items()
        if len(found) == 1 and best_trees[found[0]] == [tree]
    }
    used = set(pairs.values())
    for name in lists:
        # A list whose best tree has a better list is of a file that is not there.
        open_trees = [tree for tree in best_trees.get(name, ()) if tree not in pairs]
        if name in filled and name not in used and open_trees:
            others = [other for other in best_lists[open_trees[0]] if other != name]
            raise UnclearError(
                f"files were moved: {_text(name)} may be {' or '.join(map(_text, open_trees[:_N_QUOTED]))}"
                + (f", which may be {_text(others[0])} as well" if others else "")
            )
    return pairs


def _bests(names: list[Name], others: list[Name]) -> Iterator[tuple[Name, list[Name]]]:
    """Yield for each name the others of the same tree and file name whose paths agree with it the farthest back."""
    # A table of all ends of paths: the time goes with the number of names, not of pairs.
    by_end: dict[Name, list[Name]] = defaultdict(list)
    for name in others:
        for end in _ends(name):
            by_end[end].append(name)
    for name in names:
        for end in _ends(name):
            if end in by_end:
                yield name, by_end[end]
                break


def _ends(name: Name) -> Iterator[Name]:
    """Yield the ends of a path, from all of it to its last part."""
    tree, parts = name
    for first in range(len(parts)):
        yield tree, parts[first:]


def _text(name: Name) -> str:
    return repr("/".join(name[1]))


def _parts(file: str) -> tuple[str, ...]:
    """Return the parts of a file's path within its store, as TEntryList::GetFileName has it."""
    _, is_url, rest = file.partition("://")
    path = rest.partition("/")[2].partition("?")[0] if is_url else os.path.abspath(file)  # noqa: PTH100 - text
    return tuple(part for part in path.split("/") if part)


def _short(tree: str) -> str:
    """Return a tree's path with the last directory alone, which is what ROOT notes (TEntryList::SetTree)."""
    return "/".join(tree.split("/")[-_N_NOTED:]).lstrip("/")
