"""The files to merge: lists of them, globs, and their opening, some ahead where they are far away."""

from __future__ import annotations

import os
import shlex
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

from arrowroot._errors import InvalidRequestError
from arrowroot._render import shown
from arrowroot._storage.config import resolve
from arrowroot._storage.filesets import fileset
from arrowroot._storage.readers import Opening, scheme_of
from arrowroot._storage.url import split_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from arrowroot import _native
    from arrowroot._storage.url import Location

#: So many far-away files are opened ahead: each takes some round trips.
_AHEAD = 8


def listed(paths: Location | Iterable[Location]) -> list[str]:
    """Return the files of paths, URLs and globs; "@FILE" stands for those that FILE names, one a line, # for comments.

    Raises: InvalidRequestError for none, and for one that names a tree; NoSuchFileError for a glob without files, or a
        list that is not there.
    """
    files = fileset(paths, None).files
    named = next(((file, tree) for file, tree in files if tree is not None), None)
    if named is not None:
        file, tree = named
        raise InvalidRequestError(
            f"{shown(f'{file}:{tree}')}: whole files are merged; rules leave out objects by their names: write "
            f"rules={{{tree!r}: 'concatenate', '*': 'drop'}}, or "
            f"--rule {shlex.quote(f'{tree}=concatenate')} --rule '*=drop'"
        )
    return [file for file, _ in files]


def refuse_output(files: Iterable[str], output: str) -> None:
    """Raise InvalidRequestError if an input would be replaced by the output."""
    for file in files:
        bare, _ = split_options(file)
        if scheme_of(bare) == "file":
            bare = bare.partition("://")[2].removeprefix("localhost") or bare
        if os.path.realpath(bare) == os.path.realpath(output):
            raise InvalidRequestError(f"{output} is an input, too, and would be replaced")


def openings(files: Iterable[str], options: Mapping[str, Any]) -> list[Opening]:
    """Return how to open each file. Raises: InvalidRequestError."""
    return [Opening(*resolve([file], options)) for file in files]


def opened(all_of: Sequence[Opening], open_files: int) -> Iterator[Callable[[], _native.File]]:
    """Yield what gives each file, open, or raises why it cannot be; at most so many are open at a time."""
    if open_files > 1 and any(scheme_of(opening.urls[0]) not in ("", "file") for opening in all_of):
        yield from _ahead(all_of, min(open_files, _AHEAD))
        return
    for opening in all_of:
        yield opening.open


def _ahead(all_of: Sequence[Opening], n_open: int) -> Iterator[Callable[[], _native.File]]:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(n_open, "arrowroot-merge") as pool:
        rest = iter(all_of)
        # The one in use is open, too.
        waiting = deque(pool.submit(opening.open) for opening in islice(rest, n_open - 1))
        try:
            while waiting:
                yield waiting.popleft().result
                if (following := next(rest, None)) is not None:
                    waiting.append(pool.submit(following.open))
        finally:
            for future in waiting:
                future.cancel()
