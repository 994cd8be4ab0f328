"""The statements of the page of CMS 2017, each with the results that bear it out or do not."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from arrowroot_lab.classics.results import Claim

from .measuring import (
    POLICIES,
    mean,
    published,
    published_event_s,
    published_not_stalled,
)

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Results, Row


def claims(found: Results) -> list[Claim]:
    """Return what the page states, each with whether the results bear it out."""
    scale = found.scale
    runs = {policy: found.rows("policy", policy=policy) for policy in POLICIES}
    threads = {policy: found.row("threads", policy=policy) for policy in POLICIES}
    then = {policy: published(found, policy) for policy in POLICIES}
    buffers = found.rows("buffers")
    graphs = found.model["graphs"]
    n_flushes = sum(runs["single"][0]["n_fills"]) // 425

    def of(policy: str, n_streams: int) -> list[Row]:
        told = [row for row in buffers if (row["policy"], row["n_streams"]) == (policy, n_streams)]
        return sorted(told, key=lambda row: int(row["n_buffers"]))

    def is_near(value: float, other: float, share: float) -> bool:
        return abs(value / other - 1) <= share

    real = found.rows("real")
    return [
        Claim(
            "The order is that of the source: single stalls most, fifo far less, fullest not at all.",
            min(run["stalls_s"] for run in runs["single"]) > 10 * max(run["stalls_s"] for run in runs["fifo"])
            and max(run["stalls_s"] for run in runs["fullest"]) == 0,
            needs_size=True,
        ),
        Claim(
            "With a single buffer each of some 94 flushes stops the 11 other streams: 1,034 stalls, published "
            "1,030.",
            n_flushes == round(94 * scale)
            and is_near(mean(runs["single"], "n_stalls"), then["single"]["n_stalls"] * scale, 0.02),
            is_given=True,
            needs_size=True,
        ),
        Claim(
            "The stalls of a single buffer take as long as published within 10 %, together.",
            is_near(mean(runs["single"], "stalls_s"), then["single"]["stalls_s"] * scale, 0.1),
            is_given=True,
            needs_size=True,
        ),
        Claim(
            "The rate of a single buffer is within 2 % of the published one.",
            is_near(mean(runs["single"], "events_per_s"), then["single"]["events_per_s"], 0.02),
            is_given=True,
            needs_size=True,
        ),
        Claim(
            "The rates of fifo and fullest, which nothing was fitted to, are within 2 % of the published ones.",
            all(
                is_near(mean(runs[policy], "events_per_s"), then[policy]["events_per_s"], 0.02)
                for policy in ("fifo", "fullest")
            ),
            needs_size=True,
        ),
        Claim(
            "The time of fifo's stalls is not found: four buffers make less than a third of the published 159 s.",
            0 < mean(runs["fifo"], "stalls_s") < then["fifo"]["stalls_s"] * scale / 3,
            needs_size=True,
        ),
        Claim(
            "The stalled share of a single buffer is that of the source within a point: 7.5 %, published 8.0 %.",
            abs(mean(runs["single"], "not_stalled") - published_not_stalled(found, "single")) < 0.01,
            is_given=True,
            needs_size=True,
        ),
        Claim(
            "Efficiency and 1 - stalled share differ by 1 to 4 points in the source, and by one here: they are "
            "two things.",
            all(
                0.01 < published_not_stalled(found, policy) - then[policy]["efficiency"] < 0.045
                and 0 < mean(runs[policy], "not_stalled") - mean(runs[policy], "efficiency") < 0.012
                for policy in POLICIES
            ),
            needs_size=True,
        ),
        Claim(
            "The source's rates and efficiencies make no single CPU time of an event: 1.367, 1.336 and 1.327 s.",
            [round(published_event_s(found, policy), 3) for policy in POLICIES] == [1.367, 1.336, 1.327],
            is_given=True,
        ),
        Claim(
            "fifo fills its buffers in step: its longest stall is nearly a whole compression, with four buffers.",
            max(run["longest_s"] for run in runs["fifo"]) > 4,
            needs_size=True,
        ),
        Claim(
            "On threads that sleep, the library itself does what the policy alone does, within 2 % of its rate.",
            all(
                is_near(threads[policy]["events_per_s"], mean(runs[policy], "events_per_s"), 0.02)
                for policy in POLICIES
            )
            and threads["fullest"]["n_stalls"] == 0,
            needs_size=True,
        ),
        Claim(
            "The stall graphs have every stall of the runs on threads.",
            all(
                abs(
                    sum(is_stalled for _, is_stalled, *_ in graphs[policy]["intervals"])
                    - threads[policy]["n_stalls"]
                )
                <= 0.02 * threads[policy]["n_stalls"]
                for policy in POLICIES
            ),
        ),
        Claim(
            "With fullest, two buffers do all the work at 4, 8 and 12 streams; the third to eighth are not "
            "touched.",
            all(
                sum(row["n_fills"][:2]) == sum(row["n_fills"])
                for n_streams in (4, 8, 12)
                for row in of("fullest", n_streams)
                if row["n_buffers"] >= 2
            ),
        ),
        Claim(
            "With fifo each buffer more takes stalls away, as far as four, and all of them are used alike.",
            all(
                earlier["stalls_s"] > later["stalls_s"]
                for earlier, later in itertools.pairwise(of("fifo", 12)[:4])
            )
            and all(max(row["n_fills"]) < 1.05 * min(row["n_fills"]) for row in of("fifo", 12)),
            needs_size=True,
        ),
        Claim(
            "One buffer is the same whatever the policy: there is nothing to choose.",
            all(of("fifo", n)[0]["stalls_s"] == of("fullest", n)[0]["stalls_s"] for n in (4, 8, 12)),
            is_given=True,
        ),
        Claim(
            "What one buffer costs grows with the streams: 4, 8 and 12.",
            of("fifo", 4)[0]["stalls_s"] < of("fifo", 8)[0]["stalls_s"] < of("fifo", 12)[0]["stalls_s"],
            needs_size=True,
        ),
        Claim(
            "For real: of the same events arrowroot takes less than half the memory of ROOT's writers, "
            "and its files are at most 5 % larger.",
            bool(real)
            and all(
                ours["peak_rss_bytes"] < theirs["peak_rss_bytes"] / 2
                and ours["file_bytes"] < 1.05 * theirs["file_bytes"]
                for ours in real
                if ours["writer"] == "arrowroot"
                for theirs in real
                if theirs["writer"] != "arrowroot"
                and all(theirs[key] == ours[key] for key in ("shape", "layout", "n_streams"))
            ),
        ),
    ]
