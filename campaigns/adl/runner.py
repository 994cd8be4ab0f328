"""The queries as an engine of the laboratory (docs/lab/runners.md): ``runner.py arrowroot|uproot|rdataframe VERB``.

A job has the command ``query N``: a process is started for it, and its time is from that start until its histograms are
there, imports included. With ``query N warm`` the process does the query once before, and the time is that of another.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

# A second thread of NumPy's linear algebra would spin for some 100 ms after the import, in the time that is measured.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

if TYPE_CHECKING:
    from collections.abc import Callable

    Job = dict[str, Any]
    Answer = dict[str, Any]

ENGINES = ("arrowroot", "uproot", "rdataframe")


def identify(_: Job) -> Answer:
    """Say what this is."""
    return {
        "name": ENGINE,
        "versions": {**_versions(), "python": platform.python_version()},
        "can": ["program", "checksum", "threads", "strategy:auto"],
    }


def _versions() -> dict[str, str]:
    if ENGINE == "rdataframe":
        from with_rdataframe import RDataFrame

        return {"ROOT": RDataFrame(1).version()}
    from importlib.metadata import version

    names = {
        "arrowroot": ("arrowroot", "pyarrow", "awkward", "numpy"),
        "uproot": ("uproot", "awkward", "numpy"),
    }
    return {name: version(name) for name in names[ENGINE]}


def run(job: Job) -> Answer:
    """Do a query in a process of its own."""
    words = job.get("command") or []
    if job.get("kind") != "program" or len(words) < 2 or words[0] != "query":
        return {"unsupported": "queries are done here: the command is 'query N', or 'query N warm'"}
    command = [sys.executable, str(Path(__file__).resolve()), ENGINE, "--child", json.dumps(job)]
    begin_ns = time.perf_counter_ns()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    answer: Answer = {"error": "the process ended without an answer"}
    wall_ns = 0
    for line in process.stdout or ():
        if line.startswith(b"{"):
            wall_ns = time.perf_counter_ns() - begin_ns
            answer = json.loads(line)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return {"error": f"exit status {process.returncode}"}
    if "error" in answer or "wall_ns" in answer:
        return answer
    # The end of the process is not its job's; what CPU time it takes there is at most what its clock says.
    cpu_ns = min(int((usage.ru_utime + usage.ru_stime) * 1e9), wall_ns * (os.cpu_count() or 1))
    return answer | {"wall_ns": wall_ns, "cpu_ns": cpu_ns, "peak_rss_bytes": usage.ru_maxrss * 1024}


def child(job: Job) -> Answer:
    """Do the query here; of a warm one take the time of the second time."""
    query, is_warm = int(job["command"][1]), job["command"][2:] == ["warm"]
    do = doing(job)
    if not is_warm:
        return told(job, *do(query))
    do(query)
    before = time.perf_counter_ns(), time.process_time_ns()
    histograms, counters = do(query)
    cpu_ns = time.process_time_ns() - before[1]
    wall_ns = time.perf_counter_ns() - before[0]
    return told(job, histograms, counters) | {"wall_ns": wall_ns, "cpu_ns": cpu_ns}


def told(job: Job, histograms: dict[str, Any], counters: dict[str, int]) -> Answer:
    """The answer: the checksums of the histograms, bin by bin, and what was read; when it is checked, they too."""
    from histograms import checksum

    query = job["command"][1]
    counts = {name: [int(count) for count in histogram] for name, histogram in histograms.items()}
    return {
        "checksum": {f"query {query}: {name}": checksum(of_bin) for name, of_bin in counts.items()},
        "counters": {"store": counters},
        "details": {"histograms": counts} if job.get("wants_checksum") else {},
    }


def doing(job: Job) -> Callable[[int], tuple[dict[str, Any], dict[str, int]]]:
    """Return what does a query: it returns the histograms, and what the engine counts of its reads."""
    urls, table, n_threads = job["urls"], job["table"], job.get("threads") or os.cpu_count() or 1
    if ENGINE == "rdataframe":
        from with_rdataframe import RDataFrame

        root = RDataFrame(n_threads)

        def by_root(query: int) -> tuple[dict[str, Any], dict[str, int]]:
            before = root.read_counters()
            found = root.histograms(query, urls, table)
            return found, {name: n - before[name] for name, n in root.read_counters().items()}

        return by_root
    if len(urls) != 1:
        raise ValueError("the queries are of one file")
    return (
        by_arrowroot(urls[0], table, n_threads)
        if ENGINE == "arrowroot"
        else by_uproot(urls[0], table, n_threads)
    )


def by_arrowroot(url: str, table: str, n_threads: int) -> Any:
    """Do queries with arrowroot, and Awkward where objects are combined."""
    from functools import partial

    from with_arrowroot import QUERIES

    import arrowroot as ar

    def do(query: int) -> tuple[dict[str, Any], dict[str, int]]:
        with ar.open(url) as file:
            tree = file[table]
            if query in QUERIES:
                found = QUERIES[query](tree, n_threads)
            else:
                from with_awkward import QUERIES as OF_AWKWARD

                found = OF_AWKWARD[query](partial(tree.to_awkward, n_threads=n_threads))
            asked = [
                one for one in file.accounts if one.layer == "store" and one.operation in ("read", "readv")
            ]
            return found, {
                "n_reads": sum(one.n_attempted for one in asked),
                "n_bytes": sum(one.bytes for one in asked),
            }

    return do


def by_uproot(url: str, table: str, n_threads: int) -> Any:
    """Do queries with uproot and Awkward."""
    import uproot
    from with_awkward import QUERIES

    def do(query: int) -> tuple[dict[str, Any], dict[str, int]]:
        options = {}
        if n_threads > 1:
            options["decompression_executor"] = uproot.ThreadPoolExecutor(n_threads)
        with uproot.open(url) as file:
            tree = file[table]
            found = QUERIES[query](lambda names: tree.arrays(names, **options))
            source = file.file.source
            return found, {"n_reads": source.num_requests, "n_bytes": source.num_requested_bytes}

    return do


if __name__ == "__main__":
    ENGINE = sys.argv[1]
    if sys.argv[2] == "--child":
        try:
            answer = child(json.loads(sys.argv[3]))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            import traceback

            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print("\n" + json.dumps(answer), flush=True)  # noqa: T201 - to the process that asks
        os._exit(0)  # ROOT takes its time to end
    verbs = {"identify": identify, "run": run}
    given = json.load(sys.stdin)
    said = verbs[sys.argv[2]](given) if sys.argv[2] in verbs else {"unsupported": "no such verb"}
    print("\n" + json.dumps(said))  # noqa: T201 - the process line
