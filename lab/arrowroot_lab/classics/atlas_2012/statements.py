"""What the page of ATLAS 2012 states, each with what must be true of the results."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from . import published
from .layouts import CACHED, COLD, DISK, PLAIN, TOLD
from .measuring import BRANCHES, READ_AHEAD, SMALL_CACHE, STORAGES, TOGETHER
from .published import CACHES, FLUSHES, LAYOUTS, NEW, OLD, PICKED_GAIN, PINGS_NS, efficiency

if TYPE_CHECKING:
    from collections.abc import Callable

    from arrowroot_lab.classics.study import Statement

    from .found import Atlas2012Results

#: Storages where each range is a seek or a request, and the others.
_ONE_AT_A_TIME = ("local disk", "HTTP, one range a request")
_VECTORS = [storage for storage in STORAGES if storage not in _ONE_AT_A_TIME]
_FLUSHES_MB, _CACHES_MB = ([size // 1_000_000 for size in sizes] for sizes in (FLUSHES, CACHES))


def _if_any(ratio: float | None, holds: Callable[[float], bool]) -> bool | None:
    """Return what is true of a ratio; None if there is none, as something was not measured for real."""
    return None if ratio is None else holds(ratio)


STATEMENTS: tuple[Statement[Atlas2012Results], ...] = (
    ("given", "170 kB an event lie between what the published speeds of both layouts make.",
     lambda of: of.athena_event_kb(OLD) < published.EVENT_BYTES / 1000 < of.athena_event_kb(NEW)),
    ("given at size",
     "The times of an event come out within 10 % of the published 55, 270 and 35 ms, which are put in.",
     lambda of: abs(of.all_ms[OLD.name] / OLD.all_ms - 1) < 0.1
     and abs(of.picked_ms[OLD.name] / OLD.picked_ms - 1) < 0.1 and abs(of.all_ms[NEW.name] / NEW.all_ms - 1) < 0.1),
    ("found", "The 60 ms for one event in a hundred of the new layout, of which nothing is made, follow within 10 %.",
     lambda of: abs(of.picked_ms[NEW.name] / NEW.picked_ms - 1) < 0.1),
    ("found", "One event in a hundred is read 4 to 5 times as fast in the new layout, as published.",
     lambda of: PICKED_GAIN[0] <= of.picked_ms[OLD.name] / of.picked_ms[NEW.name] <= PICKED_GAIN[1]),
    ("found", "Without the work of an event it would be more than 8 times as fast.",
     lambda of: of.without_work > 8),
    ("found at size", "One in a hundred touches four fifths of the old file and a tenth of the new one.",
     lambda of: 0.75 < of.touched(of.old["cache"]) < 0.9 and 0.08 < of.touched(of.new["cache"]) < 0.11),
    ("found at size", "A cache that is not told which events are wanted reads more than half of the new file.",
     lambda of: of.new["cache, not told"]["read_bytes"] > 0.5 * of.file_bytes
     and of.new["cache, not told"]["read_bytes"] > 5 * of.new["cache"]["read_bytes"]),
    ("found", "Not told, the new layout takes more than twice as long for an event as told.",
     lambda of: of.ms(of.new["cache, not told"]) > 2 * of.picked_ms[NEW.name]),
    ("given",
     "Without a cache one in a hundred of the old layout is a read for each basket of each cluster it touches.",
     lambda of: of.old["no cache"]["n_requests"] % OLD.n_baskets == 0),
    ("found", "With a cache one in a hundred of the old layout takes less than a thousandth of the reads without one.",
     lambda of: 1000 * of.old["cache"]["n_requests"] < of.old["no cache"]["n_requests"]),
    ("found", "auto reads no more of the new file than a cache that is told, and takes no longer.",
     lambda of: of.new["auto"]["read_bytes"] <= 1.02 * of.new["cache"]["read_bytes"]
     and of.new["auto"]["wall_ns"] <= 1.02 * of.new["cache"]["wall_ns"]),
    ("found", "The fewer events are wanted, the longer each takes, up to chance; the old layout is always slower.",
     lambda of: all(earlier > 0.98 * later for layout in LAYOUTS
                    for earlier, later in itertools.pairwise(map(of.ms, of.rows("share", layout=layout.name))))
     and all(of.ms(old) > of.ms(new) for old, new in zip(
         *(of.rows("share", layout=layout.name) for layout in LAYOUTS), strict=True))),
    ("found", "Fewer events to a cluster mean fewer bytes for one in a hundred.",
     lambda of: all(of.clusters[few]["read_bytes"] < of.clusters[many]["read_bytes"]
                    for few, many in itertools.pairwise(TOGETHER))),
    ("given",
     "Without a cache, all events in clusters of ten need more than ten times the reads of clusters of 30 MB.",
     lambda of: of.whole_clusters[10]["n_requests"] > 10 * of.whole_clusters[OLD.n_together]["n_requests"]),
    ("given", "One curve through 94 % here and 45 % at 130 ms gives 60 to 80 % between 20 and 70 ms.",
     lambda _: efficiency(20e6) > 0.8 > efficiency(25e6) and efficiency(65e6) > 0.6 > efficiency(75e6)),
    ("given", "Read without a cache, the job works for less than a tenth of the time at 5 ms, and for 1 % at 50 ms.",
     lambda of: of.pings[5_000_000, "no cache"] < 0.1 and of.pings[50_000_000, "no cache"] < 0.01),
    ("found", "With a cache of 30 MB it works for more than 85 % of the time at 150 ms.",
     lambda of: of.pings[PINGS_NS[-1], "cache"] > 0.85),
    ("found at size", "With auto it works for more than 99 % of the time from 5 ms on.",
     lambda of: all(of.pings[ping, "auto"] > 0.99 for ping in PINGS_NS if ping)),
    ("given", "Reads of 0.6 MB, one after the other, meet the published curve within 6 points at all round trips.",
     lambda of: all(abs(of.pings[ping, SMALL_CACHE] - efficiency(ping)) < 0.06 for ping in PINGS_NS)),
    ("found", "Flushed every 3 MB, a D3PD is read with the least efficiency from every storage, as published.",
     lambda of: all(of.d3pd_share(storage, 3, cache) <= of.d3pd_share(storage, flush, cache) + 0.005
                    for storage in STORAGES for cache in _CACHES_MB for flush in (30, 300))),
    ("found",
     ("Without a cache storages that take many ranges at once have less than half of what they have with 30 MB, "
      "and for the others it changes nothing."),
     lambda of: all(of.d3pd_share(storage, 30, 0) < 0.5 * of.d3pd_share(storage, 30, 30) for storage in _VECTORS)
     and all(abs(of.d3pd_share(storage, 30, 0) - of.d3pd_share(storage, 30, 30)) < 0.01
             for storage in _ONE_AT_A_TIME)),
    ("found at size",
     "With a cache of 300 MB storages with vector reads have more than 75 %, the others less than 30 %.",
     lambda of: all(of.d3pd_share(storage, 30, 300) > 0.75 for storage in _VECTORS)
     and all(of.d3pd_share(storage, 30, 300) < 0.3 for storage in _ONE_AT_A_TIME)),
    ("found",
     "With vector reads a cache brings 2 % of the branches at three times the efficiency of a range a request.",
     lambda of: all(of.d3pd_share("xrootd", 30, cache) > 3 * of.d3pd_share("HTTP, one range a request", 30, cache)
                    for cache in (30, 300))),
    ("found", "A cache of 300 MB is no better than one of 30 MB, from any storage, by more than a point.",
     lambda of: all(abs(of.d3pd_share(storage, flush, 300, some) - of.d3pd_share(storage, flush, 30, some)) < 0.01
                    for storage in STORAGES for flush in _FLUSHES_MB for some in BRANCHES)),
    ("found", "Without a cache, one buffer of 128 kB reads ten times what is asked for, and is no better than none.",
     lambda of: of.over_read(of.d3pd(READ_AHEAD, 30, 0)) > 10
     and of.d3pd_share(READ_AHEAD, 30, 0) < of.d3pd_share("xrootd", 30, 0)),
    ("found at size",
     "Of all branches a disk is read at full efficiency without a cache: its kernel reads ahead meanwhile.",
     lambda of: of.d3pd_share("local disk", 30, 0, "all branches") > 0.99
     and of.d3pd_share("local disk", 30, 30, "all branches") < 0.8),
    ("found", "Four workers that get event by event move the file more than three times, in both layouts.",
     lambda of: all(of.moved(layout, 1) > 3 for layout in LAYOUTS)),
    ("found", "Four workers that get ten events in a row move the new file once.",
     lambda of: 0.95 < of.moved(NEW, 10) < 1.05),
    ("found", "For real, from a disk of 2009 and told the list, ROOT reads one in a hundred 3.5 to 6 times as fast.",
     lambda of: _if_any(of.ratio_of(of.picked(TOLD, DISK)), lambda ratio: 3.5 < ratio < 6)),
    ("found", "For real, ROOT reads 1,000 times less often with new layout and cache than with neither.",
     lambda of: _if_any(
         of.ratio_of([of.read(OLD.name, "all", PLAIN), of.read(NEW.name, "all", CACHED)], "n_requests"),
         lambda ratio: ratio >= 1000)),
    ("found", "For real, ROOT's cache reads over 4 times as much for one in a hundred if it is not told the list.",
     lambda of: _if_any(
         of.ratio_of([of.read(NEW.name, "1 %", engine, COLD) for engine in (CACHED, TOLD)], "read_bytes"),
         lambda ratio: ratio > 4)),
)  # fmt: skip
