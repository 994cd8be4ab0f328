"""Columns of every kind alone, beside ROOT and uproot: docs/measured.md."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from .pages import DOCS, Block
from .rows import find, mark_readings, markdown, measured, ratio, rows, text

if TYPE_CHECKING:
    from arrowroot_lab.store import Store

    from .rows import Row

FORMATS = ("TTree", "RNTuple")
HEADER = [
    "in", "kind", "entries", "MB in memory", "first, ms", "later, ms", "ROOT, ms", "uproot, ms", "later, ns / entry",
    "faster",
]  # fmt: skip


def blocks(store: Store) -> list[Block]:
    """Return the table of the page on all that was measured."""
    found = [row for row in rows(store, "kinds") if row.samples]
    if not found:
        return []
    how = f"Of {max(len(row.samples) for row in found)} processes the median first and the fastest later reading"
    about = f"{measured(found)}. No compression, one thread, CPU time, warm page cache. {how}."
    return [Block(DOCS / "measured.md", "bench-kinds", f"{about}\n\n{table(found)}")]


def table(found: list[Row]) -> str:
    """All kinds: of the processes the median first reading, and the fastest later ones."""
    cells = []
    for name in FORMATS:
        row = find(found, dataset=name)
        samples = [{one["kind"]: one for one in sample["kinds"]} for sample in row.samples] if row else []
        kinds = samples[0] if samples else ()
        cells += [[name, *_line(kind, [sample[kind] for sample in samples])] for kind in kinds]
    return markdown(HEADER, cells)


def _line(kind: str, told: list[dict[str, Any]]) -> list[str]:
    n_entries = told[0]["n_entries"]
    first = median(one["arrowroot_ns"][0] for one in told)
    later = min(min(one["arrowroot_ns"][1:]) for one in told)
    root, uproot = (
        min((one[key] for one in told if one[key] is not None), default=None)
        for key in ("root_ns", "uproot_ns")
    )
    best = min(time for time in (root, uproot, float("inf")) if time is not None)
    return [
        f"`{kind}`", f"{n_entries:,}", text(told[0]["values_bytes"] / 1e6, 1),
        *(text(ratio(time, 1e6), 1) for time in (first, later, root, uproot)), text(later / n_entries, 0),
        mark_readings(first, later, best),
    ]  # fmt: skip
