"""Which result of now belongs to which of the baseline, and what differs between two besides what was measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from arrowroot_lab.errors import RequestError
from arrowroot_lab.runs import command_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arrowroot_lab.documents import Result
    from arrowroot_lab.store import Filter, Store

    from .findings import Value

#: Runs of a check that measure a suspicion once more are kept as a campaign of this name.
CONFIRMING = "{} (check)"
#: Digits that a beginning of a run has.
_LEAST_DIGITS = 4


@dataclass(frozen=True)
class Sides:
    """One case in the baseline and now."""

    before: Result
    #: None: it was not measured since, or there are several versions and none is the one of before.
    now: Result | None
    #: Why there is none, if it is known.
    why_none: str = ""

    def changed(self) -> dict[str, tuple[Value, Value]]:
        """Return what differs besides what was measured: versions, the file's bytes, the runner."""
        if self.now is None:
            return {}
        told = [_identity(self.before), _identity(self.now)]
        keys = dict.fromkeys((*told[0], *told[1]))
        return {
            key: (told[0].get(key), told[1].get(key)) for key in keys if told[0].get(key) != told[1].get(key)
        }


def _identity(result: Result) -> dict[str, Value]:
    versions: dict[str, Value] = {f"versions.{name}": told for name, told in sorted(result.versions.items())}
    return {**versions, "dataset.file": result.dataset.get("file"), "runner": result.runner}


def run_of(store: Store, told: str) -> str:
    """Return the UUID of a run, of which the beginning is enough; of several of one command what they begin with.

    Raises: RequestError if none or several begin so.
    """
    there = store.names("run")
    runs = [run for run in there if run.startswith(told)]
    if len({command_of(run) for run in runs}) == 1 and len(told) >= _LEAST_DIGITS:
        of_command = [run for run in there if command_of(run) == command_of(runs[0])]
        return of_command[0] if len(of_command) == 1 else command_of(runs[0])
    problem = "there is no such run"
    if runs and told:
        is_short = len(told) < _LEAST_DIGITS
        problem = f"tell at least {_LEAST_DIGITS} digits" if is_short else "several runs begin so"
    newest = dict.fromkeys(row.run for row in store.rows(None, ("run",)) if row.run)
    known = ", ".join(list(dict.fromkeys(run[:8] for run in newest))[:8]) or "none"
    raise RequestError(f"{store.place}: {told or 'no name'}: {problem}; the newest runs are {known}")


def matched(store: Store, where: Filter, baseline: str, run: str | None) -> list[Sides]:
    """Return the cases of a baseline, each with its result now.

    Args:
        store: where from
        where: which cases, by their results in the baseline; what it says of runs, dates and outcomes is not looked at
        baseline: a run, as ``run_of`` returns it
        run: that of the results now; None: the newest result of each series since

    Raises: RequestError if the baseline has no result that matches.
    """
    where = replace(where, since=None, until=None, outcome=())
    before = list(store.results(replace(where, run=(f"{baseline}*",))))
    if not before:
        raise RequestError(f"{store.place}: run {baseline} has no result that matches")
    wanted = replace(where, version=(), run=(f"{run}*",) if run else ())
    since: dict[str, list[Result]] = {}
    campaigns = {result.campaign["name"] for result in before}
    series = {result.series_id for result in before}
    keys = [
        row.uuid
        for row in store.rows(wanted, ("uuid", "series_id", "campaign", "run"))
        if row.series_id in series
        and not (row.run or "").startswith(baseline)
        and (run or row.campaign in campaigns)
    ]
    for result in store.of(keys):
        since.setdefault(result.series_id, []).append(result)
    by_series: dict[str, list[Result]] = {}
    for result in before:
        by_series.setdefault(result.series_id, []).append(result)
    elsewhere = _on_other_nodes(store, wanted, before) if not since.keys() >= by_series.keys() else {}
    return [
        replace(sides, why_none=elsewhere.get(sides.before.case_id, "")) if sides.now is None else sides
        for key, results in by_series.items()
        for sides in _of_series(results, since.get(key, ()), run)
    ]


def _on_other_nodes(store: Store, wanted: Filter, before: list[Result]) -> dict[str, str]:
    """Cases that were measured on a shared node since, and on a quiet one in the baseline, or the other way round."""
    was = {result.case_id: (result.is_shared, result.created_at) for result in before}
    shared: dict[str, bool] = {}
    for row in store.rows(wanted, ("case_id", "node", "created_at")):  # newest first
        if row.case_id in was and row.created_at > was[row.case_id][1]:
            shared.setdefault(row.case_id, bool(row.node))
    nodes = "a quiet node", "a shared node"
    return {
        case: f"measured on {nodes[is_shared]} since, and on {nodes[was[case][0]]} in the baseline: not compared"
        for case, is_shared in shared.items()
        if is_shared != was[case][0]
    }


def _of_series(before: list[Result], since: Iterable[Result], run: str | None) -> list[Sides]:
    """Match the results of one series: a version with itself, and one that is left with the one that is new."""
    begun = max(result.created_at for result in before)
    newer = [result for result in since if run or result.created_at > begun]  # newest first
    if len(before) == 1:
        return [Sides(before[0], _newest(newer, before[0].version))]
    by_version: dict[str, Result] = {}
    for result in newer:
        by_version.setdefault(result.version, result)
    known = {result.version for result in before}
    left = [result for result in before if result.version not in by_version]
    new = [result for version, result in by_version.items() if version not in known]
    if len(left) == len(new) == 1:
        by_version[left[0].version] = new[0]
    return [Sides(result, by_version.get(result.version)) for result in before]


def _newest(newer: list[Result], version: str) -> Result | None:
    """The first of some results; if others of its run have several versions, the one of this version."""
    if not newer:
        return None
    run, *_ = runs = [command_of(result.campaign.get("run") or "") for result in newer]
    same = (one for one, its in zip(newer, runs, strict=True) if its == run and one.version == version)
    return next(same, newer[0])
