"""A case while it is measured: what is asked of which runner, and the result as far as it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from arrowroot_lab.documents import Outcome, whole_text
from arrowroot_lab.engines.catalogue import is_exact, is_replayable

if TYPE_CHECKING:
    from pathlib import Path

    from arrowroot_lab.campaign.datasets import FoundDataset
    from arrowroot_lab.campaign.model import Case
    from arrowroot_lab.campaign.providers import Engine
    from arrowroot_lab.documents import Result, Sample
    from arrowroot_lab.engines.contract import Job
    from arrowroot_lab.storages import Place

    from .predicting import Trace


@dataclass
class Subject:
    """One case in one run of a campaign."""

    case: Case
    found: FoundDataset
    engine: Engine
    #: The command of the runner.
    command: list[str]
    #: Words of ``contract.CAN``.
    can: frozenset[str]
    #: The runner's job, but for the URLs, which are the place's.
    job: Job
    result: Result
    #: Samples that are to be counted.
    n_wanted: int
    #: Disturbed samples are taken again.
    is_patient: bool = True
    place: Place | None = None
    #: Entries that a rehearsal has read: each sample must read as many.
    n_entries: int | None = None
    #: Where the rehearsal left a trace, or the report of a program.
    trace: Path | None = None
    #: The readings that samples in virtual time are replayed from.
    local: Trace | None = None
    is_stored: bool = False
    #: Why no further sample is taken of it, though it has not failed: a limit of its storage.
    cut: str | None = None
    #: Its samples wait for the next run.
    is_left: bool = False
    #: Its engine, or a program of its storage, is not on this machine.
    is_missing: bool = False
    #: The times that samples took in this run, with all around them.
    took_ns: list[int] = field(default_factory=list)

    @property
    def label(self) -> str:
        """The campaign's name of it."""
        return self.case.label()

    @property
    def is_replayable(self) -> bool:
        """True if a trace of one read of the local files tells what it takes."""
        return is_replayable(self.can, self.case)

    @property
    def is_exact(self) -> bool:
        """True if its samples are replays of one trace in virtual time: one is enough."""
        return is_exact(self.can, self.case)

    @property
    def n_counted(self) -> int:
        """Samples that count so far."""
        return len(self.result.counted())

    @property
    def n_most(self) -> int:
        """Samples that are taken at most, counted or not."""
        return 2 * self.n_wanted if self.is_patient else self.n_wanted

    @property
    def is_rehearsed(self) -> bool:
        """True if its values were looked at: in this run, or in one that was interrupted."""
        return self.n_entries is not None or bool(self.result.samples)

    @property
    def is_over(self) -> bool:
        """True if no sample is taken any more: enough count, too many are disturbed, it has failed, is cut or left."""
        return (
            self.result.outcome is not Outcome.OK
            or self.cut is not None
            or self.is_left
            or self.n_counted >= self.n_wanted
            or len(self.result.samples) >= self.n_most
        )

    def add(self, sample: Sample) -> None:
        """Keep a sample; one that did not end well decides the case."""
        self.result.samples.append(sample)
        if sample.outcome is not Outcome.OK and not sample.details.get("is_tried_again"):
            self.end(sample.outcome, sample.reason or "")

    def end(self, outcome: Outcome, reason: str) -> None:
        """Say how the case ended."""
        self.result.outcome, self.result.reason = outcome, whole_text(reason)

    def cut_off(self, reason: str) -> None:
        """Take no sample any more; those that were taken count."""
        if self.result.samples:
            self.cut = reason
        else:
            self.end(Outcome.SKIPPED, reason)

    def jobs(self, **more: Any) -> list[Job]:
        """Return what the runner is asked: one job, or one for each worker with its part of the entries."""
        urls = self.place.urls if self.place else [str(path) for path in self.found.files]
        job: Job = {**self.job, "urls": urls, **more}  # type: ignore[typeddict-item]
        n_workers = self.case.workload.workers
        if n_workers == 1:
            return [job]
        if self.case.workload.kind == "program":
            return [{**job} for _ in range(n_workers)]
        n = self.found.identity.n_entries
        bounds = [n * i // n_workers for i in range(n_workers + 1)]
        return [{**job, "entry_range": [bounds[i], bounds[i + 1]]} for i in range(n_workers)]
