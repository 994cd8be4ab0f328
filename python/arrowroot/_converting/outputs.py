"""Outputs of tables: whole, or not at all."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import pyarrow as pa

from arrowroot._converting.formats import TITLES, is_text, other_codec
from arrowroot._errors import ArrowrootError, InvalidRequestError, UnsupportedError
from arrowroot._layout import settings
from arrowroot._layout.layout import OF_LAYOUT, Unsaid
from arrowroot._saving.replacing import is_stdout, replacing
from arrowroot._writing.calls import create, with_table
from arrowroot._writing.options import layout_with
from arrowroot._writing.plan import plan_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from typing_extensions import Unpack

    from arrowroot._converting.formats import Format, NamedFile
    from arrowroot._converting.inputs import InputTable
    from arrowroot._cost.writing import WritingCost
    from arrowroot._layout.layout import Layout, LayoutLike
    from arrowroot._writing.file import WritableFile
    from arrowroot._writing.options import FileOptions, TableOptions
    from arrowroot._writing.plan import LayoutPlan

    #: Reads an output at the path where it is before it is published; gets the name of its table. Returns where it
    #: differs from the input.
    Check: TypeAlias = Callable[[str, str], str | None]

#: What a table is called that comes from a file where it has no name.
DEFAULT_NAME = "Events"
#: Stands for an option that nobody gives: the layout says it.
UNSAID = OF_LAYOUT


class Style(NamedTuple):
    """How an output is written; ``flush`` as ``create(...).tree`` has it."""

    layout: LayoutLike | Unsaid = UNSAID
    #: A codec as text, or ROOT's number.
    compression: str | int | Unsaid = UNSAID
    flush: settings.Flush | Unsaid = UNSAID
    basket_size: str | Unsaid = UNSAID
    page_size: str | Unsaid = UNSAID
    reproducible: bool = False
    n_threads: int = 0

    @property
    def codec(self) -> str | int:
        """The codec of what is no table of ROOT's."""
        return settings.DEFAULT if isinstance(self.compression, Unsaid) else self.compression

    @property
    def of_root(self) -> list[str]:
        """The options that were given and are of ROOT files alone, as they are typed."""
        given = {
            "--layout": self.layout,
            "--flush": self.flush,
            "--basket-size": self.basket_size,
            "--page-size": self.page_size,
            "--reproducible": self.reproducible or UNSAID,
        }
        return [option for option, value in given.items() if not isinstance(value, Unsaid)]

    def whole(self) -> Layout:
        """All of it as one layout. Raises: InvalidRequestError for what makes no sense."""
        return layout_with(self.options())

    def options(self, title: str = "") -> TableOptions:
        """The options of ``create(...).tree``."""
        return {
            "title": title,
            "layout": "ttree" if isinstance(self.layout, Unsaid) else self.layout,
            "compression": self.compression,
            "flush": self.flush,
            "basket_size": self.basket_size,
            "page_size": self.page_size,
        }


class Written(NamedTuple):
    """The content of the output."""

    #: The name of the table, "" if its file has one without a name, and its entries.
    table: str
    num_entries: int
    #: Where it differs from the input: it was not published then.
    difference: str | None = None
    #: The cost of writing a ROOT file.
    cost: WritingCost | None = None
    #: The size of the output, which a pipe does not tell.
    n_bytes: int = 0


class _DiffersError(ArrowrootError):
    """An output is not to be published, as it is not what was read."""


def check_style(place: NamedFile, style: Style, what: str) -> None:
    """Raise InvalidRequestError for what the format of an output does not have, before anything is read."""
    if place.format == "root":
        style.whole()
        return
    kind = TITLES[place.format]
    if style.of_root:
        raise InvalidRequestError(f"{', '.join(style.of_root)}: {place.file} is {kind}; a ROOT file has that")
    if not is_text(place.format):
        other_codec(style.codec, place.format)
    elif not isinstance(style.compression, Unsaid):
        raise InvalidRequestError(
            f"--compression: {kind} is text: write "
            f"arrowroot convert {what} - --format {place.format} | zstd > out.{place.format}.zst"
        )


