"""Events by their ids, (run, lumi, event): found in a tree's own columns, or in an index that was made of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack, contextmanager
from itertools import groupby
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from arrowroot._arguments import takes
from arrowroot._errors import (
    CorruptFileError,
    InvalidRequestError,
    MissingEventsError,
    MissingEventsWarning,
    NoSuchColumnError,
    NoSuchFileError,
    StorageError,
    warn,
)
from arrowroot._render import printable, shown
from arrowroot._select.columns import id_names
from arrowroot._select.ids import SortedIds, blocks
from arrowroot._select.indexed import IndexedFile, checked_text
from arrowroot._sizes import counted, format_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Literal

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    import pyarrow.parquet as pq

    from arrowroot._select.ids import Integers

    #: The ids of one event, as many as there are columns of them.
    Id: TypeAlias = tuple[int, ...]
    Missing = Literal["error", "warn", "ignore"]

#: Columns that hold the ids, by what writes them: NanoAOD, CMS and ATLAS n-tuples, xAOD.
USUAL_COLUMNS: tuple[tuple[str, ...], ...] = (
    ("run", "luminosityBlock", "event"),
    ("run", "lumi", "event"),
    ("runNumber", "lumiBlock", "eventNumber"),
    ("RunNumber", "lbn", "EventNumber"),
    ("EventInfoAuxDyn.runNumber", "EventInfoAuxDyn.lumiBlock", "EventInfoAuxDyn.eventNumber"),
    ("EventInfoAux.runNumber", "EventInfoAux.lumiBlock", "EventInfoAux.eventNumber"),
    ("run", "event"),
    ("runNumber", "eventNumber"),
    ("RunNumber", "EventNumber"),
    ("EventInfoAuxDyn.runNumber", "EventInfoAuxDyn.eventNumber"),
    ("EventInfoAux.runNumber", "EventInfoAux.eventNumber"),
)
#: The metadata of an index.
INDEX_FORM = "arrowroot.index/1"
METADATA_KEY = b"arrowroot.index"
#: The column of an index that has the number of each entry.
ENTRY = "entry"
_N_QUOTED = 5
#: Rows of an index that are looked at together.
_BATCH_ROWS = 1 << 16


@contextmanager
def damage_told(path: str) -> Iterator[None]:
    """Name an index in the errors of what reads Parquet: a CorruptFileError if it is damaged, else a StorageError."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise NoSuchFileError(f"{path}: there is no such index; arrowroot index makes one") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        what = str(error).split("\n", 1)[0][:200]
        # pyarrow raises OSErrors without a number where there is damage.
        if getattr(error, "errno", None) is not None:
            raise StorageError(f"{path}: {what}") from None
        raise CorruptFileError(f"{path}: no index of arrowroot, or a damaged one: {what}") from None


