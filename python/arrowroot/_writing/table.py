"""A table being written, batch by batch."""

from __future__ import annotations

import threading
import time
from itertools import chain
from typing import TYPE_CHECKING

from arrowroot._arguments import not_made, takes
from arrowroot._attributes import no_attribute
from arrowroot._errors import (
    ArrowrootError,
    InvalidRequestError,
    not_picklable,
)
from arrowroot._layout import settings
from arrowroot._render import printable
from arrowroot._sizes import counted, parse_size
from arrowroot._writing.attributes import OWN_SET, AttributeWriter
from arrowroot._writing.columns import TableColumns
from arrowroot._writing.contexts import FillContext
from arrowroot._writing.counters import Known
from arrowroot._writing.data import n_entries_of, parts_of
from arrowroot._writing.grouping import LearntGrouping
from arrowroot._writing.incoming import N_AT_ONCE
from arrowroot._writing.late import FIXED, VARY
from arrowroot._writing.learning import Learning, WaitingEntries, is_large
from arrowroot._writing.naming import naming, reraising
from arrowroot._writing.options import CheckedOptions
from arrowroot._writing.texts import checked_text, fault_of_name
from arrowroot._writing.typed import given_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import NoReturn

    import pyarrow as pa
    from typing_extensions import Self

    from arrowroot import _native
    from arrowroot._api.tree import Tree
    from arrowroot._layout.layout import Layout
    from arrowroot._layout.settings import Format
    from arrowroot._progress import Progress
    from arrowroot._writing.conformer import Conformer
    from arrowroot._writing.data import Part, TableData
    from arrowroot._writing.options import ProducerRule, TableOptions
    from arrowroot._writing.schema import SchemaLike


