"""What is replayed of Liverpool 2008."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot_lab.classics import results as kept
from arrowroot_lab.classics import traces
from arrowroot_lab.classics.real import read_and_replayed
from arrowroot_lab.classics.virtual import Line, replay, sweep

from . import published
from .published import KIB, MIB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from arrowroot_lab.classics.results import Row
    from arrowroot_lab.classics.traces import Written

NAME = "liverpool-2008"

#: Sizes of the buffer; 10 MiB is a published one.
SIZES = (
    4 * KIB, 128 * KIB, 256 * KIB, 512 * KIB, *(n * MIB for n in (1, 2, 4, 8, 10, 16, 32, 64, 128)),
)  # fmt: skip
_NETWORK = Line(published.LATENCY_NS, published.BYTES_PER_S)
#: A disk of 2008.
SEEK_NS, DISK_BYTES_PER_S = 8_000_000, 70e6
_READ_AHEADS = (128 * KIB, MIB, 8 * MIB, 128 * MIB)
#: What changes the span, and what does not.
BASKETS, _BRANCHES, _SEEDS = (8_000, 32_000, 128_000), (225, 900, 3_600), (1, 2, 3, 4, 5)
_N_JOBS = (1, 2, 4, 8, 16)
_LATENCIES_NS = (100_000, 920_000, 5_000_000, 20_000_000)
#: Of the buffer of 128 MiB.
_FILE_SHARES = (0.5, 1.0, 12.0)
#: Of a real file that is smaller.
REAL_SIZES = tuple(n * KIB for n in (4, 128, 1024, 2048, 4096, 8192, 16384, 32768, 131072))
#: Reads of the picture.
_N_SHOWN = 1_000


def measure(scale: float, told: Callable[[str], None], file: str | None = None) -> dict[str, Any]:
    """Replay all cases, and return the document of the results.

    scale: of the number of events. file: a real one without flushes, with its tree, that is read, too.
    """
    n_events = max(50, round(published.N_EVENTS * scale))
    file_bytes = round(published.FILE_BYTES * n_events / published.N_EVENTS)
    rows: list[Row] = []

    def job(**changed: Any) -> traces.Trace:
        return published.job(**{"n_events": n_events, "file_bytes": file_bytes, **changed})

    with traces.folder("Liverpool 2008") as written:
        main = job()
        path = written(main, name="main")
        told("the buffer from 4 kB to 128 MB, with the job's CPU time")
        rows += [
            {"study": "buffer", "first_bytes": published.only_the_beginning(main, row["cache_bytes"]), **row}
            for row in sweep(path, _NETWORK, "readahead", SIZES, works=True)
        ]
        by_blocks = published.blocks_least_recently_used(main, 128 * KIB, 128)
        rows.append({"study": "blocks", "read_bytes": by_blocks})
        told("today: what knows the plan")
        by_place = written(main.in_file_order(), "cluster")
        for strategy in ("auto", "treecache", "direct"):
            rows.append({"study": "today", **replay(path, _NETWORK, strategy, works=True)})
        rows.append({"study": "in the order of the file", **replay(by_place, _NETWORK, "auto", works=True)})
        rows += _span_rows(written, job, told)
        rows += _control_rows(written, path, told)
        if file is not None:
            told(f"for real: {file}")
            rows += read_and_replayed(file, "readahead", REAL_SIZES)
        shown = main.offsets[:_N_SHOWN]
    model = {
        "n_baskets": len(main),
        "asked_bytes": main.asked_bytes,
        "file_bytes": main.file_bytes,
        "n_events": n_events,
        "work_ns": main.work_ns,
        "span_bytes": published.span_bytes(main),
        "shown": [
            [int(entry), int(offset), int(size)]
            for entry, offset, size in zip(main.first_entries, shown, main.sizes, strict=False)
        ],
    }
    return kept.document(NAME, scale, model, rows)


def _span_rows(
    written: Written, job: Callable[..., traces.Trace], told: Callable[[str], None]
) -> Iterator[Row]:
    """Return what baskets, branches, seeds and flushes do to the peak and to the fall."""
    for study, option, values in (
        ("baskets", "basket_bytes", BASKETS),
        ("branches", "n_branches", _BRANCHES),
        ("seeds", "seed", _SEEDS),
        ("flushed", "cluster_bytes", (30_000_000,)),
    ):
        for value in values:
            told(f"the span: {study} {value:,}")
            trace = job(**{option: value})
            span = published.span_bytes(trace)
            path = written(trace)
            sizes = tuple(size for size in SIZES if size >= 512 * KIB)
            yield from (
                {"study": study, "value": value, "span_bytes": span, **row}
                for row in sweep(path, _NETWORK, "readahead", sizes)
            )


def _control_rows(written: Written, path: Path, told: Callable[[str], None]) -> Iterator[Row]:
    """Return the controls: a local disk, the page cache, other lines, other sizes of the file."""
    told("controls: a local disk, cold and warm, and how far its kernel reads ahead")
    for read_ahead in _READ_AHEADS:
        disk = Line(SEEK_NS, DISK_BYTES_PER_S, read_ahead)
        yield {"study": "disk", "read_ahead_bytes": read_ahead, **replay(path, disk, "direct", works=True)}
    warm = Line(SEEK_NS, DISK_BYTES_PER_S, 128 * KIB, is_warm=True)
    yield {"study": "read once before", **replay(path, warm, "direct", works=True)}
    for n_jobs in _N_JOBS:
        told(f"controls: {n_jobs} jobs on one line")
        for size in (4 * KIB, 128 * KIB, 32 * MIB, 128 * MIB):
            row = replay(path, _NETWORK.shared_by(n_jobs), "readahead", size, works=True)
            yield {"study": "jobs", "n_jobs": n_jobs, **row}
    for latency_ns in _LATENCIES_NS:
        told(f"controls: {latency_ns / 1e6:g} ms a read")
        for size in (4 * KIB, 32 * MIB):
            row = replay(path, Line(latency_ns, published.BYTES_PER_S), "readahead", size, works=True)
            yield {"study": "latency", "latency_ns": latency_ns, **row}
    for share in _FILE_SHARES:
        told(f"controls: a file {share:g} times as large as the buffer")
        file_bytes = round(share * 128 * MIB)
        n_events = round(published.N_EVENTS * file_bytes / published.FILE_BYTES)
        trace = published.job(file_bytes=file_bytes, n_events=n_events)
        row = replay(written(trace), _NETWORK, "readahead", 128 * MIB)
        yield {"study": "file", "share": share, "file_bytes": trace.file_bytes, **row}
