"""CMS 2010: the published figures, and the job that is made of them.

Megabytes of CMS's reports are 2^20 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arrowroot_lab.classics.classic import points
from arrowroot_lab.classics.traces import Numbers, Trace

SOURCES = points("""
    B. Bockelman, CMSSW I/O activities (topic CmsIOWork, revision 2 of 13 May 2010; CMSSW 3_3_6), with job reports of
    CERN, RAL and FNAL: https://twiki.cern.ch/twiki/bin/view/Main/CmsIOWork

    B. Bockelman, Optimizing high-latency I/O in CMSSW, 2013: https://cds.cern.ch/record/1626817
""")

MIB = 1 << 20


@dataclass(frozen=True)
class Job:
    """One job's report. Seconds."""

    name: str
    n_reads: int
    mib: float
    n_vector_reads: int
    #: In reads and in vector reads.
    read_s: float
    vector_s: float
    #: Real time, and user and system time together.
    wall_s: float
    cpu_s: float

    @property
    def cpu_share(self) -> float:
        """CPU time over real time."""
        return self.cpu_s / self.wall_s


RAL = {
    "original": Job("original", 63_143, 540.754, 0, 79.711, 0.0, 725.73, 623.57 + 12.55),
    "improved": Job("improved", 22_416, 805.87, 29, 28.010, 14.957, 674.95, 625.93 + 8.60),
    "lazy download": Job("lazy download", 10, 1169.41, 0, 18.010, 0.0, 664.70, 622.25 + 8.90),
}
CERN = {
    "original": Job("original", 63_143, 540.754, 0, 200.315, 0.0, 838.683, 612.768 + 25.069),
    "improved": Job("improved", 22_416, 805.87, 29, 71.747, 42.226, 713.148, 605.383 + 17.628),
}
#: Real times of FNAL's jobs; the counters of the first are a paste of those of the second.
FNAL_WALL_S = {"original": 621.438, "improved": 604.795}
#: The source's own model: 5 ms a read, 12 MB/s. Its 40 s are of a case of CERN: that it is the vector reads alone is
#: ours.
LATENCY_NS, MODEL_BYTES_PER_S = 5_000_000, 12.0 * MIB
PREDICTED_S = {"original": 360, "improved": 179, "lazy download": 97, "vector reads": 40}
#: What went through the tree cache: asked for by `read-prefetch-to-cache` of the lazy download.
N_CACHED, CACHED_MIB, N_VECTOR_READS = 59_856, 480.968, 29
#: Requested reads, those that the cache answered, and those of the storage; and the megabytes of each.
IDENTITIES = {
    "CERN and RAL, improved": ((78_246, 55_830, 22_416), (1254.42, 448.547, 805.87)),
    "FNAL, improved": ((38_571, 25_397, 13_174), (488.867, 171.6, 317.267)),
}
#: The requested reads of the improved job that are more than the original's: by our reading those of its cache, which
#: read gaps between baskets, too.
N_COALESCED, COALESCED_MIB = 78_246 - 63_143, 1254.42 - 540.754
SEGMENT_MIB, N_SEGMENTS = 128, 10
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
    n = max(N_CLUSTERS, round(read.n_reads * scale))
    asked_bytes, file_bytes = round(read.mib * MIB * scale), round(RAL["lazy download"].mib * MIB * scale)
    return _laid_out(n, asked_bytes, file_bytes, round(WORK_S * 1e9 * scale), seed)


def cached(scale: float = 1.0, seed: int = 2) -> Trace:
    """What of the improved job went through the tree cache."""
    n = max(N_CLUSTERS, round(N_CACHED * scale))
    file_bytes = round(RAL["lazy download"].mib * MIB * scale)
    return _laid_out(n, round(CACHED_MIB * MIB * scale), file_bytes, 0, seed)


def uncached(scale: float = 1.0, seed: int = 3) -> Trace:
    """What of the improved job went past it."""
    read = RAL["improved"]
    n = max(N_CLUSTERS, round(read.n_reads * scale))
    file_bytes = round(RAL["lazy download"].mib * MIB * scale)
    return _laid_out(n, round(read.mib * MIB * scale), file_bytes, 0, seed)


def gap_that_leaves(trace: Trace, n_reads: int) -> int:
    """Return the bytes of the widest gap that is read with its neighbours, if so many reads of a trace are left."""
    in_place = trace.in_file_order()
    gaps = in_place.offsets[1:] - (in_place.offsets + in_place.sizes)[:-1]
    # Baskets of two clusters are not read together.
    gaps = np.sort(gaps[in_place.first_entries[1:] == in_place.first_entries[:-1]])
    return int(gaps[max(0, len(trace) - n_reads - 1)])


def _laid_out(n: int, asked_bytes: int, file_bytes: int, work_ns: int, seed: int) -> Trace:
    """Baskets that are asked for, among others; the same in each cluster up to chance."""
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
        work_ns,
    )
