"""The statements of the page of ROOT 2009, each with the results that bear it out or do not."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from arrowroot_lab.classics.results import Claim

from . import published
from .measuring import CORNERS, LAYOUTS, LINES, MB, SMALL_REAL_BYTES, corner, cpu_share, seek_ms, way

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Results

_CACHE = published.CACHE_BYTES


def claims(found: Results) -> list[Claim]:
    """Return what the page states, each with whether the results bear it out."""
    scale, then = found.scale, published.STATS
    corners = {key: corner(found, *key) for key in CORNERS}
    plain, both = corners["unoptimised", 0], corners["optimised", _CACHE]
    layout_alone, cache_alone = corners["optimised", 0], corners["unoptimised", _CACHE]
    caches = {
        layout: {row["cache_bytes"]: row for row in found.rows("cache", layout=layout)} for layout in LAYOUTS
    }
    replays = {(row["layout"], row["line"], row["strategy"]): row for row in found.rows("replay")}
    third = {(row["layout"], row["which"]): row for row in found.rows("third")}
    bandwidths = sorted(found.rows("bandwidth"), key=lambda row: float(row["bytes_per_s"]))
    gains = [row["wall_ns"] / row["async_wall_ns"] for row in bandwidths]
    real = {
        (row["engine"], row["layout"], row["workload"], row["strategy"]): row
        for row in found.rows("real")
        if row["workload"] != "with CPU time" and row["cache_bytes"] != SMALL_REAL_BYTES
    }

    def is_near(value: float, other: float, share: float) -> bool:
        return abs(value / other - 1) <= share

    return [
        Claim(
            "Without a cache the unoptimised file takes 1,328,586 reads of 1,265.92 MB, as published.",
            plain["n_reads"] == round(then["unoptimised"].n_reads * scale)
            and is_near(plain["read_bytes"], then["unoptimised"].read_mb * 1e6 * scale, 1e-6),
            is_given=True,
        ),
        Claim(
            "Without a cache the flushed file takes 349,380 reads: a basket of each branch in each cluster.",
            layout_alone["n_reads"] == published.N_LEAVES * found.model["optimised"]["n_clusters"],
            is_given=True,
        ),
        Claim(
            "0.42 ms and 70 MB/s make both published disk times, within 1 %.",
            is_near(plain["wait_ns"], then["unoptimised"].disk_s * 1e9 * scale, 0.01)
            and is_near(both["wait_ns"], then["optimised"].disk_s * 1e9 * scale, 0.01),
            is_given=True,
        ),
        Claim(
            "Real times of the published corners come out within 2 %.",
            is_near(plain["wall_ns"], then["unoptimised"].real_s * 1e9 * scale, 0.02)
            and is_near(both["wall_ns"], then["optimised"].real_s * 1e9 * scale, 0.02),
            is_given=True,
        ),
        Claim(
            "In the published run CPU and disk time are 15 s more than the real time: they overlap.",
            14 < then["unoptimised"].cpu_s + then["unoptimised"].disk_s - then["unoptimised"].real_s < 16
            and abs(then["optimised"].cpu_s + then["optimised"].disk_s - then["optimised"].real_s) < 0.2,
            is_given=True,
        ),
        Claim(
            "Of the published files the unzipped bytes differ by 124 for each basket that is fewer here, and CPU "
            "times by 47 microseconds for each read that is gone.",
            round(
                1e6
                * (then["unoptimised"].unzipped_mb - then["optimised"].unzipped_mb)
                / (found.model["unoptimised"]["n_baskets"] - found.model["optimised"]["n_baskets"])
            )
            == 124
            and round(
                1e6
                * (then["unoptimised"].cpu_s - then["optimised"].cpu_s)
                / (then["unoptimised"].n_reads - then["optimised"].n_reads)
            )
            == 47,
            is_given=True,
            needs_size=True,
        ),
        Claim(
            "Layout and cache together take reads from a million to less than the published 521.",
            both["n_reads"] < then["optimised"].n_reads < plain["n_reads"] / 1000,
            needs_size=True,
        ),
        Claim(
            "The cache alone is not enough: it leaves more than ten times the reads of both.",
            cache_alone["n_reads"] > 10 * both["n_reads"],
            needs_size=True,
        ),
        Claim(
            "The cache leaves less than a thousandth of the reads that are put in for the flushed file.",
            1000 * both["n_reads"] < layout_alone["n_reads"],
            needs_size=True,
        ),
        Claim(
            "The cache alone moves more than is needed; with the layout it does not.",
            cache_alone["read_bytes"] > 1.2 * cache_alone["asked_bytes"]
            and both["read_bytes"] == both["asked_bytes"],
            needs_size=True,
        ),
        Claim(
            "What one entry needs spans 100 MB of the unoptimised file, within 15 %, and a cluster of the other "
            "one.",
            is_near(found.model["unoptimised"]["span_bytes"], published.SPAN_BYTES, 0.15)
            and is_near(found.model["optimised"]["span_bytes"], published.CLUSTER_BYTES, 0.02),
            is_given=True,
            needs_size=True,
        ),
        Claim(
            "arrowroot's direct reads are the same, for both layouts.",
            all(
                (row["n_requests"], row["read_bytes"])
                == (corners[layout, 0]["n_reads"], corners[layout, 0]["read_bytes"])
                for layout in LAYOUTS
                for row in (replays[layout, "each read", "direct"],)
            ),
            is_given=True,
        ),
        Claim(
            "arrowroot's tree cache of 30 MB makes as many requests of the flushed file as ROOT's rules make "
            "fills.",
            replays["optimised", "50 ms", "treecache"]["n_requests"]
            == caches["optimised"][30 * MB]["n_fills"],
        ),
        Claim(
            "On a disk auto moves more than five times the unoptimised file, and is worse than the tree cache.",
            replays["unoptimised", "disk", "auto"]["read_bytes"] > 5 * plain["read_bytes"]
            and cpu_share(replays["unoptimised", "disk", "auto"])
            < cpu_share(replays["unoptimised", "disk", "treecache"]),
            needs_size=True,
        ),
        Claim(
            "On a disk that reads ahead, the layout alone is enough: one seek, and next to no waiting.",
            replays["optimised", "disk", "direct"]["n_seeks"] == 1
            and replays["optimised", "disk", "direct"]["wait_ns"] < 0.01 * both["wait_ns"],
        ),
        Claim(
            "The unoptimised file's seeks make the published disk time if each takes 1.5 to 4 ms, whether the "
            "kernel reads 256 kB ahead or nothing.",
            all(1.5 < seek_ms(found, disk) < 4 for disk in ("disk", "disk, nothing ahead")),
            needs_size=True,
        ),
        Claim(
            "Without prefetching a larger cache is always better for the unoptimised file; for the "
            "flushed one nothing changes on the disk from a cluster on.",
            all(
                caches["unoptimised"][a]["wall_ns"] > caches["unoptimised"][b]["wall_ns"]
                for a, b in itertools.pairwise(sorted(caches["unoptimised"]))
            )
            and is_near(
                caches["optimised"][300 * MB]["wait_ns"], caches["optimised"][30 * MB]["wait_ns"], 0.001
            ),
            needs_size=True,
        ),
        Claim(
            "Over 50 ms ten times the cache gains less than 2 % without prefetching, and loses more than 10 % "
            "with it.",
            1
            < caches["optimised"][30 * MB]["far_wall_ns"] / caches["optimised"][300 * MB]["far_wall_ns"]
            < 1.02
            and caches["optimised"][300 * MB]["far_async_wall_ns"]
            > 1.1 * caches["optimised"][30 * MB]["far_async_wall_ns"],
            needs_size=True,
        ),
        Claim(
            "Asynchronous prefetching takes CPU over real time from 90 to more than 99 % near, and from about a "
            "half to more than 90 % over 50 ms.",
            0.88 < way(found, "LAN", "tree cache") < 0.93
            and way(found, "LAN", "asynchronous") > 0.99
            and 0.45 < way(found, "50 ms", "tree cache") < 0.6
            and way(found, "50 ms", "asynchronous") > 0.9,
            needs_size=True,
        ),
        Claim(
            "Without a cache the job works for less than 1 % of the time over 50 ms.",
            way(found, "50 ms", "no cache") < 0.01,
            is_given=True,
        ),
        Claim(
            "A local copy is worth as much as a near store, the second time.",
            all(way(found, line, "local copy, second time") > 0.98 for line in LINES),
            needs_size=True,
        ),
        Claim(
            "Two buffers gain most where bytes take as long as the work, less than a factor of 2, and less "
            "beyond on both sides.",
            1.7 < max(gains) < 2 and gains.index(max(gains)) not in (0, len(gains) - 1),
            needs_size=True,
        ),
        Claim(
            "arrowroot's tree cache with a window ahead is as good as the two buffers, within 3 points.",
            all(
                abs(cpu_share(found.row("ahead", line=line)) - way(found, line, "asynchronous")) < 0.03
                for line in LINES
            ),
        ),
        Claim(
            "A third of the entries, drawn, needs all baskets of the flushed file, and more than 95 % of the "
            "other's bytes.",
            third["optimised", "drawn"]["needed_bytes"] == third["optimised", "drawn"]["file_bytes"]
            and third["unoptimised", "drawn"]["needed_bytes"]
            > 0.95 * third["unoptimised", "drawn"]["file_bytes"],
        ),
        Claim(
            "A third in a row needs a third of the flushed file, within a cluster or two.",
            is_near(
                third["optimised", "in a row"]["needed_bytes"] / third["optimised", "in a row"]["file_bytes"],
                0.33,
                0.1,
            ),
            is_given=True,
            needs_size=True,
        ),
        Claim(
            "For real, ROOT has all four corners in their order: neither, layout alone, cache alone, both.",
            bool(real)
            and _root_reads(real, "unoptimised", "direct")
            > 3 * _root_reads(real, "optimised", "direct")
            > 10 * _root_reads(real, "unoptimised", "treecache")
            > 10 * _root_reads(real, "optimised", "treecache"),
        ),
        Claim(
            "For real, ROOT makes more reads of the flushed file with a cache that is smaller than a cluster.",
            bool(real)
            and all(
                row["n_reads"] > _root_reads(real, "optimised", "treecache")
                for row in found.rows("real", layout="optimised", workload="all entries")
                if row["engine"].startswith("root") and row["cache_bytes"] == SMALL_REAL_BYTES
            ),
        ),
        Claim(
            "For real, arrowroot makes a read for each basket without a cache, as ROOT does, up to some of the "
            "opening.",
            bool(real)
            and all(
                is_near(
                    real["arrowroot", layout, "all entries", "direct"]["n_reads"],
                    _root_reads(real, layout, "direct"),
                    0.01,
                )
                for layout in LAYOUTS
            ),
        ),
        Claim(
            "For real, a third of the entries takes more than 75 % of the bytes, by ROOT and by arrowroot.",
            bool(real)
            and all(
                row["read_bytes"] > 0.75 * real[engine, layout, "all entries", strategy]["read_bytes"]
                for (engine, layout, workload, strategy), row in real.items()
                if workload.startswith("a third")
            ),
        ),
    ]


def _root_reads(real: dict[tuple[str, str, str, str], dict[str, int]], layout: str, strategy: str) -> int:
    [row] = [
        row
        for (engine, *key), row in real.items()
        if engine.startswith("root") and key == [layout, "all entries", strategy]
    ]
    return row["n_reads"]
