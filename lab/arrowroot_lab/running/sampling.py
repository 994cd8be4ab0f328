"""Takes one sample: the place prepared, the control kernel and the machine's readings around it, the runner asked."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from arrowroot_lab.documents import Outcome, Sample, now, whole_text
from arrowroot_lab.engines.ask import ask, ask_together
from arrowroot_lab.errors import LabError, RefusedError, SkippedError, TimedOutError, as_lab_errors
from arrowroot_lab.machine import cold
from arrowroot_lab.machine.control import control_ns
from arrowroot_lab.machine.readings import MAX_CONTROL, Readings, disturbed
from arrowroot_lab.quantities import size_text

from . import processes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arrowroot_lab.campaign.model import Limits
    from arrowroot_lab.documents import Counters
    from arrowroot_lab.engines.ask import Asked
    from arrowroot_lab.engines.contract import Job

    from .guardian import Guardian
    from .subject import Subject

#: Kernels are timed so often before the first sample: what is usual is known then.
_N_CONTROLS = 5


def outcome_of(error: LabError) -> Outcome:
    """Return what an error makes of a case or a sample."""
    for kind, outcome in (
        (TimedOutError, Outcome.TIMED_OUT),
        (RefusedError, Outcome.REFUSED),
        (SkippedError, Outcome.SKIPPED),
    ):
        if isinstance(error, kind):
            return outcome
    return Outcome.FAILED


@dataclass
class Sampler:
    """Takes the samples of a run. ``directory``: for files that are written, and gone after the sample."""

    directory: Path
    guardian: Guardian
    limits: Limits
    #: Times of the control kernel in this run.
    controls_ns: list[int] = field(default_factory=lambda: [control_ns() for _ in range(_N_CONTROLS)])

    def take(self, subject: Subject, turn: int) -> Sample:
        """Take a sample. What goes wrong is its outcome; nothing is raised but by Ctrl-C."""
        began_ns = time.perf_counter_ns()
        sample = Sample(turn=turn, started_at=now(), outcome=Outcome.OK)
        place = subject.place
        readings = Readings(place.files[0] if place and place.files else None)
        before_ns = 0
        used_ns = 0
        try:
            with as_lab_errors():
                prepared = place.prepare_sample() if place else {}
                self.guardian.watch(processes.descendants())
                before_ns, used_ns = self._control_ns(), processes.cpu_ns()
                with readings:
                    asked = self.asked(subject)
                used_ns = processes.cpu_ns() - used_ns
                _fill(sample, asked)
                if subject.local:
                    sample.details |= {"trace": subject.local.hash(), "readings_cpu_ns": subject.local.cpu_ns}
                if place and not place.is_virtual:
                    sample.counters.update(place.counters())
                if "cached_share_before" in prepared and place:
                    sample.cold = _proved(sample, place.files, prepared["cached_share_before"])
                _check_entries(subject, sample)
        except LabError as error:
            sample.outcome, sample.reason = outcome_of(error), whole_text(str(error))
        sample.readings = readings.values
        if before_ns:
            sample.control_ns = (before_ns, self._control_ns())
            self.controls_ns += sample.control_ns
        # A replay does not wait for the machine, and on a node that others use all samples count.
        is_judged = not (subject.local or subject.result.is_shared)
        if sample.outcome is Outcome.OK and sample.control_ns and is_judged:
            sample.disturbed = disturbed(
                sample.readings, used_ns, sample.control_ns, self._usual_control_ns()
            )
        subject.took_ns.append(time.perf_counter_ns() - began_ns)
        return sample

    def _usual_control_ns(self) -> float:
        return statistics.median(self.controls_ns)

    def _control_ns(self) -> int:
        """The control kernel, once more if it was slow: a processor that has waited for a line is, for a moment."""
        took_ns = control_ns()
        return took_ns if took_ns <= MAX_CONTROL * self._usual_control_ns() else min(took_ns, control_ns())

    def asked(self, subject: Subject, *, keeps_out: bool = False, **more: Any) -> list[Asked]:
        """Ask the runner of a case what it is to do: to run, or of a place in virtual time to predict.

        keeps_out: leave the files of a copy in the directory, for who looks at them.
        """
        place = subject.place
        if place and place.is_virtual:
            job: Job = {**subject.jobs(**more)[0], "line": place.line_figures(), "scheme": "file"}
            if subject.local:
                job["trace"] = str(subject.local.path)
            return [ask(subject.command, "predict", job, timeout_s=self.limits.timeout_s)]
        if subject.case.workload.kind != "write":
            return self.asked_to_run(subject, **more)
        outs = [
            self.directory / f"out-{i}{subject.found.kind.suffix}"
            for i in range(subject.case.workload.workers)
        ]
        try:
            asked = self.asked_to_run(subject, outs=outs, **more)
            used = sum(out.stat().st_size for out in outs if out.exists())
            if self.limits.disk_bytes is not None and used > self.limits.disk_bytes:
                raise RefusedError(
                    f"it wrote {size_text(used)}, the campaign's limit is {size_text(self.limits.disk_bytes)}"
                )
            return asked
        finally:
            if not keeps_out:
                for out in outs:
                    out.unlink(missing_ok=True)

    def asked_to_run(self, subject: Subject, *, outs: Sequence[Path] = (), **more: Any) -> list[Asked]:
        """Ask the runner of a case to run, whatever its place; several workers at the same time."""
        jobs = subject.jobs(**more)
        for job, out in zip(jobs, outs, strict=False):
            job["out"] = str(out)
        return ask_together(
            subject.command,
            "run",
            jobs,
            timeout_s=self.limits.timeout_s,
            environment=subject.place.environment if subject.place else {},
            directory=self.directory,
        )


def _fill(sample: Sample, asked: list[Asked]) -> None:
    """Put the answers into the sample: of several workers the longest time, and the sums of all that adds up."""
    answers = [one.answer for one in asked]
    sample.wall_ns = max(answer["wall_ns"] for answer in answers)
    cpu = [answer["cpu_ns"] for answer in answers if "cpu_ns" in answer]
    sample.cpu_ns = sum(cpu) if cpu else None
    sample.peak_rss_bytes = sum(one.answer.get("peak_rss_bytes", one.peak_rss_bytes) for one in asked)
    sample.user_ns = sum(one.user_ns for one in asked)
    sample.system_ns = sum(one.system_ns for one in asked)
    if all("peak_virtual_bytes" in answer for answer in answers):
        sample.peak_virtual_bytes = sum(answer["peak_virtual_bytes"] for answer in answers)
    sample.queued_ns = max((answer["queued_ns"] for answer in answers if "queued_ns" in answer), default=None)
    counters: Counters = {}
    for answer in answers:
        for layer, metrics in answer.get("counters", {}).items():
            sums = counters.setdefault(layer, {})
            for metric, count in metrics.items():
                sums[metric] = sums.get(metric, 0) + count
    sample.counters = counters
    details: dict[str, Any] = {
        "process_wall_ns": max(one.wall_ns for one in asked),
        "process_cpu_ns": sum(one.cpu_ns for one in asked),
    }
    for key in ("open_ns", "first_entry_ns"):
        if key in answers[0]:
            details[key] = statistics.median(answer.get(key, 0) for answer in answers)
    for key in ("n_entries", "values_bytes"):
        if key in answers[0]:
            details[key] = sum(answer.get(key, 0) for answer in answers)
    if len(asked) > 1:
        details["workers"] = [
            {"wall_ns": answer["wall_ns"], "cpu_ns": answer.get("cpu_ns")} for answer in answers
        ]
    if answers[0].get("details"):
        details["engine"] = answers[0]["details"]
    sample.details = details


def _proved(sample: Sample, files: Sequence[Path], share: float) -> dict[str, float]:
    device = sample.counters.get("device", {}).get("n_bytes")
    wanted = sample.counters.get("store", sample.counters.get("process", {})).get("n_bytes", 0)
    return cold.prove(files, share, None if device is None else float(device), wanted)


def _check_entries(subject: Subject, sample: Sample) -> None:
    n = sample.details.get("n_entries")
    if subject.n_entries is not None and n is not None and n != subject.n_entries:
        raise LabError(f"it read {n} entries, the rehearsal {subject.n_entries}")
