"""Opening the trees of many files, several remote ones at a time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from arrowroot._api.file import File
from arrowroot._api.tree import Tree
from arrowroot._errors import ArrowrootError, InvalidRequestError, UnsupportedError
from arrowroot._objects.record import kind_text
from arrowroot._passes.ahead import in_order
from arrowroot._storage.config import arguments_alone, redacted, resolve, resolve_named
from arrowroot._storage.readers import Opening, scheme_of
from arrowroot._storage.url import changed_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from arrowroot._passes.left_out import LeavingOut
    from arrowroot._storage.config import StorageOptions

#: The most remote files that are opened at a time.
_N_OPENED_AHEAD = 24


class Opened(NamedTuple):
    """A tree of a row, and how to open its file again. ``url`` is for messages: it has no credentials."""

    url: str
    location: str
    path: str
    tree: Tree
    #: Bytes of the file that came with its opening and stay in memory.
    came_bytes: int
    reopen: Callable[[], File]
    #: When the file was last changed, before it was opened, in ns; 0 if its UUID tells it from others.
    changed_ns: int
    #: Its number among the files that were named.
    number: int = 0


def opened_trees(
    files: list[tuple[str, str | None]],
    storage: StorageOptions,
    *,
    named_by: str | None = None,
    leaving_out: LeavingOut | None = None,
) -> Iterator[Opened]:
    """Open the trees, several remote ones at a time. The first file says which tree is meant where none is named.

    named_by: the file that names these; None: a person named them. leaving_out: takes those that cannot be opened;
    None: the error is raised. If none can be, that of the first one is.
    """

    def attempt(number: int, path: str | None = None) -> Opened | ArrowrootError:
        location, name = files[number]
        try:
            opened = _open_member(location, name or path, storage, named_by)._replace(number=number)
            if leaving_out is not None:
                opened.tree.digest()  # reads what a row needs to know
        except ArrowrootError as error:
            if leaving_out is None:
                raise
            return error
        return opened

    first: Opened | None = None
    failed: ArrowrootError | None = None
    numbers = iter(range(len(files)))
    n_ahead = n_opened_ahead(location for location, _ in files)
    while first is None:
        number = next(numbers, None)
        if number is None:
            raise failed or InvalidRequestError("no files")
        opened = attempt(number)
        if isinstance(opened, Opened):
            first = opened
        elif leaving_out is not None:
            leaving_out.not_opened_on(redacted(files[number][0]), opened)
            failed = failed or opened
    yield first
    others = list(numbers)
    jobs = (partial(attempt, number, first.path) for number in others)
    for number, opened in zip(others, in_order(jobs, n_ahead), strict=True):
        if isinstance(opened, Opened):
            yield opened
        elif leaving_out is not None:
            leaving_out.not_opened_on(redacted(files[number][0]), opened)


def n_opened_ahead(locations: Iterable[str]) -> int:
    """Return how many files to open at a time."""
    return 1 if all(scheme_of(location) == "file" for location in locations) else _N_OPENED_AHEAD


def _open_member(location: str, name: str | None, storage: StorageOptions, named_by: str | None) -> Opened:
    if named_by is None:
        urls, settings = resolve([location], storage)
    else:
        urls, settings = [location], resolve_named(location, named_by, arguments_alone(storage))

    def reopen() -> File:
        return File(Opening(urls, settings))

    before_ns = changed_ns(location)
    file = reopen()
    path = name or file.only_tree().path
    found = file[path]
    if not isinstance(found, Tree):
        raise UnsupportedError(f"{file.url}: {path!r} is {kind_text(found)}, not a tree")
    has_uuid = bool(found.file_identity[1])
    came_bytes = sum(length for _, length in file.kept)
    return Opened(file.url, location, path, found, came_bytes, reopen, 0 if has_uuid else before_ns)
