"""A time that grew where no pairs can be had: it is measured again, as nobody can measure it as it was.

With the same engine it is the place that is judged. An engine that nobody can build, as a command of the campaign or a
prefix, is blamed by the version that it tells, unless the place became slower for engines that did not change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from arrowroot_lab.documents import Outcome
from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.metrics import judged as metric_of

from .evidence import sentences
from .findings import FindingState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot_lab.documents import Result

    from .findings import Finding

#: Nights of one place differ: less than this share in one round is left to the nights that follow (``lab check``).
LEAST_OF_PLACE = 0.2
#: What a process waits for its turn is as much, on a machine that others use.
_LEAST_NS = 4_000_000
LEFT = (
    f"not confirmed: less than {LEAST_OF_PLACE:.0%}, or few ms, with {{}}: the nights that follow tell "
    "(`lab check`)"
)


def is_worth_it(finding: Finding) -> bool:
    """Return whether a time grew by so much that one round tells something."""
    if finding.ratio is None or not isinstance(finding.now, int) or not isinstance(finding.before, int):
        return False
    return finding.ratio > 1 + LEAST_OF_PLACE and finding.now - finding.before > _LEAST_NS


def judged(finding: Finding, before: Result, now: Result, again: Result | None, *, why: str) -> Finding:
    """Return a finding about a time with what the place says when it is measured again.

    again: None, or not ok: it could not be measured, for the reason ``why``
    """
    least = [_least(one, finding.name) for one in (before, now, again)]
    if again is None or again.outcome is not Outcome.OK or None in least:
        reason = why or (again.reason if again else None) or "no sample was undisturbed"
        return replace(finding, note=f"not measured again: {reason}")
    first, *later = (value for value in least if value)
    ratio = min(later) / first
    if ratio > 1 + LEAST_OF_PLACE and min(later) > _most(before, finding.name):
        still = f"{shown(ratio, 'ratio')} times, also when measured again"
        is_same = before.version == again.version
        engine = (
            "the engine is the same"
            if is_same
            else f"the engine says {again.version}, and said {before.version}"
        )
        note = "; ".join((still, *sentences([(before, again)]), engine))
        state = FindingState.SLOWER_PLACE if is_same else FindingState.ALARM
        return replace(finding, state=state, ratio=ratio, note=note, uuid_now=again.uuid)
    return replace(
        finding, state=FindingState.CLEARED, note=f"{shown(ratio, 'ratio')} times when measured again"
    )


def blamed(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings, of which those of engines that changed are the place's where it is slower for others, too."""
    places = {one.axes["storage"] for one in findings if one.state is FindingState.SLOWER_PLACE}
    return [
        replace(
            one,
            state=FindingState.SLOWER_PLACE,
            note=f"{one.note}; so it is with engines that did not change",
        )
        if one.state is FindingState.ALARM and one.axes["storage"] in places
        else one
        for one in findings
    ]


def _most(result: Result, name: str) -> int:
    return round(max(_times(result, name), default=0))


def _least(result: Result | None, name: str) -> int | None:
    times = list(filter(None, _times(result, name))) if result else []
    return round(min(times)) if times else None


def _times(result: Result, name: str) -> list[float]:
    return metric_of(name, is_shared=result.is_shared).values(result)
