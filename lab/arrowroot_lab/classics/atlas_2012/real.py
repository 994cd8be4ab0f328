"""The parts that are done for real: results of the campaigns ``layouts``, ``atlas-2012`` and ``versions``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.classics.counts import counts_of
from arrowroot_lab.store.summary import strategy_name

from . import layouts

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Row
    from arrowroot_lab.store import Store

CAMPAIGN, VERSIONS = "atlas-2012", "versions"
CASES, SIDE_BY_SIDE = "real cases", "real versions"


def rows(store: Store) -> list[Row]:
    """Return the rows of all three campaigns, as far as they were run."""
    return layouts.rows(store) + _case_rows(store) + _version_rows(store)


def _case_rows(store: Store) -> list[Row]:
    told = [
        {
            "study": CASES,
            "strategy": strategy_name(dict(result.case["strategy"])),
            "n_workers": result.case["workers"],
            **layouts.figures_of(result),
            **counts_of(result.counted()),
            "round_trip_ns": result.line.get("latency_before_ns"),
        }
        for result in layouts.ok_results(store, CAMPAIGN)
    ]
    keys = ("workload", "storage", "dataset", "engine", "strategy")
    return sorted(told, key=lambda row: [str(row[key]) for key in keys])


def _version_rows(store: Store) -> list[Row]:
    """Each version of ROOT and arrowroot, the first that was measured first: all columns, by layout and storage."""
    told = []
    found = sorted(
        layouts.ok_results(store, VERSIONS, of_each_version=True), key=lambda result: result.created_at
    )
    versions = list(dict.fromkeys(result.version for result in found))
    for result in found:
        row = layouts.figures_of(result)
        if row["workload"] == "all columns":
            kept = {
                key: row[key]
                for key in ("dataset", "storage", "engine", "n_samples", "wall_ns", "low_ns", "high_ns")
            }
            told.append({"study": SIDE_BY_SIDE, "version": result.version, **kept})
    keys = ("dataset", "storage", "engine")
    return sorted(told, key=lambda row: ([str(row[key]) for key in keys], versions.index(row["version"])))
