"""The figures of the page of ATLAS 2012, in the forms of its source: times, bars by storage, efficiency and ping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.figures.bars import Bar, bars
from arrowroot_lab.figures.curves import Point, Series, curves
from arrowroot_lab.mining.table import Column

from . import layouts, published
from .layouts import CACHED, DISK, TOLD, WORK, event_ns, reads_figure
from .measuring import READ_AHEAD, READERS, SMALL_CACHE, STORAGES, cpu_share, ms_an_event
from .published import CACHES, FLUSHES, LAYOUTS, PICKED_SHARE, is_fitted
from .real import CASES, SIDE_BY_SIDE

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Results, Row
    from arrowroot_lab.figures.figure import Figure

__all__ = [
    "cache_figure", "flush_figure", "layout_figure", "ping_figure", "reads_figure", "real_ping_figure", "share_figure",
    "version_figure", "worker_figure",
]  # fmt: skip

_EVENT = Column("event_ns", "Time of an event", "time")
_EFFICIENCY = Column("cpu_share", "CPU efficiency", "share")


def layout_figure(found: Results, real: layouts.Found) -> Figure:
    """Return the time of an event in both layouts: published, replayed, and by ROOT."""
    data = []
    for layout in LAYOUTS:
        for share, words, then, error in (
            (1.0, "all events", layout.all_ms, layout.all_error_ms),
            (PICKED_SHARE, "1 %", layout.picked_ms, 0.0),
        ):
            group = f"{layout.name}, {words}"
            low, high = ((then + sign * error) * 1e6 for sign in (-1, 1))
            data.append(Bar(group, "published", then * 1e6, low, high))
            row = found.row("layout", layout=layout.name, share=share, reader="cache")
            data.append(Bar(group, "replayed", ms_an_event(row) * 1e6, is_given=is_fitted(layout, share)))
            data += _real_bars(real, layout.name, group, is_picked=share < 1)
    return bars(
        "The time of an event: published, replayed, and for real",
        "A cache of 30 MB that is told the events; for real at 0.42 ms a read and 70 MB/s (1 %), or from a cold disk.",
        data,
        _EVENT,
        group="Layout and events",
        series="Source",
    )


def _real_bars(real: layouts.Found, layout: str, group: str, *, is_picked: bool) -> list[Bar]:
    told = []
    for engine, words in (
        (TOLD if is_picked else CACHED, "ROOT, for real"),
        ("arrowroot", "arrowroot, for real"),
    ):
        if is_picked:
            row = real.read(layout, f"1 %, {WORK[layout]}", engine, DISK)
        else:
            row = real.read(layout, f"in a row, {WORK[layout]}", engine)
        if row is not None:
            opened, n = row["open_ns"] or 0, row["n_events"]
            low, high = ((row[key] - opened) / n for key in ("low_ns", "high_ns"))
            told.append(Bar(group, words, event_ns(row), low, high, row["n_samples"]))
    return told


def share_figure(found: Results) -> Figure:
    """Return the time of an event by the share of the events that is read."""
    return curves(
        "The time of an event, by how many are wanted",
        "The cache is told which. The fewer are wanted, the more of what is read in the old layout is for nothing.",
        [
            Series(
                layout.name,
                tuple(
                    Point(row["share"], ms_an_event(row) * 1e6)
                    for row in found.rows("share", layout=layout.name)
                ),
            )
            for layout in LAYOUTS
        ],
        Column("share", "Share of the events", "share"),
        _EVENT,
        is_log_x=True,
        is_log_y=True,
    )


def _d3pd_bars(found: Results, series: str, values: tuple[int, ...], other: tuple[str, int]) -> list[Bar]:
    data = []
    for storage in (*STORAGES, READ_AHEAD):
        for value in values:
            wanted = {
                series: value,
                other[0]: other[1],
                "storage": storage,
                "branches": "2 % of the branches",
            }
            data += [Bar(storage, _megabytes(value), cpu_share(row)) for row in found.rows("d3pd", **wanted)]
    return data


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.0f} MB" if n_bytes else "none"


def flush_figure(found: Results) -> Figure:
    """Return the efficiency by storage and flush, with ROOT's cache of 30 MB."""
    return bars(
        "CPU efficiency by storage: flushed every 3, 30 and 300 MB",
        "2 % of the branches of a D3PD, a tree cache of 30 MB, in virtual time.",
        _d3pd_bars(found, "flush_bytes", FLUSHES, ("tree_cache_bytes", 30_000_000)),
        _EFFICIENCY,
        group="Storage",
        series="Flush",
    )


