"""The formats that are told apart by the names of files."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from arrowroot._errors import InvalidRequestError
from arrowroot._hints import line_of, near
from arrowroot._layout.settings import TRIED, codec_number
from arrowroot._render import without_secrets
from arrowroot._storage.url import split_url
from arrowroot._writing.location import local_path

if TYPE_CHECKING:
    from typing import Literal

    Format = Literal["root", "parquet", "ipc", "csv", "jsonl"]

_SUFFIXES: dict[str, Format] = {
    ".root": "root",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".ipc": "ipc",
    ".feather": "ipc",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
#: The names of formats, for people.
TITLES: dict[Format, str] = {
    "root": "ROOT",
    "parquet": "Parquet",
    "ipc": "Arrow IPC",
    "csv": "CSV",
    "jsonl": "JSON lines",
}
#: Formats of text, which record no types.
_OF_TEXT: tuple[Format, ...] = ("csv", "jsonl")
#: What Python reads files of other formats with, by suffix, and what it writes a tree with.
_READERS = {
    ".csv": "pyarrow.csv.read_csv({file!r})",
    ".tsv": "pandas.read_csv({file!r}, sep='\\t')",
    ".jsonl .ndjson": "pyarrow.json.read_json({file!r})",
    ".json": "pandas.read_json({file!r})",
    ".npz": "dict(numpy.load({file!r}))",
    ".pkl .pickle": "pandas.read_pickle({file!r})",
    ".h5 .hdf5 .hdf": "pandas.read_hdf({file!r})",
    ".xlsx .xls": "pandas.read_excel({file!r})",
}
#: Programs that compress what is written to the standard output.
_COMPRESSING = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
_WRITERS = {
    ".tsv": "{tree}.to_pandas().to_csv({file!r}, sep='\\t', index=False)",
    ".npz": "numpy.savez({file!r}, **{tree}.to_numpy())",
    ".pkl .pickle": "{tree}.to_pandas().to_pickle({file!r})",
    ".h5 .hdf5 .hdf": "{tree}.to_pandas().to_hdf({file!r}, key='Events')",
    ".xlsx .xls": "{tree}.to_pandas().to_excel({file!r})",
}
STDOUT = "-"


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


def is_text(found: Format) -> bool:
    """True of formats of lines of text, which record no types."""
    return found in _OF_TEXT


def checked_input(text: str, output: str) -> NamedFile:
    """Return the place of an input. ``output``: that of it, for the line to write.

    Raises: InvalidRequestError for a text, which says nothing of its types, and for formats that are not read.
    """
    place = place_of(text)
    reader = line_of(_READERS, _suffix_of(place.file))
    if reader is None:
        return place
    title = TITLES[place.format] if is_text(place.format) else _suffix_of(place.file)
    read = reader.format(file=without_secrets(place.file))
    libraries = [re.split(r"\.\w+\(", read.removeprefix("dict("))[0]]
    target = place_of(output)
    if target.format == "parquet":
        libraries.append("pyarrow.parquet")
        line = f"pyarrow.parquet.write_table({read}, {output!r})"
    else:
        file = target.file if target.format == "root" and output != STDOUT else "new.root"
        written = f"{file}:{target.table or 'Events'}"
        line = f"ar.write({written!r}, {read})"
    raise InvalidRequestError(
        f"{without_secrets(text)}: convert reads no {title}: write in Python import {', '.join(libraries)}; {line}"
    )


def checked_output(text: str, named: Format | None = None, source: str = "run7.root:Events") -> NamedFile:
    """Return the place of an output: a path, or "-" for the standard output.

    named: the format, where the suffix does not say it. source: what is converted, for the line to write.

    Raises: InvalidRequestError for other stores, and for no known suffix and no format.
    """
    place = NamedFile("/dev/stdout", None, named or "root") if text == STDOUT else place_of(text)
    if named is not None:
        place = place._replace(format=named)
    elif text == STDOUT:
        raise InvalidRequestError(f"{text}: which format? write --format csv or jsonl, or parquet, ipc, root")
    elif _suffix_of(place.file) not in _SUFFIXES:
        suffix = _suffix_of(place.file)
        if (writer := line_of(_WRITERS, suffix)) is not None:
            file, table = split_url(without_secrets(source))
            tree = f"ar.open({file!r})" + (".only_tree()" if table is None else f"[{table!r}]")
            library = "import numpy; " if writer.startswith("numpy") else ""
            line = f"{library}{writer.format(tree=tree, file=place.file)}"
            raise InvalidRequestError(f"{text}: convert writes no {suffix}: write in Python {line}")
        if (
            suffix in _COMPRESSING
            and (kind := _SUFFIXES.get(_suffix_of(place.file.removesuffix(suffix)))) in _OF_TEXT
        ):
            line = f"arrowroot convert {shlex.quote(without_secrets(source))} - --format {kind}"
            raise InvalidRequestError(f"{text}: write {line} | {_COMPRESSING[suffix]} > {place.file}")
        if f".{text}" in _SUFFIXES:
            name = split_url(source)[0].partition("?")[0].rpartition("/")[2]
            stem = os.path.splitext(name)[0]  # noqa: PTH122 - as above
            raise InvalidRequestError(f"{text}: which file? write {stem}.{text} for the output")
        hint = near(suffix, [one for one in _SUFFIXES if one[:2] == suffix[:2]])
        ends = f"the name of the output ends in one of {', '.join(_SUFFIXES)}, or --format says it"
        raise InvalidRequestError(f"{text}: which format{hint or f'? {ends}'}")
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
            f"compression {codec!r}: {TITLES[found]} has {', '.join(known).replace('gzip', 'zlib')} and none"
        )
    return name, None if name == "lz4" else level
