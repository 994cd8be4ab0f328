"""The tables of the page of ATLAS 2012."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.figures.headlines import GIVEN
from arrowroot_lab.mining.table import Column, Table

from . import layouts, published
from .layouts import READ, WRITTEN
from .measuring import (
    BRANCHES,
    READ_AHEAD,
    READERS,
    SMALL_CACHE,
    STORAGES,
    cpu_share,
    ms_an_event,
)
from .published import LAYOUTS, PICKED_SHARE, is_fitted
from .real import CASES

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Results

_REQUESTS = (Column("n_requests", "Reads", "count"), Column("read_bytes", "Read", "bytes"))


def all_of(found: Results, real: layouts.Found) -> tuple[Table, ...]:
    """Return all tables, in the order of the page."""
    studies = {row["study"] for row in real.rows}
    told = [_layout_table(found), layouts.statement_table(real), _cluster_table(found), _d3pd_table(found)]
    told += [_ping_table(found), _worker_table(found)]
    told += [layouts.reading_table(real)] if READ in studies else []
    told += [layouts.writing_table(real)] if WRITTEN in studies else []
    told += [_case_table(found)] if found.rows(CASES) else []
    return tuple(told)


def _layout_table(found: Results) -> Table:
    rows = [
        (
            layout.name,
            share,
            reader,
            GIVEN if reader == "no cache" or (reader == "cache" and is_fitted(layout, share)) else "found",
            then * 1e6 if reader == "cache" else None,
            ms_an_event(row) * 1e6,
            row["wait_ns"] / row["n_events"],
            row["n_requests"],
            row["read_bytes"],
        )
        for layout in LAYOUTS
        for share, then in ((1.0, layout.all_ms), (PICKED_SHARE, layout.picked_ms))
        for reader in (*READERS, "cache, not told")
        for row in found.rows("layout", layout=layout.name, share=share, reader=reader)
    ]
    return Table(
        "The layouts, published and replayed",
        (
            Column("layout", "Layout"),
            Column("share", "Events", "share"),
            Column("reader", "Read by"),
            Column("kind", "Ours is"),
            Column("published_ns", "An event, published", "time"),
            Column("event_ns", "An event, here", "time"),
            Column("wait_ns", "Without its work", "time"),
            *_REQUESTS,
        ),
        tuple(rows),
        (
            "A cache of 30 MB. A vector read is one read. auto fetches ahead, while the job works.",
            "no cache: a read for each basket that was put in, so that reads and times are given.",
        ),
    )


def _cluster_table(found: Results) -> Table:
    picked, all_events = (
        {row["n_together"]: row for row in found.rows("cluster", share=share)}
        for share in (PICKED_SHARE, 1.0)
    )
    return Table(
        "Unsplit objects, in clusters of other sizes",
        (
            Column("n_together", "Events of a cluster", "count"),
            Column("event_ns", "1 %: an event", "time"),
            Column("read_bytes", "1 %: read", "bytes"),
            Column("reads_an_event", "All, no cache: reads an event", "count"),
            Column("all_ns", "All, no cache: an event", "time"),
        ),
        tuple(
            (
                n,
                ms_an_event(row) * 1e6,
                row["read_bytes"],
                all_events[n]["n_requests"] / all_events[n]["n_events"],
                ms_an_event(all_events[n]) * 1e6,
            )
            for n, row in picked.items()
        ),
        (
            "Five are an ESD's, ten an AOD's. Few events to a cluster need a cache if all are read.",
            "All, no cache: a read for each basket that was put in: given.",
        ),
    )


def _d3pd_table(found: Results) -> Table:
    rows = [
        (
            branches,
            storage,
            row["flush_bytes"],
            row["tree_cache_bytes"],
            cpu_share(row),
            row["n_requests"],
            row["read_bytes"],
            row["overhead_bytes"] / max(1, row["payload_bytes"]),
        )
        for branches in BRANCHES
        for storage in (*STORAGES, READ_AHEAD)
        for row in found.rows("d3pd", branches=branches, storage=storage)
    ]
    some, flush = list(BRANCHES)[-1], published.FLUSHES[0]
    without, cached = (
        cpu_share(
            found.row("d3pd", branches=some, storage="xrootd", flush_bytes=flush, tree_cache_bytes=cache)
        )
        for cache in published.CACHES[:2]
    )
    return Table(
        "Flushes and caches of a D3PD, by storage, replayed",
        (
            Column("branches", "Branches"),
            Column("storage", "Storage"),
            Column("flush_bytes", "Flush", "bytes"),
            Column("tree_cache_bytes", "Cache", "bytes"),
            Column("cpu_share", "CPU", "share"),
            *_REQUESTS,
            Column("over_read", "Read besides", "share"),
        ),
        tuple(rows),
        (
            (
                f"A job that reads {some}, flushed every 3 MB, from xrootd works for {without:.0%} of the time without "
                f"a cache, and for {cached:.0%} with one of 30 MB."
            ),
            "A seek of the disk takes 8 ms, it reads 70 MB/s; the others are 1 ms away, at 100 MB/s. All is ours.",
        ),
    )


def _ping_table(found: Results) -> Table:
    readers = (*READERS, SMALL_CACHE)
    return Table(
        "CPU efficiency by the round trip",
        (
            Column("ping_ns", "Round trip", "time"),
            Column("published", f"Published curve, {GIVEN}", "share"),
            *(
                Column(f"reader_{n}", f"{reader}, {GIVEN}" if reader == SMALL_CACHE else reader, "share")
                for n, reader in enumerate(readers)
            ),
        ),
        tuple(
            (
                ping_ns,
                published.efficiency(ping_ns),
                *(cpu_share(found.row("ping", ping_ns=ping_ns, reader=reader)) for reader in readers),
            )
            for ping_ns in published.PINGS_NS
        ),
        (
            "All events of the new layout, at 60 MB/s. no cache: a round trip for each basket that was put in: given.",
        ),
    )


def _worker_table(found: Results) -> Table:
    rows = [
        (
            row["layout"],
            row["n_workers"],
            row["n_dealt"],
            row["n_workers"] * row["read_bytes"],
            row["n_workers"] * row["read_bytes"] / found.model["file_bytes"],
            row["n_events"] * row["n_workers"] / (row["wall_ns"] / 1e9),
        )
        for row in found.rows("workers")
    ]
    return Table(
        "Several workers, each with a part of one input, on one line",
        (
            Column("layout", "Layout"),
            Column("n_workers", "Workers", "count"),
            Column("n_dealt", "Events in a row", "count"),
            Column("read_bytes", "Moved by all", "bytes"),
            Column("times", "Times the file", "ratio"),
            Column("events_per_s", "Events/s of all", "rate"),
        ),
        tuple(rows),
        ("Workers are alike, begin together, and share 60 MB/s evenly.",),
    )


def _case_table(found: Results) -> Table:
    keys = ("workload", "storage", "dataset", "engine", "strategy")
    return Table(
        "Levels, flushes, caches, far reading, picking and workers, for real",
        (
            *(
                Column(key, title)
                for key, title in zip(keys, ("What", "From", "File", "By", "Strategy"), strict=True)
            ),
            Column("wall_ns", "Wall, median", "time"),
            Column("low_ns", "Least", "time"),
            Column("high_ns", "Most", "time"),
            Column("cpu_share", "CPU", "share"),
            *_REQUESTS,
        ),
        tuple(
            (
                *(row[key] for key in keys),
                *(row[key] for key in ("wall_ns", "low_ns", "high_ns")),
                None if not row["cpu_ns"] else row["cpu_ns"] / row["wall_ns"] / row["n_workers"],
                row["n_requests"],
                row["read_bytes"],
            )
            for row in found.rows(CASES)
        ),
    )
