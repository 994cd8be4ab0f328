"""arrowroot as an engine (docs/lab/runners.md): scans, tables, its command ``perf``, copies, and predictions.

Usage: arrowroot_runner.py [--perf|--table] run|predict|identify
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

# A second thread of NumPy's linear algebra would spin for some 100 ms after the import, in the time that is measured.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import arrowroot

if TYPE_CHECKING or __package__:
    from .checksum import Checksums
    from .part import Wanted
    from .process_line import Stopwatch, UnsupportedError, add_counters, begin, burn, said_by_arrowroot, serve
else:
    from checksum import Checksums
    from part import Wanted
    from process_line import Stopwatch, UnsupportedError, add_counters, begin, burn, said_by_arrowroot, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from .process_line import Answer, Job

    Counters = dict[str, dict[str, int]]

#: By how much predictions may be wrong: docs/measured.md, "Predictions".
ERROR_SHARE = 0.20
#: URLs' schemes -> the stores that are simulated.
STORES = {"http": "http", "https": "http", "s3": "s3", "root": "xrootd", "roots": "xrootd"}
#: Readings of a table after the first, and for how long at least: the code of a reading comes into the caches of the
#: processor by and by, and the median of five short ones is some per cent above that of seventy.
N_LATER, LATER_NS = 5, 250_000_000
#: Options of the storage that are a strategy's.
STRATEGY_OPTIONS = (
    "cache_size", "max_gap", "max_span", "prefetch", "learn_entries", "connections", "block_cache", "block_cache_size",
)  # fmt: skip
#: A line that costs nothing.
NO_LINE = {"latency_ns": 0.0, "bytes_per_s": 1e12}


def identify(_: Job) -> Answer:
    """Say what this is."""
    import numpy as np
    import pyarrow as pa

    can = ["read", "threads", "cache_bytes", "connections", "strategy:*"]
    if "--table" in sys.argv:
        can += ["entries", "checksum"]
    elif "--perf" in sys.argv:
        can += ["order:entry", "entry_range", "trace"]
    else:
        can += ["order:entry", "entry_range", "entries", "work", "checksum", "write"]
        # Older versions let nobody write traces.
        can += ["trace", "predict"] if find_spec("arrowroot.traces") else []
    versions = {"arrowroot": arrowroot.__version__, "pyarrow": pa.__version__, "numpy": np.__version__}
    versions |= {"python": platform.python_version(), **checkout()}
    return {"name": "arrowroot", "versions": versions, "can": can}


def checkout() -> dict[str, str]:
    """The commit of a checkout that is run in its place, and a hash of its extension: its version alone says little."""
    package = Path(arrowroot.__file__).resolve().parent
    if not (package.parents[1] / "crates").is_dir():
        return {}
    git = ["git", "-C", str(package.parents[1])]
    told = [
        subprocess.run([*git, *words], capture_output=True, text=True, check=False).stdout.strip()
        for words in (
            ("rev-parse", "--short=12", "HEAD"),
            ("status", "--porcelain", "--", "crates", "python"),
        )
    ]
    extension = hashlib.sha256(next(package.glob("_native*.so")).read_bytes()).hexdigest()[:12]
    return {"commit": told[0] + ("+changes" if told[1] else ""), "extension": extension}


def run(job: Job) -> Answer:
    """Read or copy the columns."""
    try:
        if job.get("kind", "read") == "write":
            return write(job)
        if job.get("kind", "read") != "read":
            raise UnsupportedError(f"arrowroot does not do {job['kind']!r}")
        if "--table" in sys.argv:
            return table(job)
        return perf(job) if "--perf" in sys.argv else read(job)
    except arrowroot.UnsupportedError as error:
        raise UnsupportedError(str(error)) from None


def read(job: Job) -> Answer:
    """Read the columns in batches, and let them go."""
    warm_up(job)
    wanted, sums = Wanted(job), Checksums()
    counters: Counters = {}
    n_entries, values_bytes, wait_ns, apart_ns = 0, 0, 0, 0
    passes: list[tuple[Any, dict[str, Any]]] = []
    traces = import_module("arrowroot.traces") if job.get("trace") else None
    watch = begin(job)
    for file, tree, scan in scans(job, wanted, watch, counters):
        for batch in scan:
            watch.first_entry()
            n_entries += batch.num_rows
            if job.get("work_ns_per_entry"):
                burn(batch.num_rows * job["work_ns_per_entry"])
            if job.get("wants_checksum"):
                begin_ns = time.thread_time_ns()
                sums.add(batch)
                apart_ns += time.thread_time_ns() - begin_ns
        values_bytes += scan.stats.values_bytes
        wait_ns += scan.stats.wait_ns
        if traces:
            passes.append((scan, traces.origin(file, tree)))
    answer = watch.answer()
    add_counters(answer["counters"], counters)
    add_counters(answer["counters"], {"application": {"wait_ns": wait_ns}})
    # From here on nothing is timed.
    if traces:
        figures = {
            "cpu_ns": answer["cpu_ns"] - apart_ns,
            "work_ns_per_entry": job.get("work_ns_per_entry") or 0,
        }
        more = {"arrowroot": arrowroot.__version__, "order": job.get("order", "cluster"), **figures}
        for i, of_pass in enumerate(passes):
            traces.record(trace_path(job["trace"], i), *of_pass, **more)
    answer |= {"n_entries": n_entries, "values_bytes": values_bytes}
    if told := set_by_others(job):
        answer["details"] = {"set_by_others": told}
    if not any("://" in url for url in job["urls"]):
        add_counters(answer["counters"], {"needed": needed(job, wanted)})
    if job.get("wants_checksum"):
        answer |= {"checksum": sums.told(), "details": {"unchecked": sorted(sums.unchecked)}}
    return answer


def set_by_others(job: Job) -> dict[str, str]:
    """Options of the strategy that the environment or a file sets, where the job leaves them to the strategy."""
    configuration = getattr(arrowroot, "configuration", None)  # older versions have none
    found = configuration(job["urls"][0], **storage_options(job)).options if configuration else ()
    return {
        one.name: str(one.value)
        for one in found
        if one.name in STRATEGY_OPTIONS and one.origin not in ("default", "argument", "URL")
    }


def needed(job: Job, wanted: Wanted) -> dict[str, int]:
    """The stored bytes of what the job asks for, and of the records without which nobody finds them."""
    first, counts = 0, {"payload_bytes": 0, "record_bytes": 0}
    for url in job["urls"]:
        if wanted.is_over(first):
            break
        with arrowroot.open(url) as file:
            tree = file[job["table"]]
            scan = scan_of(job, tree, wanted.of_file(first, tree.num_entries))
            counts["payload_bytes"] += scan.plan.payload_bytes
            of_tree = [key for key in file.key_list() if key.path == job["table"]]
            counts["record_bytes"] += max(of_tree, key=lambda key: key.cycle).stored_bytes if of_tree else 0
            first += tree.num_entries
    return counts


def table(job: Job) -> Answer:
    """Read the columns as one table in memory, and again: in "later" are the medians of a process that has its memory.

    The times are those of the first reading, which gets its memory from the system.
    """
    if len(job["urls"]) > 1:
        raise UnsupportedError("a table is read of one file")
    warm_up(job)
    picked = Wanted(job).of_file(0, sys.maxsize)[2]
    options = {"entries": picked, "n_threads": job.get("threads", 1)}
    sums = Checksums()
    later: list[Answer] = []
    watch = begin(job)
    with arrowroot.open(job["urls"][0], **storage_options(job)) as file:
        tree = file[job["table"]]
        watch.opened()
        found = tree.to_arrow(job.get("columns"), **options)
        answer = watch.answer()
        # From here on this reading is not timed.
        add_counters(answer["counters"], layers_of(file.accounts, []))
        answer |= {"n_entries": found.num_rows, "values_bytes": found.nbytes}
    if job.get("wants_checksum"):
        for batch in found.to_batches():
            sums.add(batch)
        return answer | {"checksum": sums.told(), "details": {"unchecked": sorted(sums.unchecked)}}
    del found, tree
    begin_ns = time.perf_counter_ns()
    while len(later) < N_LATER or time.perf_counter_ns() - begin_ns < LATER_NS:
        again = Stopwatch()
        with arrowroot.open(job["urls"][0], **storage_options(job)) as file:
            found = file[job["table"]].to_arrow(job.get("columns"), **options)
            later.append(again.answer())
        del found
    medians = {key: round(statistics.median(one[key] for one in later)) for key in ("wall_ns", "cpu_ns")}
    add_counters(answer["counters"], {"later": medians})
    return answer


def scans(job: Job, wanted: Wanted, watch: Stopwatch, counters: Counters) -> Iterator[tuple[Any, Any, Any]]:
    """Yield each file, its tree and a scan of what is wanted of it; once that was read, add its counters."""
    first = 0
    for url in job["urls"]:
        if wanted.is_over(first):
            return
        with arrowroot.open(url, **storage_options(job)) as file:
            tree = file[job["table"]]
            watch.opened()
            scan = scan_of(job, tree, wanted.of_file(first, tree.num_entries))
            yield file, tree, scan
            first += tree.num_entries
            add_counters(counters, layers_of(file.accounts, scan.accounts))


def warm_up(job: Job) -> None:
    """Read a tiny file: what an import puts off is not counted."""
    import pyarrow as pa  # noqa: F401 - so that no batch is the first to import it

    if job.get("warm_up"):
        with arrowroot.open(job["warm_up"]) as file:
            for _ in file.only_tree().scan(n_threads=1, strings="binary"):
                pass


def storage_options(job: Job) -> dict[str, Any]:
    """The strategy and its options, as ``arrowroot.open`` takes them."""
    options = {
        "strategy": job.get("strategy") or "auto",
        "cache_size": job.get("cache_bytes"),
        "connections": job.get("connections"),
    }
    return {name: value for name, value in options.items() if value is not None} | (job.get("options") or {})


def scan_of(job: Job, tree: Any, part: tuple[int, int, Any]) -> Any:
    """The scan of a part of a file: begin, end, and the entries if they are listed."""
    start, end, picked = part
    options: dict[str, Any] = {"n_threads": job.get("threads", 1), "trace": bool(job.get("trace"))}
    if job.get("order", "cluster") != "cluster":
        options["order"] = job["order"]
    try:
        # Text that is not UTF-8 costs the same, and is no reason not to measure.
        return tree.scan(
            job.get("columns"),
            entries=slice(start, end) if picked is None else picked,
            strings="binary",
            **options,
        )
    except arrowroot.InvalidRequestError as error:
        if "order" in options and "order" in str(error):
            raise UnsupportedError(f"this arrowroot has no order of entries: {error}") from None
        raise


def layers_of(of_file: list[Any], of_scan: list[Any]) -> Counters:
    """The accounts as counters: what the file's store and servers were asked, and the layers of the scan above them."""
    layers: Counters = {}
    below = {account.layer for account in of_file}
    for account in (*of_file, *(account for account in of_scan if account.layer not in below)):
        layer = "application" if account.layer == "engine" else account.layer
        counts = {
            f"n_{account.operation.replace('-', '_')}s": account.n_attempted,
            "busy_ns": account.total_ns,
        }
        if account.operation in ("read", "readv"):
            name = "n_vector_reads" if account.operation == "readv" else "n_reads"
            counts = {name: account.n_attempted, "n_bytes": account.bytes, "busy_ns": account.total_ns}
        elif account.operation == "open" and account.bytes:  # head and tail of a remote file come with it
            counts["opened_bytes"] = account.bytes
        add_counters(layers, {layer: counts})
    return layers