class Member(Protocol):
    """A tree that events are looked for in, with its index in a row of trees."""

    @property
    def url(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def num_entries(self) -> int: ...
    @property
    def first_entry(self) -> int: ...
    @property
    def identity(self) -> tuple[int, str]:
        """Size in bytes and UUID of the file."""


class OnlyTree(NamedTuple):
    """A tree as the only one in a row."""

    url: str
    path: str
    num_entries: int
    identity: tuple[int, str]
    first_entry: int = 0


def place_of(url: str) -> str:
    """Return the place of a file that does not depend on the working directory: an absolute path, or the URL."""
    return url if "://" in url else os.path.abspath(url)  # noqa: PTH100 - text


class FoundEvents(NamedTuple):
    """Where events were found: the index of each in the list of ids, the number of its tree, and its entry there."""

    indices: npt.NDArray[np.int64]
    trees: npt.NDArray[np.int64]
    entries: npt.NDArray[np.int64]

    def where(self, kept: npt.NDArray[np.bool_]) -> FoundEvents:
        """Return some of them."""
        return FoundEvents(self.indices[kept], self.trees[kept], self.entries[kept])

    def order(self) -> npt.NDArray[np.int64]:
        """Return what brings them into the order of the list."""
        import numpy as np

        return np.lexsort((self.entries, self.indices))

    def in_order(self) -> npt.NDArray[np.int64]:
        """Return the entries in the order of the list."""
        return self.entries[self.order()]


class EventList:
    """Events to read, by their ids; given as ``entries`` of a scan.

    They are delivered in the order of the list. One that is several times in the data comes so often.

        >>> wanted = ar.EventList([(1, 1, 7), (1, 1, 3)], missing="warn")
        >>> tree.to_arrow(["event", "MET_pt"], entries=wanted)["event"].to_pylist()
        [7, 3]
    """

    @takes()
    def __init__(
        self,
        ids: Iterable[Sequence[int]] | npt.NDArray[Any] | pa.Table,
        columns: Iterable[str] | None = None,
        *,
        index: EventIndex | str | os.PathLike[str] | None = None,
        missing: Missing = "error",
    ) -> None:
        """Take ids, as [(run, lumi, event), ...], an array of shape (n_events, n_columns), or a table of columns.

        ids: a table is one of pyarrow, pandas or Polars, or whatever else is an Arrow stream.
        columns: which hold them, in this order; None: those of the table, or the usual ones that the tree has.
        index: made by ``arrowroot index``; the columns of the ids are then not read.
        missing: what to do about events that are not there: "error" raises MissingEventsError, which has their
            ids, "warn" gives a MissingEventsWarning, "ignore" leaves them out.

        Raises: InvalidRequestError for ids that are not as many integers as there are columns.
        """
        if missing not in ("error", "warn", "ignore"):
            raise InvalidRequestError(f"missing: expected 'error', 'warn' or 'ignore', got {shown(missing)}")
        self.columns = None if columns is None else id_names(columns, "columns")
        if _is_table(ids):
            self.columns, self.sorted = _ids_of_table(ids, self.columns)
        else:
            self.sorted = _sorted(ids, self.columns)
        if not isinstance(index, str | os.PathLike | EventIndex | None):
            raise InvalidRequestError(f"index: expected the path of an index, got {index!r}")
        self.index = EventIndex(index) if isinstance(index, str | os.PathLike) else index
        self._missing = missing

    def __len__(self) -> int:
        """Return the number of events in the list."""
        return len(self.sorted)

    def __repr__(self) -> str:
        return f"<EventList of {counted(len(self), 'event')}>"

    @property
    def ids(self) -> list[Id]:
        """The ids, in the order of the list."""
        import numpy as np

        return self.sorted.listed(np.arange(len(self)))

    def columns_in(self, has: Callable[[str], bool], where: str) -> tuple[str, ...]:
        """Return the columns of the ids in a tree. Raises: NoSuchColumnError if it has none of the usual ones."""
        if self.columns is not None:
            return self.columns
        width = self.sorted.width if len(self) else 3
        for columns in USUAL_COLUMNS:
            if len(columns) == width and all(has(name) for name in columns):
                return columns
        raise NoSuchColumnError(
            f"{where}: which columns hold the ids of events? name them: columns=(...), --columns of a command",
            "event",
            [],
        )

    def found_in(self, batches: Iterable[pa.RecordBatch], columns: Sequence[str]) -> FoundEvents:
        """Find the events among the entries of a tree, from batches of their columns."""
        return self.found_in_trees(((0, batch) for batch in batches), columns)

    def found_in_trees(
        self, batches: Iterable[tuple[int, pa.RecordBatch]], columns: Sequence[str]
    ) -> FoundEvents:
        """Find the events in several trees, with their numbers there, from batches with the number of their tree."""
        return find_in(self.sorted, batches, columns)

    def found_by_index(self) -> FoundEvents:
        """Find the events by the index; the trees are numbers in its ``files``."""
        if self.index is None:
            raise InvalidRequestError("events: there is no index")
        return self.index.find_sorted(self.sorted)

    def found_among(self, members: Sequence[Member]) -> FoundEvents:
        """Find the events by the index in trees in a row, with the numbers that their entries have there.

        Raises: InvalidRequestError for a tree that is not in the index, or has changed since.
        """
        import numpy as np

        if self.index is None:
            raise InvalidRequestError("events: there is no index")
        found = self.found_by_index()
        numbers = {(file.url, file.tree): number for number, file in enumerate(self.index.files)}
        parts = []
        for member in members:
            number = numbers.get((place_of(member.url), member.path))
            if number is None:
                raise InvalidRequestError(
                    f"{self.index.path}: does not have {member.url}:{member.path}; arrowroot index adds it"
                )
            if not self.index.files[number].is_same(*member.identity, member.num_entries):
                raise InvalidRequestError(
                    f"{member.url}: has changed since the index {self.index.path} was made; run arrowroot index again"
                )
            here = found.trees == number
            parts.append((found.indices[here], found.entries[here] + member.first_entry))
        indices = np.concatenate([part[0] for part in parts])
        return FoundEvents(indices, np.zeros_like(indices), np.concatenate([part[1] for part in parts]))

    def refuse_others(
        self, found: FoundEvents, batches: Iterable[pa.RecordBatch], columns: Sequence[str], where: str
    ) -> None:
        """Raise CorruptFileError if the entries that the index gave have other ids than were asked for.

        batches: of the ids' columns, of the entries in the order of the list.
        """
        import numpy as np

        order = found.order()
        entries = found.entries[order]
        expected = self.sorted.at(found.indices[order])
        done = 0
        for batch in batches:
            arrays = [integers(batch.column(name), name) for name in columns]
            here = slice(done, done + batch.num_rows)
            wrong = [array != numbers[here] for array, numbers in zip(arrays, expected, strict=True)]
            if len(rows := np.flatnonzero(np.logical_or.reduce(wrong))):
                row = int(rows[0])
                index = self.index.path if self.index else ""
                ids = tuple(int(array[row]) for array in arrays)
                wanted = tuple(int(numbers[here][row]) for numbers in expected)
                raise CorruptFileError(
                    f"{index}: gives entry {entries[here][row]} of {where} for {wanted}, which is {ids}; remove the "
                    "index and make it again by arrowroot index"
                )
            done += batch.num_rows

    def entries(self, found: FoundEvents, where: str) -> npt.NDArray[np.int64]:
        """Return the entries in the order of the list, and report what is missing.

        Raises: MissingEventsError.
        """
        import numpy as np

        is_found = np.zeros(len(self), dtype=np.bool_)
        is_found[found.indices] = True
        self.report_missing(is_found, where)
        return found.in_order()

    def report_missing(self, is_found: npt.NDArray[np.bool_], where: str) -> list[Id]:
        """Report the events of the list that were not found, as ``missing`` says, and return their ids.

        Raises: MissingEventsError.
        """
        import numpy as np

        ids = self.sorted.listed(np.flatnonzero(~is_found))
        if ids and self._missing != "ignore":
            quoted = ", ".join(map(str, ids[:_N_QUOTED])) + (", ..." if len(ids) > _N_QUOTED else "")
            of = counted(len(self), "event")
            text = f"{where}: {format_count(len(ids))} of {of} {'is' if len(ids) == 1 else 'are'} not there: {quoted}"
            if self._missing == "error":
                raise MissingEventsError(text, ids)
            warn(text, MissingEventsWarning)
        return ids


def _is_table(ids: Any) -> bool:
    """Return whether ids come as columns: NumPy's arrays and lists come as rows."""
    return hasattr(ids, "__arrow_c_stream__") or hasattr(ids, "__arrow_c_array__")


def _ids_of_table(table: Any, columns: tuple[str, ...] | None) -> tuple[tuple[str, ...], SortedIds]:
    """Return the columns that hold the ids, and the ids."""
    import pyarrow as pa

    try:
        found = pa.table(table)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidRequestError(
            f"events: expected a table of ids, got a {type(table).__name__}: {error}"
        ) from None
    # pandas gives its index such a name, unless it is a mere count.
    named = [name for name in found.column_names if not name.startswith("__index_level_")]
    columns = columns or id_names(named, "events")
    for name in columns:
        if name not in found.column_names:
            raise InvalidRequestError(
                f"events: the table of ids has no column {name!r}, only {found.column_names}"
            )
    batches = found.select(columns).to_batches(_BATCH_ROWS)
    chunks = ([integers(batch.column(name), name) for name in columns] for batch in batches)
    return columns, SortedIds(chunks, found.num_rows, len(columns))


def _sorted(ids: Any, columns: tuple[str, ...] | None) -> SortedIds:
    """Return ids that come as rows. ``columns``: of which they have a number each; None: all have as many."""
    import numpy as np

    if isinstance(ids, str | os.PathLike):
        read = f'numpy.loadtxt({os.fspath(ids)!r}, "int64", delimiter=":")'
        raise InvalidRequestError(f"events: expected ids, got {shown(ids)}: those of a text are {read}")
    if not isinstance(ids, Iterable):
        raise InvalidRequestError(f"events: expected ids as [(run, lumi, event), ...], got {shown(ids)}")
    if isinstance(ids, np.ndarray) and ids.ndim == 2 and ids.dtype.kind in "iu":
        _check_widths({ids.shape[1]} if len(ids) else set(), columns)
        return SortedIds([list(ids.T)] if ids.size else [], len(ids), ids.shape[1])
    rows = [_checked(one) for one in ids]
    width = _check_widths(set(map(len, rows)), columns)
    # No column has such numbers: they are there to be reported.
    apart = {
        index: row
        for index, row in enumerate(rows)
        if not all(-1 << 63 <= number < 1 << 64 for number in row)
    }
    kept = [row for index, row in enumerate(rows) if index not in apart] if apart else rows
    # The files say whether a column is signed: numbers of both kinds may be in one list.
    chunks = [
        [np.array(numbers, dtype=kind) for numbers, kind in zip(zip(*chunk, strict=True), kinds, strict=True)]
        for kinds, chunk in groupby(
            kept, lambda row: [np.uint64 if number >= 1 << 63 else np.int64 for number in row]
        )
    ]
    return SortedIds(chunks if width else [], len(kept), width, apart)


def _check_widths(widths: set[int], columns: tuple[str, ...] | None) -> int:
    """Return how many numbers ids have, 0 if there are none. Raises: InvalidRequestError if they differ."""
    widths = widths if columns is None else {*widths, len(columns)}
    if len(widths) > 1:
        raise InvalidRequestError(f"events: ids of {' and '.join(map(str, sorted(widths)))} numbers")
    return max(widths, default=0)


def _checked(one: Sequence[int]) -> Id:
    import operator

    try:
        return tuple(operator.index(number) for number in one)
    except TypeError:
        raise InvalidRequestError(f"events: expected ids as (run, lumi, event), got {shown(one)}") from None


def find_in(
    ids: SortedIds,
    batches: Iterable[tuple[int, pa.RecordBatch]],
    columns: Sequence[str],
    *,
    has_entries: bool = False,
) -> FoundEvents:
    """Look for ids in batches, each with the number of its tree. The batches of one tree follow each other.

    has_entries: batches have the numbers of their entries, as some are not there.
    """
    import numpy as np

    nothing = np.zeros(0, dtype=np.int64)
    indices, trees, entries = [nothing], [nothing], [nothing]
    tree_before, done = -1, 0
    for tree, batch in batches:
        if tree != tree_before:
            tree_before, done = tree, 0
        for first, block in blocks([integers(batch.column(name), name) for name in columns]):
            rows, found = ids.indices(ids.find(block))
            indices.append(found)
            trees.append(np.full(len(rows), tree, dtype=np.int64))
            if has_entries:
                numbers = integers(batch.column(ENTRY), ENTRY).astype(np.int64)
                entries.append(numbers[rows + first])
            else:
                entries.append(rows + done + first)
        done += batch.num_rows
    return FoundEvents(np.concatenate(indices), np.concatenate(trees), np.concatenate(entries))


def integers(array: pa.Array, name: str, what: str = "events") -> Integers:
    """Return a column of ids as NumPy has it. Raises: InvalidRequestError, naming ``what``, for other types."""
    import pyarrow as pa

    from arrowroot._arrow import arrays as _arrays

    if not pa.types.is_integer(array.type) or array.null_count:
        raise InvalidRequestError(
            f"{what}: column {name!r} has type {array.type}; ids are integers without nulls"
        )
    return _arrays.to_numpy(array)


class EventIndex:
    """The ids of all events of many trees, in a Parquet file that ``arrowroot index`` has made.

    >>> events = ar.index("events.root", "index.parquet").events
    >>> ar.scan("events.root", columns=["MET_pt"], entries=ar.EventList([(1, 1, 7)], index=events)).to_arrow().num_rows
    1
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the index. It is read once to compare it with its checksum; only its description is kept.

        One that is made again is described anew when events are looked for in it.

        Raises: NoSuchFileError, StorageError; CorruptFileError if it is not as ``arrowroot index`` wrote it.
        """
        self.path = os.fspath(path)
        #: The file that is described: device, number, size in bytes, time of its last change in ns.
        self._described: tuple[int, int, int, int] | None = None
        with self._opened():
            pass

    @contextmanager
    def _opened(self) -> Iterator[pq.ParquetFile]:
        """Open the file for as long as it is read. One that was made again meanwhile is described anew."""
        import pyarrow.parquet as pq

        with damage_told(self.path), ExitStack() as stack:
            # One open file is checked, described and read, whatever takes its place meanwhile.
            file = stack.enter_context(open(self.path, "rb"))  # noqa: PTH123 - text
            status = os.fstat(file.fileno())
            identity = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
            if identity != self._described:
                self._refuse_damage(file)
            parquet = stack.enter_context(pq.ParquetFile(file))
            if identity != self._described:
                self._describe(parquet.metadata)
                self._described = identity
            yield parquet

    def _refuse_damage(self, file: IO[bytes]) -> None:
        """Raise CorruptFileError if the file is not as it was written: a reader of Parquet may crash on damage."""
        from arrowroot._saving import checksum

        is_whole = checksum.is_whole(file)
        if not is_whole:
            what = "has no checksum" if is_whole is None else "does not fit its checksum"
            raise CorruptFileError(
                f"{self.path}: no index of arrowroot, or a damaged one: it {what}; if it was an index, remove it and "
                "make it again by arrowroot index"
            )

    def _describe(self, metadata: pq.FileMetaData) -> None:
        """Take what the file says of itself. Raises: CorruptFileError."""
        import json

        try:
            document = json.loads((metadata.metadata or {}).get(METADATA_KEY) or "")
            form = checked_text(document["form"])
            columns = tuple(checked_text(name) for name in document["columns"])
            files = [IndexedFile(**file).checked() for file in document["files"]]
            mask = document.get("lumi_mask")
            mask = None if mask is None else checked_text(mask)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise CorruptFileError(
                f"{self.path}: no index of arrowroot: make one by arrowroot index"
            ) from None
        if form != INDEX_FORM:
            raise CorruptFileError(f"{self.path}: an index of the form {form[:100]!r}, not {INDEX_FORM!r}")
        paths = Counter(metadata.schema.column(index).path for index in range(metadata.num_columns))
        if any(paths[name] != 1 for name in columns) or len(set(columns)) != len(columns):
            raise CorruptFileError(f"{self.path}: it does not have each of its columns once")
        first = 0
        for file in files:
            if file.first_row_group != first:
                raise CorruptFileError(f"{self.path}: its description does not fit its row groups")
            first += file.n_row_groups
        if first != metadata.num_row_groups:
            raise CorruptFileError(
                f"{self.path}: its description does not fit its {metadata.num_row_groups} row groups"
            )
        if mask is None and sum(file.num_entries for file in files) != metadata.num_rows:
            raise CorruptFileError(
                f"{self.path}: its description does not fit its {format_count(metadata.num_rows)} rows"
            )
        self.columns, self.files = columns, files
        #: A digest of the list of good runs whose events are here alone; None: all events are.
        self.lumi_mask: str | None = mask
        self.num_entries: int = metadata.num_rows

    def __len__(self) -> int:
        """Return the number of events."""
        return self.num_entries

    def __repr__(self) -> str:
        return (
            f"<EventIndex {printable(self.path)}: {counted(self.num_entries, 'event')} in "
            f"{counted(len(self.files), 'tree')}, by {printable(', '.join(self.columns))}>"
        )

    def find(self, ids: Sequence[Id]) -> FoundEvents:
        """Find events. Row groups that can have none of them are not read.

        Raises: InvalidRequestError for ids of other columns.

            >>> index = ar.EventIndex("index.parquet")
            >>> index.find([(1, 1, 7)])
            FoundEvents(indices=array([0]), trees=array([0]), entries=array([7]))
        """
        return self.find_sorted(_sorted(ids, None))

    def find_sorted(self, ids: SortedIds) -> FoundEvents:
        """Find events as :meth:`find` does."""
        with self._opened() as file:
            if len(ids) and ids.width != len(self.columns):
                raise InvalidRequestError(
                    f"{self.path}: has the columns {', '.join(self.columns)}, but ids have {ids.width} numbers"
                )
            found = find_in(
                ids, self._batches(file, ids), self.columns, has_entries=self.lumi_mask is not None
            )
        if self.lumi_mask is not None:
            self._refuse_beyond(found)
        return found

    def _refuse_beyond(self, found: FoundEvents) -> None:
        """Raise CorruptFileError if a tree has no such entry as a row says."""
        import numpy as np

        ends = np.array([file.num_entries for file in self.files], dtype=np.int64)
        if np.any((found.entries < 0) | (found.entries >= ends[found.trees])):
            raise CorruptFileError(f"{self.path}: has entries that its trees do not have")

    def _batches(self, file: pq.ParquetFile, ids: SortedIds) -> Iterator[tuple[int, pa.RecordBatch]]:
        import pyarrow as pa

        columns = self.columns if self.lumi_mask is None else (*self.columns, ENTRY)
        for number, one in enumerate(self.files):
            for group in range(one.first_row_group, one.first_row_group + one.n_row_groups):
                metadata = file.metadata.row_group(group)
                if _may_hold(metadata, file.metadata.schema, ids, self.columns):
                    for batch in batches_of_group(file, group, columns, self.path):
                        yield number, batch
                else:
                    # The rows still count: those behind them keep their numbers.
                    none = {name: pa.array([], pa.int64()) for name in columns}
                    yield number, _Skipped(metadata.num_rows, none)


def batches_of_group(
    file: pq.ParquetFile, group: int, columns: Sequence[str], path: str
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a row group, whatever that holds, in small batches: a small file may have many rows.

    Raises: CorruptFileError if a column is not there, with ``path``; what reading raises (:func:`damage_told`).
    """
    for batch in file.iter_batches(_BATCH_ROWS, row_groups=[group], columns=list(columns)):
        if sorted(batch.schema.names) != sorted(columns):
            raise CorruptFileError(f"{path}: it does not have each of its columns once")
        yield batch


class _Skipped(NamedTuple):
    """A batch whose values are not needed."""

    num_rows: int
    columns: dict[str, Any]

    def column(self, name: str) -> Any:
        return self.columns[name]


def _may_hold(metadata: Any, schema: Any, ids: SortedIds, columns: Sequence[str]) -> bool:
    """Return whether a row group may have one of the ids: its least and greatest values of each column tell."""
    for index in range(metadata.num_columns):
        chunk = metadata.column(index)
        # pyarrow ends the process at statistics of another type than the column's.
        is_sound = chunk.physical_type == schema.column(index).physical_type
        statistics = chunk.statistics if is_sound else None
        if chunk.path_in_schema not in columns or statistics is None or not statistics.has_min_max:
            continue
        column = list(columns).index(chunk.path_in_schema)
        if not ids.may_be_between(column, statistics.min, statistics.max):
            return False
    return True
