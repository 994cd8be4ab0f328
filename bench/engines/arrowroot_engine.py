"""arrowroot as an engine: one JSON object in, one out (../README.md, "The process line")."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from statistics import median
from typing import Any

# A second thread of NumPy's linear algebra would spin for some 100 ms after the import, in the time that is measured.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np
import pyarrow as pa

import arrowroot
from bench.digest import digest, values_bytes
from bench.stopwatch import Stopwatch

#: Readings after the first, and for how long at least: the limit is a median of five passes in one process, too, but
#: the code of a reading comes into the caches of the processor by and by, the few loops of the limit at once.
N_LATER = 5
LATER_NS = 250_000_000

Job = dict[str, Any]
Answer = dict[str, Any]


def branch_name(job: Job, column: str) -> str:
    """The cases call members of vectors of objects ``jets.pt``: branch ``jets/jets.pt``, or ``jets`` where unsplit.

    Fields of RNTuples are called so too.
    """
    if job["dataset"] != "aod" or job["format"] != "ttree":
        return column
    objects = column.partition(".")[0]
    return objects if job["layout"] == "split0" else f"{objects}/{column}"


def column_of(job: Job, table: pa.Table, column: str) -> pa.ChunkedArray:
    """The values of a column of the case: of unsplit objects a member of each."""
    found = table[branch_name(job, column)]
    if job["dataset"] != "aod" or job["layout"] != "split0" or job["format"] != "ttree":
        return found
    member = column.partition(".")[2]
    lists = [
        pa.ListArray.from_arrays(chunk.offsets, chunk.values.field(member)) for chunk in found.chunks
    ]  # the offsets are those of the values: no chunk is a slice
    return pa.chunked_array(lists)


def read(job: Job) -> Answer:
    """Tasks read and aod: the columns as Arrow arrays in memory.

    The times are those of the first reading; beside them are the medians of later ones in the same process.
    """
    answer = read_once(job)
    if job["url"]:
        return answer
    later: list[Answer] = []
    begin_ns = time.perf_counter_ns()
    while len(later) < N_LATER or time.perf_counter_ns() - begin_ns < LATER_NS:
        later.append(read_once(job | {"unchecked": True}))
    medians = {f"later_{key}": median(one[key] for one in later) for key in ("wall_ns", "cpu_ns")}
    return answer | medians


def read_once(job: Job) -> Answer:
    """Read the columns and let them go."""
    names = list(dict.fromkeys(branch_name(job, c["name"]) for c in job["columns"]))
    entries = np.loadtxt(job["entries"], dtype=np.int64, ndmin=1) if job["entries"] else None

    watch = Stopwatch()
    with arrowroot.open(job["url"] or job["file"]) as file:
        tree = file[job["tree"]]
        open_ns = watch.wall_ns()
        if job.get("streamed"):
            batches = list(tree.scan(names, entries=entries, n_threads=job["threads"]))
            table = pa.Table.from_batches(batches)
        else:
            table = tree.to_arrow(names, entries=entries, n_threads=job["threads"])
        times = watch.read()
        if job.get("unchecked"):
            return times
        # From here on nothing is timed.
        peak_rss_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        requests = [a for a in file.accounts if a.layer == "http"] or [
            a for a in file.accounts if a.layer == "store"
        ]  # a store that asks by HTTP may make more requests than it is asked for
    columns = {c["name"]: column_of(job, pa.table(table), c["name"]) for c in job["columns"]}
    return times | {
        "open_ns": open_ns,
        "n_entries": table.num_rows,
        "values_bytes": sum(values_bytes(c) for c in columns.values()),
        "checksum": {name: digest(c) for name, c in columns.items()},
        "requests": sum(a.n_attempted for a in requests),
        "bytes_read": sum(a.bytes for a in requests),
        "peak_rss_bytes": peak_rss_bytes,
    }


def open_file(job: Job) -> Answer:
    """Open and list all columns, twice; the second pass is the cost of a file in a running process."""
    answer: Answer = {}
    n_columns = 0
    for prefix in ("", "second_"):
        watch = Stopwatch()
        with arrowroot.open(job["file"]) as file:
            n_columns = len(file[job["tree"]].branches)
            answer |= watch.read(prefix)
    return answer | {"n_columns": n_columns}


TASKS = {"read": read, "remote": read, "aod": read, "open": open_file}


def main() -> None:
    """Answer one job."""
    job = json.load(sys.stdin)
    try:
        with arrowroot.open(job["warm_up"]) as file:
            file["T"].to_arrow()
        answer = TASKS[job["task"]](job)
    except arrowroot.UnsupportedError as error:
        answer = {"unsupported": str(error)}
    except arrowroot.ArrowrootError as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
