"""CMS 2010: original reads, a tree cache with coalescing, and lazy download: measured again in virtual time."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arrowroot_lab.figures.bars import Bar, bars
from arrowroot_lab.figures.curves import Point, Series, curves
from arrowroot_lab.mining.table import Column, Table

from . import cms_2010_published as published
from . import results as kept
from . import traces
from .classic import Classic
from .results import Claim, Results, Row
from .virtual import Line, replay

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "cms-2010"
TITLE = "CMS 2010: original reads, tree cache, lazy download"

_MODEL = Line(published.LATENCY_NS, published.MODEL_BYTES_PER_S)
#: A line that several jobs share.
_SHARED_BYTES_PER_S = 100e6
N_JOBS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64)
_CASES = ("original", "improved", "vector reads", "lazy download")
_TODAY = "auto"


def ral_line() -> Line:
    """Return the line that RAL's reports of the original and of the lazy download tell: two equations, two unknowns."""
    lazy, original = published.RAL["lazy download"], published.RAL["original"]
    bytes_per_s = lazy.mib * published.MIB / lazy.read_s
    latency_s = (original.read_s - original.mib * published.MIB / bytes_per_s) / original.n_reads
    return Line(round(latency_s * 1e9), bytes_per_s)


class _Jobs:
    """The traces, as files, and how each case reads which of them."""

    def __init__(self, directory: Path, scale: float) -> None:
        self.scale = scale
        self.traces = {
            "job": published.job(scale),
            "uncached": published.uncached(scale),
            "cached": published.cached(scale),
        }
        self.traces["by cluster"] = self.traces["job"].in_file_order(published.N_CLUSTERS)
        self.paths = {name: directory / f"{name.replace(' ', '_')}.arrow" for name in self.traces}
        for name, trace in self.traces.items():
            order = "cluster" if name == "by cluster" else "entry"
            # A fill of the cache was one vector read, of some 2,000 ranges.
            protocol = traces.UNBOUNDED if name == "cached" else traces.PLAIN
            traces.write(self.paths[name], trace, f"CMS 2010, {name}", order, protocol)

    def read(self, case: str, line: Line, *, works: bool = False) -> Row:
        """Replay a case."""
        if case == "original":
            return replay(self.paths["job"], line, "direct", works=works)
        if case == "improved":
            return replay(self.paths["uncached"], line, "direct")
        if case == "vector reads":
            # A cluster at a time: the cache has room for one, and not for two.
            size = round(1.3 * self.traces["cached"].asked_bytes / published.N_CLUSTERS)
            return replay(self.paths["cached"], line, "treecache", size, learn_entries="0")
        if case == "lazy download":
            size = round(published.SEGMENT_MIB * published.MIB * self.scale)
            return replay(self.paths["job"], line, "lazy-download", size, works=works)
        if case == "tree cache":
            return replay(self.paths["job"], line, "treecache", works=works)
        trace = self.paths["by cluster" if case == _TODAY else "job"]
        return replay(trace, line, "auto", works=works)


def measure(scale: float, told: Callable[[str], None]) -> dict[str, Any]:
    """Replay all cases, and return the document of the results. ``told`` is called with what comes next."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="arrowroot-lab-") as directory:
        jobs = _Jobs(Path(directory), scale)
        told("the published model: 5 ms, 12 MB/s")
        for case in (*_CASES, "tree cache", _TODAY, "auto, event order"):
            rows.append({"study": "model", "case": case, **jobs.read(case, _MODEL)})
        told("the job with its CPU time, on RAL's line")
        for case in (*_CASES, "tree cache", _TODAY):
            rows.append({"study": "work", "case": case, **jobs.read(case, ral_line(), works=True)})
        for n_jobs in N_JOBS:
            told(f"{n_jobs} jobs on one line of 100 MB/s")
            line = Line(published.LATENCY_NS, _SHARED_BYTES_PER_S).shared_by(n_jobs)
            rows += [
                {"study": "jobs", "case": case, "n_jobs": n_jobs, **jobs.read(case, line)}
                for case in (*_CASES, _TODAY)
            ]
        job = jobs.traces["job"]
    model = {
        "n_baskets": len(job),
        "asked_bytes": job.asked_bytes,
        "file_bytes": job.file_bytes,
        "work_ns": job.work_ns,
        "n_clusters": published.N_CLUSTERS,
        "ral_latency_ns": ral_line().latency_ns,
        "ral_bytes_per_s": ral_line().bytes_per_s,
    }
    return kept.document(NAME, scale, model, rows)


def seconds(found: Results, study: str, case: str, **wanted: Any) -> float:
    """Return the seconds in which a case waited for its reads; of the improved job as a whole: both of its parts."""
    if case == "improved, with vector reads":
        return sum(seconds(found, study, part, **wanted) for part in ("improved", "vector reads"))
    return float(found.row(study, case=case, **wanted)["wait_ns"]) / 1e9


def wall_s(found: Results, case: str) -> float:
    """Return the wall time of the job with its CPU time, on RAL's line."""
    reading = "improved, with vector reads" if case == "improved" else case
    return float(found.model["work_ns"]) / 1e9 + seconds(found, "work", reading)


