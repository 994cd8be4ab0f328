"""Asks a runner at the process line: a fresh process in a group of its own, within a time, and not believed blindly."""

from __future__ import annotations

import json
import math
import os
import select
import signal
import subprocess
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from arrowroot_lab.documents import MAX_DEPTH, check_plain, is_counter, whole_text
from arrowroot_lab.errors import DocumentError, RefusedError, RunnerError, SkippedError, TimedOutError
from arrowroot_lab.location import hidden_in, whole
from arrowroot_lab.redaction import redacted, secrets_of

from .contract import CONTRACT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

    from typing_extensions import Self

    from .contract import Answer, Job

TIMEOUT_S = 600.0
#: A runner may write so much to each of its two outputs.
MAX_OUTPUT_BYTES = 16 << 20
#: How often the outputs are looked at.
LOOK_S = 0.25
#: And whether workers are ready: before anything is measured.
BARRIER_S = 0.01
#: CPU time is counted in ticks.
CPU_SLACK_NS = 20_000_000
#: The kernel counts resident pages for each thread, and adds them up by and by.
RSS_SLACK_BYTES = 16 << 20
#: How much of what a runner said is told in an error.
SAID_CHARACTERS = 500

#: Levels of a document above an answer in it, and some more.
_LEVELS_ABOVE = 8

_TIMES = ("wall_ns", "cpu_ns", "open_ns", "first_entry_ns", "queued_ns")
_COUNTS = ("n_entries", "values_bytes", "peak_rss_bytes", "peak_virtual_bytes")


@dataclass(frozen=True)
class Asked:
    """The answer of a runner, and what its process took as a whole: the import of its engine included."""

    answer: Answer
    wall_ns: int
    #: Children included.
    user_ns: int
    system_ns: int
    peak_rss_bytes: int

    @property
    def cpu_ns(self) -> int:
        """User and system."""
        return self.user_ns + self.system_ns


def ask(
    command: Sequence[str],
    verb: str,
    job: Job | None = None,
    *,
    timeout_s: float = TIMEOUT_S,
    environment: Mapping[str, str] | None = None,
    directory: Path | str | None = None,
) -> Asked:
    """Let a fresh process do one verb. Whatever ends this call ends the process and its group, Ctrl-C too.

    environment: variables besides those of this process. directory: where the process works.

    Raises: TimedOutError; SkippedError for what the runner calls unsupported; RefusedError for what it refuses;
        RunnerError if it ends without an answer, with an error, or with an answer that cannot be true.
    """
    return ask_together(
        command, verb, [job or {}], timeout_s=timeout_s, environment=environment, directory=directory
    )[0]


def ask_together(
    command: Sequence[str],
    verb: str,
    jobs: Sequence[Job],
    *,
    timeout_s: float = TIMEOUT_S,
    environment: Mapping[str, str] | None = None,
    directory: Path | str | None = None,
) -> list[Asked]:
    """Let a process for each job do one verb, all at the same time; see :func:`ask`.

    Each of several is told a barrier (``contract.Job``), so that their times begin together whatever their imports
    take. A runner that does not know it begins when it is ready.
    """
    deadline = time.monotonic() + timeout_s
    with ExitStack() as stack:
        barriers = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="barrier-")))
        go = barriers / "go"
        ready = [barriers / f"ready-{i}" for i in range(len(jobs))]
        os.mkfifo(go)  # before anybody may look for it
        running = []
        for job, path in zip(jobs, ready, strict=True):
            asked: Job = {"contract": CONTRACT, **job}
            if len(jobs) > 1:
                asked["barrier"] = {"ready": str(path), "go": str(go)}
            running.append(stack.enter_context(_Process(command, verb, asked, environment, directory)))
        is_open = len(jobs) == 1
        while left := [process for process in running if process.asked is None]:
            if not is_open and all(
                path.exists() or process.asked for path, process in zip(ready, running, strict=True)
            ):
                is_open = True
                # Opened for both ways it waits for nobody, and whoever comes late finds it open.
                stack.callback(os.close, os.open(go, os.O_RDWR))
            _wait(left, LOOK_S if is_open else BARRIER_S)
            for process in left:
                process.look()
            if time.monotonic() >= deadline and any(process.asked is None for process in left):
                raise TimedOutError(f"{left[0].name}: not done after {timeout_s:g} s")
        return [process.asked for process in running if process.asked is not None]


