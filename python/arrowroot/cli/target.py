"""What a command is about: the file and the tree of URL[:TREE], and the columns asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot import _native
from arrowroot._errors import InvalidRequestError, NoSuchKeyError
from arrowroot._file import File
from arrowroot._tree import Tree
from arrowroot._url import split_url

if TYPE_CHECKING:
    from collections.abc import Sequence


def open_target(text: str) -> tuple[File, str | None]:
    """Open the file of "URL[:TREE]"; return it and the tree's path, None if none is named."""
    url, path = split_url(text)
    return File(_native.open_file(url)), path


def open_tree(text: str) -> Tree:
    """Return the tree of "URL[:TREE]", or the only one of the file."""
    file, path = open_target(text)
    if path is None:
        trees = file.trees
        if not trees:
            raise NoSuchKeyError(f"{file.url}: there is no tree in this file", "", [])
        if len(trees) > 1:
            names = ", ".join(trees[:10]) + (", ..." if len(trees) > 10 else "")
            raise InvalidRequestError(f"{file.url}: which of its {len(trees)} trees? {names}")
        path = trees[0]
    found = file[path]
    if not isinstance(found, Tree):
        raise InvalidRequestError(f"{file.url}: {path!r} is a directory, not a tree")
    return found


def column_texts(options: Sequence[str] | None) -> list[str] | None:
    """Return the names and globs of repeated -c options with commas in them; None if there is none."""
    if options is None:
        return None
    return [name.strip() for option in options for name in option.split(",") if name.strip()]
