"""Does one job of ``against.py`` with the arrowroot that is found first, and prints the CPU time of it in ns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from .paths import IN_MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable

# A second thread of NumPy's linear algebra would spin for some 100 ms after the import, in the time that is measured.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

#: A job is repeated so often at least, and for so long: the median of short ones needs many.
N_TIMES, AT_LEAST_NS = 5, 300_000_000
N_IMPORTS = 9

IMPORT = "import time; t = time.process_time_ns(); import arrowroot; print(time.process_time_ns() - t)"

Job = dict[str, Any]


def import_it() -> int:
    """The least CPU time of some imports, each in a process of its own: what disturbs a process only adds."""
    command = [sys.executable, "-c", IMPORT]
    return min(int(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(N_IMPORTS))


def open_it(job: Job) -> None:
    """Open a file and list all columns of its tree."""
    import arrowroot  # noqa: PLC0415 - not where the import itself is measured

    with arrowroot.open(job["file"]) as file:
        len(file[job["tree"]].branches)


def reader(job: Job) -> Callable[[], None]:
    """The reading of some columns on one thread."""
    import numpy as np  # noqa: PLC0415 - as above

    import arrowroot  # noqa: PLC0415 - as above

    entries = np.loadtxt(job["entries"], dtype=np.int64, ndmin=1) if job["entries"] else None

    def read() -> None:
        with arrowroot.open(job["file"]) as file:
            file[job["tree"]].to_arrow(job["columns"], entries=entries, n_threads=1)

    return read


def writer(job: Job, directory: str) -> Callable[[], None]:
    """The writing of a table, in a way that the job names, to a file in ``directory``."""
    from .against_writing import WRITERS  # noqa: PLC0415 - as above

    make, write = WRITERS[job["table"]]
    return partial(write, os.path.join(directory, "out.root"), make())  # noqa: PTH118 - as users have them


def timed(action: Callable[[], None]) -> int:
    """CPU time of one call, of all threads."""
    start_ns = time.process_time_ns()
    action()
    return time.process_time_ns() - start_ns


def repeated(action: Callable[[], None]) -> int:
    """The median CPU time of repetitions; the first call, which gets the memory from the system, is none of them."""
    action()
    times: list[int] = []
    start_ns = time.perf_counter_ns()
    while len(times) < N_TIMES or time.perf_counter_ns() - start_ns < AT_LEAST_NS:
        times.append(timed(action))
    return round(median(times))


def main() -> None:
    """Do the job of standard input."""
    job = json.load(sys.stdin)
    match job["task"]:
        case "import":
            print(import_it())
        case "open":
            print(repeated(lambda: open_it(job)))
        case "read":
            print(repeated(reader(job)))
        case "write":
            with tempfile.TemporaryDirectory(prefix="bench-against-", dir=IN_MEMORY) as directory:
                print(repeated(writer(job, directory)))
        case other:
            sys.exit(f"no task {other!r}")


if __name__ == "__main__":
    main()
