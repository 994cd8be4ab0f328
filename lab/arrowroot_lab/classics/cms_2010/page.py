"""The page of CMS 2010."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from arrowroot_lab.classics.classic import Classic, from_campaigns, points
from arrowroot_lab.figures.bars import Bar, bars
from arrowroot_lab.figures.curves import Point, Series, curves
from arrowroot_lab.figures.headlines import GIVEN, Headline, Pair
from arrowroot_lab.mining.table import Column, Table

from . import published
from .claims import claims
from .measuring import (
    CASES,
    COALESCED,
    N_JOBS,
    NAME,
    TODAY,
    WHOLE_IMPROVED,
    coalesced_mib,
    crossing,
    seconds,
    wall_s,
)

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Results
    from arrowroot_lab.figures.figure import Figure

TITLE = "CMS 2010: original reads, tree cache, lazy download"


def _ns(value: float | None) -> int | None:
    return None if value is None else round(value * 1e9)


def page(found: Results) -> Classic:
    """Return the page."""
    told = {case: seconds(found, "model", case) / found.scale for case in (*CASES, TODAY, "tree cache")}
    today = found.row("model", case=TODAY)
    coalesced = found.row("model", case=COALESCED)
    past_mib = published.RAL["improved"].mib - published.COALESCED_MIB
    transfer_s = found.model["asked_bytes"] / found.scale / published.MODEL_BYTES_PER_S
    faster = seconds(found, "work", "original") / seconds(found, "work", "lazy download")
    lazy_until = crossing(found, "lazy download", "original")
    until = "for all numbers that were tried"
    if lazy_until:
        why = "there its 10 large reads move twice the bytes over a line that is full"
        until = f"loses to the original by {lazy_until} jobs: {why}"
    gain = 1 - wall_s(found, "lazy download") / wall_s(found, "original")
    gain_then = 1 - published.RAL["lazy download"].wall_s / published.RAL["original"].wall_s
    [answer] = points(f"""
        In 2010, CMS predicted 360 s in reads for the original job, 179 s with its improvements, 97 s with lazy
        download and 40 s for a case of CERN; now the same reads are put into the same model, which makes
        {told["original"]:.0f}, {told["improved"]:.0f} and {told["lazy download"]:.0f} s of them, and
        {told["vector reads"]:.0f} s of the vector reads alone, which we take for that case, and what is found is that
        auto takes {told[TODAY]:.0f} s for all of it.
    """)
    return Classic(
        name=NAME,
        title=TITLE,
        answer=answer,
        headline=Headline(
            "Seconds in reads",
            "count",
            tuple(
                Pair(case, published.PREDICTED_S.get(case), round(told[case], 1), case in CASES)
                for case in ("original", "improved", "lazy download", "vector reads", TODAY)
            ),
            f"Found: coalescing reads {coalesced_mib(found):.0f} MiB where {published.RAL['original'].mib:.0f} are "
            f"asked for (published {published.RAL['improved'].mib:.0f}).",
        ),
        figures=(_predicted_figure(found), _wall_figure(found), _jobs_figure(found)),
        tables=(
            _predicted_table(found),
            _site_table(),
            _wall_table(found),
            _jobs_table(found),
            *_real_tables(found),
            _identities(),
        ),
        claims=tuple(claims(found)),
        scale=points(f"""
            {found.model["n_baskets"]:,} baskets of a file of {found.model["file_bytes"] / published.MIB:,.1f} MiB
            (scale {found.scale:g}), replayed in virtual time: 5 ms a read and 12 MiB/s, as the source's model has it.

            campaigns/classics/cms-2010.toml does it for real: the reads alone at a tenth of the size, behind a line of
            5 ms and 12 MiB/s; with CPU time at a hundredth, behind RAL's line.
        """),
        same=points("""
            The counts: 63,143 reads of 540.754 MiB; 22,416 reads of 805.87 MiB and 29 vector reads; 10 reads of
            1,169.41 MiB. A megabyte of these reports is 2^20 bytes.

            The model: a latency for each read, and the transfer of its bytes, one after the other.
        """),
        differs=points(f"""
            The source had a real file; ours has as many baskets, whose sizes and places are drawn by chance. In each
            of 29 clusters the program asks for them in an order of its own. That there are 29 is ours: so many vector
            reads were made.

            The improved job is replayed in its two parts, as the report counts them: what went past the cache, and
            what went through it. For the volume of the vector reads, which has 0 MB in the report, we take 480.968 MiB,
            which the lazy download's report has for as many requests to the cache.

            Coalescing raised the bytes read, from {published.RAL["original"].mib:.0f} to
            {published.RAL["improved"].mib:.0f} MiB. The improved job's report has
            {published.N_COALESCED:,} requested reads more than the original's, of {published.COALESCED_MIB:.0f} MiB:
            we take them for those that the vector reads were made of, with what lies between the baskets. Where
            gaps of up to {coalesced["max_gap_bytes"] / 1e3:.0f} kB are read, as few are left here, of
            {coalesced_mib(found) - past_mib:.0f} MiB; with what went past the cache {coalesced_mib(found):.0f} MiB. If
            that is so, the vector reads are among the 22,416, and the sum of both parts counts them twice.

            The source gives 40 s for the improvements at CERN, and no counters, though its report of CERN has those of
            RAL. 40 s come out if only the 29 vector reads are counted: this is our reconstruction. Its 179 s are the
            22,416 reads without them; the whole improved job waits
            {told["improved"] + told["vector reads"]:.0f} s in this model.

            The source's counters of FNAL's original job are a paste of its improved one: all digits are the same. So
            that case is left out, and neither half as many reads nor the 32 s in them can be checked. Its wall times
            are not pasted: {published.FNAL_WALL_S["original"]:.0f} and {published.FNAL_WALL_S["improved"]:.0f} s,
            {published.FNAL_WALL_S["original"] - published.FNAL_WALL_S["improved"]:.0f} s less, where the text has some
            20; and 29 s in reads are in the report that is there.

            RAL's line is not published, but for a comment that lazy download had 67 MB/s. Two of its three reports tell
            it: {found.model["ral_latency_ns"] / 1e6:.2f} ms a read and
            {found.model["ral_bytes_per_s"] / published.MIB:.0f} MiB/s, which are
            {found.model["ral_bytes_per_s"] / 1e6:.0f} MB/s; the third one checks it.
        """),
        today=points(f"""
            With auto the same baskets take {today["n_requests"]:,} requests and {told[TODAY]:.0f} s; their bytes
            alone take {transfer_s:.0f} s.

            The job spends {found.model["work_ns"] / found.scale / 1e9:.0f} s of CPU time, so with lazy download its
            wall time falls by {100 * gain:.0f} % only (published: {100 * gain_then:.0f} %), while its reading becomes
            {faster:.1f} times as fast.

            When does lazy download stop winning? On one line of 100 MB/s it beats original and improved for one to
            eight jobs, and {until}.

            The source asks whether CERN's job ran on another number of events. The reports of both sites have the same
            counts and bytes, to the last digit: they differ in time alone, 3.2 ms a read at CERN and 1.3 ms at RAL.

            {_real_text(found)}
        """),
        command="arrowroot lab classics cms-2010",
        real_command=from_campaigns("cms-2010", "campaigns/classics/cms-2010.toml"),
        sources=published.SOURCES,
        measured=found.measured(),
    )


def _real_text(found: Results) -> str:
    rows = {row["case"]: row for row in found.rows("real", part=0.01)}
    if not rows:
        return "It was not measured for real yet."
    ratios = [ratio for case in ("tree cache", TODAY) for ratio in rows[case]["ratios"]]
    reads = [rows[case]["n_requests"] for case in ("tree cache", TODAY, "original")]
    return (
        "For real, at a hundredth of the size with its CPU time, tree cache and auto take "
        f"{min(ratios):.3f} to {max(ratios):.3f} of the original's wall time in all of {len(ratios)} pairs, with "
        f"{reads[0]} and {reads[1]} reads, not {reads[2]}."
    )


def _mib(mib: float) -> str:
    """A volume as CMS's reports have it, to the kilobyte."""
    return f"{mib:,.3f} MiB"


