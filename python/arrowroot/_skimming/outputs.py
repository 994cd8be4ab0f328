"""Outputs of a skim: tables that are filled from input after input, and objects; whole, or none of them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from arrowroot._api.attributes import RANGE_COLUMNS
from arrowroot._skimming.picking import PickedTable, length_of
from arrowroot._skimming.ranges import moved
from arrowroot._writing.calls import create

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from typing_extensions import Self

    from arrowroot import _native
    from arrowroot._api.file import File
    from arrowroot._api.tree import Tree
    from arrowroot._api.tree_metadata import Pick
    from arrowroot._options import Options
    from arrowroot._skimming.picking import PickedEntries
    from arrowroot._skimming.ranges import Annotation
    from arrowroot._skimming.tables import InputTable, Style, WrittenAs
    from arrowroot._skimming.whole import Span
    from arrowroot._writing.attributes import AttributeWriter
    from arrowroot._writing.file import WritableFile
    from arrowroot._writing.table import TableWriter


class Portion(NamedTuple):
    """Entries of a table of an input on their way."""

    table: InputTable
    #: None: the table is there, whether it has entries or not.
    batch: pa.RecordBatch | None
    #: The number of the output that they go to; None: all of them.
    output: int | None = None
    #: In the place of a batch: the entries of a cluster, which is copied packed where that can be.
    span: Span | None = None


class OutputOptions(NamedTuple):
    """How the files are written."""

    style: Style
    reproducible: bool
    n_threads: int
    buffer_bytes: int


class WrittenFile(NamedTuple):
    """An output that is complete: its path once it is published, and until then."""

    path: str
    beside: str
    #: By the paths of tables in the inputs: that in the file, and the columns.
    tables: Mapping[str, tuple[str, pa.Schema]]


class Outputs:
    """The files that are written; a context manager: an error leaves none of them."""

    def __init__(self, paths: list[str], renamed: dict[int, str], options: OutputOptions) -> None:
        """``renamed``: the path of the skimmed table, by the number of the output, where it is another."""
        self._style = options.style
        self._renamed = renamed
        self._files: list[WritableFile] = []
        #: By the path of the table in the inputs: the first input's, and a writer for each output.
        self._tables: dict[str, tuple[InputTable, list[TableWriter]]] = {}
        #: The same of tables whose entries are copied as their bytes are.
        self._picked: dict[str, tuple[InputTable, list[PickedTable]]] = {}
        #: The beginnings of tables that had no entries so far.
        self._empty: dict[str, Callable[[], None]] = {}
        #: Entries of a table in each output when an input began.
        self._first_entries: dict[str, list[int]] = {}
        #: Rows of attribute sets, which are written once all entries are there: by table, set and output.
        self._ranges: list[tuple[str, str, int, pa.Table]] = []
        #: By the path of a table of the input that is being read: its tree, and its clusters for each output.
        self._packed: dict[str, tuple[Tree, list[_native.Packed]]] = {}
        #: Notes of tables that do not go along, and why.
        self.notes_left_out: list[tuple[str, str]] = []
        #: Tables, and what is otherwise in them than in the inputs.
        self.remarks: list[tuple[str, str]] = []
        try:
            for path in paths:
                file = create(
                    path,
                    compression=options.style.codec_of_objects,
                    reproducible=options.reproducible,
                    n_threads=options.n_threads,
                    buffers=max(1, options.buffer_bytes // len(paths)),
                )
                self._files.append(file)
        except BaseException:
            self.abort()
            raise

    @property
    def files(self) -> list[WritableFile]:
        """The files, in their order."""
        return self._files

    def first(self, table: str) -> InputTable | None:
        """Return a table as the first input had it; None: no input had it so far."""
        found = self._tables.get(table) or self._picked.get(table)
        return None if found is None else found[0]

    def num_entries(self, table: str, output: int) -> int:
        """Return how many entries of a table went to an output so far."""
        found = self._tables.get(table) or self._picked.get(table)
        return 0 if found is None else found[1][output].num_entries

    @property
    def tables(self) -> list[str]:
        """Paths of the tables so far."""
        return [*self._tables, *self._picked]

    @property
    def paths(self) -> set[str]:
        """Paths of the tables so far, and those that they have in the outputs."""
        return {*self.tables, *self._renamed.values()}

    def begin(self, table: InputTable, *, is_main: bool, has_all_entries: bool, has_all_trees: bool) -> None:
        """Begin a table, if no input had it before. One without entries says nothing of the columns of others."""
        self._first_entries[table.path] = [self.num_entries(table.path, i) for i in range(len(self._files))]
        if self.first(table.path) is not None:
            return
        if table.branches is not None:
            names = [self._name_of(table, number, is_main=is_main) for number in range(len(self._files))]
            self._empty.pop(table.path, None)
            self._picked[table.path] = table, [PickedTable(name) for name in names]
            return
        written = table.written(self._style, has_all_entries=has_all_entries, has_all_trees=has_all_trees)
        begin = partial(self._begin, table, written, is_main=is_main)
        if table.tree.num_entries:
            self._empty.pop(table.path, None)
            begin()
        else:
            self._empty.setdefault(table.path, begin)

    def make_directories(self, path: str, file: File, *, is_main: bool) -> None:
        """Make the directories that a table of an input is in as they are there, with their titles."""
        if "/" not in path:
            return
        titles = {key.path: key.title for key in file.key_list(cycles=False) if key.is_directory}
        for number, output in enumerate(self._files):
            if is_main and number in self._renamed:
                continue
            for directory, title in titles.items():
                if path.startswith(f"{directory}/"):
                    output.directory(directory, title)

    def begin_empty(self) -> None:
        """Begin the tables that have entries in no input."""
        for begin in self._empty.values():
            begin()

    def _begin(self, table: InputTable, written: WrittenAs, *, is_main: bool) -> None:
        writers = []
        for number, file in enumerate(self._files):
            name = self._name_of(table, number, is_main=is_main)
            writer = file.tree(name, table.schema, **written.options)
            writer.comes_back_as(table.recorded)
            writer.shows_as(table.projected_types)
            writers.append(writer)
        self.notes_left_out += [(f"{table.path}: {note}", why) for note, why in written.left_out]
        if table.taken_apart:
            self.remarks.append((table.path, f"objects become columns of their members: {table.taken_apart}"))
        self._tables[table.path] = table, writers

    def _name_of(self, table: InputTable, number: int, *, is_main: bool) -> str:
        return self._renamed.get(number, table.path) if is_main else table.path

    def picks(
        self, tables: Iterable[InputTable], entries: Mapping[str, PickedEntries], main: str
    ) -> list[list[Pick]]:
        """Return what mergers of all outputs are to copy of an input as its bytes are.

        entries: by the paths of tables; main: the path of the skimmed one.
        """
        picked = [table for table in tables if table.path in entries]
        return [
            [
                table.picked(
                    self._name_of(table, number, is_main=table.path == main), entries[table.path].of(number)
                )
                for table in picked
            ]
            for number in range(len(self._files))
        ]

    def count_picked(self, entries: Mapping[str, PickedEntries]) -> None:
        """Count entries of tables of an input that were copied as their bytes are."""
        for path, found in entries.items():
            for number, written in enumerate(self._picked[path][1]):
                written.num_entries += length_of(found.of(number))

    def annotate(self, annotation: Annotation) -> None:
        """Keep rows of an attribute set of a table whose entries of an input were written."""
        path, name, rows, output = annotation
        for number, first_entry in enumerate(self._first_entries[path]):
            if output in (None, number):
                self._ranges.append((path, name, number, moved(rows, first_entry)))

    def _write_ranges(self) -> None:
        """Write the attribute sets."""
        sets: dict[tuple[str, str, int], AttributeWriter] = {}
        for path, name, number, rows in self._ranges:
            writer = sets.get((path, name, number))
            if writer is None:
                values = pa.schema(list(rows.schema)[len(RANGE_COLUMNS) :])
                writer = sets[path, name, number] = self._tables[path][1][number].attributes(name, values)
            writer.append(rows)

    def add(self, portion: Portion, batch: pa.RecordBatch) -> None:
        """Write the entries of a portion, whose table was begun."""
        first, writers = self._tables[portion.table.path]
        if batch.schema.names != first.schema.names:
            batch = batch.select(first.schema.names)
        for number, writer in enumerate(writers):
            if portion.output in (None, number):
                writer.append(batch)

    def spans(self, table: InputTable) -> list[Span]:
        """Return the clusters of a table that was begun which can be copied packed."""
        if self._style.is_said or not table.is_as_stored or table.path not in self._tables:
            return []
        return [(start, end) for start, end, _ in self._packed_of(table)[0].spans()]

    def _packed_of(self, table: InputTable) -> list[_native.Packed]:
        tree, packed = self._packed.get(table.path, (None, []))
        if tree is not table.tree:
            packed = [writer.packed_of(table.tree) for writer in self._tables[table.path][1]]
            self._packed[table.path] = table.tree, packed
        return packed

    def add_span(self, portion: Portion, span: Span, options: Options) -> None:
        """Copy a cluster packed; where so few entries wait before it that they go with it, write it anew."""
        _, writers = self._tables[portion.table.path]
        packed = self._packed_of(portion.table)
        for number, writer in enumerate(writers):
            if portion.output not in (None, number):
                continue
            if not writer.append_packed(packed[number], span[0], span[1] - span[0]):
                for batch in portion.table.batches(span, options):
                    self.add(portion._replace(output=number), batch)

    def end_input(self) -> None:
        """Let go of the input that was read."""
        self._packed.clear()

    def mergers(self, rules: Mapping[str, str]) -> list[_native.Merger]:
        """Return what merges objects into each output. Raises: InvalidRequestError for rules that are none."""
        return [file.merger(rules, repack=self._style.has_codec_of_objects) for file in self._files]

    def complete(self) -> list[WrittenFile]:
        """Complete all files, which can be read at another path until they are published."""
        self._write_ranges()
        found = []
        for number, file in enumerate(self._files):
            tables = {path: (w[number].path, first.schema) for path, (first, w) in self._tables.items()}
            tables |= {path: (w[number].path, first.schema) for path, (first, w) in self._picked.items()}
            found.append(WrittenFile(file.path, file.complete(), tables))
        return found

    def publish(self) -> list[int]:
        """Put the files, which are complete, into their places; return their sizes in bytes. Any error leaves none."""
        for file in self._files:
            file.close()
        return [Path(file.path).stat().st_size for file in self._files]

    def abort(self) -> None:
        """Give all of them up."""
        for file in self._files:
            file.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Outputs that were published stay.
        self.abort()
