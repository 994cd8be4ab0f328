"""Attribute sets of an RNTuple: values that are said of ranges of its entries."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from arrowroot._errors import InvalidRequestError, NoSuchKeyError
from arrowroot._render import printable
from arrowroot._sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from arrowroot._api.tree import Tree

#: Columns of a set: a range, and a record of the values. Source: ``RNTupleAttrUtils.hxx`` (ROOT 6.40).
STORED_COLUMNS = _START, _LENGTH, _VALUES = "_rangeStart", "_rangeLen", "_userData"
#: Names of the columns of ranges in a table.
RANGE_COLUMNS = ("first_entry", "n_entries")


class AttributeSet:
    """Values that are said of ranges of entries: ``tree.attributes[name]`` is one; it reads when it is asked.

    >>> notes = annotated.attributes["lumi"]
    >>> notes.schema.names, notes.ranges
    (['run', 'lumi'], [range(0, 60), range(60, 100)])
    >>> notes.at(70).to_pydict()
    {'first_entry': [60], 'n_entries': [40], 'run': [2], 'lumi': [7.5]}
    """

    def __init__(self, name: str, tree: Tree) -> None:
        """``tree``: the set as a tree."""
        self.name = name
        self._tree = tree

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the values."""
        import pyarrow as pa

        record = self._tree.schema.field(_VALUES).type
        return pa.schema([record.field(index) for index in range(record.num_fields)])

    @property
    def num_ranges(self) -> int:
        """Number of ranges, as its metadata tell it."""
        return self._tree.num_entries

    @cached_property
    def _table(self) -> pa.Table:
        import pyarrow as pa

        read = self._tree.to_arrow([_START, _LENGTH, _VALUES])
        values = read[_VALUES].combine_chunks()
        arrays = [read[_START], read[_LENGTH], *values.flatten()]
        return pa.table(arrays, names=[*RANGE_COLUMNS, *self.schema.names])

    @property
    def ranges(self) -> list[range]:
        """The ranges of entries, in the order in which they were written; they may overlap."""
        first, n_entries = (self._table.column(index).to_pylist() for index in range(2))
        return [range(start, start + n) for start, n in zip(first, n_entries, strict=True)]

    def to_arrow(self) -> pa.Table:
        """Return all of it: ``first_entry`` and ``n_entries`` of each range, and a column for each value.

        >>> annotated.attributes["lumi"].to_arrow().num_rows
        2
        """
        return self._table

    def at(self, entry: int) -> pa.Table:
        """Return what is said of an entry: the rows whose ranges have it.

        >>> annotated.attributes["lumi"].at(99)["run"].to_pylist()
        [2]
        """
        import pyarrow as pa

        return self._table.filter(pa.array([entry in one for one in self.ranges], pa.bool_()))

    def __repr__(self) -> str:
        names = ", ".join(printable(name) for name in self.schema.names)
        return f"<AttributeSet {self.name!r}: {counted(self.num_ranges, 'range')}; {names}>"


class AttributeSets(Mapping[str, AttributeSet]):
    """The attribute sets of a tree by name; each is opened when it is asked for.

    >>> list(annotated.attributes)
    ['lumi']
    """

    def __init__(self, tree: Tree) -> None:
        """Open nothing yet."""
        self._tree = tree

    def __getitem__(self, name: str) -> AttributeSet:
        if name not in self._tree.attribute_sets:
            where = f"{self._tree.location}: no attribute set {name!r}"
            raise NoSuchKeyError(where, name, [], known=self._tree.attribute_sets)
        found = self._tree.attribute_set(name)
        if not {_START, _LENGTH, _VALUES} <= set(found.column_names):
            raise InvalidRequestError(
                f"{found.location}: it has other columns than ranges and values: tree.attribute_set({name!r})"
            )
        return AttributeSet(name, found)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tree.attribute_sets)

    def __len__(self) -> int:
        return len(self._tree.attribute_sets)

    def __repr__(self) -> str:
        return f"<AttributeSets of {self._tree.path!r}: {', '.join(map(printable, self))}>"