def cache_figure(found: Results) -> Figure:
    """Return the efficiency by storage and cache, flushed every 30 MB."""
    return bars(
        "CPU efficiency by storage: tree caches of 0, 30 and 300 MB",
        "2 % of the branches of a D3PD that is flushed every 30 MB, in virtual time.",
        _d3pd_bars(found, "tree_cache_bytes", CACHES, ("flush_bytes", 30_000_000)),
        _EFFICIENCY,
        group="Storage",
        series="Cache",
    )


def ping_figure(found: Results) -> Figure:
    """Return the efficiency by the round trip: the published curve and the replayed ones."""
    then = tuple(
        Point(ping_ns, published.efficiency(ping_ns), is_given=True) for ping_ns in published.PINGS_NS
    )
    series = [_published_pings(), Series("one curve through them", then)]
    for reader in (*READERS, SMALL_CACHE):
        rows = found.rows("ping", reader=reader)
        is_given = reader in (SMALL_CACHE, "no cache")
        points = tuple(Point(row["ping_ns"], cpu_share(row), is_given=is_given) for row in rows)
        series.append(Series(reader, points))
    return curves(
        "CPU efficiency, by the round trip",
        "All events of the new layout in virtual time, at 60 MB/s. Where the published points lie is ours.",
        series,
        Column("ping_ns", "Round trip", "time"),
        _EFFICIENCY,
        from_zero=True,
    )


def real_ping_figure(found: Results) -> Figure | None:
    """Return the efficiencies of the campaign by the round trip, beside the published ones; None without any."""
    series = real_pings(found)
    if not series:
        return None
    return curves(
        "CPU efficiency, by the round trip, for real",
        "A tenth of the branches of a small D3PD from xrootd, at 60 MB/s: 1.8 s of work, and what opening takes.",
        [_published_pings(), *series],
        Column("ping_ns", "Round trip", "time"),
        _EFFICIENCY,
        from_zero=True,
    )


def _published_pings() -> Series:
    low, high = published.US_SHARES
    told = (
        Point(0, published.LOCAL_SHARE, note="local"),
        Point(_ping_of((low + high) / 2), (low + high) / 2, low, high, "other sites in the US"),
        Point(published.CERN_NS, published.CERN_SHARE, note="CERN"),
    )
    return Series("published", told, is_joined=False, is_published=True)


def _ping_of(share: float) -> float:
    """The round trip at which the published curve has an efficiency."""
    return (1 / share - 1 / published.LOCAL_SHARE) / published.round_trips_a_cpu_second() * 1e9


def real_pings(found: Results) -> list[Series]:
    """Return the efficiencies of the campaign, of each engine and strategy that it read with."""
    rows = [row for row in found.rows(CASES, workload="a tenth, with CPU time") if row["cpu_ns"]]
    series = []
    for engine, strategy in sorted({(row["engine"], row["strategy"]) for row in rows}):
        told = sorted(
            (ping_of_storage(row), min(1.0, row["cpu_ns"] / row["wall_ns"]))
            for row in rows
            if (row["engine"], row["strategy"]) == (engine, strategy)
        )
        series.append(Series(f"{engine}, {strategy}", tuple(Point(ping, share) for ping, share in told)))
    return series


def ping_of_storage(row: Row) -> float:
    """Return the round trip that a storage is called by: ``20 ms away``."""
    return float(str(row["storage"]).partition(" ms")[0]) * 1e6


def worker_figure(found: Results) -> Figure:
    """Return how much several workers move, by what each gets in its turn."""
    series = []
    for layout in LAYOUTS:
        for n_dealt in (1, layout.n_together):
            rows = found.rows("workers", layout=layout.name, n_dealt=n_dealt)
            words = "event by event" if n_dealt == 1 else "a cluster at a time"
            points = tuple(
                Point(row["n_workers"], row["n_workers"] * row["read_bytes"] / found.model["file_bytes"])
                for row in rows
            )
            series.append(Series(f"{layout.name}, {words}", points))
    return curves(
        "Several workers on one input: how often the file is moved",
        "Each reads the clusters that have its events; the cache of each is told which.",
        series,
        Column("n_workers", "Workers", "count"),
        Column("times", "Times the file", "ratio"),
        from_zero=True,
    )


def version_figure(found: Results) -> Figure | None:
    """Return the wall time by storage and version, as far as there are results."""
    rows = found.rows(SIDE_BY_SIDE)
    if not rows:
        return None
    return bars(
        "Versions side by side: wall time by storage",
        "All columns of one file; median, least and most of the samples.",
        [
            Bar(
                f"{row['dataset']}, {row['storage']}",
                f"{row['engine']} {row['version']}",
                row["wall_ns"],
                row["low_ns"],
                row["high_ns"],
                row["n_samples"],
            )
            for row in rows
        ],
        Column("wall_ns", "Wall time", "time"),
        group="Storage",
        series="Version",
    )
