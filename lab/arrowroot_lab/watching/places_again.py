"""An alarm of a place, once more: of an engine by pairs of the old and the new one, else by the place as it is now."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from arrowroot_lab.errors import LabError
from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.metrics import METRICS
from arrowroot_lab.store import Filter

from .alarms import PlaceAlarm, PlaceState
from .findings import FindingState, Kind
from .judging import Judge
from .sides import CONFIRMING, Sides

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arrowroot_lab.documents import Result

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
                still, note = self._of_place(found)
                found = replace(found, evidence=(*found.evidence, note))
                if not still:
                    self.gone.append(f"{found.place}: {note}")
                    continue
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
        """Whether a place is still as slow, and a sentence on it; if nobody can tell, it is."""
        sides = self._sides(alarm)
        key, ratio = max(alarm.ratios.items(), key=lambda item: item[1])
        told = _times(sides, self._before(alarm, sides), key, ratio)
        if told is None or told <= math.sqrt(ratio):
            try:
                summary = self.confirming.again([one.before for one in sides])
            except LabError as error:
                return True, f"not measured again: {error}"
            told = _times(sides, summary.results, key, ratio)
            if told is None:
                why = summary.why_left or "; ".join(summary.failures) or "no sample was undisturbed"
                return True, f"not measured again: {why}"
        if told > math.sqrt(ratio):
            return True, f"still {shown(told, 'ratio')} times when measured again"
        return False, f"{shown(told, 'ratio')} times when measured again: it has gone by"

    def _sides(self, alarm: PlaceAlarm) -> list[Sides]:
        results = {
            one.uuid: one for one in self.confirming.store.of(uuid for both in alarm.uuids for uuid in both)
        }
        return [Sides(results[before], results[now]) for before, now in alarm.uuids]

    def _before(self, alarm: PlaceAlarm, sides: Sequence[Sides]) -> list[Result]:
        """What was measured again of it since it was seen."""
        where = Filter(
            campaign=(CONFIRMING.format(self.confirming.campaign.name),),
            site=(self.confirming.site,),
            case=tuple({one.before.case_id for one in sides}),
            outcome=("ok",),
            since=alarm.seen,
        )
        return list(self.confirming.store.results(where))


def _times(sides: Iterable[Sides], again: Sequence[Result], key: str, ratio: float) -> float | None:
    """How many times as long it takes as before, the median over the series; None: nobody knows.

    again: newest first; a result of another version is none
    """
    told = []
    figure = METRICS[key].figure
    for one in sides:
        versions = one.now.versions if one.now else {}
        newest = next(
            (it for it in again if it.case_id == one.before.case_id and it.versions == versions), None
        )
        values = [figure(it) for it in (one.before, one.now, newest) if it]
        if len(values) == 3 and all(values):
            before, now, later = (value or 0.0 for value in values)
            # Both tell the level of before, with the rise between them.
            told.append(later / math.sqrt(before * now / ratio))
    return statistics.median(told) if told else None
