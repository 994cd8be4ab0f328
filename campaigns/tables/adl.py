"""The eight analysis queries of IRIS-HEP: time from the start of the process and warm, by engine, and what was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pages import DOCS, Block
from .rows import find, markdown, measured, median, ratio, rows, text

if TYPE_CHECKING:
    from arrowroot_lab.store import Store

    from .rows import Row

CAMPAIGN = "adl"
ENGINES = ("arrowroot", "uproot + Awkward", "RDataFrame")
HEADER = [
    "query", "start: arrowroot", "uproot", "RDataFrame", "warm: arrowroot", "uproot", "RDataFrame",
    "ratio to the best peer, start", "warm", "MB: arrowroot", "uproot", "RDataFrame",
]  # fmt: skip


def blocks(store: Store) -> list[Block]:
    """Return the table of the page on the queries."""
    found = [row for row in rows(store, CAMPAIGN) if not row.error]
    if not found:
        return []
    return [
        Block(
            DOCS / "lab" / "adl.md", "adl", f"Measured on {measured(found)}. Times in ms.\n\n{table(found)}"
        )
    ]


def table(found: list[Row]) -> str:
    """The table."""
    return markdown(HEADER, [_line(found, query) for query in range(1, 9)])


def _line(found: list[Row], query: int) -> list[str]:
    start, warm = (
        [find(found, engine=engine, workload=f"Q{query}{how}") for engine in ENGINES]
        for how in ("", ", warm")
    )
    return [
        f"Q{query}", *(_in_millions(row, "wall_ns", 0) for row in start),
        *(_in_millions(row, "wall_ns", 1) for row in warm), _to_best(start), _to_best(warm),
        *(_in_millions(row, "store.n_bytes", 2) for row in start),
    ]  # fmt: skip


def _in_millions(row: Row | None, key: str, digits: int) -> str:
    return text(ratio(median(row, key), 1e6), digits)


def _to_best(of_engines: list[Row | None]) -> str:
    own, *peers = (median(row, "wall_ns") for row in of_engines)
    return text(ratio(own, min((time for time in peers if time is not None), default=None)))
