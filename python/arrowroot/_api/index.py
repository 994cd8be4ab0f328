"""Makes an index of events, in pieces that survive an interruption. Only files that changed are read again."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._api.chain import Chain
from arrowroot._api.opened import opened_row, opened_trees
from arrowroot._api.tree import Tree
from arrowroot._arguments import refuse_swapped, takes
from arrowroot._errors import (
    ArrowrootError,
    InvalidRequestError,
    SchemaMismatchError,
    StorageError,
)
from arrowroot._options import MEMORY_BUDGET, Options
from arrowroot._render import shown
from arrowroot._saving import checksum
from arrowroot._saving.lock import held
from arrowroot._saving.replacing import is_special, put
from arrowroot._select.columns import id_names
from arrowroot._select.events import (
    ENTRY,
    INDEX_FORM,
    METADATA_KEY,
    EventIndex,
    EventList,
    batches_of_group,
    damage_told,
    place_of,
)
from arrowroot._select.indexed import IndexedFile
from arrowroot._select.lumi import LumiMask
from arrowroot._storage.config import StorageOptions, redacted
from arrowroot._storage.filesets import fileset
from arrowroot._storage.url import split_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from typing_extensions import Self, Unpack

    from arrowroot._options import Strings
    from arrowroot._select.columns import Columns, NameFilter
    from arrowroot._select.events import Missing
    from arrowroot._select.lumi import LumiMaskLike
    from arrowroot._storage.url import Location

_GROUP_ROWS = 1_000_000
#: Columns of an index beside the ids: the numbers of tree and entry.
_OWN_COLUMNS = frozenset({"tree", ENTRY})


class Indexed(NamedTuple):
    """The result of making an index.

    >>> found = ar.index("events.root", "index.parquet")
    >>> len(found.events), found.n_read + found.n_reused
    (100, 1)
    """

    events: EventIndex
    #: Trees whose events were there before, and those that were read.
    n_reused: int
    n_read: int


@takes(StorageOptions.__annotations__, unlisted=StorageOptions.__annotations__)
def index(
    paths: Location | Iterable[Location],
    output: str | os.PathLike[str],
    tree: str | None = None,
    columns: Sequence[str] | None = None,
    *,
    lumi_mask: LumiMaskLike | None = None,
    progress: Callable[[int, int, str], None] | None = None,
    **storage: Unpack[StorageOptions],
) -> Indexed:
    """Write an index of the events of many trees to a Parquet file, for :class:`EventList` and :func:`pick`.

    paths, tree: as for ``arrowroot.scan``.
    columns: that hold the ids; None: the usual ones of the first tree, or those of the index that is there.
    lumi_mask: a list of good runs, as for :meth:`Tree.scan`: other events are not in the index.
    progress: called with the number of trees done, of all, and the next file.

    Rows of an index that is at ``output`` already are kept for files of the same size, UUID and number of entries,
    and the same good runs; local ones that have not been touched since are not even opened. Each file is kept in the
    directory "OUTPUT.parts" as soon as it is read, and taken from there if the making is begun again. The index
    itself is replaced at the end, at once. One process at a time makes an index; one that is killed holds up nobody.

    Raises: what ``open`` and ``scan`` raise; SchemaMismatchError if the ids have other types in another file;
    InvalidRequestError if ``output`` is a pipe or a device;
    StorageError, which names the process, if another one is making this index.

        >>> ar.index("run*.root", "runs.parquet").events
        <EventIndex runs.parquet: 200 events in 2 trees, by run, luminosityBlock, event>
    """
    refuse_swapped("index", output, paths)
    if not isinstance(output, str | os.PathLike):
        raise InvalidRequestError(f"index: expected the path of a Parquet file to write, got {shown(output)}")
    target = Path(output)
    if is_special(str(target)):
        raise InvalidRequestError(
            f"{target}: no regular file: an index is put into its place when it is whole"
        )
    parts = Path(f"{target}.parts")
    files = fileset(paths, tree).files
    mask = None if lumi_mask is None else LumiMask.of(lumi_mask)
    with held(parts, f"making {target}"):
        before = _Before(target, parts, None if columns is None else id_names(columns, "columns"), mask)
        return _make(target, before, files, progress, storage)


def _make(
    target: Path,
    before: _Before,
    files: list[tuple[str, str | None]],
    progress: Callable[[int, int, str], None] | None,
    storage: StorageOptions,
) -> Indexed:
    parts = before.parts
    pieces: list[_TreeEvents] = []
    n_read = 0
    there = [before.untouched(*files[0])]
    waiting = opened_trees(files[:1], storage)
    for number, (location, _) in enumerate(files):
        if progress:
            progress(number, len(files), redacted(location))
        if number == 1:
            # The first file says which tree is meant, and which columns. The others are opened ahead.
            files = [(other, name or pieces[0].file.tree) for other, name in files]
            there += [before.untouched(*file) for file in files[1:]]
            missing = [file for file, piece in zip(files[1:], there[1:], strict=True) if piece is None]
            waiting = opened_trees(missing, storage)
        piece = there[number]
        if piece is None:
            opened = next(waiting)
            known = IndexedFile(
                place_of(opened.url),
                opened.path,
                opened.tree.num_entries,
                *opened.tree.file_identity,
                _mtime(opened.url),
            )
            piece = before.same(known)
            if piece is None:
                chosen = before.columns or EventList([]).columns_in(
                    opened.tree.has_branch, opened.tree.location
                )
                piece = _write_piece(parts, opened.tree, known, chosen, before.mask)
                n_read += 1
        before.columns = piece.columns
        pieces.append(piece)
    _join(target, parts, pieces, before.mask)
    for path in [*parts.glob("*.parquet"), *parts.glob("*.new")]:
        path.unlink()
    return Indexed(EventIndex(target), len(pieces) - n_read, n_read)


class _TreeEvents(NamedTuple):
    """The events of one tree, in a Parquet file."""

    path: str
    columns: tuple[str, ...]
    file: IndexedFile


class _Before:
    """The pieces of an index that was made, or begun, before."""

    def __init__(
        self, target: Path, parts: Path, columns: tuple[str, ...] | None, mask: LumiMask | None
    ) -> None:
        self.parts = parts
        self.columns = columns
        self.mask = mask
        wanted = None if mask is None else mask.digest
        self._pieces: dict[tuple[str, str], _TreeEvents] = {}
        for path in [target, *parts.glob("*.parquet")]:
            if not path.exists():
                continue
            try:
                found = EventIndex(path)
            except ArrowrootError:
                if path == target:
                    raise  # whatever it is, it is not ours to replace
                continue
            if path == target and self.columns is None:
                self.columns = found.columns
            if found.lumi_mask != wanted:
                continue
            self._pieces |= {(f.url, f.tree): _TreeEvents(str(path), found.columns, f) for f in found.files}

    def _usable(self, piece: _TreeEvents) -> bool:
        return self.columns is None or piece.columns == self.columns

    def untouched(self, location: str, tree: str | None) -> _TreeEvents | None:
        """Return the piece of a local file that has not changed, without opening it; None: there is none."""
        url = place_of(split_options(location)[0])
        if "://" in url:
            return None
        try:
            status = os.stat(url)  # noqa: PTH116 - text, perhaps of bytes that are no UTF-8
        except OSError:
            return None
        now = (status.st_size, status.st_mtime_ns)
        same = [
            piece
            for (place, name), piece in self._pieces.items()
            if place == url and tree in (None, name) and (piece.file.size_bytes, piece.file.mtime_ns) == now
        ]
        return same[0] if len(same) == 1 and self._usable(same[0]) else None

    def same(self, known: IndexedFile) -> _TreeEvents | None:
        """Return the piece of a file that was opened, if it has the same identity."""
        piece = self._pieces.get((known.url, known.tree))
        if piece is None or not self._usable(piece):
            return None
        if not piece.file.is_same(known.size_bytes, known.uuid, known.num_entries):
            return None
        # Only the time of its last change tells a file without a UUID from another.
        if not known.uuid and piece.file.mtime_ns != known.mtime_ns:
            return None
        return piece._replace(file=piece.file._replace(mtime_ns=known.mtime_ns))


def _mtime(url: str) -> int | None:
    try:
        return None if "://" in url else os.stat(url).st_mtime_ns  # noqa: PTH116 - text
    except OSError as error:
        raise StorageError(f"{url}: {error.strerror}") from error


def _write_piece(
    parts: Path, tree: Tree, known: IndexedFile, columns: tuple[str, ...], mask: LumiMask | None
) -> _TreeEvents:
    """Read the ids of a tree and write them as an index of one tree, whole or not at all."""
    import pyarrow as pa

    if own := _OWN_COLUMNS.intersection(columns):
        raise InvalidRequestError(
            f"{tree.location}: an index has a column {min(own)!r} of its own, so that it cannot hold ids; look for "
            "these events without an index: EventList(ids, columns)"
        )
    chain = Chain(tree)
    masked: dict[str, Any] = {} if mask is None else {"lumi_mask": mask, "origin": ENTRY}
    scan = chain.scan(chain.id_paths(columns), masked)
    fields = [field.with_name(name) for name, field in zip(columns, scan.schema, strict=mask is None)]
    wrong = next((field for field in fields if not pa.types.is_integer(field.type)), None)
    if wrong is not None:
        raise InvalidRequestError(
            f"{tree.location}: column {wrong.name!r} has type {wrong.type}; ids are integers"
        )
    name = hashlib.sha256(f"{known.url}\n{known.tree}".encode("utf-8", "surrogateescape")).hexdigest()[:32]
    path = parts / f"{name}.parquet"
    with _Writer(path, parts, pa.schema(fields), mask) as writer:
        batches = (pa.record_batch(batch.columns, names=writer.delivered) for batch in scan)
        file = writer.add(known, batches)
    return _TreeEvents(str(path), columns, file)


def _join(target: Path, parts: Path, pieces: Sequence[_TreeEvents], mask: LumiMask | None) -> None:
    """Write the index from its pieces."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = list(pieces[0].columns)
    with damage_told(pieces[0].path), pq.ParquetFile(pieces[0].path) as first:
        schema = pa.schema([first.schema_arrow.field(name) for name in columns])
    with _Writer(target, parts, schema, mask) as writer:
        for piece in pieces:
            with damage_told(piece.path), pq.ParquetFile(piece.path) as file:
                groups = range(
                    piece.file.first_row_group, piece.file.first_row_group + piece.file.n_row_groups
                )
                found = pa.schema([file.schema_arrow.field(name) for name in columns])
                if found != schema:
                    raise SchemaMismatchError(
                        f"{piece.file.url}: the ids have the types {', '.join(map(str, found.types))}, but "
                        f"{', '.join(map(str, schema.types))} in {pieces[0].file.url}"
                    )
                names = writer.delivered
                batches = (b for group in groups for b in batches_of_group(file, group, names, piece.path))
                writer.add(piece.file, batches)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Name the file in an error of writing."""
    try:
        yield
    except OSError as error:
        what = os.strerror(error.errno) if error.errno else error
        raise StorageError(f"{path}: cannot be written: {what}") from error


class _Writer:
    """Writes an index to a file among the parts, which takes the place of the old one when it is whole."""

    def __init__(self, path: Path, parts: Path, schema: pa.Schema, mask: LumiMask | None) -> None:
        """``schema``: of the ids; ``mask``: what left entries out of the batches, which have their numbers then."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.schema = schema
        self._mask = mask
        #: The columns of the batches.
        self.delivered = schema.names if mask is None else [*schema.names, ENTRY]
        self._path = path
        self._beside = parts / f"{path.name}.new"
        self._files: list[IndexedFile] = []
        self._n_groups = 0
        # The place of a row tells its tree and entry. These columns are for those who query the file by other means.
        whole = pa.schema([pa.field("tree", pa.int32()), pa.field(ENTRY, pa.int64()), *schema])
        with _writing(self._beside):
            self._writer = pq.ParquetWriter(
                self._beside,
                whole,
                compression="zstd",
                use_dictionary=[name for name in whole.names if name != ENTRY],
                column_encoding={ENTRY: "DELTA_BINARY_PACKED"},
            )

    def add(self, known: IndexedFile, batches: Iterable[pa.RecordBatch]) -> IndexedFile:
        """Write the events of a tree, in the order of its entries."""
        import pyarrow as pa

        first_group, done = self._n_groups, 0
        waiting: list[pa.RecordBatch] = []

        def write() -> None:
            nonlocal done
            given = pa.Table.from_batches(waiting)
            waiting.clear()
            rows = pa.array(range(done, done + given.num_rows), pa.int64())
            numbers = rows if self._mask is None else given[ENTRY]
            tree = pa.array([len(self._files)] * given.num_rows, pa.int32())
            done += given.num_rows
            table = given.select(self.schema.names).cast(self.schema)
            for name, values in ((ENTRY, numbers), ("tree", tree)):
                table = table.add_column(0, name, values)
            with _writing(self._beside):
                self._writer.write_table(table, row_group_size=max(1, table.num_rows))
            self._n_groups += 1

        for batch in batches:
            waiting.append(batch)
            if sum(b.num_rows for b in waiting) >= _GROUP_ROWS:
                write()
        if waiting:
            write()
        if self._mask is None and done != known.num_entries:
            raise StorageError(
                f"{known.url}: changed while it was read: {done} entries instead of {known.num_entries}"
            )
        file = known._replace(first_row_group=first_group, n_row_groups=self._n_groups - first_group)
        self._files.append(file)
        return file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        try:
            if error is None:
                self._end()
        finally:
            # Closing writes the rest, for which a full disk has no room.
            with suppress(OSError):
                self._writer.close()
            self._beside.unlink(missing_ok=True)

    def _end(self) -> None:
        document = {
            "form": INDEX_FORM,
            "columns": self.schema.names,
            "files": [file._asdict() for file in self._files],
        }
        if self._mask is not None:
            document["lumi_mask"] = self._mask.digest
        with _writing(self._beside):
            self._writer.add_key_value_metadata({METADATA_KEY: json.dumps(document)})
            self._writer.add_key_value_metadata({checksum.KEY: checksum.PLACEHOLDER})
            self._writer.close()
            checksum.sign(self._beside)
        with _writing(self._path):
            put(self._beside, os.path.realpath(self._path))


