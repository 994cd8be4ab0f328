"""The time of a job from few numbers: round trips times latency, bytes over bandwidth, and what CPU work overlaps.

    opening = trips of the protocol x latency + volume x first bytes / bandwidth
    rest    = serial x requests x latency + volume x other bytes / bandwidth
    wall    = CPU + opening + max(0, rest - overlap x CPU)

Until the first bytes are there nothing can be worked on; each protocol has its number of round trips for that.
``serial`` is the share of the requests that wait for each other. ``overlap`` is the share of the CPU time in which
bytes are on their way: 0 of an engine that reads and then works, 1 of one that reads ahead. The numbers are fitted to
all cells that were read by the same means.
"""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .cells import Cell

#: Where a storage tells no requests, one for each so many bytes is taken; the fit finds how many of them wait.
_REQUEST_BYTES = 1e6
_OVERLAPS = tuple(n / 10 for n in range(11))
#: The weight of what is usual beside one cell.
_PRIOR = 0.1
#: How often the cells that wait are looked for anew.
_N_ROUNDS = 5
_FIRST_BYTES = (0.0, *(2.5e5 * 2**n for n in range(8)))
#: Reading that takes a smaller share of the time tells nothing of a storage.
_LEAST_SHARE = 0.05
#: A storage may be so many times faster or slower than its line tells.
_MOST_FACTOR = 8.0


class Need(NamedTuple):
    """The needs of a job, behind some line."""

    busy_ns: float
    n_bytes: float
    n_requests: float
    latency_ns: float
    bytes_per_s: float
    kind: str


@dataclass(frozen=True)
class Model:
    """The numbers of one means: an engine with a strategy."""

    #: Kind of storage -> round trips until the first bytes are asked for.
    opening: dict[str, float]
    serial: float
    #: Bytes on the line for each byte that is told, over the bandwidth that one stream was measured to have.
    volume: float
    overlap: float
    first_bytes: float

    def parts_ns(self, need: Need) -> tuple[float, float]:
        """The times that opening, and reading the rest, take of themselves."""
        first = min(need.n_bytes, self.first_bytes)
        usual = statistics.median(self.opening.values())
        opening = (
            self.opening.get(need.kind, usual) * need.latency_ns
            + self.volume * first / need.bytes_per_s * 1e9
        )
        others = self.volume * (need.n_bytes - first) / need.bytes_per_s * 1e9
        return opening, self.serial * need.n_requests * need.latency_ns + others

    def wall_ns(self, need: Need, factor: float = 1.0) -> float:
        """The time of the job; ``factor``: of a storage whose reading takes longer than its line tells."""
        opening, rest = self.parts_ns(need)
        return need.busy_ns + factor * opening + max(0.0, factor * rest - self.overlap * need.busy_ns)


def need_of(cell: Cell) -> Need:
    """Return what a cell needed; bytes that its engine does not tell are those of the whole file."""
    n_bytes = cell.n_bytes if cell.n_bytes is not None else (cell.file_bytes or 0.0)
    n_requests = cell.n_requests if cell.n_requests is not None else n_bytes / _REQUEST_BYTES
    return Need(cell.busy_ns, n_bytes, n_requests, cell.latency_ns, cell.bytes_per_s, cell.kind)


def fitted(cells: Sequence[Cell]) -> Model:
    """Fit the numbers to cells that were read by the same means: least squares of the relative errors."""
    needs = [need_of(cell) for cell in cells]
    walls = np.array([cell.wall_ns for cell in cells])
    busy = np.array([need.busy_ns for need in needs])
    latency = np.array([need.latency_ns for need in needs])
    trips = np.array([need.n_requests for need in needs]) * latency
    n_bytes = np.array([need.n_bytes for need in needs])
    of_byte = 1e9 / np.array([need.bytes_per_s for need in needs])
    kinds = list(dict.fromkeys(need.kind for need in needs))
    opening = np.array([[need.kind == kind for kind in kinds] for need in needs]) * latency[:, None]
    # A grid of one line cannot tell round trips from bytes: then the bytes are those that are told.
    prior, usual = np.zeros((2, len(kinds) + 2)), np.zeros(len(kinds) + 2)
    prior[0, -1], prior[1, -2], usual[-1] = _PRIOR, _PRIOR / 10, 1.0
    best, least = Model(dict.fromkeys(kinds, 0.0), 0.0, 1.0, 0.0, 0.0), math.inf
    for first_bytes, overlap in itertools.product(_FIRST_BYTES, _OVERLAPS):
        first = np.minimum(n_bytes, first_bytes)
        hidden = overlap * busy
        waits = np.ones(len(cells), dtype=bool)
        for _ in range(_N_ROUNDS):
            # Where the work takes longer than the rest, nothing of the rest is seen.
            others = [trips * waits, np.where(waits, n_bytes, first) * of_byte]
            terms = np.column_stack([opening, *others])
            wanted = (walls - busy + hidden * waits) / walls
            numbers = _non_negative(
                np.vstack([terms / walls[:, None], prior]), np.append(wanted, prior @ usual)
            )
            *of_kinds, serial, volume = map(float, numbers)
            rest = serial * trips + volume * (n_bytes - first) * of_byte
            told = busy + opening @ of_kinds + volume * first * of_byte + np.maximum(0.0, rest - hidden)
            error = float(((told / walls - 1) ** 2).sum())
            if error < least:
                least = error
                best = Model(dict(zip(kinds, of_kinds, strict=True)), serial, volume, overlap, first_bytes)
            new = rest > hidden
            if (new == waits).all():
                break
            waits = new
    return best


def _non_negative(terms: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Least squares with numbers that are not below zero: the most negative one is set to zero until none is."""
    chosen = list(range(terms.shape[1]))
    while chosen:
        found = np.linalg.lstsq(terms[:, chosen], wanted, rcond=None)[0]
        if found.min() >= 0:
            numbers = np.zeros(terms.shape[1])
            numbers[chosen] = found
            return numbers
        del chosen[int(found.argmin())]
    return np.zeros(terms.shape[1])


def factor_of(model: Model, cells: Sequence[Cell]) -> float:
    """Return how many times longer reading from a storage takes than its line tells, from what was measured there."""
    told = []
    for cell in cells:
        need = need_of(cell)
        opening, rest = model.parts_ns(need)
        waited = cell.wall_ns - need.busy_ns
        # Where the work hides the rest of the reading nobody can see how long it takes.
        if rest > model.overlap * need.busy_ns:
            waited, opening = waited + model.overlap * need.busy_ns, opening + rest
        if opening > _LEAST_SHARE * cell.wall_ns:
            told.append(min(max(waited / opening, 1 / _MOST_FACTOR), _MOST_FACTOR))
    return statistics.median(told) if told else 1.0
