"""A time is an alarm only if both engines, measured again in turns, say so."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from arrowroot_lab.campaign.matrix import cases
from arrowroot_lab.campaign.model import EngineChoice
from arrowroot_lab.documents import Outcome
from arrowroot_lab.engines import builds
from arrowroot_lab.engines.catalogue import engine_of
from arrowroot_lab.engines.elsewhere import kind_of
from arrowroot_lab.errors import LabError, SkippedError
from arrowroot_lab.machine.fingerprint import coarse, fingerprint
from arrowroot_lab.mining.metrics import judged
from arrowroot_lab.running.session import Session
from arrowroot_lab.running.subjects import Engines
from arrowroot_lab.statistics import LEAST, LEAST_SHARED, paired
from arrowroot_lab.store import Taken

from . import place_again
from .findings import FindingState
from .pairs_again import N_IN_PAIR, N_PAIRS, confirmed
from .sides import CONFIRMING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arrowroot_lab.campaign.model import Campaign
    from arrowroot_lab.documents import Result
    from arrowroot_lab.running.events import Progress
    from arrowroot_lab.running.session import Summary
    from arrowroot_lab.store import Store

    from .findings import Finding
    from .sides import Sides

#: Figures of a commit as git abbreviates it, and as a whole.
_HEXADECIMAL = frozenset("0123456789abcdef")


class _MeasureAgainError(SkippedError):
    """No pairs can be had: both results are of one engine, or nobody can build the one of before."""


class _Side(NamedTuple):
    """An engine that can be started again."""

    choice: EngineChoice
    #: Versions that its results have, and no other's.
    versions: dict[str, str]


@dataclass
class Confirming:
    """Measures both engines of a suspicion in turns: the baseline's is built again, or installed."""

    store: Store
    campaign: Campaign
    site: str
    progress: Progress
    #: The repository of commits; None: the one of the current directory, or of this package.
    checkout: Path | None = None
    #: By host the bytes that this round has drawn.
    drawn: dict[str, float] = field(default_factory=dict)

    def judge(self, suspects: Sequence[tuple[Finding, Sides]]) -> list[Finding]:
        """Return each finding as an alarm if its bound is above 1 %, else as what it is, with the reason."""
        groups: dict[tuple[EngineChoice, EngineChoice], list[tuple[Finding, Sides]]] = {}
        versions: dict[EngineChoice, dict[str, str]] = {}
        told: list[Finding] = []
        same: list[tuple[Finding, Sides]] = []
        for finding, sides in suspects:
            try:
                old, new = self._engines(sides)
            except _MeasureAgainError as error:
                if place_again.is_worth_it(finding):
                    same.append((finding, sides))
                else:
                    told.append(replace(finding, note=place_again.LEFT.format(error)))
                continue
            except LabError as error:
                told.append(replace(finding, note=f"not confirmed: {error}"))
                continue
            versions[old.choice] = old.versions
            groups.setdefault((old.choice, new.choice), []).append((finding, sides))
        for (old_choice, new_choice), members in groups.items():
            told += self._measured(old_choice, new_choice, versions[old_choice], members)
        return told + self._places(same)

    def _places(self, members: Sequence[tuple[Finding, Sides]]) -> list[Finding]:
        """Measure the cases of some findings once more: the engine is the same, so it is the place that is judged."""
        if not members:
            return []
        try:
            summary = self.again([sides.before for _, sides in members])
        except LabError as error:
            return [replace(finding, note=f"not measured again: {error}") for finding, _ in members]
        why = summary.why_left or "; ".join(summary.failures)
        told = []
        for finding, sides in members:
            again = [one for one in summary.results if one.case_id == sides.before.case_id]
            now = sides.now or sides.before
            newest = next((one for one in again if one.versions == now.versions), None)
            told.append(place_again.judged(finding, sides.before, now, newest, why=why))
        return place_again.blamed(told)

    def again(self, befores: Sequence[Result]) -> Summary:
        """Measure the cases of some results once more, with their engines as they are now. Raises: LabError."""
        names = {result.case["engine"] for result in befores}
        own = tuple(one for one in self.campaign.engines if one.name in names)
        return self._run(replace(self._smaller(befores, own), repeats=self.campaign.repeats), befores)

    def _engines(self, sides: Sides) -> tuple[_Side, _Side]:
        """Return the engines of before and now. Raises: SkippedError if they are one, or one cannot be had."""
        if sides.now is None:
            raise SkippedError("there is no result now")
        own = next((one for one in self.campaign.engines if one.name == sides.now.case["engine"]), None)
        if own is None:
            raise SkippedError(f"{self.campaign.path} has no engine {sides.now.case['engine']} any more")
        if not _is_of_this_machine(sides.before):
            raise SkippedError("the baseline was measured on another machine: check it there")
        kind, names = "versions.", list(sides.changed())
        changed = {name.removeprefix(kind) for name in names if name.startswith(kind)}
        if not changed:
            raise _MeasureAgainError("the same engine")
        if own.command or (own.version and kind_of(own.version)):
            raise _MeasureAgainError("an engine whose version of before nobody can build")
        if not {name.lower() for name in changed} & {"engine", "commit", engine_of(own).family.name}:
            raise SkippedError(
                f"only {', '.join(sorted(changed))} changed, and no environment is made with what it was before"
            )
        engines = Engines(self.progress, self.campaign.path.parent, checkout=self.checkout)
        here = EngineChoice(own.name)
        try:
            versions_here = engines.versions(here)
        except LabError:
            versions_here = {}
        old = self._again(sides.before, here, versions_here)
        new = self._again(sides.now, here, versions_here)
        if old.choice == new.choice:
            raise _MeasureAgainError("the same engine")
        return old, new

    def _again(self, result: Result, here: EngineChoice, versions_here: dict[str, str]) -> _Side:
        """Return the engine of a result. Raises: SkippedError if it cannot be started any more."""
        if versions_here and versions_here.items() <= result.versions.items():
            return _Side(here, versions_here)
        family = engine_of(here).family
        version = result.versions.get("commit") or result.versions.get(family.name)
        if version is None:
            raise SkippedError(f"result {result.uuid[:8]} does not tell a version of {family.name}")
        if version.endswith("+changes"):
            raise SkippedError(
                f"{family.name} {version} was a checkout with changes, which nobody can build again"
            )
        if family.commits and not (len(version) >= 7 and set(version) <= _HEXADECIMAL):
            raise SkippedError(f"{family.name} {version} is no commit, and cannot be built again")
        choice = EngineChoice(here.name, version)
        made = builds.environment(
            choice, checkout=self.checkout, tell=lambda text: self.progress("waiting", choice.called(), text)
        )
        return _Side(choice, made.versions)

    def _measured(
        self,
        old: EngineChoice,
        new: EngineChoice,
        old_versions: dict[str, str],
        members: Sequence[tuple[Finding, Sides]],
    ) -> list[Finding]:
        """Measure the cases of some findings with two engines, in turns."""
        befores = [sides.before for _, sides in members]
        try:
            summary = self._run(self._smaller(befores, (old, new)), befores)
        except LabError as error:
            return [replace(finding, note=f"not confirmed: {error}") for finding, _ in members]
        told = []
        for finding, sides in members:
            results = [one for one in summary.results if one.case_id == sides.before.case_id]
            both = [
                [one for one in results if (old_versions.items() <= one.versions.items()) is is_old]
                for is_old in (True, False)
            ]
            told.append(_judged(finding, *both, why=summary.why_left or "; ".join(summary.failures)))
        return told

    def _run(self, campaign: Campaign, befores: Sequence[Result]) -> Summary:
        """Measure the cases of some results again, in a run of their own."""
        summary = Session(
            campaign,
            self.store,
            self.site,
            self.progress,
            chosen=tuple({result.case_id for result in befores}),
            is_again=True,
            # A journal of its own: samples of a run that was ended are left to the next run.
            only=frozenset(case.label() for case in cases(campaign)),
            checkout=self.checkout,
            drawn=self.drawn,
        ).run()
        self.drawn |= summary.drawn
        return summary

    def _smaller(self, befores: Sequence[Result], engines: tuple[EngineChoice, ...]) -> Campaign:
        """The campaign with some engines alone, and no more data and storages than are asked for."""
        campaign = self.campaign

        def wanted(key: str) -> set[str | None]:
            return {result.case.get(key) for result in befores}  # type: ignore[misc]  # a key of the case

        return replace(
            campaign,
            name=CONFIRMING.format(campaign.name),
            datasets=tuple(one for one in campaign.datasets if one.name in wanted("dataset_name")),
            storages=tuple(one for one in campaign.storages if one.name in wanted("storage_name")),
            workloads=tuple(one for one in campaign.workloads if one.name in wanted("workload_name")),
            engines=engines,
            include=(),
            exclude=(),
            repeats=N_PAIRS * N_IN_PAIR,
            mode="real",
        )


