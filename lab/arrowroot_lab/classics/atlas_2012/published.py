"""ATLAS 2012: the published figures, and the jobs that are made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from arrowroot_lab.classics.study import definition
from arrowroot_lab.classics.traces import Numbers, Trace

THEN = definition("atlas-2012")["published"]


@dataclass(frozen=True)
class Layout:
    """A layout of an AOD, with what was published of it, and the work of an event that we take."""

    name: str
    #: ms an event: of all events with the error, and of one in a hundred.
    all_ms: float
    all_error_ms: float
    picked_ms: float
    #: Baskets of a cluster, one of each branch.
    n_baskets: int
    #: How fast Athena reads it.
    mb_per_s: float
    #: Events of a cluster.
    n_together: int
    work_ns: int


#: An event of an AOD, compressed: ours. A cluster of 30 MB has 176 of them.
EVENT_BYTES, FLUSH_BYTES = 170_000, 30_000_000
LAYOUTS = OLD, NEW = tuple(
    Layout(name, **THEN["aod"][name], n_together=n_together, work_ns=work_ns)
    for name, n_together, work_ns in (
        ("old AOD", FLUSH_BYTES // EVENT_BYTES, 52_000_000),
        ("AOD 2011", 10, 33_000_000),
    )
)
PICKED_SHARE, PICKED_GAIN = THEN["picked_share"], THEN["picked_gain"]
#: Events of our file, of 850 MB: theirs is not told.
N_EVENTS = 5_000
#: A read, and disk and decompression together: the second is fitted to 270 ms of the old layout.
LATENCY_NS, BYTES_PER_S = 420_000, 60e6
#: ROOT's tree cache in Athena.
CACHE_BYTES = 30_000_000

#: CPU efficiency: local, at other sites in the US, and at CERN.
LOCAL_SHARE, US_SHARES, CERN_SHARE = (THEN["efficiency"][place] for place in ("local", "us", "cern"))
#: Ours: how far CERN is from the US, which makes one curve of the three figures.
CERN_NS = 130_000_000
PINGS_NS = (0, 5_000_000, 20_000_000, 50_000_000, 150_000_000)

FLUSHES, CACHES = THEN["flushes"], THEN["caches"]
#: A D3PD: ours. Two in a hundred branches are "those used in a real Higgs analysis".
D3PD_EVENT_BYTES, D3PD_BRANCHES, D3PD_FILE_BYTES, D3PD_SHARE = 20_000, 3_000, 600_000_000, 0.02
#: CPU time of a D3PD's byte as it is stored: 25 MB/s.
D3PD_WORK_NS_A_BYTE = 40

Cache = Literal["told", "not told"]
Floats = npt.NDArray[np.float64]


def is_fitted(layout: Layout, share: float) -> bool:
    """True if the model is made of the published time: of all but one event in a hundred of the new layout."""
    return layout is not NEW or share == 1


def round_trips_a_cpu_second() -> float:
    """Round trips that are waited for in a second of CPU time, if CERN is ``CERN_NS`` away."""
    return float((1 / CERN_SHARE - 1 / LOCAL_SHARE) / (CERN_NS / 1e9))


def efficiency(ping_ns: float) -> float:
    """The CPU efficiency that follows at a round trip: the one curve through 94 % here and 45 % at CERN."""
    return float(1 / (1 / LOCAL_SHARE + round_trips_a_cpu_second() * ping_ns / 1e9))


def picked(n_events: int, share: float, seed: int = 1) -> Numbers:
    """Return a share of the events, drawn by chance, in ascending order."""
    generator = np.random.default_rng(seed)
    chosen = generator.choice(n_events, max(1, round(n_events * share)), replace=False)
    return np.sort(chosen).astype(np.int64)


def job(
    layout: Layout,
    events: Numbers,
    n_events: int,
    *,
    n_together: int | None = None,
    cache: Cache = "told",
) -> Trace:
    """Events of a file in a layout: all baskets of each cluster that has some, in the order of the file.

    n_together: events of a cluster, if not those of the layout. cache: one that is not told the list reads, from the
    cluster of an event on that it does not have, whatever it has room for.
    """
    n_together = n_together or layout.n_together
    bounds = np.append(np.arange(0, n_events, n_together), n_events)
    clusters = np.unique(events // n_together)
    if cache == "not told":
        clusters = _brought(clusters, len(bounds) - 1, max(1, CACHE_BYTES // (EVENT_BYTES * n_together)))
    weights = np.random.default_rng(1).lognormal(0.0, 1.0, layout.n_baskets)
    lengths = np.diff(bounds)[clusters]
    sizes, starts = _cut(weights, lengths * EVENT_BYTES)
    first = bounds[clusters]
    n = layout.n_baskets
    return Trace(
        (starts + (first * EVENT_BYTES)[:, None]).ravel(),
        sizes.ravel(),
        np.repeat(first, n),
        np.tile(np.arange(n), len(clusters)),
        n_events * EVENT_BYTES,
        n_events,
        len(events) * layout.work_ns,
    )


def _brought(wanted: Numbers, n_clusters: int, n_filled: int) -> Numbers:
    """The clusters that a cache brings which is filled with so many in a row whenever it lacks one."""
    brought: list[int] = []
    for cluster in wanted.tolist():
        if not brought or cluster > brought[-1]:
            brought += range(cluster, min(cluster + n_filled, n_clusters))
    return np.array(brought, np.int64)


def _cut(weights: Floats, totals: Numbers) -> tuple[Numbers, Numbers]:
    """Sizes and starts of the baskets of clusters of these bytes, as the weights share them; none is empty."""
    shares, n = np.cumsum(weights) / weights.sum(), len(weights)
    ends = np.round(shares[None, :] * (totals - n)[:, None]).astype(np.int64) + np.arange(1, n + 1)
    starts = np.concatenate([np.zeros((len(totals), 1), np.int64), ends[:, :-1]], axis=1)
    return ends - starts, starts


def dealt(n_events: int, n_workers: int, n_dealt: int) -> Numbers:
    """The events of the first of several workers, which take turns to get ``n_dealt`` events in a row."""
    events = np.arange(n_events, dtype=np.int64)
    chosen: Numbers = events[events // n_dealt % n_workers == 0]
    return chosen


def d3pd(flush_bytes: int, file_bytes: int, branch_share: float = 1.0) -> Trace:
    """A D3PD, or some of its branches: a basket of each branch in each cluster, cluster by cluster."""
    n_clusters = max(1, round(file_bytes / flush_bytes))
    weights = np.random.default_rng(2).lognormal(0.0, 1.0, D3PD_BRANCHES)
    totals = np.full(n_clusters, file_bytes // n_clusters)
    sizes, starts = _cut(weights, totals)
    places = starts + (np.arange(n_clusters) * totals)[:, None]
    n = round(D3PD_BRANCHES * branch_share)
    chosen = np.sort(np.random.default_rng(3).permutation(D3PD_BRANCHES)[:n])
    n_events = file_bytes // D3PD_EVENT_BYTES
    asked = sizes[:, chosen]
    return Trace(
        places[:, chosen].ravel(),
        asked.ravel(),
        np.repeat(np.arange(n_clusters) * n_events // n_clusters, n),
        np.tile(np.arange(n), n_clusters),
        int(totals.sum()),
        n_events,
        int(asked.sum()) * D3PD_WORK_NS_A_BYTE,
    )
