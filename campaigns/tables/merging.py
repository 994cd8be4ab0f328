"""Merging beside copying, hadd and uproot: docs/merging.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pages import DOCS, Block
from .rows import find, mark, markdown, measured, median, ratio, rows, text

if TYPE_CHECKING:
    from arrowroot_lab.store import Store

    from .rows import Row

CAMPAIGN = "merging"
#: Data sets, and how many times the limit merging may take.
GOALS = {
    "100 trees of 2 MB": 1.3,
    "100 RNTuples of 2 MB": 1.3,
    "4 trees of 60 MB": 1.3,
    "40 x 1000 histograms": 2.0,
}
OTHERS = ("hadd", "hadd -j 2", "uproot")
TIMES = {"CPU": "cpu_ns", "wall": "wall_ns"}
HEADER = [
    "inputs",
    "time",
    "limit",
    "arrowroot",
    *OTHERS,
    "start of hadd",
    "arrowroot / limit",
    "goal",
    "met",
    "MB of memory",
]


def blocks(store: Store) -> list[Block]:
    """Return the table of all data sets."""
    found = rows(store, CAMPAIGN)
    if not found:
        return []
    n = max(len(row.samples) for row in found)
    cells = [
        _line([row for row in found if row.dataset == dataset], dataset, name)
        for dataset in GOALS
        for name in TIMES
    ]
    about = f"Measured on {measured(found)}. Medians of {n}, warm page cache, ms."
    return [Block(DOCS / "merging.md", "merging", f"{about}\n\n{markdown(HEADER, filter(None, cells))}")]


def _line(of_set: list[Row], dataset: str, name: str) -> list[str]:
    if not of_set:
        return []
    key = TIMES[name]
    told = {engine: find(of_set, engine=engine) for engine in ("limit", "arrowroot", *OTHERS)}
    times = {engine: median(row, key) for engine, row in told.items()}
    over = ratio(times["arrowroot"], times["limit"])
    peak = median(told["arrowroot"], "peak_rss_bytes")
    return [
        dataset, name,
        *(text(ratio(time, 1e6), 0) for time in times.values()),
        text(ratio(median(told["hadd"], f"start_{key}"), 1e6), 0),
        text(over), text(GOALS[dataset], 1), mark(over, GOALS[dataset]), text(ratio(peak, 1e6), 0),
    ]  # fmt: skip
