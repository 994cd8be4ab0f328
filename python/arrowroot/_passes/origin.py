"""Columns that say where each entry comes from: its sample, file, tree and number there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from arrowroot._errors import InvalidRequestError
from arrowroot._passes.in_turn import numbers_behind
from arrowroot._passes.source import import_batch
from arrowroot._render import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._cost.cost import Cost
    from arrowroot._cost.plan import Plan, ScanStats
    from arrowroot._passes.source import Source
    from arrowroot._select.entries import EntrySet
    from arrowroot._select.events import Member as TreeInARow

#: The columns that there are.
Origin: TypeAlias = Literal["sample", "file", "tree", "entry"]
_NAMES: tuple[Origin, ...] = ("sample", "file", "tree", "entry")


def chosen(given: Any) -> tuple[Origin, ...]:
    """Return the names of the columns of origin that a user wants. Raises: InvalidRequestError."""
    names: list[Any] = [given] if isinstance(given, str) else list(given or ())
    wrong = [name for name in names if name not in _NAMES]
    if wrong or len(set(names)) < len(names):
        raise InvalidRequestError(
            f"origin: expected some of {', '.join(map(repr, _NAMES))}, each once, got {shown(given)}"
        )
    return tuple(names)


class WithOrigin:
    """A pass with columns behind its own that say where each entry comes from; texts are dictionaries of all files."""

    #: As ``TreeSource``.
    is_of_paths = True

    def __init__(
        self,
        source: Source,
        entries: EntrySet,
        members: Sequence[TreeInARow],
        samples: Sequence[str],
        names: Iterable[Origin],
    ) -> None:
        """``entries``: what the source delivers, unless it knows better; ``samples``: of each member, "" for none."""
        self._source = source
        self._entries = entries
        self._n_delivered = 0
        self._n_last = 0
        self._members = members
        self._samples = samples
        self._names = tuple(names)
        self._dictionaries: dict[Origin, tuple[pa.Array, npt.NDArray[np.int32]]] = {}
        taken = set(source.column_names).intersection(self._names)
        if taken:
            raise InvalidRequestError(
                f"origin: there is a column {min(taken)!r} among those that are read: leave out one of the two"
            )

    @property
    def num_entries(self) -> int:
        return self._source.num_entries

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
        import numpy as np
        import pyarrow as pa

        batch = self._source.next_batch()
        if batch is None:
            return None
        ours = import_batch(batch, self._source)
        self._n_last = ours.num_rows
        self._n_delivered += ours.num_rows
        numbers = self.numbers()
        starts = [member.first_entry for member in self._members]
        # An empty file begins where the next one does; the last of these has the entry.
        of = np.searchsorted(starts, numbers, side="right") - 1
        columns = [*ours.columns]
        for name in self._names:
            if name == "entry":
                columns.append(pa.array(numbers - np.asarray(starts, dtype=np.int64)[of]))
            else:
                dictionary, codes = self._dictionary(name)
                columns.append(pa.DictionaryArray.from_arrays(pa.array(codes[of]), dictionary))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema())

    def numbers(self) -> npt.NDArray[np.int64]:
        """Return the numbers of the entries in the last batch."""
        return numbers_behind(self._source, self._entries, self._n_delivered, self._n_last)

    def _dictionary(self, name: Origin) -> tuple[pa.Array, npt.NDArray[np.int32]]:
        """Return the texts that all members have, each once, and which of them each has."""
        import numpy as np
        import pyarrow as pa

        if name not in self._dictionaries:
            texts = (
                self._samples if name == "sample" else [_text_of(name, member) for member in self._members]
            )
            numbers: dict[str, int] = {}
            codes = [numbers.setdefault(text, len(numbers)) for text in texts]
            self._dictionaries[name] = pa.array(list(numbers), pa.string()), np.array(codes, dtype=np.int32)
        return self._dictionaries[name]

    def place(self) -> str:
        return self._source.place()

    def plan(self) -> Plan:
        return self._source.plan()

    def stats(self) -> ScanStats:
        return self._source.stats()

    def cost(self) -> Cost:
        return self._source.cost()

    def cancel(self) -> None:
        self._source.cancel()


def _text_of(name: Origin, member: TreeInARow) -> str:
    return member.url if name == "file" else member.path