def crossing(found: Results, case: str, other: str) -> int | None:
    """Return from how many jobs on the line on ``other`` waits less than ``case``; None: not among those tried."""
    for n_jobs in N_JOBS:
        if seconds(found, "jobs", other, n_jobs=n_jobs) < seconds(found, "jobs", case, n_jobs=n_jobs):
            return n_jobs
    return None


def claims(found: Results) -> list[Claim]:
    """Return what the page states, each with whether the results bear it out."""
    scale = found.scale
    told = {case: seconds(found, "model", case) for case in _CASES}
    original, lazy = found.row("model", case="original"), found.row("model", case="lazy download")
    improved, vectors = found.row("model", case="improved"), found.row("model", case="vector reads")
    wanted = {case: predicted * scale for case, predicted in published.PREDICTED_S.items()}
    ral = published.RAL

    def is_near(value: float, other: float, share: float) -> bool:
        return abs(value / other - 1) <= share

    claims = [
        Claim(
            "The original makes a read for each basket, and moves what it asks for, as published.",
            original["n_requests"] == round(ral["original"].n_reads * scale)
            and is_near(original["read_bytes"], ral["original"].mib * published.MIB * scale, 1e-6),
        ),
        Claim(
            "Lazy download makes 10 reads and moves the whole file, as published.",
            lazy["n_requests"] == published.N_SEGMENTS
            and is_near(lazy["read_bytes"], ral["lazy download"].mib * published.MIB * scale, 1e-6),
        ),
        Claim(
            "The improved job makes 22,416 reads past the cache and 29 vector reads, as published.",
            improved["n_requests"] == round(ral["improved"].n_reads * scale)
            and vectors["n_requests"] == published.N_VECTOR_READS,
        ),
        Claim(
            "All four predicted times come out within 1.5 %, 0.5 s of it for the fraction that the source drops.",
            all(abs(told[case] - wanted[case]) <= 0.01 * wanted[case] + 1.0 * scale for case in _CASES),
        ),
        Claim(
            "The order is that of the source: original, improved, lazy download, vector reads.",
            told["original"] > told["improved"] > told["lazy download"] > told["vector reads"],
        ),
        Claim(
            "Original, improved and lazy download are as 3.7 : 1.85 : 1.",
            is_near(told["original"] / told["lazy download"], 3.7, 0.02)
            and is_near(told["improved"] / told["lazy download"], 1.85, 0.02),
        ),
        Claim(
            "With its CPU time the job's wall time falls by 8 %, while its reading becomes four times as fast.",
            0.06 < 1 - wall_s(found, "lazy download") / wall_s(found, "original") < 0.1
            and 4 < seconds(found, "work", "original") / seconds(found, "work", "lazy download") < 5,
        ),
        Claim(
            "The improved job is no slower than the original on RAL's line, and its reads are halved at least.",
            wall_s(found, "improved") < wall_s(found, "original")
            and improved["n_requests"] + vectors["n_requests"] < original["n_requests"] / 2,
        ),
        Claim(
            "Wall times on RAL's line are within 3 % of the published ones.",
            all(
                is_near(wall_s(found, case), (job.wall_s or 0) * scale, 0.03)
                for case, job in published.RAL.items()
            ),
        ),
        Claim(
            "From one to eight jobs on a line of 100 MB/s, lazy download beats original and improved.",
            all(
                seconds(found, "jobs", "lazy download", n_jobs=n)
                < min(
                    seconds(found, "jobs", "original", n_jobs=n),
                    seconds(found, "jobs", "improved, with vector reads", n_jobs=n),
                )
                for n in range(1, 9)
            ),
        ),
        Claim(
            "Lazy download stops winning between 32 and 64 jobs.",
            crossing(found, "lazy download", "original") == 64,
        ),
        Claim(
            "Today's auto beats all of them, for any number of jobs.",
            all(
                seconds(found, "jobs", _TODAY, n_jobs=n) < seconds(found, "jobs", case, n_jobs=n)
                for n in N_JOBS
                for case in ("original", "improved, with vector reads", "lazy download")
            ),
        ),
        Claim(
            "Today's auto needs less than 300 requests, and reads next to nothing besides.",
            found.row("model", case=_TODAY)["n_requests"] < 300
            and found.row("model", case=_TODAY)["overhead_bytes"] < 0.02 * found.model["asked_bytes"],
        ),
        Claim(
            "CERN and RAL have the same counts, and each read took 2.5 times as long at CERN.",
            all(
                (one.n_reads, one.mib, one.n_vector_reads)
                == (published.RAL[case].n_reads, published.RAL[case].mib, published.RAL[case].n_vector_reads)
                and 2.4 < one.read_s / published.RAL[case].read_s < 2.7
                for case, one in published.CERN.items()
            ),
        ),
        Claim(
            "Reads that reached the storage are the requested ones less those that the cache answered.",
            all(asked - hits == reads for asked, hits, reads in published.IDENTITIES.values()),
        ),
    ]
    return claims


