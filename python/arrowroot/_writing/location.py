"""Where a file is written: a path on this machine."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from arrowroot._errors import InvalidRequestError
from arrowroot._render import without_secrets
from arrowroot._storage.url import as_location, shown, split_url

if TYPE_CHECKING:
    from arrowroot._storage.url import Location

_FILE = "file://"
#: Formats by their suffixes, and what writes them.
_OTHER_FORMATS = {
    **dict.fromkeys((".parquet", ".pq"), ("Parquet", "pyarrow.parquet.write_table")),
    **dict.fromkeys((".arrow", ".ipc", ".feather"), ("Arrow", "pyarrow.feather.write_feather")),
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
        copying = {"root": "xrdcp", "roots": "xrdcp", "s3": "aws s3 cp"}.get(scheme[1].lower(), "a copy")
        raise InvalidRequestError(
            f"{without_secrets(text)}: files are written on this machine; write there, then copy it ({copying})"
        )
    if not text:
        raise InvalidRequestError("no file to write: the path is empty")
    # Whole paths, as the system's errors have them, would show what a mistyped URL hides.
    if (shown := without_secrets(text)) != text and not os.path.isdir(os.path.dirname(text) or "."):  # noqa: PTH112, PTH120
        raise InvalidRequestError(
            f"{shown}: files are written on this machine, and this is no directory of it"
        )
    return text


def path_and_name(text: Location) -> tuple[str, str]:
    """Return the file and the table of "FILE:TABLE".

    Raises: InvalidRequestError if no table is named.
    """
    file, name = split_url(text) if isinstance(text, str) else (as_location(text), None)
    if name is None:
        raise InvalidRequestError(f"write: {_advice(file)}")
    return local_path(file), name


def _advice(file: str) -> str:
    """Return what to write in the place of a path without a tree."""
    before, colon, after = file.rpartition(":")
    if colon and after and not after.startswith("//"):
        instead = f"{before.removesuffix('.root')}.root:{after}"
        return f"{shown(file)} names no tree: that stands behind the ':' after '.root', as text: {shown(instead)}"
    for suffix, (kind, writer) in _OTHER_FORMATS.items():
        if file.endswith(suffix):
            return (
                f"{shown(file)}: files of ROOT are written, as {shown(f'{file.removesuffix(suffix)}.root:Events')}; "
                f"{writer} writes {kind}, and the command arrowroot convert makes one of the other"
            )
    return f"what shall the tree be called? write {shown(file.rstrip(':').removesuffix('.root') + '.root:Events')}"
