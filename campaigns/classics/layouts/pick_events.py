"""arrowroot as a picker of events by an index of their ids, as ATLAS picked them by TAG.

``pick_events.py run|identify`` is a runner of the laboratory (docs/lab/runners.md). The index is made before the clock
starts; a local file is put out of the page cache after that.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import arrowroot as ar

IDS = ("run", "event")


def identify(_: dict[str, Any]) -> dict[str, Any]:
    """Say what this is."""
    versions = {"arrowroot": ar.__version__, "python": platform.python_version()}
    return {
        "name": "arrowroot, by an index",
        "versions": versions,
        "can": ["read", "entries", "work", "threads", "strategy:auto"],
    }


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Pick the events."""
    if len(job["urls"]) != 1 or job.get("columns") or not job.get("entries"):
        return {"unsupported": "chosen events of one file are picked here, whole"}
    (url,) = job["urls"]
    wanted = np.loadtxt(job["entries"], dtype=np.int64, ndmin=1)
    with tempfile.TemporaryDirectory() as directory:
        index = f"{directory}/tag.parquet"
        ar.index([f"{url}:{job['table']}"], index, columns=IDS)
        with ar.open(url) as file:
            ids = file[job["table"]].to_arrow(list(IDS), entries=wanted)
        picked = list(zip(*(ids[name].to_pylist() for name in IDS), strict=True))
        if "://" not in url:
            with Path(url).open("rb") as local:
                os.posix_fadvise(local.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        before = read_io()
        blocks = resource.getrusage(resource.RUSAGE_SELF).ru_inblock
        wall, cpu = time.perf_counter_ns(), time.process_time_ns()
        table = ar.pick(index, picked, n_threads=job.get("threads", 1), strings="binary")
        end = time.thread_time_ns() + table.num_rows * int(job.get("work_ns_per_entry") or 0)
        while time.thread_time_ns() < end:
            pass
        wall_ns, cpu_ns = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
        after = read_io()
        blocks = resource.getrusage(resource.RUSAGE_SELF).ru_inblock - blocks
    counters = {"device": {"n_bytes": 512 * blocks}}
    if "://" not in url:
        counters["store"] = {name: after[name] - before[name] for name in after}
    return {"wall_ns": wall_ns, "cpu_ns": cpu_ns, "n_entries": table.num_rows, "counters": counters}


def read_io() -> dict[str, int]:
    """Return what this process has read so far, as the kernel counts it."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    found = dict(line.split(": ") for line in lines)
    return {"n_reads": int(found["syscr"]), "n_bytes": int(found["rchar"])}


if __name__ == "__main__":
    given = json.load(sys.stdin)
    said = {"identify": identify, "run": run}.get(sys.argv[-1], lambda _: {"unsupported": "no such verb"})(
        given
    )
    print("\n" + json.dumps(said))  # noqa: T201 - the process line
