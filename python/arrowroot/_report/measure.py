"""Measures one pass over a tree from outside: times and memory of the process, state of the page cache."""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot._api import scan as _scan  # noqa: F401 - a first scan would import it while the clock runs
from arrowroot._cost import plan  # noqa: F401 - likewise
from arrowroot._cost.metrics import Measurement
from arrowroot._cost.writing import most_rss_bytes
from arrowroot._passes import source  # noqa: F401 - likewise
from arrowroot._select import columns, entries  # noqa: F401 - likewise
from arrowroot._storage.config import TREE_CACHE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from arrowroot._api.file import File
    from arrowroot._api.scan import Scan
    from arrowroot._cost.plan import ScanStats

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")


def measure(
    make_scan: Callable[[], Scan],
    *,
    n_leaves: int,
    tree_cache_bytes: int | None,
    path: str | None,
    watch: Callable[[Scan], None] | None = None,
) -> tuple[Measurement, Scan]:
    """Run one scan to its end and drop what it delivers.

    ``path``: the local file, to look at the page cache; None if there is none. ``watch`` is given the scan before
    it reads. The clock runs from making the scan (planning) to the last batch.
    """
    share = page_cache_share(path) if path else None
    _reset_peak_rss()
    # The time of the CPU is taken within that of the clock: it is never more than the cores can have.
    wall = time.perf_counter_ns()
    cpu = time.process_time_ns()
    scan = make_scan()
    if watch:
        watch(scan)
    deliveries: list[tuple[int, int]] = []

    def delivered(stats: ScanStats) -> None:
        # With a filter, what it passed over is done too.
        deliveries.append((stats.n_passed or stats.n_entries, time.perf_counter_ns() - wall))

    stats = scan.drain(delivered)
    cpu_ns = time.process_time_ns() - cpu
    real_ns = time.perf_counter_ns() - wall
    peak = peak_rss_bytes()
    measurement = Measurement(
        stats=stats,
        n_columns=len(scan.column_names),
        n_leaves=n_leaves,
        tree_cache_bytes=tree_cache_bytes,
        readahead_bytes=scan.plan.max_gap_bytes,
        real_ns=real_ns,
        cpu_ns=cpu_ns,
        peak_rss_bytes=peak,
        page_cache_share=share,
        deliveries=deliveries,
    )
    return measurement, scan


def tree_cache_bytes(file: File) -> int | None:
    """Return the size of the tree cache, where the strategy of the file has one; else None."""
    chosen = {option.name: option.value for option in file.options}
    if chosen["strategy"] == "treecache":
        return int(chosen["cache_size"] or TREE_CACHE_BYTES) or None
    return None


def load_filters() -> None:
    """Import what filters compute with: a tenth of a second, once in a process, that is no part of a reading."""
    from arrowroot._expressions import evaluation  # noqa: F401 - for the import alone
    from arrowroot._passes import filtered  # noqa: F401 - likewise


def _reset_peak_rss() -> None:
    """Let the kernel's high-water mark start anew, where it can; else it is that of the process so far."""
    try:
        _CLEAR_REFS.write_text("5")
    except OSError:
        return


def peak_rss_bytes() -> int:
    """Return the high-water mark of the resident memory."""
    try:
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return most_rss_bytes()


def page_cache_share(path: str) -> float | None:
    """Return the share of a local file that is in the page cache, None where that cannot be known."""
    try:
        stat = os.stat(path)  # noqa: PTH116 - text
        # Linux calls every page of other users' files resident.
        if not stat.st_size or not (stat.st_uid == os.geteuid() or os.access(path, os.W_OK)):
            return None
        mincore = ctypes.CDLL(None, use_errno=True).mincore
    except (OSError, AttributeError):
        return None
    n_pages = -(-stat.st_size // mmap.PAGESIZE)
    resident = (ctypes.c_ubyte * n_pages)()
    with Path(path).open("rb") as file:
        # Unmapped when the last of the two is gone: closing it before, as an interrupt would, is an error of its own.
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    start = ctypes.c_char.from_buffer(view)
    failed = mincore(ctypes.byref(start), ctypes.c_size_t(stat.st_size), resident)
    return None if failed else sum(byte & 1 for byte in bytes(resident)) / n_pages


def drop_from_page_cache(path: str) -> None:
    """Ask the operating system to forget a local file's pages; those that others use may stay."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
