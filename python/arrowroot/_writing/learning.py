"""The columns of a table before it is begun: as a user says them, or as its first entries do, which wait meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from arrowroot._errors import InvalidRequestError
from arrowroot._layout.types import without_types
from arrowroot._writing.conformer import Conformer
from arrowroot._writing.counters import Known, without_counters
from arrowroot._writing.incoming import N_AT_ONCE
from arrowroot._writing.schema import check_names, checked_schema, inferred, is_open, united
from arrowroot._writing.typed import nullable_where_said

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import TypeIs

    from arrowroot._writing.data import Part
    from arrowroot._writing.typed import GivenSchema

#: Entries wait for others that say the types of all columns until they take so many bytes.
_MAX_WAITING_BYTES = 64_000_000


class WaitingEntries(NamedTuple):
    """Entries that wait."""

    part: Part
    batches: list[pa.RecordBatch]
    #: The number of the first, where entries have numbers.
    first_entry: int | None = None

    @property
    def known(self) -> pa.Table:
        """All entries of the part that are known."""
        if self.part.table is not None:
            return self.part.table
        return pa.Table.from_batches(self.batches, self.part.schema)

    @property
    def sample(self) -> pa.Table:
        """Those from which types are told: all that are in memory, or the first batch of a stream that has some."""
        if self.part.table is not None:
            return self.part.table
        return pa.Table.from_batches(
            [batch for batch in self.batches if batch.num_rows][:1], self.part.schema
        )


class Begun(NamedTuple):
    """What a table is begun with."""

    #: Its columns, those that share a counter with a note of it, and fields with their C++ types.
    with_counters: pa.Schema
    conformer: Conformer
    #: The schema that comes back when it is read.
    recorded: pa.Schema


class Learning:
    """What is known of the columns of a table until it is begun, and the entries that wait for that."""

    def __init__(
        self,
        given: GivenSchema | None,
        where: str,
        typed: Callable[[pa.Schema], pa.Schema],
        *,
        some_suffice: bool = False,
    ) -> None:
        """``given``: the schema that the user gives, if any; ``where``: file and path of the table, for messages.

        typed: makes nullable what the C++ types of columns let be missing. some_suffice: batches need not have all
        columns.
        """
        self._where = where
        self._typed = typed
        self._some_suffice = some_suffice
        self._is_inferred = given is None
        #: Makes batches those of the table; None until all columns have a type.
        self.conformer: Conformer | None = None
        if given is not None:
            self.conformer = self._conformer_of(self._as_given(given))
        # The columns as they are known so far, of which some have no type.
        self._open: pa.Schema | None = None
        self.held: list[WaitingEntries] = []
        #: All entries, where they are known before the first is written, and what they are.
        self.all_entries: pa.Table | None = None
        self.known = Known.FIRST
        #: The schema that comes back, where somebody says another than that of the table.
        self.recorded: pa.Schema | None = None

    def _as_given(self, given: GivenSchema) -> pa.Schema:
        """Return the schema that a user has given, nullable as its C++ types say where nothing else is said."""
        schema, unsaid = given
        if unsaid is None:
            return schema
        typed = self._typed(schema)
        return schema if typed is schema else nullable_where_said(schema, typed, unsaid)

    def _told(self, part: Part, sample: pa.Table) -> pa.Schema:
        """Return the schema that entries say, and the C++ types of their columns."""
        given = checked_schema(part.schema, self._where)
        found = inferred(given, part, sample)
        typed = self._typed(found)
        return nullable_where_said(found, typed, given) if part.is_arrow and typed is not found else typed

    def _conformer_of(self, schema: pa.Schema) -> Conformer:
        return Conformer(schema, self._where, some_suffice=self._some_suffice)

    @property
    def first_schema(self) -> pa.Schema | None:
        """The schema, or that of the first of the entries that wait for one; None before the first entries."""
        if self.conformer is None:
            return self.held[0].part.schema if self.held else None
        return self.conformer.schema

    @property
    def n_held(self) -> int:
        """Number of entries that wait."""
        return sum(batch.num_rows for held in self.held for batch in held.batches)

    def know_all(self, entries: pa.Table, known: Known) -> None:
        """Take note of all entries before the first is written: they say which columns share a counter."""
        self.all_entries, self.known = entries, known

    def learn(self, more: WaitingEntries) -> None:
        """Learn the columns from the first entries, if nobody has said them. Without entries only names are said."""
        if self.conformer is None:
            self._infer(more)
        if self.conformer is not None and is_large(more.part.table):
            self.conformer.check(more.part.table, self.n_held)

    def _infer(self, more: WaitingEntries) -> None:
        part, sample = more.part, more.sample
        if self.held:
            check_names(part.schema, self.held[0].part.schema, self._where)
        checked_schema(part.schema, self._where)
        if not sample.num_rows:
            return
        known = self._told(part, sample)
        self._check_alike(known)
        if self._open is not None:
            known = united(self._open, known)
            conformer = self._conformer_of(known)
            for batch in more.batches:
                for _ in conformer.batches(batch, self.n_held):
                    pass
        # A stream has said what all its entries are.
        if part.table is not None and any(map(is_open, known.types)) and self._may_wait(sample):
            self._open = known
        else:
            self.conformer = self._conformer_of(known)

    def _check_alike(self, known: pa.Schema) -> None:
        """Raise InvalidRequestError for lists whose type these entries do not say, where other files have others."""
        for field in known if self.known is Known.ALL_OF_FILE else ():
            if is_open(field.type) and not pa.types.is_null(field.type):
                raise InvalidRequestError(
                    f"{self._where}: column {field.name!r}: all lists are empty here, so their type is not known, and "
                    "other files have one: give a schema (schema=)"
                )

    def _may_wait(self, more: pa.Table) -> bool:
        """Return whether memory is left for entries that wait until all columns have a type."""
        if self.all_entries is not None:
            return False
        n_bytes = sum(int(batch.nbytes) for held in self.held for batch in held.batches)
        return n_bytes + int(more.nbytes) <= _MAX_WAITING_BYTES

    def hold(self, more: WaitingEntries) -> None:
        """Keep entries that wait; they are checked now, as they are not to be refused when others come."""
        n_entries, conformer = self.n_held, self.conformer
        if conformer is not None:
            for batch in more.batches:
                for one in conformer.batches(batch, n_entries):
                    if not batch.schema.equals(conformer.schema):
                        conformer.check(one, n_entries)
                    n_entries += one.num_rows
        self.held.append(more._replace(batches=[batch for batch in more.batches if batch.num_rows]))

    def take(self) -> list[WaitingEntries]:
        """Return the entries that wait, which no longer do."""
        held, self.held = self.held, []
        return held

    def begin(self, first: list[WaitingEntries]) -> Begun:
        """Return what the table is begun with. ``first``: its first entries; the first of them that are some say it.

        Raises: InvalidRequestError if neither a schema nor entries were given.
        """
        with_some = [one for one in first if any(batch.num_rows for batch in one.batches)]
        said_by = next(iter([*with_some, *first]), None)
        if self.conformer is not None:
            with_counters = self.conformer.schema
        elif said_by is None:
            raise InvalidRequestError(
                f"{self._where}: neither a schema nor entries were given: a table has columns"
            )
        else:
            with_counters = self._open or self._told(said_by.part, said_by.sample)
        schema = without_types(without_counters(with_counters))
        if self.conformer is None or schema is not with_counters:
            self.conformer = self._conformer_of(schema)
        # What the user has said of missing values comes back, also where none is missing.
        is_said = self._is_inferred and self._open is None and said_by is not None and said_by.part.is_arrow
        recorded = self.recorded or schema
        if is_said and said_by is not None:
            recorded = without_types(without_counters(said_by.part.schema))
        return Begun(with_counters, self.conformer, recorded)


def is_large(table: pa.Table | None) -> TypeIs[pa.Table]:
    """Return whether the engine may take some of a table before it refuses the rest."""
    if table is None or not table.num_columns:
        return False
    return bool(table.num_rows > N_AT_ONCE or table.column(0).num_chunks > 1)
