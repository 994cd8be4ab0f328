"""Measures columns of every kind alone: arrowroot, ROOT and uproot, one thread, CPU time.

Where run.py asks how near the usual columns are to the limit, this finds the kinds that are slow. ``make bench-kinds``
calls it; METHODOLOGY.md says what the numbers mean.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

import arrowroot as ar
from campaigns.tables.rows import mark_readings, markdown, text

from .machine import today
from .pages import update_page
from .paths import HERE, MEASURED, RESULTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMPRESSIONS = {"none": 0, "zstd": 505}


class Row(NamedTuple):
    """Times in ms; NaN where it cannot be read."""

    format: str
    kind: str
    n_entries: int
    megabytes: float
    first: float
    later: float
    root: float
    uproot: float


def cpu_ms(read: Callable[[], object], repeat: int) -> list[float]:
    """CPU time of the process for each of some readings."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        read()
        times.append((time.process_time() - start) * 1e3)
    return times


def in_root(folder: Path, *calls: str) -> list[float]:
    """Call functions of kinds.h in a process of their own; return what they return."""
    script = "\n".join([
        "import json, ROOT",
        "assert ROOT.gROOT.ProcessLine('.L kinds.h+') == 0",
        f"print(json.dumps([{', '.join(calls)}]))",
    ])  # fmt: skip
    source, copy = (HERE / "kinds.h").read_text(), folder / "kinds.h"
    if not copy.exists() or copy.read_text() != source:
        copy.write_text(source)  # and is compiled anew
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    return [number for number in json.loads(done.stdout.splitlines()[-1]) if number is not None]


def of_uproot(path: Path, kind: str, repeat: int) -> float:
    """The least of uproot's times, with no cache of what was read."""
    import uproot  # noqa: PLC0415 - a peer

    def read() -> object:
        return uproot.open(path, array_cache=None, object_cache=None)[kind].arrays()

    try:
        return min(cpu_ms(read, repeat))
    except Exception as error:  # noqa: BLE001 - whatever it does not read
        print(f"uproot: {kind}: {type(error).__name__}", file=sys.stderr)
        return math.nan


def read_all(tree: ar.Tree | ar.Ntuple) -> object:
    """Read all columns on one thread."""
    return tree.scan(n_threads=1).read_all()


def rows_of(path: Path, name: str, repeat: int) -> list[Row]:
    """Measure all trees of a file."""
    with ar.open(path) as file:
        kinds = file.trees
        of_root = in_root(
            path.parent, *(f"ROOT.kinds.cpu_ms('{path.name}', '{kind}', {repeat})" for kind in kinds)
        )
        rows = []
        for kind, root in zip(kinds, of_root, strict=True):
            tree = file[kind]
            first, *others = cpu_ms(partial(read_all, tree), repeat + 1)
            megabytes = pa.table(tree.to_arrow()).nbytes / 1e6
            uproot = of_uproot(path, kind, repeat)
            rows.append(Row(name, kind, tree.num_entries, megabytes, first, min(others), root, uproot))
    return rows


def line(row: Row) -> list[str]:
    """A line of the table."""
    best = min((peer for peer in (row.root, row.uproot) if not math.isnan(peer)), default=math.nan)
    shown = [
        text(value, 1) if not math.isnan(value) else ""
        for value in (row.first, row.later, row.root, row.uproot)
    ]
    return [
        row.format, f"`{row.kind}`", f"{row.n_entries:,}", text(row.megabytes, 1), *shown,
        text(1e6 * row.later / row.n_entries, 0), mark_readings(row.first, row.later, best),
    ]  # fmt: skip


HEADER = [
    "in",
    "kind",
    "entries",
    "MB in memory",
    "first, ms",
    "later, ms",
    "ROOT, ms",
    "uproot, ms",
    "later, ns / entry",
    "faster",
]


def main() -> None:
    """Write the files, read them, print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--entries", type=int, default=200_000, help="of most kinds (default 200000)")
    parser.add_argument(
        "--codec", choices=COMPRESSIONS, default="none", help="default: none, so that decoding is what counts"
    )
    parser.add_argument(
        "--repeat", type=int, default=3, help="later readings, of which the fastest counts (default 3)"
    )
    parser.add_argument("--update-docs", action="store_true", help="write the table into docs/measured.md")
    options = parser.parse_args()
    folder = RESULTS / "kinds"
    folder.mkdir(parents=True, exist_ok=True)
    compression = COMPRESSIONS[options.codec]
    in_root(folder, *(
        f"ROOT.kinds.write_{kind}('{kind}.root', {compression}, {options.entries})" for kind in ("trees", "ntuples")
    ))  # fmt: skip
    rows = [
        row
        for kind, name in (("trees", "TTree"), ("ntuples", "RNTuple"))
        for row in rows_of(folder / f"{kind}.root", name, options.repeat)
    ]
    how = f"{options.codec}, one thread, CPU time, warm page cache; the fastest of {options.repeat} later readings"
    tables = f"{today()}. {how}.\n\n{markdown(HEADER, [line(row) for row in rows])}"
    print(tables)
    if options.update_docs:
        update_page(MEASURED, tables, "bench-kinds")


if __name__ == "__main__":
    main()
