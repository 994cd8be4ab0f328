"""The parts that are done for real: results of the campaigns ``layouts``, ``atlas-2012`` and ``versions``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.classics.real import counts_of, in_order, newest
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
        for _, result in newest(store, CAMPAIGN)
        if result.counted()
    ]
    return in_order(told, "workload", "storage", "dataset", "engine", "strategy")


def _version_rows(store: Store) -> list[Row]:
    """Each version of ROOT and arrowroot, the first that was measured first: all columns, by layout and storage."""
    found = [result for _, result in newest(store, VERSIONS, of_each_version=True) if result.counted()]
    versions = dict.fromkeys(result.version for result in sorted(found, key=lambda result: result.created_at))
    keys = ("dataset", "storage", "engine", "n_samples", "wall_ns", "low_ns", "high_ns")
    told = []
    for result in sorted(found, key=lambda result: list(versions).index(result.version)):
        row = layouts.figures_of(result)
        if row["workload"] == "all columns":
            told.append({"study": SIDE_BY_SIDE, "version": result.version, **{key: row[key] for key in keys}})
    return in_order(told, "dataset", "storage", "engine")
