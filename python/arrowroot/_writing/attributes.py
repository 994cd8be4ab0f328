"""Attribute sets of an RNTuple being written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from arrowroot._api.attributes import RANGE_COLUMNS, STORED_COLUMNS
from arrowroot._arrow.flags import with_flags_of
from arrowroot._errors import InvalidRequestError
from arrowroot._render import shown
from arrowroot._writing.conformer import Conformer
from arrowroot._writing.data import parts_of
from arrowroot._writing.schema import checked_schema, schema_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from arrowroot import _native
    from arrowroot._writing.data import TableData
    from arrowroot._writing.schema import SchemaLike

#: The name of the set that this library writes itself.
OWN_SET = "ARROW"
_RANGE = [pa.field(name, pa.uint64(), nullable=False) for name in RANGE_COLUMNS]


class AttributeWriter:
    """An attribute set being written: ``TableWriter.attributes`` makes it. It is kept in memory until the table ends.

    >>> with ar.create("new.root") as new, new.tree("t", layout="rntuple") as table:
    ...     lumi = table.attributes("lumi", {"run": "int32", "lumi": "float64"})
    ...     table.append({"x": np.arange(100)})
    ...     lumi.add(range(0, 100), {"run": 1, "lumi": 12.5})
    """

    def __init__(self, name: str, values: SchemaLike, where: str, n_entries: Callable[[], int]) -> None:
        """``values``: their schema; ``n_entries``: tells how many entries the table has."""
        self._name = name
        self._where = f"{where}: attribute set {name!r}"
        self._values = checked_schema(schema_of(values), self._where)
        for field in self._values:
            if field.name in RANGE_COLUMNS:
                raise InvalidRequestError(f"{self._where}: {field.name!r} is what its ranges are called")
        self._conformer = Conformer(pa.schema([*_RANGE, *self._values]), self._where)
        self._n_entries = n_entries
        self._batches: list[pa.RecordBatch] = []

    @property
    def num_ranges(self) -> int:
        """Number of ranges so far."""
        return sum(batch.num_rows for batch in self._batches)

    def add(self, entries: object, values: Mapping[str, Any]) -> None:
        """Say values of a range of entries, which the table has: ``range(first, stop)``.

        Raises: InvalidRequestError for other entries, and values of other names and types.
        """
        if not isinstance(entries, range) or entries.step != 1:
            raise InvalidRequestError(f"{self._where}: expected range(first, stop), got {shown(entries)}")
        row = dict(zip(RANGE_COLUMNS, ([entries.start], [max(0, len(entries))]), strict=True))
        self.append({**row, **{name: [value] for name, value in values.items()}})

    def append(self, data: TableData) -> None:
        """Say values of several ranges: columns ``first_entry`` and ``n_entries``, and one for each value.

        Raises: as :meth:`add`.
        """
        n_known = self.num_ranges
        taken: list[pa.RecordBatch] = []
        for part in parts_of(data, self._where, copied=True):
            for batch in part.batches:
                self._conformer.check(batch, n_known)
                # The engine checks types of values; those of ranges are looked at here.
                conformed = self._conformer.batches(batch, n_known, exactly=True)
                taken += (with_flags_of(one, self._conformer.schema) for one in conformed)
        n_all = self._n_entries()
        for batch in taken:
            for first, n in zip(*(batch.column(name).to_pylist() for name in RANGE_COLUMNS), strict=True):
                if first + n > n_all:
                    raise InvalidRequestError(
                        f"{self._where}: entries {first} to {first + n}, where the table has {n_all} so far"
                    )
        self._batches += taken

    def _write(self, table: _native.TableWriter) -> None:
        """Write it beside the table."""
        native = table.attribute_set(self._name, self._values)
        types = [pa.uint64(), pa.uint64(), pa.struct(list(self._values))]
        fields = [pa.field(*one, nullable=False) for one in zip(STORED_COLUMNS, types, strict=True)]
        whole = Conformer(pa.schema(fields), self._where)
        for batch in self._batches:
            values = pa.StructArray.from_arrays(batch.columns[2:], fields=list(self._values))
            one = pa.RecordBatch.from_arrays([*batch.columns[:2], values], schema=whole.schema)
            native.append(one, whole.text_bytes(one))
        native.close()
