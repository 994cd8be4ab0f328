"""Inputs of tables."""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from arrowroot._errors import (
    CorruptFileError,
    InvalidRequestError,
    NoSuchColumnError,
    NoSuchFileError,
    StorageError,
    UnsupportedColumnWarning,
    UnsupportedError,
    nearest_columns,
)
from arrowroot._options import batch_bytes_of
from arrowroot._render import N_QUOTED, without_secrets
from arrowroot._select.columns import Choice as ColumnChoice
from arrowroot._select.columns import Lookup, divided, without_mark
from arrowroot._skimming.carrying import ONLY_TREES, has_only_trees, holders_of_trees
from arrowroot._storage.readers import scheme_of
from arrowroot._storage.url import meant_url
from arrowroot._writing.attributes import OWN_SET
from arrowroot._writing.carried import carried
from arrowroot._writing.counters import with_counters
from arrowroot._writing.kept_types import with_types
from arrowroot._writing.location import local_path
from arrowroot._writing.schema import nullable_as_found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from arrowroot._api.file import File
    from arrowroot._api.scan import Scan
    from arrowroot._api.tree import Tree
    from arrowroot._converting.formats import NamedFile
    from arrowroot._filter.bind import Filter

#: Most entries of a batch of Parquet, which knows no sizes.
_MAX_ROWS = 1 << 16


class Choice(NamedTuple):
    """The choice of columns and entries of each table."""

    columns: list[str] | None = None
    filter: str | None = None
    entries: slice | None = None
    batch_size: str = "64 MB"
    n_threads: int = 0
    #: Columns that are computed, by their names.
    define: Mapping[str, str] | None = None


class InputTable(NamedTuple):
    """A table to read; ``batches`` may be called several times, and reads anew each time."""

    name: str
    #: Its fields are nullable where a value is missing.
    schema: pa.Schema
    #: As the input says it, where a field may be nullable and nothing be missing.
    said: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]
    #: Entries, as far as they are known.
    n_entries: int
    #: Notes that a tree records besides.
    notes: tuple[str, ...] = ()
    scan: Scan | None = None
    #: True if a filter may leave fewer entries.
    is_filtered: bool = False
    #: Columns that were meant and objects beside the table, which are not taken, and why.
    left_out: tuple[tuple[str, str], ...] = ()


class _Column(NamedTuple):
    """A column to choose from, of a file that is one table."""

    path: str
    type_name: str
    is_group: bool = False
    depth: int = 0
    is_part: bool = False
    unsupported: str | None = None

    @property
    def name(self) -> str:
        return self.path


def input_of(place: NamedFile, choice: Choice, storage: Mapping[str, Any]) -> InputTable:
    """Open an input, which has one table or names the one that is meant.

    Raises: what opening and choosing raise; UnsupportedError if nothing of it can be read.
    """
    if place.format == "root":
        return _of_root(place, choice, storage)
    file = _local(place.file)
    with _naming(file):
        return _of_parquet(file, choice) if place.format == "parquet" else _of_ipc(file, choice)


def _local(file: str) -> str:
    """Return the path of a file of Parquet or Arrow. Raises: InvalidRequestError for other stores than this machine."""
    if scheme_of(file) != "file":
        raise InvalidRequestError(
            f"{without_secrets(file)}: files of Parquet and Arrow are read on this machine; copy it first"
        )
    return local_path(file) if "://" in file else file


def _of_root(place: NamedFile, choice: Choice, storage: Mapping[str, Any]) -> InputTable:
    from arrowroot._api.opening import open as open_file

    file = open_file(place.file, **storage)
    if place.table is not None:
        name = re.sub(r";[0-9]+$", "", place.table)
        return _of_tree(_tree_of(file, place.table), choice)._replace(name=name)
    keys, trees = file.key_list(cycles=False), file.trees
    if not keys:
        raise InvalidRequestError(f"{file.url}: there is nothing in this file")
    if not trees:
        raise InvalidRequestError(f"{file.url}: a table is converted, and there is no tree in this file")
    if len(trees) > 1:
        some = ", ".join(trees[:N_QUOTED]) + ", ..." * (len(trees) > N_QUOTED)
        raise InvalidRequestError(
            f"{file.url}: one table is converted, and it has {len(trees)} trees ({some}): name the tree, as "
            f"{file.url}:{trees[0]}"
        )
    holders = holders_of_trees(file)
    left_out = [(path, ONLY_TREES) for path in holders if not has_only_trees(file[path])]
    left_out += [
        (key.path, "not a table")
        for key in keys
        if not key.is_tree and not key.is_directory and key.path not in holders
    ]
    table = _of_tree(_tree_of(file, trees[0]), choice)
    return table._replace(name=trees[0], left_out=(*left_out, *table.left_out))


