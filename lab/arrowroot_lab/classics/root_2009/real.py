"""Both files for real: results of the campaign ``root-2009``, a sixteenth of the size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.classics.real import counts_of, in_order, newest
from arrowroot_lab.documents import Outcome

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Row
    from arrowroot_lab.store import Store


def rows(store: Store) -> list[Row]:
    """Return a row for each case of the campaign's newest results: its engine, layout and cache, and counts."""
    told = []
    for summary, result in newest(store, "root-2009"):
        # Counts are exact, whatever else the machine did.
        whole = [sample for sample in result.samples if sample.outcome is Outcome.OK]
        counts = counts_of(whole)
        strategy = result.case["strategy"]
        told.append(
            {
                "study": "real",
                "engine": summary.engine,
                "layout": summary.dataset,
                "storage": summary.storage,
                "workload": summary.workload,
                "strategy": strategy["name"],
                "title": summary.strategy,
                "cache_bytes": strategy.get("cache_bytes"),
                "n_samples": len(whole),
                "n_reads": counts["n_requests"],
                "read_bytes": counts["read_bytes"],
                "wall_ns": summary.wall_median_ns,
                "cpu_ns": summary.cpu_median_ns,
            }
        )
    return in_order(told, "layout", "storage", "workload", "engine", "title")
