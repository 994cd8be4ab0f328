"""The replays of ROOT 2009, and of its files what ROOT's own rules make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arrowroot_lab.classics import results as kept
from arrowroot_lab.classics import traces
from arrowroot_lab.classics.virtual import Line, replay

from . import published, tree_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arrowroot_lab.classics.results import Row
    from arrowroot_lab.classics.traces import Written

    from .published import File
    from .tree_cache import Reads

NAME = "root-2009"

LAYOUTS = ("unoptimised", "optimised")
MB = 1_000_000
#: layout and cache: what was published, and the two corners between.
CORNERS = tuple((layout, size) for layout in LAYOUTS for size in (0, published.CACHE_BYTES))
CACHES = tuple(size * MB for size in (0, 1, 3, 10, 30, 60, 100, 300))
#: The window that the slides call typical, and the largest that arrowroot has without being told.
TYPICAL_BYTES = 30 * MB
#: Every read costs the same, as the published figures tell.
DISK_LINE = Line(published.LATENCY_NS, published.BYTES_PER_S)
#: Only a jump costs it: the kernel reads ahead, or does not.
DISKS = {
    "disk": Line(published.LATENCY_NS, published.BYTES_PER_S, published.READ_AHEAD_BYTES),
    "disk, nothing ahead": Line(published.LATENCY_NS, published.BYTES_PER_S, 0),
}
#: Ours: the talk names neither. 1 Gb/s near, a tenth of it far away.
LAN, WAN = Line(500_000, 125e6), Line(50_000_000, 12.5e6)
LINES = {"LAN": LAN, "50 ms": WAN}
BANDWIDTHS = tuple(rate * 1e6 for rate in (3.0, 6.0, 12.5, 25.0, 50.0, 125.0))
#: A little less than a cluster of the real file.
SMALL_REAL_BYTES = 1_500_000
#: Columns and rows of the pictures.
N_BINS = 320


def measure(scale: float, told: Callable[[str], None]) -> dict[str, Any]:
    """Replay all cases, and return the document of the results.

    scale: of the number of entries.
    """
    told("the two files")
    files = {"unoptimised": published.unoptimised(scale), "optimised": published.optimised(scale)}
    rows: list[Row] = []
    shown = {}
    told("four corners: layout and cache")
    for layout, size in CORNERS:
        reads = tree_cache.reads(files[layout], size, published.READ_AHEAD_BYTES)
        rows.append({"study": "corner", "layout": layout, "cache_bytes": size, **_cost(reads)})
        shown[f"{layout} {size}"] = _seen(reads, files[layout])
    told("the cache from 0 to 300 MB")
    rows += _cache_rows(files)
    told("asynchronous prefetching and local caching")
    rows += _far_rows(files["optimised"])
    told("a third of the entries")
    rows += _third_rows(files)
    with traces.folder("ROOT 2009") as written:
        rows += _replayed_rows(files, written, told)
    model = {
        layout: {
            "n_baskets": len(of.trace),
            "file_bytes": of.trace.file_bytes,
            "n_clusters": len(of.clusters),
            "span_bytes": of.span_bytes(),
            "work_ns": of.trace.work_ns,
        }
        for layout, of in files.items()
    }
    n_entries = files["optimised"].trace.n_entries
    return kept.document(NAME, scale, {**model, "n_entries": n_entries, "shown": shown}, rows)


def _cost(reads: Reads) -> Row:
    """The reads, and their time on the published disk."""
    loads = reads.loads_ns(DISK_LINE, is_vector=False)
    return {
        "n_reads": len(reads.offsets),
        "n_fills": len(reads.work_ns),
        "read_bytes": int(reads.sizes.sum()),
        "asked_bytes": reads.asked_bytes,
        "wait_ns": int(loads.sum()),
        "work_ns": int(reads.work_ns.sum()),
        "wall_ns": tree_cache.in_turn_ns(loads, reads.work_ns),
    }


def _cache_rows(files: dict[str, File]) -> Iterator[Row]:
    for layout, of in files.items():
        for size in CACHES:
            reads = tree_cache.reads(of, size, published.READ_AHEAD_BYTES)
            row: Row = {"study": "cache", "layout": layout, "cache_bytes": size, **_cost(reads)}
            far = reads.loads_ns(WAN, is_vector=True)
            row["far_wall_ns"] = tree_cache.in_turn_ns(far, reads.work_ns)
            row["far_async_wall_ns"] = tree_cache.double_buffered_ns(far, reads.work_ns)
            yield row


def _far_rows(of: File) -> Iterator[Row]:
    """The optimised file, near and far: without a cache, with one, with two buffers, and again from a local copy."""
    without = tree_cache.without(of)
    cached = tree_cache.reads(of, TYPICAL_BYTES, published.READ_AHEAD_BYTES)
    local, work_ns = cached.loads_ns(DISK_LINE, is_vector=False), int(cached.work_ns.sum())
    for name, line in LINES.items():
        loads, single = cached.loads_ns(line, is_vector=True), without.loads_ns(line, is_vector=False)
        for way, wall_ns in (
            ("no cache", tree_cache.in_turn_ns(single, without.work_ns)),
            ("tree cache", tree_cache.in_turn_ns(loads, cached.work_ns)),
            ("asynchronous", tree_cache.double_buffered_ns(loads, cached.work_ns)),
            ("local copy, second time", tree_cache.double_buffered_ns(local, cached.work_ns)),
        ):
            yield {"study": "far", "line": name, "way": way, "wall_ns": wall_ns, "work_ns": work_ns}
    for rate in BANDWIDTHS:
        loads = cached.loads_ns(Line(WAN.latency_ns, rate), is_vector=True)
        yield {
            "study": "bandwidth",
            "bytes_per_s": rate,
            "work_ns": work_ns,
            "wall_ns": tree_cache.in_turn_ns(loads, cached.work_ns),
            "async_wall_ns": tree_cache.double_buffered_ns(loads, cached.work_ns),
        }


def _third_rows(files: dict[str, File]) -> Iterator[Row]:
    """A third of the entries as readfile.C draws them, and the first third: what is needed, and what a cache moves."""
    for layout, of in files.items():
        n = of.trace.n_entries
        drawn = np.random.default_rng(1).random(n) <= published.ENTRY_SHARE
        in_a_row = np.arange(n) < round(n * published.ENTRY_SHARE)
        all_reads = tree_cache.reads(of, published.CACHE_BYTES, published.READ_AHEAD_BYTES)
        part = np.searchsorted(all_reads.entries, round(n * published.ENTRY_SHARE))
        for which, picked, n_moved in (
            ("drawn", drawn, int(all_reads.sizes.sum())),
            ("in a row", in_a_row, int(all_reads.sizes[:part].sum())),
        ):
            needed = of.needed_by(picked)
            yield {
                "study": "third",
                "layout": layout,
                "which": which,
                "entry_share": float(picked.mean()),
                "n_baskets": int(needed.sum()),
                "needed_bytes": int(of.trace.sizes[needed].sum()),
                "read_bytes": n_moved,
                "file_bytes": of.trace.file_bytes,
            }


def _replayed_rows(files: dict[str, File], written: Written, told: Callable[[str], None]) -> Iterator[Row]:
    """Arrowroot's reads of the same baskets: without a cache, with its tree cache, and by itself."""
    for layout, of in files.items():
        path = written(of.trace)
        for where, line in (("each read", DISK_LINE), *DISKS.items(), *LINES.items()):
            for strategy, size in (("direct", None), ("treecache", TYPICAL_BYTES), ("auto", None)):
                told(f"replayed: {layout}, {where}, {strategy}")
                row = replay(path, line, strategy, size, works=True, learns=False)
                yield {"study": "replay", "layout": layout, "line": where, **row}
        if layout == "optimised":
            for where, line in LINES.items():
                row = replay(path, line, "treecache", TYPICAL_BYTES, works=True, learns=False, prefetch="1")
                yield {"study": "ahead", "layout": layout, "line": where, **row}


