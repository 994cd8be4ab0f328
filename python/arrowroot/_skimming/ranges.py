"""Attribute sets of RNTuples on their way to outputs: values of ranges of entries, of which some are left."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from arrowroot._api.attributes import RANGE_COLUMNS
from arrowroot._errors import ArrowrootError, CorruptFileError
from arrowroot._writing.attributes import OWN_SET
from arrowroot._writing.texts import fault_of_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from arrowroot._api.attributes import AttributeSet
    from arrowroot._api.tree import Tree

    Numbers = npt.NDArray[np.int64]


class Annotation(NamedTuple):
    """Rows of an attribute set on their way: ranges of the entries that its input gives to the outputs."""

    #: The path of the table, and the name of the set.
    table: str
    name: str
    rows: pa.Table
    #: The number of the output that they go to; None: all of them.
    output: int | None


def sets_of(tree: Tree) -> tuple[dict[str, AttributeSet], list[tuple[str, str]]]:
    """Return the attribute sets of a tree by their names, and those that cannot be read, with the reasons."""
    sets, left_out = {}, []
    for name in tree.attribute_sets:
        if name == OWN_SET:
            continue
        fault = fault_of_name(name)
        if fault is not None:
            left_out.append((name, fault))
            continue
        try:
            found = tree.attributes[name]
            _ = found.schema
            sets[name] = found
        except ArrowrootError as error:
            left_out.append((name, str(error)))
    return sets, left_out


def rows_of(found: AttributeSet, tree: Tree) -> pa.Table:
    """Read an attribute set. Raises: CorruptFileError for ranges of entries that the tree does not have."""
    rows = found.to_arrow()
    first, n_entries = _ranges(rows)
    if (first > tree.num_entries).any() or (n_entries > tree.num_entries - first).any():
        raise CorruptFileError(
            f"{tree.location}: attribute set {found.name!r} has ranges beyond its {tree.num_entries} entries"
        )
    fields = [pa.field(name, pa.uint64(), nullable=False) for name in RANGE_COLUMNS]
    return pa.Table.from_arrays(rows.columns, schema=pa.schema([*fields, *found.schema]))


def _ranges(rows: pa.Table) -> Iterator[npt.NDArray[np.uint64]]:
    return (rows.column(name).to_numpy() for name in RANGE_COLUMNS)


def with_ranges(rows: pa.Table, first: Numbers, n_entries: Numbers) -> pa.Table:
    """Return an attribute set with other ranges."""
    for index, numbers in enumerate((first, n_entries)):
        rows = rows.set_column(index, rows.schema.field(index), pa.array(numbers.astype(np.uint64)))
    return rows


def moved(rows: pa.Table, first_entry: int) -> pa.Table:
    """Return an attribute set of entries that begin at another one."""
    first, n_entries = (one.astype(np.int64) for one in _ranges(rows))
    return with_ranges(rows, first + first_entry, n_entries)


class Left:
    """The entries of an input that are left for each output, as far as ranges of them need it.

    They come in order, so those that are left of a range are a range again.
    """

    def __init__(self, sets: Mapping[str, pa.Table], n_outputs: int, first_entry: int) -> None:
        """``first_entry``: of those that are looked at."""
        ends = [np.zeros(0, np.int64)]
        for rows in sets.values():
            first, n_entries = (one.astype(np.int64) for one in _ranges(rows))
            ends += [first, first + n_entries]
        #: Where ranges begin and end, and how many entries before that go to each output.
        self._ends = np.unique(np.concatenate(ends))
        self.before = np.zeros((n_outputs, len(self._ends)), np.int64)
        self._next = first_entry
        self._n_left = np.zeros(n_outputs, np.int64)

    def count(self, wanted: npt.NDArray[np.bool_]) -> None:
        """Count the next entries: which outputs want them, shape (n_outputs, n_entries)."""
        stop = self._next + wanted.shape[1]
        first, last = np.searchsorted(self._ends, [self._next, stop])
        n_before: Numbers = np.cumsum(wanted, axis=1) - wanted
        self.before[:, first:last] = self._n_left[:, None] + n_before[:, self._ends[first:last] - self._next]
        self._n_left += np.count_nonzero(wanted, axis=1)
        self.before[:, last:] = self._n_left[:, None]
        self._next = stop

    def count_all(self, n_entries: int) -> None:
        """Count entries that all outputs want."""
        self.before[:] = np.clip(self._ends - self._next, 0, n_entries)

    def of(self, rows: pa.Table, output: int) -> pa.Table:
        """Return an attribute set for an output, without the ranges of which no entry is left."""
        first, n_entries = (one.astype(np.int64) for one in _ranges(rows))
        start, stop = (
            self.before[output][np.searchsorted(self._ends, end)] for end in (first, first + n_entries)
        )
        is_left = (stop > start) | (n_entries == 0)
        return with_ranges(rows, start, stop - start).filter(pa.array(is_left))