def _wait(processes: Sequence[_Process], most_s: float) -> None:
    """Wait until one of the processes ends, and note when it did."""
    poll = select.poll()
    by_descriptor = {process.descriptor: process for process in processes}
    for descriptor in by_descriptor:
        poll.register(descriptor, select.POLLIN)
    for descriptor, _ in poll.poll(1000 * most_s):
        by_descriptor[descriptor].end_ns = time.perf_counter_ns()


class _Process:
    """One runner's process; it and its group are gone after the ``with`` block."""

    def __init__(
        self,
        command: Sequence[str],
        verb: str,
        job: Job,
        environment: Mapping[str, str] | None,
        directory: Path | str | None,
    ) -> None:
        self.name = " ".join(Path(part).name for part in redacted(list(command)))
        self._verb, self._job = verb, job
        variables = {**os.environ, **(environment or {})}
        #: It knows them, and may repeat them.
        self._secrets = secrets_of(variables) | hidden_in([list(command), dict(job)])
        with ExitStack() as stack:
            stdin = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))
            json.dump(whole(dict(job)), stdin)
            stdin.seek(0)
            self._stdout: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())
            self._stderr: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())
            self._begin_ns = time.perf_counter_ns()
            try:
                # It is waited for by wait4 below, as Popen does not tell what a process used.
                self._process = subprocess.Popen(
                    [*whole(list(command)), verb], stdin=stdin, stdout=self._stdout, stderr=self._stderr, cwd=directory,
                    start_new_session=True, env=variables,
                )  # fmt: skip
            except OSError as error:
                raise SkippedError(f"cannot run {self.name}: {error.strerror}") from None
            try:
                self.descriptor = os.pidfd_open(self._process.pid)
            except BaseException:
                self._kill_group()
                self._process.wait()
                raise
            #: When it was seen to have ended; it is not reaped then.
            self.end_ns: int | None = None
            self.asked: Asked | None = None
            self._files = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.returncode is None:
            self._reap()
        os.close(self.descriptor)
        self._files.close()

    def look(self) -> None:
        """Take the answer if the process has ended. Raises: RunnerError if it floods, or if its answer is none."""
        for kind, output in (("stdout", self._stdout), ("stderr", self._stderr)):
            if os.fstat(output.fileno()).st_size > MAX_OUTPUT_BYTES:
                self._fail(f"it wrote more than {MAX_OUTPUT_BYTES >> 20} MiB to its {kind}")
        if self.end_ns is None:
            return
        usage = self._reap()
        answer = self._answer()
        if "unsupported" in answer:
            raise SkippedError(str(answer["unsupported"])[:SAID_CHARACTERS])
        if "refused" in answer:
            raise RefusedError(str(answer["refused"])[:SAID_CHARACTERS])
        if "error" in answer:
            self._fail(str(answer["error"])[:SAID_CHARACTERS])
        asked = Asked(
            answer,
            self.end_ns - self._begin_ns,
            int(usage.ru_utime * 1e9),
            int(usage.ru_stime * 1e9),
            usage.ru_maxrss * 1024,
        )
        wrong = _why_untrue(self._verb, self._job, asked)
        if wrong:
            self._fail(f"it cannot be true what it answered: {wrong}")
        self.asked = asked

    def _kill_group(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def _reap(self) -> Any:
        """End what is left of the group while its number is still taken, and return what the process used."""
        self._kill_group()
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return usage

    def _answer(self) -> Answer:
        """The answer is the last line that begins with a brace."""
        self._stdout.seek(0)
        lines = [line for line in self._stdout.read().splitlines() if line.startswith(b"{")]
        code = self._process.returncode
        if not lines:
            ended = f"ended by signal {-code}" if code < 0 else f"exit status {code}"
            self._fail(f"{ended} and no answer: {self._said()}")
        try:
            answer: Answer = redacted(
                _whole(json.loads(lines[-1], parse_constant=_no_constant)), self._secrets
            )
            check_plain(answer, "", _LEVELS_ABOVE)
        except (ValueError, RecursionError) as error:
            self._fail(f"its answer is no JSON: {error}")
        except DocumentError as error:
            self._fail(f"its answer cannot be kept: {error}")
        if not isinstance(answer, dict):
            self._fail("its answer is no JSON object")
        if code and not {"error", "unsupported", "refused"} & answer.keys():
            self._fail(f"exit status {code} after its answer: {self._said()}")
        return answer

    def _said(self) -> str:
        """The line of its stderr that is worth telling: the last one with an error in it, or the last one."""
        self._stderr.seek(0)
        text = self._stderr.read().decode(errors="replace")
        said = [line.strip() for line in text.splitlines() if line.strip(" =^~")]
        errors = [line for line in said if "rror" in line] or said or ["it said nothing"]
        return whole_text(redacted(errors[-1], self._secrets)[:SAID_CHARACTERS])

    def _fail(self, problem: str) -> NoReturn:
        raise RunnerError(f"{self.name}: {problem}")


def _whole(value: Any, depth: int = 0) -> Any:
    """A value of JSON whose texts and keys are as a document can hold them."""
    if isinstance(value, str):
        return whole_text(value)
    if depth > MAX_DEPTH:  # which is told afterwards
        return value
    if isinstance(value, dict):
        return {whole_text(key): _whole(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item, depth + 1) for item in value]
    return value


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _why_untrue(verb: str, job: Job, asked: Asked) -> str | None:
    """Return why an answer cannot be true, None if it may be."""
    answer = asked.answer
    if verb == "identify":
        return _why_no_identity(answer)
    needed = ["wall_ns"]
    if verb == "run":
        needed += ["cpu_ns"] if job.get("kind") == "program" else ["cpu_ns", "n_entries"]
    for key in needed:
        if key not in answer:
            return f"it has no {key}"
    for key in (*_TIMES, *_COUNTS):
        value = answer.get(key)
        if key in answer and not _is_count(value):
            return f"{key} is {value!r}, expected a whole number from 0 on"
    problem = _why_no_counters(answer.get("counters", {})) or _why_no_checksum(answer.get("checksum", {}))
    if problem:
        return problem
    share: Any = answer.get("error_share")
    is_share = isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share < math.inf
    if share is not None and not is_share:
        return f"error_share is {share!r}, expected a share from 0 on"
    if verb == "predict" and not (isinstance(answer.get("by"), str) and answer["by"]):
        return f"by is {answer.get('by')!r}, expected what has predicted"
    return _why_no_times(asked) if verb == "run" else None


def _why_no_times(asked: Asked) -> str | None:
    answer = asked.answer
    wall_ns, cpu_ns = answer["wall_ns"], answer["cpu_ns"]
    if not 0 < wall_ns <= asked.wall_ns:
        return f"wall_ns is {wall_ns}, the whole process took {asked.wall_ns}"
    n_cores = os.cpu_count() or 1
    most_ns = min(asked.cpu_ns, n_cores * wall_ns) + CPU_SLACK_NS
    if cpu_ns > most_ns:
        return (
            f"cpu_ns is {cpu_ns}, the whole process took {asked.cpu_ns}, of {n_cores} cores in {wall_ns} ns"
        )
    for key, part_ns in (
        ("open_ns", answer.get("open_ns", 0)),
        ("first_entry_ns", answer.get("first_entry_ns", 0)),
        ("queued_ns", answer.get("queued_ns", 0)),
    ):
        if part_ns > wall_ns:
            return f"{key} is {part_ns}, more than wall_ns, which is {wall_ns}"
    peak = answer.get("peak_rss_bytes", 0)
    if peak > asked.peak_rss_bytes + RSS_SLACK_BYTES:
        return f"peak_rss_bytes is {peak}, that of the whole process {asked.peak_rss_bytes}"
    return None


def _why_no_identity(answer: Answer) -> str | None:
    if not isinstance(answer.get("name"), str):
        return "it has no name"
    versions, can = answer.get("versions"), answer.get("can")
    if not isinstance(versions, dict) or not all(isinstance(text, str) for text in versions.values()):
        return "versions is no object of texts"
    if not isinstance(can, list) or not all(isinstance(word, str) for word in can):
        return "can is no list of words"
    return None


def _why_no_counters(counters: Any) -> str | None:
    if not isinstance(counters, dict):
        return "counters is no object of layers"
    for layer, metrics in counters.items():
        if not isinstance(metrics, dict):
            return f"counters.{layer} is no object of counts"
        for metric, count in metrics.items():
            if not is_counter(layer, metric):
                return f"counters has {layer!r}: {metric!r}, expected a layer without dots, and names"
            if not _is_count(count):
                return f"counters.{layer}.{metric} is {count!r}, expected a whole number from 0 on"
    return None


def _why_no_checksum(checksum: Any) -> str | None:
    if not isinstance(checksum, dict):
        return "checksum is no object of columns"
    for column, told in checksum.items():
        is_whole = isinstance(told, dict) and _is_count(told.get("n")) and isinstance(told.get("sum"), str)
        if not is_whole:
            return f"checksum.{column} is {told!r}, expected n and sum"
    return None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
