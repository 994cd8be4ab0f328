"""ROOT 2009: the published figures, and the two files that are made of them. Megabytes are 10^6 bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arrowroot_lab.classics.study import definition
from arrowroot_lab.classics.traces import Numbers, Trace

_THEN = definition("root-2009")["published"]
#: The figures that TTreePerfStats printed of each layout.
STATS = {
    layout: dict(zip(_THEN["stats"], _THEN[layout], strict=True)) for layout in ("unoptimised", "optimised")
}
UNOPTIMISED, OPTIMISED = STATS.values()
N_LEAVES, READ_AHEAD_BYTES = 9_705, 256 << 10
#: A mark in the picture of overlapping reads.
SPAN_BYTES = 100e6

#: Ours: what a read cost on that disk. 1,328,586 reads and 521 both follow from it.
LATENCY_NS, BYTES_PER_S = 420_000, 70e6
#: Bytes of the cache; a cluster is what ROOT flushes by default.
CACHE_BYTES, CLUSTER_BYTES = 60_000_000, 30_000_000
#: Ours: the axis of entries has no numbers in what is left of the talk.
N_ENTRIES = 6_000
#: How differently branches fill: chosen so that what one entry needs spans what the talk marks.
SPREAD = 0.7
#: readfile.C skips an entry if a random number is above that.
ENTRY_SHARE = 0.33


@dataclass(frozen=True)
class File:
    """A layout of the file: the job that reads all of it entry by entry, and what its baskets hold."""

    trace: Trace
    #: Behind the last entry of each basket, in the order of the trace.
    end_entries: Numbers
    #: First entries of clusters; the whole file is one if it is never flushed.
    clusters: Numbers

    def span_bytes(self, n_samples: int = 40) -> int:
        """How far what one entry needs lies apart: the median over entries that are spread over the file."""
        trace = self.trace
        spans = []
        for entry in (np.arange(n_samples) + 0.5) * trace.n_entries / n_samples:
            in_hand = trace.offsets[(trace.first_entries <= entry) & (self.end_entries > entry)]
            spans.append(int(in_hand.max() - in_hand.min()))
        return int(np.median(spans))

    def needed_by(self, picked: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return which baskets hold an entry that is picked."""
        before = np.concatenate([[0], np.cumsum(picked)])
        return np.asarray(before[self.end_entries] > before[self.trace.first_entries])


def unoptimised(scale: float = 1.0) -> File:
    """The file of 2009: each branch writes a basket of 3 kB, 0.95 kB compressed, when it is full."""
    n_entries = _n_entries(scale)
    n_baskets = max(N_LEAVES, round(UNOPTIMISED["n_reads"] * scale))
    counts = 1 + _shares(_weights(), n_baskets - N_LEAVES)
    branches = np.repeat(np.arange(N_LEAVES), counts)
    place = np.arange(n_baskets) - np.repeat(np.cumsum(counts) - counts, counts)
    # The last basket of a branch is not full.
    steps = n_entries / (counts - np.random.default_rng(2).random(N_LEAVES))
    firsts, ends = (np.floor(number * steps[branches]).astype(np.int64) for number in (place, place + 1))
    ends[place == counts[branches] - 1] = n_entries
    return _file(UNOPTIMISED, scale, _Baskets(firsts, ends, branches), np.array([0]))


def optimised(scale: float = 1.0) -> File:
    """The same flushed every 30 MB: each branch writes one basket then, as OptimizeBaskets makes room for it."""
    n_clusters = max(1, round(OPTIMISED["read_mb"] * 1e6 * scale / CLUSTER_BYTES))
    bounds = np.arange(n_clusters + 1) * _n_entries(scale) // n_clusters
    branches = np.tile(np.arange(N_LEAVES), n_clusters)
    firsts, ends = (np.repeat(bounds[part], N_LEAVES) for part in (slice(None, -1), slice(1, None)))
    return _file(OPTIMISED, scale, _Baskets(firsts, ends, branches), bounds[:-1])


class _Baskets(NamedTuple):
    """Baskets, branch by branch or cluster by cluster. Arrays of equal length."""

    first_entries: Numbers
    end_entries: Numbers
    branches: Numbers


def _n_entries(scale: float) -> int:
    return max(100, round(N_ENTRIES * scale))


def _weights() -> npt.NDArray[np.float64]:
    """How many bytes of an entry each branch has, as shares; the same in both files."""
    raw = np.random.default_rng(3).lognormal(0.0, SPREAD, N_LEAVES)
    return np.asarray(raw / raw.sum())


def _shares(weights: npt.NDArray[np.float64], total: int) -> Numbers:
    """Return whole numbers that are as weights, and make ``total`` together."""
    ends = np.round(np.cumsum(weights) * total).astype(np.int64)
    return np.diff(np.concatenate([[0], ends]))


def _file(stats: dict[str, Any], scale: float, baskets: _Baskets, clusters: Numbers) -> File:
    """Lay baskets out as they are written: by their last entry, then by branch. The job needs them by their first."""
    firsts, ends, branches = baskets
    noise = np.random.default_rng(1).lognormal(0.0, 0.1, len(firsts))
    raw = _weights()[branches] * (ends - firsts) * noise
    sizes = 1 + _shares(raw / raw.sum(), round(stats["read_mb"] * 1e6 * scale) - len(raw))
    written = np.lexsort((branches, ends))
    offsets = np.empty(len(sizes), np.int64)
    offsets[written] = np.concatenate([[0], np.cumsum(sizes[written])[:-1]])
    needed = np.lexsort((branches, firsts))
    trace = Trace(
        offsets[needed],
        sizes[needed],
        firsts[needed],
        branches[needed],
        int(sizes.sum()),
        _n_entries(scale),
        round(stats["cpu_s"] * 1e9 * scale),
    )
    return File(trace, ends[needed], clusters)
