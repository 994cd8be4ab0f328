"""A run against a baseline: what changed that nobody has accepted."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from arrowroot_lab.documents import now as time_now
from arrowroot_lab.errors import RequestError
from arrowroot_lab.statistics import LEAST, TOLERANCE
from arrowroot_lab.store import Accepted

from .findings import Checked, Finding, FindingState, Kind
from .judging import LEAST_MEMORY, Judge, is_virtual
from .sides import matched, run_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot_lab.store import Filter, Store

    from .confirming import Confirming
    from .sides import Sides

_ORDER, _KINDS = list(FindingState), list(Kind)
#: By so much more than what was accepted memory and time may be.
_TOLERANCE = {Kind.MEMORY: LEAST_MEMORY, Kind.TIME: LEAST}
#: Accepted changes, by the series and the name of what they are about.
_Known = dict[tuple[str, str], list[Accepted]]


class Acceptance(NamedTuple):
    """A change that somebody accepts, and why."""

    #: A glob of names of findings, or of what changed besides, as ``versions.zstd``.
    name: str
    reason: str


def check(
    store: Store,
    where: Filter,
    baseline: str,
    *,
    run: str | None = None,
    confirming: Confirming | None = None,
    accepts: Sequence[Acceptance] = (),
) -> Checked:
    """Compare a run with a baseline.

    Args:
        store: where results are, and where it is kept what is accepted
        where: which results
        baseline: the UUID of a run, or its beginning
        run: the run that is judged, all of whose cases must be there; None: the newest result of each case since
        confirming: measures suspicions about times once more; None: they stay suspicions
        accepts: changes that are accepted from now on

    Raises: RequestError if a run is not there, there is nothing to compare, or an acceptance means no finding.
    """
    old = run_of(store, baseline)
    new = None if run is None else run_of(store, run)
    both = matched(store, where, old, new)
    checked = Checked(old, new)
    judge = Judge(store, wants_all=new is not None)
    known: _Known = {}
    for one in store.accepted():
        known.setdefault((one.series_id, one.name), []).append(one)
    suspects: list[tuple[Finding, Sides]] = []
    for sides in both:
        findings = [_explained(one, known) for one in judge.findings(sides)]
        if sides.now is not None:
            checked.compared.append(_label(sides))
        for finding in findings:
            if (
                finding.state is FindingState.SUSPECT
                and confirming is not None
                and not _is_accepted_by(finding, accepts)
            ):
                suspects.append((finding, sides))
            else:
                checked.findings.append(finding)
    if not checked.compared and not any(one.state is FindingState.ALARM for one in checked.findings):
        why = next((sides.why_none for sides in both if sides.why_none), "nothing of it was measured since")
        raise RequestError(f"{store.place}: run {old[:8]}: {why}; `lab run CAMPAIGN --again` does")
    if suspects and confirming is not None:
        checked.findings += [_explained(one, known) for one in confirming.judge(suspects)]
    if accepts:
        _accept(store, checked, accepts)
    checked.findings.sort(
        key=lambda one: (_ORDER.index(one.state), _KINDS.index(one.kind), one.label, one.name)
    )
    n_virtual = sum(sides.now is not None and is_virtual(sides.now) for sides in both)
    if n_virtual:
        checked.notes.append(
            f"{n_virtual} in virtual time: their counts are compared; their times are those of one reading each."
        )
    return checked


def _label(sides: Sides) -> str:
    from arrowroot_lab.store import summary_of

    return summary_of(sides.before).label()


def _explained(finding: Finding, known: _Known) -> Finding:
    """The finding as accepted, if somebody has accepted this change, or a larger one of a time or of memory."""
    if finding.state not in (FindingState.ALARM, FindingState.SUSPECT):
        return finding
    for one in known.get((finding.series_id, finding.name), ()):
        if _is_within(finding, one):
            note = f"accepted {one.accepted_at[:10]}: {one.reason}"
            return replace(finding, state=FindingState.ACCEPTED, note=note)
    return finding


def _is_within(finding: Finding, one: Accepted) -> bool:
    """True if a change is the accepted one, or of a time or of memory no larger, and leads to no more."""
    tolerance = _TOLERANCE.get(finding.kind)
    if tolerance is None:
        return (one.before, one.now) == (str(finding.before), str(finding.now))
    if one.ratio is None or finding.ratio is None or not isinstance(finding.before, int):
        return False
    # The same growth once more, from a later baseline, is another change.
    level, accepted = finding.before * finding.ratio, float(one.before) * one.ratio
    return finding.ratio <= one.ratio * (1 + tolerance) and level <= accepted * (1 + TOLERANCE)


def _is_accepted_by(finding: Finding, accepts: Sequence[Acceptance]) -> Acceptance | None:
    """The acceptance that means a finding: by its name, or of a count by what changed besides."""
    names = [finding.name, *(finding.changed if finding.kind is Kind.COUNTER else ())]
    return next((one for one in accepts if any(fnmatchcase(name, one.name) for name in names)), None)


def _accept(store: Store, checked: Checked, accepts: Sequence[Acceptance]) -> None:
    """Keep what is accepted, and say so of the findings that are meant."""
    can = [one for state in (FindingState.ALARM, FindingState.SUSPECT) for one in checked.of(state)]
    for one in accepts:
        if not any(_is_accepted_by(finding, [one]) for finding in checked.findings):
            names = dict.fromkeys(
                (*(one.name for one in can), *(name for one in can for name in one.changed))
            )
            raise RequestError(
                f"--accept {one.name}: no finding has this name; there are {', '.join(names) or 'none'}"
            )
    rows, told = [], []
    for finding in checked.findings:
        chosen = _is_accepted_by(finding, accepts) if finding in can else None
        if chosen is None:
            told.append(finding)
            continue
        ratio = finding.ratio if finding.kind in _TOLERANCE else None
        values = str(finding.before), str(finding.now)
        rows.append(Accepted(finding.series_id, finding.name, *values, ratio, chosen.reason, time_now()))
        told.append(replace(finding, state=FindingState.ACCEPTED, note=f"accepted now: {chosen.reason}"))
    store.accept(rows)
    checked.findings = told
