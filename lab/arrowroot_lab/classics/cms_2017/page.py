"""The page of CMS 2017."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.classics.classic import Classic, points
from arrowroot_lab.figures.bars import Bar, bars
from arrowroot_lab.figures.curves import Point, Series, curves
from arrowroot_lab.figures.headlines import GIVEN, Headline, Pair
from arrowroot_lab.figures.streams import Graph, Interval, stall_graphs
from arrowroot_lab.mining.table import Column, Table

from .claims import claims
from .measuring import (
    FITTED,
    N_EVENTS,
    NAME,
    POLICIES,
    mean,
    published,
    published_event_s,
    published_not_stalled,
)

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Results, Row
    from arrowroot_lab.figures.figure import Figure

TITLE = "CMS 2017: what streams lose by waiting for their output"

SOURCES = points("""
    D. Riley, CMS ROOT I/O update, ROOT I/O Workshop, 11 October 2017
""")
_NAMES = {"single": "one buffer", "fifo": "FIFO of four", "fullest": "fullest of four"}
#: As the slides call them.
_PUBLISHED_NAMES = {"single": "Single thread", "fifo": "FIFO queue", "fullest": "Priority queue"}


def page(found: Results) -> Classic:
    """Return the page."""
    runs = {policy: found.rows("policy", policy=policy) for policy in POLICIES}
    stalls = {policy: mean(runs[policy], "stalls_s") for policy in POLICIES}
    then = {policy: published(found, policy) for policy in POLICIES}
    fifo = {row["n_buffers"]: row for row in found.rows("buffers", policy="fifo", n_streams=12)}
    event_s = [published_event_s(found, policy) for policy in POLICIES]
    [answer] = points(f"""
        In 2017, 12 streams of CMS were stalled for 4,819 s in 40,000 events by one output buffer, for 159 s by a
        queue of four (FIFO), and for 5.5 s where the fullest buffer is filled first; now the model is fitted to the
        first of these ({stalls["single"]:,.0f} s), and of the FIFO's 159 s and the 5.5 s it finds only the order
        ({stalls["fifo"]:.0f} and {stalls["fullest"]:.0f} s in virtual time), and that two buffers are enough.
    """)
    return Classic(
        name=NAME,
        title=TITLE,
        answer=answer,
        headline=Headline(
            "Seconds stalled, 12 streams together",
            "count",
            tuple(
                Pair(
                    _NAMES[policy],
                    round(then[policy]["stalls_s"], 1),
                    round(stalls[policy] / found.scale, 1),
                    policy == FITTED,
                )
                for policy in POLICIES
            ),
            "Of the FIFO's 159 s only the order is found.",
        ),
        figures=(_graph_figure(found), _efficiency_figure(found), _buffer_figure(found), _use_figure(found)),
        tables=(_policy_table(found), _buffer_table(found), *_peer_tables(found)),
        claims=tuple(claims(found)),
        scale=points(f"""
            {found.model["n_streams"]} streams, {found.model["n_events"]:,} events (scale {found.scale:g}), four
            buffers: the policy alone, in virtual time, {found.model["n_seeds"]} seeds.

            {found.model["n_sleeping_events"]:,} events for the stall graphs, as in the source: the library itself on
            12 threads, whose work and compression are sleeps of {found.model["sleep_scale"]:g} of the time. What is
            shown is the time that they stand for. {found.model["machine"]}.
        """),
        same=points("""
            Streams (12 threads, which we take to have one each), events, at most four buffers, and the policies: one
            buffer; the one that was not filled for longest (FIFO); the fullest one that is free (priority queue).

            A wait of 0.1 s is a stall here; from how long on CMS's monitor counts one is not said.

            An event takes 1.36 s: 12 streams, the published rate and efficiency of the single buffer make 1.367 s.
        """),
        differs=points(f"""
            A buffer of 425 events is compressed for 5 s. The source tells neither; both were chosen so that one
            buffer has the published number of stalls and about their time: some 94 flushes stop 11 other streams
            each. So its figures are given. The other two policies are then a prediction: their order and their rates
            are found, and the time of FIFO's stalls is not.

            Every compression takes the same here. The source's longest stalls of {then["single"]["longest_s"]:.1f} and
            {then["fifo"]["longest_s"]:.1f} s were two compressions or a long one, we guess; ours are
            {max(run["longest_s"] for run in runs["single"]):.1f} s.

            The source does not say what its efficiency is. If it is CPU time over what 12 streams have, its figures
            make {event_s[0]:.3f}, {event_s[1]:.3f} and {event_s[2]:.3f} s an event: not one number. Its stalled share
            and its efficiency do not add up to one either: with the priority queue 5.5 s of stalls are less than 0.1
            %, and 3 % are lost elsewhere. So both are printed. Ours is throughput over what streams could do if
            nothing but their work took time.

            The FIFO of four has {mean(runs["fifo"], "n_stalls"):.0f} stalls of {stalls["fifo"]:.0f} s here, published
            62 of 159 s. A FIFO of two has {fifo[2]["n_stalls"]:.0f} of {fifo[2]["stalls_s"]:.0f} s: as if two of
            CMS's four had been in use. The source does not tell.

            The published priority queue had 39 stalls of 5.5 s together, of 0.3 s at most; ours has none: in virtual
            time a buffer is handed over at once.

            The stall graphs of the source for LZMA 4 and 9 are pictures without numbers (and a note: scale change), and
            its table has level 4 alone. There is no row of LZMA 9 in virtual time either: the source does not tell how
            long that compresses for. docs/parallel.md has both levels for real. ROOT's own writers are measured with
            zstd, which takes a small part of LZMA's time.

            The source asks whether a larger autosave or larger buffers are better. That is not in virtual time, as our
            streams place what they have compressed themselves, and there is no merger whose work autosave would put
            off; in ROOT 6.40 SetAutoSave does nothing any more. Flush sizes are measured for real in docs/parallel.md.

            CMS's merger wrote with TBufferMerger, and its queue grew with AOD. That one has no queue any more whose
            length could be shown (ROOT 6.40).
        """),
        today=points(f"""
            How many buffers? CMS saw that four were more than its streams used, and that three or two would have done.
            With the fullest first, two do all the work at 4, 8 and 12 streams, and the third to eighth are never
            touched: while one is compressed for 5 s, 11 streams bring less than a tenth of another. So two are enough.

            With a FIFO each buffer more helps: {fifo[2]["stalls_s"]:.0f} s of stalls with 2,
            {fifo[3]["stalls_s"]:.0f} with 3, {fifo[4]["stalls_s"]:.0f} with 4, {fifo[8]["stalls_s"]:.0f} with 8. All
            buffers are filled alike, so they are full at about the same time, and then all streams wait.

            The gain of the last step is small: from FIFO to fullest the rate changes by
            {100 * (mean(runs["fullest"], "events_per_s") / mean(runs["fifo"], "events_per_s") - 1):+.1f} % here, and
            by +1.6 % in the source. Most is won by not having one buffer.

            arrowroot fills the fullest first unless it is told otherwise: docs/parallel.md.

            {_peer_text(found)}
        """),
        command="arrowroot lab classics cms-2017",
        real_command=(
            "python -m bench.parallel_output.told --parts peers peers.json && "
            "arrowroot lab classics cms-2017 --file peers.json"
        ),
        sources=SOURCES,
        measured=found.measured(),
    )


def _graph_figure(found: Results) -> Figure:
    graphs = []
    for policy in POLICIES:
        told = found.model["graphs"][policy]
        intervals = tuple(
            Interval(stream, bool(is_stalled), begin * 1_000_000, (begin + length) * 1_000_000)
            for stream, is_stalled, begin, length in told["intervals"]
        )
        graphs.append(Graph(_NAMES[policy], told["n_streams"], told["end_ms"] * 1_000_000, intervals))
    return stall_graphs(
        "Stall graphs of 10,000 events",
        "Green: a stream works; red: it waits for a buffer; blue: it compresses the one that it has filled.",
        graphs,
    )


def _efficiency_figure(found: Results) -> Figure:
    data = []
    for policy in POLICIES:
        runs = found.rows("policy", policy=policy)
        shares = [run["efficiency"] for run in runs]
        data += [
            Bar(_NAMES[policy], "efficiency, published", published(found, policy)["efficiency"]),
            Bar(_NAMES[policy], "1 - stalled, published", published_not_stalled(found, policy)),
            Bar(
                _NAMES[policy],
                "efficiency, here",
                mean(runs, "efficiency"),
                min(shares),
                max(shares),
                len(runs),
                is_given=policy == FITTED,
            ),
            Bar(
                _NAMES[policy],
                "1 - stalled, here",
                mean(runs, "not_stalled"),
                n=len(runs),
                is_given=policy == FITTED,
            ),
        ]
    return bars(
        "Efficiency, and one less the stalled share",
        "They are two things: what is lost besides stalls is between them. Means of 20 seeds.",
        data,
        Column("share", "Share", "share"),
        group="Policy",
        series="What",
    )


def _buffer_figure(found: Results) -> Figure:
    series = [
        Series(
            f"fifo, {n_streams} streams",
            tuple(
                Point(row["n_buffers"], row["stalls_s"] * 1e9, is_given=_is_fitted(row))
                for row in found.rows("buffers", policy="fifo", n_streams=n_streams)
            ),
        )
        for n_streams in (12, 8, 4)
    ]
    return curves(
        "Stalls, by the number of buffers",
        "FIFO: a point that is missing had none. Fullest first has the same with one buffer, and none from two on.",
        series,
        Column("n_buffers", "Buffers", "count"),
        Column("stalls_ns", "Stalled, all streams", "time"),
        is_log_y=True,
    )


def _is_fitted(row: Row) -> bool:
    """True if the model was fitted to the case: one buffer and as many streams as published."""
    return (row["n_streams"], row["n_buffers"]) == (12, 1)


def _use_figure(found: Results) -> Figure:
    data = []
    for policy in ("fifo", "fullest"):
        row = found.row("buffers", policy=policy, n_streams=12, n_buffers=4)
        total = sum(row["n_fills"])
        data += [
            Bar(_NAMES[policy], f"buffer {number}", n / total) for number, n in enumerate(row["n_fills"], 1)
        ]
    return bars(
        "Events by buffer, 12 streams",
        "CMS hardly used more than two of four; which policy that was, the slides do not say.",
        data,
        Column("share", "Share of the events", "share"),
        group="Policy",
        series="Buffer",
    )


_FIGURES = (
    Column("events_per_s", "Events/s", "rate"),
    Column("efficiency", "Efficiency", "share"),
    Column("not_stalled", "1 - stalled", "share"),
    Column("n_stalls", "Stalls", "count"),
    Column("stalls_s", "Stalled, together (s)", "count"),
    Column("longest_s", "Longest (s)", "count"),
)


def _figures(row: Row) -> tuple[float, ...]:
    return (
        row["events_per_s"],
        row["efficiency"],
        row["not_stalled"],
        row["n_stalls"],
        round(row["stalls_s"], 1),
        round(row["longest_s"], 1),
    )


def _policy_table(found: Results) -> Table:
    rows: list[tuple[object, ...]] = []
    for policy in POLICIES:
        then = published(found, policy) | {"not_stalled": published_not_stalled(found, policy)}
        rows.append((_NAMES[policy], f"published: {_PUBLISHED_NAMES[policy]}", *_figures(then)))
        runs = found.rows("policy", policy=policy)
        here = {key: mean(runs, key) for key in runs[0] if key not in ("study", "policy", "seed", "n_fills")}
        here["longest_s"] = max(run["longest_s"] for run in runs)
        here["n_stalls"] = round(here["n_stalls"], 1)
        rows.append((_NAMES[policy], f"policy alone, {len(runs)} seeds: {_kind(policy)}", *_figures(here)))
        threads = found.row("threads", policy=policy)
        n_events = found.model["n_sleeping_events"]
        rows.append(
            (_NAMES[policy], f"threads that sleep, {n_events:,} events: {_kind(policy)}", *_figures(threads))
        )
    return Table(
        "The policies, published and here",
        (Column("policy", "Policy"), Column("source", "Source"), *_FIGURES),
        tuple(rows),
        (
            f"1 - stalled of the published runs: 12 streams for {N_EVENTS:,} events over the rate.",
            "Means over the seeds, but the longest stall of all.",
        ),
    )


def _kind(policy: str) -> str:
    return GIVEN if policy == FITTED else "found"


def _buffer_table(found: Results) -> Table:
    rows = []
    for row in found.rows("buffers"):
        total = sum(row["n_fills"])
        use = ", ".join(f"{100 * n / total:.1f}" for n in row["n_fills"])
        rows.append((row["n_streams"], row["policy"], row["n_buffers"], *_figures(row), use))
    return Table(
        "What CMS left open: 1 to 8 buffers, 4, 8 and 12 streams",
        (
            Column("n_streams", "Streams", "count"),
            Column("policy", "Policy"),
            Column("n_buffers", "Buffers", "count"),
            *_FIGURES,
            Column("use", "Events of each buffer (%)"),
        ),
        tuple(rows),
        (
            "Policy alone, means of 5 seeds.",
            "One buffer of 12 streams is what was fitted, and is the same whatever the policy: given.",
        ),
    )


def _peer_text(found: Results) -> str:
    rows = found.rows("real")
    if not rows:
        return "ROOT's own writers were not measured here yet: python -m bench.parallel_output.told --parts peers FILE."
    most = max(row["n_streams"] for row in rows)
    of = {
        (row["writer"], row["layout"]): row
        for row in rows
        if (row["shape"], row["n_streams"]) == ("miniaod", most)
    }
    ours, theirs = of["arrowroot", "ttree"], of["tbuffermerger", "ttree"]
    return (
        f"ROOT's own writers, for real, at the same load: with {most} streams and a tree arrowroot wrote "
        f"{ours['events_per_s']:.0f} events/s with {ours['peak_rss_bytes'] / 1e6:.0f} MB of memory, TBufferMerger "
        f"{theirs['events_per_s']:.0f} with {theirs['peak_rss_bytes'] / 1e6:.0f} MB. Rates are of one run each, on a "
        "machine whose load stands under the table: they decide nothing."
    )


def _peer_tables(found: Results) -> tuple[Table, ...]:
    rows = found.rows("real")
    if not rows:
        return ()
    return (
        Table(
            "For real: ROOT's own writers, zstd 5",
            (
                Column("shape", "Events like"),
                Column("layout", "Layout"),
                Column("writer", "Writer"),
                Column("n_streams", "Streams", "count"),
                Column("events_per_s", "Events/s", "rate"),
                Column("efficiency", "Efficiency", "share"),
                Column("not_stalled", "1 - stalled", "share"),
                Column("peak_rss_bytes", "Peak memory", "bytes"),
                Column("file_bytes", "File", "bytes"),
            ),
            tuple(
                (
                    row["shape"], row["layout"], row["writer"], row["n_streams"], row["events_per_s"],
                    row["efficiency"], row["not_stalled"], row["peak_rss_bytes"], row["file_bytes"],
                )
                for row in rows
            ),
            (
                f"One run each, {rows[0]['n_events']:,} events of {rows[0]['work_ms']:g} ms (AOD: an eighth).",
                "ROOT's start is in it. Efficiency is by the cores that there are.",
                "ROOT's writers do not say where they wait: their stalls are the time in a call without a processor.",
                f"{rows[0]['machine']}.",
            ),
        ),
    )  # fmt: skip
