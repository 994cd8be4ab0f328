"""The figures of a run: a row for each case, and what to do with it."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrowroot_lab.documents import Outcome
from arrowroot_lab.quantities import time_text

from .comparison import SIDES
from .metrics import metric
from .results import label, telling
from .table import Column, ResultTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arrowroot_lab.documents import Result
    from arrowroot_lab.store import Summary

#: Words for results that are not simply ok, and what they mean.
_BUSY, _VIRTUAL, _FEW, _SHARED = "busy", "virtual", "too few", "shared"
_MEANINGS = {
    _VIRTUAL: "virtual: replayed from one trace in virtual time; the CPU time in it was measured once.",
    _FEW: "too few: fewer samples count than were asked for, as the machine was busy.",
    _SHARED: "shared: others used the node, too, and every sample counts; CPU time and counts tell more than the time.",
    _BUSY: "busy: no sample counts, as the machine was busy; the time is what they took all the same.",
}


@dataclass(frozen=True)
class Spread:
    """How far samples of a result are apart; its row has the median."""

    #: The least and the most wall time of the counted samples.
    low_ns: float | None
    high_ns: float | None
    #: The median wall time of the samples that ended well, if all of them were disturbed.
    disturbed_ns: float | None


def spread_of(result: Result) -> Spread:
    """Return the spread of a result."""
    walls = metric("wall_ns").values(result)
    disturbed = [one.wall_ns for one in result.samples if one.disturbed and one.wall_ns is not None]
    return Spread(
        min(walls, default=None),
        max(walls, default=None),
        statistics.median(disturbed) if disturbed and not walls else None,
    )


def measured_table(found: Sequence[Summary], spreads: Mapping[str, Spread]) -> ResultTable:
    """Return a row for each result, in their order: median, spread, how many samples count, and a word.

    spreads: by UUID
    """
    axes = [axis for axis in telling(found)[0] if axis not in ("campaign", "site")]
    cells = [_cells(one, spreads[one.uuid], label(one, axes) or one.workload) for one in found]
    columns = (
        Column("case", "case"),
        Column("wall_ns", "median", "time"),
        Column("spread", "spread", "share"),
        Column("n_counted", "samples", "count"),
        Column("verdict", "verdict"),
    )
    verdicts = {cell[-1] for cell in cells}
    notes = [text for word, text in _MEANINGS.items() if word in verdicts]
    if any(cell[2] is not None for cell in cells):
        notes.insert(0, "spread: from the least to the most, as a share of the median.")
    return ResultTable("", columns, tuple(cells), tuple(notes))


def _cells(one: Summary, spread: Spread, name: str) -> tuple[str, float | str | None, float | None, int, str]:
    if one.outcome != Outcome.OK.value:
        return name, None, None, one.n_counted, one.outcome
    if not one.wall_median_ns or spread.low_ns is None or spread.high_ns is None:
        about = None if spread.disturbed_ns is None else f"about {time_text(spread.disturbed_ns)}"
        return name, about, None, 0, _BUSY
    verdict = _VIRTUAL if one.is_virtual else (one.node or "ok") if one.reason is None else _FEW
    share = (spread.high_ns - spread.low_ns) / one.wall_median_ns if one.n_counted > 1 else None
    return name, one.wall_median_ns, share, one.n_counted, verdict


def axis_to_compare(found: Sequence[Summary]) -> str | None:
    """Return the axis on which most cases of a run can be compared; None if there is none."""
    counts: Counter[str] = Counter()
    for axis, group in SIDES.items():
        values: dict[str, set[str]] = {}
        for one in found:
            if one.n_counted:
                values.setdefault(getattr(one, group), set()).add(getattr(one, axis))
        counts[axis] = sum(len(of_group) > 1 for of_group in values.values())
    best, n_cases = counts.most_common(1)[0]
    return best if n_cases else None
