"""What the engine is told of the columns of a table: of the first ones, and of those that come up later."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from arrowroot._arrow.kinds import nullable_in_either
from arrowroot._errors import NoSuchColumnError, nearest
from arrowroot._layout import settings
from arrowroot._layout.layout import check_members_came, check_names
from arrowroot._layout.projections import projections_of
from arrowroot._layout.readers import warn_of_few_readers
from arrowroot._layout.types import types_of
from arrowroot._writing.conformer import Conformer
from arrowroot._writing.counters import counters_of
from arrowroot._writing.late import (
    FIXED,
    VARY,
    LateColumns,
    Member,
    as_their_records,
    check_no_late_members,
    has_other_members,
    late_columns,
    members_apart,
    missing_as_typed,
    with_members,
    without_levels,
)
from arrowroot._writing.typed import nullable_as_typed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arrowroot._layout.columns import ColumnSettings
    from arrowroot._layout.layout import Layout
    from arrowroot._layout.projections import Projection
    from arrowroot._writing.data import Part
    from arrowroot._writing.late import Columns
    from arrowroot._writing.learning import Begun, Learning, WaitingEntries


class Told(NamedTuple):
    """What is told of columns, one for each."""

    layouts: list[ColumnSettings]
    compression: list[int | None]
    titles: list[str]


class Added(NamedTuple):
    """Columns that come up later, and what is told of them."""

    #: As they are stored, and as they come back.
    schema: pa.Schema
    recorded: pa.Schema
    told: Told
    #: Makes batches those of the table with them.
    conformer: Conformer
    #: The places of those that are members of records.
    members: dict[str, Member]


class TableColumns:
    """The columns of a table that is written, and what its layout says of them."""

    def __init__(
        self, layout: Layout, titles: Mapping[str, str], rule: Columns, of_file: int | None, where: str
    ) -> None:
        """Make it. rule: whether columns come up later; of_file: ROOT's number of the file's codec, None: the layout's.

        where: file and path of the table, for messages.
        """
        self._layout = layout
        self._titles = titles
        self._of_file = of_file
        self._where = where
        self.rule = rule
        #: Of all columns, with those that count others.
        self._names: list[str] = []
        #: The places of columns that are members of records.
        self._late: dict[str, Member] = {}
        #: The names of the projected fields, once the columns are known.
        self.projected: list[str] = []
        #: The C++ types that these have in a table that is read.
        self.kept_types: Mapping[str, str] = {}

    @property
    def may_grow(self) -> bool:
        """True if columns may come up later."""
        return self.rule != FIXED

    def whole(self, schema: pa.Schema) -> pa.Schema:
        """Return a schema whose members that came up later are in their records."""
        return with_members(schema, self._late)

    def typed(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of the first columns, nullable where C++ types that are asked for let values be missing."""
        layout = self._layout
        # Wide tables of numbers are mostly asked for no types.
        says_none = not layout.types and not any(field.metadata or field.type.num_fields for field in schema)
        if layout.format == "ttree" or says_none:
            return schema
        return nullable_as_typed(
            schema, types_of(layout.types, schema, layout.precision, may_grow=self.may_grow)
        )

    def first(
        self,
        begun: Begun,
        first: Sequence[WaitingEntries],
        learning: Learning,
        titled: Iterable[str],
        *,
        warns: bool,
    ) -> tuple[Told, list[str | None], list[Projection]]:
        """Return what is told of the columns that the table begins with, their counters, and the projected fields.

        first: the first entries. titled: names that have titles beside those of columns. warns: of few readers.
        """
        with_counters, schema, layout = begun.with_counters, begun.conformer.schema, self._layout
        known = [one.known for one in first]
        projections = projections_of(
            layout.projections,
            schema,
            self._titles,
            self._where,
            types=layout.types,
            kept_types=self.kept_types,
            may_grow=self.may_grow,
        )
        self.projected = [one.name for one in projections]
        self._check_titles(schema, {*self.projected, *titled})
        compression = self._codecs(schema.names)
        layouts = layout.columns(
            with_counters, known, self._where, may_grow=self.may_grow, projected=self.projected
        )
        self._names = with_counters.names
        if warns:
            warn_of_few_readers(schema, layout, layouts, self._where)
        counters: list[str | None] = [None] * len(schema)
        if layout.format == "ttree":
            known = known if learning.all_entries is None else [learning.all_entries]
            known = [table for table in known if table.num_rows]
            counters = counters_of(with_counters, layout.counters, known, learning.known)
        return Told(layouts, compression, self._titles_of(schema)), counters, projections

    def _check_titles(self, schema: pa.Schema, others: set[str]) -> None:
        for name in () if self.may_grow else self._titles:
            if name not in schema.names and name not in others:
                near = nearest(name, schema.names)
                raise NoSuchColumnError(
                    f"{self._where}: titles: no column {name!r}", name, near, known=schema.names
                )

    def _titles_of(self, schema: pa.Schema) -> list[str]:
        return [self._titles.get(name, "") for name in schema.names]

    def _codecs(self, names: Sequence[str]) -> list[int | None]:
        layout = self._layout
        numbers = settings.codec_numbers(
            layout.compression, self._of_file, layout.format, names, self._where, may_grow=self.may_grow
        )
        return [None if number == settings.TRIED else number for number in numbers]

    def are_others(self, given: pa.Schema, known: pa.Schema) -> bool:
        """Return whether entries have other columns, or members of records, than the table.

        Raises: InvalidRequestError for a member of a record of a tree.
        """
        if self._layout.format == "ttree":
            check_no_late_members(given, known, self._where)
        return set(given.names) != set(known.names) or self._has_other_members(given, known)

    def _has_other_members(self, given: pa.Schema, known: pa.Schema) -> bool:
        if self._layout.format == "ttree":
            return False
        own = self.whole(known)
        return bool(self._late) or any(has_other_members(field, own) for field in given)

    def apart(self, part: Part, known: pa.Schema) -> tuple[Part, LateColumns | None, dict[str, Member]]:
        """Return entries with a column for each member that came up later, and which columns the table has not.

        Returns, too, the places of those that are members. Raises: InvalidRequestError.
        """
        members: dict[str, Member] = {}
        if self._has_other_members(part.schema, known):
            part, members = members_apart(part, known, self._late, self.rule, self._where)
        part, late = late_columns(part, known, self._where)
        return part, late, members

    def more(
        self,
        late: LateColumns,
        members: Mapping[str, Member],
        known: pa.Schema,
        n_entries: int,
        *,
        warns: bool,
    ) -> Added:
        """Return what is told of columns that come up later; the entries that have them are checked, as far as known.

        members: the places of those that are members of records. known: the columns so far, of so many entries.
        """
        members = {name: one for name, one in members.items() if name in late.schema.names}
        new = as_their_records(late.schema, members, self.whole(known))
        n_known, layout, where = len(known), self._layout, self._where
        all_late = self._late | members
        alone = without_levels(pa.schema([*known, *new]), all_late)
        layouts = layout.columns(alone, [], where, may_grow=True, projected=self.projected)[n_known:]
        recorded = late.recorded
        if layout.format == "rntuple":
            new = missing_as_typed(new, [one.types for one in layouts], members)
            fields = [nullable_in_either(one, of) for one, of in zip(recorded, new, strict=True)]
            recorded = pa.schema(fields, metadata=recorded.metadata)
        schema = pa.schema([*known, *new], metadata=known.metadata)
        ways = {name: one.way for name, one in all_late.items()}
        conformer = Conformer(schema, where, some_suffice=self.rule == VARY, ways=ways)
        conformer.check(late.sample, n_entries)
        for batch in late.sample.to_batches():
            for _ in conformer.batches(batch, n_entries):
                pass
        compression = self._codecs(schema.names)[n_known:]
        layouts = [
            one._replace(record=members[name].column if name in members else None)
            for name, one in zip(new.names, layouts, strict=True)
        ]
        if warns:
            warn_of_few_readers(pa.schema(list(alone)[n_known:]), layout, layouts, where)
        return Added(new, recorded, Told(layouts, compression, self._titles_of(new)), conformer, members)

    def add(self, added: Added) -> None:
        """Take columns that the engine has been told of for the table's."""
        self._names += added.schema.names
        self._late |= added.members

    def check_all_came(self, schema: pa.Schema | None) -> None:
        """Raise NoSuchColumnError for a column that the layout names, and that never came up.

        schema: of the table, with the members of records.
        """
        if self.may_grow:
            check_names(self._layout, self._names, self._where, self.projected)
            check_members_came(self._layout, schema, self._names, self._where, self.projected)
            settings.check_codecs_matched(self._layout.compression, self._names, self._where)