def _predicted_figure(found: Results) -> Figure:
    data = [
        bar
        for case in CASES
        for bar in (
            Bar(case, "predicted in 2010", _ns(published.PREDICTED_S[case])),
            Bar(case, "replayed now", _ns(seconds(found, "model", case) / found.scale), is_given=True),
        )
    ]
    data.append(Bar("auto today", "replayed now", _ns(seconds(found, "model", TODAY) / found.scale)))
    return bars(
        "Time in reads: predicted in 2010, and replayed",
        "At 5 ms a read and 12 MiB/s; less is better. Given: reads and bytes are put into the source's model.",
        data,
        Column("read_ns", "Time in reads", "time"),
        group="Job",
        series="Source",
    )


def _predicted_table(found: Results) -> Table:
    reports = {**published.RAL}
    counts: dict[str, tuple[int | None, float | None]] = {
        "vector reads": (published.N_VECTOR_READS, published.CACHED_MIB),
        COALESCED: (published.N_COALESCED, published.COALESCED_MIB),
    }
    rows = []
    for case in (*CASES, COALESCED, "tree cache", TODAY, "auto, event order"):
        row = found.row("model", case=case)
        job = reports.get(case)
        n_reads, mib = counts.get(case, (job.n_reads, job.mib) if job else (None, None))
        rows.append(
            (
                case,
                GIVEN if case in CASES else "found",
                n_reads,
                row["n_ranges" if case == COALESCED else "n_requests"],
                None if mib is None else _mib(mib),
                _mib(row["read_bytes"] / found.scale / published.MIB),
                _ns(published.PREDICTED_S.get(case)),
                row["wait_ns"],
                row["overhead_bytes"] / row["payload_bytes"],
            )
        )
    return Table(
        "Reads, bytes and time: published and replayed",
        (
            Column("job", "Job"),
            Column("kind", "Ours is"),
            Column("published_reads", "Reads, published", "count"),
            Column("n_requests", "Reads, here", "count"),
            Column("published_mib", "Volume, published"),
            Column("read_mib", "Volume, here"),
            Column("published_ns", "Predicted, published", "time"),
            Column("wait_ns", "Time, here", "time"),
            Column("over_read", "Read besides", "share"),
        ),
        tuple(rows),
        (
            "Of the vector reads, bytes and the time of 40 s are our reconstruction.",
            (
                f"{COALESCED}: the same, with gaps of up to {found.row('model', case=COALESCED)['max_gap_bytes']:,} "
                "bytes read, so that as many reads are left as were counted: their number is given, their volume found."
            ),
            "tree cache and auto read the original's baskets; auto by cluster, as arrowroot reads.",
        ),
    )


