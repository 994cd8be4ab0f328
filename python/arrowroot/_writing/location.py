"""Where a file is written: a path on this machine."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from arrowroot._errors import InvalidRequestError
from arrowroot._render import shown, without_secrets
from arrowroot._storage.url import as_location, split_url

if TYPE_CHECKING:
    from arrowroot._storage.url import Location

_FILE = "file://"
#: Formats by their suffixes, and what writes them.
_OTHER_FORMATS = {
    **dict.fromkeys((".parquet", ".pq"), ("Parquet", "pyarrow.parquet.write_table")),
    **dict.fromkeys((".arrow", ".ipc", ".feather"), ("Arrow", "pyarrow.feather.write_feather")),
    ".csv": ("CSV", "pyarrow.csv.write_csv"),
}


def local_path(path: Location) -> str:
    """Return the path of a file to write, as ``os.fsdecode`` has it.

    Raises: InvalidRequestError for URLs of other stores, with what to do; and for what is no path.
    """
    text = as_location(path)
    if "\0" in text:
        raise InvalidRequestError(f"{text!r}: a path has no NUL character")
    if text.lower().startswith(_FILE):
        from urllib.parse import unquote

        host, slash, rest = text[len(_FILE) :].partition("/")
        if host.lower() not in ("", "localhost") or not slash:
            raise InvalidRequestError(f"{text!r}: a file of this machine is file:///PATH")
        return f"/{unquote(rest)}"
    scheme = re.match(r"(?i)([a-z][a-z0-9+.-]*)://", text)
    if scheme:
        copying = {"root": " (xrdcp)", "roots": " (xrdcp)", "s3": " (aws s3 cp)"}.get(scheme[1].lower(), "")
        raise InvalidRequestError(
            f"{without_secrets(text)}: files are written on this machine; write one here, then copy it there{copying}"
        )
    if not text:
        raise InvalidRequestError("no file to write: the path is empty")
    # Whole paths, as the system's errors have them, would show what a mistyped URL hides.
    if (shown := without_secrets(text)) != text and not os.path.isdir(os.path.dirname(text) or "."):  # noqa: PTH112, PTH120
        raise InvalidRequestError(
            f"{shown}: files are written on this machine, and this is no directory of it"
        )
    return text


def path_of_root(path: Location, call: str = "create") -> str:
    """Return the path of a file of ROOT to write, as :func:`local_path` does. ``call``: the one that it is for.

    Raises: InvalidRequestError for the suffix of another format, and for "FILE.root:TABLE", too.
    """
    text = local_path(path)
    file, name = split_url(text)
    if name is not None and file.endswith(".root"):
        raise InvalidRequestError(
            f"{shown(text)}: a file has several tables: {call}({shown(file)}), then its tree({shown(name)}, ...)"
        )
    _check_suffix(file, ".root")
    return text


def _check_suffix(file: str, instead: str) -> None:
    """Raise InvalidRequestError for the suffix of another format; ``instead``: what to write in its place."""
    for suffix, (kind, writer) in _OTHER_FORMATS.items():
        if file.endswith(suffix):
            raise InvalidRequestError(
                f"{shown(file)}: files of ROOT are written, as {shown(f'{file.removesuffix(suffix)}{instead}')}; "
                f"{writer} writes {kind}, and the command arrowroot convert makes one of the other"
            )


def path_and_name(text: Location) -> tuple[str, str]:
    """Return the file and the table of "FILE:TABLE".

    Raises: InvalidRequestError if no table is named.
    """
    file, name = split_url(text) if isinstance(text, str) else (as_location(text), None)
    path = local_path(file)
    if name is None:
        _check_suffix(file, ".root:Events")
        raise InvalidRequestError(f"write: {_advice(file)}")
    return path, name


def _advice(file: str) -> str:
    """Return what to write in the place of a path without a tree."""
    before, colon, after = file.rpartition(":")
    if colon and after and not after.startswith("//"):
        instead = f"{before.removesuffix('.root')}.root:{after}"
        return f"{shown(file)} names no tree: that stands behind the ':' after '.root', as text: {shown(instead)}"
    if file.endswith("/") or os.path.isdir(file):  # noqa: PTH112 - text
        return f"{shown(file)} is a directory: write a file in it, as {shown(file.rstrip('/') + '/data.root:Events')}"
    return f"what shall the tree be called? write {shown(file.rstrip(':').removesuffix('.root') + '.root:Events')}"
