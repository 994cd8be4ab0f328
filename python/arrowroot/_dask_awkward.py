"""How dask-awkward reads a partition, and how it asks for fewer columns; imported with dask-awkward alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import awkward as ak
from dask_awkward.lib.io.columnar import ColumnProjectionMixin
from dask_awkward.lib.unproject_layout import unproject_layout

from arrowroot._arrow.convert import to_awkward

if TYPE_CHECKING:
    from awkward.forms import RecordForm

    from arrowroot._api.partitions import Partition


class Reader(ColumnProjectionMixin):  # type: ignore[misc]  # which has no types
    """Reads a piece of a tree, as a record of its columns.

    ``original``: the form before columns were taken away; what is not read stands in the array as a promise that
    nobody asks for.
    """

    behavior = None
    attrs = None
    use_optimization = True

    def __init__(self, form: RecordForm, original: RecordForm | None = None) -> None:
        self.form = form
        self.original = original or form

    def __call__(self, piece: Partition) -> ak.Array:
        """Read the columns that are left."""
        layout = to_awkward(piece.read(list(self.form.fields))).layout
        return ak.Array(unproject_layout(self.original, layout))

    def project_columns(self, columns: frozenset[str]) -> Reader:
        """Return a reader of fewer columns: whole ones, of which ``columns`` are the parts that are used."""
        kept = [
            name
            for name in self.form.fields
            if any(column == name or column.startswith(f"{name}.") for column in columns)
        ]
        # Where nothing but the number of entries is asked for, one column tells it.
        kept = kept or list(self.form.fields[:1])
        contents = [self.form.content(name) for name in kept]
        return Reader(ak.forms.RecordForm(contents, kept), self.original)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Name what is read."""
        return ("arrowroot", self.form.to_json(), self.original.to_json())