def write_table(
    table: InputTable,
    place: NamedFile,
    style: Style,
    progress: Callable[[InputTable, int], object],
    check: Check | None = None,
) -> Written:
    """Write a table; ``progress`` gets its entries so far.

    check: the output is published only if this finds no difference.
    """
    if place.format == "root":
        return _to_root(table, place, style, progress, check)
    written = Written(table.name, 0)
    if is_text(place.format) and is_stdout(place.file):
        # Lines are read from a pipe while they are made.
        with _unsupported(place.file):
            n_entries, n_bytes = _write_lines(sys.stdout.buffer, place.format, table, progress)
        return written._replace(num_entries=n_entries, n_bytes=n_bytes)
    with suppress(_DiffersError), _unsupported(place.file), replacing(place.file) as beside:
        if is_text(place.format):
            with Path(beside).open("wb") as file:
                n_entries, _ = _write_lines(file, place.format, table, progress)
        else:
            writer = _parquet_writer if place.format == "parquet" else _ipc_writer
            n_entries = 0
            with writer(beside, table.said, style.codec) as write:
                for batch in table.batches():
                    write(batch)
                    n_entries += batch.num_rows
                    progress(table, n_entries)
        difference = None if check is None else check(beside, table.name)
        written = written._replace(num_entries=n_entries, difference=difference)
        if difference is not None:
            raise _DiffersError
        written = written._replace(n_bytes=Path(beside).stat().st_size)
    return written


def plan_of(table: InputTable, place: NamedFile, style: Style) -> tuple[str, LayoutPlan]:
    """Return the name of a table and what becomes of it, told from its first entries. Nothing is written.

    Raises: InvalidRequestError for an output that is no file of ROOT's.
    """
    if place.format != "root":
        raise InvalidRequestError(f"{place.file}: files of ROOT have layouts to plan, and no others")
    first = next((batch for batch in table.batches() if batch.num_rows), None)
    sample = None if first is None else pa.Table.from_batches([first])
    name = place.table or DEFAULT_NAME
    n_entries = None if table.is_filtered else table.n_entries
    return name, plan_for(style.whole(), table.schema, sample, n_entries, name)


def file_for(path: str, table: str | None, style: Style, **options: Unpack[FileOptions]) -> WritableFile:
    """Begin a ROOT file. Whoever names a table of it means that one: other objects that it has stay."""
    options |= {"reproducible": style.reproducible, "n_threads": style.n_threads}
    return with_table(path, table, **options) if table else create(path, **options)


def _to_root(
    table: InputTable,
    place: NamedFile,
    style: Style,
    progress: Callable[[InputTable, int], object],
    check: Check | None,
) -> Written:
    name = place.table or DEFAULT_NAME
    with file_for(place.file, place.table, style, compression=style.codec) as file:
        writer = file.tree(name, table.schema, **style.options())
        for batch in table.batches():
            writer.append(batch)
            progress(table, writer.num_entries)
        difference = None if check is None else check(file.complete(), name)
        if difference is not None:
            file.abort()
    written = Written(name, writer.num_entries, difference)
    if difference is not None:
        return written
    return written._replace(cost=file.cost(), n_bytes=Path(place.file).stat().st_size)


@contextmanager
def _parquet_writer(
    path: str, schema: pa.Schema, compression: str | int
) -> Iterator[Callable[[pa.RecordBatch], Any]]:
    import pyarrow.parquet as pq

    name, level = other_codec(compression, "parquet")
    with pq.ParquetWriter(path, schema, compression=name or "none", compression_level=level) as writer:
        yield writer.write_batch


@contextmanager
def _ipc_writer(
    path: str, schema: pa.Schema, compression: str | int
) -> Iterator[Callable[[pa.RecordBatch], Any]]:
    name, level = other_codec(compression, "ipc")
    codec = None if name is None else pa.Codec(name, level)
    with (
        pa.OSFile(path, "wb") as sink,
        pa.ipc.new_file(sink, schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer,
    ):
        yield writer.write_batch


def _write_lines(
    file: BinaryIO, found: Format, table: InputTable, progress: Callable[[InputTable, int], object]
) -> tuple[int, int]:
    """Write a table as lines of text; return how many entries and bytes these were."""
    from arrowroot._converting import lines

    lines_of = lines.csv_lines if found == "csv" else lines.json_lines
    n_entries = 0
    n_bytes = file.write(lines.csv_header(table.said.names)) if found == "csv" else 0
    for batch in table.batches():
        n_bytes += sum(map(file.write, lines_of(batch)))
        n_entries += batch.num_rows
        progress(table, n_entries)
    return n_entries, n_bytes


@contextmanager
def _unsupported(file: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise UnsupportedError(f"{file}: {error}") from error