def trace_path(path: str, i: int) -> str:
    """Where the trace of the i-th file is."""
    return path if i == 0 else f"{path.removesuffix('.parquet')}.{i}.parquet"


def perf(job: Job) -> Answer:
    """The same by ``arrowroot perf``: its own times, and its report."""
    if job.get("entries") or job.get("work_ns_per_entry") or job.get("wants_checksum"):
        raise UnsupportedError("arrowroot perf takes no list of entries, does no work and tells no checksum")
    if len(job["urls"]) > 1:
        raise UnsupportedError("arrowroot perf reads one file")
    arguments = ["perf", f"{job['urls'][0]}:{job['table']}", "--json"]
    arguments += ["--threads", str(job.get("threads", 1)), *option_arguments(job)]
    for name in job.get("columns") or ():
        arguments += ["-c", name]
    if job.get("entry_range"):
        arguments.append("--entries={}:{}".format(*job["entry_range"]))
    if job.get("order", "cluster") != "cluster":
        arguments += ["--order", job["order"]]
    if job.get("trace"):
        arguments += ["--trace", job["trace"]]
    watch = begin(job)
    report = said_by_arrowroot(*arguments)
    answer = watch.answer()
    figures = report["reads"][0]
    of_file, of_scan = (
        [SimpleNamespace(**account) for account in report["accounts"][what]] for what in ("file", "scan")
    )
    add_counters(answer["counters"], layers_of(of_file, of_scan))
    for key in ("queued_ns", "peak_virtual_bytes"):  # those of this process
        answer.pop(key, None)
    return answer | {
        "wall_ns": figures["real_time_ns"],
        "cpu_ns": figures["cpu_time_ns"],
        "n_entries": report["n_entries"],
        "details": {"perf": figures},
    }


