"""arrowroot as a writer: one JSON object in, one out (../README.md, "The process line").

It writes the file to ``out``, and again to ``disk`` if that is given; then the bytes of the file are written there once
more as they are, which is what the file system takes for itself.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import arrowroot as ar
from bench.stopwatch import least
from bench.write import data

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes of one call where a file is written as it is.
PART_BYTES = 1 << 20


def status_bytes(key: str) -> int:
    """Return an entry of this process's status that is a size."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1]) * 1024


def system_times(content: bytes, path: Path) -> dict[str, int]:
    """Return what it takes to write bytes to a new file, and until they are on the disk."""
    start_ns = time.perf_counter_ns()
    with path.open("wb", buffering=0) as file:
        for begin in range(0, len(content), PART_BYTES):
            file.write(content[begin : begin + PART_BYTES])
        written_ns = time.perf_counter_ns()
        os.fsync(file.fileno())
    return {
        "system_write_ns": written_ns - start_ns,
        "system_sync_ns": time.perf_counter_ns() - written_ns,
    }


def layout_of(job: dict[str, Any]) -> ar.Layout | str:
    """Return the layout of a job: the format, or that of its objects."""
    objects = job.get("objects")
    if not objects:
        return str(job["format"])
    return ar.Layout(split=99 if objects == "split" else 0, memberwise=objects == "member-wise")


def main() -> None:
    """Answer one job."""
    job = json.load(sys.stdin)
    table = data.as_table(job)
    layout, out = layout_of(job), Path(job["out"])
    if job.get("objects"):
        table = data.with_objects(table)
    options: dict[str, Any] = {"compression": job["compression"] or None, "n_threads": job["threads"]}
    if "buffers" in job:
        options["buffers"] = job["buffers"]

    def write(path: Path, table: pa.Table = table) -> None:
        path.unlink(missing_ok=True)
        ar.write(f"{path}:T", table, layout=layout, **options)

    warm = Path(f"{out}.warm.root")
    write(warm, table.slice(0, 1).select([0]))
    warm.unlink()
    # The peak of memory begins anew.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before_bytes = status_bytes("VmRSS")
    answer = least(job["repetitions"], lambda: write(out))
    answer |= {"n_entries": table.num_rows, "peak_growth_bytes": status_bytes("VmHWM") - before_bytes}
    if "disk" in job:
        disk = Path(job["disk"])
        answer |= least(job["repetitions"], lambda: write(disk), "disk_")
        disk.unlink()
        answer |= system_times(out.read_bytes(), disk)
        disk.unlink()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