_SECONDS = "time"


def _ns(value: float | None) -> int | None:
    return None if value is None else round(value * 1e9)


def page(found: Results) -> Classic:
    """Return the page."""
    told = {case: seconds(found, "model", case) / found.scale for case in (*_CASES, _TODAY, "tree cache")}
    today = found.row("model", case=_TODAY)
    gain = 1 - wall_s(found, "lazy download") / wall_s(found, "original")
    answer = (
        "In 2010, CMS predicted 360 s in reads for the original job, 179 s with a tree cache, 97 s with lazy download and 40 s "
        f"for the cache alone; the same reads now take {told['original']:.0f}, {told['improved']:.0f}, "
        f"{told['lazy download']:.0f} and {told['vector reads']:.0f} s in virtual time, and {told[_TODAY]:.0f} s with auto."
    )
    lazy_until = crossing(found, "lazy download", "original")
    return Classic(
        name=NAME,
        title=TITLE,
        answer=answer,
        figures=(_predicted_figure(found), _wall_figure(found), _jobs_figure(found)),
        tables=(_predicted_table(found), _site_table(), _wall_table(found), _jobs_table(found), _identities()),
        scale=(
            f"{found.model['n_baskets']:,} baskets of a file of {found.model['file_bytes'] / published.MIB:,.1f} MiB "
            f"(scale {found.scale:g}), replayed in virtual time: 5 ms a read and 12 MiB/s, as the source's model has it.",
            "campaigns/classics/cms-2010.toml does it for real at a tenth of the size, behind a line of 5 ms and 12 MB/s.",
        ),
        same=(
            "The counts: 63,143 reads of 540.754 MB; 22,416 reads of 805.87 MB and 29 vector reads; 10 reads of 1,169.41 MB. "
            "A megabyte of these reports is 2^20 bytes.",
            "The model: a latency for each read, and the transfer of its bytes, one after the other.",
        ),
        differs=(
            "The source had a real file; ours has as many baskets, whose sizes and places are drawn by chance. In each of 29 "
            "clusters the program asks for them in an order of its own. That there are 29 is ours: so many vector reads were made.",
            "The improved job is replayed in its two parts, as the report counts them: what went past the cache, and what went "
            "through it. The report has 0 MB for the vector reads; their volume, 480.968 MB, is what the lazy download's report says "
            "went to the same cache: a lower bound.",
            "The source names no counters for its 40 s. They come out if only the 29 vector reads are counted: this is our "
            "reconstruction. The whole improved job waits "
            f"{told['improved'] + told['vector reads']:.0f} s in this model, not 179 s.",
            "The source's figures of FNAL's original job are a paste of its improved one: all digits are the same. That case is "
            "left out.",
            "RAL's line is not published. Two of its three reports tell it: "
            f"{found.model['ral_latency_ns'] / 1e6:.2f} ms a read and {found.model['ral_bytes_per_s'] / published.MIB:.0f} MiB/s; "
            "the third one checks it.",
        ),
        today=(
            f"With auto the same baskets take {today['n_requests']:,} requests and {told[_TODAY]:.0f} s; their bytes alone take "
            f"{found.model['asked_bytes'] / found.scale / published.MODEL_BYTES_PER_S:.0f} s.",
            f"The job spends {found.model['work_ns'] / found.scale / 1e9:.0f} s of CPU time, so its wall time falls by "
            f"{100 * gain:.0f} % only, while its reading becomes "
            f"{seconds(found, 'work', 'original') / seconds(found, 'work', 'lazy download'):.1f} times as fast.",
            "When does lazy download stop winning? On one line of 100 MB/s it beats original and improved for one to eight jobs, and "
            + (
                f"loses to the original from some number between 32 and {lazy_until} on: there the {published.N_SEGMENTS} large "
                "reads move twice the bytes over a line that is full."
                if lazy_until
                else "for all numbers that were tried."
            ),
            "The source asks whether the two sites differ in events, or in time for each read. Both reports have the same counts: "
            "they differ in time alone, 3.2 ms a read at CERN and 1.3 ms at RAL.",
        ),
        command="arrowroot lab classics cms-2010",
        sources=published.SOURCES,
    )


