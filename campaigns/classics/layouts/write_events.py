"""arrowroot as a writer of events that are in memory: nothing of their reading is measured.

``write_events.py LAYOUT CODEC run|identify`` is a runner of the laboratory (docs/lab/runners.md). Its job is to read;
what it has read it writes to a file that is gone afterwards. Memory is what the process takes besides the events.
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import arrowroot as ar

if TYPE_CHECKING:
    import pyarrow as pa


def identify(_: dict[str, Any]) -> dict[str, Any]:
    """Say what this is."""
    versions = {"arrowroot": ar.__version__, "python": platform.python_version()}
    return {
        "name": "arrowroot, from memory",
        "versions": versions,
        "can": ["read", "entries", "threads", "strategy:auto"],
    }


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Read the events into memory, and write them."""
    if job.get("kind", "read") != "read" or len(job["urls"]) != 1 or job.get("columns"):
        return {"unsupported": "whole events of one file are written here"}
    wanted = np.loadtxt(job["entries"], dtype=np.int64, ndmin=1) if job.get("entries") else None
    with ar.open(job["urls"][0]) as file:
        table = file[job["table"]].to_arrow(entries=wanted).combine_chunks()
    with tempfile.TemporaryDirectory() as directory:
        return written(table, f"{directory}/out.root", job)


def written(table: pa.Table, path: str, job: dict[str, Any]) -> dict[str, Any]:
    """Write the events to a file; the figures."""
    layout, codec = sys.argv[1:3]
    before = resident("VmRSS")
    # The peak of the memory begins anew.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    threads = job.get("threads", 1)
    ar.write(f"{path}:{job['table']}", table, layout=layout, compression=codec, n_threads=threads)
    wall_ns, cpu_ns = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
    peak = resident("VmHWM")
    with ar.open(path) as file:
        n_branches = file[job["table"]].n_leaves
        n_baskets = sum(branch.n_baskets for branch in file[job["table"]].branches)
    return {
        "wall_ns": wall_ns,
        "cpu_ns": cpu_ns,
        "n_entries": table.num_rows,
        "peak_rss_bytes": peak,
        "counters": {
            "written": {
                "n_bytes": Path(path).stat().st_size,
                "n_baskets": n_baskets,
                "n_branches": n_branches,
                "memory_bytes": max(0, peak - before),
            }
        },
    }


def resident(key: str) -> int:
    """Return a figure of this process's memory."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition(f"{key}:")[2].split()[0]) * 1024


if __name__ == "__main__":
    given = json.load(sys.stdin)
    said = {"identify": identify, "run": run}.get(sys.argv[-1], lambda _: {"unsupported": "no such verb"})(
        given
    )
    print("\n" + json.dumps(said))  # noqa: T201 - the process line
