"""The parts that are done for real: results of the campaigns ``layouts``, ``atlas-2012`` and ``versions``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from arrowroot_lab.classics.counts import counts_of
from arrowroot_lab.store.summary import strategy_name

from . import layouts

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Row
    from arrowroot_lab.documents import Result
    from arrowroot_lab.store import Store

CAMPAIGN, VERSIONS = "atlas-2012", "versions"
CASES, SIDE_BY_SIDE = "real cases", "real versions"
_COMMIT, _DIGITS = re.compile("[0-9a-f]{40}"), 10


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
    """Each version of ROOT and arrowroot, in the order they were measured in: all columns, by layout and storage."""
    told = []
    found = layouts.ok_results(store, VERSIONS, of_each_version=True)
    for result in sorted(found, key=lambda result: result.created_at):
        row = layouts.figures_of(result)
        if row["workload"] == "all columns":
            kept = {
                key: row[key]
                for key in ("dataset", "storage", "engine", "n_samples", "wall_ns", "low_ns", "high_ns")
            }
            told.append({"study": SIDE_BY_SIDE, "version": _called(result), **kept})
    return sorted(told, key=lambda row: [str(row[key]) for key in ("dataset", "storage", "engine")])


def _called(result: Result) -> str:
    """The version as people call it: ROOT's own, not that of its package; of a commit its first digits."""
    version = result.versions.get("ROOT") or result.version
    return version[:_DIGITS] if _COMMIT.fullmatch(version) else version
