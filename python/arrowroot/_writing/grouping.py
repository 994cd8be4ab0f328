"""Flat columns that become records: ``Muon_pt`` and ``Muon_eta`` are members of ``Muon``, as a layout says.

The first entries decide which do; what comes later and does not fit is an error.
"""

from __future__ import annotations

import threading
from itertools import chain, dropwhile, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from arrowroot._errors import InvalidRequestError
from arrowroot._layout.columns import NAMED, OWN, Matcher, is_counted
from arrowroot._writing.counters import recorded_counters
from arrowroot._writing.typed import GivenSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from arrowroot._layout.columns import Rules
    from arrowroot._writing.data import Part


class _Group(NamedTuple):
    """A record of one value in each entry, or a list of records, and the columns that are its members."""

    name: str
    #: By the names of the columns.
    members: dict[str, str]
    is_list: bool


class Grouping:
    """Which columns become records."""

    def __init__(self, groups: list[_Group], counters: Mapping[str, str], where: str) -> None:
        """``counters``: the columns that are left out, as they count the lists of another: by their names."""
        self._groups = groups
        self._counters = counters
        self._where = where

    @property
    def columns(self) -> set[str]:
        """The columns that are there no more."""
        return {*self._counters, *(name for group in self._groups for name in group.members)}

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of the columns with records, each in the place of its first member."""
        return pa.schema([field for field, _, _ in self._fields(schema)], metadata=schema.metadata)

    def unsaid(self, schema: pa.Schema) -> pa.Schema:
        """Return the same of a schema that is nullable where nobody has said it, as nobody has of the records."""
        fields = [field if group is None else _nullable(field) for field, group, _ in self._fields(schema)]
        return pa.schema(fields)

    def part(self, part: Part, entry: int) -> Part:
        """Return data with records instead of the columns; as they are, if they have the records. ``entry``: the first.

        Raises: InvalidRequestError for lists that differ.
        """
        if self.columns.isdisjoint(part.schema.names):
            return part
        if part.table is None:
            batches = self._batches(part.batches, entry)
            return part._replace(schema=self.schema(part.schema), batches=batches)
        schema = self.schema(part.table.schema)
        table = pa.Table.from_batches(self._batches(iter(part.table.to_batches()), entry), schema)
        return part._replace(
            schema=table.schema,
            batches=iter(table.to_batches()),
            table=table,
            exact=self._names(part.exact, every=True),
            wide=self._names(part.wide, every=False),
        )

    def _names(self, columns: frozenset[str], *, every: bool) -> frozenset[str]:
        """Return some columns with the records all of whose members, or one, are among them."""
        has = all if every else any
        groups = (group.name for group in self._groups if has(name in columns for name in group.members))
        return columns.union(groups)

    def _fields(self, schema: pa.Schema) -> Iterator[tuple[pa.Field, _Group | None, str]]:
        """Yield the fields with records, what is in them, and the first column of each."""
        of_column = {name: group for group in self._groups for name in group.members}
        gone = self.columns
        for field in schema:
            group = of_column.get(field.name)
            if group is None:
                if field.name not in gone:
                    yield field, None, field.name
            elif field.name == next(iter(group.members)):
                members = [
                    _member(schema, name, member, is_list=group.is_list)
                    for name, member in group.members.items()
                ]
                record = pa.struct(members)
                kind = pa.list_(pa.field("item", record, nullable=False)) if group.is_list else record
                yield pa.field(group.name, kind, nullable=False), group, field.name

    def _batches(self, batches: Iterator[pa.RecordBatch], entry: int) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self._check(batch, entry)
            fields, arrays = [], []
            for field, group, name in self._fields(batch.schema):
                fields.append(field)
                arrays.append(batch.column(name) if group is None else _grouped(batch, field.type, group))
            yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, metadata=batch.schema.metadata))
            entry += batch.num_rows

    def _check(self, batch: pa.RecordBatch, entry: int) -> None:
        """Raise InvalidRequestError for a column that is not there, and lists that have not one length."""
        missing = self.columns - set(batch.schema.names)
        if missing:
            raise InvalidRequestError(f"{self._where}: the data lack {min(missing)!r}, which the table has")
        for group in self._groups:
            first = next(iter(group.members))
            if group.is_list:
                for name in group.members:
                    self._check_lengths(batch, name, first, entry)
        for counter, name in self._counters.items():
            self._check_lengths(batch, counter, name, entry)

    def _check_lengths(self, batch: pa.RecordBatch, name: str, first: str, entry: int) -> None:
        one, other = _lengths(batch.column(name)), _lengths(batch.column(first))
        if one is None or other is None:
            raise InvalidRequestError(f"{self._where}: columns {name!r} and {first!r}: a list is missing")
        differing = np.flatnonzero(one != other)
        if len(differing):
            place = int(differing[0])
            raise InvalidRequestError(
                f"{self._where}: column {name!r}, entry {entry + place}: {one[place]}, where the list of {first!r} has "
                f"{other[place]}: they become members of a record (records={{{name!r}: 'own'}} leaves it out)"
            )


class LearntGrouping:
    """Which columns of a table become records, once a schema or the first entries tell. Several threads may ask."""

    def __init__(self, rules: Rules[str], where: str) -> None:
        """``rules``: of the layout; without any, none becomes one."""
        self._rules = rules
        self._where = where
        self._found: Grouping | None = None
        #: True once entries have told it: without any found, no column becomes a record later.
        self._is_decided = False
        self._lock = threading.RLock()

    @property
    def columns(self) -> set[str]:
        """The columns that are there no more."""
        return set() if self._found is None else self._found.columns

    def given(self, given: GivenSchema) -> GivenSchema:
        """Return the schema that a user gives for the table with records instead of columns."""
        self._found = found = grouping_of(self._rules, given.schema, None, self._where)
        if found is None:
            return given
        unsaid = None if given.unsaid is None else found.unsaid(given.unsaid)
        return GivenSchema(found.schema(given.schema), unsaid)

    def part(self, part: Part, n_entries: int, is_known: Callable[[], bool]) -> Part:
        """Return data with records instead of columns.

        n_entries: of the table so far. is_known: whether its columns are; another thread may have begun it meanwhile.

        Raises: InvalidRequestError for lists of different lengths that are to be members of one record.
        """
        if not self._rules:
            return part
        with self._lock:
            if not self._is_decided and self._found is None and not is_known():
                first = part.table
                if first is None:
                    drawn = list(islice(dropwhile(lambda batch: not batch.num_rows, part.batches), 1))
                    part = part._replace(batches=chain(drawn, part.batches))
                    first = pa.Table.from_batches(drawn, part.schema) if drawn else None
                self._found = grouping_of(self._rules, part.schema, first, self._where)
                self._is_decided = first is not None and first.num_rows > 0
        return part if self._found is None else self._found.part(part, n_entries)


def grouping_of(rules: Rules[str], schema: pa.Schema, first: pa.Table | None, where: str) -> Grouping | None:
    """Return which columns of a schema become records; None if none does.

    rules: of the layout. "named" makes a collection of lists that are called alike and of one counter (``nMuon``), or
        of one length in the first entries, and a record of other columns that are called alike, where no column has
        the name.
    first: the first entries; None if they are not known.
    """
    matcher = Matcher(rules)
    named: dict[tuple[str, bool], dict[str, str]] = {}
    said: dict[str, dict[str, str]] = {}
    lists = {field.name for field in schema if _is_list(field, first)}
    for name in schema.names:
        rule = matcher.first(name, OWN)[1]
        record, _, member = name.partition("_")
        if rule not in (OWN, NAMED):
            said.setdefault(rule, {})[name] = name.removeprefix(f"{rule}_")
        elif rule == NAMED and record and member and record not in schema.names:
            named.setdefault((record, name in lists), {})[name] = member
    groups = [_said_group(record, members, lists, where) for record, members in said.items()]
    for (record, is_list), members in named.items():
        if is_list:
            found = _of_one_length(record, members, schema, first)
        else:
            found = members if (record, True) not in named else {}
        if found:
            groups.append(_Group(record, found, is_list))
    counters = {f"n{group.name}": next(iter(group.members)) for group in groups if group.is_list}
    counters |= {f"n{name}": name for name in lists if matcher.first(name, OWN)[1] == NAMED}
    counters = {name: of for name, of in counters.items() if _counts(name, of, schema, first)}
    return Grouping(groups, counters, where) if groups or counters else None


def _said_group(record: str, members: dict[str, str], lists: set[str], where: str) -> _Group:
    n_lists = len(lists.intersection(members))
    if n_lists not in (0, len(members)):
        raise InvalidRequestError(
            f"{where}: records: {', '.join(map(repr, members))} cannot all be members of {record!r}: some are lists"
        )
    return _Group(record, members, n_lists > 0)


def _of_one_length(
    record: str, members: dict[str, str], schema: pa.Schema, first: pa.Table | None
) -> dict[str, str]:
    """Return the members of a collection whose lists have one length, as far as that is known."""
    counters = recorded_counters(schema)
    counter = f"n{record}"
    is_told = counter in schema.names or all(counters.get(name) == counter for name in members)
    if first is None or not first.num_rows:
        return members if is_told else {}
    lengths = {name: _digest(first, name) for name in members}
    each = list(lengths.values())
    same = _digest(first, counter) if _is_integer(schema, counter) else max(each, key=each.count)
    found = {name: member for name, member in members.items() if lengths[name] == same}
    return found if is_told or len(found) > 1 else {}


def _counts(counter: str, name: str, schema: pa.Schema, first: pa.Table | None) -> bool:
    """Return whether a column counts the lists of another, as far as that is known."""
    if not _is_integer(schema, counter):
        return False
    return first is None or _digest(first, counter) == _digest(first, name)


def _is_integer(schema: pa.Schema, name: str) -> bool:
    return name in schema.names and bool(pa.types.is_integer(schema.field(name).type))


def _is_list(field: pa.Field, first: pa.Table | None) -> bool:
    """Return whether a column has lists of numbers or records, none of which is missing, as far as that is known."""
    if first is not None and first.column(field.name).null_count == 0:
        field = field.with_nullable(False)
    return is_counted(field)


def _digest(table: pa.Table, name: str) -> bytes | None:
    lengths = [_lengths(chunk) for chunk in table.column(name).chunks]
    if any(one is None for one in lengths):
        return None
    return np.concatenate([np.zeros(0, np.int64), *(one for one in lengths if one is not None)]).tobytes()


def _lengths(array: pa.Array) -> np.ndarray | None:
    """Return the lengths of lists, or the values of integers; None where some are missing."""
    import pyarrow.compute as pc

    if array.null_count:
        return None
    numbers = array if pa.types.is_integer(array.type) else pc.list_value_length(array)
    return np.asarray(numbers.to_numpy(zero_copy_only=False)).astype(np.int64)


def _member(schema: pa.Schema, name: str, member: str, *, is_list: bool) -> pa.Field:
    field = schema.field(name)
    return (field.type.value_field if is_list else field).with_name(member).remove_metadata()


def _nullable(record: pa.Field) -> pa.Field:
    """Return a record, or a list of them, that may be missing."""
    if pa.types.is_list(record.type):
        record = record.with_type(pa.list_(record.type.value_field.with_nullable(True)))
    return record.with_nullable(True)


def _grouped(batch: pa.RecordBatch, kind: pa.DataType, group: _Group) -> pa.Array:
    """Return the records of a batch."""
    record = kind.value_type if group.is_list else kind
    arrays = [batch.column(name) for name in group.members]
    if not group.is_list:
        return pa.StructArray.from_arrays(arrays, fields=list(record))
    lengths = _lengths(arrays[0])
    assert lengths is not None  # noqa: S101 - no list is missing: they were compared
    ends = np.zeros(batch.num_rows + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    if ends[-1] > np.iinfo(np.int32).max:
        raise InvalidRequestError(f"records of {group.name!r}: more than 2^31 in one batch")
    items = pa.StructArray.from_arrays([array.flatten() for array in arrays], fields=list(record))
    offsets = pa.py_buffer(ends.astype(np.int32))
    return pa.Array.from_buffers(kind, batch.num_rows, [None, offsets], null_count=0, children=[items])
