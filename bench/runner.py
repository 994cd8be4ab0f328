"""Runs engines at their process line, repetition by repetition in turns, and compares what they read."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .paths import REPOSITORY, WARM_UP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .catalogue import Engine

Job = dict[str, Any]
Answer = dict[str, Any]
TIMEOUT_S = 600.0
#: CPU time is counted in ticks.
CPU_SLACK_NS = 20_000_000
#: Address space of engines that may allocate without bound: three quarters of the memory.
MEMORY_BYTES = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4


@dataclass
class Row:
    """One engine in one case: every sample, and what came of comparing them."""

    engine: Engine
    format: str
    threads: int
    job: Job
    samples: list[Answer] = field(default_factory=list)
    error: str | None = None
    #: Why its content is not that of the others.
    wrong: str | None = None

    def __str__(self) -> str:
        return f"{self.engine.name}, {self.format}, {self.threads} threads"

    def median(self, key: str) -> float | None:
        """The median of the samples that have it."""
        values = [sample[key] for sample in self.samples if sample.get(key) is not None]
        return statistics.median(values) if values else None

    def complaint(self) -> str | None:
        """Why the row is no result; None too for what an engine does not claim to do."""
        if self.wrong:
            return f"wrong content: {self}: {self.wrong}"
        if self.error and not self.error.startswith("unsupported"):
            return f"failed: {self}: {self.error}"
        return None

    def as_json(self) -> dict[str, Any]:
        """The part that is kept: all but the checksums."""
        samples = [
            {key: value for key, value in sample.items() if key != "checksum"} for sample in self.samples
        ]
        return {
            "engine": self.engine.name, "role": self.engine.role, "format": self.format, "threads": self.threads,
            "samples": samples, "error": self.error, "wrong": self.wrong,
        }  # fmt: skip


def ask(engine: Engine, job: Job, environment: Mapping[str, str] | None = None) -> Answer:
    """Let a fresh process do a job. Returns its answer with the process's own times; ``error`` if there is none."""
    with (
        tempfile.TemporaryFile("w+") as stdin,
        tempfile.TemporaryFile("w+") as stdout,
        tempfile.TemporaryFile("w+") as stderr,
    ):
        json.dump({"warm_up": str(WARM_UP), **engine.job, **job}, stdin)
        stdin.seek(0)
        start_ns = time.perf_counter_ns()
        try:
            process = subprocess.Popen(
                _limited(engine), stdin=stdin, stdout=stdout, stderr=stderr, cwd=REPOSITORY, start_new_session=True,
                env={**os.environ, **(environment or {})},
            )  # fmt: skip
        except OSError as error:
            return {"error": f"cannot run {engine.name}: {error}"}
        is_late = threading.Event()

        def kill() -> None:
            is_late.set()
            os.killpg(process.pid, signal.SIGKILL)  # the engine's own group

        timer = threading.Timer(TIMEOUT_S, kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        wall_ns = time.perf_counter_ns() - start_ns
        if is_late.is_set():
            return {"error": f"not done after {TIMEOUT_S:g} s"}
        stdout.seek(0)
        stderr.seek(0)
        answer = parse(stdout.read(), stderr.read(), process.returncode)
    if "error" in answer or "unsupported" in answer:
        return answer
    answer["process_wall_ns"] = wall_ns
    answer["process_cpu_ns"] = int((usage.ru_utime + usage.ru_stime) * 1e9)
    answer.setdefault("peak_rss_bytes", usage.ru_maxrss * 1024)
    return check_times(answer)


def _limited(engine: Engine) -> list[str]:
    command = engine.full_command()
    return ["prlimit", f"--as={MEMORY_BYTES}", *command] if engine.limit_memory else command


def parse(output: str, messages: str, status: int) -> Answer:
    """The answer is the last line that begins with a brace; without one, what the process said is the error."""
    lines = [line for line in output.splitlines() if line.startswith("{")]
    try:
        answer: Answer = json.loads(lines[-1])
    except (IndexError, ValueError):
        said = [line for line in messages.splitlines() if line.strip(" =")]
        errors = [line for line in said if "rror" in line] or said or ["no answer"]
        return {"error": f"exit status {status}: {errors[-1][:500]}"}
    return answer


def check_times(answer: Answer) -> Answer:
    """The answer, or an error if it tells less or more time than its process took."""
    for key, slack_ns in (("wall_ns", 0), ("cpu_ns", CPU_SLACK_NS)):
        of_process = answer[f"process_{key}"]
        if not isinstance(answer.get(key), int) or not 0 <= answer[key] <= of_process + slack_ns:
            return {"error": f"{key} is {answer.get(key)}, the whole process took {of_process}"}
    return answer


def run_in_turns(rows: Sequence[Row], repeat: int) -> None:
    """All engines once, then all again: a slow spell of the machine hits all of them."""
    for _ in range(repeat):
        for row in rows:
            if not row.error:
                add(row, ask(row.engine, row.job))


def add(row: Row, answer: Answer) -> None:
    """Keep an answer, or why there is none."""
    if "unsupported" in answer:
        row.error = f"unsupported: {answer['unsupported']}"
    elif "error" in answer:
        row.error = str(answer["error"])
    else:
        row.samples.append(answer)


def difference(found: Answer, wanted: Answer) -> str | None:
    """Why the content of one answer is not the other's; sums decide where an engine keeps no order."""
    if found.get("n_entries") != wanted.get("n_entries"):
        return f"{found.get('n_entries')} entries, not {wanted.get('n_entries')}"
    if "checksum" not in found:
        return "no checksum"
    for name, want in wanted["checksum"].items():
        have = found["checksum"].get(name)
        if have is None:
            return f"no checksum of column {name}"
        for key in ("n", "sum", "order"):
            if key == "order" and (key not in have or key not in want):
                continue
            if have.get(key) != want[key]:
                return f"column {name}: {key} is {have.get(key)}, not {want[key]}"
    return None


def _keeps_order(answer: Answer) -> bool:
    return all("order" in told for told in answer.get("checksum", {}).values())


def compare_contents(rows: Sequence[Row], reference: Answer | None = None) -> None:
    """Mark the rows whose content differs from the reference: that of the first peer that keeps the order.

    The limit has no content. Without a peer nothing is known to be right.
    """
    if reference is None:
        peers = [row for row in rows if row.engine.role == "peer" and row.samples and not row.error]
        reference = next((row.samples[0] for row in peers if _keeps_order(row.samples[0])), None)
    for row in rows:
        if row.engine.role == "limit" or row.error:
            continue
        if reference is None:
            row.wrong = "no peer to compare with"
        for sample in row.samples:
            row.wrong = row.wrong or difference(sample, reference or {})
            if row.engine.role == "subject" and not _keeps_order(sample):
                row.wrong = row.wrong or "its checksum has no order"
