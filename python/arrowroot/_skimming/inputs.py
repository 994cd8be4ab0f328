"""Inputs of a skim: files in the order given, opened ahead, looked at for damage and change."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._api.file import File
from arrowroot._api.opened import is_pattern, matching_trees
from arrowroot._api.tree import Tree
from arrowroot._errors import (
    CorruptFileError,
    InvalidRequestError,
    NoSuchKeyError,
    NotFoundError,
    SchemaMismatchError,
    StorageError,
    UnsupportedError,
)
from arrowroot._objects.record import kind_text
from arrowroot._passes.ahead import in_order
from arrowroot._render import shown
from arrowroot._select.events import place_of
from arrowroot._storage.config import redacted, resolve
from arrowroot._storage.readers import Opening, n_opened_ahead, scheme_of
from arrowroot._storage.url import split_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

#: Errors that an input is at fault for, not the request.
OF_INPUTS = (CorruptFileError, StorageError, NotFoundError, SchemaMismatchError, UnsupportedError)
#: Remote files that are opened ahead.
_N_AHEAD = 8
#: In the place of the path of a tree: all trees are alike.
ALL = ""

#: The marks of a local file that one in its place lacks: device, number, size, time of its last change.
Status = tuple[int, int, int, int]


class OpenInput(NamedTuple):
    """A file of the inputs, and the tree in it that is skimmed."""

    file: File
    #: None: all trees are alike, and go whole.
    tree: Tree | None
    status: Status | None
    #: The trees of the file that other inputs are.
    beside: frozenset[str] = frozenset()
    #: True if what the file has besides is taken with this input: it is with the first one of a file.
    is_first: bool = True
    #: Where it is, as it was given.
    location: str = ""

    @property
    def url(self) -> str:
        """Where it is, without credentials."""
        return self.file.url

    @property
    def main(self) -> str:
        """The path of the tree; ALL if all are alike."""
        return ALL if self.tree is None else self.tree.path

    @property
    def name(self) -> str:
        """Where it is, with the tree if others of its file are inputs, too."""
        return f"{self.url}:{self.main}" if self.beside else self.url

    @property
    def num_entries(self) -> int:
        """Entries of the tree."""
        return 0 if self.tree is None else self.tree.num_entries

    def check_unchanged(self) -> None:
        """Raise StorageError if a local file is not what it was when it was opened."""
        if self.status is not None and _status_of(self.url) != self.status:
            raise StorageError(f"{self.url}: the file changed while it was read")


def check_outputs(outputs: Iterable[str], files: Iterable[tuple[str, str | None]]) -> None:
    """Raise InvalidRequestError if an output would take the place of an input, or of another output."""
    inputs = {os.path.realpath(place) for url, _ in files if "://" not in (place := as_opened(url))}
    taken: set[str] = set()
    for path in outputs:
        real = os.path.realpath(path)
        if real in inputs:
            raise InvalidRequestError(f"{path}: an input of the skim, which would be overwritten")
        if real in taken:
            raise InvalidRequestError(f"{path}: two outputs of one name")
        taken.add(real)


def as_opened(url: str) -> str:
    """Return the path of a local file, as the file that is opened says it; a URL of another store as it is."""
    bare = split_options(url)[0]
    if scheme_of(bare) != "file":
        return bare
    from urllib.parse import unquote

    path = bare.partition("://")[2].removeprefix("localhost") or bare
    # Many write the path as it is.
    return path if "://" not in bare or os.path.exists(path) else unquote(path)  # noqa: PTH110 - text


def opened(
    files: list[tuple[str, str | None]],
    storage: Mapping[str, Any],
    *,
    needs_tree: bool = True,
    main: str | None = None,
    among: list[tuple[str, str | None]] | None = None,
) -> Iterator[tuple[str, Callable[[], OpenInput]]]:
    """Yield what gives each input, or raises what opening it raised; several remote ones are opened at a time.

    The first file says which tree is meant where none is named, or ``main`` does. needs_tree: False: if none is named
    and the first file has several trees, or none, all trees are alike. among: all inputs, if these are some of them.
    """
    is_remote = any(scheme_of(url) != "file" for url, _ in files)
    known = [] if main is None else [main]
    named: dict[str, dict[str | None, None]] = {}
    for url, tree in files if among is None else among:
        named.setdefault(place_of(url), {})[tree] = None
    jobs = (
        partial(_tried, url, tree, storage, known, list(named[place_of(url)]), needs_tree=needs_tree)
        for url, tree in files
    )
    # Its tree is known before the others are opened.
    yield redacted(files[0][0]), next(jobs)()
    found = in_order(jobs, _N_AHEAD if is_remote else 1)
    for (url, _), one in zip(files[1:], found, strict=True):
        yield redacted(url), one


def _tried(
    url: str,
    tree: str | None,
    storage: Mapping[str, Any],
    known: list[str],
    named: list[str | None],
    *,
    needs_tree: bool,
) -> Callable[[], OpenInput]:
    """Open an input. ``known``: gets the name of the tree of the first one that has one, and gives it to the others.

    named: the trees of the file that are inputs, in their order.
    """
    try:
        found = _opened(url, tree or (known[0] if known else None), storage, needs_tree=needs_tree)
        known.append(found.main)
        beside = frozenset(other for other in named if other is not None and other != tree)
        found = found._replace(beside=beside, is_first=named[0] == tree, location=url)
    except Exception as error:  # noqa: BLE001 - it is raised where the input is asked for
        return partial(_raise, error)
    return lambda: found


def _raise(error: Exception) -> OpenInput:
    raise error


def _opened(url: str, name: str | None, storage: Mapping[str, Any], *, needs_tree: bool) -> OpenInput:
    status = None if "://" in place_of(as_opened(url)) else _status_of(as_opened(url))
    file = File(
        Opening(*resolve([url], storage))
    )  # one that is cut short is not read, so nothing is said of its rest
    if file.missing_bytes or file.was_recovered:
        what = f"it was cut short by {file.missing_bytes:,} bytes" if file.missing_bytes else file.damage
        raise CorruptFileError(f"{file.url}: {what or 'it was not closed'}: entries may be missing")
    if name == ALL or (name is None and not needs_tree and len(file.trees) != 1):
        if not file.keys():
            raise NoSuchKeyError(f"{file.url}: there is nothing in this file", "", [])
        return OpenInput(file, None, status)
    if name is not None and is_pattern(name) and name not in file:
        matching_trees(file, name)  # what matches was put in its place: it raises
    tree = file[name] if name is not None else _main_tree(file)
    if not isinstance(tree, Tree):
        raise InvalidRequestError(f"{file.url}: {shown(name)} is {kind_text(tree)}, not a tree")
    return OpenInput(file, tree, status)


def with_each_tree(
    files: list[tuple[str, str | None]], storage: Mapping[str, Any]
) -> list[tuple[str, str | None]]:
    """Return inputs with the trees that a pattern matches in the place of the pattern; files of one are opened.

    A pattern stays where a file cannot be opened, or has no such tree: that is told when it is read.
    """
    if not any(name is not None and is_pattern(name) for _, name in files):
        return files
    jobs = (partial(_each_tree, url, name, storage) for url, name in files)
    found = in_order(jobs, n_opened_ahead(url for url, _ in files))
    return [(url, tree) for (url, _), trees in zip(files, found, strict=True) for tree in trees]


def _each_tree(url: str, name: str | None, storage: Mapping[str, Any]) -> list[str | None]:
    if name is None or not is_pattern(name):
        return [name]
    try:
        file = File(Opening(*resolve([url], storage)))
        return [name] if name in file else [*matching_trees(file, name)]
    except OF_INPUTS:
        return [name]


def _main_tree(file: File) -> Tree:
    """Return the only tree of a file.

    Raises: InvalidRequestError, with the names, if there are several; NoSuchKeyError if there is none.
    """
    trees = file.trees
    if len(trees) > 1:
        raise InvalidRequestError(
            f"{file.url}: which of {', '.join(map(repr, trees))}? write {file.url}:{trees[0]}, or tree={trees[0]!r}"
        )
    return file.only_tree()


def _status_of(path: str) -> Status | None:
    """Return the status of a local file; None: nobody knows."""
    try:
        found = os.stat(path)  # noqa: PTH116 - text, perhaps of bytes that are no UTF-8
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
