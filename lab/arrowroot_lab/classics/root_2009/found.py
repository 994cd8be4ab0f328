"""The figures of ROOT 2009 that its page shows: of its results, and of what was published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot_lab.classics import results
from arrowroot_lab.classics.atlas_2012 import layouts
from arrowroot_lab.classics.study import Study, column
from arrowroot_lab.figures.bars import Bar
from arrowroot_lab.figures.headlines import GIVEN, Pair
from arrowroot_lab.figures.reads import Read, offsets
from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.table import ResultTable

from . import published
from .measuring import CORNERS, LAYOUTS, LINES, MB, N_BINS, SMALL_REAL_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arrowroot_lab.classics.results import Row
    from arrowroot_lab.figures.curves import Series
    from arrowroot_lab.figures.figure import Figure

#: In the order of the talk; each figure with its unit.
_STATS = {
    "TreeCache": "{cache_mb} MB",
    "N leaves": f"{published.N_LEAVES}",
    "ReadTotal": "{read_mb:.2f} MB",
    "ReadUnZip": "{unzipped_mb:.2f} MB",
    "ReadCalls": "{n_reads}",
    "ReadSize": "{read_kb:.3f} KB",
    "Readahead": "256 KB",
    "Readextra": "{extra:.2f} per cent",
    "Real Time": "{real_s:.3f} s",
    "CPU Time": "{cpu_s:.3f} s",
    "Disk Time": "{disk_s:.3f} s",
}
#: And what follows of them: megabytes over seconds.
_RATES = {
    "Disk IO": ("read_mb", "disk_s"),
    "ReadUZRT": ("unzipped_mb", "real_s"),
    "ReadUZCP": ("unzipped_mb", "cpu_s"),
    "ReadRT": ("read_mb", "real_s"),
    "ReadCP": ("read_mb", "cpu_s"),
}
_WAYS = ("no cache", "tree cache", "asynchronous", "local copy, second time")


class Root2009Results(Study):
    """The results of ROOT 2009."""

    ours = published

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(document)
        #: The corners: of the file of 2009 without a cache and with it, and of the flushed one.
        self.plain, self.cache_alone, self.layout_alone, self.both = (self.corner(*key) for key in CORNERS)
        #: Layout and size -> row; layout, line and strategy -> row; layout, and which third of the entries -> row.
        self.caches = {(row["layout"], row["cache_bytes"] // MB): row for row in self.rows("cache")}
        self.replays = self.keyed("replay", "layout", "line", "strategy")
        self.third = self.keyed("third", "layout", "which")
        #: How many times as fast two buffers are as one, by the width of the line.
        widths = sorted(self.rows("bandwidth"), key=lambda row: float(row["bytes_per_s"]))
        self.gains = [row["wall_ns"] / row["async_wall_ns"] for row in widths]
        of_entries = [row for row in self.rows("real") if row["workload"] != "with CPU time"]
        #: Engine ("root" of any version), layout, workload and strategy -> row for real; with a small cache apart.
        self.real, self.small_real = (
            {
                (_engine(row), row["layout"], row["workload"], row["strategy"]): row
                for row in of_entries
                if (row["cache_bytes"] == SMALL_REAL_BYTES) == is_small
            }
            for is_small in (False, True)
        )
        far = [row for row in self.rows("real", workload="with CPU time") if row["wall_ns"]]
        #: Strategy -> CPU over real time of the job that works, over 50 ms for real, as far as it has a time.
        self.far_real = {row["title"]: row["cpu_ns"] / row["wall_ns"] for row in far}

    def corner(self, layout: str, cache_bytes: int) -> Row:
        """Return a corner: of a layout with the cache, or without."""
        return self.row("corner", layout=layout, cache_bytes=cache_bytes)

    def real_reads(self, layout: str, strategy: str, workload: str = "all entries") -> int:
        """Return the reads that ROOT makes for real."""
        return int(self.real["root", layout, workload, strategy]["n_reads"])

    def far_share(self, row: Row) -> float:
        """Return CPU over real time 50 ms away."""
        return self.cpu_share(row, "far_wall_ns")

    def async_share(self, row: Row) -> float:
        """Return CPU over real time 50 ms away, with asynchronous prefetching."""
        return self.cpu_share(row, "far_async_wall_ns")

    def two_buffers(self, row: Row) -> float:
        """Return CPU over real time where the next fill comes while the job works on this one."""
        return self.cpu_share(row, "async_wall_ns")

    def needed(self, row: Row) -> float:
        """Return the share of the file that entries need."""
        return float(row["needed_bytes"] / row["file_bytes"])

    def moved(self, row: Row) -> float:
        """Return the share of the file that moves for them."""
        return float(row["read_bytes"] / row["file_bytes"])

    def way(self, line: str, name: str) -> float:
        """Return CPU over real time of a way of reading the flushed file over a line."""
        return self.cpu_share(self.row("far", line=line, way=name))

    def seek_ms(self, disk: str) -> float:
        """Return what a seek must have taken, so that the unoptimised file's seeks make the published disk time."""
        row = self.replays["unoptimised", disk, "direct"]
        transfer_s = row["device_bytes"] / published.BYTES_PER_S
        seeks_s = published.UNOPTIMISED["disk_s"] * self.scale - float(transfer_s)
        return float(1e3 * seeks_s / row["n_seeks"])

    def pairs(self) -> Iterator[Pair]:
        """Return how many times fewer reads there are; ROOT's own, of ATLAS's layouts, if they were read."""
        then = round(published.UNOPTIMISED["n_reads"] / published.OPTIMISED["n_reads"])
        atlas = layouts.Layouts(results.stored("atlas-2012").document)
        neither = atlas.read(layouts.OLD, "all", layouts.PLAIN)
        both = atlas.read(layouts.NEW, "all", layouts.CACHED)
        if neither is not None and both is not None:
            counts = neither["n_requests"], both["n_requests"]
            label = f"both, ROOT 6.40 for real ({counts[0]:,} to {counts[1]:,})"
            yield Pair(label, then, round(counts[0] / counts[1]))
        n, n_both = self.plain["n_reads"], self.both["n_reads"]
        yield Pair(f"both, by ROOT's rules ({n:,} to {n_both:,})", then, round(n / n_both))
        yield Pair("cache alone", None, round(n / self.cache_alone["n_reads"]))
        yield Pair("layout alone", None, round(n / self.layout_alone["n_reads"], 1), is_given=True)

    def stats(self) -> list[tuple[str, ...]]:
        """Return the rows of TTreePerfStats: all four corners, between the published ones."""
        first, last = ({**one, "extra": 0.0} for one in published.STATS.values())
        sides = [first, *(self._as_published(*key) for key in CORNERS), last]
        rows = [(name, *(text.format(**side) for side in sides)) for name, text in _STATS.items()]
        return rows + [
            (name, *(f"{side[mb] / side[s]:.3f} MB/s" for side in sides)) for name, (mb, s) in _RATES.items()
        ]

    def _as_published(self, layout: str, cache_bytes: int) -> Row:
        """Return a corner as published ones are, and what was read besides in per cent."""
        row = self.corner(layout, cache_bytes)
        read_mb = row["read_bytes"] / 1e6 / self.scale
        times = {"real_s": "wall_ns", "cpu_s": "work_ns", "disk_s": "wait_ns"}
        return {
            **published.STATS[layout],
            "cache_mb": cache_bytes // MB,
            "read_mb": read_mb,
            "n_reads": row["n_reads"],
            "read_kb": read_mb * 1e3 * self.scale / row["n_reads"],
            "extra": 100 * (row["read_bytes"] / row["asked_bytes"] - 1),
            **{name: row[key] / 1e9 / self.scale for name, key in times.items()},
        }

    def disk_rows(self) -> Iterator[Row]:
        """Return what arrowroot makes of both files, by line and strategy."""
        for row in self.rows("replay"):
            cache = f" {row['cache_bytes'] // MB} MB" if row["cache_bytes"] else ""
            yield {**row, "strategy": f"{row['strategy']}{cache}", "n_seeks": row["n_seeks"] or None}

    def cache_rows(self) -> Iterator[Row]:
        """Return both files with caches from 0 to 300 MB."""
        for row in self.rows("cache"):
            size = row["cache_bytes"]
            yield {**row, "cache": f"{size // MB} MB", "n_fills": row["n_fills"] if size else None}

    def far_rows(self) -> list[Row]:
        """Return the ways to read the flushed file, near and far."""
        ahead = "arrowroot, tree cache with a window ahead"
        return [
            *self.rows("far"),
            *({**row, "way": ahead, "work_ns": row["think_ns"]} for row in self.rows("ahead")),
        ]

    def real_rows(self) -> Iterator[Row]:
        """Return the campaign's rows; a job whose times do not count has no share."""
        for row in self.rows("real"):
            cpu_share = row["cpu_ns"] / row["wall_ns"] if row["wall_ns"] else None
            yield {**row, "strategy": row["title"], "cpu_share": cpu_share}

    def pictures_of_reads(self) -> Iterator[Figure]:
        """Draw where the reads of each corner lie."""
        for corner in CORNERS:
            yield self._picture_of_reads(*corner)

    def _picture_of_reads(self, layout: str, cache_bytes: int) -> Figure:
        file_bytes, n_entries = self.model[layout]["file_bytes"], self.model["n_entries"]
        row = self.corner(layout, cache_bytes)
        reads, lines = [], []
        for place, n_reads, n_bytes, end_ms, runs in self.model["shown"][f"{layout} {cache_bytes}"]:
            entry, end_ns = place * n_entries // N_BINS, end_ms * 1_000_000
            lines.append((entry, (place + 1) * n_entries // N_BINS, n_reads, n_bytes, end_ns))
            for begin, end in runs:
                offset = begin * file_bytes // N_BINS
                reads.append(Read(entry, offset, end * file_bytes // N_BINS - offset, end_ns))
        names = (
            "entry_begin:count From entry", "entry_end:count To entry", "n_reads Reads", "n_bytes:bytes Bytes",
            "end_ns Time at the end",
        )  # fmt: skip
        title = f"Reads: {_name(layout, cache_bytes)}"
        given = "" if cache_bytes else f" ({GIVEN})"
        return offsets(
            title,
            f"{row['n_reads']:,} reads{given} of {shown(row['read_bytes'] / row['n_reads'], 'bytes')}; places to "
            f"{file_bytes / N_BINS / 1e6:.0f} MB.",
            reads,
            file_bytes=file_bytes,
            n_entries=n_entries,
            numbers=ResultTable(title, tuple(map(column, names)), tuple(lines)),
        )

    def time_bars(self) -> Iterator[Bar]:
        """Return both times of each corner, and the published ones."""
        for layout, cache_bytes in CORNERS:
            name, row, then = (
                _name(layout, cache_bytes),
                self.corner(layout, cache_bytes),
                published.STATS[layout],
            )
            is_published = then["cache_mb"] * MB == cache_bytes
            if is_published:
                yield Bar(name, "real time, published", round(then["real_s"] * 1e9))
                yield Bar(name, "disk time, published", round(then["disk_s"] * 1e9))
            # Reads without a cache are put in, so what they take follows.
            is_given = is_published or not cache_bytes
            for words, key in (("real time, here", "wall_ns"), ("disk time, here", "wait_ns")):
                yield Bar(name, words, round(row[key] / self.scale), is_given=is_given)

    def far_bars(self) -> Iterator[Bar]:
        """Return CPU over real time of each way, near and far."""
        for line in LINES:
            for name in _WAYS:
                yield Bar(line, name, self.way(line, name), is_given=name == "no cache")

    def cache_series(self) -> Iterator[Series]:
        """Return CPU over real time by the size of the cache."""
        ways = (("disk", "cpu_share"), ("50 ms", "far_share"), ("50 ms, asynchronous", "async_share"))
        for layout in LAYOUTS:
            rows = [row for row in self.rows("cache", layout=layout) if row["cache_bytes"]]
            for name, share in ways:
                yield self.series(f"{layout}, {name}", rows, "cache_bytes", share)

    def bandwidth_series(self) -> Iterator[Series]:
        """Return CPU over real time by the width of the line."""
        rows = self.rows("bandwidth")
        yield self.series("one buffer", rows, "bytes_per_s", "cpu_share")
        yield self.series("two buffers", rows, "bytes_per_s", "two_buffers")


def _engine(row: Row) -> str:
    return "root" if row["engine"].startswith("root") else str(row["engine"])


def _name(layout: str, cache_bytes: int) -> str:
    return f"{layout}, {f'cache of {cache_bytes // MB} MB' if cache_bytes else 'no cache'}"
