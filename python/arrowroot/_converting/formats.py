"""The formats that are told apart by the names of files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from arrowroot._errors import InvalidRequestError
from arrowroot._layout.settings import TRIED, codec_number
from arrowroot._storage.url import split_url
from arrowroot._writing.location import local_path

if TYPE_CHECKING:
    from typing import Literal

    Format = Literal["root", "parquet", "ipc"]

_SUFFIXES: dict[str, Format] = {
    ".root": "root",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".ipc": "ipc",
    ".feather": "ipc",
}


class NamedFile(NamedTuple):
    """A file, its format, and the table in it if one is named."""

    file: str
    table: str | None
    format: Format


def _suffix_of(file: str) -> str:
    return os.path.splitext(file)[1].lower()  # noqa: PTH122 - a URL is no path


def place_of(text: str) -> NamedFile:
    """Return the place of "FILE[:TABLE]". What is not known by its suffix is taken for ROOT's.

    Raises: InvalidRequestError for a table in a format whose files are one table.
    """
    file, table = split_url(text)
    bare = file.rpartition("?")[0] if "://" in file and "?" in file else file
    suffix = _suffix_of(bare)
    found = _SUFFIXES.get(suffix, "root")
    if table is not None and found != "root":
        raise InvalidRequestError(f"{text}: a file {suffix} is one table, which has no name")
    return NamedFile(file, table, found)


def checked_output(text: str) -> NamedFile:
    """Return the place of an output, a path. Raises: InvalidRequestError for other stores, and for no known suffix."""
    place = place_of(text)
    if _suffix_of(place.file) not in _SUFFIXES:
        raise InvalidRequestError(
            f"{text}: which format? the name of the output ends in one of {', '.join(_SUFFIXES)}"
        )
    return place._replace(file=local_path(place.file))


def root_output(text: str) -> tuple[str, str | None]:
    """Return the path of a ROOT file to write, and the table if one is named. Raises: InvalidRequestError."""
    file, table = split_url(text)
    return local_path(file), table


def other_codec(codec: str | int, found: Format) -> tuple[str | None, int | None]:
    """Return pyarrow's name and level of a codec, for Parquet or Arrow IPC; "default" and "auto" are zstd.

    Raises: InvalidRequestError for a codec that the format does not have.
    """
    number = codec_number(codec)
    if number in (None, TRIED):
        return "zstd", None
    if number == 0:
        return None, None
    level = number % 100 if isinstance(codec, int) or ":" in codec else None
    name = {1: "gzip", 2: "lzma", 4: "lz4", 5: "zstd"}[number // 100]
    known = ("gzip", "lz4", "zstd") if found == "parquet" else ("lz4", "zstd")
    if name not in known:
        raise InvalidRequestError(
            f"compression {codec!r}: {'Parquet' if found == 'parquet' else 'Arrow IPC'} has "
            f"{', '.join(known).replace('gzip', 'zlib')} and none"
        )
    return name, None if name == "lz4" else level