def option_arguments(job: Job) -> list[str]:
    """The strategy and its options, as the command line takes them."""
    arguments = ["--strategy", job.get("strategy") or "auto"]
    if job.get("cache_bytes") is not None:
        arguments += ["--cache-size", str(job["cache_bytes"])]
    connections = {"connections": job["connections"]} if "connections" in job else {}
    for name, value in {**connections, **(job.get("options") or {})}.items():
        arguments += ["-O", f"{name}={value}"]
    return arguments


def write(job: Job) -> Answer:
    """Copy the columns and entries to a file of its own."""
    warm_up(job)
    wanted = Wanted(job)
    counters: Counters = {}
    n_entries = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal n_entries
        for _, _, scan in scans(job, wanted, watch, counters):
            for batch in scan:
                watch.first_entry()
                n_entries += batch.num_rows
                yield batch

    tiny = f"{job['out']}.tiny.root"
    arrowroot.write(f"{tiny}:T", {"x": [1.0]}, layout=(job.get("settings") or {}).get("layout", "ttree"))
    Path(tiny).unlink()
    watch = begin(job)
    arrowroot.write(
        f"{job['out']}:{job['table']}",
        batches(),
        n_threads=job.get("threads", 1),
        **(job.get("settings") or {}),
    )
    answer = watch.answer()
    add_counters(answer["counters"], counters)
    add_counters(answer["counters"], {"written": {"n_bytes": Path(job["out"]).stat().st_size}})
    return answer | {"n_entries": n_entries}


