"""The replays of ATLAS 2012."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arrowroot_lab.classics import results as kept
from arrowroot_lab.classics import traces
from arrowroot_lab.classics.virtual import Line, replay

from . import published
from .published import CACHE_BYTES, LAYOUTS, NEW, OLD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from arrowroot_lab.classics.results import Row
    from arrowroot_lab.classics.traces import Written

NAME = "atlas-2012"

#: Disk and decompression as one line, for the layouts.
LINE = Line(published.LATENCY_NS, published.BYTES_PER_S)
#: How a job reads: its name -> the strategy and its cache.
READERS: dict[str, tuple[str, int | None]] = {
    "no cache": ("direct", None),
    "cache": ("treecache", CACHE_BYTES),
    "auto": ("auto", None),
}
SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
#: Events of a cluster of unsplit objects: five of an ESD, ten of an AOD, and as many as the old layout has.
TOGETHER = (1, 2, 5, 10, 20, 50, OLD.n_together)
N_WORKERS = (1, 2, 4, 8)
#: A cache that makes as many round trips as the published efficiencies tell: 0.6 MB are read in each.
SMALL_CACHE = "cache of 0.6 MB"
SMALL_CACHE_BYTES = 600_000
#: A disk of that time, and the lines of a site's storage.
_DISK = Line(8_000_000, 70e6, 128 << 10)
_LAN = Line(1_000_000, 100e6)
#: XRootD's own limits of a vector read.
_VECTORS: dict[str, Any] = {
    "name": "xrootd",
    "max_range_bytes": (2 << 20) - 16,
    "max_ranges": 1024,
    "max_bytes": 32 << 20,
}
_ONE_RANGE: dict[str, Any] = {"name": "http", "max_ranges": 1, "max_parallel": 1}
_SOME_RANGES: dict[str, Any] = {"name": "http", "max_ranges": 100, "max_parallel": 1}
#: Storage -> its line, and how it makes requests.
STORAGES: dict[str, tuple[Line, dict[str, Any]]] = {
    "local disk": (_DISK, traces.PLAIN),
    "xrootd": (_LAN, _VECTORS),
    "HTTP, many ranges a request": (_LAN, _SOME_RANGES),
    "HTTP, one range a request": (_LAN, _ONE_RANGE),
}
#: One buffer before the storage, and nothing above it: RFIO's.
READ_AHEAD, READ_AHEAD_BYTES = "read-ahead of 128 kB", 128 << 10
BRANCHES = {"all branches": 1.0, "2 % of the branches": published.D3PD_SHARE}


def read(path: Path, line: Line, reader: str) -> Row:
    """Replay a job; the branches are known, so that no entries are learnt from."""
    strategy, cache_bytes = READERS[reader]
    return replay(path, line, strategy, cache_bytes, works=True, learns=False)


def measure(scale: float, told: Callable[[str], None]) -> dict[str, Any]:
    """Replay all cases, and return the document of the results.

    scale: of the numbers of events.
    """
    n_events = max(2 * OLD.n_together, round(published.N_EVENTS * scale))
    rows: list[Row] = []
    with traces.folder("ATLAS 2012") as written:
        for study in (_layout_rows, _share_rows, _cluster_rows, _ping_rows, _worker_rows):
            rows += study(written, n_events, told)
        rows += _d3pd_rows(written, round(published.D3PD_FILE_BYTES * scale), told)
    model = {
        "n_events": n_events,
        "file_bytes": n_events * published.EVENT_BYTES,
        "d3pd_bytes": round(published.D3PD_FILE_BYTES * scale),
        "round_trips_a_cpu_second": published.round_trips_a_cpu_second(),
    }
    return kept.document(NAME, scale, model, rows)


def _layout_rows(written: Written, n_events: int, told: Callable[[str], None]) -> Iterator[Row]:
    """Return both layouts, all events and one in a hundred, without a cache and with one."""
    some = published.picked(n_events, published.PICKED_SHARE)
    for layout in LAYOUTS:
        for share, events in ((1.0, np.arange(n_events)), (published.PICKED_SHARE, some)):
            told(f"{layout.name}: {share:.0%} of the events")
            path = written(published.job(layout, events, n_events), "cluster")
            asked = {"study": "layout", "layout": layout.name, "share": share, "n_events": len(events)}
            yield from ({**asked, "reader": reader, **read(path, LINE, reader)} for reader in READERS)
        path = written(published.job(layout, some, n_events, cache="not told"), "cluster")
        yield (
            {"study": "layout", "layout": layout.name, "share": published.PICKED_SHARE, "n_events": len(some)}
            | {"reader": "cache, not told", **read(path, LINE, "cache")}
        )


def _share_rows(written: Written, n_events: int, told: Callable[[str], None]) -> Iterator[Row]:
    """Return both layouts for shares of the events; the cache is told which."""
    for layout in LAYOUTS:
        for share in SHARES:
            told(f"{layout.name}: {share:.1%} of the events")
            events = published.picked(n_events, share)
            path = written(published.job(layout, events, n_events), "cluster")
            yield (
                {"study": "share", "layout": layout.name, "share": share, "n_events": len(events)}
                | read(path, LINE, "cache")
            )


def _cluster_rows(written: Written, n_events: int, told: Callable[[str], None]) -> Iterator[Row]:
    """Return unsplit objects in clusters of other sizes: all events without a cache, one in a hundred with one."""
    some = published.picked(n_events, published.PICKED_SHARE)
    for n_together in TOGETHER:
        told(f"{n_together} events to a cluster")
        for share, events, reader in (
            (1.0, np.arange(min(n_events, 4 * OLD.n_together)), "no cache"),
            (published.PICKED_SHARE, some, "cache"),
        ):
            path = written(published.job(NEW, events, n_events, n_together=n_together), "cluster")
            yield (
                {"study": "cluster", "n_together": n_together, "share": share, "n_events": len(events)}
                | read(path, LINE, reader)
            )


def _ping_rows(written: Written, n_events: int, told: Callable[[str], None]) -> Iterator[Row]:
    """Return all events of the new layout from far away."""
    path = written(published.job(NEW, np.arange(n_events), n_events), "cluster", _VECTORS)
    for ping_ns in published.PINGS_NS:
        told(f"{ping_ns / 1e6:g} ms away")
        line = Line(ping_ns, published.BYTES_PER_S)
        cases = {reader: read(path, line, reader) for reader in READERS}
        cases[SMALL_CACHE] = _cached(path, line, SMALL_CACHE_BYTES)
        yield from (
            {"study": "ping", "ping_ns": ping_ns, "reader": reader, **row} for reader, row in cases.items()
        )


def _worker_rows(written: Written, n_events: int, told: Callable[[str], None]) -> Iterator[Row]:
    """Return the first of several workers on one line: they are alike."""
    for layout in LAYOUTS:
        for n in N_WORKERS:
            told(f"{layout.name}: {n} workers on one line")
            for n_dealt in (1, layout.n_together):
                events = published.dealt(n_events, n, n_dealt)
                path = written(published.job(layout, events, n_events), "cluster")
                yield (
                    {"study": "workers", "layout": layout.name, "n_workers": n, "n_dealt": n_dealt}
                    | {"n_events": len(events), **read(path, LINE.shared_by(n), "cache")}
                )


def _d3pd_rows(written: Written, file_bytes: int, told: Callable[[str], None]) -> Iterator[Row]:
    """Return flushes and caches of a D3PD, by storage: all branches, and those of an analysis."""
    for branches, share in BRANCHES.items():
        for flush in published.FLUSHES:
            trace = published.d3pd(flush, file_bytes, share)
            for storage, (line, protocol) in STORAGES.items():
                told(f"D3PD, {branches}, flushed every {flush / 1e6:g} MB: {storage}")
                path = written(trace, "cluster", protocol)
                asked = {"study": "d3pd", "branches": branches, "flush_bytes": flush, "storage": storage}
                yield from (
                    {**asked, "tree_cache_bytes": cache, **_cached(path, line, cache)}
                    for cache in published.CACHES
                )
            path = written(trace, "cluster")
            asked = {"study": "d3pd", "branches": branches, "flush_bytes": flush, "storage": READ_AHEAD}
            row = replay(path, _LAN, "readahead", READ_AHEAD_BYTES, works=True)
            yield {**asked, "tree_cache_bytes": 0, **row}


def _cached(path: Path, line: Line, cache_bytes: int) -> Row:
    strategy = "treecache" if cache_bytes else "direct"
    return replay(path, line, strategy, cache_bytes or None, works=True, learns=False)