def _tree_of(file: File, path: str) -> Tree:
    from arrowroot._api.tree import Tree
    from arrowroot._objects.record import kind_text

    found = file[path]
    if not isinstance(found, Tree):
        raise InvalidRequestError(
            f"{file.url}: {path!r} is {kind_text(found)}, not a tree: write arrowroot show {file.url}:{path} --json"
        )
    return found


def _of_tree(tree: Tree, choice: Choice) -> InputTable:
    with warnings.catch_warnings():
        # They are told with all else that is left out.
        warnings.simplefilter("ignore", UnsupportedColumnWarning)
        scan = tree.scan(
            choice.columns,
            filter=choice.filter,
            define=choice.define,
            entries=choice.entries,
            batch_size=choice.batch_size,
            n_threads=choice.n_threads,
        )
    _check_columns(scan.column_names, tree.location)
    computed = set(scan.column_names).difference(tree.column_names)
    stored = [text for text in choice.columns or () if text not in computed]
    left_out: list[tuple[str, str]] = []
    if stored or not choice.columns:
        selection = tree.selection(ColumnChoice.of(stored or None))
        left_out = [(path, f"{kind} is not readable yet") for path, kind in selection.left_out]
        left_out += [
            (path, "it has too few entries") for path in selection.paths if path not in scan.column_names
        ]
    schema = with_types(with_counters(scan.schema, tree), tree, scan.stored_fields())
    notes = carried(tree, schema, has_all_entries=True, has_all_trees=True)
    sets = [f"attribute set {name}" for name in tree.attribute_sets if name != OWN_SET]
    return InputTable(
        tree.path,
        schema,
        schema,
        lambda: iter(scan),
        scan.num_entries,
        (*notes.options, *(name for name, _ in notes.left_out), *sets),
        scan,
        choice.filter is not None,
        tuple((f"{tree.path}: column {path!r}", why) for path, why in left_out),
    )


def _check_columns(names: Sequence[str], where: str) -> None:
    if not names:
        raise UnsupportedError(f"{where}: it has no column that can be read")


