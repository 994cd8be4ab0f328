"""The figures of ATLAS 2012 that its page shows: of its results, and of what was published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot_lab.figures.bars import Bar
from arrowroot_lab.figures.curves import Point, Series
from arrowroot_lab.figures.headlines import GIVEN, Pair

from . import published
from .layouts import CACHED, DISK, READ, TOLD, WORK, WRITTEN, Layouts
from .measuring import BRANCHES, READ_AHEAD, READERS, SMALL_CACHE, SMALL_CACHE_BYTES, STORAGES
from .published import CACHES, FLUSHES, LAYOUTS, PICKED_SHARE, PINGS_NS, is_fitted
from .real import CASES, SIDE_BY_SIDE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arrowroot_lab.classics.results import Row

    from .published import Layout

_SOME = "2 % of the branches"
_LEVEL_1, _LEVEL_6 = "zip 1, flush 3 MB", "zip 6, flush 3 MB"


class Atlas2012Results(Layouts):
    """The results of ATLAS 2012."""

    ours, small_mb = published, SMALL_CACHE_BYTES / 1e6

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(document)
        self.file_bytes = self.model["file_bytes"]
        #: Reader -> row of one event in a hundred, of each layout.
        self.old, self.new = (
            self.keyed("layout", "reader", layout=layout.name, share=PICKED_SHARE) for layout in LAYOUTS
        )
        #: Layout -> ms of an event of all, and of one in a hundred.
        self.all_ms, self.picked_ms = (
            {row["layout"]: self.ms(row) for row in self.rows("layout", share=share, reader="cache")}
            for share in (1.0, PICKED_SHARE)
        )
        #: How many times as fast one in a hundred would be in the new layout, if no event took CPU time.
        self.without_work = float(self.old["cache"]["wait_ns"]) / float(self.new["cache"]["wait_ns"])
        self.pings = {(row["ping_ns"], row["reader"]): self.cpu_share(row) for row in self.rows("ping")}
        self.d3pds = self.keyed("d3pd", "branches", "storage", "flush_bytes", "tree_cache_bytes")
        #: Events of a cluster -> row of one in a hundred, and of all without a cache.
        self.clusters = self.keyed("cluster", "n_together", share=PICKED_SHARE)
        self.whole_clusters = self.keyed("cluster", "n_together", share=1.0)
        #: Workload, and the file that was read -> row of the campaign.
        self.cases = self.keyed(CASES, "workload", "dataset")
        self.is_real = bool(self.rows(READ) or self.rows(WRITTEN))

    def ms(self, row: Row) -> float:
        """Return the wall time of an event."""
        return float(row["wall_ns"]) / 1e6 / int(row["n_events"])

    def event_ns(self, row: Row) -> float:
        """Return the time of an event: in virtual time all of it, for real without that of opening the file."""
        return super().event_ns(row) if row["study"] in (READ, WRITTEN) else self.ms(row) * 1e6

    def over_read(self, row: Row) -> float:
        """Return what was read besides, over what was needed."""
        return float(row["overhead_bytes"] / max(1, row["payload_bytes"]))

    def touched(self, row: Row) -> float:
        """Return the share of the file that is read."""
        return float(row["read_bytes"]) / float(self.file_bytes)

    def times(self, row: Row) -> float:
        """Return how many times all workers together move the file."""
        return float(row["n_workers"] * row["read_bytes"] / self.file_bytes)

    def moved(self, layout: Layout, n_dealt: int) -> float:
        """Return how many times four workers move the file that get so many events in a row."""
        return self.times(self.row("workers", layout=layout.name, n_workers=4, n_dealt=n_dealt))

    def d3pd(self, storage: str, flush_mb: int, cache_mb: int, branches: str = _SOME) -> Row:
        """Return the row of a D3PD; 2 % of its branches, if no others are named."""
        return self.d3pds[branches, storage, flush_mb * 1_000_000, cache_mb * 1_000_000]

    def d3pd_share(self, storage: str, flush_mb: int, cache_mb: int, branches: str = _SOME) -> float:
        """Return the CPU efficiency with a D3PD."""
        return self.cpu_share(self.d3pd(storage, flush_mb, cache_mb, branches))

    def athena_event_kb(self, layout: Layout) -> float:
        """Return the kB of an event that follow from the published speed and time of a layout."""
        return layout.mb_per_s * layout.all_ms

    def old_and_new(self, workload: str) -> list[Row]:
        """Return the rows of the campaign of both layouts; none if one was not measured."""
        rows = [self.cases.get((workload, layout.name)) for layout in LAYOUTS]
        return [row for row in rows if row is not None] if all(rows) else []

    def levels(self) -> list[tuple[str, float, float]]:
        """Return of each engine how many times the bytes and the time of level 1 it takes to read level 6."""
        told = []
        for of_6 in self.rows(CASES, dataset=_LEVEL_6, workload="all branches"):
            same = {key: of_6[key] for key in ("engine", "storage", "strategy", "workload")}
            for of_1 in self.rows(CASES, dataset=_LEVEL_1, **same):
                ratios = (of_6[key] / of_1[key] for key in ("read_bytes", "wall_ns"))
                told.append((of_6["engine"], *ratios))
        return sorted(told)

    def version_pair(self) -> tuple[Row, Row] | None:
        """Return the slowest and the quickest version of one engine, where they differ most; None: there are none."""
        of_one: dict[tuple[str, ...], list[Row]] = {}
        for row in self.rows(SIDE_BY_SIDE):
            of_one.setdefault((row["engine"], row["dataset"], row["storage"]), []).append(row)
        pairs = [
            (max(rows, key=lambda row: row["wall_ns"]), min(rows, key=lambda row: row["wall_ns"]))
            for rows in of_one.values()
        ]
        return max(pairs, key=lambda pair: pair[0]["wall_ns"] / pair[1]["wall_ns"], default=None)

    def pairs(self) -> Iterator[Pair]:
        """Return the time of an event in both layouts."""
        for layout in LAYOUTS:
            for words, then, here, share in (
                ("all events", layout.all_ms, self.all_ms, 1.0),
                ("1 %", layout.picked_ms, self.picked_ms, PICKED_SHARE),
            ):
                is_given = is_fitted(layout, share)
                yield Pair(f"{layout.name}, {words}", then * 1e6, here[layout.name] * 1e6, is_given)

    def layout_bars(self) -> Iterator[Bar]:
        """Return the time of an event in both layouts: published, replayed, and by ROOT."""
        for layout in LAYOUTS:
            for share, words, then, error in (
                (1.0, "all events", layout.all_ms, layout.all_error_ms),
                (PICKED_SHARE, "1 %", layout.picked_ms, 0.0),
            ):
                group = f"{layout.name}, {words}"
                low, high = ((then + sign * error) * 1e6 for sign in (-1, 1))
                yield Bar(group, "published", then * 1e6, low, high)
                row = self.row("layout", layout=layout.name, share=share, reader="cache")
                yield Bar(group, "replayed", self.event_ns(row), is_given=is_fitted(layout, share))
                workload, engine, *at = ("1 %", TOLD, DISK) if share < 1 else ("in a row", CACHED)
                for name, program in (("ROOT", engine), ("arrowroot", "arrowroot")):
                    real = self.read(layout.name, f"{workload}, {WORK[layout.name]}", program, *at)
                    if real is not None:
                        yield self.bar(group, f"{name}, for real", real)

    def share_series(self) -> Iterator[Series]:
        """Return the time of an event by the share of the events that is read."""
        for layout in LAYOUTS:
            yield self.series(layout.name, self.rows("share", layout=layout.name), "share", "event_ns")

    def flush_bars(self) -> Iterator[Bar]:
        """Return the efficiency by storage and flush, with ROOT's cache of 30 MB."""
        for storage in STORAGES:
            for flush in FLUSHES:
                row = self.d3pds[_SOME, storage, flush, 30_000_000]
                yield Bar(storage, _megabytes(flush), self.cpu_share(row))

    def cache_bars(self) -> Iterator[Bar]:
        """Return the efficiency by storage and cache, flushed every 30 MB."""
        for storage in (*STORAGES, READ_AHEAD):
            for cache in CACHES if storage != READ_AHEAD else (0,):
                row = self.d3pds[_SOME, storage, 30_000_000, cache]
                yield Bar(storage, _megabytes(cache), self.cpu_share(row))

    def ping_series(self) -> Iterator[Series]:
        """Return the efficiency by the round trip: the published curve and the replayed ones."""
        yield _published_pings()
        then = (Point(ping_ns, published.efficiency(ping_ns), is_given=True) for ping_ns in PINGS_NS)
        yield Series("one curve through them", tuple(then))
        for reader in (*READERS, SMALL_CACHE):
            is_given = reader in (SMALL_CACHE, "no cache")
            points = (Point(ping_ns, self.pings[ping_ns, reader], is_given=is_given) for ping_ns in PINGS_NS)
            yield Series(reader, tuple(points))

    def real_ping_series(self) -> Iterator[Series]:
        """Return the efficiencies of the campaign, of each engine and strategy, beside the published ones, if any."""
        lines: dict[tuple[str, str], list[Point]] = {}
        for row in self.rows(CASES, workload="a tenth, with CPU time"):
            if row["cpu_ns"]:
                # A storage is called by its round trip: 20 ms away.
                ping_ns = float(row["storage"].partition(" ms")[0]) * 1e6
                point = Point(ping_ns, min(1.0, row["cpu_ns"] / row["wall_ns"]))
                lines.setdefault((row["engine"], row["strategy"]), []).append(point)
        if lines:
            yield _published_pings()
        for name, points in sorted(lines.items()):
            yield Series(", ".join(name), tuple(sorted(points, key=lambda point: (point.x, point.y))))

    def worker_series(self) -> Iterator[Series]:
        """Return how much several workers move, by what each gets in its turn."""
        for layout in LAYOUTS:
            for n_dealt, words in ((1, "event by event"), (layout.n_together, "a cluster at a time")):
                rows = self.rows("workers", layout=layout.name, n_dealt=n_dealt)
                yield self.series(f"{layout.name}, {words}", rows, "n_workers", "times")

    def version_bars(self) -> Iterator[Bar]:
        """Return the wall time by storage and version, as far as there are results."""
        for row in self.rows(SIDE_BY_SIDE):
            names = f"{row['dataset']}, {row['storage']}", f"{row['engine']} {row['version']}"
            yield Bar(*names, *(row[key] for key in ("wall_ns", "low_ns", "high_ns", "n_samples")))

    def layout_rows(self) -> Iterator[Row]:
        """Return both layouts by reader, with what was published of them."""
        for row in self.rows("layout"):
            [layout] = [one for one in LAYOUTS if one.name == row["layout"]]
            is_cached, then = (
                row["reader"] == "cache",
                layout.all_ms if row["share"] == 1 else layout.picked_ms,
            )
            is_given = row["reader"] == "no cache" or (is_cached and is_fitted(layout, row["share"]))
            yield {
                **row,
                "kind": GIVEN if is_given else "found",
                "published_ns": then * 1e6 if is_cached else None,
                "wait_ns": row["wait_ns"] / row["n_events"],
            }

    def cluster_rows(self) -> Iterator[Row]:
        """Return unsplit objects by the events of a cluster."""
        for n, row in self.clusters.items():
            whole = self.whole_clusters[n]
            reads = whole["n_requests"] / whole["n_events"]
            yield {**row, "reads_an_event": reads, "all_ns": self.event_ns(whole)}

    def d3pd_rows(self) -> Iterator[Row]:
        """Return a D3PD by branches, storage, flush and cache."""
        for branches in BRANCHES:
            for storage in (*STORAGES, READ_AHEAD):
                yield from self.rows("d3pd", branches=branches, storage=storage)

    def ping_rows(self) -> Iterator[tuple[float, ...]]:
        """Return the efficiencies by the round trip."""
        for ping_ns in PINGS_NS:
            here = (self.pings[ping_ns, reader] for reader in (*READERS, SMALL_CACHE))
            yield ping_ns, published.efficiency(ping_ns), *here

    def worker_rows(self) -> Iterator[Row]:
        """Return several workers: what all of them move, and their events in a second."""
        for row in self.rows("workers"):
            rate = row["n_events"] * row["n_workers"] / (row["wall_ns"] / 1e9)
            moved = row["n_workers"] * row["read_bytes"]
            yield {**row, "read_bytes": moved, "times": self.times(row), "events_per_s": rate}

    def case_rows(self) -> Iterator[Row]:
        """Return the campaign's rows; the CPU is that of each worker."""
        for row in self.rows(CASES):
            cpu_share = row["cpu_ns"] / row["wall_ns"] / row["n_workers"] if row["cpu_ns"] else None
            yield {**row, "cpu_share": cpu_share}


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.0f} MB" if n_bytes else "none"


def _published_pings() -> Series:
    low, high = published.US_SHARES
    mean = (low + high) / 2
    ping_ns = (1 / mean - 1 / published.LOCAL_SHARE) / published.round_trips_a_cpu_second() * 1e9
    told = (
        Point(0, published.LOCAL_SHARE, note="local"),
        Point(ping_ns, mean, low, high, "other sites in the US"),
        Point(published.CERN_NS, published.CERN_SHARE, note="CERN"),
    )
    return Series("published", told, is_joined=False, is_published=True)