@not_made
class TableWriter:
    """A tree or RNTuple being written: ``WritableFile.tree`` makes it; a context manager.

    ``append`` adds entries, ``close`` ends it; the file closes what is still open. An exception that leaves the block
    of ``with`` spoils the file: it cannot be whole any more, and none is left.

        >>> with ar.create("new.root") as new, new.tree("t") as table:
        ...     for start in range(0, 30, 10):
        ...         table.append({"x": np.arange(start, start + 10)})
        >>> table.num_entries, table.is_closed
        (30, True)
        >>> table.close()  # as the end of the block has done
    """

    def __init__(  # noqa: PLR0917 - of this room alone
        self,
        file: _native.FileWriter,
        place: tuple[str, str],
        where: str,
        schema: SchemaLike | None,
        of_file: int | None,
        options: TableOptions,
        growth_warnings: Iterator[int],
        shown: Callable[..., Progress],
    ) -> None:
        """``place``: directory and name; ``of_file``: ROOT's number of the file's codec, None for the layout's own.

        growth_warnings: counts them, for all tables of the file. shown: shows how far the file is.
        """
        self._file = file
        self._place = place
        self._where = where
        checked = CheckedOptions.of(options)
        self._layout, self._title, titles, self._notes, self._producers, rule = checked
        self._columns = TableColumns(self._layout, titles, rule, of_file, where)
        if self._layout.format == "rntuple":
            self._check_name(place[1], "RNTuple")
        self._grouping = LearntGrouping(self._layout.records, where)
        given = None if schema is None else given_schema(schema, where)
        if given is not None and self._layout.records:
            given = self._grouping.given(given)
        self._attributes: dict[str, AttributeWriter] = {}
        self._learning = Learning(given, where, self._columns.typed, some_suffice=rule == VARY)
        self._native: _native.TableWriter | None = None
        self._n_entries = 0
        self._shares_counters = False
        self._is_filled = False
        #: True once nothing waits to be filled before what contexts fill.
        self._is_flowing = False
        self._is_closed = False
        #: True if it is written for a plan: reading gives branches or fields, and nothing is warned of.
        self.is_trial = False
        #: When an exception left it unfinished, by ``time.monotonic_ns``, and its text.
        self.failure: tuple[int, str] | None = None
        #: Entries, clusters and bytes of it, once it is closed.
        self.written: dict[str, int] | None = None
        # Several threads may fill it.
        self._lock = threading.RLock()
        #: How often its contexts told of the growth of the file's queue.
        self.n_growths_told = 0
        self._growth_warnings = growth_warnings
        self._shown = shown

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(self, name)

    @property
    def where(self) -> str:
        """File and path of the table, for messages."""
        return self._where

    @property
    def is_begun(self) -> bool:
        """True once its columns are known, and it can be filled."""
        return self._native is not None

    @property
    def name(self) -> str:
        """Its name."""
        return self._place[1]

    @property
    def path(self) -> str:
        """Its name after those of the directories that it is in."""
        return "/".join(filter(None, self._place))

    @property
    def format(self) -> Format:
        """The format that it gets: "ttree" or "rntuple"."""
        return self._layout.format

    @property
    def layout(self) -> Layout:
        """How it is stored."""
        return self._layout

    @property
    def projected(self) -> list[str]:
        """The names of its projected fields, once its columns are known."""
        return self._columns.projected

    @property
    def schema(self) -> pa.Schema | None:
        """Names and types of the columns; None before the first entries, if none was given."""
        conformer = self._learning.conformer
        return None if conformer is None else self._columns.whole(conformer.schema)

    @property
    def conformer(self) -> Conformer:
        """Makes batches those of the table. Raises: InvalidRequestError as long as it has no columns."""
        conformer = self._learning.conformer
        if conformer is None:
            raise InvalidRequestError(f"{self._where}: the table has no columns yet")
        return conformer

    def is_alike(self, given: pa.Schema, is_said: bool) -> bool:
        """Return whether data of a schema go to the engine as they are; see :meth:`Conformer.is_left_alone`."""
        return self._native is not None and self.conformer.is_left_alone(given, is_said=is_said)

    def takes_as_it_is(self, batch: pa.RecordBatch) -> bool:
        """Return whether a batch of a context goes to the engine as it is, and no entries wait to be filled before."""
        return self._is_flowing and batch.num_rows > 0 and self.is_alike(batch.schema, True)

    @property
    def first_schema(self) -> pa.Schema | None:
        """The schema, or that of the first of the entries that wait for one; None before the first entries."""
        return self._learning.first_schema

    @property
    def num_entries(self) -> int:
        """Number of entries appended so far."""
        return self._n_entries + self._learning.n_held

    @property
    def is_closed(self) -> bool:
        """True if it takes no more entries."""
        return self._is_closed

    @takes()
    def append(self, data: TableData) -> None:
        """Add entries to the end: any kind of data that :func:`arrowroot.write` takes.

        Returns when they are taken, which is before they are in the file; memory is bounded, so it may wait for those
        before them. NumPy's arrays, and what pandas, Polars and Awkward Array have on them, may be changed afterwards;
        Arrow's do not change.

        Warns with IndexLeftOutWarning of the index of a frame of pandas for which the table has no column: its schema
        has none, or the index of the first frame was a range from 0 on. One that is such a range, or goes on with it,
        is no loss.

        Raises: InvalidRequestError for other columns, other types, and missing values where none are stored;
            StorageError for a disk that is full. No file is left then, unless it was the data that were refused: of
            data in memory nothing is taken if columns, types or missing values are. Single values that the format, or
            the type of the table, does not hold may come behind entries that were taken, if there are more than some
            thousand: then no file is left either.

            >>> table.append(data)
        """
        with self._shown():
            self._add(map(self.grouped, parts_of(data, self._where, copied=True, is_alike=self.is_alike)))

    def add_all(self, data: TableData, *, copied: bool = False, known: Known = Known.ALL) -> None:
        """Add all entries of the table; if not copied, they do not change until the file is closed.

        known: what they are, where they are in memory.
        """
        n_all = n_entries_of(data)
        with self._shown(None if n_all is None else lambda: self.num_entries / max(1, n_all)):
            for given in parts_of(data, self._where, copied=copied, is_alike=self.is_alike):
                part = self.grouped(given)
                if part.is_all and part.table is not None:
                    self.know_all(part.table, known)
                self._add(iter([part]))

    def packed_of(self, tree: Tree) -> _native.Packed:
        """Return the clusters of a tree that can be copied to the table as they are; its layout is known by then."""
        return tree.packed_for(self._native or self._begin([]))

    def append_packed(self, packed: _native.Packed, first_entry: int, n_entries: int) -> bool:
        """Copy a cluster, by its first entry, behind the entries so far; False: it is to be appended.

        Raises: what reading raises for one that is damaged; StorageError.
        """
        is_copied = packed.copy(first_entry)
        if is_copied:
            self._n_entries += n_entries
        return is_copied

    def attributes(self, name: str, values: SchemaLike) -> AttributeWriter:
        """Return an attribute set of an RNTuple, to say values of ranges of its entries; it is made once.

        values: their schema, or types by name.

        Raises: InvalidRequestError for a tree, which has none, and for a name that is taken.

            >>> with ar.create("new.root") as new, new.tree("t", layout="rntuple") as table:
            ...     notes = table.attributes("notes", {"text": "string"})
            ...     table.append({"x": [1, 2, 3]})
            ...     notes.add(range(1, 3), {"text": "the last ones"})
        """
        checked = checked_text(name, "attributes")
        if self._layout.format == "ttree":
            raise InvalidRequestError(
                f"{self._where}: a tree has no attribute sets: it has user info (user_info=)"
            )
        if self._is_closed:
            raise InvalidRequestError(f"{self._where}: the table is closed, nothing can be said of it")
        if checked in (*self._attributes, "", OWN_SET) or "\0" in checked:
            raise InvalidRequestError(
                f"{self._where}: attributes({name!r}): there is one of that name, or it is ours"
            )
        self._check_name(checked, "attribute set")
        made = AttributeWriter(checked, values, self._where, lambda: self.num_entries)
        self._attributes[checked] = made
        return made

    def _check_name(self, name: str, what: str) -> None:
        """Raise InvalidRequestError for a name by which ROOT opens no RNTuple, and no attribute set."""
        fault = fault_of_name(name)
        if fault is not None:
            raise InvalidRequestError(f"{self._where}: {what} {fault}")

    def grouped(self, part: Part) -> Part:
        """Return data with records instead of flat columns, where the layout asks for them."""
        return self._grouping.part(part, self.num_entries, lambda: self.schema is not None)

    def comes_back_as(self, schema: pa.Schema) -> None:
        """Say the schema that reading gives, which may say of more columns that values may be missing.

        Columns that become records come back as these are.
        """
        if not self._grouping.columns:
            self._learning.recorded = schema

    def shows_as(self, types: Mapping[str, str]) -> None:
        """Say the C++ types that projected fields have in a table that is read, before the first entries.

        They have these again, where what they show is stored so and nobody asks for others.
        """
        self._columns.kept_types = types

    def know_all(self, entries: pa.Table, known: Known = Known.ALL) -> None:
        """Take note of all entries before the first is written: they say which columns share a counter."""
        self._learning.know_all(entries, known)

    def context(self, name: str | None = None) -> FillContext:
        """Return a place to fill the table from, for one more thread; all entries come through contexts then.

            with ar.create("out.root") as f:
                events = f.tree("Events", schema, producers={"buffers": 4})

                def produce(events_of_mine):
                    with events.context() as context:
                        for batch in events_of_mine:
                            context.fill(batch)

        name: of the context, in reports of stalls; None: the table's with a number.

        How they work together is an option of ``WritableFile.tree``, ``producers``, with

        - policy: which buffer is filled: "fullest", so that buffers are full at different times; "fifo", in turns;
          "single", one for all.
        - buffers: how many may be in use, filled or being compressed (4). ``buffers`` of the file bounds their bytes.
        - order: of the entries: "free", as buffers are full; "filled", as ``fill`` took them; "numbered", by
          ``first_entry``: then the file has the same bytes whatever the threads, if one table is filled at a time.
        - full: what a fill does that would wait: "block"; or "refuse": raise QueueFullError.
        - help: True: who would wait compresses instead.
        - on_growth: called with a QueueState when compression has not kept up for ten seconds, instead of the one
          warning (``QueueGrowthWarning``).

        Contexts are closed before the table is.

        Raises: InvalidRequestError if the table is closed, or has entries of ``append``.

            >>> with new.tree("shared", {"x": "float32"}) as shared, shared.context() as mine:
            ...     mine.fill({"x": [1.0]})
        """
        if self._is_closed:
            raise InvalidRequestError(f"{self._where}: the table is closed, nothing can be filled")
        if self.num_entries and not self._is_filled:
            raise InvalidRequestError(
                f"{self._where}: it has entries of append: contexts fill it from the first one on"
            )
        rule = self._columns.rule
        if rule != FIXED and (rule != VARY or self.schema is None):
            raise InvalidRequestError(
                f"{self._where}: columns={rule!r}: contexts add no columns to a table, append does; with all "
                f"columns in schema= data may lack some: columns={VARY!r}"
            )
        self._is_filled = True
        context = FillContext(self, self._file, self._producers, name)
        # Where entries say what the layout is, the first that are filled do.
        if self.schema is not None and not self._layout.n_looked_at:
            with self._lock:
                if self._native is None:
                    self._begin([])
        return context

    def begun(self, parts: list[tuple[Part, pa.Table]], number: int | None) -> Conformer | None:
        """Return what makes batches its own; the data of a fill say columns and layout, if nobody has before.

        number: of the first entry, where entries have numbers.
        None: they wait, as there is no entry yet, or some column has no type.
        """
        with self._lock:
            if self._native is None:
                held = []
                for part, table in parts:
                    held.append(WaitingEntries(part, table.to_batches(), number))
                    self._learning.learn(held[-1])
                    number = None if number is None else number + table.num_rows
                has_some = any(table.num_rows for _, table in parts)
                if self.schema is None or not has_some:
                    if has_some:
                        self._producers.check_number(number, self._where)
                    for one in held:
                        self._learning.hold(one)
                    return None
                self._begin([*self._learning.held, *held])
            if self._learning.held and self._producers.order != "numbered":
                self._fill_held()
        if self._learning.held:
            # Numbers may be missing before theirs: no fill waits for this thread while it has the lock.
            self._fill_held()
        self._is_flowing = True
        return self.conformer

    def _fill_held(self) -> None:
        """Fill what waited, through a context of its own."""
        with self._lock:
            fills = [one for one in self._learning.take() if one.batches]
        if not fills:
            return
        native, conformer = self.native_context(self._producers, None, is_shared=True), self.conformer
        try:
            for one in fills:
                number = one.first_entry
                for batch in one.batches:
                    for piece in conformer.batches(batch, number or 0):
                        with naming(self._where):
                            n_bytes = conformer.text_bytes(piece)
                            native.fill(piece, n_bytes, number, waits=True, takes_signals=False)
                        self.count_filled(piece.num_rows)
                        number = None if number is None else number + piece.num_rows
        except BaseException as error:
            # They were accepted, and some of them are not in the file.
            self._fail(error)
            raise
        finally:
            native.close()

    def native_context(self, rule: ProducerRule, name: str | None, *, is_shared: bool) -> _native.FillContext:
        """Return the engine's context; ``is_shared``: other threads than this one may fill.

        Raises: InvalidRequestError if the table is closed.
        """
        with self._lock, naming(self._where):
            if self._native is None or self._is_closed:
                raise InvalidRequestError("the table is closed, nothing can be filled")
            return self._native.context(
                name,
                is_shared=is_shared,
                policy=rule.policy,
                n_buffers=rule.n_buffers,
                order=rule.order,
                helps=rule.helps,
            )

    def count_filled(self, n_entries: int) -> None:
        """Count entries that a context took."""
        with self._lock:
            self._n_entries += n_entries

    def tell_of_growth(self, n_growths: int) -> bool:
        """Note that growth is told; return whether it is the first time."""
        with self._lock:
            is_first = self.n_growths_told == 0
            self.n_growths_told = max(n_growths, self.n_growths_told)
            return is_first

    def may_warn_of_growth(self) -> bool:
        """Return whether nobody of the file has warned of growth yet."""
        return next(self._growth_warnings) == 0

    def spoil(self, error: BaseException | None) -> None:
        """An exception has left a context: the file cannot be whole any more, and nobody waits for what is missing."""
        self._fail(error)
        self._file.abort(f"an exception left {self.path!r} unfinished ({_told(error)}): the file is given up")

    def _fail(self, error: BaseException | None) -> None:
        """Note that an exception left it unfinished; its text alone, as its frames hold entries."""
        self.failure = self.failure or (time.monotonic_ns(), _told(error))

    def n_fills(self) -> list[int]:
        """Return how often each of its buffers was filled from; nothing where entries go to one at a time."""
        return [] if self._native is None else self._native.n_fills()

    def _add(self, parts: Iterator[Part]) -> None:
        if self._is_closed:
            raise InvalidRequestError(f"{self._where}: the table is closed, nothing can be appended")
        if self._is_filled:
            raise InvalidRequestError(
                f"{self._where}: it is filled through contexts, and through nothing else"
            )
        for part in parts:
            with reraising(self._where):
                self._add_part(part)

    def _add_part(self, part: Part) -> None:
        part = part.in_table(self.first_schema, self.num_entries, self._where)
        if self._columns.may_grow:
            part = self._grown_for(part)
        batches = part.batches
        drawn: list[pa.RecordBatch] = []
        learning, is_checked = self._learning, is_large(part.table)
        if self._native is None:
            n_wanted = max(1, self._layout.n_looked_at - learning.n_held)
            while n_wanted > 0 and (batch := next(batches, None)) is not None:
                drawn.append(batch)
                n_wanted -= batch.num_rows
            held = WaitingEntries(part, drawn)
            learning.learn(held)
            if learning.conformer is None and part.table is not None:
                drawn += batches
            if n_wanted > 0 or learning.conformer is None or not any(batch.num_rows for batch in drawn):
                learning.hold(held)
                return
            self._begin_with_held(held)
        elif is_large(part.table):
            self.conformer.check(part.table, self._n_entries)
            self._check_counts(part.table)
        for batch in chain(drawn, batches):
            self._write(batch, is_checked=is_checked)

    def _grown_for(self, part: Part) -> Part:
        """Give the table the columns of some entries that it has not, and return these entries."""
        known = self.first_schema
        if known is None or not self._columns.are_others(part.schema, known):
            return part
        if self._native is None:
            self._begin_with_held()
        known = self.conformer.schema
        part, late, members = self._columns.apart(part, known)
        if late is not None:
            warns = not self.is_trial
            added = self._columns.more(late, members, known, self._n_entries, warns=warns)
            with naming(self._where):
                self._started.extend(added.schema, recorded=added.recorded, **added.told._asdict())
            self._learning.conformer = added.conformer
            self._columns.add(added)
        return part

    @property
    def _started(self) -> _native.TableWriter:
        if self._native is None:
            raise InvalidRequestError(f"{self._where}: the table is not begun")
        return self._native

    def _check_counts(self, table: pa.Table) -> None:
        """Refuse entries whose lists differ from a counter that they share, before those that come before are taken."""
        if self._native is None or not self._shares_counters:
            return
        entry, conformer = self._n_entries, self.conformer
        for batch in table.to_batches():
            for one in conformer.batches(batch, entry):
                with naming(self._where):
                    self._native.check_counts(one, conformer.text_bytes(one), entry)
                entry += one.num_rows

    def _begin_with_held(self, *last: WaitingEntries) -> None:
        """Make the table from the first entries, and write those that were held; not those of the last part."""
        self._begin([*self._learning.held, *last])
        try:
            for batch in chain.from_iterable(one.batches for one in self._learning.take()):
                self._write(batch, is_checked=False)
        except BaseException as error:
            # They were accepted, and some of them are not in the file.
            self._fail(error)
            raise

    def _write(self, batch: pa.RecordBatch, *, is_checked: bool) -> None:
        """Write a batch. is_checked: nothing is missing in it, as was looked at before."""
        native, conformer = self._started, self.conformer
        if batch.num_rows > N_AT_ONCE and not is_checked:
            conformer.check(batch, self._n_entries)
        # All of it is checked before some of it is taken.
        for one in list(conformer.batches(batch, self._n_entries)):
            with naming(self._where):
                native.append(one, conformer.text_bytes(one))
            self._n_entries += one.num_rows

    def _begin(self, first: list[WaitingEntries]) -> _native.TableWriter:
        """Make the table. ``first``: the first entries, from which columns and layout are told, if nobody says them."""
        learning, layout = self._learning, self._layout
        begun = learning.begin(first)
        titled = self._grouping.columns
        told, counters, projections = self._columns.first(
            begun, first, learning, titled, warns=not self.is_trial
        )
        learning.all_entries = None
        self._shares_counters = any(counters)
        flush = settings.flush_rule(layout.flush, layout.format)
        with naming(self._where):
            self._native = self._file.table(
                *self._place,
                self._title,
                begun.conformer.schema,
                layout.format,
                recorded=None if self.is_trial else begun.recorded,
                **told._asdict(),
                counters=counters,
                flush=(flush.kind, flush.amount),
                max_cluster_bytes=flush.max_bytes,
                baskets=settings.basket_rule(layout.basket_size, layout.format),
                autosave_bytes=0 if layout.autosave is None else parse_size(layout.autosave, "autosave"),
                generates_offsets=layout.io_features is not None,
                page_bytes=settings.page_bytes(layout.page_size, layout.format),
                projections=projections,
                notes=self._notes,
            )
        return self._native

    def close(self) -> None:
        """Write what is still in memory and the table's description; nothing happens if it is closed.

        Raises: InvalidRequestError if it has no columns: neither a schema nor entries were given; StorageError.
        """
        if self._is_closed:
            return
        if self._native is None and self._learning.held:
            if self._is_filled:
                self._begin(self._learning.held)
                self._fill_held()
            else:
                self._begin_with_held()
        native = self._native or self._begin([])
        self._columns.check_all_came(self.schema)
        self._is_closed = True
        with self._shown(), naming(self._where):
            for attributes in self._attributes.values():
                attributes._write(native)  # noqa: SLF001 - for its table alone
            self.written = native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if kind is None:
            self.close()
        else:
            self._fail(error)
            self._is_closed = True

    def __reduce__(self) -> NoReturn:
        """Raise WrongTypeError: an open file cannot go to another process."""
        raise not_picklable("a TableWriter", "arrowroot.write(...)")

    def __repr__(self) -> str:
        schema = self.schema
        columns = "no columns yet" if schema is None else counted(len(schema), "column")
        state = ", closed" if self._is_closed else ""
        entries = counted(self._n_entries, "entry", "entries")
        return f"<TableWriter {self.path!r} ({self._layout.format}): {columns}, {entries}{state}>"


def _told(error: BaseException | None) -> str:
    text = printable(str(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def check_finished(path: str, tables: list[TableWriter]) -> None:
    """Raise ArrowrootError if an exception left a table unfinished: the file cannot be whole. The first one is told."""
    failures = [(table.failure, table.path) for table in tables if table.failure is not None]
    if failures:
        (_, why), _ = min(failures)
        names = ", ".join(repr(name) for _, name in failures)
        raise ArrowrootError(
            f"{path}: an exception left {names} unfinished ({why}): the file is not whole, and not kept"
        )
