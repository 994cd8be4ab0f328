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
from arrowroot._render import N_QUOTED, without_secrets
from arrowroot._saving.replacing import is_stdout, replacing
from arrowroot._writing.file import create, fault_of_path
from arrowroot._writing.options import layout_with
from arrowroot._writing.plan import plan_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from arrowroot._api.file import File
    from arrowroot._converting.formats import Format, NamedFile
    from arrowroot._converting.inputs import Input, InputTable
    from arrowroot._cost.writing import WritingCost
    from arrowroot._layout.layout import Layout, LayoutLike
    from arrowroot._writing.file import WritableFile
    from arrowroot._writing.options import TableOptions
    from arrowroot._writing.plan import LayoutPlan

    #: Reads an output at the path where it is before it is published; gets the names of its tables, in the order of
    #: those of the input. Returns where it differs from the input.
    Check: TypeAlias = Callable[[str, list[str]], list[str]]

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

    def options(self, title: str = "", titles: Mapping[str, str] | None = None) -> TableOptions:
        """The options of ``create(...).tree``."""
        return {
            "title": title,
            "titles": titles or {},
            "layout": "ttree" if isinstance(self.layout, Unsaid) else self.layout,
            "compression": self.compression,
            "flush": self.flush,
            "basket_size": self.basket_size,
            "page_size": self.page_size,
        }


class Written(NamedTuple):
    """The content of the output."""

    #: Name and number of entries of each table.
    tables: list[tuple[str, int]]
    objects: list[str]
    #: Keys and columns of the input that are not in it, and why.
    left_out: list[tuple[str, str]]
    #: The same of notes.
    notes_left_out: list[tuple[str, str]]
    #: Where it differs from the input: it was not published then.
    differences: list[str] = []  # noqa: RUF012 - never changed
    #: The cost of writing a ROOT file.
    cost: WritingCost | None = None
    #: The size of the output, which a pipe does not tell.
    n_bytes: int = 0


class _DiffersError(ArrowrootError):
    """An output is not to be published, as it is not what was read."""


def writable(given: Input, place: NamedFile) -> Input:
    """Return an input without what an output cannot have by its name: that is left out, and told."""
    if place.format != "root":
        return given
    names = [table.name for table in given.tables if table.name and place.table is None]
    paths = [*names, *given.directories, *(key.path for key in given.objects)]
    faults = {path: fault for path in paths if (fault := fault_of_path(path)) is not None}
    return given._replace(
        tables=[table for table in given.tables if table.name not in faults],
        directories=[path for path in given.directories if path not in faults],
        objects=[key for key in given.objects if key.path not in faults],
        left_out=[*given.left_out, *faults.items()],
    )


def check_style(place: NamedFile, style: Style, names: Sequence[str], what: str) -> None:
    """Raise InvalidRequestError for what the format of an output does not have, before anything is read.

    names: those of the tables.
    """
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
    if not names:
        raise InvalidRequestError(f"{what} has no tree, and {place.file} is one table")
    if len(names) > 1:
        some = ", ".join(names[:N_QUOTED]) + ", ..." * (len(names) > N_QUOTED)
        raise InvalidRequestError(
            f"{what} has {len(names)} trees ({some}), and {place.file} is one table: name the tree, as "
            f"{what}:{names[0]}"
        )


def write_all(
    given: Input,
    place: NamedFile,
    style: Style,
    progress: Callable[[InputTable, int], object],
    check: Check | None = None,
) -> Written:
    """Write all tables, and objects where the output is ROOT's; ``progress`` gets the entries of a table so far.

    check: the output is published only if this finds no difference.
    """
    if place.format == "root":
        return _to_root(given, place, style, progress, check)
    (table,) = given.tables
    left_out = [*given.left_out, *((key.path, "not a table") for key in given.objects)]
    what = TITLES[place.format]
    notes = [*table.notes.lost_in(what), *table.attributes_lost_in(what)]
    written = Written([], [], [*left_out, *table.left_out], _of_table(table, notes))
    if is_text(place.format) and is_stdout(place.file):
        # Lines are read from a pipe while they are made.
        with _unsupported(place.file):
            n_entries, n_bytes = _write_lines(sys.stdout.buffer, place.format, table, progress)
        return written._replace(tables=[(table.name, n_entries)], n_bytes=n_bytes)
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
        differences = check(beside, [table.name]) if check is not None else []
        written = written._replace(tables=[(table.name, n_entries)], differences=differences)
        _check_same(written)
        written = written._replace(n_bytes=Path(beside).stat().st_size)
    return written


