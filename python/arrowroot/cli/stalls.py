"""`arrowroot stalls`: who waited for the output, from what a job has left."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot import _terminal as terminal
from arrowroot._render import printable, text_table
from arrowroot._report import stalls as report
from arrowroot._saving.replacing import replacing
from arrowroot._sizes import format_count, format_seconds
from arrowroot.cli import destinations

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from arrowroot import Stalls

_N_STREAMS = 12


def run(options: argparse.Namespace) -> None:
    """Print the stalls of a file, and draw them."""
    draw = _drawing(options.plot)
    destinations.check([("--plot", options.plot)], {options.file: "the file to read"})
    writers = options.writers.split(",") if options.writers else report.WRITERS
    found = report.read(options.file, threshold_ns=round(options.threshold * 1e9), writers=writers)
    if draw is not None:
        with replacing(options.plot) as beside:
            draw(beside, printable(Path(options.file).name), found)
    if options.json:
        import json

        document = found.as_dict() | {"file": options.file}
        if not options.intervals:
            del document["intervals_us"]
        print(json.dumps(document, indent=2))
        return
    style = terminal.Style(sys.stdout)
    print(found.table())
    print()
    print(style.strong(f"{printable(options.file)}: efficiency {found.efficiency:.4f}"))
    if found.n_lost:
        print(f"the last {format_count(found.n_lost)} intervals were too many to be kept: pictures lack them")
    right = [False] + [True] * 7
    print(text_table(_rows(found), right=right, max_width=terminal.width()))


def _drawing(path: str | None) -> Callable[[str, str, Stalls], None] | None:
    """Return what draws a picture, which needs Matplotlib; None if none was asked for."""
    if path is None:
        return None
    from arrowroot._pictures import stalls as picture
    from arrowroot._pictures import style

    style.check(path)
    return picture.draw


def _rows(stalls: Stalls) -> list[list[str]]:
    rows = [["stream", "fills", "running", "writing", "helping", "waiting", "stalled", "efficiency"]]
    shown = [stalls.streams[index] for index in report.by_name(stalls.streams)[:_N_STREAMS]]
    for stream in shown:
        times = [
            stream.times_ns.get(state, 0)
            for state in ("running", "writing", "helping", "waiting for data", "stalled")
        ]
        rows.append(
            [
                printable(stream.name),
                format_count(stream.n_fills),
                *(format_seconds(ns / 1e9) for ns in times),
                f"{stream.efficiency:.4f}",
            ]
        )
    if len(stalls.streams) > len(shown):
        rows.append([f"and {len(stalls.streams) - len(shown)} more", *[""] * 7])
    return rows
