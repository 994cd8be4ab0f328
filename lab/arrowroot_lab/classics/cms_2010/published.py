"""CMS 2010: the published figures, and the job that is made of them.

Megabytes of CMS's reports are 2^20 bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arrowroot_lab.classics.study import definition
from arrowroot_lab.classics.traces import Numbers, Trace

MIB = 1 << 20


THEN = definition("cms-2010")["published"]


class Job(NamedTuple):
    """The report of one job. Seconds: in reads and in vector reads; real, user and system time."""

    n_reads: int
    mib: float
    n_vector_reads: int
    read_s: float
    vector_s: float
    wall_s: float
    user_s: float
    system_s: float

    @property
    def cpu_share(self) -> float:
        """CPU time over real time."""
        return (self.user_s + self.system_s) / self.wall_s


RAL, CERN = ({case: Job(*told) for case, told in THEN[site].items()} for site in ("ral", "cern"))
#: The source's own model.
LATENCY_NS, MODEL_BYTES_PER_S = 5_000_000, 12.0 * MIB
N_CACHED, CACHED_MIB, N_VECTOR_READS = THEN["cached"].values()
#: The requested reads of the improved job that are more than the original's: by our reading those of its cache, which
#: read gaps between baskets, too.
_REQUESTED = THEN["identities"]["CERN and RAL, improved"]
N_COALESCED, COALESCED_MIB = _REQUESTED[0] - RAL["original"].n_reads, _REQUESTED[3] - RAL["original"].mib
SEGMENT_MIB, N_SEGMENTS = THEN["segments"].values()
#: CPU time of the job: the mean of the three jobs at RAL, wall time times CPU share as they were rounded.
WORK_S = (725.7 * 0.88 + 675.0 * 0.94 + 664.7 * 0.95) / 3

#: Baskets that were written together. That there are as many as vector reads is ours.
N_CLUSTERS = N_VECTOR_READS
N_EVENTS = 6_600


def sizes_of(generator: np.random.Generator, n: int, total_bytes: int) -> Numbers:
    """Return ``n`` sizes of baskets that differ as those of branches do, and make ``total_bytes`` together."""
    raw = generator.lognormal(0.0, 0.8, n)
    ends = np.round(np.cumsum(raw) / raw.sum() * (total_bytes - n)).astype(np.int64)
    return np.diff(np.concatenate([[0], ends])) + 1


def job(scale: float = 1.0, seed: int = 1) -> Trace:
    """The original job: 46 % of a file, in baskets of 9 kB; in each cluster in an order of the program's own."""
    read = RAL["original"]
    return _laid_out(read.n_reads, read.mib, scale, seed, WORK_S)


def cached(scale: float = 1.0, seed: int = 2) -> Trace:
    """What of the improved job went through the tree cache."""
    return _laid_out(N_CACHED, CACHED_MIB, scale, seed)


def uncached(scale: float = 1.0, seed: int = 3) -> Trace:
    """What of the improved job went past it."""
    read = RAL["improved"]
    return _laid_out(read.n_reads, read.mib, scale, seed)


def gap_that_leaves(trace: Trace, n_reads: int) -> int:
    """Return the bytes of the widest gap that is read with its neighbours, if so many reads of a trace are left."""
    in_place = trace.in_file_order()
    gaps = in_place.offsets[1:] - (in_place.offsets + in_place.sizes)[:-1]
    # Baskets of two clusters are not read together.
    gaps = np.sort(gaps[in_place.first_entries[1:] == in_place.first_entries[:-1]])
    return int(gaps[max(0, len(trace) - n_reads - 1)])


def _laid_out(n_reads: int, mib: float, scale: float, seed: int, work_s: float = 0) -> Trace:
    """Baskets that are asked for, among others; the same in each cluster up to chance."""
    n = max(N_CLUSTERS, round(n_reads * scale))
    asked_bytes, file_bytes = (round(size * MIB * scale) for size in (mib, RAL["lazy download"].mib))
    generator = np.random.default_rng(seed)
    asked = sizes_of(generator, n, asked_bytes)
    # Others lie between, as large on average: their bytes in gaps.
    gaps = sizes_of(generator, n + 1, file_bytes - asked_bytes)
    offsets = np.cumsum(gaps[:-1]) + np.concatenate([[0], np.cumsum(asked)[:-1]])
    clusters = np.arange(n, dtype=np.int64) * N_CLUSTERS // n
    firsts = np.searchsorted(clusters, np.arange(N_CLUSTERS))
    branches = np.arange(n, dtype=np.int64) - firsts[clusters]
    # The program's order of branches is not that of the file.
    rank = generator.permutation(int(branches.max()) + 1)
    order = np.lexsort((rank[branches], clusters))
    first_entries = clusters * N_EVENTS // N_CLUSTERS
    return Trace(
        offsets[order],
        asked[order],
        first_entries[order],
        rank[branches][order],
        file_bytes,
        N_EVENTS,
        round(work_s * 1e9 * scale),
    )
