"""Two versions, engines, storages or strategies side by side: verdicts of pairs that were taken in turns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from arrowroot_lab.canonical import key_of
from arrowroot_lab.documents import NOT_HASHED, Outcome
from arrowroot_lab.errors import RequestError
from arrowroot_lab.statistics import CONFIDENCE, Comparison, Verdict, paired
from arrowroot_lab.statistics import compare as judge
from arrowroot_lab.store import summary_of

from .metrics import STATISTICS, Metric, metric
from .results import axes_of, varying
from .table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot_lab.documents import Result
    from arrowroot_lab.store import Filter, Store

#: What may differ between the two sides, and the key of a case that it takes with it.
SIDES = {
    "version": None,
    "engine": "engine",
    "storage": "storage",
    "strategy": "strategy",
    "layout": "layout",
}
#: Alarming first.
_ORDER = [Verdict.WORSE, Verdict.BETTER, Verdict.NOT_ENOUGH, Verdict.NO_DIFFERENCE]


@dataclass(frozen=True)
class Measured:
    """A result and its values on the axes."""

    result: Result
    axes: dict[str, str]


@dataclass(frozen=True)
class Compared:
    """One case on both sides."""

    #: axis -> what both sides share, as ``{"workload": "all columns"}``.
    case: dict[str, str]
    #: The values of the axis that is compared; ``now`` is judged by ``before``.
    before: str
    now: str
    comparison: Comparison
    #: The figures of all counted samples, paired or not; None if there are none.
    before_figure: float | None
    now_figure: float | None
    #: UUIDs of the newest result of each side.
    before_uuid: str
    now_uuid: str


def compare(
    store: Store,
    where: Filter,
    *,
    by: str,
    before: str | None = None,
    now: str | None = None,
    key: str = "wall_ns",
    statistic: str = "median",
) -> tuple[Table, list[Compared]]:
    """Compare the two sides in each case that both have.

    Args:
        store: where from
        where: which results
        by: version, engine, storage, strategy or layout
        before: what is judged by; None: the version before the newest one, else what was measured first
        now: what is judged; None: the newest version of each engine, else each of the others
        key: the metric
        statistic: of the figures that are shown; the verdicts are of the ratios of pairs

    Returns: a table with a row for each case, the alarming ones first; and what it is made of.
    Raises: RequestError if there is no such axis, value, metric or statistic, or nothing to compare.
    """
    return compare_measured(
        measured(store, where), by=by, before=before, now=now, key=key, statistic=statistic
    )


def measured(store: Store, where: Filter) -> list[Measured]:
    """Return the results that match, newest first, with what several comparisons ask of them."""
    return [Measured(result, axes_of(summary_of(result))) for result in store.results(where)]


def compare_measured(
    found: Sequence[Measured],
    *,
    by: str,
    before: str | None = None,
    now: str | None = None,
    key: str = "wall_ns",
    statistic: str = "median",
) -> tuple[Table, list[Compared]]:
    """Do what ``compare`` does, with results that are at hand, newest first."""
    if by not in SIDES:
        raise RequestError(f"{by}: this cannot be compared; {', '.join(SIDES)} can")
    if statistic not in STATISTICS:
        raise RequestError(f"{statistic}: no such statistic; there are {', '.join(STATISTICS)}")
    asked = metric(key)
    groups, order = _groups(found, by)
    for value in (before, now):
        if value is not None and value not in order:
            raise RequestError(f"{by} {value}: no such results; there are {', '.join(order) or 'none'}")
    compared = [
        _compared(group, by, sides, asked, statistic)
        for group in groups
        for sides in _sides([value for value in order if value in group], by, before, now, order)
    ]
    if not compared:
        two = " and ".join(value for value in (before, now) if value) or f"more than one {by}"
        raise RequestError(f"no case was measured with {two}; there are {', '.join(order) or 'no results'}")
    compared.sort(
        key=lambda one: (_ORDER.index(one.comparison.verdict), -abs((one.comparison.ratio or 1) - 1))
    )
    return _table(compared, by, asked, statistic), compared


def _groups(found: Sequence[Measured], by: str) -> tuple[list[dict[str, list[Measured]]], list[str]]:
    """The results of each case by value, newest first; and all values, in the order in which they came up."""
    groups: dict[str, dict[str, list[Measured]]] = {}
    newest: dict[tuple[str, str], str] = {}
    values = []
    for one in found:
        result = one.result
        values.append(one.axes[by])
        shared = [] if by in ("version", "engine") else [result.version]
        case = {name: item for name, item in result.case.items() if name not in (SIDES[by], *NOT_HASHED)}
        machine = {
            name: item for name, item in result.machine.items() if (by, name) != ("storage", "storage")
        }
        group = key_of([case, shared, result.site, machine])
        if by == "engine" and newest.setdefault((group, values[-1]), result.version) != result.version:
            continue  # of each engine its newest version
        groups.setdefault(group, {}).setdefault(values[-1], []).append(one)
    return list(groups.values()), list(dict.fromkeys(reversed(values)))


def _sides(
    there: list[str], by: str, before: str | None, now: str | None, order: list[str]
) -> list[tuple[str, str]]:
    """Which values of one case are compared; none if it lacks one of them."""
    if by == "version":
        now = now or next((value for value in reversed(there) if value != before), None)
        earlier = there[: there.index(now)] if now in there else []
        before = before or (earlier[-1] if earlier else None)
        return [(before, now)] if before in there and now in there and before and now else []
    before = before or next((value for value in order if value != now), None)
    others = [value for value in ([now] if now else order) if value != before]
    return [(before, value) for value in others if before in there and value in there] if before else []


def _compared(
    group: dict[str, list[Measured]], by: str, sides: tuple[str, str], asked: Metric, statistic: str
) -> Compared:
    first, second = (group[value] for value in sides)
    results = [[one.result for one in side] for side in (first, second)]
    pairs = paired(results[0], results[1], asked.value)
    comparison = judge([pair.ratio for pair in pairs], is_lower_better=asked.is_lower_better)
    if not pairs:
        comparison = replace(comparison, reason=_why_unpaired(results))
    before, now = (asked.figure_of(side, statistic) for side in results)
    return Compared(
        case={
            axis: value
            for axis, value in second[0].axes.items()
            if axis != by and value == first[0].axes[axis]
        },
        before=sides[0],
        now=sides[1],
        comparison=comparison,
        before_figure=before,
        now_figure=now,
        before_uuid=results[0][0].uuid,
        now_uuid=results[1][0].uuid,
    )


def _why_unpaired(sides: list[list[Result]]) -> str:
    for side in sides:
        if not any(result.counted() for result in side):
            newest = side[0]
            ended = "" if newest.outcome is Outcome.OK else f" {newest.outcome.value}"
            return f"{newest.case['engine']}{ended}: {newest.reason or 'no sample is counted'}"
    return "never measured in turns: no run has both"


def _table(compared: Sequence[Compared], by: str, asked: Metric, statistic: str) -> Table:
    axes, notes = varying([one.case for one in compared])
    sides = {(one.before, one.now) for one in compared}
    title = f"{asked.title} by {by}, {statistic} of the samples"
    if len(sides) == 1:
        title = f"{asked.title}, {statistic} of the samples: " + "{1}, judged by {0}".format(
            *next(iter(sides))
        )
    columns = (
        Column("verdict", "verdict"),
        *(Column(axis, axis) for axis in axes),
        *(() if len(sides) == 1 else (Column(f"{by}_now", by), Column(f"{by}_before", "judged by"))),
        Column(f"{asked.key}_now", "now", asked.form),
        Column(f"{asked.key}_before", "before", asked.form),
        Column("ratio", "ratio", "ratio"),
        Column("ratio_low", "at least", "ratio"),
        Column("ratio_high", "at most", "ratio"),
        Column("n_pairs", "pairs", "count"),
    )
    rows = tuple(
        (
            one.comparison.verdict.value,
            *(one.case.get(axis) for axis in axes),
            *(() if len(sides) == 1 else (one.now, one.before)),
            one.now_figure,
            one.before_figure,
            one.comparison.ratio,
            one.comparison.low,
            one.comparison.high,
            one.comparison.n_pairs,
        )
        for one in compared
    )
    reasons = Counter(one.comparison.reason for one in compared if one.comparison.reason)
    return Table(
        title,
        columns,
        rows,
        (
            *notes,
            f"Ratios are now over before, of pairs taken in turns; each bound holds at {CONFIDENCE:.0%}.",
            *(f"Not enough, {n} of {len(compared)}: {reason}." for reason, n in reasons.most_common()),
        ),
    )