def _seen(reads: Reads, of: File) -> list[list[Any]]:
    """The reads as a picture shows them: for each range of entries its reads, bytes, end in ms, and where they lie.

    Places are runs ``[first, last)`` of the file's rows.
    """
    trace = of.trace
    loads = reads.loads_ns(DISK_LINE, is_vector=False)
    n_fills = len(reads.work_ns)
    # Within a fill reads take their part of its time.
    counts = np.bincount(reads.fills, minlength=n_fills)
    before = np.concatenate([[0], np.cumsum(loads + reads.work_ns)[:-1]])
    place = np.arange(len(reads.fills)) - np.repeat(np.cumsum(counts) - counts, counts)
    ends_ns = np.repeat(before, counts) + (place + 1) / np.repeat(counts, counts) * np.repeat(loads, counts)
    column = reads.entries * N_BINS // trace.n_entries
    low = reads.offsets * N_BINS // trace.file_bytes
    high = (reads.offsets + reads.sizes - 1) * N_BINS // trace.file_bytes
    seen = []
    for number in np.unique(column).tolist():
        among = column == number
        marks = np.zeros(N_BINS + 1, np.int64)
        np.add.at(marks, low[among], 1)
        np.add.at(marks, high[among] + 1, -1)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], np.cumsum(marks[:-1]) > 0, [0]]).astype(int)))
        runs = edges.reshape(-1, 2).tolist()
        n_bytes, end_ms = int(reads.sizes[among].sum()), round(float(ends_ns[among].max()) / 1e6)
        seen.append([number, int(among.sum()), n_bytes, end_ms, runs])
    return seen
