"""The statements of the page of ATLAS 2012, each with the results that bear it out or do not."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from arrowroot_lab.classics.results import Claim

from . import layouts, published
from .layouts import CACHED, COLD, DISK, PLAIN, TOLD, Found, event_ns
from .measuring import (
    BRANCHES,
    READ_AHEAD,
    SMALL_CACHE,
    TOGETHER,
    athena_event_kb,
    cpu_share,
    layout_ms,
    ms_an_event,
    some_branches,
    touched,
    without_work,
)
from .published import LAYOUTS, NEW, OLD, PICKED_GAIN, PICKED_SHARE

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Results, Row


def claims(found: Results) -> list[Claim]:
    """Return what the page states, each with whether the results bear it out."""
    return [
        *_of_layouts(found),
        *_of_clusters(found),
        *_of_pings(found),
        *_of_d3pds(found),
        *_of_workers(found),
        *_of_campaigns(Found(found.document["rows"])),
    ]


def _of_layouts(found: Results) -> list[Claim]:
    size = found.model["file_bytes"]
    rows = {
        (layout.name, reader): found.row("layout", layout=layout.name, share=PICKED_SHARE, reader=reader)
        for layout in LAYOUTS
        for reader in ("no cache", "cache", "cache, not told", "auto")
    }
    ms = {
        (layout.name, share): layout_ms(found, layout, share, "cache")
        for layout in LAYOUTS
        for share in (1.0, PICKED_SHARE)
    }
    shares = {
        layout.name: [ms_an_event(row) for row in found.rows("share", layout=layout.name)]
        for layout in LAYOUTS
    }
    untold = rows[NEW.name, "cache, not told"]
    return [
        Claim(
            "170 kB an event lie between what the published speeds of both layouts make.",
            athena_event_kb(OLD) < published.EVENT_BYTES / 1000 < athena_event_kb(NEW),
            is_given=True,
        ),
        Claim(
            "The times of an event come out within 10 % of the published 55, 270 and 35 ms, which are put in.",
            all(
                abs(ms[layout.name, share] / then - 1) < 0.1
                for layout, share, then in (
                    (OLD, 1.0, OLD.all_ms),
                    (OLD, PICKED_SHARE, OLD.picked_ms),
                    (NEW, 1.0, NEW.all_ms),
                )
            ),
            is_given=True,
            needs_size=True,
        ),
        Claim(
            "The 60 ms for one event in a hundred of the new layout, of which nothing is made, follow within 10 %.",
            abs(ms[NEW.name, PICKED_SHARE] / NEW.picked_ms - 1) < 0.1,
        ),
        Claim(
            "One event in a hundred is read 4 to 5 times as fast in the new layout, as published.",
            PICKED_GAIN[0] <= ms[OLD.name, PICKED_SHARE] / ms[NEW.name, PICKED_SHARE] <= PICKED_GAIN[1],
        ),
        Claim(
            "Without the work of an event it would be more than 8 times as fast.",
            without_work(found) > 8,
        ),
        Claim(
            "One in a hundred touches four fifths of the old file and a tenth of the new one.",
            0.75 < touched(found, OLD) < 0.9 and 0.08 < touched(found, NEW) < 0.11,
            needs_size=True,
        ),
        Claim(
            "A cache that is not told which events are wanted reads more than half of the new file.",
            untold["read_bytes"] > 0.5 * size
            and untold["read_bytes"] > 5 * rows[NEW.name, "cache"]["read_bytes"],
            needs_size=True,
        ),
        Claim(
            "Not told, the new layout takes more than twice as long for an event as told.",
            ms_an_event(untold) > 2 * ms[NEW.name, PICKED_SHARE],
        ),
        Claim(
            "Without a cache one in a hundred of the old layout is a read for each basket of each cluster it touches.",
            rows[OLD.name, "no cache"]["n_requests"] % OLD.n_baskets == 0,
            is_given=True,
        ),
        Claim(
            "With a cache one in a hundred of the old layout takes less than a thousandth of the reads without one.",
            1000 * rows[OLD.name, "cache"]["n_requests"] < rows[OLD.name, "no cache"]["n_requests"],
        ),
        Claim(
            "auto reads no more of the new file than a cache that is told, and takes no longer.",
            rows[NEW.name, "auto"]["read_bytes"] <= 1.02 * rows[NEW.name, "cache"]["read_bytes"]
            and rows[NEW.name, "auto"]["wall_ns"] <= 1.02 * rows[NEW.name, "cache"]["wall_ns"],
        ),
        Claim(
            "The fewer events are wanted, the longer each takes, up to chance; the old layout is always slower.",
            all(
                earlier > 0.98 * later
                for times in shares.values()
                for earlier, later in itertools.pairwise(times)
            )
            and all(old > new for old, new in zip(shares[OLD.name], shares[NEW.name], strict=True)),
        ),
    ]


def _of_clusters(found: Results) -> list[Claim]:
    picked = {row["n_together"]: row for row in found.rows("cluster", share=PICKED_SHARE)}
    whole = {row["n_together"]: row for row in found.rows("cluster", share=1.0)}
    return [
        Claim(
            "Fewer events to a cluster mean fewer bytes for one in a hundred.",
            all(
                picked[few]["read_bytes"] < picked[many]["read_bytes"]
                for few, many in itertools.pairwise(TOGETHER)
            ),
        ),
        Claim(
            "Without a cache, all events in clusters of ten need more than ten times the reads of clusters of 30 MB.",
            whole[10]["n_requests"] > 10 * whole[OLD.n_together]["n_requests"],
            is_given=True,
        ),
    ]


def _of_pings(found: Results) -> list[Claim]:
    share = {(row["ping_ns"], row["reader"]): cpu_share(row) for row in found.rows("ping")}
    far = published.PINGS_NS[-1]
    return [
        Claim(
            "One curve through 94 % here and 45 % at 130 ms gives 60 to 80 % between 20 and 70 ms.",
            published.efficiency(20e6) > 0.8 > published.efficiency(25e6)
            and published.efficiency(65e6) > 0.6 > published.efficiency(75e6),
            is_given=True,
        ),
        Claim(
            "Read without a cache, the job works for less than a tenth of the time at 5 ms, and for 1 % at 50 ms.",
            share[5_000_000, "no cache"] < 0.1 and share[50_000_000, "no cache"] < 0.01,
            is_given=True,
        ),
        Claim(
            "With a cache of 30 MB it works for more than 85 % of the time at 150 ms.",
            share[far, "cache"] > 0.85,
        ),
        Claim(
            "With auto it works for more than 99 % of the time from 5 ms on.",
            all(share[ping, "auto"] > 0.99 for ping in published.PINGS_NS if ping),
            needs_size=True,
        ),
        Claim(
            "Reads of 0.6 MB, one after the other, meet the published curve within 6 points at all round trips.",
            all(
                abs(share[ping, SMALL_CACHE] - published.efficiency(ping)) < 0.06
                for ping in published.PINGS_NS
            ),
            is_given=True,
        ),
    ]


def _of_d3pds(found: Results) -> list[Claim]:
    def of(storage: str, flush: int, cache: int, branches: str = "2 % of the branches") -> Row:
        wanted = {"storage": storage, "flush_bytes": flush, "tree_cache_bytes": cache, "branches": branches}
        return found.row("d3pd", **wanted)

    storages = list(dict.fromkeys(row["storage"] for row in found.rows("d3pd", tree_cache_bytes=30_000_000)))
    large_cache = {storage: cpu_share(some_branches(found, storage, 300_000_000)) for storage in storages}
    one_at_a_time = ("local disk", "HTTP, one range a request")
    small, usual, large = published.FLUSHES
    return [
        Claim(
            "Flushed every 3 MB, a D3PD is read with the least efficiency from every storage, as published.",
            all(
                cpu_share(of(storage, small, cache)) <= cpu_share(of(storage, flush, cache)) + 0.005
                for storage in storages
                for cache in published.CACHES
                for flush in (usual, large)
            ),
        ),
        Claim(
            "Without a cache storages that take many ranges at once have less than half of what they have with 30 MB, "
            "and for the others it changes nothing.",
            all(
                cpu_share(of(storage, usual, 0)) < 0.5 * cpu_share(of(storage, usual, 30_000_000))
                for storage in storages
                if storage not in one_at_a_time
            )
            and all(
                abs(cpu_share(of(storage, usual, 0)) - cpu_share(of(storage, usual, 30_000_000))) < 0.01
                for storage in one_at_a_time
            ),
        ),
        Claim(
            "With a cache of 300 MB storages with vector reads have more than 75 %, the others less than 30 %.",
            all(
                share < 0.3 if storage in one_at_a_time else share > 0.75
                for storage, share in large_cache.items()
            ),
            needs_size=True,
        ),
        Claim(
            "With vector reads a cache brings 2 % of the branches at three times the efficiency of a range a request.",
            all(
                cpu_share(of("xrootd", usual, cache))
                > 3 * cpu_share(of("HTTP, one range a request", usual, cache))
                for cache in (30_000_000, 300_000_000)
            ),
        ),
        Claim(
            "A cache of 300 MB is no better than one of 30 MB, from any storage, by more than a point.",
            all(
                abs(
                    cpu_share(of(storage, flush, 300_000_000, branches))
                    - cpu_share(of(storage, flush, 30_000_000, branches))
                )
                < 0.01
                for storage in storages
                for flush in published.FLUSHES
                for branches in BRANCHES
            ),
        ),
        Claim(
            "Without a cache, one buffer of 128 kB reads ten times what is asked for, and is no better than none.",
            of(READ_AHEAD, usual, 0)["overhead_bytes"] > 10 * of(READ_AHEAD, usual, 0)["payload_bytes"]
            and cpu_share(of(READ_AHEAD, usual, 0)) < cpu_share(of("xrootd", usual, 0)),
        ),
        Claim(
            "Of all branches a disk is read at full efficiency without a cache: its kernel reads ahead meanwhile.",
            cpu_share(of("local disk", usual, 0, "all branches")) > 0.99
            and cpu_share(of("local disk", usual, 30_000_000, "all branches")) < 0.8,
            needs_size=True,
        ),
    ]


def _of_workers(found: Results) -> list[Claim]:
    def moved(layout: published.Layout, n_workers: int, n_dealt: int) -> float:
        row = found.row("workers", layout=layout.name, n_workers=n_workers, n_dealt=n_dealt)
        return float(n_workers * row["read_bytes"] / found.model["file_bytes"])

    return [
        Claim(
            "Four workers that get event by event move the file more than three times, in both layouts.",
            all(moved(layout, 4, 1) > 3 for layout in LAYOUTS),
        ),
        Claim(
            "Four workers that get ten events in a row move the new file once.",
            0.95 < moved(NEW, 4, 10) < 1.05,
        ),
    ]


def _of_campaigns(real: Found) -> list[Claim]:
    """Statements about what was measured for real, as far as it was."""
    told = []
    old, new = real.picked(TOLD, DISK)
    if old is not None and new is not None:
        told.append(
            Claim(
                "For real, from a disk of 2009 and told the list, ROOT reads one in a hundred 3.5 to 6 times as fast.",
                3.5 < event_ns(old) / event_ns(new) < 6,
            )
        )
    corners = real.read(layouts.OLD, "all", PLAIN), real.read(layouts.NEW, "all", CACHED)
    if corners[0] is not None and corners[1] is not None:
        told.append(
            Claim(
                "For real, ROOT reads 1,000 times less often with new layout and cache than with neither.",
                corners[0]["n_requests"] >= 1000 * corners[1]["n_requests"],
            )
        )
    by_cache = [real.read(layouts.NEW, "1 %", engine, COLD) for engine in (CACHED, TOLD)]
    if by_cache[0] is not None and by_cache[1] is not None:
        told.append(
            Claim(
                "For real, ROOT's cache reads over 4 times as much for one in a hundred if it is not told the list.",
                by_cache[0]["read_bytes"] > 4 * by_cache[1]["read_bytes"],
            )
        )
    return told
