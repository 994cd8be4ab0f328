"""Plans of runs: the cases, what is measured already, how long the others take. Nothing is made or measured."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from arrowroot_lab.campaign import datasets
from arrowroot_lab.campaign.matrix import case_document, cases, corners
from arrowroot_lab.documents import Outcome, case_id
from arrowroot_lab.engines import builds
from arrowroot_lab.engines.ask import TIMEOUT_S
from arrowroot_lab.errors import LabError, SkippedError
from arrowroot_lab.store import Filter

from .predicting import SCHEMES, local_trace, predict
from .subjects import Engines, Preparation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from arrowroot_lab.campaign.model import Campaign, Case, EngineChoice
    from arrowroot_lab.documents import Result
    from arrowroot_lab.engines.builds import Environment
    from arrowroot_lab.store import Store, Summary

    from .events import Tell
    from .subject import Subject

#: The time of a sample besides its own: a process that starts, imports, warms up, and two control kernels.
AROUND_NS = 700_000_000
#: A rehearsal, which computes checksums, and another engine's reading of the same take about so many samples' time.
N_REHEARSALS = 2

State = Literal["measured", "to measure", "predicted first", "cannot", "not known"]


@dataclass
class Planned:
    """One case, and what a run would do with it."""

    case: Case
    state: State
    #: Why it is in this state, if that does not go without saying.
    reason: str = ""
    case_id: str | None = None
    is_corner: bool = False
    #: The predicted time of one sample, and what it was predicted from.
    sample_ns: float | None = None
    basis: str = ""

    @property
    def is_open(self) -> bool:
        """True if a run takes time for it."""
        return self.state not in ("measured", "cannot")

    def total_ns(self, repeats: int) -> float | None:
        """The predicted time of all samples; 0 if none is taken, None if nobody can tell."""
        if not self.is_open:
            return 0.0
        return None if self.sample_ns is None else (repeats + N_REHEARSALS) * (self.sample_ns + AROUND_NS)


@dataclass
class Plan:
    """All cases of a campaign."""

    campaign: Campaign
    planned: list[Planned] = field(default_factory=list)
    #: Sentences: what is made first.
    notes: list[str] = field(default_factory=list)

    def total_ns(self) -> float:
        """The predicted time of all cases of which one is predicted."""
        return sum(one.total_ns(self.campaign.repeats) or 0.0 for one in self.planned)

    def n_unknown(self) -> int:
        """How many cases nobody can tell the time of."""
        return sum(one.total_ns(self.campaign.repeats) is None for one in self.planned)


def plan(campaign: Campaign, store: Store | None, site: str, *, tell: Tell, predicts: bool = True) -> Plan:
    """Return what a run of the campaign would do.

    store: None if there is no database yet. predicts: let runners predict, from local files, what no result tells;
    that takes some seconds.

    Raises: CampaignError, StoreError.
    """
    chosen = cases(campaign)
    made = Plan(campaign, [Planned(case, "not known") for case in chosen])
    for one, is_corner in zip(made.planned, corners(chosen), strict=True):
        one.is_corner = is_corner
    looked_for = {dataset.name: datasets.find(campaign, dataset) for dataset in campaign.datasets}
    there = {name: found for name, found in looked_for.items() if found is not None}
    for one in made.planned:
        if (found := there.get(one.case.dataset.name)) is not None:
            one.case_id = case_id(case_document(one.case, found.identity))
    with tempfile.TemporaryDirectory(prefix="arrowroot-lab-plan-") as directory:
        engines = _EnginesHere(tell, campaign.path.parent)
        preparation = Preparation(
            campaign, site, "plan", Path(directory), _Asked(store), engines, tell,
            only=frozenset(case.label() for case in chosen if case.dataset.name in there),
        )  # fmt: skip
        prepared = preparation.prepare()
        subjects = {one.label: one for one in prepared.subjects + prepared.decided}
        for one in made.planned:
            _judge(one, subjects.get(one.case.label()), campaign, there, engines)
        _tell_from_results(made, store, site)
        if predicts:
            _tell_from_predictions(made, prepared.subjects, Path(directory), tell)
    for dataset in campaign.datasets:
        if dataset.name not in there:
            done = "made and hashed" if dataset.recipe else "hashed"
            made.notes.append(
                f"Dataset {dataset.name} is {done} first: what is known of its cases is found by names."
            )
    made.notes += [f"The environment of {name} is made first." for name in sorted(engines.to_make)]
    return made


class _Asked:
    """The store as a run asks it, but for what could only be skipped: a plan says that of each case."""

    def __init__(self, store: Store | None) -> None:
        self._store = store

    def has(self, asked: Result, outcomes: tuple[Outcome, ...] = (Outcome.OK,)) -> bool:
        """True if a case is measured."""
        return self._store is not None and Outcome.OK in outcomes and self._store.has(asked, outcomes)


@dataclass
class _EnginesHere(Engines):
    """Engines without what would have to be built for them."""

    to_make: set[str] = field(default_factory=set)

    def _made(self, chosen: EngineChoice) -> Environment:
        found = builds.find(chosen)
        if found is None:
            self.to_make.add(chosen.called())
            raise SkippedError("its environment is made first")
        return found


def _judge(
    one: Planned, subject: Subject | None, campaign: Campaign, there: Collection[str], engines: _EnginesHere
) -> None:
    """Say what a run would do; a case without a subject is measured, or its dataset is not there."""
    if one.case.dataset.name not in there:
        one.state, one.reason = "to measure", "its dataset is made first"
    elif subject is None:
        one.state = "measured"
    elif subject.result.outcome is Outcome.OK or one.case.engine.called() in engines.to_make:
        one.state, one.reason = "to measure", subject.result.reason or ""
    else:
        one.state, one.reason = "cannot", subject.result.reason or ""
    if one.state == "to measure" and campaign.mode == "virtual first" and not one.is_corner:
        one.state = "predicted first"


def _tell_from_results(made: Plan, store: Store | None, site: str) -> None:
    """Predict from the newest results: of the case itself here, elsewhere; then of ever less alike ones."""
    if store is None:
        return
    rows = [
        row
        for row in store.summaries(Filter(campaign=(made.campaign.name,), outcome=("ok",)))
        if row.wall_median_ns is not None
    ]
    for one in made.planned:
        names = one.case.names()
        for basis, is_alike in _kinds_of_likeness(names, one.case.engine.name, one.case_id, site):
            if (row := next((row for row in rows if is_alike(row)), None)) is not None:
                one.sample_ns, one.basis = float(row.wall_median_ns or 0), basis
                break


def _kinds_of_likeness(
    names: dict[str, str], engine: str, case_id: str | None, site: str
) -> list[tuple[str, Callable[[Summary], bool]]]:
    def alike(*axes: str) -> Callable[[Summary], bool]:
        wanted = {"engine": engine, **{axis: names[axis] for axis in axes if axis != "engine"}}
        return lambda row: all(getattr(row, axis) == wanted[axis] for axis in axes)

    the_same = alike("dataset", "storage", "engine", "workload")
    strategy = names["strategy"]
    return [
        ("measured here", lambda row: row.case_id == case_id and row.site == site),
        ("measured elsewhere", lambda row: row.case_id == case_id),
        ("the same by its names", lambda row: the_same(row) and row.strategy == strategy),
        ("another strategy", the_same),
        ("another engine", alike("dataset", "storage", "workload")),
        ("another storage", alike("dataset", "engine", "workload")),
    ]


def _tell_from_predictions(made: Plan, subjects: Sequence[Subject], directory: Path, tell: Tell) -> None:
    """Let runners predict the cases that no result tells of; other engines are taken to be as slow."""
    by_label = {subject.label: subject for subject in subjects}
    predicted: dict[tuple[str, str, str], float] = {}
    for one in made.planned:
        subject = by_label.get(one.case.label())
        if (
            not one.is_open
            or one.sample_ns is not None
            or subject is None
            or subject.case.workload.kind != "read"
        ):
            continue
        tell("predicted", subject.label, f"predicting {subject.label}")
        told = _prediction(subject, directory)
        if told is not None:
            one.sample_ns, one.basis = told
            names = one.case.names()
            predicted.setdefault((names["dataset"], names["storage"], names["workload"]), one.sample_ns)
    for one in made.planned:
        names = one.case.names()
        key = (names["dataset"], names["storage"], names["workload"])
        if one.is_open and one.sample_ns is None and key in predicted:
            one.sample_ns, one.basis = predicted[key], "predicted of another engine"


def _prediction(subject: Subject, directory: Path) -> tuple[float, str] | None:
    """Let a runner predict a case from the local files; of a disk nothing is simulated but the reading."""
    storage = subject.case.storage
    # The first line that reads wait for: of a cold cache that of its origin.
    line = storage.line or (None if storage.is_cache_warm else storage.origin_line)
    figures = {"latency_ns": 0.0, "bytes_per_s": 0.0, **storage.figures(line)}
    try:
        if (trace := local_trace(subject, directory, TIMEOUT_S)) is None:
            return None
        told = predict(subject, trace, figures, SCHEMES.get(storage.kind, "file"), 120.0)
    except LabError:
        # A plan without a time is still a plan; the run tells what is wrong.
        return None
    if told is None or "wall_ns" not in told:
        return None
    return float(told["wall_ns"]), f"predicted by {told['by']}"