def _site_table() -> Table:
    rows = [
        (
            site,
            case,
            job.n_reads,
            _mib(job.mib),
            job.n_vector_reads,
            _ns(job.read_s),
            _ns(job.vector_s or None),
            round(job.read_s * 1e9 / job.n_reads),
            _ns(job.wall_s),
            job.cpu_share,
        )
        for site, jobs in (("CERN", published.CERN), ("RAL", published.RAL))
        for case, job in jobs.items()
    ]
    return Table(
        "The published reports: equal counts, other times",
        (
            Column("site", "Site"),
            Column("job", "Job"),
            Column("n_reads", "Reads", "count"),
            Column("read_mib", "Volume"),
            Column("n_vector_reads", "Vector reads", "count"),
            Column("read_ns", "In reads", "time"),
            Column("vector_ns", "In vector reads", "time"),
            Column("each_ns", "Each read", "time"),
            Column("wall_ns", "Wall", "time"),
            Column("cpu_share", "CPU share", "share"),
        ),
        tuple(rows),
        ("CPU share: user and system time over real time.",),
    )


def _wall_figure(found: Results) -> Figure:
    data = [
        bar
        for case, job in published.RAL.items()
        for bar in (
            Bar(case, "published", _ns(job.wall_s)),
            Bar(case, "replayed", _ns(wall_s(found, case) / found.scale), is_given=case != "improved"),
        )
    ]
    data.append(Bar("auto today", "replayed", _ns(wall_s(found, TODAY) / found.scale)))
    return bars(
        "Wall time of the whole job at RAL",
        "635 s of it are CPU time, so faster reads change little. The line is made of those that are given.",
        data,
        Column("wall_ns", "Wall time", "time"),
        group="Job",
        series="Source",
    )


