"""Tables and objects beside the one that is skimmed: which of them are carried to the outputs."""

from __future__ import annotations

import hashlib
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from arrowroot._api.tree import Tree
from arrowroot._errors import ArrowrootError, InvalidRequestError
from arrowroot._objects.collections import ObjectList
from arrowroot._select.columns import NOT, texts_of, without_mark
from arrowroot._writing.file import fault_of_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from arrowroot._api.file import File
    from arrowroot._skimming.outputs import Outputs


#: Told of an object whose trees come out of it.
ONLY_TREES = "the trees in it are taken, and nothing else of it"

#: Columns in which CMS's NanoAOD of simulated events records sums of all that were generated.
NANOAOD_SUMS = ("Runs:genEventCount", "Runs:genEventSumw")


class Rule:
    """The names of what is carried."""

    def __init__(self, given: bool | str | Iterable[str]) -> None:
        """``given``: True for all, False for nothing, or names and globs, "!NAME" for what is left out."""
        self._texts = [] if isinstance(given, bool) else texts_of(given, "carry")
        self._carries = given is not False
        #: Texts that stood for something.
        self._used: set[str] = set()

    @property
    def text(self) -> str:
        """What it says."""
        return repr(self._texts) if self._carries else "none"

    @property
    def takes_all(self) -> bool:
        """True if nothing is left out."""
        return self._carries and not self._texts

    @property
    def takes_none(self) -> bool:
        """True if nothing is carried."""
        return not self._carries

    def takes(self, path: str) -> bool:
        """Return whether a table or an object of that path is carried."""
        if not self._carries:
            return False
        meant = [text for text in self._texts if fnmatchcase(path, without_mark(text))]
        self._used.update(meant)
        has_positive = any(not text.startswith(NOT) for text in self._texts)
        is_named = any(not text.startswith(NOT) for text in meant)
        return (is_named or not has_positive) and not any(text.startswith(NOT) for text in meant)

    def check_used(self) -> None:
        """Raise InvalidRequestError if a text stood for nothing in any input."""
        if unused := [text for text in self._texts if text not in self._used]:
            raise InvalidRequestError(
                f"carry: no input has another tree or object {without_mark(unused[0])!r}"
            )


class Objects:
    """The objects of the first input that all inputs have alike, byte by byte."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._first: File | None = None
        #: Objects by path, and a digest of their bytes once it was needed.
        self._digests: dict[str, bytes | None] = {}
        self._directories: list[str] = []
        #: Objects that are not alike in all inputs, and why.
        self._differing: dict[str, str] = {}
        #: Objects and directories that cannot be written under their names, and why.
        self._left_out: dict[str, str] = {}

    def take(self, file: File) -> None:
        """Take note of the objects of an input, which was read."""
        holders = holders_of_trees(file)
        keys = [
            key
            for key in file.key_list(cycles=False)
            if not key.is_tree and key.path not in holders and self._rule.takes(key.path)
        ]
        faults = {key.path: fault for key in keys if (fault := fault_of_path(key.path)) is not None}
        others = (path for path in holders if self._rule.takes(path) and not has_only_trees(file[path]))
        self._left_out |= {
            **faults,
            **dict.fromkeys(others, ONLY_TREES),
        }
        here = [key.path for key in keys if not key.is_directory and key.path not in faults]
        if self._first is None:
            self._first = file
            self._digests = dict.fromkeys(here)
            self._directories = [key.path for key in keys if key.is_directory and key.path not in faults]
            return
        for path in set(here) - self._digests.keys() - self._differing.keys():
            self._differing[path] = f"{self._first.url} does not have it"
        for path in list(self._digests):
            why = None if path in here else f"{file.url} does not have it"
            if why is None:
                digest = self._digests[path] = self._digests[path] or _digest(self._first, path)
                is_same = digest is not None and digest == _digest(file, path)
                why = None if is_same else "it differs between the inputs"
            if why is not None:
                del self._digests[path]
                self._differing[path] = why

    @property
    def differing(self) -> list[tuple[str, str]]:
        """The objects that are not alike in all inputs, and why."""
        return sorted(self._differing.items())

    def copy_to(self, outputs: Outputs) -> tuple[list[str], list[tuple[str, str]]]:
        """Copy what all have; return the paths, and those that cannot be written, with the reasons."""
        copied: list[str] = []
        left_out = list(self._left_out.items())
        if self._first is None:
            return copied, left_out
        for path in self._directories:
            outputs.make_directory(path)
        for path in self._digests:
            reason = outputs.copy(self._first, path)
            if reason is None:
                copied.append(path)
            else:
                left_out.append((path, reason))
        return copied, left_out


def _digest(file: File, path: str) -> bytes | None:
    """Return a digest of the bytes of an object; None if they cannot be had."""
    try:
        return hashlib.sha256(file.raw(path)).digest()
    except ArrowrootError:
        return None


def other_trees(file: File, main: str | None, rule: Rule) -> Iterator[tuple[str, Tree]]:
    """Yield the trees of a file that are carried, beside the one that is skimmed; those inside of objects if all are.

    ``main``: the path of that; None: all trees are alike.
    """
    paths = [key.path for key in file.key_list(cycles=False) if key.is_tree]
    if main is None:
        paths = paths or file.trees
    for path in paths:
        if path != main and rule.takes(path):
            found = file[path]
            if isinstance(found, Tree):
                yield path, found


def holders_of_trees(file: File) -> set[str]:
    """Return the paths of the objects that the trees of a file are inside of; none if keys are trees."""
    keys = file.key_list(cycles=False)
    if any(key.is_tree for key in keys):
        return set()
    paths, found = {key.path for key in keys if not key.is_directory}, set()
    for tree in file.trees:
        names = tree.split("/")
        found |= {path for end in range(1, len(names)) if (path := "/".join(names[:end])) in paths}
    return found


def has_only_trees(found: Any) -> bool:
    """Return whether an object is a list of trees, which is then as good as a directory."""
    return isinstance(found, ObjectList) and all(isinstance(item, Tree) for item in found)


def sums_of(file: File, names: Sequence[str]) -> dict[str, float]:
    """Return the sums of columns, "TREE:COLUMN", that a file has; integers stay such.

    Raises: InvalidRequestError for a column that is no number in each entry or, if a user named it, is not there.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    sums: dict[str, float] = {}
    for name in names:
        path, _, column = name.rpartition(":")
        tree = file.get(path)
        if not isinstance(tree, Tree) or not tree.has_branch(column):
            if tuple(names) != NANOAOD_SUMS:
                lacks = f"column {column!r} in {path!r}" if isinstance(tree, Tree) else f"tree {path!r}"
                raise InvalidRequestError(f"sums: {file.url}: there is no {lacks}")
            continue
        values = tree.to_arrow([column]).column(0)
        if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            raise InvalidRequestError(f"sums: {file.url}: {name} has type {values.type}: expected numbers")
        sums[name] = pc.sum(values).as_py() or 0
    return sums
