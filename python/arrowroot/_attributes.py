"""Attributes that objects lack: the error, with what to write instead."""

from __future__ import annotations

import sys
from collections.abc import Container

from arrowroot._errors import ArrowrootError, NoSuchAttributeError

#: The most characters of a name that are quoted.
_MAX_QUOTED = 700


def has_inside(of: object, name: str) -> bool:
    """Return whether an object has something of that name inside: False if it is closed, or cannot be read."""
    try:
        return isinstance(of, Container) and name in of
    except ArrowrootError:
        return False


def no_attribute(of: object, name: str, hints: str | None = None) -> NoSuchAttributeError:
    """Return the error for an attribute that an object, or this package (its name), lacks: with what to write.

    hints: whose lines these are, if not those of its class.
    """
    kind = of if isinstance(of, str) else type(of).__name__
    what = f"module {kind!r}" if isinstance(of, str) else f"{kind!r} object"
    hint = ""
    # Libraries ask for names of theirs, which nobody typed.
    if not name.startswith("_"):
        from arrowroot._hints import for_attribute

        if not isinstance(of, str) and has_inside(of, name):
            hint = f": write tree[{name!r}]"
        elif not isinstance(of, str) and (line := _of_columns(of, name)) is not None:
            hint = f": write {line}"
        else:
            hint = for_attribute(hints or kind, name, dir(sys.modules[of] if isinstance(of, str) else of))
            if kind in ("Tree", "Scan", "TreeColumn"):
                hint = _with_columns(hint, of)
    error = NoSuchAttributeError(f"{what} has no attribute {name[:_MAX_QUOTED]!r}{hint}")
    error.name = name
    return error


def _with_columns(hint: str, of: object) -> str:
    """Return a hint with columns that there are; as it is where they cannot be read."""
    from arrowroot._hints import with_columns

    try:
        return with_columns(hint, of)
    except ArrowrootError:
        return hint


def _of_columns(of: object, name: str) -> str | None:
    """Return what reads the columns of a collection, or a column of a scan; None if there is none of that name."""
    try:
        # Trees and scans have these; their modules import this one.
        if hasattr(type(of), "matching") and of.matching(f"{name}_*"):  # type: ignore[attr-defined]  # of a tree
            return f'tree.to_awkward("{name}_*", objects=True)'
        if hasattr(type(of), "drain") and name in of.column_names:  # type: ignore[attr-defined]  # of a scan
            return f"scan.to_awkward()[{name!r}]"
    except ArrowrootError:
        pass
    return None