@takes(
    StorageOptions.__annotations__, explained_by=Tree.scan.__doc__, unlisted=StorageOptions.__annotations__
)
def pick(
    index: EventIndex | str | os.PathLike[str],
    ids: Iterable[Sequence[int]] | npt.NDArray[np.integer],
    columns: Columns = None,
    *,
    filter_name: NameFilter = None,
    missing: Missing = "error",
    memory_budget: int | str = MEMORY_BUDGET,
    n_threads: int = 0,
    strings: Strings = "utf8",
    **storage: Unpack[StorageOptions],
) -> pa.Table:
    """Read events by their ids from the files that an index knows; only those that have some are opened.

    index: made by ``arrowroot index`` or :func:`index`. It names the files: their servers see credentials only if
        ``credentials_for`` names them.
    ids, missing: as for :class:`EventList`; events come in the order of ``ids``.

    Raises: MissingEventsError with the ids that are not there; InvalidRequestError for a file that has changed since
    the index was made; and what ``scan`` raises.

        >>> _ = ar.index("events.root", "index.parquet")
        >>> ar.pick("index.parquet", [(1, 1, 7), (1, 1, 3)], ["event", "MET_pt"]).to_pylist()
        [{'event': 7, 'MET_pt': 3.5}, {'event': 3, 'MET_pt': 1.5}]
    """
    import numpy as np

    events = EventList(ids, index=index, missing=missing)
    options = {
        "filter_name": filter_name,
        "entries": events,
        "memory_budget": memory_budget,
        "n_threads": n_threads,
        "strings": strings,
    }
    Options.of(options)  # before anything is opened
    known = events.index
    if known is None:
        raise InvalidRequestError("pick: which index?")
    found = events.found_by_index()
    # If no event is found, the first file tells the columns.
    touched = np.unique(found.trees).tolist() or [0]
    files = [(known.files[i].url, known.files[i].tree) for i in touched]
    return opened_row(files, storage, named_by=known.path).to_arrow(columns, options)
