"""The figures of Liverpool 2008 that its page shows: of its results, and of what was published."""

from __future__ import annotations

import itertools
import statistics
from typing import TYPE_CHECKING, Any

from arrowroot_lab.classics.study import Study
from arrowroot_lab.figures.curves import Point, Series
from arrowroot_lab.figures.headlines import GIVEN, Pair
from arrowroot_lab.figures.reads import Read, offsets

from . import published
from .measuring import BASKETS
from .published import KIB, MIB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arrowroot_lab.classics.results import Row
    from arrowroot_lab.figures.figure import Figure

#: What was changed to move the peak.
_CHANGED = {
    "baskets": "bytes of a basket",
    "branches": "branches",
    "seeds": "seed",
    "flushed": "bytes of a cluster",
}


def size_text(n_bytes: int) -> str:
    """Return a power of two for people."""
    return f"{n_bytes // MIB} MiB" if n_bytes >= MIB else f"{n_bytes // KIB} KiB"


def peak(rows: list[Row]) -> Row:
    """Return the row of the buffer with which most bytes move."""
    return max(rows, key=lambda row: int(row["read_bytes"]))


class Liverpool2008Results(Study):
    """The results of Liverpool 2008."""

    ours = published
    peak, size = staticmethod(peak), staticmethod(size_text)

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(document)
        self.buffers, self.real = self.rows("buffer"), self.rows("real")
        self.top, self.fall = peak(self.buffers), fall_bytes(self.buffers)
        #: What would move at most if only the beginning of the file were buffered.
        self.first_bytes = max(row["first_bytes"] for row in self.buffers)
        #: Bytes of the buffer -> row; of the kernel's read-ahead -> row; and of both and other controls.
        self.by_size = self.keyed("buffer", "cache_bytes")
        self.cpu_shares = {size: self.cpu_share(row) for size, row in self.by_size.items()}
        self.disks = self.keyed("disk", "read_ahead_bytes")
        self.jobs = self.keyed("jobs", "n_jobs", "cache_bytes")
        self.latencies = self.keyed("latency", "latency_ns", "cache_bytes")
        self.auto, self.ordered = self.row("today", strategy="auto"), self.row("in the order of the file")
        #: Study, and what was changed to -> rows.
        self.changed = {
            study: {row["value"]: self.rows(study, value=row["value"]) for row in self.rows(study)}
            for study in _CHANGED
        }
        #: Bytes of the buffer -> what was published of it, and by which factor our volume is off its band.
        self.told: dict[int, dict[str, Any]] = {
            line["buffer_bytes"]: line for line in self.definition["published"]["buffers"]
        }
        self.factors = {size: self._factor(size, band(line)) for size, line in self.told.items()}
        self.deviation = statistics.geometric_mean(self.factors.values())
        self.worst_bytes = max(self.factors, key=lambda size: self.factors[size])

    def _factor(self, size: int, told: tuple[float, float]) -> float:
        gb = self.by_size[size]["read_bytes"] / 1e9 / self.scale
        return float(max(told[0] / gb, gb / told[1], 1.0))

    def grows(self, study: str, figure: Callable[[list[Row]], float]) -> bool:
        """Return whether a figure of the rows grows with what was changed."""
        figures = [figure(rows) for _, rows in sorted(self.changed[study].items())]
        return all(later > earlier for earlier, later in itertools.pairwise(figures))

    def between(self, one: str, other: str) -> str:
        """Return by which shares the first table and the retest differ, from the least to the most."""
        shares = sorted(
            abs(1 - line[other] / line[one]) for line in self.told.values() if line.keys() >= {one, other}
        )
        return f"{100 * shares[0]:.0f} and {100 * shares[-1]:.0f} %"

    def events_per_s(self, row: Row) -> float:
        """Return the events in a second of wall time."""
        return float(self.model["n_events"]) / (float(row["wall_ns"]) / 1e9)

    def times(self, row: Row) -> float:
        """Return how many times a file moves."""
        return float(row["read_bytes"] / row["file_bytes"])

    def buffer(self, row: Row) -> str:
        """Return the size of the buffer, as RFIO's users wrote it."""
        return size_text(row["cache_bytes"])

    def pairs(self) -> Iterator[Pair]:
        """Return the volumes of all published sizes, and of the worst."""
        for size in sorted({*self.told, self.top["cache_bytes"]}):
            line, here = self.told.get(size), round(self.by_size[size]["read_bytes"] / self.scale)
            gb = line.get("volume_gb", line.get("retest_gb", 0)) if line else None
            then = None if gb is None else round(gb * 1e9)
            yield Pair(f"buffer of {size_text(size)}", then, here, is_given=line is not None)

    def volume_series(self) -> Iterator[Series]:
        """Return what moves by the size of the buffer: published, here, and by the second guess."""
        then = [(line, band(line)) for line in self.told.values()]
        points = (
            Point(line["buffer_bytes"], line.get("volume_gb", low) * 1e9, low * 1e9, high * 1e9)
            for line, (low, high) in then
        )
        yield Series("published", tuple(points), is_published=True)
        yield self._replayed(lambda row: row["read_bytes"] / self.scale)
        first = (Point(row["cache_bytes"], row["first_bytes"] / self.scale) for row in self.buffers)
        yield Series("second guess: only the beginning", tuple(first))

    def share_series(self) -> Iterator[Series]:
        """Return the CPU share by the size of the buffer."""
        then = [(line["buffer_bytes"], shares(line)) for line in self.told.values()]
        points = (Point(size, told[0], min(told), max(told)) for size, told in then)
        yield Series("published", tuple(points), is_published=True)
        yield self._replayed(self.cpu_share)

    def _replayed(self, figure: Callable[[Row], float]) -> Series:
        """Return a figure by the size of the buffer; the layout is fitted to that of each published size."""
        points = (Point(size, figure(row), is_given=size in self.told) for size, row in self.by_size.items())
        return Series("replayed", tuple(points))

    def zigzag(self) -> Iterator[Figure]:
        """Draw where the first reads are in the file."""
        reads, now_ns = [], 0.0
        work_ns = self.model["work_ns"] / self.model["n_baskets"]
        for entry, offset, size in self.model["shown"]:
            now_ns += published.LATENCY_NS + size / published.BYTES_PER_S * 1e9 + work_ns
            reads.append(Read(entry, offset, size, round(now_ns)))
        yield offsets(
            "The zigzag: where the first reads are in the file",
            "Without a buffer. What one event needs lies over a span: a basket was written when it was full.",
            reads,
            file_bytes=max(read.offset + read.n_bytes for read in reads),
            n_entries=max(read.entry for read in reads) + 1,
        )

    def basket_series(self) -> Iterator[Series]:
        """Return what moves by the size of the buffer, for each size of baskets."""
        for value in BASKETS:
            name = f"baskets of {value / 1000:.0f} kB"
            yield self.series(name, self.changed["baskets"][value], "cache_bytes", "read_bytes")

    def buffer_rows(self) -> Iterator[Row]:
        """Return each size of the buffer, with what was published of it."""
        for size, row in self.by_size.items():
            line = self.told.get(size, {})
            # As published: three digits would round one of them.
            volumes = {
                key: f"{line[of]:g} GB" if of in line else None
                for key, of in (("published_gb", "volume_gb"), ("retest_gb", "retest_gb"))
            }
            then = {"published_cpu": line.get("cpu_share"), "retest_cpu": line.get("retest_share")}
            yield {**row, **volumes, **then, "kind": GIVEN if line else "found"}

    def span_rows(self) -> Iterator[tuple[Any, ...]]:
        """Return what baskets, branches, seeds and flushes do to the peak and to the fall."""
        for study, words in _CHANGED.items():
            for value, rows in self.changed[study].items():
                top, fall = peak(rows), fall_bytes(rows)
                at = self.buffer(top), top["read_bytes"], size_text(fall) if fall else None
                yield words, value, rows[0]["span_bytes"], *at

    def today_rows(self) -> Iterator[Row]:
        """Return the same job with the strategies of today."""
        for order, study in (("by entry", "today"), ("of the file", "in the order of the file")):
            yield from ({**row, "order": order} for row in self.rows(study))

    def disk_rows(self) -> Iterator[Row]:
        """Return the job on a local disk, and with the largest buffer."""
        for size, row in self.disks.items():
            yield {**row, "where": f"local disk, the kernel reads {size_text(size)} ahead"}
        yield {**self.row("read once before"), "where": "local disk, the file was read once before"}
        row = {**self.by_size[128 * MIB], "where": "network, buffer of 128 MiB"}
        yield {**row, "n_seeks": None, "device_bytes": None}

    def line_rows(self) -> Iterator[Row]:
        """Return several jobs on one line, and lines of other latencies."""
        for (n_jobs, _), row in self.jobs.items():
            yield {**row, "line": f"{n_jobs} job{'s' * (n_jobs > 1)} on one line of 1 Gb/s"}
        for (latency_ns, _), row in self.latencies.items():
            yield {**row, "line": f"a read takes {latency_ns / 1e6:g} ms"}


def band(line: dict[str, Any]) -> tuple[float, float]:
    """Return the lowest and the highest published volume."""
    told = [line[key] for key in ("volume_gb", "retest_gb") if key in line]
    return min(told), max(told)


def shares(line: dict[str, Any]) -> list[float]:
    """Return the published CPU shares: of the first table, and of the retest."""
    return [line[key] for key in ("cpu_share", "retest_share") if key in line]


def fall_bytes(rows: list[Row]) -> int:
    """Return the smallest buffer beyond the peak with which less than a tenth of the peak moves; 0: none."""
    top = peak(rows)
    return min(
        (
            int(row["cache_bytes"])
            for row in rows
            if row["cache_bytes"] > top["cache_bytes"] and row["read_bytes"] < top["read_bytes"] / 10
        ),
        default=0,
    )
