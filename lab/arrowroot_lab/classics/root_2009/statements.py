"""What the page of ROOT 2009 states, each with what must be true of the results."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from arrowroot_lab.classics.study import is_near

from . import published
from .measuring import CACHES, LAYOUTS, LINES, MB
from .published import OPTIMISED, UNOPTIMISED

if TYPE_CHECKING:
    from arrowroot_lab.classics.study import Statement

    from .found import Root2009Results

STATEMENTS: tuple[Statement[Root2009Results], ...] = (
    ("given", "Without a cache the unoptimised file takes 1,328,586 reads of 1,265.92 MB, as published.",
     lambda of: of.plain["n_reads"] == round(UNOPTIMISED["n_reads"] * of.scale)
     and is_near(of.plain["read_bytes"], UNOPTIMISED["read_mb"] * 1e6 * of.scale, 1e-6)),
    ("given", "Without a cache the flushed file takes 349,380 reads: a basket of each branch in each cluster.",
     lambda of: of.layout_alone["n_reads"] == published.N_LEAVES * of.model["optimised"]["n_clusters"]),
    ("given", "0.42 ms and 70 MB/s make both published disk times, within 1 %.",
     lambda of: is_near(of.plain["wait_ns"], UNOPTIMISED["disk_s"] * 1e9 * of.scale, 0.01)
     and is_near(of.both["wait_ns"], OPTIMISED["disk_s"] * 1e9 * of.scale, 0.01)),
    ("given", "Real times of the published corners come out within 2 %.",
     lambda of: is_near(of.plain["wall_ns"], UNOPTIMISED["real_s"] * 1e9 * of.scale, 0.02)
     and is_near(of.both["wall_ns"], OPTIMISED["real_s"] * 1e9 * of.scale, 0.02)),
    ("given", "In the published run CPU and disk time are 15 s more than the real time: they overlap.",
     lambda _: 14 < UNOPTIMISED["cpu_s"] + UNOPTIMISED["disk_s"] - UNOPTIMISED["real_s"] < 16
     and abs(OPTIMISED["cpu_s"] + OPTIMISED["disk_s"] - OPTIMISED["real_s"]) < 0.2),
    ("given at size", ("Of the published files the unzipped bytes differ by 124 for each basket that is fewer here, "
      "and CPU times by 47 microseconds for each read that is gone."),
     lambda of: round(
         1e6 * (UNOPTIMISED["unzipped_mb"] - OPTIMISED["unzipped_mb"])
         / (of.model["unoptimised"]["n_baskets"] - of.model["optimised"]["n_baskets"])) == 124
     and round(
         1e6 * (UNOPTIMISED["cpu_s"] - OPTIMISED["cpu_s"]) / (UNOPTIMISED["n_reads"] - OPTIMISED["n_reads"])) == 47),
    ("found at size", "Layout and cache together take reads from a million to less than the published 521.",
     lambda of: of.both["n_reads"] < OPTIMISED["n_reads"] < of.plain["n_reads"] / 1000),
    ("found at size", "The cache alone is not enough: it leaves more than ten times the reads of both.",
     lambda of: of.cache_alone["n_reads"] > 10 * of.both["n_reads"]),
    ("found at size", "The cache leaves less than a thousandth of the reads that are put in for the flushed file.",
     lambda of: 1000 * of.both["n_reads"] < of.layout_alone["n_reads"]),
    ("found at size", "The cache alone moves more than is needed; with the layout it does not.",
     lambda of: of.cache_alone["read_bytes"] > 1.2 * of.cache_alone["asked_bytes"]
     and of.both["read_bytes"] == of.both["asked_bytes"]),
    ("given at size", ("What one entry needs spans 100 MB of the unoptimised file, within 15 %, and a cluster of the "
      "other one."),
     lambda of: is_near(of.model["unoptimised"]["span_bytes"], published.SPAN_BYTES, 0.15)
     and is_near(of.model["optimised"]["span_bytes"], published.CLUSTER_BYTES, 0.02)),
    ("given", "arrowroot's direct reads are the same, for both layouts.",
     lambda of: all((row["n_requests"], row["read_bytes"]) == (corner["n_reads"], corner["read_bytes"])
                    for layout in LAYOUTS
                    for row, corner in ((of.replays[layout, "each read", "direct"], of.corner(layout, 0)),))),
    ("found", "arrowroot's tree cache of 30 MB makes as many requests of the flushed file as ROOT's rules make fills.",
     lambda of: of.replays["optimised", "50 ms", "treecache"]["n_requests"] == of.caches["optimised", 30]["n_fills"]),
    ("found at size",
     "On a disk auto moves more than five times the unoptimised file, and is worse than the tree cache.",
     lambda of: of.replays["unoptimised", "disk", "auto"]["read_bytes"] > 5 * of.plain["read_bytes"]
     and of.cpu_share(of.replays["unoptimised", "disk", "auto"])
     < of.cpu_share(of.replays["unoptimised", "disk", "treecache"])),
    ("found", "On a disk that reads ahead, the layout alone is enough: one seek, and next to no waiting.",
     lambda of: of.replays["optimised", "disk", "direct"]["n_seeks"] == 1
     and of.replays["optimised", "disk", "direct"]["wait_ns"] < 0.01 * of.both["wait_ns"]),
    ("found at size", ("The unoptimised file's seeks make the published disk time if each takes 1.5 to 4 ms, whether "
      "the kernel reads 256 kB ahead or nothing."),
     lambda of: all(1.5 < of.seek_ms(disk) < 4 for disk in ("disk", "disk, nothing ahead"))),
    ("found at size", ("Without prefetching a larger cache is always better for the unoptimised file; for the flushed "
      "one nothing changes on the disk from a cluster on."),
     lambda of: all(of.caches["unoptimised", a]["wall_ns"] > of.caches["unoptimised", b]["wall_ns"]
                    for a, b in itertools.pairwise(size // MB for size in CACHES))
     and is_near(of.caches["optimised", 300]["wait_ns"], of.caches["optimised", 30]["wait_ns"], 0.001)),
    ("found at size",
     "Over 50 ms ten times the cache gains less than 2 % without prefetching, and loses more than 10 % with it.",
     lambda of: 1 < of.caches["optimised", 30]["far_wall_ns"] / of.caches["optimised", 300]["far_wall_ns"] < 1.02
     and of.caches["optimised", 300]["far_async_wall_ns"] > 1.1 * of.caches["optimised", 30]["far_async_wall_ns"]),
    ("found at size", ("Asynchronous prefetching takes CPU over real time from 90 to more than 99 % near, and from "
      "about a half to more than 90 % over 50 ms."),
     lambda of: 0.88 < of.way("LAN", "tree cache") < 0.93 and of.way("LAN", "asynchronous") > 0.99
     and 0.45 < of.way("50 ms", "tree cache") < 0.6 and of.way("50 ms", "asynchronous") > 0.9),
    ("given", "Without a cache the job works for less than 1 % of the time over 50 ms.",
     lambda of: of.way("50 ms", "no cache") < 0.01),
    ("found at size", "A local copy is worth as much as a near store, the second time.",
     lambda of: all(of.way(line, "local copy, second time") > 0.98 for line in LINES)),
    ("found at size", ("Two buffers gain most where bytes take as long as the work, less than a factor of 2, and less "
      "beyond on both sides."),
     lambda of: 1.7 < max(of.gains) < 2 and of.gains.index(max(of.gains)) not in (0, len(of.gains) - 1)),
    ("found", "arrowroot's tree cache with a window ahead is as good as the two buffers, within 3 points.",
     lambda of: all(abs(of.cpu_share(of.row("ahead", line=line)) - of.way(line, "asynchronous")) < 0.03
                    for line in LINES)),
    ("found", ("A third of the entries, drawn, needs all baskets of the flushed file, and more than 95 % of the "
      "other's bytes."),
     lambda of: of.third["optimised", "drawn"]["needed_bytes"] == of.third["optimised", "drawn"]["file_bytes"]
     and of.needed(of.third["unoptimised", "drawn"]) > 0.95),
    ("given at size", "A third in a row needs a third of the flushed file, within a cluster or two.",
     lambda of: is_near(of.needed(of.third["optimised", "in a row"]), 0.33, 0.1)),
    ("found", "For real, ROOT has all four corners in their order: neither, layout alone, cache alone, both.",
     lambda of: bool(of.real)
     and of.real_reads("unoptimised", "direct") > 3 * of.real_reads("optimised", "direct")
     > 10 * of.real_reads("unoptimised", "treecache") > 10 * of.real_reads("optimised", "treecache")),
    ("found", "For real, ROOT makes more reads of the flushed file with a cache that is smaller than a cluster.",
     lambda of: bool(of.real)
     and all(row["n_reads"] > of.real_reads("optimised", "treecache")
             for (engine, layout, workload, _), row in of.small_real.items()
             if (engine, layout, workload) == ("root", "optimised", "all entries"))),
    ("found", ("For real, arrowroot makes a read for each basket without a cache, as ROOT does, up to some of the "
      "opening."),
     lambda of: bool(of.real)
     and all(is_near(of.real["arrowroot", layout, "all entries", "direct"]["n_reads"],
                     of.real_reads(layout, "direct"), 0.01) for layout in LAYOUTS)),
    ("found", "For real, a third of the entries takes more than 75 % of the bytes, by ROOT and by arrowroot.",
     lambda of: bool(of.real)
     and all(row["read_bytes"] > 0.75 * of.real[engine, layout, "all entries", strategy]["read_bytes"]
             for (engine, layout, workload, strategy), row in of.real.items() if workload.startswith("a third"))),
)  # fmt: skip
