"""A table being written, batch by batch."""

from __future__ import annotations

import threading
import time
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from arrowroot._errors import (
    ArrowrootError,
    InvalidRequestError,
    NoSuchColumnError,
    nearest,
    no_attribute,
    not_picklable,
)
from arrowroot._render import printable
from arrowroot._sizes import counted, parse_size
from arrowroot._writing import settings
from arrowroot._writing.contexts import FillContext, producer_rule
from arrowroot._writing.counters import Known, counters_of, without_counters
from arrowroot._writing.data import naming, parts_of, reraising
from arrowroot._writing.incoming import N_AT_ONCE, columns_of_texts, text_bytes
from arrowroot._writing.layout import layout_with
from arrowroot._writing.notes import Notes
from arrowroot._writing.readers import warn_of_few_readers
from arrowroot._writing.schema import (
    check_field,
    check_missing,
    check_names,
    check_zones,
    conformed,
    have_layout,
    inferred,
    is_open,
    says_more,
    schema_of,
    united,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

    from typing_extensions import Self, TypeIs

    from arrowroot import _native
    from arrowroot._writing.contexts import ProducerRule
    from arrowroot._writing.data import Part, TableData
    from arrowroot._writing.layout import Layout
    from arrowroot._writing.schema import SchemaLike
    from arrowroot._writing.settings import Format, TableOptions


#: Entries wait for others that say the types of all columns until they take so many bytes.
_MAX_WAITING_BYTES = 64_000_000


class _Held(NamedTuple):
    """Entries that wait."""

    part: Part
    batches: list[pa.RecordBatch]
    #: The number of the first, where entries have numbers.
    first_entry: int | None = None

    @property
    def known(self) -> pa.Table:
        """All entries of the part that are known."""
        return (
            pa.Table.from_batches(self.batches, self.part.schema)
            if self.part.table is None
            else self.part.table
        )


class CheckedOptions(NamedTuple):
    """The options of a table: what is wrong with them is said before any data come."""

    layout: Layout
    title: str
    titles: dict[str, str]
    notes: Notes
    producers: ProducerRule

    @classmethod
    def of(cls, options: TableOptions) -> CheckedOptions:
        """Check all but names. Raises: InvalidRequestError; UnsupportedError for what a tree cannot record."""
        return cls(
            layout_with(options),
            settings.text(options.get("title", ""), "title"),
            settings.titles_of(options.get("titles", {})),
            Notes.of(options),
            producer_rule(options.get("producers")),
        )


#: What to write for names that uproot and ROOT have.
_INSTEAD = {
    **dict.fromkeys(("extend", "write"), "entries are added by append(data)"),
    **dict.fromkeys(
        ("fill", "Fill"), "entries are added by append(data), by several threads through context()"
    ),
}


class TableWriter:
    """A tree or RNTuple being written: ``WritableFile.tree`` makes it; a context manager.

    ``append`` adds entries, ``close`` ends it; the file closes what is still open. An exception that leaves the block
    of ``with`` spoils the file: it cannot be whole any more, and none is left.
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
    ) -> None:
        """``place``: directory and name; ``of_file``: ROOT's number of the file's codec, None for the layout's own.

        growth_warnings: counts them, for all tables of the file.
        """
        self._file = file
        self._place = place
        self._where = where
        self._of_file = of_file
        self._layout, self._title, self._titles, self._notes, self._producers = CheckedOptions.of(options)
        self._schema = None if schema is None else checked_schema(schema_of(schema), where)
        self._is_inferred = schema is None
        self._native: _native.TableWriter | None = None
        # Of the last data that went to the engine as they were.
        self._alike: tuple[pa.Schema, bool] | None = None
        #: Of columns, once it is begun.
        self.places_of_texts: list[int] = []
        self._n_entries = 0
        self._shares_counters = False
        # Entries that wait until types and layout can be told from them.
        self._held: list[_Held] = []
        # The columns as they are known so far, of which some have no type.
        self._open: pa.Schema | None = None
        # All entries, where they are known before the first is written.
        self._all_entries: pa.Table | None = None
        self._known = Known.FIRST
        self._is_filled = False
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

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute("'TableWriter' object", name, _INSTEAD)

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
    def schema(self) -> pa.Schema | None:
        """Names and types of the columns; None before the first entries, if none was given."""
        return self._schema

    def is_alike(self, given: pa.Schema, is_said: bool) -> bool:
        """Return whether data of a schema go to the engine as they are: nothing is learned of them, nor converted.

        is_said: the user has said it, so the engine, which goes by the table's, must refuse the nulls that it excludes.
        """
        if self._native is None or self._schema is None:
            return False
        if self._alike is not None and is_said == self._alike[1] and given.equals(self._alike[0]):
            return True
        is_alike = have_layout(given, self._schema)
        is_alike &= not (is_said and any(map(says_more, given, self._schema)))
        if is_alike:
            self._alike = given, is_said
        return is_alike

    @property
    def first_schema(self) -> pa.Schema | None:
        """The schema, or that of the first of the entries that wait for one; None before the first entries."""
        held = self._held
        return held[0].part.schema if self._schema is None and held else self._schema

    @property
    def num_entries(self) -> int:
        """Number of entries appended so far."""
        return self._n_entries + self._n_held

    @property
    def _n_held(self) -> int:
        return sum(batch.num_rows for held in self._held for batch in held.batches)

    @property
    def is_closed(self) -> bool:
        """True if it takes no more entries."""
        return self._is_closed

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
        """
        self._add(parts_of(data, self._where, copied=True, is_alike=self.is_alike))

    def add_all(self, data: TableData, *, copied: bool = False, known: Known = Known.ALL) -> None:
        """Add all entries of the table; if not copied, they do not change until the file is closed.

        known: what they are, where they are in memory.
        """
        for part in parts_of(data, self._where, copied=copied, is_alike=self.is_alike):
            if part.is_all and part.table is not None:
                self.know_all(part.table, known)
            self._add(iter([part]))

    def know_all(self, entries: pa.Table, known: Known = Known.ALL) -> None:
        """Take note of all entries before the first is written: they say which columns share a counter."""
        self._all_entries, self._known = entries, known

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
        - full: what a fill does that would wait: "block"; "refuse", raise QueueFullError; or what is called before it
          waits, with a QueueState.
        - help: True: who would wait compresses instead.
        - on_growth: called with a QueueState when compression has not kept up for ten seconds, instead of the one
          warning (``QueueGrowthWarning``).

        Contexts are closed before the table is.

        Raises: InvalidRequestError if the table is closed, or has entries of ``append``.
        """
        if self._is_closed:
            raise InvalidRequestError(f"{self._where}: the table is closed, nothing can be filled")
        if self.num_entries and not self._is_filled:
            raise InvalidRequestError(
                f"{self._where}: it has entries of append: contexts fill it from the first one on"
            )
        self._is_filled = True
        context = FillContext(self, self._file, self._producers, name)
        # Where entries say what the layout is, the first that are filled do.
        if self._schema is not None and not self._layout.n_looked_at:
            with self._lock:
                if self._native is None:
                    self._begin(None, None, [])
        return context

    def begun(self, parts: list[tuple[Part, pa.Table]], number: int | None) -> pa.Schema | None:
        """Return its schema; the data of a fill say it, and which columns share their lengths, if nobody has before.

        number: of the first entry, where entries have numbers.
        None: they wait, as there is no entry yet, or some column has no type.
        """
        with self._lock:
            if self._native is None:
                held = []
                for part, table in parts:
                    self._learn(part, table.to_batches())
                    held.append(_Held(part, table.to_batches(), number))
                    number = None if number is None else number + table.num_rows
                if self._schema is None or not any(table.num_rows for _, table in parts):
                    if any(table.num_rows for _, table in parts):
                        self._producers.check_number(number, self._where)
                    for one in held:
                        self._hold(one)
                    return None
                self._begin_with([*self._held, *held])
            schema = self._schema
            if self._held and self._producers.order != "numbered":
                self._fill_held()
        if self._held:
            # Numbers may be missing before theirs: no fill waits for this thread while it has the lock.
            self._fill_held()
        if schema is None:
            raise InvalidRequestError(f"{self._where}: the table has no columns yet")
        return schema

    def _fill_held(self) -> None:
        """Fill what waited, through a context of its own."""
        with self._lock:
            held, self._held = self._held, []
        fills = [one for one in held if one.batches]
        if not fills or self._schema is None:
            return
        native = self.native_context(self._producers, None, is_shared=True)
        try:
            for one in fills:
                number = one.first_entry
                for batch in one.batches:
                    for piece in conformed(batch, self._schema, self._where, number or 0):
                        with naming(self._where):
                            n_bytes = text_bytes(piece, self.places_of_texts)
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
        batches = part.batches
        drawn: list[pa.RecordBatch] = []
        if self._native is None:
            n_wanted = max(1, self._layout.n_looked_at - self._n_held)
            while n_wanted > 0 and (batch := next(batches, None)) is not None:
                drawn.append(batch)
                n_wanted -= batch.num_rows
            self._learn(part, drawn)
            if self._schema is None and part.table is not None:
                drawn += batches
            held = _Held(part, drawn)
            if n_wanted > 0 or self._schema is None or not any(batch.num_rows for batch in drawn):
                self._hold(held)
                return
            self._begin_with_held(held)
        elif self._schema is not None and _is_large(part.table):
            check_missing(part.table, self._schema, self._where, self._n_entries)
            self._check_counts(part.table)
        for batch in chain(drawn, batches):
            self._write(batch)

    def _check_counts(self, table: pa.Table) -> None:
        """Refuse entries whose lists differ from a counter that they share, before those that come before are taken."""
        if self._native is None or self._schema is None or not self._shares_counters:
            return
        entry = self._n_entries
        for batch in table.to_batches():
            for one in conformed(batch, self._schema, self._where, entry):
                with naming(self._where):
                    self._native.check_counts(one, text_bytes(one, self.places_of_texts), entry)
                entry += one.num_rows

    def _learn(self, part: Part, drawn: list[pa.RecordBatch]) -> None:
        """Learn the columns from the first entries, if nobody has said them. Without entries only names are said."""
        if self._schema is None:
            if self._held:
                check_names(part.schema, self._held[0].part.schema, self._where)
            sample = _sample_of(part, drawn)
            schema = checked_schema(part.schema, self._where)
            if not sample.num_rows:
                return
            known = inferred(schema, part, sample)
            self._check_alike(known)
            if self._open is not None:
                known = united(self._open, known)
                for batch in drawn:
                    for _ in conformed(batch, known, self._where, self._n_held):
                        pass
            # A stream has said what all its entries are.
            if part.table is not None and any(map(is_open, known.types)) and self._may_wait(sample):
                self._open = known
                return
            self._schema = known
        if _is_large(part.table):
            check_missing(part.table, self._schema, self._where, self._n_held)

    def _check_alike(self, known: pa.Schema) -> None:
        """Raise InvalidRequestError for lists whose type these entries do not say, where other files have others."""
        for field in known if self._known is Known.ALL_OF_FILE else ():
            if is_open(field.type) and not pa.types.is_null(field.type):
                raise InvalidRequestError(
                    f"{self._where}: column {field.name!r}: all lists are empty here, so their type is not known, and "
                    "other files have one: give a schema (schema=)"
                )

    def _may_wait(self, more: pa.Table) -> bool:
        """Return whether memory is left for entries that wait until all columns have a type."""
        if self._all_entries is not None:
            return False
        n_bytes = sum(int(batch.nbytes) for held in self._held for batch in held.batches)
        return n_bytes + int(more.nbytes) <= _MAX_WAITING_BYTES

    def _hold(self, held: _Held) -> None:
        """Keep entries that wait; they are checked now, as they are not to be refused when others come."""
        n_entries, schema = self._n_held, self._schema
        for batch in held.batches if schema is not None else []:
            for one in conformed(batch, schema, self._where, n_entries):
                if not batch.schema.equals(schema):
                    check_missing(pa.Table.from_batches([one]), schema, self._where, n_entries)
                n_entries += one.num_rows
        self._held.append(held._replace(batches=[batch for batch in held.batches if batch.num_rows]))

    def _begin_with(self, first: list[_Held]) -> None:
        """Make the table from what is known of its first entries."""
        part, drawn, _ = next((one for one in first if any(b.num_rows for b in one.batches)), first[0])
        self._begin(part, _sample_of(part, drawn), [one.known for one in first])

    def _begin_with_held(self, last: _Held | None = None) -> None:
        """Make the table from the first entries, and write those that were held; not those of the last part."""
        self._begin_with([*self._held, *([last] if last is not None else [])])
        held, self._held = self._held, []
        try:
            for batch in chain.from_iterable(one.batches for one in held):
                self._write(batch)
        except BaseException as error:
            # They were accepted, and some of them are not in the file.
            self._fail(error)
            raise

    def _write(self, batch: pa.RecordBatch) -> None:
        if self._native is None or self._schema is None:
            raise InvalidRequestError(f"{self._where}: the table has no columns yet")
        if batch.num_rows > N_AT_ONCE:
            check_missing(pa.Table.from_batches([batch]), self._schema, self._where, self._n_entries)
        # All of it is checked before some of it is taken.
        for one in list(conformed(batch, self._schema, self._where, self._n_entries)):
            with naming(self._where):
                self._native.append(one, text_bytes(one, self.places_of_texts))
            self._n_entries += one.num_rows

    def _begin(
        self, part: Part | None, sample: pa.Table | None, first: list[pa.Table]
    ) -> _native.TableWriter:
        """Make the table; ``part`` and ``sample`` are what is known of its entries, None if there are none.

        first: those from which the layout is told.
        """
        if self._schema is None:
            if part is None or sample is None:
                raise InvalidRequestError(
                    f"{self._where}: neither a schema nor entries were given: a table has columns"
                )
            self._schema = self._open or inferred(checked_schema(part.schema, self._where), part, sample)
        with_counters, schema = self._schema, without_counters(self._schema)
        self._schema = schema
        # What the user has said of missing values comes back, also where none is missing.
        is_said = self._is_inferred and self._open is None and part is not None and part.is_arrow
        recorded = without_counters(part.schema) if is_said and part is not None else schema
        layout, titles = self._layout, self._titles
        for name in titles:
            if name not in schema.names:
                near = nearest(name, schema.names)
                raise NoSuchColumnError(
                    f"{self._where}: titles: no column {name!r}", name, near, known=schema.names
                )
        numbers = settings.codec_numbers(
            layout.compression, self._of_file, layout.format, schema.names, self._where
        )
        layouts = layout.columns(schema, first, self._where)
        if not self.is_trial:
            warn_of_few_readers(schema, layout, layouts, self._where)
        flush = settings.flush_rule(layout.flush, layout.format)
        counters: list[str | None] = [None] * len(schema)
        if layout.format == "ttree":
            known = first if self._all_entries is None else [self._all_entries]
            known = [table for table in known if table.num_rows]
            counters = counters_of(with_counters, layout.counters, known, self._known)
        self._all_entries = None
        self._shares_counters = any(counters)
        self.places_of_texts = columns_of_texts(schema)
        with naming(self._where):
            self._native = self._file.table(
                self._place[0],
                self._place[1],
                self._title,
                schema,
                layout.format,
                recorded=None if self.is_trial else recorded,
                layouts=layouts,
                compression=[None if number == settings.TRIED else number for number in numbers],
                titles=[titles.get(name, "") for name in schema.names],
                counters=counters,
                flush=(flush.kind, flush.amount),
                max_cluster_bytes=flush.max_bytes,
                baskets=settings.basket_rule(layout.basket_size, layout.basket_memory, layout.format),
                autosave_bytes=0 if layout.autosave is None else parse_size(layout.autosave, "autosave"),
                generates_offsets=layout.io_features is not None,
                page_bytes=settings.page_bytes(layout.page_size, layout.format),
                notes=self._notes,
            )
        return self._native

    def close(self) -> None:
        """Write what is still in memory and the table's description; nothing happens if it is closed.

        Raises: InvalidRequestError if it has no columns: neither a schema nor entries were given; StorageError.
        """
        if self._is_closed:
            return
        if self._native is None and self._held:
            if self._is_filled:
                self._begin_with(self._held)
                self._fill_held()
            else:
                self._begin_with_held()
        native = self._native or self._begin(None, None, [])
        self._is_closed = True
        with naming(self._where):
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
        """Raise TypeError: an open file cannot go to another process."""
        raise not_picklable("a TableWriter", "arrowroot.write(...)")

    def __repr__(self) -> str:
        columns = "no columns yet" if self._schema is None else counted(len(self._schema), "column")
        state = ", closed" if self._is_closed else ""
        entries = counted(self._n_entries, "entry", "entries")
        return f"<TableWriter {self.path!r} ({self._layout.format}): {columns}, {entries}{state}>"


def _sample_of(part: Part, drawn: list[pa.RecordBatch]) -> pa.Table:
    """Return what is known of the entries of a part: all, or the first that has some."""
    if part.table is not None:
        return part.table
    return pa.Table.from_batches([batch for batch in drawn if batch.num_rows][:1], part.schema)


def _is_large(table: pa.Table | None) -> TypeIs[pa.Table]:
    """Return whether the engine may take some of a table before it refuses the rest."""
    if table is None or not table.num_columns:
        return False
    return bool(table.num_rows > N_AT_ONCE or table.column(0).num_chunks > 1)


def checked_schema(schema: pa.Schema, where: str) -> pa.Schema:
    """Return a schema. Raises: InvalidRequestError for one without columns, or with names that are none, or twice."""
    if not len(schema):
        raise InvalidRequestError(f"{where}: a table without columns")
    seen: set[str] = set()
    for name in schema.names:
        if name in seen:
            raise InvalidRequestError(f"{where}: two columns are called {name!r}")
        if not name:
            raise InvalidRequestError(f"{where}: a column without a name")
        seen.add(name)
    for field in schema:
        with naming(where):
            check_field(field)
        check_zones(field, where)
    return schema


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