def plans_of(given: Input, place: NamedFile, style: Style) -> list[tuple[str, LayoutPlan]]:
    """Return the name of each table and what becomes of it, told from its first entries. Nothing is written.

    Raises: InvalidRequestError for an output that is no file of ROOT's.
    """
    if place.format != "root":
        raise InvalidRequestError(f"{place.file}: files of ROOT have layouts to plan, and no others")
    layout, plans = style.whole(), []
    for table in given.tables:
        first = next((batch for batch in table.batches() if batch.num_rows), None)
        sample = None if first is None else pa.Table.from_batches([first])
        name = place.table or table.name or DEFAULT_NAME
        n_entries = None if table.is_filtered else table.n_entries
        plans.append((name, plan_for(layout, table.schema, sample, n_entries, name)))
    return plans


def _check_same(written: Written) -> None:
    if written.differences:
        raise _DiffersError


def _to_root(
    given: Input,
    place: NamedFile,
    style: Style,
    progress: Callable[[InputTable, int], object],
    check: Check | None,
) -> Written:
    tables, objects, left_out, notes = [], [], list(given.left_out), []
    with create(
        place.file, compression=style.codec, reproducible=style.reproducible, n_threads=style.n_threads
    ) as file:
        for table in given.tables:
            name = (
                place.table
                if place.table is not None and len(given.tables) == 1
                else table.name or DEFAULT_NAME
            )
            is_tree = style.whole().format == "ttree"
            left_out += table.left_out
            notes += _of_table(table, table.notes.left_out if is_tree else table.notes.lost_in("an RNTuple"))
            notes += _of_table(table, table.attributes_lost_in("a tree") if is_tree else ())
            options = style.options(table.title, table.titles)
            if table.projections:
                options["projections"] = table.projections
            writer = file.tree(name, table.schema, **{**options, **(table.notes.options if is_tree else {})})
            for batch in table.batches():
                writer.append(batch)
                progress(table, writer.num_entries)
            for name_of_set, attributes in () if is_tree else table.attributes.items():
                writer.attributes(name_of_set, attributes.schema).append(attributes.to_arrow())
            writer.close()
            tables.append((name, writer.num_entries))
        for path in given.directories:
            file.directory(path)
        for key in given.objects:
            reason = _copied(given.file, key.path, file)
            if reason is None:
                objects.append(key.path)
            else:
                left_out.append((key.path, reason))
        differences = check(file.complete(), [name for name, _ in tables]) if check is not None else []
        if differences:
            file.abort()
    written = Written(tables, objects, left_out, notes, differences)
    if differences:
        return written
    return written._replace(cost=file.cost(), n_bytes=Path(place.file).stat().st_size)


def _of_table(table: InputTable, notes: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return notes that are left out, with the table that they are of."""
    return [(f"{table.name}: note {note!r}", why) for note, why in notes]


def _copied(source: File | None, path: str, file: WritableFile) -> str | None:
    """Copy an object; return why it cannot be, None if it was."""
    assert source is not None  # noqa: S101 - objects come from a file
    try:
        file[path] = source[path]
    except UnsupportedError as error:
        trees = source.trees_inside([path])
        hint = f"; arrowroot convert {without_secrets(source.url)}:{trees[0]} takes one" if trees else ""
        return f"{error}{hint}"
    return None


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
