"""A time that grew with the same engine: the place is measured again, as nobody can measure it as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from arrowroot_lab.documents import Outcome
from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.metrics import judged as metric_of

from .evidence import sentences
from .findings import FindingState

if TYPE_CHECKING:
    from arrowroot_lab.documents import Result

    from .findings import Finding

#: Nights of one place differ: less than this share in one round is left to the nights that follow (``lab check``).
LEAST_OF_PLACE = 0.2
#: What a process waits for its turn is as much, on a machine that others use.
_LEAST_NS = 4_000_000
LEFT = (
    f"not confirmed: less than {LEAST_OF_PLACE:.0%}, or few ms, with the same engine: the nights that follow tell "
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
        note = "; ".join((still, *sentences([(before, again)]), "the engine is the same"))
        return replace(finding, state=FindingState.SLOWER_PLACE, ratio=ratio, note=note, uuid_now=again.uuid)
    return replace(
        finding, state=FindingState.CLEARED, note=f"{shown(ratio, 'ratio')} times when measured again"
    )


def _most(result: Result, name: str) -> int:
    return round(max(_times(result, name), default=0))


def _least(result: Result | None, name: str) -> int | None:
    times = list(filter(None, _times(result, name))) if result else []
    return round(min(times)) if times else None


def _times(result: Result, name: str) -> list[float]:
    return metric_of(name, is_shared=result.is_shared).values(result)
