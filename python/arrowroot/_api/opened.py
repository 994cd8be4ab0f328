"""Opening the trees of many files, several remote ones at a time."""

from __future__ import annotations

import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

from arrowroot._api.file import File
from arrowroot._api.members import Opened
from arrowroot._api.row import Row
from arrowroot._api.tree import Tree
from arrowroot._errors import ArrowrootError, InvalidRequestError, NoSuchKeyError, UnsupportedError, of_all
from arrowroot._objects.record import kind_text
from arrowroot._passes.ahead import in_order
from arrowroot._storage.config import Surroundings, arguments_alone, redacted, resolve_named
from arrowroot._storage.readers import Opening, n_opened_ahead
from arrowroot._storage.url import changed_ns, natural_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arrowroot._passes.left_out import LeavingOut
    from arrowroot._storage.config import StorageOptions


def opened_trees(
    files: list[tuple[str, str | None]],
    storage: StorageOptions,
    *,
    named_by: str | None = None,
    leaving_out: LeavingOut | None = None,
    takes_patterns: bool = False,
) -> Iterator[Opened]:
    """Open the trees, several remote ones at a time. The first file says which tree is meant where none is named.

    named_by: the file that names these; None: a person named them. leaving_out: takes those that cannot be opened;
    None: the error is raised. If none can be, one that says all reasons is. takes_patterns: the name of a tree may be a
    pattern, for all trees of the file that match.
    """
    surroundings = Surroundings(storage)

    def resolved(location: str) -> Opening:
        if named_by is None:
            return Opening(*surroundings.resolve([location]))
        return Opening([location], resolve_named(location, named_by, arguments_alone(storage)))

    def attempt(number: int, path: str | None = None) -> list[Opened] | ArrowrootError:
        location, name = files[number]
        try:
            found = _open_members(location, name or path, resolved, takes_patterns=takes_patterns)
            if leaving_out is not None:
                for one in found:
                    one.tree.digest()  # reads what a row needs to know
        except ArrowrootError as error:
            if leaving_out is None:
                raise
            return error
        return [one._replace(number=number) for one in found]

    first: list[Opened] | None = None
    failed: list[ArrowrootError] = []
    numbers = iter(range(len(files)))
    n_ahead = n_opened_ahead(location for location, _ in files)
    while first is None:
        number = next(numbers, None)
        if number is None:
            if len(failed) == 1:
                raise failed[0]
            raise of_all("no file can be read", failed) if failed else InvalidRequestError("no files")
        opened = attempt(number)
        if isinstance(opened, list):
            first = opened
        elif leaving_out is not None:
            leaving_out.not_opened_on(redacted(files[number][0]), opened)
            failed.append(opened)
    yield from first
    others = list(numbers)
    path = files[first[0].number][1] or first[0].path
    jobs = (partial(attempt, number, path) for number in others)
    for number, opened in zip(others, in_order(jobs, n_ahead), strict=True):
        if isinstance(opened, list):
            yield from opened
        elif leaving_out is not None:
            leaving_out.not_opened_on(redacted(files[number][0]), opened)


def opened_row(
    files: list[tuple[str, str | None]],
    storage: StorageOptions,
    *,
    kind: Callable[..., Row] = Row,
    named_by: str | None = None,
    leaving_out: LeavingOut | None = None,
    **options: Any,
) -> Row:
    """Open the first of the trees of files, as a row of all of them; a name of a tree may be a pattern.

    options: those of ``kind``. The others: as for ``opened_trees``.
    """
    trees = opened_trees(files, storage, named_by=named_by, leaving_out=leaving_out, takes_patterns=True)
    return kind(trees, len(files), leaving_out=leaving_out, **options)


def _open_members(
    location: str, name: str | None, resolved: Callable[[str], Opening], *, takes_patterns: bool
) -> list[Opened]:
    opening = resolved(location)
    before_ns = changed_ns(location)
    shared = _Shared(lambda: File(opening))
    file = shared.open()
    paths = [name or file.only_tree().path]
    if takes_patterns and is_pattern(paths[0]) and paths[0] not in file:
        paths = matching_trees(file, paths[0])
    came_bytes = sum(length for _, length in file.kept)
    opened: list[Opened] = []
    for path in paths:
        found = file[path]
        if not isinstance(found, Tree):
            raise UnsupportedError(f"{file.url}: {path!r} is {kind_text(found)}, not a tree")
        has_uuid = bool(found.file_identity[1])
        # What came with the file counts once.
        came = 0 if opened else came_bytes
        opened.append(
            Opened(file.url, location, path, found, came, shared.open, 0 if has_uuid else before_ns)
        )
    return opened


class _Shared:
    """A file that is open as long as a tree of it is, and is opened again after that."""

    def __init__(self, make: Callable[[], File]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._last: weakref.ref[File] | None = None

    def open(self) -> File:
        """Return the file. Raises: what opening it raises."""
        with self._lock:
            file = None if self._last is None else self._last()
            if file is None:
                file = self._make()
                self._last = weakref.ref(file)
            return file


def is_pattern(name: str) -> bool:
    """Return whether the name of a tree may be a pattern."""
    return any(mark in name for mark in "*?[")


def matching_trees(file: File, pattern: str) -> list[str]:
    """Return the paths of the trees that a pattern matches, in natural order; "*" stays within a directory.

    Raises: NoSuchKeyError if there is none.
    """
    from fnmatch import fnmatchcase

    wanted = pattern.split("/")
    found = [
        path
        for path in file.trees
        if len(parts := path.split("/")) == len(wanted) and all(map(fnmatchcase, parts, wanted))
    ]
    if not found:
        raise NoSuchKeyError(f"{file.url}: no tree matches {pattern!r}", pattern, [])
    return sorted(found, key=natural_key)
