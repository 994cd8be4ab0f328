"""The process line, as runners in Python see it (docs/lab/runners.md): a job comes on stdin, an answer goes to stdout.

It needs the standard library alone, and lies beside the runners, which are started by their paths: the environment of
an engine need not have the laboratory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Job = dict[str, Any]
Answer = dict[str, Any]
#: The kernel's counts of a process (/proc/PID/io) -> layer and metric of the answer.
_IO = {
    "rchar": ("process", "n_bytes"),
    "syscr": ("process", "n_reads"),
    "read_bytes": ("device", "n_bytes"),
}


class UnsupportedError(Exception):
    """The engine does not do that: no failure."""


def serve(verbs: Mapping[str, Callable[[Job], Answer]]) -> None:
    """Answer the verb that is the last argument.

    An UnsupportedError is told as such, and any other error with its kind: the laboratory has nobody to show a
    traceback to, but it goes to stderr.
    """
    verb = sys.argv[-1]
    job = json.load(sys.stdin)
    try:
        answer = verbs.get(verb, _no_verb)(job)
    except UnsupportedError as error:
        answer = {"unsupported": str(error)}
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        import traceback

        traceback.print_exc()
        answer = {"error": f"{type(error).__name__}: {error}"}
    # A library may have printed something without a line's end, which must not hide the answer.
    print("\n" + json.dumps(answer))  # noqa: T201 - the process line


def _no_verb(_: Job) -> Answer:
    raise UnsupportedError(f"there is no verb {sys.argv[-1]!r} here")


class Stopwatch:
    """Wall time, CPU time of all threads, and what the kernel says that this process read, since it was made."""

    def __init__(self) -> None:
        self._io, self._queued = read_io(), queued_ns()
        self._open_ns: int | None = None
        self._first_ns: int | None = None
        # The time of the CPU is taken within that of the clock: it is never more than the cores can have.
        self._wall = time.perf_counter_ns()
        self._cpu = time.process_time_ns()

    def opened(self) -> None:
        """Say that the first file is open; later calls say nothing new."""
        if self._open_ns is None:
            self._open_ns = time.perf_counter_ns() - self._wall

    def first_entry(self, clock_ns: int | None = None) -> None:
        """Say that the first entry is there, now or at that time of the monotonic clock."""
        if self._first_ns is None:
            self._first_ns = (clock_ns or time.perf_counter_ns()) - self._wall

    def answer(self) -> Answer:
        """Return the times so far, the peak of the memory, and the counters "process" and "device"."""
        cpu_ns = time.process_time_ns() - self._cpu
        wall_ns = time.perf_counter_ns() - self._wall
        queued = max((ns - self._queued.get(task, 0) for task, ns in queued_ns().items()), default=0)
        counters: dict[str, dict[str, int]] = {}
        for key, value in read_io().items():
            layer, metric = _IO[key]
            counters.setdefault(layer, {})[metric] = max(0, value - self._io.get(key, value))
        times = {"open_ns": self._open_ns, "first_entry_ns": self._first_ns}
        return {
            "wall_ns": wall_ns,
            "cpu_ns": cpu_ns,
            **{key: value for key, value in times.items() if value is not None},
            **memory_peaks(),
            # Read around the time of the clock.
            "queued_ns": min(wall_ns, queued),
            "counters": counters,
        }


def begin(job: Job) -> Stopwatch:
    """Wait until all workers are ready, if there are several; then start the clock."""
    barrier = job.get("barrier")
    if barrier:
        Path(barrier["ready"]).touch()
        os.close(os.open(barrier["go"], os.O_RDONLY))
    return Stopwatch()


def read_io(process: int | str = "self") -> dict[str, int]:
    """Return what the kernel counts of a process's reads, of those it waited for too; nothing where it does not."""
    try:
        lines = Path(f"/proc/{process}/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    found = dict(line.split(": ") for line in lines)
    return {key: int(found[key]) for key in _IO if key in found}


def queued_ns(process: int | str = "self") -> dict[str, int]:
    """Return how long each thread of a process waited for a processor though it could run; empty: nobody knows."""
    found = {}
    for task in Path(f"/proc/{process}/task").glob("*/schedstat"):
        try:
            found[task.parent.name] = int(task.read_text(encoding="ascii").split()[1])
        except (OSError, IndexError, ValueError):  # it has ended meanwhile, or the kernel counts nothing
            continue
    return found


def memory_peaks(process: int | str = "self") -> Answer:
    """Return the high-water marks of the memory, resident and virtual; nothing where the kernel tells none."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8", errors="replace")
        resident, virtual = (
            int(status.partition(f"\n{name}:")[2].split()[0]) * 1024 for name in ("VmHWM", "VmPeak")
        )
    except (OSError, IndexError, ValueError):
        return {}
    return {"peak_rss_bytes": resident, "peak_virtual_bytes": virtual}


def said_by_arrowroot(*arguments: str) -> Any:
    """Return the JSON that a command of arrowroot prints. Raises: RuntimeError with what it said, if it fails."""
    command = [sys.executable, "-m", "arrowroot", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(f"arrowroot {arguments[0]}: {said[-1]}")
    return json.loads(done.stdout)


def burn(ns: int) -> None:
    """Use so much CPU time of this thread."""
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        pass


def add_counters(total: dict[str, dict[str, int]], more: Mapping[str, Mapping[str, int]]) -> None:
    """Add counters to those of other files."""
    for layer, metrics in more.items():
        sums = total.setdefault(layer, {})
        for metric, count in metrics.items():
            sums[metric] = sums.get(metric, 0) + count
