"""uproot as an engine: one JSON object in, one out (../README.md, "The process line").

``engine`` of the job is the library, ``ak`` or ``np``. uproot does not read by a list of entries: it reads all of them.
"""

from __future__ import annotations

import json
import resource
import sys
from typing import Any

import awkward as ak
import numpy as np
import uproot

from bench.digest import digest_values
from bench.stopwatch import Stopwatch

Job = dict[str, Any]
Answer = dict[str, Any]


def location(job: Job) -> str:
    """Where the file is."""
    return str(job["url"] or job["file"])


def read(job: Job) -> Answer:
    """Tasks read, remote and aod: the columns as arrays in memory."""
    names = [column["name"] for column in job["columns"]]
    options = {}
    if job["threads"] > 1:
        options["decompression_executor"] = uproot.ThreadPoolExecutor(job["threads"])
        options["interpretation_executor"] = uproot.ThreadPoolExecutor(job["threads"])
    entries = np.loadtxt(job["entries"], dtype=np.int64, ndmin=1) if job["entries"] else None

    watch = Stopwatch()
    tree = uproot.open(location(job))[job["tree"]]
    open_ns = watch.wall_ns()
    if job["dataset"] == "aod":
        columns = read_objects(tree, names)
    elif job["format"] == "rntuple":
        array = tree.arrays(filter_name=names)
        columns = {name: array[name] for name in names}
    else:
        arrays = tree.arrays(names, library=job["engine"], **options)
        columns = {name: arrays[name] for name in names}
    if entries is not None:
        columns = {name: column[entries] for name, column in columns.items()}
    answer = watch.read()

    # From here on nothing is timed.
    answer |= {
        "open_ns": open_ns,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    source: Any = getattr(tree.file, "source", None)
    if hasattr(source, "num_requests"):
        answer |= {"requests": source.num_requests, "bytes_read": source.num_requested_bytes}
    return answer | {
        "n_entries": len(columns[names[0]]),
        "values_bytes": sum(values_bytes(column) for column in columns.values()),
        "checksum": {name: digest(columns[name]) for name in names},
    }


def read_objects(tree: Any, names: list[str]) -> dict[str, Any]:
    """Members of vectors of objects, each for itself."""
    return {name: tree[f"{name.partition('.')[0]}/{name}"].array() for name in names}


def values_bytes(column: Any) -> int:
    """Bytes that a column's values take, with eight for each list of an array of objects."""
    if not isinstance(column, np.ndarray):
        return int(ak.to_packed(column).nbytes)
    if column.dtype != object:
        return int(column.nbytes)
    return sum(np.asarray(one).nbytes + 8 for one in column)


def digest(column: Any) -> dict[str, int | str]:
    """The digest of a NumPy array (an array of objects holds a list for each entry) or of an Awkward array."""
    if isinstance(column, np.ndarray) and column.dtype != object:
        return digest_values(column)
    if isinstance(column, np.ndarray):
        lists = [np.asarray(one) for one in column]
        return digest_values(np.concatenate(lists), np.array([len(one) for one in lists]))
    if column.ndim == 1:
        return digest_values(ak.to_numpy(column))
    lengths = ak.num(column, axis=column.ndim - 1)
    while lengths.ndim > 1:
        lengths = ak.flatten(lengths)
    return digest_values(ak.to_numpy(ak.flatten(column, axis=None)), ak.to_numpy(lengths))


def open_file(job: Job) -> Answer:
    """Open and list all columns, twice; the second pass is the cost of a file in a running process."""
    answer: Answer = {}
    n_columns = 0
    for prefix in ("", "second_"):
        watch = Stopwatch()
        tree = uproot.open(location(job), object_cache=None, array_cache=None)[job["tree"]]
        n_columns = len(tree.keys(recursive=job["format"] == "ttree"))
        answer |= watch.read(prefix)
    return answer | {"n_columns": n_columns}


TASKS = {"read": read, "remote": read, "aod": read, "open": open_file}


def main() -> None:
    """Answer one job."""
    job = json.load(sys.stdin)
    uproot.open(job["warm_up"])["T"].arrays()  # what an import puts off is not counted
    print(json.dumps(TASKS[job["task"]](job)))


if __name__ == "__main__":
    main()
