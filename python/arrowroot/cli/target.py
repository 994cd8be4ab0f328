"""What a command is about: the file and the tree of URL[:TREE], and the columns asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import arrowroot
from arrowroot import InvalidRequestError, Tree, split_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot import File


def open_target(text: str) -> tuple[File, str | None]:
    """Open the file of "URL[:TREE]"; return it and the tree's path, None if none is named."""
    url, path = split_url(text)
    return arrowroot.open(url), path


def open_tree(text: str) -> Tree:
    """Return the tree of "URL[:TREE]", or the only one of the file."""
    file, path = open_target(text)
    if path is None:
        return file.only_tree()
    found = file[path]
    if not isinstance(found, Tree):
        raise InvalidRequestError(f"{file.url}: {path!r} is a directory, not a tree")
    return found


def column_texts(options: Sequence[str] | None) -> list[str] | None:
    """Return the names and globs of repeated -c options with commas in them; None if there is none."""
    if options is None:
        return None
    names = [name.strip() for option in options for name in option.split(",") if name.strip()]
    if not names:
        raise InvalidRequestError("-c: which columns? names or globs, with commas between them")
    return names