def predict(job: Job) -> Answer:
    """Say what a run would take, by replaying its trace; without one the files are read now to record it."""
    if job.get("kind", "read") != "read":
        raise UnsupportedError("only reading is predicted")
    with tempfile.TemporaryDirectory() as directory:
        asked: Job = dict(job)
        if not asked.get("trace"):
            asked["trace"] = str(Path(directory) / "trace.parquet")
            read({**job, "trace": asked["trace"], "strategy": "auto", "cache_bytes": None, "options": {}})
        return replayed(asked)


def replayed(job: Job) -> Answer:
    """The sum of the replays of the traces of all files."""
    wall_ns, cpu_ns, n_entries = 0, 0, 0
    counters: Counters = {}
    for i in range(len(job["urls"])):
        path = trace_path(job["trace"], i)
        if not Path(path).exists():  # a file none of whose entries are wanted
            break
        metadata = metadata_of(path)
        outcome = replay(job, path, job.get("line") or NO_LINE)
        # Opening, planning and making columns: what a run does besides decoding, and one thread alone.
        rest_ns = max(0, metadata["cpu_ns"] - metadata["decode_ns"]) if i == 0 else 0
        wall_ns += outcome["wall_ns"] + rest_ns
        cpu_ns += outcome["think_ns"] * max(1, metadata["n_threads"]) + rest_ns
        n_entries += metadata["n_entries"]
        counts = {"n_reads": outcome["n_requests"], "n_ranges": outcome["n_ranges"], "n_bytes": outcome["read_bytes"],
                  "overhead_bytes": outcome["overhead_bytes"]}  # fmt: skip
        needed = {"n_bytes": outcome["payload_bytes"], "wait_ns": outcome["wait_ns"]}
        add_counters(counters, {"store": counts, "application": needed})
    return {
        "wall_ns": wall_ns, "cpu_ns": cpu_ns, "n_entries": n_entries, "counters": counters,
        "error_share": ERROR_SHARE, "by": "replay",
    }  # fmt: skip


def replay(job: Job, path: str, line: dict[str, float]) -> dict[str, Any]:
    """The outcome of ``arrowroot replay`` of one trace behind a line."""
    arguments = ["replay", path, "--json", *option_arguments(job), "--latency", f"{line['latency_ns']:.0f}ns"]
    arguments += ["--bandwidth", f"{line['bytes_per_s'] or 1e12:.0f}B/s"]
    if line.get("disk_read_ahead_bytes") is not None:
        arguments += ["--store", "disk", "--kernel-read-ahead", f"{line['disk_read_ahead_bytes']:.0f}"]
    elif job.get("scheme") in STORES:
        arguments += ["--store", STORES[job["scheme"]]]
    for key, option in (("n_streams", "--streams"), ("n_open_requests", "--open-requests")):
        if line.get(key):
            arguments += [option, f"{line[key]:.0f}"]
    from arrowroot.cli import main

    # Nothing is timed here: the command needs no process of its own, which would take longer than its work.
    said, told = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(said):
        code = main(arguments)
    for stream in (said, told):
        stream.seek(0)
    if code:
        raise RuntimeError(f"arrowroot replay: {said.read().strip()}")
    outcome: dict[str, Any] = json.load(told)["outcomes"][0]
    return outcome


def metadata_of(path: str) -> dict[str, Any]:
    """The metadata of a trace of `write_trace`."""
    import pyarrow.parquet as pq

    metadata: dict[str, Any] = json.loads(pq.read_schema(path).metadata[b"arrowroot"])
    return metadata


class _NoPandas:
    """Finds no pandas. pyarrow imports it to see if a value is one of its, which would count as reading or writing."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Refuse pandas, and leave all else to others."""
        del path, target
        if name == "pandas":
            raise ModuleNotFoundError("no runner needs it", name=name)


if __name__ == "__main__":
    sys.meta_path.insert(0, _NoPandas())
    serve({"run": run, "predict": predict, "identify": identify})
