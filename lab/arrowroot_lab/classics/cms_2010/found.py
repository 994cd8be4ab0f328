"""The figures of CMS 2010 that its page shows: of its results, and of what was published."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from arrowroot_lab.classics.study import Study
from arrowroot_lab.figures.bars import Bar
from arrowroot_lab.figures.curves import Point, Series
from arrowroot_lab.figures.headlines import GIVEN, Pair

from . import published
from .measuring import CASES, COALESCED, N_JOBS, TODAY, WHOLE_IMPROVED
from .published import MIB, RAL, THEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arrowroot_lab.classics.results import Row

_JOB_CASES = ("original", WHOLE_IMPROVED, "lazy download", TODAY)


class Cms2010Results(Study):
    """The results of CMS 2010."""

    ours = published

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(document)
        #: Case -> row of the source's model, and the seconds in reads at the original's size.
        self.cases = self.keyed("model", "case")
        self.seconds_of = {case: row["wait_ns"] / 1e9 / self.scale for case, row in self.cases.items()}
        self.original, self.improved, self.vectors, self.lazy = (self.cases[case] for case in CASES)
        self.coalesced, self.auto = self.cases[COALESCED], self.cases[TODAY]
        #: What the improved job reads at the original's size: past its cache, and by the cache with gaps.
        self.past_mib = RAL["improved"].mib - published.COALESCED_MIB
        self.coalesced_mib = self.past_mib + float(self.coalesced["read_bytes"]) / self.scale / MIB
        #: Part and case -> row for real.
        self.real = self.keyed("real", "part", "case")

    def seconds(self, study: str, case: str, **wanted: Any) -> float:
        """Return the seconds in which a case waited for its reads; of the whole improved job of both its parts."""
        if case == WHOLE_IMPROVED:
            return sum(self.seconds(study, part, **wanted) for part in ("improved", "vector reads"))
        return float(self.row(study, case=case, **wanted)["wait_ns"]) / 1e9

    def wall_s(self, case: str) -> float:
        """Return the wall time of the job with its CPU time, on RAL's line."""
        reading = WHOLE_IMPROVED if case == "improved" else case
        return float(self.model["work_ns"]) / 1e9 + self.seconds("work", reading)

    def crossing(self, case: str, other: str) -> int | None:
        """Return from how many jobs on the line on ``other`` waits less than ``case``; None: not among those tried."""
        wins = (
            n for n in N_JOBS if self.seconds("jobs", other, n_jobs=n) < self.seconds("jobs", case, n_jobs=n)
        )
        return next(wins, None)

    def pairs(self) -> Iterator[Pair]:
        """Return the times in reads, predicted and replayed."""
        for case in ("original", "improved", "lazy download", "vector reads", TODAY):
            then = THEN["predicted_s"].get(case)
            yield Pair(case, then, round(self.seconds_of[case], 1), case in CASES)

    def predicted_bars(self) -> Iterator[Bar]:
        """Return the times in reads, predicted and replayed."""
        for case in CASES:
            yield Bar(case, "predicted in 2010", _ns(THEN["predicted_s"][case]))
            yield Bar(case, "replayed now", _ns(self.seconds_of[case]), is_given=True)
        yield Bar("auto today", "replayed now", _ns(self.seconds_of[TODAY]))

    def wall_bars(self) -> Iterator[Bar]:
        """Return the wall times at RAL, published and replayed."""
        for case, job in RAL.items():
            yield Bar(case, "published", _ns(job.wall_s))
            here = _ns(self.wall_s(case) / self.scale)
            yield Bar(case, "replayed", here, is_given=case != "improved")
        yield Bar("auto today", "replayed", _ns(self.wall_s(TODAY) / self.scale))

    def job_series(self) -> Iterator[Series]:
        """Return the time in reads of each of several jobs, by their number."""
        rows = list(self.job_rows())
        for place, case in enumerate(_JOB_CASES, 1):
            points = tuple(Point(row[0], row[place]) for row in rows)
            yield Series("auto today" if case == TODAY else case, points)

    def job_rows(self) -> Iterator[tuple[int, ...]]:
        """Return the time in reads of each of several jobs."""
        for n in N_JOBS:
            yield n, *(round(self.seconds("jobs", case, n_jobs=n) * 1e9) for case in _JOB_CASES)

    def predicted_rows(self) -> Iterator[Row]:
        """Return each case in the source's model, with what was published of it."""
        counts: dict[str, tuple[int, float]] = {case: (job.n_reads, job.mib) for case, job in RAL.items()} | {
            "vector reads": (published.N_VECTOR_READS, published.CACHED_MIB),
            COALESCED: (published.N_COALESCED, published.COALESCED_MIB),
        }
        for case in (*CASES, COALESCED, "tree cache", TODAY, "auto, event order"):
            row, (n_reads, mib) = self.cases[case], counts.get(case, (None, None))
            yield {
                "job": case,
                "kind": GIVEN if case in CASES else "found",
                "published_reads": n_reads,
                "n_requests": row["n_ranges" if case == COALESCED else "n_requests"],
                "published_mib": None if mib is None else _mib(mib),
                "read_mib": _mib(row["read_bytes"] / self.scale / MIB),
                "published_ns": _ns(THEN["predicted_s"].get(case)),
                "wait_ns": row["wait_ns"],
                "over_read": row["overhead_bytes"] / row["payload_bytes"],
            }

    def site_rows(self) -> Iterator[tuple[Any, ...]]:
        """Return the published reports."""
        for site, jobs in (("CERN", published.CERN), ("RAL", RAL)):
            for case, job in jobs.items():
                times = _ns(job.read_s), _ns(job.vector_s or None), round(job.read_s * 1e9 / job.n_reads)
                counts = job.n_reads, _mib(job.mib), job.n_vector_reads
                yield site, case, *counts, *times, _ns(job.wall_s), job.cpu_share

    def wall_rows(self) -> Iterator[Row]:
        """Return the job with its CPU time on RAL's line, with what was published of it."""
        work = self.model["work_ns"] / 1e9
        for case in (*RAL, "tree cache", TODAY):
            job, wall = RAL.get(case), self.wall_s(case)
            yield {
                "job": case,
                "kind": GIVEN if job and case != "improved" else "found",
                "published_wall_ns": _ns(job.wall_s) if job else None,
                "wall_ns": _ns(wall / self.scale),
                "published_cpu": job.cpu_share if job else None,
                "cpu_share": work / wall,
                "published_read_ns": _ns(job.read_s + job.vector_s) if job else None,
                "read_ns": _ns((wall - work) / self.scale),
            }

    def real_rows(self) -> Iterator[Row]:
        """Return the campaign's rows, each with the ratios of its pairs."""
        for row in self.rows("real"):
            ratios = row["ratios"] if row["case"] != "original" else None
            values = (statistics.median(ratios), min(ratios), max(ratios)) if ratios else (None, None, None)
            told = dict(zip(("ratio", "ratio_low", "ratio_high"), values, strict=True))
            yield {**row, **told, "n_pairs": None if ratios is None else len(ratios)}

    def identity_rows(self) -> Iterator[tuple[Any, ...]]:
        """Return the published counts and volumes of reads that were requested, answered, and read."""
        for site, told in THEN["identities"].items():
            yield site, *told[:3], *map(_mib, told[3:])


def _ns(value: float | None) -> int | None:
    return None if value is None else round(value * 1e9)


def _mib(mib: float) -> str:
    """A volume as CMS's reports have it, to the kilobyte."""
    return f"{mib:,.3f} MiB"
