"""Two versions, engines, storages, strategies or sites side by side: verdicts of pairs that were taken in turns.

Sites never take turns: they are compared by their nearest nights.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot_lab.documents import version_text
from arrowroot_lab.errors import RequestError
from arrowroot_lab.statistics import (
    CONFIDENCE,
    CONFIDENCE_SHARED,
    LEAST_SHARED,
    Samples,
    Verdict,
)

from .case import Case, compared, why_skipped
from .format import shown
from .metrics import JUDGED, READINGS, STATISTICS, Metric, metric
from .results import AXES, axes_of, layout_names, varying
from .table import Column, ResultTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Row

    from arrowroot_lab.store import Filter, Store, Summary

    from .case import Compared

#: What may differ between the two sides, and the column of what all that are compared share.
SIDES = {
    "version": "series_id",
    "engine": "engine_group",
    "storage": "storage_group",
    "strategy": "strategy_group",
    "layout": "layout_group",
}
#: The same, and what never runs in turns: it is compared by its nights.
AXES_TO_COMPARE = (*SIDES, "site")
#: Pairs are of so many runs, the newest ones that have both sides: what was a year ago is another machine's.
#: Fewer do if they have so many pairs, which tell a per cent where there is little noise.
MAX_RUNS, MAX_PAIRS = 20, 70
#: Sites are compared by their newest rounds: what was a month ago is another night's.
N_NIGHTS = 10
#: The columns that a comparison asks of a row; ``Measured`` has all of them.
_COLUMNS = (
    "id", "uuid", "created_at", "run", "outcome", "reason", "n_counted", "n_cores", *SIDES.values(), *AXES,
)  # fmt: skip
#: So many of the newest results of each side, of the time when there were both, are looked at for such runs; a run may
#: take so long.
_LOOKED_AT, _MOST_OF_RUN = 40, timedelta(days=2)
_OF_NIGHTS = (
    f": the median over the {N_NIGHTS} newest nights, each round over the nearest one of the other site. Sites never "
    "take turns: machines, lines and what else happens there are in it. "
    f"Each bound holds at {CONFIDENCE:.0%}, and is wider where nights are alike."
)
#: Alarming first.
_ORDER = [Verdict.WORSE, Verdict.BETTER, Verdict.NOT_ENOUGH, Verdict.NO_DIFFERENCE]


class Measured(NamedTuple):
    """A result as comparisons see it: its row, and its values on the axes."""

    row: Any
    axes: dict[str, str]


class _OfSide(NamedTuple):
    """The row of a result whose case is known, as a comparison needs it; there are hundreds of thousands."""

    series_id: str
    version: str
    campaign: str
    uuid: str
    created_at: str
    run: str | None
    outcome: str
    reason: str | None
    n_counted: int
    engine: str
    node: str | None


#: The two values that are compared, and the results of each, newest first.
_Sides = tuple[tuple[str, str], list[list[Measured]]]


def compare(
    store: Store,
    where: Filter,
    *,
    by: str,
    before: str | None = None,
    now: str | None = None,
    key: str | None = None,
    statistic: str = "median",
) -> tuple[ResultTable, list[Compared]]:
    """Compare the two sides in each case that both have.

    Args:
        store: where from
        where: which results
        by: version, engine, storage, strategy, layout or site
        before: what is judged by; None: the version before the newest one, else what was measured first
        now: what is judged; None: the newest version of each engine, else each of the others
        key: the metric; None: the wall time, and the notes tell of CPU time and memory what differs
        statistic: of the figures that are shown; the verdicts are of the ratios of pairs

    Returns: a table with a row for each case, the alarming ones first; and what it is made of.
    Raises: RequestError if there is no such axis, value, metric or statistic, or nothing to compare.
    """
    asked = _asked(by, key, statistic)
    rows = store.rows(replace(where, newest_versions=True), _COLUMNS)
    names = layout_names(rows)
    newest = [
        Measured(row, {**axes, "layout": names[row.layout]} if "layout" in (axes := axes_of(row)) else axes)
        for row in rows
    ]
    chosen = _chosen(newest, by, before, now, store.firsts(where))
    standing = chosen if where.version else _standing(chosen, by)
    n_replaced = len(chosen) - len(standing)
    found = _judged(store, _in_turns(store, where, standing), by, asked, statistic)
    return _with_replaced(*found, n_replaced)


def _in_turns(store: Store, where: Filter, chosen: Sequence[_Sides]) -> list[_Sides]:
    """Return cases whose sides are of newest results, each with what else was measured of it while there were both."""
    # Results chosen by other things than their series may be older than the newest of it.
    if where.run or where.outcome or where.reading or where.until:
        return _with_others(store, where, chosen, [None] * len(chosen))
    at_first = [min(_LOOKED_AT, _n_runs(sides)) for _, sides in chosen]
    found = _with_others(store, where, chosen, at_first)
    # Rows cost most of a comparison: more are looked at only of those whose newest ones are not those of both sides.
    few = [
        at for at, (_, sides) in enumerate(found) if at_first[at] < _LOOKED_AT and not _shared_runs(sides)[1]
    ]
    more = _with_others(store, where, [chosen[at] for at in few], [_LOOKED_AT] * len(few))
    for at, sides in zip(few, more, strict=True):
        found[at] = sides
    return found


def _n_runs(sides: Sequence[Sequence[Measured]]) -> int:
    """How many runs have pairs enough, if all are as the newest one."""
    n_counted = min(side[0].row.n_counted for side in sides)
    return min(MAX_RUNS, -(-MAX_PAIRS // n_counted)) if n_counted else MAX_RUNS


def _with_others(
    store: Store, where: Filter, chosen: Sequence[_Sides], n: Sequence[int | None]
) -> list[_Sides]:
    """Return cases with so many of the newest results of each of their sides; None: all."""
    asked: dict[tuple[str | None, int | None], dict[int, Measured]] = {}
    for (_, sides), most in zip(chosen, n, strict=True):
        ends = [side[0].row.created_at for side in sides]
        last = _later(min(ends))
        for side, end in zip(sides, ends, strict=True):
            # Most are measured to this day; of one that went on alone the newest results have no pairs.
            until = last if end > last else None
            asked.setdefault((until, most), {}).update({one.row.id: one for one in side})
    found: dict[tuple[str, ...], dict[str, Measured]] = {}
    for (until, most), like in asked.items():
        axes = {_key(one.row): one.axes for one in like.values()}
        for told in store.newest_of(like, where, _OfSide._fields, most, until):
            key, row = told[:3], _OfSide._make(told)
            found.setdefault(key, {})[row.uuid] = Measured(row, axes[key])
    return [(values, [_whole(side, found) for side in sides]) for values, sides in chosen]


def _whole(side: Sequence[Measured], found: dict[tuple[str, ...], dict[str, Measured]]) -> list[Measured]:
    """The newest results of a side and all others that were found of it, newest first."""
    ones: dict[str, Measured] = {}
    for head in side:
        ones[head.row.uuid] = head
        ones.update(found.get(_key(head.row), {}))
    return sorted(ones.values(), key=attrgetter("row.created_at"), reverse=True)


def _key(row: Any) -> tuple[str, ...]:
    return row.series_id, row.version, row.campaign


def _later(date: str) -> str:
    return (datetime.fromisoformat(date.replace("Z", "+00:00")) + _MOST_OF_RUN).isoformat()


def measured_of(rows: Iterable[Summary | Row[Any]]) -> list[Measured]:
    """Return the same of rows that are at hand, in their order."""
    return [Measured(row, axes_of(row)) for row in rows]


def compare_measured(
    store: Store,
    found: Sequence[Measured],
    *,
    by: str,
    before: str | None = None,
    now: str | None = None,
    key: str | None = None,
    statistic: str = "median",
) -> tuple[ResultTable, list[Compared]]:
    """Do what ``compare`` does, with results that are at hand, newest first; their samples are read from the store."""
    asked = _asked(by, key, statistic)
    chosen = _chosen(found, by, before, now)
    standing = _standing(chosen, by)
    return _with_replaced(*_judged(store, standing, by, asked, statistic), len(chosen) - len(standing))


def _asked(by: str, key: str | None, statistic: str) -> list[Metric]:
    """Return the metric that is judged, and others that notes tell of."""
    if by not in AXES_TO_COMPARE:
        raise RequestError(f"{by}: this cannot be compared; {', '.join(AXES_TO_COMPARE)} can")
    if statistic not in STATISTICS:
        raise RequestError(f"{statistic}: no such statistic; there are {', '.join(STATISTICS)}")
    if key in READINGS:
        raise RequestError(
            f"{key}: a reading explains figures and is not judged: `lab show --matrix site --metric {key}`"
        )
    return [metric(one) for one in (JUDGED if key is None else (key,))]


def _chosen(
    found: Sequence[Measured],
    by: str,
    before: str | None,
    now: str | None,
    firsts: Mapping[tuple[str, str], str] | None = None,
) -> list[_Sides]:
    """Return both values of each case that has two, and the results of each, newest first.

    firsts: (series, version) -> when it was measured first, if not all of its results are in ``found``
    """
    groups, order = _groups(found, by, firsts or {})
    before, now = (value and version_text(value) for value in (before, now))
    for value in (before, now):
        if value is not None and value not in order:
            raise RequestError(f"{by} {value}: no such results; there are {', '.join(order) or 'none'}")
    chosen = [
        (sides, [group[sides[0]], group[sides[1]]])
        for group in groups
        for sides in _sides([value for value in order if value in group], by, before, now, order)
    ]
    if not chosen:
        two = " and ".join(value for value in (before, now) if value) or f"more than one {by}"
        others = [
            axis for axis in AXES_TO_COMPARE if any(len(group) > 1 for group in _groups(found, axis, {})[0])
        ]
        hint = f": write --by {' or --by '.join(others)}" if others and not (before or now) else ""
        if len({one.axes.get("node") for one in found}) > 1:
            hint += "; results of shared nodes are not compared with those of quiet ones"
        raise RequestError(
            f"no case was measured with {two}; there are {', '.join(order) or 'no results'}{hint}"
        )
    return chosen


def _standing(chosen: list[_Sides], by: str) -> list[_Sides]:
    """The comparisons of which no other version of the same case was measured on both sides since.

    Of sites all: nights are told one by one, so that a new version has few.
    """
    if by == "site":
        return chosen
    dates = [min(side[0].row.created_at for side in sides) for _, sides in chosen]
    keys = [(*values, *(side[0].row.series_id for side in sides)) for values, sides in chosen]
    newest: dict[tuple[str, ...], str] = {}
    for key, date in zip(keys, dates, strict=True):
        newest[key] = max(date, newest.get(key, date))
    # Versions that are measured in turns stand beside each other.
    return [one for one, key, date in zip(chosen, keys, dates, strict=True) if _later(date) >= newest[key]]


def _judged(
    store: Store, cases: Sequence[_Sides], by: str, metrics: Sequence[Metric], statistic: str
) -> tuple[ResultTable, list[Compared]]:
    """Judge each case by its pairs, or by its nights."""
    chosen = [(sides, _compared_of(both, by)) for sides, both in cases]
    skipped = Counter(reason for _, both in chosen if (reason := why_skipped(both)))
    # A case that was never tried is no comparison; where there is nothing else, that is told.
    chosen = [one for one in chosen if not why_skipped(one[1])] or chosen
    uuids = {one.row.uuid for _, both in chosen for side in both for one in side}
    taken = store.samples(uuids, *(one.key for one in metrics))
    samples = {uuid: Samples(*columns) for uuid, columns in taken.items()}
    told = [compared(Case(both, by, samples), sides, metrics, statistic=statistic) for sides, both in chosen]
    told.sort(key=lambda one: (_ORDER.index(one.comparison.verdict), -_size(one)))
    return _table(told, by, metrics[0], statistic, skipped), told


def _with_replaced(
    table: ResultTable, told: list[Compared], n_replaced: int
) -> tuple[ResultTable, list[Compared]]:
    """The same with a note of how many were left out."""
    if not n_replaced:
        return table, told
    note = f"Left out, as another version was measured there since: {n_replaced} (--version)."
    return replace(table, notes=(*table.notes, note)), told


def _size(one: Compared) -> float:
    """How far a comparison is from equal; of one from zero nobody can say: all that there is."""
    if one.comparison.ratio is not None:
        return abs(one.comparison.ratio - 1)
    return 0 if one.comparison.verdict is Verdict.NOT_ENOUGH else math.inf


def _groups(
    found: Sequence[Measured], by: str, firsts: Mapping[tuple[str, str], str]
) -> tuple[list[dict[str, list[Measured]]], list[str]]:
    """The results of each case by value, newest first; and all values, in the order in which they came up."""
    groups: dict[str, dict[str, list[Measured]]] = {}
    newest: dict[tuple[str, str], str] = {}
    values: dict[str, str] = {}
    for one in found:
        value = one.axes.get(by)
        if value is None:
            continue
        first = firsts.get((one.row.series_id, one.row.version), one.row.created_at)
        values[value] = min(first, values.pop(value, first))  # at the end stands what came up first
        group = _shared_by_sites(one) if by == "site" else getattr(one.row, SIDES[by])
        if not group:  # an older laboratory was still writing when the database was brought up to date
            continue
        version = one.axes["version"]
        if by == "engine" and newest.setdefault((group, value), version) != version:
            continue  # of each engine its newest version
        groups.setdefault(group, {}).setdefault(value, []).append(one)
    oldest_first = list(reversed(values))
    return list(groups.values()), sorted(oldest_first, key=values.__getitem__)


def _shared_by_sites(one: Measured) -> str:
    """The key of what sites have in common: all that is asked, whatever their machines are."""
    asked = [value for axis, value in one.axes.items() if axis not in ("site", "campaign")]
    return json.dumps([*asked, one.row.n_cores])


def _compared_of(both: list[list[Measured]], by: str) -> list[list[Measured]]:
    """The results of both sides that are compared."""
    if by == "site":
        return [side[:N_NIGHTS] for side in both]
    runs, _ = _shared_runs(both)
    return [_newest(side, runs) for side in both]


def _shared_runs(both: Sequence[Sequence[Measured]]) -> tuple[list[str], bool]:
    """The newest runs that have both sides, as many as give pairs enough; and if they do, with no other run between."""
    counted: list[dict[str, int]] = [{}, {}]
    for side, counts in zip(both, counted, strict=True):
        for row, _ in side:
            if row.run:
                counts[row.run] = counts.get(row.run, 0) + row.n_counted
    found: list[str] = []
    n_pairs, are_newest = 0, True
    for run in counted[0]:
        if n_pairs >= MAX_PAIRS or len(found) >= MAX_RUNS:
            return found, are_newest
        if run in counted[1]:
            found.append(run)
            n_pairs += min(counts[run] for counts in counted)
        else:
            are_newest = False
    return found, are_newest and (n_pairs >= MAX_PAIRS or len(found) >= MAX_RUNS)


def _newest(side: list[Measured], runs: Sequence[str]) -> list[Measured]:
    """The results of a side in some runs; without any its newest one, which has a figure at least."""
    return [one for one in side if one.row.run in runs] or side[:1]


def _sides(
    there: list[str], by: str, before: str | None, now: str | None, order: list[str]
) -> list[tuple[str, str]]:
    """Which values of one case are compared; none if it lacks one of them."""
    if by == "version":
        now = now or next((value for value in reversed(there) if value != before), None)
        earlier = there[: there.index(now)] if now in there else []
        before = before or (earlier[-1] if earlier else None)
        return [(before, now)] if before in there and now in there and before and now else []
    before = before or next((value for value in there if value != now), None)
    others = [value for value in ([now] if now else order) if value != before]
    return [(before, value) for value in others if before in there and value in there] if before else []


def _table(
    compared: Sequence[Compared], by: str, asked: Metric, statistic: str, skipped: Counter[str]
) -> ResultTable:
    axes, notes = varying([one.case for one in compared])
    sides = {(one.before, one.now) for one in compared}
    judges = {before for before, _ in sides}
    title = f"{asked.title} by {by}, {statistic} of the samples"
    if len(sides) == 1:
        title = f"{asked.title}, {statistic} of the samples: " + "{1}, judged by {0}".format(
            *next(iter(sides))
        )
    elif len(judges) == 1:
        title += f", judged by {next(iter(judges))}"
    versions = {(one.case.get("engine"), one.case.get("version")) for one in compared}
    if "engine" in axes and "version" in axes and len(versions) == len({engine for engine, _ in versions}):
        axes.remove("version")
    named = [Column(f"{by}_now", by)] if len(sides) > 1 else []
    named += [Column(f"{by}_before", "judged by")] if len(judges) > 1 else []
    is_exact = all(map(has_no_bounds, compared))
    # Only a version has another one before it.
    titles = ("now", "before") if by == "version" else ("this one", "the judge")
    if by != "version" and len(sides) == 1:
        titles = (compared[0].now, compared[0].before)
    columns = (
        Column("verdict", "verdict"),
        *(Column(axis, axis) for axis in axes),
        *named,
        Column("ratio", "ratio", "ratio"),
        *(
            ()
            if is_exact
            else (Column("ratio_low", "at least", "ratio"), Column("ratio_high", "at most", "ratio"))
        ),
        Column(f"{asked.key}_now", titles[0], asked.form),
        Column(f"{asked.key}_before", titles[1], asked.form),
        Column("n_pairs", "nights" if by == "site" else "pairs", "count"),
    )
    rows = tuple(
        (
            one.comparison.verdict.value,
            *(one.case.get(axis) for axis in axes),
            *(one.now, one.before)[: len(named)],
            one.comparison.ratio,
            *(() if is_exact else (one.comparison.low, one.comparison.high)),
            one.now_figure,
            one.before_figure,
            one.comparison.n_pairs,
        )
        for one in compared
    )
    reasons = Counter(one.comparison.reason for one in compared if one.comparison.reason)
    return ResultTable(
        title,
        columns,
        rows,
        (
            *notes,
            "Ratios are of what is judged over what it is judged by"
            + (
                _OF_NIGHTS
                if by == "site"
                else "."
                if all(one.comparison.is_exact for one in compared)
                else f", of pairs taken in turns; each bound holds at {CONFIDENCE:.0%}."
            ),
            *_told_of_exact(compared),
            *_told_of_nodes(compared, asked),
            *_told_of_others(compared, axes),
            *(f"Not enough, {n} of {len(compared)}: {reason}." for reason, n in reasons.most_common()),
            *(f"Skipped on one side, {n}: {reason}." for reason, n in skipped.most_common()),
        ),
    )


def _told_of_exact(compared: Sequence[Compared]) -> list[str]:
    n_exact = sum(one.comparison.is_exact for one in compared)
    if not n_exact:
        return []
    of_all = "All" if n_exact == len(compared) else f"{n_exact} of {len(compared)}"
    told = (
        f"{of_all} are of virtual time: both sides are replays of one trace, whose CPU time was measured once"
    )
    if not all(map(has_no_bounds, compared)):
        told += "; their bounds are the least and the most of the runs"
    return [f"{told}."]


def _told_of_nodes(compared: Sequence[Compared], asked: Metric) -> list[str]:
    n_shared = sum("node" in one.case for one in compared)
    if not (n_shared and asked.has_waits):
        return []
    of_all = "All" if n_shared == len(compared) else f"{n_shared} of {len(compared)}"
    wide = f"{LEAST_SHARED:.0%}, and bounds at {CONFIDENCE_SHARED:.1%}"
    told = f"{of_all} are of shared nodes: there it takes {wide}, to be better or worse"
    return [f"{told}. CPU time (--metric cpu_ns) and counts tell more."]


def _told_of_others(compared: Sequence[Compared], axes: Sequence[str]) -> list[str]:
    """A sentence for each other metric that differs somewhere: where most."""
    told = []
    for key in dict.fromkeys(key for one in compared for key in one.also):
        differing = [one for one in compared if one.also[key].verdict in (Verdict.WORSE, Verdict.BETTER)]
        if not differing:
            continue
        differing.sort(key=lambda one: (_ORDER.index(one.also[key].verdict), -(one.also[key].ratio or 0)))
        counts = Counter(one.also[key].verdict.value for one in differing)
        most = differing[0]
        where = " / ".join(most.case[axis] for axis in axes if axis in most.case)
        told.append(
            f"{metric(key).title}: {', '.join(f'{n} {verdict}' for verdict, n in counts.items())} of {len(compared)}; "
            f"{where or 'the case'}: {shown(most.also[key].ratio, 'ratio')} times (--metric {key})."
        )
    return told


def has_no_bounds(one: Compared) -> bool:
    """Return whether a comparison is one ratio in virtual time: bounds are of several runs."""
    return one.comparison.is_exact and one.comparison.low == one.comparison.high
