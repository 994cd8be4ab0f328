"""An alarm of a place, once more: of an engine by pairs of the old and the new one, else by the place as it is now."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from arrowroot_lab.errors import LabError

from .alarms import PlaceAlarm, PlaceState
from .evidence import times_again
from .findings import FindingState, Kind
from .judging import Judge
from .sides import Sides

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .confirming import Confirming
    from .findings import Finding

#: What pairs of two engines say of a time.
_JUDGED = (FindingState.ALARM, FindingState.CLEARED)


@dataclass
class PlacesAgain:
    """Confirms the alarms of the site that this is. What has gone by is none."""

    confirming: Confirming
    #: What a check of the same round has found: pairs are not measured twice.
    findings: Sequence[Finding]
    #: Alarms that were none when they were measured again: a sentence for each.
    gone: list[str] = field(default_factory=list)

    def judge(self, alarms: Iterable[PlaceAlarm]) -> list[PlaceAlarm]:
        """Return the alarms that are left, each with what confirms it, or why nothing could."""
        told = []
        for alarm in alarms:
            found = self._of_engine(alarm) if alarm.state is PlaceState.SLOWER_ENGINE else alarm
            if found.state is PlaceState.SLOWER_PLACE:
                still, why = self._of_place(found)
                if not still:
                    self.gone.append(f"{found.place}: it was slower, and is not when it is measured again")
                    continue
                found = replace(found, evidence=(*found.evidence, why)) if why else found
            told.append(found)
        return told

    def _of_engine(self, alarm: PlaceAlarm) -> PlaceAlarm:
        """The alarm with what pairs say: if the engines take as long, it is the place."""
        finding = self._paired(alarm)
        if finding is None:
            return alarm
        if finding.state is not FindingState.CLEARED:
            return replace(alarm, evidence=(*alarm.evidence, finding.note))
        note = f"{finding.note}: it is not the engine"
        place = PlaceState.SLOWER_PLACE
        return replace(alarm, state=place, changed={}, evidence=(*alarm.evidence, note))

    def _paired(self, alarm: PlaceAlarm) -> Finding | None:
        """What pairs say of the time that grew most; None: no time of two results grew."""
        suspects = self.suspects(alarm)
        asked = {(finding.series_id, finding.name) for finding, _ in suspects}
        known = [
            one
            for one in self.findings
            if one.state in _JUDGED and (one.series_id, one.name) in asked and one.changed
        ]
        if known:
            return max(known, key=lambda one: (one.state is FindingState.ALARM, one.ratio or 0))
        if not suspects:
            return None
        (found,) = self.confirming.judge([max(suspects, key=lambda one: one[0].ratio or 0)])
        return found

    def suspects(self, alarm: PlaceAlarm) -> list[tuple[Finding, Sides]]:
        """Return what grew of an alarm, by series and time."""
        judge = Judge(self.confirming.store, wants_all=False)
        return [
            (finding, sides)
            for sides in self._sides(alarm)
            for finding in judge.findings(sides)
            if finding.kind is Kind.TIME and finding.name in alarm.ratios and finding.ratio
        ]

    def _of_place(self, alarm: PlaceAlarm) -> tuple[bool, str]:
        """Whether a place is still as slow, and why nobody can tell; then it is."""
        sides = self._sides(alarm)
        ratio, store = max(alarm.ratios.values()), self.confirming.store
        told = times_again(store, alarm, sides)
        if told is None or told.times <= math.sqrt(ratio):
            try:
                summary = self.confirming.again([one.before for one in sides])
            except LabError as error:
                return True, f"not measured again: {error}"
            told = times_again(store, alarm, sides)
            if told is None:
                why = summary.why_left or "; ".join(summary.failures) or "no sample was undisturbed"
                return True, f"not measured again: {why}"
        return told.times > math.sqrt(ratio), ""

    def _sides(self, alarm: PlaceAlarm) -> list[Sides]:
        results = {
            one.uuid: one for one in self.confirming.store.of(uuid for both in alarm.uuids for uuid in both)
        }
        return [Sides(results[before], results[now]) for before, now in alarm.uuids]
