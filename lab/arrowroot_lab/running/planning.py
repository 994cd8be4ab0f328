"""Plans of runs: the cases, what is measured already, how long the others take. Nothing is made or measured."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from arrowroot_lab.campaign import datasets
from arrowroot_lab.campaign.matrix import case_document, cases, corners
from arrowroot_lab.documents import Outcome, case_id
from arrowroot_lab.engines import builds
from arrowroot_lab.engines.ask import TIMEOUT_S
from arrowroot_lab.engines.catalogue import engine_of
from arrowroot_lab.errors import LabError, MissingError, SkippedError
from arrowroot_lab.statistics import least_n
from arrowroot_lab.store import Filter

from . import estimating
from .predicting import SCHEMES, local_trace, predict
from .subjects import Engines, Preparation
from .takes import takes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from arrowroot_lab.campaign.datasets import FoundDataset
    from arrowroot_lab.campaign.model import Campaign, Case, EngineChoice
    from arrowroot_lab.documents import Result
    from arrowroot_lab.engines.builds import Environment
    from arrowroot_lab.store import Store, Summary

    from .events import Tell
    from .subject import Subject
    from .takes import Take

#: The basis of a time that is only told from sizes, lines and engines' usual costs.
ESTIMATED = "estimated"

State = Literal["measured", "to measure", "predicted first", "cannot", "not known"]


@dataclass
class Planned:
    """One case, and what a run would do with it."""

    case: Case
    state: State
    #: Why it is in this state, if that does not go without saying.
    reason: str = ""
    #: It cannot be measured, as its engine, its storage or what makes its dataset is not on this machine.
    is_missing: bool = False
    case_id: str | None = None
    is_corner: bool = False
    #: The predicted time of one sample, and what it was predicted from.
    sample_ns: float | None = None
    basis: str = ""
    #: The predicted time of all that a run does for it; None: nobody can tell.
    case_ns: float | None = None
    #: A result of the very case, from which that was told.
    like: str | None = None
    #: The time that limits of its storage add to each reading.
    held_ns: float = 0.0

    @property
    def is_open(self) -> bool:
        """True if a run takes time for it."""
        return self.state not in ("measured", "cannot")

    def total_ns(self) -> float | None:
        """The predicted time that a run takes for it; 0 if it takes none, None if nobody can tell."""
        return self.case_ns if self.is_open else 0.0


@dataclass
class Plan:
    """All cases of a campaign."""

    campaign: Campaign
    planned: list[Planned] = field(default_factory=list)
    #: Sentences: what is made first.
    notes: list[str] = field(default_factory=list)
    #: Things that are made first -> the predicted time of each; None: nobody can tell.
    making_ns: dict[str, float | None] = field(default_factory=dict)
    #: What a round which measures all of it takes of each storage.
    takes: list[Take] = field(default_factory=list)

    def total_ns(self) -> float:
        """The predicted time of all of which one is predicted, with what is made first."""
        cases = sum(one.total_ns() or 0.0 for one in self.planned)
        return cases + sum(ns or 0.0 for ns in self.making_ns.values())

    def n_unknown(self) -> int:
        """How many cases nobody can tell the time of."""
        return sum(one.total_ns() is None for one in self.planned)

    def is_rough(self) -> bool:
        """True if any time is only estimated from sizes."""
        return any(one.basis == ESTIMATED and one.is_open for one in self.planned)


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
        for engine in campaign.engines:  # also those whose datasets are not there yet
            with suppress(LabError):
                engines.command(engine)
        subjects = {one.label: one for one in prepared.subjects + prepared.decided}
        for one in made.planned:
            if one.case.dataset.name in there:
                _judge(one, subjects.get(one.case.label()), engines)
            else:
                _judge_without_data(one, preparation, engines)
            if one.state == "to measure" and campaign.mode == "virtual first" and not one.is_corner:
                one.state = "predicted first"
        _tell_from_results(made, store, site, there)
        if predicts:
            _tell_from_predictions(made, prepared.subjects, Path(directory), there, tell)
    for one in made.planned:
        found = there.get(one.case.dataset.name)
        if one.sample_ns is None and one.is_open:
            one.sample_ns = estimating.sample_ns(one.case, found)
            one.basis = "" if one.sample_ns is None else ESTIMATED
        if one.state == "predicted first":
            one.case_ns = estimating.prediction_ns(one.case, found)
        elif one.sample_ns is not None:
            one.case_ns = estimating.case_ns(one.case, found, campaign.repeats, one.sample_ns)
    made.takes = takes(campaign, made.planned, store, there, engines.can)
    for one in made.planned:
        if one.case_ns is not None and one.state != "predicted first":
            one.case_ns += (campaign.repeats + 1) * one.held_ns
    _tell_what_is_made(made, there, engines)
    if (few := few_repeats(campaign)) is not None:
        made.notes.append(few)
    if (elsewhere := not_put(campaign)) is not None:
        made.notes.append(elsewhere)
    return made


def few_repeats(campaign: Campaign) -> str | None:
    """Return a sentence if the repeats of a campaign are too few for a comparison."""
    if campaign.repeats >= least_n():
        return None
    return f"{campaign.repeats} repeats: a comparison needs {least_n()} pairs, and will say that there are not enough."


def not_put(campaign: Campaign) -> str | None:
    """Return a sentence if files that are made here are read from servers where nobody puts them."""
    pairs = [
        (one.dataset.name, one.storage.name)
        for one in cases(campaign)
        if one.dataset.recipe is not None and one.storage.kind == "url" and one.storage.push is None
    ]
    if not pairs:
        return None
    made, servers = (", ".join(dict.fromkeys(names)) for names in zip(*pairs, strict=True))
    return f"Made here, and put nowhere: {made}. It must be at {servers} already, or these say `push`."


def _tell_what_is_made(made: Plan, there: Collection[str], engines: _EnginesHere) -> None:
    for done in ("made and hashed", "hashed"):
        names = [
            one.name
            for one in made.campaign.datasets
            if one.name not in there and (one.recipe is not None) == (done == "made and hashed")
        ]
        if names:
            which = f"Dataset {names[0]} is" if len(names) == 1 else f"Datasets {', '.join(names)} are"
            made.notes.append(f"{which} {done} first: what is known of their cases is found by names.")
    for dataset in made.campaign.datasets:
        if dataset.name not in there:
            made.making_ns[f"dataset {dataset.name}"] = estimating.making_ns(dataset)
    by_name = {engine.called(): engine for engine in made.campaign.engines}
    for name in sorted(engines.to_make):
        made.notes.append(f"The environment of {name} is made first.")
        made.making_ns[f"environment {name}"] = estimating.environment_ns(by_name[name])


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

    def can(self, chosen: EngineChoice) -> Collection[str]:
        """What an engine can do: as it says, or is registered if it is not here."""
        try:
            return self.identified(chosen)["can"]
        except LabError:
            return engine_of(chosen).can or ()

    def _made(self, chosen: EngineChoice) -> Environment:
        found = builds.find(chosen)
        if found is None:
            self.to_make.add(chosen.called())
            raise SkippedError("its environment is made first")
        return found


def _judge_without_data(one: Planned, preparation: Preparation, engines: _EnginesHere) -> None:
    """Say what a run would do with a case whose dataset is made first."""
    one.state, one.reason = "to measure", "its dataset is made first"
    try:
        dataset = one.case.dataset
        datasets.check_needs(preparation.campaign, f"dataset {dataset.name}: its script", dataset.needs)
        preparation.check_here(one.case)
    except SkippedError as error:
        if one.case.engine.called() not in engines.to_make:
            one.state, one.reason, one.is_missing = "cannot", str(error), isinstance(error, MissingError)
    except LabError:
        return  # the run tells what is broken


def _judge(one: Planned, subject: Subject | None, engines: _EnginesHere) -> None:
    """Say what a run would do with a case whose dataset is there; one without a subject is measured."""
    if subject is None:
        one.state = "measured"
    elif subject.result.outcome is Outcome.OK or one.case.engine.called() in engines.to_make:
        one.state, one.reason = "to measure", subject.result.reason or ""
    else:
        one.state, one.reason, one.is_missing = "cannot", subject.result.reason or "", subject.is_missing


def _tell_from_results(made: Plan, store: Store | None, site: str, there: dict[str, FoundDataset]) -> None:
    """Predict from the newest results: of the case itself here, elsewhere; then of ever less alike ones.

    Those of another strategy, engine or storage are scaled by what both are estimated to take.
    """
    if store is None:
        return
    rows = [
        row
        for row in store.summaries(Filter(campaign=(made.campaign.name,), outcome=("ok",)))
        if row.wall_median_ns is not None
    ]
    estimates = {
        _names_of(one.case.names(), one.case.engine.name): estimating.sample_ns(
            one.case, there.get(one.case.dataset.name)
        )
        for one in made.planned
    }
    for one in made.planned:
        names = one.case.names()
        for basis, is_alike, is_scaled in _kinds_of_likeness(names, one.case.engine.name, one.case_id, site):
            if (row := next((row for row in rows if is_alike(row)), None)) is not None:
                one.sample_ns, one.basis = float(row.wall_median_ns or 0), basis
                one.like = None if is_scaled else row.uuid
                known = {axis: getattr(row, axis) for axis in names}
                this, that = (
                    estimates.get(_names_of(told, engine))
                    for told, engine in ((names, one.case.engine.name), (known, row.engine))
                )
                if is_scaled and this and that:
                    one.sample_ns *= this / that
                    one.basis = f"{basis}, scaled"
                break


def _names_of(names: dict[str, str], engine: str) -> tuple[str, ...]:
    """The names that results and cases share; an engine without its version."""
    return (names["dataset"], names["storage"], engine, names["workload"], names["strategy"])


def _kinds_of_likeness(
    names: dict[str, str], engine: str, case_id: str | None, site: str
) -> list[tuple[str, Callable[[Summary], bool], bool]]:
    """Its name, whether a row is so alike, and whether its time is to be scaled."""

    def alike(*axes: str) -> Callable[[Summary], bool]:
        wanted = {"engine": engine, **{axis: names[axis] for axis in axes if axis != "engine"}}
        return lambda row: all(getattr(row, axis) == wanted[axis] for axis in axes)

    the_same = alike("dataset", "storage", "engine", "workload")
    strategy = names["strategy"]
    return [
        ("measured here", lambda row: row.case_id == case_id and row.site == site, False),
        ("measured elsewhere", lambda row: row.case_id == case_id, False),
        ("the same by its names", lambda row: the_same(row) and row.strategy == strategy, False),
        ("another strategy", the_same, True),
        ("another engine", alike("dataset", "storage", "workload"), True),
        ("another storage", alike("dataset", "engine", "workload"), True),
    ]


def _tell_from_predictions(
    made: Plan, subjects: Sequence[Subject], directory: Path, there: dict[str, FoundDataset], tell: Tell
) -> None:
    """Let runners predict the cases that no result tells of; other engines' times are those, scaled."""
    by_label = {subject.label: subject for subject in subjects}
    predicted: dict[tuple[str, str, str], float] = {}

    def estimate(one: Planned) -> float | None:
        return estimating.sample_ns(one.case, there.get(one.case.dataset.name))

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
            if own := estimate(one):
                key = (names["dataset"], names["storage"], names["workload"])
                predicted.setdefault(key, one.sample_ns / own)
    for one in made.planned:
        names = one.case.names()
        key = (names["dataset"], names["storage"], names["workload"])
        if one.is_open and one.sample_ns is None and key in predicted and (own := estimate(one)):
            one.sample_ns, one.basis = predicted[key] * own, "predicted of another engine, scaled"


def _prediction(subject: Subject, directory: Path) -> tuple[float, str] | None:
    """Let a runner predict a case from the local files; of a disk nothing is simulated but the reading."""
    storage = subject.case.storage
    # The first line that reads wait for: of a cold cache that of its origin.
    line = storage.line or (None if storage.is_cache_warm else storage.origin_line)
    figures = {"latency_ns": 0.0, "bytes_per_s": 0.0, **storage.figures(line)}
    try:
        if (trace := local_trace(subject, directory, TIMEOUT_S, n_readings=1)) is None:
            return None
        told = predict(subject, trace.path, figures, SCHEMES.get(storage.kind, "file"), 120.0)
    except LabError:
        # A plan without a time is still a plan; the run tells what is wrong.
        return None
    if told is None or "wall_ns" not in told:
        return None
    return float(told["wall_ns"]), f"predicted by {told['by']}"
