"""Which columns of lists share a counter in a tree: as somebody says, or as their names and lengths do."""

from __future__ import annotations

import hashlib
from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from arrowroot._layout.columns import AUTO, NAMED, OWN, Matcher, is_counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arrowroot._api.tree import Tree
    from arrowroot._layout.columns import Rules

#: Key in the metadata of a field: the name of the counter that a tree had, from which the column was read.
_RECORDED = b"arrowroot:counter"


class Known(Enum):
    """The entries that are known when a table begins."""

    FIRST = "the first of a stream"
    #: Other files have the others, and are to be stored alike.
    ALL_OF_FILE = "all of a file of several"
    ALL = "all"


class _Lengths(NamedTuple):
    """The lengths of lists, or numbers that are such: as a digest, since wide tables have many."""

    digest: bytes
    has_some: bool


class _Group(NamedTuple):
    """Columns that may share a counter."""

    names: list[str]
    #: The column of integers that may count them.
    column: str | None
    #: True if a layout, or the tree that they are from, says so, and not their names alone.
    is_said: bool


def counters_of(
    schema: pa.Schema, rules: Rules[str], first: Sequence[pa.Table], known: Known
) -> list[str | None]:
    """Return the name of the counter of each column, None for one of its own.

    rules: of the layout; what they name is taken as it is. Otherwise the lists of ``Muon_pt`` and ``Muon_eta`` are
    counted by ``nMuon``, and those of ``x`` by ``nx``, or by what the tree had that they were read from: if that is a
    column of integers with the same values; without such a column, if all are of the same lengths. Of the first entries
    of a stream that says nothing unless some are not empty and there is such a column, as later entries may differ.

    first: the entries from which that is told; none: nothing is told by them.
    """
    recorded, matcher = recorded_counters(schema), Matcher(rules)
    integers = {field.name for field in schema if pa.types.is_integer(field.type) and not field.nullable}
    found: dict[str, str | None] = {}
    groups: dict[tuple[str, bool], list[str]] = {}
    for field in schema:
        name = field.name
        if not is_counted(field):
            continue
        rule = matcher.first(name, AUTO)[1]
        if rule not in (AUTO, NAMED):
            found[name] = None if rule == OWN else rule
            continue
        counter = recorded.get(name) or _named(name, integers)
        if counter is not None:
            is_said = known is not Known.ALL and (rule == NAMED or name in recorded)
            groups.setdefault((counter, is_said), []).append(name)
    if all(set(schema.names) <= set(table.schema.names) for table in first):
        for (counter, is_said), names in groups.items():
            if counter in integers or counter not in schema.names:
                group = _Group(names, counter if counter in integers else None, is_said=is_said)
                found |= dict.fromkeys(_agreeing(group, first, known), counter)
    return [found.get(name) for name in schema.names]


def _named(name: str, integers: set[str]) -> str | None:
    """Return the name of the counter that the name of a column says."""
    if f"n{name}" in integers:
        return f"n{name}"
    return f"n{name.partition('_')[0] or name}" if "_" in name.strip("_") else None


def _agreeing(group: _Group, first: Sequence[pa.Table], known: Known) -> list[str]:
    """Return those of a group whose lists have the same lengths, as far as their entries are known."""
    is_alone = group.column is None and len(group.names) == 1
    if is_alone or not first:
        return group.names if group.is_said and not is_alone else []
    if group.column is None and not group.is_said and known is not Known.ALL:
        return []
    lengths = {name: _lengths(table.column(name) for table in first) for name in group.names}
    if group.column is not None:
        same = _lengths(table.column(group.column) for table in first)
    else:
        # What differs from most has a counter of its own.
        each = list(lengths.values())
        same = max(each, key=each.count)
    is_told = group.is_said or (group.column is not None and known is not Known.FIRST)
    if same is None or not (same.has_some or is_told):
        return []
    alike = [name for name, its in lengths.items() if its == same]
    return alike if group.column is not None or len(alike) > 1 else []


def _lengths(columns: Iterable[pa.ChunkedArray]) -> _Lengths | None:
    """Return the lengths of lists, or the values of integers; None for other forms, and where some are missing."""
    import pyarrow.compute as pc

    digest, has_some = hashlib.blake2b(digest_size=16), False
    for column in columns:
        for chunk in column.chunks:
            is_list = pa.types.is_list(chunk.type) or pa.types.is_large_list(chunk.type)
            if chunk.null_count or not (is_list or pa.types.is_integer(chunk.type)):
                return None
            numbers = (pc.list_value_length(chunk) if is_list else chunk).to_numpy().astype(np.int64)
            digest.update(np.ascontiguousarray(numbers).data)
            has_some = has_some or bool(numbers.any())
    return _Lengths(digest.digest(), has_some)


def recorded_counters(schema: pa.Schema) -> dict[str, str]:
    """Return the counters by the columns whose metadata have them."""
    return {
        field.name: field.metadata[_RECORDED].decode(errors="replace")
        for field in schema
        if field.metadata and _RECORDED in field.metadata
    }


def without_counters(schema: pa.Schema) -> pa.Schema:
    """Return a schema whose metadata have no counters."""
    if not recorded_counters(schema):
        return schema
    fields = []
    for field in schema:
        kept = {key: text for key, text in (field.metadata or {}).items() if key != _RECORDED}
        fields.append(field.with_metadata(kept) if kept else field.remove_metadata())
    return pa.schema(fields, metadata=schema.metadata)


def with_counters(schema: pa.Schema, tree: Tree) -> pa.Schema:
    """Return the schema of columns of a tree, with the counters that several of them share there, or that they are."""
    counters = {branch.path: branch.counter for branch in tree.branches if branch.counter is not None}
    names = set(schema.names)
    shared = Counter(counters[name] for name in names if name in counters)
    fields = []
    for field in schema:
        counter = counters.get(field.name)
        if counter is not None and (counter in names or shared[counter] > 1):
            field = field.with_metadata({**(field.metadata or {}), _RECORDED: counter})  # noqa: PLW2901 - the same, with more
        fields.append(field)
    return pa.schema(fields, metadata=schema.metadata)
