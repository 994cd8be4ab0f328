"""Parallel output: what streams lose by waiting for the one file that all of them write (docs/parallel.md)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campaigns.parallel_output import figures, loads, policies, scale
from campaigns.parallel_output.cases import Outcome

from .pages import DOCS, Block
from .rows import find, measured, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from arrowroot_lab.store import Store
    from campaigns.parallel_output.tables import Found

Told = dict[str, Any]
TABLES: dict[str, Callable[[Told], Found]] = {
    "policy": policies.policy_table,
    "threads": policies.threads_table,
    "streams": policies.streams_table,
    "buffers": policies.buffers_table,
    "real": loads.real_table,
    "help": loads.helping_table,
    "queue": loads.queue_table,
    "autosave": loads.autosave_table,
    "peers": loads.peers_table,
    "scale": scale.scale_table,
}


def blocks(store: Store) -> list[Block]:
    """Return tables and pictures of the parts that were measured; what is not as promised is told on stderr."""
    all_rows, found = rows(store, "parallel"), []
    for part, tables in TABLES.items():
        row = find(all_rows, workload=part)
        if row is None or not row.samples:
            continue
        told = row.samples[0]["found"]
        made = tables(told)
        for complaint in made.complaints:
            print(f"{part}: {complaint}", file=sys.stderr)
        text = "\n\n".join(made.tables)
        pictures = {f"parallel-{part}.png": drawn(part, told)} if part in PICTURES else {}
        found.append(
            Block(DOCS / "parallel.md", f"bench-parallel-{part}", f"{text}\n\n*{measured([row])}.*", pictures)
        )
    return found


def drawn(part: str, told: Told) -> bytes:
    """Return the picture of a part."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "picture.png"
        PICTURES[part](str(path), told)
        return path.read_bytes()


def _draw_buffers(path: str, told: Told) -> None:
    curves: dict[tuple[str, int], list[Outcome]] = {}
    for case in told["cases"]:
        curves.setdefault((case["policy"], case["n_streams"]), []).append(Outcome(**case["runs"][0]))
    figures.draw_buffers(path, curves)


def _draw_queue(path: str, told: Told) -> None:
    runs = {f"{one['shape']} {one['flush']} {one['engine']}": one["run"]["told"] for one in told["cases"]}
    figures.draw_queues(path, runs)


def _draw_scale(path: str, told: Told) -> None:
    runs = {
        f"{one['n_producers']} producers, {one['n_columns']:,} columns": one["run"] | {"limit": one["limit"]}
        for one in told["runs"]
    }
    large = next(one["run"] for one in told["others"] if "GB, lz4" in one["name"])
    figures.draw_scale(path, runs, large, scale.BUFFER_MB)


PICTURES: dict[str, Callable[[str, Told], None]] = {
    "buffers": _draw_buffers, "queue": _draw_queue, "scale": _draw_scale,
}  # fmt: skip
