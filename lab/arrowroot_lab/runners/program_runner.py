"""Any program as an engine (docs/lab/runners.md): its time is taken here, its statistics are those that it wrote.

Usage: program_runner.py run|predict|identify

The job's command has ``{url}``, ``{urls}`` (a word for each), ``{table}``, ``{threads}``, ``{entries}`` and
``{report}`` in it. What is in the report is told by ``report``: "fjr" (a CMS job report, or a log with one), "trace"
(of arrowroot), "json" (what the program prints, which becomes details), or "proc": none, the kernel's counts alone.
"""

from __future__ import annotations

import json
import os
import platform
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from . import process_line
else:
    import process_line

if TYPE_CHECKING:
    from .process_line import Answer, Job

#: A megabyte of a job report.
MEBIBYTE = 1 << 20
SUFFIXES = {"fjr": ".xml", "trace": ".parquet", "json": ".json", "proc": ".txt"}
SAID_BYTES = 2000
#: The memory of a program is gone when it ends, so that its peak is looked at now and then.
LOOK_MS = 50


def identify(_: Job) -> Answer:
    """Say what this is."""
    versions = {"python": platform.python_version()}
    return {"name": "program", "versions": versions, "can": ["program", "predict", "threads", "strategy:*"]}


def run(job: Job) -> Answer:
    """Run the command, and take its time and what the kernel counted."""
    if job.get("kind") != "program":
        raise process_line.UnsupportedError("this engine runs the programs of workloads of kind program")
    with tempfile.TemporaryDirectory() as directory:
        kind = job.get("report") or "proc"
        report = Path(directory) / f"report{SUFFIXES[kind]}"
        command = words(job, report)
        output = Path(directory) / "output"
        with output.open("wb") as said, (report if kind == "json" else output).open("ab") as printed:
            watch = process_line.begin(job)
            begin_ns = time.perf_counter_ns()
            try:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=printed, stderr=said)
            except OSError as error:
                raise process_line.UnsupportedError(f"cannot run {command[0]}: {error.strerror}") from None
            # Its counts are there until it is waited for.
            peaks = peaks_until_its_end(process.pid)
            counted, queued = (
                process_line.read_io(process.pid),
                max(process_line.queued_ns(process.pid).values(), default=0),
            )
            _, status, usage = os.wait4(process.pid, 0)
            wall_ns = time.perf_counter_ns() - begin_ns
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(why(command, process.returncode, output))
        answer = watch.answer() | {
            "wall_ns": wall_ns,
            "cpu_ns": int((usage.ru_utime + usage.ru_stime) * 1e9),
            **peaks,
            "peak_rss_bytes": usage.ru_maxrss * 1024,
            "queued_ns": min(wall_ns, queued),
            "counters": {
                "process": {"n_bytes": counted.get("rchar", 0), "n_reads": counted.get("syscr", 0)},
                "device": {"n_bytes": counted.get("read_bytes", 0)},
            },
            # With its placeholders: URLs have tokens.
            "details": {"command": job["command"]},
        }
        for key in ("open_ns", *({"peak_virtual_bytes"} - peaks.keys())):  # those of this process
            answer.pop(key, None)
        add_statistics(answer, job, report)
        if job.get("trace") and report.exists():
            shutil.copyfile(report, job["trace"])
    return answer


def peaks_until_its_end(pid: int) -> Answer:
    """Wait for the end of a process, which is not reaped; return its peaks of memory, as they were just before."""
    peaks = process_line.memory_peaks(pid)
    ended = select.poll()
    descriptor = os.pidfd_open(pid)
    ended.register(descriptor, select.POLLIN)
    while not ended.poll(LOOK_MS):
        peaks = process_line.memory_peaks(pid) or peaks
    os.close(descriptor)
    return peaks


def words(job: Job, report: Path) -> list[str]:
    """The command with what it asks for put in."""
    values = {
        "url": job["urls"][0],
        "table": job["table"],
        "threads": str(job.get("threads", 1)),
        "entries": job.get("entries") or "",
        "report": str(report),
    }
    found: list[str] = []
    for word in job["command"]:
        found += job["urls"] if word == "{urls}" else [word.format(**values, urls=" ".join(job["urls"]))]
    return found


def why(command: list[str], code: int, output: Path) -> str:
    """Why a program failed: its status, and the last that it said."""
    ended = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
    said = output.read_bytes()[-SAID_BYTES:].decode(errors="replace").strip().splitlines() or [
        "it said nothing"
    ]
    errors = [line for line in said if "rror" in line] or said
    return f"{Path(command[0]).name}: {ended}: {errors[-1]}"


def add_statistics(answer: Answer, job: Job, report: Path) -> None:
    """Add what the program's report says. Raises: RuntimeError if it wrote none."""
    kind = job.get("report") or "proc"
    if kind == "proc":
        return
    if not report.exists():
        raise RuntimeError(f"the program wrote no report to {{report}}: {' '.join(job['command'])}")
    if kind == "json":
        told = json.loads(report.read_text())
        answer["details"] |= told if isinstance(told, dict) else {"printed": told}
    elif kind == "fjr":
        reports = process_line.said_by_arrowroot("fjr", "--json", str(report))["reports"]
        answer["details"]["fjr"] = reports
        process_line.add_counters(answer["counters"], of_job_report(reports))
    else:
        figures = process_line.said_by_arrowroot("model", "--json", str(report))["predictions"][0]
        counts = {"n_reads": round(figures["n_reads"]), "n_bytes": round(figures["megabytes"] * 1e6)}
        process_line.add_counters(answer["counters"], {"store": counts})


def of_job_report(reports: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """The counters of a job report by layer: ROOT's file is the application, the protocols are the store.

    Layers around a store count again what it was asked; they keep their names.
    """
    layers: dict[str, dict[str, int]] = {}
    metrics = {"read": "n_reads", "readv": "n_vector_reads", "open": "n_opens"}
    for report in reports:
        for counter in report["counters"]:
            layer = "store" if counter["is_store"] else counter["subsystem"]
            layer = "application" if layer == "tstoragefile" else layer
            if counter["name"] not in metrics:
                continue
            counts = {
                metrics[counter["name"]]: counter["n_operations"],
                "busy_ns": round(counter["total_ms"] * 1e6),
            }
            if counter["name"] != "open":
                counts["n_bytes"] = round(counter["megabytes"] * MEBIBYTE)
            process_line.add_counters(layers, {layer: counts})
    return layers


def predict(job: Job) -> Answer:
    """Say what a program's reads would take by ``arrowroot model`` of the report that its run left.

    No read overlaps with another in this model, and nobody has measured by how much it is wrong: no error is told.
    """
    if not job.get("trace") or not Path(job["trace"]).exists():
        raise process_line.UnsupportedError("a program is predicted from the report of a run")
    line = job["line"]
    figures = process_line.said_by_arrowroot(
        "model", "--json", job["trace"], "--latency", f"{line['latency_ns']:.0f}ns", "--bandwidth",
        f"{line.get('bytes_per_s') or 1e12:.0f}B/s",
    )["predictions"][0]  # fmt: skip
    return {"wall_ns": max(1, round(figures["predicted_s"] * 1e9)), "by": "model"}


if __name__ == "__main__":
    process_line.serve({"run": run, "predict": predict, "identify": identify})
