"""The names under which other readers find the columns of a file that was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot import _native

if TYPE_CHECKING:
    from arrowroot._api.file import File


def told(file: File) -> str | None:
    """Return what to say of columns that other readers find under other names; None if there is no such column."""
    trees = [file[path] for path in file.trees]
    others = [
        (name, stored)
        for tree in trees
        # The branches of others are called as they were.
        if not (in_tree := tree.class_name == "TTree") or tree.records_types
        for name in tree.column_names
        if (stored := _native.stored_name(name, in_tree=in_tree)) != name
    ]
    if not others:
        return None
    more = f", and {len(others) - 1:,} more alike" if len(others) > 1 else ""
    name, stored = others[0]
    return f"other readers find {name!r} as {stored}{more} (docs/writing.md)"