def _wall_table(found: Results) -> Table:
    work = found.model["work_ns"] / 1e9
    rows = []
    for case in (*published.RAL, "tree cache", TODAY):
        job = published.RAL.get(case)
        wall = wall_s(found, case)
        rows.append(
            (
                case,
                GIVEN if job and case != "improved" else "found",
                _ns(job.wall_s) if job else None,
                _ns(wall / found.scale),
                job.cpu_share if job else None,
                work / wall,
                _ns(job.read_s + job.vector_s) if job else None,
                _ns((wall - work) / found.scale),
            )
        )
    return Table(
        "The job with its CPU time, on RAL's line",
        (
            Column("job", "Job"),
            Column("kind", "Ours is"),
            Column("published_wall_ns", "Wall, published", "time"),
            Column("wall_ns", "Wall, here", "time"),
            Column("published_cpu", "CPU share, published", "share"),
            Column("cpu_share", "CPU share, here", "share"),
            Column("published_read_ns", "In reads, published", "time"),
            Column("read_ns", "In reads, here", "time"),
        ),
        tuple(rows),
        ("Original and lazy download fix the line; the improved job is a prediction.",),
    )


def _real_tables(found: Results) -> tuple[Table, ...]:
    rows = found.rows("real")
    if not rows:
        return ()
    return (
        Table(
            "For real: a tenth of the reads alone, a hundredth with the CPU time",
            (
                Column("part", "Part of the job", "share"),
                Column("case", "Job"),
                Column("n_requests", "Reads", "count"),
                Column("read_bytes", "Moved", "bytes"),
                Column("wall_ns", "Wall, median", "time"),
                Column("ratio", "Over the original", "ratio"),
                Column("ratio_low", "Least of the pairs", "ratio"),
                Column("ratio_high", "Most of the pairs", "ratio"),
                Column("n_pairs", "Pairs", "count"),
            ),
            tuple(
                (
                    row["part"],
                    row["case"],
                    row["n_requests"],
                    row["read_bytes"],
                    row["wall_ns"],
                    *(
                        (statistics.median(row["ratios"]), min(row["ratios"]), max(row["ratios"]))
                        if row["ratios"] and row["case"] != "original"
                        else (None, None, None)
                    ),
                    len(row["ratios"]) if row["case"] != "original" else None,
                )
                for row in rows
            ),
            (
                "Pairs were taken in turns. Fewer than 7 bound no median at 99 %: it is stated that none is slower.",
            ),
        ),
    )


_JOB_CASES = ("original", WHOLE_IMPROVED, "lazy download", TODAY)


def _jobs_figure(found: Results) -> Figure:
    series = [
        Series(
            case if case != TODAY else "auto today",
            tuple(
                Point(n_jobs, round(seconds(found, "jobs", case, n_jobs=n_jobs) * 1e9)) for n_jobs in N_JOBS
            ),
        )
        for case in _JOB_CASES
    ]
    return curves(
        "Several jobs on one line of 100 MB/s",
        "Time in reads of each job, where all read at the same time; 5 ms a read.",
        series,
        Column("n_jobs", "Jobs", "count"),
        Column("wait_ns", "Time in reads", "time"),
        is_log_x=True,
        is_log_y=True,
    )


def _jobs_table(found: Results) -> Table:
    return Table(
        "Several jobs on one line of 100 MB/s: time in reads of each",
        (
            Column("n_jobs", "Jobs", "count"),
            *(Column(f"case_{i}", case, "time") for i, case in enumerate(_JOB_CASES)),
        ),
        tuple(
            (n_jobs, *(round(seconds(found, "jobs", case, n_jobs=n_jobs) * 1e9) for case in _JOB_CASES))
            for n_jobs in N_JOBS
        ),
        (
            "Jobs are alike, begin together and share the line evenly; there is no CPU time between their reads.",
        ),
    )


def _identities() -> Table:
    return Table(
        "Requested reads less those that the cache answered are the reads of the storage",
        (
            Column("site", "Report"),
            Column("n_requested", "Requested", "count"),
            Column("n_hits", "From the cache", "count"),
            Column("n_reads", "Reads", "count"),
            Column("requested_mib", "Volume requested"),
            Column("hit_mib", "From the cache"),
            Column("read_mib", "Read"),
        ),
        tuple(
            (site, *counts, *(_mib(mib) for mib in volumes))
            for site, (counts, volumes) in published.IDENTITIES.items()
        ),
        ("All are published.",),
    )
