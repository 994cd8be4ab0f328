"""Columns that say where each entry comes from: its sample, file, tree and number there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot._errors import InvalidRequestError
from arrowroot._passes.in_turn import numbers_behind
from arrowroot._passes.source import Around, Source, import_batch

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._select.entries import EntrySet
    from arrowroot._select.origins import Origin, Origins


class WithOrigin(Around[Source]):
    """A pass with columns behind its own that say where each entry comes from; texts are dictionaries of all files."""

    def __init__(
        self,
        source: Source,
        entries: EntrySet,
        origins: Origins,
        names: Iterable[Origin],
    ) -> None:
        """``entries``: what the source delivers, unless it knows better."""
        super().__init__(source)
        self.is_of_paths = True
        self._entries = entries
        self._n_delivered = 0
        self._n_last = 0
        self._origins = origins
        self._names = tuple(names)
        taken = set(source.column_names).intersection(self._names)
        if taken:
            raise InvalidRequestError(
                f"origin: there is a column {min(taken)!r} among those that are read: leave out one of the two"
            )

    @property
    def column_names(self) -> list[str]:
        return [*self._source.column_names, *self._names]

    def schema(self) -> pa.Schema:
        import pyarrow as pa

        schema = self._source.schema()
        text = pa.dictionary(pa.int32(), pa.string())
        for name in self._names:
            schema = schema.append(pa.field(name, pa.int64() if name == "entry" else text, nullable=False))
        return schema

    def next_batch(self) -> pa.RecordBatch | None:
        import pyarrow as pa

        batch = self._source.next_batch()
        if batch is None:
            return None
        ours = import_batch(batch, self._source)
        self._n_last = ours.num_rows
        self._n_delivered += ours.num_rows
        numbers = self.numbers()
        of = self._origins.numbers_of(numbers)
        columns = [*ours.columns]
        for name in self._names:
            if name == "entry":
                columns.append(pa.array(self._origins.entries_in(numbers, of)))
            else:
                texts, codes = self._origins.texts(name)
                columns.append(
                    pa.DictionaryArray.from_arrays(pa.array(codes[of]), pa.array(texts, pa.string()))
                )
        return pa.RecordBatch.from_arrays(columns, schema=self.schema())

    def numbers(self) -> npt.NDArray[np.int64]:
        """Return the numbers of the entries in the last batch."""
        return numbers_behind(self._source, self._entries, self._n_delivered, self._n_last)
