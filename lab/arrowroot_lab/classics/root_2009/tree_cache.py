"""ROOT's tree cache before a local file: which reads its fills make, and what they cost on a line.

arrowroot's own tree cache is replayed besides; but its windows have at most 32 MB, and the talk's cache has 60 MB.
Rules: ``TTreeCache::FillBuffer`` (all baskets that begin among the next entries, as many entries as the cache holds on
average, whole clusters if there are some), ``TFileCacheRead::Sort`` (in the order of the file; what touches is one
block of some 16 MB), ``TFile::ReadBuffers`` (blocks that end within the read-ahead are one read, with what lies between
them).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from arrowroot_lab.classics.traces import Numbers
    from arrowroot_lab.classics.virtual import Line

    from .published import File

#: A block that is larger takes no more baskets.
_BLOCK_BYTES = 16_000_000


@dataclass(frozen=True)
class Reads:
    """Reads in their order; arrays of equal length."""

    #: The entry that was being read.
    entries: Numbers
    offsets: Numbers
    sizes: Numbers
    #: To which fill each belongs, from 0 on.
    fills: Numbers
    #: CPU time of the job, by fill; the baskets of a fill have their even part.
    work_ns: Numbers
    asked_bytes: int

    def loads_ns(self, line: Line, *, is_vector: bool) -> Numbers:
        """Return how long each fill takes: a latency for each read, or, of a vector read, for each fill."""
        n_fills = len(self.work_ns)
        n_bytes = np.bincount(self.fills, self.sizes, n_fills)
        n_reads = np.ones(n_fills) if is_vector else np.bincount(self.fills, minlength=n_fills)
        return np.round(n_reads * line.latency_ns + n_bytes / line.bytes_per_s * 1e9).astype(np.int64)


def without(file: File) -> Reads:
    """Return the reads without a cache: each basket is one, when it is needed."""
    trace, n = file.trace, len(file.trace)
    ends = np.round(np.arange(n + 1) / n * trace.work_ns).astype(np.int64)
    works = ends[1:] - ends[:-1]
    return Reads(trace.first_entries, trace.offsets, trace.sizes, np.arange(n), works, trace.asked_bytes)


def reads(file: File, cache_bytes: int, read_ahead_bytes: int) -> Reads:
    """Return the reads with a cache of a size; 0: without one."""
    if cache_bytes == 0:
        return without(file)
    trace = file.trace
    bounds = _fill_bounds(file, cache_bytes)
    # Baskets are in the order of need, so those of a fill are neighbours.
    edges = np.searchsorted(trace.first_entries, bounds)
    parts: list[tuple[Numbers, Numbers, Numbers, Numbers]] = []
    works: list[int] = []
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if begin == end:
            continue
        begins, ends = _blocks(trace.offsets[begin:end], trace.sizes[begin:end])
        read_begins, read_ends = _joined(begins, ends, read_ahead_bytes)
        entry, fill = (np.full(len(read_begins), value) for value in (trace.first_entries[begin], len(works)))
        parts.append((entry, read_begins, read_ends - read_begins, fill))
        works.append((end - begin) * trace.work_ns // len(trace))
    entries, offsets, sizes, fills = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Reads(entries, offsets, sizes, fills, np.array(works, np.int64), trace.asked_bytes)


def _fill_bounds(file: File, cache_bytes: int) -> Numbers:
    """At which entries the cache is filled; and the last one."""
    n_entries = file.trace.n_entries
    bounds = np.append(file.clusters, n_entries)
    if len(file.clusters) == 1:
        step = max(1, int(n_entries * cache_bytes / file.trace.file_bytes))
        return np.append(np.arange(0, n_entries, step), n_entries)
    n_at_a_time = max(1, int(cache_bytes * len(file.clusters) / file.trace.file_bytes))
    return np.append(bounds[:-1][::n_at_a_time], n_entries)


def _blocks(offsets: Numbers, sizes: Numbers) -> tuple[Numbers, Numbers]:
    """Sort baskets by their place, and put together what touches; return where blocks begin and end."""
    order = np.argsort(offsets)
    begins, ends = offsets[order], (offsets + sizes)[order]
    is_first = np.concatenate([[True], begins[1:] != ends[:-1]])
    starts = np.flatnonzero(is_first)
    stops = np.append(starts[1:], len(begins))
    # A run of touching baskets that is longer than a block is cut where a basket begins.
    cut = list(starts.tolist())
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        place = start
        while ends[stop - 1] - begins[place] > _BLOCK_BYTES:
            place = int(np.searchsorted(ends[:stop], begins[place] + _BLOCK_BYTES, side="right")) + 1
            if place >= stop:
                break
            cut.append(place)
    places = np.array(sorted(cut))
    return begins[places], ends[np.append(places[1:], len(begins)) - 1]


def _joined(begins: Numbers, ends: Numbers, read_ahead_bytes: int) -> tuple[Numbers, Numbers]:
    """Put together the blocks that end within the read-ahead from where the first of them begins."""
    read_begins, read_ends, place = [], [], 0
    while place < len(begins):
        begin = int(begins[place])
        stop = max(place + 1, int(np.searchsorted(ends, begin + read_ahead_bytes, side="left")))
        read_begins.append(begin)
        read_ends.append(int(ends[stop - 1]))
        place = stop
    return np.array(read_begins, np.int64), np.array(read_ends, np.int64)


def in_turn_ns(loads_ns: Numbers, work_ns: Numbers) -> int:
    """Return the wall time of a job that waits for each fill."""
    return int(loads_ns.sum() + work_ns.sum())


def double_buffered_ns(loads_ns: Numbers, work_ns: Numbers) -> int:
    """Return the wall time where the next fill comes while the job works on this one: two buffers."""
    return int(loads_ns[0] + np.maximum(loads_ns[1:], work_ns[:-1]).sum() + work_ns[-1])
