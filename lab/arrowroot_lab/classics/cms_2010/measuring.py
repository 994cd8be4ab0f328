"""What is replayed of CMS 2010."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot_lab.classics import results as kept
from arrowroot_lab.classics import traces
from arrowroot_lab.classics.virtual import Line, replay

from . import published

if TYPE_CHECKING:
    from collections.abc import Callable

    from arrowroot_lab.classics.results import Row
    from arrowroot_lab.classics.traces import Written

NAME = "cms-2010"

_MODEL = Line(published.LATENCY_NS, published.MODEL_BYTES_PER_S)
#: A line that several jobs share.
_SHARED_BYTES_PER_S = 100e6
N_JOBS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64)
#: As in the source; the improved job is two of them.
CASES = ("original", "improved", "vector reads", "lazy download")
TODAY = "auto"
#: The vector reads, of which gaps are read until as many reads are left as were counted.
COALESCED = "coalesced"
WHOLE_IMPROVED = "improved, with vector reads"


def ral_line() -> Line:
    """Return the line that RAL's reports of the original and of the lazy download tell: two equations, two unknowns."""
    lazy, original = published.RAL["lazy download"], published.RAL["original"]
    bytes_per_s = lazy.mib * published.MIB / lazy.read_s
    latency_s = (original.read_s - original.mib * published.MIB / bytes_per_s) / original.n_reads
    return Line(round(latency_s * 1e9), bytes_per_s)


class Jobs:
    """The traces, as files, and how each case reads which of them."""

    def __init__(self, written: Written, scale: float) -> None:
        self.scale = scale
        self.traces = {
            "job": published.job(scale),
            "uncached": published.uncached(scale),
            "cached": published.cached(scale),
        }
        self.traces["by cluster"] = self.traces["job"].in_file_order(published.N_CLUSTERS)
        self.paths = {}
        for name, trace in self.traces.items():
            order = "cluster" if name == "by cluster" else "entry"
            # A fill of the cache was one vector read, of some 2,000 ranges.
            protocol = traces.UNBOUNDED if name == "cached" else traces.PLAIN
            self.paths[name] = written(trace, order, protocol, name)

    def read(self, case: str, line: Line, *, works: bool = False) -> Row:
        """Replay a case."""
        if case == "vector reads":
            return self._read_cached(line)
        if case == COALESCED:
            n_reads = round(published.N_COALESCED * self.scale)
            gap = published.gap_that_leaves(self.traces["cached"], n_reads)
            return {"max_gap_bytes": gap, **self._read_cached(line, max_gap=str(gap))}
        segment_bytes = round(published.SEGMENT_MIB * published.MIB * self.scale)
        options: dict[str, tuple[str, str, int | None]] = {
            "original": ("job", "direct", None),
            "improved": ("uncached", "direct", None),
            "lazy download": ("job", "lazy-download", segment_bytes),
            "tree cache": ("job", "treecache", None),
            TODAY: ("by cluster", "auto", None),
            "auto, event order": ("job", "auto", None),
        }
        name, strategy, cache_bytes = options[case]
        return replay(self.paths[name], line, strategy, cache_bytes, works=works and case != "improved")

    def _read_cached(self, line: Line, **options: str) -> Row:
        # A cluster at a time: the cache has room for one, and not for two.
        size = round(1.3 * self.traces["cached"].asked_bytes / published.N_CLUSTERS)
        path = self.paths["cached"]
        return replay(path, line, "treecache", size, works=False, learns=False, **options)


def model_rows(jobs: Jobs) -> list[Row]:
    """Return each case on the line of the source's model."""
    return [
        {"study": "model", "case": case, **jobs.read(case, _MODEL)}
        for case in (*CASES, COALESCED, "tree cache", TODAY, "auto, event order")
    ]


def measure(scale: float, told: Callable[[str], None]) -> dict[str, Any]:
    """Replay all cases, and return the document of the results. ``told`` is called with what comes next."""
    rows: list[Row] = []
    with traces.folder("CMS 2010") as written:
        jobs = Jobs(written, scale)
        told("the published model: 5 ms, 12 MB/s")
        rows += model_rows(jobs)
        told("the job with its CPU time, on RAL's line")
        rows += [
            {"study": "work", "case": case, **jobs.read(case, ral_line(), works=True)}
            for case in (*CASES, "tree cache", TODAY)
        ]
        for n_jobs in N_JOBS:
            told(f"{n_jobs} jobs on one line of 100 MB/s")
            line = Line(published.LATENCY_NS, _SHARED_BYTES_PER_S).shared_by(n_jobs)
            rows += [
                {"study": "jobs", "case": case, "n_jobs": n_jobs, **jobs.read(case, line)}
                for case in (*CASES, TODAY)
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
