"""Contexts: places from which any number of threads fill a table."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from arrowroot._errors import InvalidRequestError, QueueFullError, QueueGrowthWarning, not_picklable, warn
from arrowroot._sizes import checked_count, format_bytes, format_seconds
from arrowroot._writing.data import parts_of
from arrowroot._writing.incoming import check_data
from arrowroot._writing.naming import naming, reraising

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import NoReturn

    from typing_extensions import Self

    from arrowroot import _native
    from arrowroot._writing.data import Part, TableData
    from arrowroot._writing.options import ProducerRule
    from arrowroot._writing.table import TableWriter

#: The queue is said to grow after so many seconds.
GROWTH_SECONDS = 10.0
_CLOSED = "the context is closed, nothing can be filled; what was filled before is kept if the file is"


class QueueState(NamedTuple):
    """The queue of a file between those who fill its tables and those who compress.

    >>> new.queue().n_waiting_clusters
    0
    """

    #: Clusters that are full and not in the file yet.
    n_waiting_clusters: int
    #: Pieces of work on them that nobody has begun.
    n_waiting_tasks: int
    #: Bytes in memory now: collected, waiting to be compressed, waiting to be written.
    bytes: int
    #: The most at one time.
    peak_bytes: int
    #: How often the queue has grown for longer than it should, and how long in all.
    n_growths: int
    growth_ns: int


def queue_state(counters: Mapping[str, int]) -> QueueState:
    """Return the state of a queue from the counters of the engine."""
    return QueueState(**{name: counters[name] for name in QueueState._fields})


class FillContext:
    """A place from which one producer at a time fills a table: ``TableWriter.context`` makes it; a context manager.

    Each thread has one of its own, and an asyncio task calls ``await asyncio.to_thread(context.fill, data)``. The
    interpreter's lock is released while it waits, converts and compresses. An exception that leaves the block of
    ``with`` spoils the file: an entry may be missing, and none is left. One that is dropped is closed.

        >>> with ar.create("new.root") as new, new.tree("t") as table:
        ...     with table.context() as context:
        ...         context.fill(data)
    """

    def __init__(
        self, table: TableWriter, file: _native.FileWriter, rule: ProducerRule, name: str | None
    ) -> None:
        """``table`` makes it."""
        self._table = table
        self._file = file
        self._rule = rule
        self._name = name
        self._native: _native.FillContext | None = None
        self._is_closed = False
        self._process = os.getpid()
        self._thread = threading.get_ident()

    def fill(self, data: TableData, first_entry: int | None = None) -> None:
        """Add entries: any kind of data that :func:`arrowroot.write` takes, in memory.

        first_entry: the number of the first of them in the table, where the order is "numbered"; numbers begin with 0,
            and each is filled once.

        Returns when they are taken, which is before they are in the file: their memory is read later, and must not
        change until the context or the table is closed. Waits for a buffer, or for room in memory,
        and compresses meanwhile; what happens then instead is said by ``full``. If it raises, nothing is taken,
        or the file is given up, as by an interruption when some was taken.

        Raises: QueueFullError where it would wait and ``full`` is "refuse"; InvalidRequestError for other columns,
            other types, missing values where none are stored, and entries that were filled before: nothing of these
            data is taken then. StorageError for a disk that is full: no file is left then.
        """
        if self._is_closed:
            raise InvalidRequestError(f"{self._table.where}: {_CLOSED}")
        if os.getpid() != self._process:
            # Before any lock, which a thread that is not in this process may have.
            raise InvalidRequestError(
                f"{self._table.where}: only the process that created a file writes it, not a child that was forked "
                "from it"
            )
        number = None if first_entry is None else checked_count(first_entry, "first_entry")
        # Now, as nothing is taken yet: who is told may raise.
        self._tell_of_growth()
        with reraising(self._table.where):
            batch = self._batch_of(data, number)
        if batch is not None:
            self._fill(batch, number)

    def _batch_of(self, data: TableData, number: int | None) -> pa.RecordBatch | None:
        """Return all of some data as one batch of the table's schema; the first data make the table.

        number: of the first of them, where entries have numbers. None: there are none, or they wait for others.
        """
        if isinstance(data, pa.RecordBatch) and self._table.takes_as_it_is(data):
            with naming(self._table.where):
                check_data(data)
            return data
        parts: list[tuple[Part, pa.Table]] = []
        entry = self._table.num_entries if number is None else number
        for one in parts_of(data, self._table.where, copied=True, is_alike=self._table.is_alike):
            given = self._table.grouped(one)
            begun = self._table.first_schema or (parts[0][0].schema if parts else None)
            part = given.in_table(begun, entry, self._table.where)
            table = part.table
            if table is None:
                table = pa.Table.from_batches(list(part.batches), part.schema)
            parts.append((part, table))
            entry += table.num_rows
        conformer = self._table.begun(parts, number)
        if conformer is None:
            return None
        first_entry = self._table.num_entries if number is None else number
        batches: list[pa.RecordBatch] = []
        for _, table in parts:
            for batch in table.to_batches():
                batches += conformer.batches(batch, first_entry)
                first_entry += batch.num_rows
        if len(batches) <= 1:
            return batches[0] if batches else None
        if any(not batch.schema.equals(batches[0].schema) for batch in batches):
            batches = [
                one for batch in batches for one in conformer.batches(batch, first_entry, exactly=True)
            ]
        combined = pa.Table.from_batches(batches).combine_chunks().to_batches()
        if len(combined) > 1:
            raise InvalidRequestError(
                f"{self._table.where}: more text or list items at once than 32 bits number: fill fewer entries"
            )
        return combined[0]

    def _fill(self, batch: pa.RecordBatch, number: int | None) -> None:
        native = self._native or self._begin()
        # Signals come to this thread alone; a call in another one need not look for them.
        takes_signals = threading.current_thread() is threading.main_thread()
        with naming(self._table.where):
            n_bytes = self._table.conformer.text_bytes(batch)
            waits = self._rule.full == "block"
            if not native.fill(batch, n_bytes, number, waits=waits, takes_signals=takes_signals):
                raise QueueFullError(
                    f"{self._table.where}: all buffers are in use, or memory is: fill again later, or give it more "
                    "buffers"
                )
        self._table.count_filled(batch.num_rows)

    def _begin(self) -> _native.FillContext:
        is_shared = threading.get_ident() != self._thread
        self._native = self._table.native_context(self._rule, self._name, is_shared=is_shared)
        return self._native

    def _tell_of_growth(self) -> None:
        """Tell once of each time that the queue has grown; without somebody to call, once of the first for the file."""
        # In a child that was forked, a thread that is not there may have the lock of the queue.
        if self._file.n_growths() <= self._table.n_growths_told or os.getpid() != self._process:
            return
        state = queue_state(self._file.queue())
        is_first = self._table.tell_of_growth(state.n_growths)
        if self._rule.on_growth is not None:
            self._rule.on_growth(state)
        elif is_first and self._table.may_warn_of_growth():
            warn(
                f"{self._table.where}: compression has not kept up for {format_seconds(state.growth_ns / 1e9)}, and "
                f"{format_bytes(state.bytes)} wait: producers will wait for it; a faster codec (compression='lz4' or "
                "'zstd:1'), more threads (n_threads) or fewer producers help",
                QueueGrowthWarning,
            )

    @contextmanager
    def waiting_for_data(self) -> Iterator[None]:
        """Tell the time of a block of ``with`` apart, in which the producer waits for its data.

        >>> with context.waiting_for_data():
        ...     more = dict(data)
        >>> context.fill(more)
        >>> context.close()
        """
        native = self._native
        if native is None and self._table.is_begun:
            native = self._begin()
        if native is None:
            # Before the first entries there is no table to have a context of.
            yield
            return
        native.mark_data(False)
        try:
            yield
        finally:
            native.mark_data(True)

    def close(self) -> None:
        """End it: its entries are the table's. Nothing happens if it is closed.

        A fill that another thread has begun goes on; the table waits for it when it is closed.
        """
        if not self._is_closed:
            self._end()
            self._tell_of_growth()

    def _end(self) -> None:
        self._is_closed = True
        if self._native is not None:
            self._native.close()

    def __enter__(self) -> Self:
        if self._native is None and self._table.is_begun:
            # From here on its time is counted, and the table is not closed under it.
            self._begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if kind is None:
            self.close()
        else:
            self._table.spoil(error)
            self._end()

    def __reduce__(self) -> NoReturn:
        """Raise WrongTypeError: an open file cannot go to another process."""
        raise not_picklable("a FillContext", "arrowroot.write(...)")

    def __repr__(self) -> str:
        state = ", closed" if self._is_closed else ""
        return f"<FillContext of {self._table.path!r}{state}>"
