"""The job for real: results of the campaign ``cms-2010``, a tenth of its reads alone, a hundredth with its CPU time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.classics.real import counts_of
from arrowroot_lab.statistics import paired
from arrowroot_lab.store import Filter

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Row
    from arrowroot_lab.store import Store

#: dataset -> its part of the job.
PARTS = {"tenth": 0.1, "hundredth": 0.01}
#: strategy -> what the job is called with it.
_CASES = {"direct": "original", "treecache": "tree cache", "lazy-download": "lazy download", "auto": "auto"}


def rows(store: Store) -> list[Row]:
    """Return a row for each case of the campaign's newest results: counts, bytes, times, and ratios of pairs."""
    where = Filter(campaign=("cms-2010",), engine=("arrowroot",), outcome=("ok",), newest=True)
    found = store.summaries(where)
    samples = store.taken((one.uuid for one in found), "wall_ns")
    originals = {one.dataset: one for one in found if one.strategy == "direct"}
    told = []
    for summary, result in zip(found, store.of(one.uuid for one in found), strict=True):
        original = originals.get(summary.dataset)
        counted = result.counted()
        if summary.dataset not in PARTS or original is None or not counted:
            continue
        sides = [[(one.run, samples[one.uuid])] for one in (original, summary)]
        told.append(
            {
                "study": "real",
                "case": _CASES[result.case["strategy"]["name"]],
                "part": PARTS[summary.dataset],
                "n_samples": len(counted),
                "wall_ns": summary.wall_median_ns,
                "cpu_ns": summary.cpu_median_ns,
                **counts_of(counted),
                # Ratios of pairs taken in turns: this case over the original.
                "ratios": [round(pair.ratio, 4) for pair in paired(*sides)],
            }
        )
    return sorted(told, key=lambda row: (-row["part"], list(_CASES.values()).index(row["case"])))
