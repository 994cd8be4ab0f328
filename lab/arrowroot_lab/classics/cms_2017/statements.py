"""What the page of CMS 2017 states, each with what must be true of the results."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from arrowroot_lab.classics.study import is_near

from .measuring import POLICIES

if TYPE_CHECKING:
    from arrowroot_lab.classics.study import Statement

    from .found import Cms2017Results

STATEMENTS: tuple[Statement[Cms2017Results], ...] = (
    ("found at size", "The order is that of the source: single stalls most, fifo far less, fullest not at all.",
     lambda of: min(run["stalls_s"] for run in of.runs["single"]) > 10 * max(run["stalls_s"] for run in of.runs["fifo"])
     and max(run["stalls_s"] for run in of.runs["fullest"]) == 0),
    ("given at size",
     "With a single buffer each of some 94 flushes stops the 11 other streams: 1,034 stalls, published 1,030.",
     lambda of: sum(of.runs["single"][0]["n_fills"]) // 425 == round(94 * of.scale)
     and is_near(of.here["single"]["n_stalls"], of.then["single"]["n_stalls"] * of.scale, 0.02)),
    ("given at size", "The stalls of a single buffer take as long as published within 10 %, together.",
     lambda of: is_near(of.here["single"]["stalls_s"], of.then["single"]["stalls_s"] * of.scale, 0.1)),
    ("given at size", "The rate of a single buffer is within 2 % of the published one.",
     lambda of: is_near(of.here["single"]["events_per_s"], of.then["single"]["events_per_s"], 0.02)),
    ("found at size",
     "The rates of fifo and fullest, which nothing was fitted to, are within 2 % of the published ones.",
     lambda of: all(is_near(of.here[policy]["events_per_s"], of.then[policy]["events_per_s"], 0.02)
                    for policy in ("fifo", "fullest"))),
    ("found at size",
     "The time of fifo's stalls is not found: four buffers make less than a third of the published 159 s.",
     lambda of: 0 < of.here["fifo"]["stalls_s"] < of.then["fifo"]["stalls_s"] * of.scale / 3),
    ("given at size",
     "The stalled share of a single buffer is that of the source within a point: 7.5 %, published 8.0 %.",
     lambda of: abs(of.here["single"]["not_stalled"] - of.not_stalled["single"]) < 0.01),
    ("found at size",
     "Efficiency and 1 - stalled share differ by 1 to 4 points in the source, and by one here: they are two things.",
     lambda of: all(0.01 < of.not_stalled[policy] - of.then[policy]["efficiency"] < 0.045
                    and 0 < of.here[policy]["not_stalled"] - of.here[policy]["efficiency"] < 0.012
                    for policy in POLICIES)),
    ("given", "The source's rates and efficiencies make no single CPU time of an event: 1.367, 1.336 and 1.327 s.",
     lambda of: [round(event_s, 3) for event_s in of.event_s] == [1.367, 1.336, 1.327]),
    ("found at size",
     "fifo fills its buffers in step: its longest stall is nearly a whole compression, with four buffers.",
     lambda of: of.here["fifo"]["longest_s"] > 4),
    ("found at size",
     "On threads that sleep, the library itself does what the policy alone does, within 2 % of its rate.",
     lambda of: all(is_near(of.threads[policy]["events_per_s"], of.here[policy]["events_per_s"], 0.02)
                    for policy in POLICIES)
     and of.threads["fullest"]["n_stalls"] == 0),
    ("found", "The stall graphs have every stall of the runs on threads.",
     lambda of: all(abs(sum(is_stalled for _, is_stalled, *_ in of.model["graphs"][policy]["intervals"])
                        - of.threads[policy]["n_stalls"]) <= 0.02 * of.threads[policy]["n_stalls"]
                    for policy in POLICIES)),
    ("found",
     "With fullest, two buffers do all the work at 4, 8 and 12 streams; the third to eighth are not touched.",
     lambda of: all(sum(row["n_fills"][:2]) == sum(row["n_fills"])
                    for n in (4, 8, 12) for row in of.by_buffers("fullest", n) if row["n_buffers"] >= 2)),
    ("found at size", "With fifo each buffer more takes stalls away, as far as four, and all of them are used alike.",
     lambda of: all(earlier["stalls_s"] > later["stalls_s"]
                    for earlier, later in itertools.pairwise(of.by_buffers("fifo", 12)[:4]))
     and all(max(row["n_fills"]) < 1.05 * min(row["n_fills"]) for row in of.by_buffers("fifo", 12))),
    ("given", "One buffer is the same whatever the policy: there is nothing to choose.",
     lambda of: all(of.buffers["fifo", n, 1]["stalls_s"] == of.buffers["fullest", n, 1]["stalls_s"]
                    for n in (4, 8, 12))),
    ("found at size", "What one buffer costs grows with the streams: 4, 8 and 12.",
     lambda of: of.buffers["fifo", 4, 1]["stalls_s"] < of.buffers["fifo", 8, 1]["stalls_s"]
     < of.buffers["fifo", 12, 1]["stalls_s"]),
    ("found",
     ("For real: of the same events arrowroot takes less than half the memory of ROOT's writers, and its files "
      "are at most 5 % larger."),
     lambda of: bool(of.real)
     and all(ours["peak_rss_bytes"] < theirs["peak_rss_bytes"] / 2
             and ours["file_bytes"] < 1.05 * theirs["file_bytes"]
             for ours in of.real if ours["writer"] == "arrowroot"
             for theirs in of.real if theirs["writer"] != "arrowroot"
             and all(theirs[key] == ours[key] for key in ("shape", "layout", "n_streams")))),
)  # fmt: skip
