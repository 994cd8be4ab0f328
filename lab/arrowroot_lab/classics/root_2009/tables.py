"""The tables of the page of ROOT 2009."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from arrowroot_lab.mining.table import Column, Table

from . import published
from .measuring import CACHES, CORNERS, LAYOUTS, MB, corner, cpu_share

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Results


def stats_table(found: Results) -> Table:
    """Return what TTreePerfStats says of all four corners, with the published ones at both ends."""
    sides = [
        _stats(published.UNOPTIMISED),
        *(_stats(*_measured(found, *key)) for key in CORNERS),
        _stats(published.OPTIMISED),
    ]
    titles = (
        "Unoptimised, 2009",
        "Here: unoptimised (given)",
        "cache alone",
        "layout alone (given)",
        "both (times given)",
        "Optimised, 2009",
    )
    return Table(
        "TTreePerfStats of the four corners, beside the published ones",
        (Column("figure", "Figure"), *(Column(f"side_{i}", title, "rate") for i, title in enumerate(titles))),
        tuple((name, *(side[name] for side in sides)) for name in sides[0]),
        (
            (
                "ReadTotal without a cache, ReadUnZip and CPU Time here are the published ones of the layout, and "
                "reads without a cache are baskets that were put in: given. ReadExtra is by what is needed."
            ),
        ),
    )


def _measured(found: Results, layout: str, cache_bytes: int) -> tuple[published.Stats, float]:
    """Return a corner as published ones are told, and what was read besides in per cent."""
    row, then = corner(found, layout, cache_bytes), published.STATS[layout]
    read_mb = row["read_bytes"] / 1e6 / found.scale
    seconds = (row[key] / 1e9 / found.scale for key in ("wall_ns", "work_ns", "wait_ns"))
    real_s, cpu_s, disk_s = seconds
    told = replace(
        then,
        cache_mb=cache_bytes // MB,
        read_mb=read_mb,
        n_reads=row["n_reads"],
        read_kb=read_mb * 1e3 * found.scale / row["n_reads"],
        real_s=real_s,
        cpu_s=cpu_s,
        disk_s=disk_s,
    )
    return told, 100 * (row["read_bytes"] / row["asked_bytes"] - 1)


def _stats(told: published.Stats, extra: float = 0.0) -> dict[str, str]:
    return {
        "TreeCache": f"{told.cache_mb} MB",
        "N leaves": f"{published.N_LEAVES}",
        "ReadTotal": f"{told.read_mb:.2f} MB",
        "ReadUnZip": f"{told.unzipped_mb:.2f} MB",
        "ReadCalls": f"{told.n_reads}",
        "ReadSize": f"{told.read_kb:.3f} KB",
        "Readahead": "256 KB",
        "Readextra": f"{extra:.2f} per cent",
        "Real Time": f"{told.real_s:.3f} s",
        "CPU Time": f"{told.cpu_s:.3f} s",
        "Disk Time": f"{told.disk_s:.3f} s",
        "Disk IO": f"{told.read_mb / told.disk_s:.3f} MB/s",
        "ReadUZRT": f"{told.unzipped_mb / told.real_s:.3f} MB/s",
        "ReadUZCP": f"{told.unzipped_mb / told.cpu_s:.3f} MB/s",
        "ReadRT": f"{told.read_mb / told.real_s:.3f} MB/s",
        "ReadCP": f"{told.read_mb / told.cpu_s:.3f} MB/s",
    }


def disk_table(found: Results) -> Table:
    """Return what arrowroot makes of both files, by line and strategy."""
    rows = []
    for row in found.rows("replay"):
        cache = f" {row['cache_bytes'] // MB} MB" if row["cache_bytes"] else ""
        rows.append(
            (
                row["layout"],
                row["line"],
                f"{row['strategy']}{cache}",
                row["n_requests"],
                row["n_ranges"],
                row["read_bytes"],
                row["n_seeks"] or None,
                row["wait_ns"],
                cpu_share(row),
            )
        )
    return Table(
        "The same baskets read by arrowroot, replayed",
        (
            Column("layout", "Layout"),
            Column("line", "Line"),
            Column("strategy", "Strategy"),
            Column("n_requests", "Requests", "count"),
            Column("n_ranges", "Ranges", "count"),
            Column("read_bytes", "Moved", "bytes"),
            Column("n_seeks", "Seeks", "count"),
            Column("wait_ns", "Waiting", "time"),
            Column("cpu_share", "CPU / real time", "share"),
        ),
        tuple(rows),
        (
            "each read: 0.42 ms for every request. disk: 0.42 ms for each jump, and a kernel that reads ahead 256 kB.",
            "direct: requests, ranges and bytes are baskets that were put in: given.",
        ),
    )


def cache_table(found: Results) -> Table:
    """Return both files with caches from 0 to 300 MB."""
    rows: list[tuple[Any, ...]] = []
    for layout in LAYOUTS:
        for size in CACHES:
            row = found.row("cache", layout=layout, cache_bytes=size)
            rows.append(
                (
                    layout,
                    f"{size // MB} MB",
                    row["n_fills"] if size else None,
                    row["n_reads"],
                    row["read_bytes"],
                    row["wait_ns"],
                    cpu_share(row),
                    cpu_share(row, "far_wall_ns"),
                    cpu_share(row, "far_async_wall_ns"),
                )
            )
    return Table(
        "The cache from 0 to 300 MB, by ROOT's rules",
        (
            Column("layout", "Layout"),
            Column("cache", "Tree cache"),
            Column("n_fills", "Fills", "count"),
            Column("n_reads", "Reads of a disk", "count"),
            Column("read_bytes", "Moved", "bytes"),
            Column("wait_ns", "Disk time", "time"),
            Column("cpu_share", "CPU / real time: disk", "share"),
            Column("far_share", "50 ms", "share"),
            Column("async_share", "50 ms, asynchronous", "share"),
        ),
        tuple(rows),
        (
            "Over 50 ms a fill is one vector read. By these rules a fill takes whole clusters: below 30 MB one.",
            "0 MB: a read for each basket that was put in, so that reads, bytes and times are given.",
        ),
    )


def far_table(found: Results) -> Table:
    """Return the ways to read the flushed file, near and far."""
    return Table(
        "Near and far: asynchronous prefetching and local caching",
        (
            Column("line", "Line"),
            Column("way", "Way"),
            Column("wall_ns", "Real time", "time"),
            Column("work_ns", "CPU time", "time"),
            Column("cpu_share", "CPU / real time", "share"),
        ),
        (
            *(
                (row["line"], row["way"], row["wall_ns"], row["work_ns"], cpu_share(row))
                for row in found.rows("far")
            ),
            *(
                (
                    row["line"],
                    "arrowroot, tree cache with a window ahead",
                    row["wall_ns"],
                    row["think_ns"],
                    cpu_share(row),
                )
                for row in found.rows("ahead")
            ),
        ),
        (
            "The local copy is on the published disk, and is read with two buffers, too.",
            "no cache: a round trip for each basket that was put in: given. So is the CPU time.",
        ),
    )


def third_table(found: Results) -> Table:
    """Return what a third of the entries needs, and what a cache moves for it."""
    return Table(
        "A third of the entries, cache of 60 MB",
        (
            Column("layout", "Layout"),
            Column("which", "Entries"),
            Column("entry_share", "Their share", "share"),
            Column("needed", "Bytes needed", "share"),
            Column("moved", "Bytes moved by a cache that is not told them", "share"),
        ),
        tuple(
            (
                row["layout"],
                row["which"],
                row["entry_share"],
                row["needed_bytes"] / row["file_bytes"],
                row["read_bytes"] / row["file_bytes"],
            )
            for row in found.rows("third")
        ),
        (
            "drawn: each entry with a chance of 0.33, as readfile.C does. Shares of the file.",
            "in a row: as clusters and baskets were put in evenly, needed is about the share of the entries: given.",
        ),
    )


def real_tables(found: Results) -> tuple[Table, ...]:
    """Return the campaign's counts; none if it was not run."""
    rows = found.rows("real")
    if not rows:
        return ()
    return (
        Table(
            "For real: both layouts at a sixteenth of the size, by ROOT and arrowroot",
            (
                Column("layout", "Layout"),
                Column("storage", "Storage"),
                Column("workload", "Read"),
                Column("engine", "Engine"),
                Column("strategy", "Cache"),
                Column("n_reads", "Reads", "count"),
                Column("read_bytes", "Moved", "bytes"),
                Column("wall_ns", "Wall, median", "time"),
                Column("cpu_share", "CPU / real time", "share"),
            ),
            tuple(
                (
                    row["layout"],
                    row["storage"],
                    row["workload"],
                    row["engine"],
                    row["title"],
                    row["n_reads"],
                    row["read_bytes"],
                    row["wall_ns"],
                    row["cpu_ns"] / row["wall_ns"] if row["wall_ns"] else None,
                )
                for row in rows
            ),
            (
                "A vector read counts as one. The local file is in the page cache: real counts, but times of no disk.",
                "Where a time is missing the machine was busy with other work: counts do not depend on that.",
                "Entries that are chosen are read cluster by cluster, all of them one after the other.",
            ),
        ),
    )
