"""The samples there are, and their entries, step by step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from arrowroot._errors import InvalidRequestError, nearest
from arrowroot._sample import aod, d3pd, nanoaod

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    import pyarrow as pa

#: Entries of a step, which is drawn at once: an entry is the same however many there are.
STEP = 5_000
_KINDS: dict[str, ModuleType] = {"nanoaod": nanoaod, "d3pd": d3pd, "aod": aod}


class Sample(NamedTuple):
    """A kind of sample, with its seed and its number of entries."""

    kind: str
    n_entries: int
    seed: int

    @property
    def tree(self) -> str:
        """The usual name of the tree."""
        name: str = _KINDS[self.kind].TREE
        return name

    @property
    def n_steps(self) -> int:
        """The number of its batches."""
        return math.ceil(self.n_entries / STEP)

    @property
    def stored_bytes(self) -> float:
        """About so many bytes it has in a tree with the default compression."""
        size: float = _KINDS[self.kind].STORED_BYTES
        return self.n_entries * size

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield its entries; those of the same kind and seed are the same on every machine."""
        make = _KINDS[self.kind].entries
        for step in range(self.n_steps):
            batch: pa.RecordBatch = make(self.seed, step, STEP)
            yield batch.slice(0, self.n_entries - step * STEP)


def kinds() -> list[str]:
    """Return the names of the samples."""
    return list(_KINDS)


def sample_of(
    kind: str, *, seed: int = 1, n_entries: int | None = None, n_bytes: int | None = None
) -> Sample:
    """Return a sample of so many entries, or of about so many bytes in a tree with ROOT's zstd 5.

    Raises: InvalidRequestError for a kind that there is not.
    """
    if kind not in _KINDS:
        near = nearest(kind, _KINDS)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InvalidRequestError(f"there is no sample {kind!r}, but {', '.join(_KINDS)}{hint}")
    if n_entries is None:
        n_entries = max(1, round((n_bytes or 0) / _KINDS[kind].STORED_BYTES))
    return Sample(kind, n_entries, seed)