def _is_of_this_machine(result: Result) -> bool:
    """True if a result is of a machine as this one is, whatever the disk."""
    mine = coarse(fingerprint())
    return all(result.machine.get(key) == value for key, value in mine.items() if key != "storage")


def _judged(finding: Finding, before: list[Result], now: list[Result], *, why: str) -> Finding:
    """The finding with what its pairs say."""
    for side in (before, now):
        if not side or side[0].outcome is not Outcome.OK:
            reason = why or (side[0].reason if side else "") or "it was not measured"
            return replace(finding, note=f"not confirmed: {reason}")
    is_shared = now[0].is_shared
    its = judged(finding.name, is_shared=is_shared)
    taken = [
        [
            (one.campaign.get("run"), [
                Taken(
                    sample.turn, sample.started_at, (its.value(one, sample) if sample.is_counted() else None,), None
                )
                for sample in one.samples
            ])
            for one in side
        ]
        for side in (before, now)
    ]  # fmt: skip
    found = paired(*taken)
    said = confirmed(found, LEAST_SHARED if is_shared and its.has_waits else LEAST)
    if said.low is None:
        n_turns = len({sample.turn for one in (*before, *now) for sample in one.samples})
        note = (
            f"not confirmed: {len(found)} of {n_turns} turns were undisturbed: too few, as on a busy machine"
        )
        return replace(finding, note=note)
    pairs = f"{said.n_pairs} pairs in turns"
    if said.is_worse:
        note = f"confirmed by {pairs}: at least {100 * (said.low - 1):.1f} % slower"
        return replace(
            finding,
            state=FindingState.ALARM,
            ratio=said.ratio,
            ratio_low=said.low,
            note=note,
            uuid_now=now[0].uuid,
        )
    note = f"not confirmed by {pairs}: it may be {100 * (said.low - 1):+.1f} %"
    return replace(finding, state=FindingState.CLEARED, ratio=said.ratio, ratio_low=said.low, note=note)
