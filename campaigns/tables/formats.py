"""RNTuples and objects, beside the limit of the very same pages or baskets and the best of ROOT: docs/measured.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .pages import DOCS, Block
from .reading import CASES, ENGINE
from .rows import best, find, mark, mark_readings, markdown, measured, median, ratio, rows, text

if TYPE_CHECKING:
    from arrowroot_lab.store import Store

    from .rows import Row

LIMITS = ("limit", "page-limit")
HEADER = ["in", "case", "codec", "limit, CPU ms", "CPU / limit", "later reading", "target", "met",
          "best of ROOT / limit", "first reading / best of ROOT", "faster"]  # fmt: skip


class Part(NamedTuple):
    """Lines of the table: a dataset of a campaign, and the most that CPU time over the limit may be."""

    title: str
    campaign: str
    dataset: str
    target: float
    #: Workload -> how the line calls it.
    cases: dict[str, str]


def _of_objects(name: str) -> dict[str, str]:
    return {case: f"{name}:{case}" for case in ("all", "pt", "all_el1")}


#: Objects are split in RNTuples.
PARTS = (
    *(
        Part("RNTuple", "reading", f"{name} zstd rntuple", 1.25, {
            case: case.replace(" ", ":") for case in CASES if case.startswith(name)
        })
        for name in ("flat", "nano")
    ),
    Part("RNTuple", "objects", "rntuple", 1.25, _of_objects("split99")),
    Part("TTree", "objects", "split99", 1.25, _of_objects("split99")),
    Part("TTree, unsplit", "objects", "split0", 2.0, _of_objects("split0")),
)  # fmt: skip


def blocks(store: Store) -> list[Block]:
    """Return the table of the page on all that was measured."""
    found = {campaign: rows(store, campaign) for campaign in ("reading", "objects")}
    of_parts = [row for part in PARTS for row in found[part.campaign] if row.dataset == part.dataset]
    if not of_parts:
        return []
    n = max(len(row.samples) for row in of_parts)
    about = f"{measured(of_parts)}. Medians of {n}, one thread, warm page cache."
    return [Block(DOCS / "measured.md", "bench-formats", f"{about}\n\n{table(found)}")]


def table(found: dict[str, list[Row]]) -> str:
    """CPU times in ms, and ratios."""
    cells = [
        _line(part, workload, of_case)
        for part in PARTS for workload in part.cases
        if (of_case := [
            row for row in found[part.campaign] if (row.dataset, row.workload) == (part.dataset, workload)
        ])
    ]  # fmt: skip
    return markdown(HEADER, cells)


def _line(part: Part, workload: str, of_case: list[Row]) -> list[str]:
    limit_ns = next((ns for name in LIMITS if (ns := median(find(of_case, engine=name), "cpu_ns"))), None)
    ours = find(of_case, engine=ENGINE)
    first, later = (ratio(median(ours, key), limit_ns) for key in ("cpu_ns", "later.cpu_ns"))
    peer = best(of_case, "cpu_ns", but=(ENGINE, *LIMITS))
    to_best = ratio(median(ours, "cpu_ns"), peer[0] if peer else None)
    failure = ours.error if ours else "not run"
    return [
        part.title, part.cases[workload], "zstd", text(ratio(limit_ns, 1e6), 1), failure or text(first), text(later),
        text(part.target), mark_readings(first, later, part.target),
        f"{text(ratio(peer[0], limit_ns))} {peer[1]}" if peer else "", text(to_best), mark(to_best, 1.0),
    ]  # fmt: skip
