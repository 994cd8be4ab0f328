"""A run of a campaign on this machine: rehearsals, samples in turns, predictions beside them, and all of it kept."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections import Counter, deque
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from arrowroot_lab import clock
from arrowroot_lab.campaign import datasets
from arrowroot_lab.canonical import key_of
from arrowroot_lab.clock import SteadyClock
from arrowroot_lab.documents import Outcome, Sample, decode, encode, now, whole_text
from arrowroot_lab.errors import (
    DocumentError,
    KnownUuidError,
    LabError,
    MissingError,
    RefusedError,
    RunnerError,
    StoreError,
    TimedOutError,
    as_lab_errors,
)
from arrowroot_lab.quantities import size_text, time_text
from arrowroot_lab.runs import new_run

from . import estimating, failing, virtual_first
from .checking import Checker, check_number, kept
from .events import ended
from .failing import Failure
from .guardian import Guardian
from .journal import Journal
from .places import Places
from .predicting import awaited, local_trace, predict
from .sampling import Sampler, outcome_of
from .sparing import Sparing, drawn_bytes
from .subjects import Engines, Known, Preparation, Prepared
from .traced import reads_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from arrowroot_lab.campaign.model import Campaign, Case
    from arrowroot_lab.documents import Result

    from .events import Progress
    from .subject import Subject


#: A disturbed sample is taken again in the same turn so often; what is missing then is taken in later turns.
N_AGAIN = 2
#: Not while most of so many samples, the last ones of the run, were disturbed: a busy machine gets no quieter by that.
N_LAST = 12
#: What helps then.
SHARED = (
    "others use this node; with 'shared = true' in the campaign or the site's file every sample counts, and CPU time "
    "and counts are judged first"
)


class Keeper(Known, Protocol):
    """Where results go: a store, or a list that goes to one elsewhere."""

    #: For people, and for the name of the journal.
    place: str

    def put(self, result: Result) -> bool:
        """Keep a result."""

    def newest(self, site: str) -> str | None:
        """When the newest result of a site was complete; None if there is none."""


@dataclass
class Summary:
    """The outcome of a run."""

    #: All results that were stored, in their order.
    results: list[Result] = field(default_factory=list)
    n_known: int = 0
    #: Datasets that could not be had, and storages that are left alone.
    failures: list[str] = field(default_factory=list)
    #: Labels of cases that are left, and why: a limit was reached.
    left: list[str] = field(default_factory=list)
    why_left: str | None = None
    #: What is to be known besides: sentences.
    remarks: list[str] = field(default_factory=list)
    #: By host the bytes that were drawn.
    drawn: dict[str, float] = field(default_factory=dict)
    #: Why cases that were asked for cannot be measured on this machine -> how many.
    missing: Counter[str] = field(default_factory=Counter)

    @property
    def has_failed(self) -> bool:
        """True if a case has failed or taken too long, or could not even begin."""
        bad = (Outcome.FAILED, Outcome.TIMED_OUT)
        return bool(self.failures) or any(result.outcome in bad for result in self.results)


class LimitError(LabError):
    """A limit of the campaign is reached: what is left waits for the next run."""


class LeftError(LabError):
    """A storage wants other credentials than before: what is left of its cases waits for the next run."""


@dataclass
class Session:
    """One run of a campaign, from the datasets to the last result."""

    campaign: Campaign
    store: Keeper
    site: str
    progress: Progress
    chosen: tuple[str, ...] = ()
    is_again: bool = False
    #: Labels of the cases that are this run's; None: all. Others are another worker's.
    only: frozenset[str] | None = None
    #: The repository of commits of arrowroot; None: the one that the current directory or this package is in.
    checkout: Path | None = None
    #: By host the bytes that other workers have drawn in this round.
    drawn: dict[str, float] = field(default_factory=dict)
    #: The UUID of the run.
    run_id: str = field(default_factory=new_run)

    def run(self) -> Summary:
        """Measure what is not measured yet.

        Whatever ends it, Ctrl-C or a kill, samples that were taken are kept; the next run goes on with them.

        Raises: CampaignError, RequestError; StoreError if a result cannot be kept.
        """
        self.summary = Summary()
        self._disturbed: deque[bool] = deque(maxlen=N_LAST)
        self._has_suggested = False
        key = key_of(
            [str(self.campaign.path.resolve()), self.site, self.store.place, sorted(self.only or ())]
        )
        with ExitStack() as stack:
            self._journal = stack.enter_context(Journal(datasets.cache_directory() / "runs" / f"{key}.jsonl"))
            stack.enter_context(self._alone())
            steady = stack.enter_context(SteadyClock())
            self._began = time.monotonic()
            # The servers' directories are in it, too.
            self.directory = Path(tempfile.mkdtemp(prefix="arrowroot-lab-"))
            self._guardian = stack.enter_context(Guardian(self.run_id, self.directory))
            stack.enter_context(_temporary_files_in(self.directory))
            engines = Engines(self.progress, self.campaign.path.parent, checkout=self.checkout)
            preparation = Preparation(
                self.campaign,
                self.site,
                self.run_id,
                self.directory,
                self.store,
                engines,
                self.progress,
                self.chosen,
                self.is_again,
                self.only,
            )
            self.summary.remarks += clock.remarks(self.store.newest(self.site), self.site)
            prepared = preparation.prepare()
            self.summary.n_known, self.summary.failures = prepared.n_known, prepared.failures
            self.summary.missing = prepared.missing
            for subject in prepared.decided:
                self.keep(subject)
            self._resume(prepared)
            if prepared.subjects:
                self._places = stack.enter_context(Places(self.progress))
                self._sparing = Sparing(prepared.subjects, self.drawn)
                limits = self.campaign.limits
                self.sampler = Sampler(self.directory, self._guardian, limits)
                self._checker = Checker(
                    limits.check_s or limits.timeout_s,
                    engines.is_here,
                    lambda: engines.peers(self.campaign.engines),
                )
                self._measure(prepared.subjects, prepared.cases)
                self.summary.drawn = self._sparing.drawn()
            self.summary.remarks += steady.remarks()
        return self.summary

    def _measure(self, subjects: list[Subject], chosen: list[Case]) -> None:
        is_virtual_first = self.campaign.mode == "virtual first"
        labels = virtual_first.at_corners(chosen) if is_virtual_first else {one.label for one in subjects}
        self.progress.begin(subjects, labels)
        why: list[str] = []
        try:
            if is_virtual_first:
                virtual_first.measure(self, subjects, labels)
            else:
                self.in_turns(subjects)
        except LimitError as error:
            why.append(str(error))
        problems = self._sparing.problems()
        self.summary.failures += problems
        self.summary.left = [subject.label for subject in subjects if not subject.is_stored]
        if self.summary.left:
            self.summary.why_left = "; ".join(why + problems)
            n = len(self.summary.left)
            next_run = "the next run with --again" if self.is_again else "the next run"
            told = f"{self.summary.why_left}; {n} {'cases are' if n > 1 else 'case is'} left for {next_run}"
            self.progress("left", self.campaign.name, told)

    def in_turns(self, subjects: Sequence[Subject]) -> None:
        """Rehearse all; then take all first samples, all second ones, and so on."""
        self._tell_turn(subjects, "rehearsal: values are compared")
        for subject in subjects:
            self.guarded(subject, self._rehearse)
        turn = max((sample.turn + 1 for one in subjects for sample in one.result.samples), default=0)
        while left := [subject for subject in subjects if not subject.is_over]:
            n_turns = max(one.n_wanted for one in left)
            what = f"turn {turn + 1} of {n_turns}" if turn < n_turns else "a turn for disturbed samples"
            self._tell_turn(left, what)
            for subject in left:
                self._sample(subject, turn)
                if subject.is_over:
                    self._finish(subject)
            turn += 1
        for subject in subjects:
            if not subject.is_stored:
                self._finish(subject)

    def _tell_turn(self, subjects: Sequence[Subject], what: str) -> None:
        n = len(subjects)
        self.progress("turn", self.campaign.name, f"{what}, {n} {'cases' if n > 1 else 'case'}")

    def guarded(self, subject: Subject, step: Callable[[Subject], None]) -> None:
        """Do a step of a case; what goes wrong is the case's outcome."""
        try:
            self._check_limits()
            with as_lab_errors():
                step(subject)
        except (LimitError, StoreError):
            raise
        except LeftError:
            subject.is_left = True
        except LabError as error:
            subject.end(outcome_of(error), str(error))
            if isinstance(error, MissingError):
                self.summary.missing[str(error)] += 1
            self._finish(subject)

    def _rehearse(self, subject: Subject) -> None:
        """Read once for the values, which are compared, and for a trace, from which is predicted. It is no sample."""
        if subject.is_over:
            return
        self._see_that_it_is_open(subject)
        spared, drawn = self._sparing.of(subject), estimating.drawn(subject.case, subject.found)
        n_bytes = drawn.n_bytes if drawn else 0.0
        problem = spared.why_not_begin(subject.label, n_bytes, is_rehearsed=subject.is_rehearsed)
        if problem is not None:
            subject.cut_off(problem)
            return
        self._open(subject)
        place = subject.place
        if subject.is_rehearsed or place is None:
            return
        self.progress("rehearsal", subject.label, "values are compared")
        is_copy = subject.case.workload.kind == "write"
        more: dict[str, Any] = {"wants_checksum": "checksum" in subject.can and not is_copy}
        if "predict" in subject.can and not is_copy and not place.is_virtual:
            subject.trace = self.directory / f"trace-{subject.result.uuid}.parquet"
            if subject.case.workload.kind == "program":
                subject.trace = subject.trace.with_suffix(
                    ".xml" if subject.job.get("report") == "fjr" else ".parquet"
                )
            more["trace"] = str(subject.trace)
        self._with_retries(subject, lambda: self._rehearsed(subject, more))
        if subject.is_exact:
            subject.local = local_trace(subject, self.directory, self.campaign.limits.timeout_s)
        if subject.trace and not place.is_virtual:
            subject.result.reads = reads_of(subject.trace)
            line = awaited(subject, self._places.line_of(subject))
            told = predict(
                subject, subject.trace, line, scheme_of(place.urls[0]), self.campaign.limits.timeout_s
            )
            if told:
                subject.result.predictions.append(told)
            for path in self.directory.glob(f"{subject.trace.stem}*"):
                path.unlink()
        self._journal.begin(subject.result)

    def _open(self, subject: Subject) -> None:
        """Give a case its place. A server of others may refuse already as files are put there, or looked for.

        Raises: RefusedError if nothing is asked of the storage any more; as ``Places.open`` does.
        """
        storage, spared = subject.case.storage, self._sparing.of(subject)
        while True:
            try:
                self._places.open(subject)
            except LabError as error:
                kind = failing.kind_of(str(error), storage.kind)
                if storage.url is None or kind not in (Failure.REFUSAL, Failure.TRANSIENT):
                    raise
                if kind is Failure.REFUSAL and spared.backs_off():
                    self.progress("retry", subject.label, f"tried again: {error}")
                    self._places.forget(subject)
                    self._pause(subject)
                    continue
                does = "refuses" if kind is Failure.REFUSAL else "does not answer"
                spared.closed = f"storage {storage.name} {does}, and is left alone: {error}"
                self._see_that_it_is_open(subject)
            return

    def _rehearsed(self, subject: Subject, more: dict[str, Any]) -> None:
        place = subject.place
        is_copy = subject.case.workload.kind == "write"
        if place:
            place.prepare_sample()
        began, n_bytes = self._pause(subject), None
        try:
            if is_copy:
                asked = self.sampler.asked(subject, keeps_out=True)
            elif place and place.is_virtual:
                # The values are those of the local files.
                asked = self.sampler.asked_to_run(subject, **more)
            else:
                asked = self.sampler.asked(subject, **more)
            answers = [one.answer for one in asked]
            n_bytes = sum(drawn_bytes(answer.get("counters", {}), {}) or 0.0 for answer in answers)
        finally:
            self._sparing.of(subject).was_read(subject.label, began, n_bytes)
        copies = sorted(self.directory.glob("out-*")) if is_copy else []
        try:
            if all("n_entries" in answer for answer in answers):
                subject.n_entries = sum(answer["n_entries"] for answer in answers)
                check_number(subject, subject.n_entries)
            if len(answers) == 1:
                if "checksum" in answers[0]:
                    subject.result.checksum = kept(answers[0]["checksum"])
                subject.result.checked = self._checker.compare(subject, answers, copies=copies)
        finally:
            for path in copies:
                path.unlink()

    def _with_retries(self, subject: Subject, step: Callable[[], None]) -> None:
        for attempt in range(failing.N_RETRIES + 1):
            try:
                step()
            except RunnerError as error:
                if not self._is_tried_again(subject, error, is_last=attempt == failing.N_RETRIES):
                    raise
                self.progress("retry", subject.label, f"tried again: {error}")
            else:
                return

    def _see_that_it_is_open(self, subject: Subject) -> None:
        """Raise RefusedError or LeftError if nothing is asked of a case's storage any more."""
        spared = self._sparing.of(subject)
        if spared.closed is not None:
            raise LeftError(spared.closed) if spared.is_left else RefusedError(spared.closed)

    def _is_tried_again(self, subject: Subject, error: LabError, *, is_last: bool) -> bool:
        """Return whether a reading that failed is tried again.

        A server of others that refuses is left alone for a while, once in a run: engines have tried again themselves.
        One that refuses again, or that says nothing, is left alone until the end of the run.

        Raises: RefusedError, LeftError if nothing is asked of the storage any more.
        """
        storage, spared = subject.case.storage, self._sparing.of(subject)
        kind = failing.kind_of(str(error), storage.kind)
        if storage.url is None or subject.place is None:
            return kind in (Failure.TRANSIENT, Failure.REFUSAL) and not is_last
        if kind is Failure.REFUSAL:
            if not is_last and spared.backs_off():
                return True
            spared.closed = f"storage {storage.name} refuses, and is left alone: {error}"
        elif kind is Failure.CREDENTIALS and subject.is_rehearsed:
            spared.closed, spared.is_left = f"storage {storage.name} wants new credentials: {error}", True
        elif (kind is Failure.TRANSIENT or isinstance(error, TimedOutError)) and not subject.place.answers():
            spared.closed = f"storage {storage.name} does not answer, and is left alone: {error}"
        self._see_that_it_is_open(subject)
        return kind is Failure.TRANSIENT and not is_last

    def _sample(self, subject: Subject, turn: int) -> None:
        """Take a sample, and again if it was disturbed, so that the turn has its pairs; each is kept."""
        for _ in range(1 + N_AGAIN):
            n_before = len(subject.result.samples)
            try:
                self._see_that_it_is_open(subject)
                self._take(subject, turn)
            except LeftError:
                subject.is_left = True
            except RefusedError as error:
                subject.end(Outcome.REFUSED, str(error))
            if len(subject.result.samples) == n_before:
                return
            is_disturbed = bool(subject.result.samples[-1].disturbed)
            if not subject.is_exact:
                self._disturbed.append(is_disturbed)
            subject.is_patient = sum(self._disturbed) <= N_LAST // 2
            if not (subject.is_patient or self._has_suggested):
                self._has_suggested = True
                self.progress("busy", self.campaign.name, f"most samples do not count: {SHARED}")
            if subject.is_over or not (is_disturbed and subject.is_patient):
                return

    def _take(self, subject: Subject, turn: int) -> None:
        """Take a sample, again if its failure may go by itself; each attempt is kept."""
        self._check_limits()
        spared = self._sparing.of(subject)
        for attempt in range(failing.N_RETRIES + 1):
            if (problem := spared.why_no_sample(subject.label)) is not None:
                subject.cut_off(problem)
                return
            began = self._pause(subject)
            sample = self.sampler.take(subject, turn)
            spared.was_read(subject.label, began, drawn_bytes(sample.counters, sample.readings))
            if sample.outcome in (Outcome.FAILED, Outcome.TIMED_OUT):
                kind = TimedOutError if sample.outcome is Outcome.TIMED_OUT else RunnerError
                try:
                    if self._is_tried_again(
                        subject, kind(sample.reason or ""), is_last=attempt == failing.N_RETRIES
                    ):
                        sample.details["is_tried_again"] = True
                except RefusedError as error:
                    sample.outcome, sample.reason = Outcome.REFUSED, whole_text(str(error))
            subject.add(sample)
            self._journal.add(subject.result, sample)
            self.progress(*_told(subject, sample))
            if not sample.details.get("is_tried_again"):
                return

    def _pause(self, subject: Subject) -> float:
        """Wait until the storage of a case may be read again; return the time, of the monotonic clock."""
        spared = self._sparing.of(subject)
        while (left_s := spared.wait_s()) > 0:
            self.progress("pause", subject.label, f"{time_text(left_s * 1e9)}, for storage {spared.name}")
            time.sleep(left_s)
        return time.monotonic()

    def _finish(self, subject: Subject) -> None:
        """Complete a result and store it."""
        if subject.is_stored or subject.is_left:
            return
        result = subject.result
        counted = result.counted()
        if result.outcome is Outcome.OK and len(counted) < subject.n_wanted:
            result.reason = f"{len(counted)} of {subject.n_wanted} samples were undisturbed"
            if subject.cut is not None:
                result.reason = f"{len(counted)} of {subject.n_wanted} samples: {subject.cut}"
        if counted and self._sparing.of(subject).closed is None:
            try:
                self._places.measure_after(subject)
            except LabError as error:  # the samples are taken
                told = (result.reason, f"its line was not measured afterwards: {error}")
                result.reason = "; ".join(filter(None, told))
        self.keep(subject)

    def keep(self, subject: Subject) -> None:
        """Store a result as it is. In the journal it is whole first: a kill in between doubles nothing."""
        subject.result.created_at = now()
        result = subject.result = _storable(subject.result)
        self._journal.begin(result)
        try:
            self.store.put(result)
        except KnownUuidError:
            raise
        except StoreError as error:
            raise StoreError(f"{error}; the next run goes on with what was kept") from error
        self._journal.stored(result.uuid)
        subject.is_stored = True
        self.summary.results.append(result)
        kind, text = ended(result)
        self.progress(kind, subject.label, text)

    def keep_unless_known(self, subject: Subject) -> None:
        """Store a result that says no more than that nothing was measured, unless one is there that says the same."""
        result = subject.result
        if not self.is_again and self.store.has(result, (result.outcome,)):
            subject.is_stored = True
            self.summary.n_known += 1
        else:
            self.keep(subject)

    def _resume(self, prepared: Prepared) -> None:
        """Go on with the samples of a run that was ended, also of one that measured again.

        What fits none of its cases any more is dropped, unless only some of the cases are chosen.
        """
        left: dict[str, list[Result]] = {}
        for known in self._journal.left():
            left.setdefault(known.case_id, []).append(known)
        for subject in prepared.subjects:
            of_case = left.get(subject.result.case_id, [])
            # Versions of one engine are one case.
            same = next((known for known in of_case if _is_begun(known, subject.result)), None)
            if same is None:
                continue
            of_case.remove(same)
            same.campaign = subject.result.campaign
            asked, subject.result = subject.result, same
            if self.is_again and subject.is_over:  # it may be stored: then it is not wanted once more
                subject.result = asked
                self._journal.stored(same.uuid)
                continue
            read = [sample.details["n_entries"] for sample in same.samples if "n_entries" in sample.details]
            subject.n_entries = read[0] if read else None
        if not self.chosen:
            for case in {subject.result.case_id for subject in prepared.subjects}:
                for known in left.pop(case, []):
                    self._journal.stored(known.uuid)
            if n := sum(bool(known.samples) for of_case in left.values() for known in of_case):
                self.summary.remarks.append(
                    f"samples of {n} {'cases wait' if n > 1 else 'case wait'}: `lab run --again` goes on with them"
                )

    def _check_limits(self) -> None:
        limits = self.campaign.limits
        if limits.total_s is not None and time.monotonic() - self._began > limits.total_s:
            raise LimitError(f"the campaign's limit of {time_text(limits.total_s * 1e9)} is reached")
        if limits.disk_bytes is not None and (used := datasets.size_of(self.directory)) > limits.disk_bytes:
            raise LimitError(
                f"{self.directory} has {size_text(used)}, the campaign's limit is {size_text(limits.disk_bytes)}"
            )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Be the only run that measures on this machine."""
        path = datasets.cache_directory() / "alone.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.progress(
                    "waiting", self.campaign.name, "waiting for another run that measures on this machine"
                )
                fcntl.flock(file, fcntl.LOCK_EX)
            yield


@contextmanager
def _temporary_files_in(directory: Path) -> Iterator[None]:
    """Let temporary files, of this process and of those that it starts, be made there."""
    before, before_python = os.environ.get("TMPDIR"), tempfile.tempdir
    os.environ["TMPDIR"], tempfile.tempdir = str(directory), str(directory)
    try:
        yield
    finally:
        tempfile.tempdir = before_python
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before


def _is_begun(known: Result, asked: Result) -> bool:
    """True if a result of a case that was begun is one of its samples as they would be taken now."""
    return known.versions.items() >= asked.versions.items() and (
        (known.dataset, known.machine, known.runner) == (asked.dataset, asked.machine, asked.runner)
    )


def _storable(result: Result) -> Result:
    """The result; one without its samples, which has failed, where no store would take its document."""
    try:
        decode(encode(result))
    except (DocumentError, ValueError) as error:
        return replace(
            result,
            outcome=Outcome.FAILED,
            reason=f"its result cannot be kept: {error}",
            samples=[],
            line={},
            predictions=[],
            reads=None,
            checksum=None,
            checked=None,
        )
    return result


def scheme_of(url: str) -> str:
    """Return the scheme of a URL, "file" of a path."""
    return url.partition("://")[0] if "://" in url else "file"


def _told(subject: Subject, sample: Sample) -> tuple[str, str, str]:
    if sample.outcome is not Outcome.OK:
        kind = "retry" if sample.details.get("is_tried_again") else "sample"
        return kind, subject.label, f"{sample.outcome.value}: {sample.reason}"
    told = time_text(sample.wall_ns or 0)
    if sample.disturbed:
        return "disturbed", subject.label, f"{told}, not counted"
    return "sample", subject.label, told
