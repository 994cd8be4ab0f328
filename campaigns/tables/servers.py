"""``auto`` beside every named strategy at servers of several kinds: docs/measured.md."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from .pages import DOCS, Block
from .rows import find, markdown, measured, rows

if TYPE_CHECKING:
    from arrowroot_lab.store import Store

    from .rows import Row

#: Workloads of the campaign: the servers.
SERVERS = {
    "nginx": "nginx",
    "versitygw (S3)": "versitygw (S3)",
    "Python, HTTP_1.0": "Python, HTTP/1.0",
    "Python, HTTP_1.1": "Python, HTTP/1.1",
    "Python, one at a time, a queue of 5": "Python, one at a time, a queue of 5",
    "Python, breaks several ranges": "Python, breaks several ranges",
}
AUTO = "auto"


def blocks(store: Store) -> list[Block]:
    """Return the table of the page on all that was measured."""
    found = [row for row in rows(store, "servers") if row.samples]
    if not found:
        return []
    about = f"{measured(found)}. Medians of {max(len(row.samples) for row in found)}, in s."
    return [Block(DOCS / "measured.md", "bench-servers", f"{about}\n\n{table(found)}")]


def table(found: list[Row]) -> str:
    """Walls in s: a line for each server and workload, a column for each strategy."""
    strategies: list[str] = []
    cells = []
    for name, title in SERVERS.items():
        row = find(found, workload=name)
        for workload in row.samples[0]["walls_s"] if row else ():
            told = [sample["walls_s"][workload] for sample in row.samples] if row else []
            strategies = list(told[0])
            medians = {
                strategy: median(one[strategy] for one in told if strategy in one) for strategy in strategies
            }
            best = min(wall for strategy, wall in medians.items() if strategy != AUTO)
            walls = [f"{wall:.3f}" for wall in medians.values()]
            cells.append([title, workload, *walls, f"{medians[AUTO] / best:.2f}"])
    return markdown(["server", "workload", *strategies, "auto / best"], cells)