class _Rows:
    """The chosen columns and entries of a file that is one table."""

    def __init__(
        self,
        file: str,
        schema: pa.Schema,
        n_rows: int,
        choice: Choice,
        read: Callable[[Sequence[str]], Iterator[pa.RecordBatch]],
    ) -> None:
        """``read``: reads some columns of all entries, batch by batch.

        Raises: NoSuchColumnError, FilterError, InvalidRequestError.
        """
        from arrowroot._api.outputs import outputs_of
        from arrowroot._expressions.scope import Scope
        from arrowroot._filter.bind import bind
        from arrowroot._passes.computed import computed_schema

        candidates = [_Column(field.name, str(field.type)) for field in schema]
        scope = Scope(candidates, lambda some: pa.schema([schema.field(name) for name in some]), file)
        scope.define(choice.define or {})
        self._outputs = outputs_of(
            ColumnChoice.of(choice.columns), scope, lambda stored: chosen(schema.names, stored.columns, file)
        )
        _check_columns(list(self._outputs), file)
        metadata = dict(schema.metadata or {})
        if set(self._outputs) != set(schema.names):
            metadata.pop(b"pandas", None)  # it is of all columns
        self.schema = computed_schema(schema, self._outputs, scope).with_metadata(metadata or None)
        self.range = range(n_rows)[choice.entries or slice(None)]
        if self.range.step != 1:
            raise InvalidRequestError("entries: every n-th entry is chosen of ROOT files only")
        self._read = read
        self._filter: Filter | None = None
        if choice.filter is not None:
            self._filter = bind(choice.filter, scope)

    @property
    def is_filtered(self) -> bool:
        """True if not all of its entries may be chosen."""
        return self._filter is not None

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns of the chosen entries. Raises: FilterError."""
        from arrowroot._api.outputs import Outputs
        from arrowroot._passes.computed import Computing

        condition = self._filter
        outputs = Outputs({name: self._outputs[name] for name in names})
        computing = Computing(outputs.columns, outputs.needed_where)
        schema = pa.schema([self.schema.field(name) for name in names], self.schema.metadata)
        needed = list(dict.fromkeys([*outputs.needed, *(condition.columns if condition else ())]))
        first = 0
        for batch in self._read(needed):
            start, stop = max(self.range.start - first, 0), min(self.range.stop - first, batch.num_rows)
            if start < stop:
                piece = batch.slice(start, stop - start)
                rows = np.arange(piece.num_rows)
                if condition is not None:
                    piece, rows = _filtered(piece, condition, outputs.needed, first + start)
                if len(rows):
                    yield computing.batch(piece, schema, (rows + first + start).__getitem__)
            first += batch.num_rows
            if first >= self.range.stop:
                return


def _filtered(
    batch: pa.RecordBatch, condition: Filter, names: Sequence[str], first: int
) -> tuple[pa.RecordBatch, npt.NDArray[np.int64]]:
    """Return the selected entries and their rows; ``first``: number of the first entry."""
    from arrowroot._passes.first_pass import selected_rows, taken

    rows = selected_rows(condition, batch.select(condition.columns), lambda row: first + row)
    return taken(batch.select(list(names)), rows), rows


def _of_parquet(file: str, choice: Choice) -> InputTable:
    import pyarrow.parquet as pq

    opened = pq.ParquetFile(file)
    schema, metadata = opened.schema_arrow, opened.metadata
    n_rows = metadata.num_rows
    stored = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    rows_at_once = _MAX_ROWS
    if stored and n_rows:
        rows_at_once = max(1, min(_MAX_ROWS, batch_bytes_of(choice.batch_size) * n_rows // stored))

    def read(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # Fetching ahead would keep what was fetched until the end: all of the file.
        with pq.ParquetFile(file, pre_buffer=False) as again:
            for batch in again.iter_batches(
                rows_at_once, columns=list(columns), use_threads=choice.n_threads != 1
            ):
                yield batch.select(list(columns))

    opened.close()
    return _table(file, _Rows(file, schema, n_rows, choice, read))


def _of_ipc(file: str, choice: Choice) -> InputTable:
    def reader() -> Any:
        source = pa.memory_map(file)
        try:
            return pa.ipc.open_file(source)
        except pa.ArrowInvalid:
            source.seek(0)
            return pa.ipc.open_stream(source)

    schema = reader().schema

    def read(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        again = reader()
        if hasattr(again, "num_record_batches"):
            batches = (again.get_batch(i) for i in range(again.num_record_batches))
        else:
            batches = iter(again)
        for number, batch in enumerate(batches):
            picked = batch.select(list(columns))
            _validate(picked, number)
            yield from _pieces(picked, batch_bytes_of(choice.batch_size))

    n_rows = sum(batch.num_rows for batch in read(()))
    return _table(file, _Rows(file, schema, n_rows, choice, read))


def _validate(batch: pa.RecordBatch, number: int) -> None:
    """Raise pa.ArrowInvalid for offsets, indices and texts that cannot be: pyarrow takes them as the file has them."""
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        try:
            array.validate(full=True)
        except pa.ArrowInvalid as error:
            raise pa.ArrowInvalid(f"column {name!r} of batch {number}: {error}") from error


def _pieces(batch: pa.RecordBatch, n_bytes: int) -> Iterator[pa.RecordBatch]:
    n_pieces = max(1, batch.nbytes // n_bytes)
    step = max(1, -(-batch.num_rows // n_pieces))
    for first in range(0, batch.num_rows, step):
        yield batch.slice(first, step)


def _table(file: str, rows: _Rows) -> InputTable:
    """Return the table of a file of another format: its fields are nullable where a value is missing."""
    found = nullable_as_found(rows.schema, rows.batches)

    def batches() -> Iterator[pa.RecordBatch]:
        with _naming(file):
            yield from rows.batches(rows.schema.names)

    return InputTable("", found, rows.schema, batches, len(rows.range), is_filtered=rows.is_filtered)


def chosen(names: Sequence[str], columns: Sequence[str] | None, where: str) -> list[str]:
    """Return the names that names and globs stand for, in the order of the table but for what is asked for by name.

    They mean what they mean in a tree: ``!`` leaves columns out, and a column of the very name comes before a glob.

    Raises: NoSuchColumnError, also for what is to be left out; InvalidRequestError if none is left.
    """
    if columns is None:
        return list(names)
    candidates = [_Column(name, "") for name in names]
    lookup = Lookup(candidates, [*columns, *map(without_mark, columns)])

    def meant(text: str) -> list[str]:
        found = [column.path for column in lookup.meant(text)]
        if not found:
            near = nearest_columns(text, names)
            raise NoSuchColumnError(f"{where}: no column {text!r}", text, near, known=names)
        return found

    taken, excluded = divided(candidates, columns)
    wanted = [name for text in taken for name in meant(text)] if taken else names
    unwanted = {name for text in excluded for name in meant(without_mark(text))}
    left = [name for name in dict.fromkeys(wanted) if name not in unwanted]
    if wanted and not left:
        raise InvalidRequestError(f"{where}: {', '.join(map(repr, excluded))} leaves no column")
    return left


@contextmanager
def _naming(file: str) -> Iterator[None]:
    """Turn pyarrow's errors about a file into ours, with its name."""
    try:
        yield
    except StorageError:
        raise
    except FileNotFoundError as error:
        raise NoSuchFileError(f"{file}: there is no such file{meant_url(file)}") from error
    except pa.ArrowInvalid as error:
        if hint := meant_url(file):
            raise NoSuchFileError(f"{file}: there is no such file{hint}") from error
        raise CorruptFileError(f"{file}: {error}") from error
    except OSError as error:
        raise StorageError(f"{file}: {error}") from error