def _predicted_figure(found: Results) -> Any:
    data = [
        Bar(case, who, value)
        for case in _CASES
        for who, value in (
            ("predicted in 2010", _ns(published.PREDICTED_S[case])),
            ("replayed now", _ns(seconds(found, "model", case) / found.scale)),
        )
    ]
    data.append(Bar("auto today", "replayed now", _ns(seconds(found, "model", _TODAY) / found.scale)))
    return bars(
        "Time in reads: predicted in 2010, and replayed",
        "At 5 ms a read and 12 MB/s; less is better.",
        data,
        Column("read_ns", "Time in reads", _SECONDS),
        group="Job",
        series="Source",
    )


def _predicted_table(found: Results) -> Table:
    reports = {**published.RAL}
    rows = []
    for case in (*_CASES, "tree cache", _TODAY, "auto, event order"):
        row = found.row("model", case=case)
        job = reports.get(case)
        n_reads = published.N_VECTOR_READS if case == "vector reads" else job.n_reads if job else None
        mib = published.CACHED_MIB if case == "vector reads" else job.mib if job else None
        rows.append(
            (
                case,
                n_reads,
                row["n_requests"],
                None if mib is None else round(mib * published.MIB),
                row["read_bytes"],
                _ns(published.PREDICTED_S.get(case)),
                row["wait_ns"],
                row["overhead_bytes"] / row["payload_bytes"],
            )
        )
    return Table(
        "Reads, bytes and time: published and replayed",
        (
            Column("job", "Job"),
            Column("published_reads", "Reads, published", "count"),
            Column("n_requests", "Reads, here", "count"),
            Column("published_bytes", "Bytes, published", "bytes"),
            Column("read_bytes", "Bytes, here", "bytes"),
            Column("published_ns", "Predicted, published", "time"),
            Column("wait_ns", "Time, here", "time"),
            Column("over_read", "Read besides", "share"),
        ),
        tuple(rows),
        (
            "Of the vector reads, bytes and the time of 40 s are our reconstruction.",
            "tree cache and auto read the original's baskets; auto by cluster, as arrowroot reads.",
        ),
    )


def _site_table() -> Table:
    rows = [
        (site, case, job.n_reads, round(job.mib * published.MIB), job.n_vector_reads, _ns(job.read_s), _ns(job.vector_s or None),
         round(job.read_s * 1e9 / job.n_reads))
        for site, jobs in (("CERN", published.CERN), ("RAL", published.RAL))
        for case, job in jobs.items()
    ]  # fmt: skip
    return Table(
        "The published reports: equal counts, other times",
        (
            Column("site", "Site"),
            Column("job", "Job"),
            Column("n_reads", "Reads", "count"),
            Column("read_bytes", "Bytes", "bytes"),
            Column("n_vector_reads", "Vector reads", "count"),
            Column("read_ns", "In reads", "time"),
            Column("vector_ns", "In vector reads", "time"),
            Column("each_ns", "Each read", "time"),
        ),
        tuple(rows),
    )


def _wall_figure(found: Results) -> Any:
    data = [
        Bar(case, who, _ns(value))
        for case, job in published.RAL.items()
        for who, value in (("published", job.wall_s), ("replayed", wall_s(found, case) / found.scale))
    ]
    data.append(Bar("auto today", "replayed", _ns(wall_s(found, _TODAY) / found.scale)))
    return bars(
        "Wall time of the whole job at RAL",
        "635 s of it are CPU time, so faster reads change little.",
        data,
        Column("wall_ns", "Wall time", "time"),
        group="Job",
        series="Source",
    )


def _wall_table(found: Results) -> Table:
    work = found.model["work_ns"] / 1e9
    rows = []
    for case in (*published.RAL, "tree cache", _TODAY):
        job = published.RAL.get(case)
        wall = wall_s(found, case)
        rows.append(
            (
                case,
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


_JOB_CASES = ("original", "improved, with vector reads", "lazy download", _TODAY)


def _jobs_figure(found: Results) -> Any:
    series = [
        Series(
            case if case != _TODAY else "auto today",
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
        (Column("n_jobs", "Jobs", "count"), *(Column(f"case_{i}", case, "time") for i, case in enumerate(_JOB_CASES))),
        tuple(
            (n_jobs, *(round(seconds(found, "jobs", case, n_jobs=n_jobs) * 1e9) for case in _JOB_CASES))
            for n_jobs in N_JOBS
        ),
        ("All jobs are alike, begin together and share the line evenly: this is the worst case, without CPU time between reads.",),
    )  # fmt: skip


def _identities() -> Table:
    return Table(
        "Requested reads less those that the cache answered are the reads of the storage",
        (
            Column("site", "Report"),
            Column("n_requested", "Requested", "count"),
            Column("n_hits", "From the cache", "count"),
            Column("n_reads", "Reads", "count"),
        ),
        tuple((site, *counts) for site, counts in published.IDENTITIES.items()),
    )
