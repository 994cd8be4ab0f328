"""One case on both sides: its samples, what they say by each metric, and why they say nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from arrowroot_lab.documents import Outcome
from arrowroot_lab.statistics import (
    CONFIDENCE,
    CONFIDENCE_SHARED,
    LEAST,
    LEAST_SHARED,
    TOLERANCE,
    TOLERANCE_SHARED,
    Comparison,
    InTurns,
    Verdict,
    compare_nights,
    nearest,
)
from arrowroot_lab.statistics import compare as judge

from .metrics import STATISTICS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arrowroot_lab.statistics import Samples

    from .comparison import Measured
    from .metrics import Metric

#: Forms of metrics that count something, of which zero is a value like others.
_COUNTS = ("count", "bytes")
#: Bounds of times in which others on the node are waited for.
_SHARED = (LEAST_SHARED, TOLERANCE_SHARED, CONFIDENCE_SHARED)
_QUIET = (LEAST, TOLERANCE, CONFIDENCE)


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
    #: Other metrics that are judged where none is asked for: key -> what their pairs say.
    also: dict[str, Comparison] = field(default_factory=dict)

    @property
    def is_worse(self) -> bool:
        """True if any of its metrics is."""
        return any(one.verdict is Verdict.WORSE for one in (self.comparison, *self.also.values()))


class Case:
    """The samples of one case on both sides."""

    def __init__(self, both: list[list[Measured]], by: str, samples: Mapping[str, Samples]) -> None:
        self.both, self.by = both, by
        #: By side and result, in the order of ``both``.
        self.samples = [[samples[one.row.uuid] for one in side] for side in both]
        #: Sites never run in turns.
        self.in_turns = None if by == "site" else InTurns(*(
            [(one.row.run, told) for one, told in zip(side, of_side, strict=True)]
            for side, of_side in zip(both, self.samples, strict=True)
        ))  # fmt: skip

    def values(self, at: int) -> list[list[list[float]]]:
        """By side and result, the values of the metric at a place."""
        return [
            [[value for value in told.values[at] if value is not None] for told in side]
            for side in self.samples
        ]

    def figures(self, at: int, statistic: str) -> list[float | None]:
        """The figure of each side by the metric at a place; None: no sample has it."""
        told = (
            [value for one in side for value in one.values[at] if value is not None] for side in self.samples
        )
        return [STATISTICS[statistic](values) if values else None for values in told]


def compared(case: Case, sides: tuple[str, str], metrics: Sequence[Metric], *, statistic: str) -> Compared:
    """Judge a case by each metric, in the order of the samples' values: the first one, and what is told besides.

    sides: the values that are compared
    """
    first, second = case.both
    figures = case.figures(0, statistic)
    comparison, *further = (_judged(case, at, one, statistic) for at, one in enumerate(metrics))
    return Compared(
        case={
            axis: value
            for axis, value in second[0].axes.items()
            if axis != case.by
            and value == first[0].axes.get(axis)
            # A layout that has the name of its dataset goes without saying.
            and not (axis == "layout" and value == second[0].axes.get("dataset"))
        },
        before=sides[0],
        now=sides[1],
        comparison=comparison,
        before_figure=figures[0],
        now_figure=figures[1],
        before_uuid=first[0].row.uuid,
        now_uuid=second[0].row.uuid,
        also={one.key: told for one, told in zip(metrics[1:], further, strict=True)},
    )


def _judged(case: Case, at: int, asked: Metric, statistic: str) -> Comparison:
    """Judge a case by one metric, that at a place of the samples' values."""
    if case.in_turns is None:
        return _judged_by_nights(case, at, asked, statistic)
    return _judged_by_pairs(case, case.in_turns, at, asked, statistic)


def _judged_by_nights(case: Case, at: int, asked: Metric, statistic: str) -> Comparison:
    """Judge two sites, which never run in turns, by their nearest rounds."""
    rounds = [
        [
            (one.row.created_at, figure)
            for one, values in zip(side, of_side, strict=True)
            if values and (figure := STATISTICS[statistic](values)) > 0
        ]
        for side, of_side in zip(case.both, case.values(at), strict=True)
    ]
    ratios = nearest(*rounds)
    if ratios:
        return compare_nights(ratios, is_lower_better=asked.is_lower_better)
    why = _why_no_figure(case.both, case.figures(at, statistic)) or "no rounds of both are within a day"
    return replace(judge([]), reason=why)


def _judged_by_pairs(case: Case, in_turns: InTurns, at: int, asked: Metric, statistic: str) -> Comparison:
    """Judge by the pairs of samples that were taken in turns."""
    both, is_count = case.both, asked.form in _COUNTS
    ratios, is_exact = in_turns.ratios(at, with_zeros=is_count)
    is_wide = asked.has_waits and any(one.row.node for side in both for one in side)
    least, tolerance, confidence = _SHARED if is_wide else _QUIET
    comparison = judge(
        ratios,
        is_lower_better=asked.is_lower_better,
        is_exact=is_exact,
        least=least,
        tolerance=tolerance,
        confidence=confidence,
    )
    if not ratios:
        return replace(comparison, reason=_why_unpaired(both, case.figures(at, statistic), is_count=is_count))
    if math.inf in (comparison.ratio, comparison.low, comparison.high):
        # From zero there is a verdict, and no ratio.
        comparison = replace(
            comparison,
            ratio=_finite(comparison.ratio),
            low=_finite(comparison.low),
            high=_finite(comparison.high),
        )
    if not is_exact and all(all(one.traces) for side in case.samples for one in side):
        return replace(comparison, reason="in virtual time, each from a trace of its own")
    return comparison


def _finite(value: float | None) -> float | None:
    return None if value == math.inf else value


def why_skipped(both: list[list[Measured]]) -> str | None:
    """Why one of two sides was never tried; None if both were."""
    for side in both:
        if all(one.row.outcome == Outcome.SKIPPED.value for one in side):
            return f"{side[0].row.engine}: {side[0].row.reason or 'no reason told'}"
    return None


def _why_no_figure(both: list[list[Measured]], figures: list[float | None]) -> str | None:
    for side, figure in zip(both, figures, strict=True):
        if figure is None:
            row = side[0].row
            ended = "" if row.outcome == Outcome.OK.value else f" {row.outcome}"
            return f"{row.engine}{ended}: {row.reason or 'no sample is counted'}"
    return None


def _why_unpaired(both: list[list[Measured]], figures: list[float | None], *, is_count: bool) -> str:
    why = _why_no_figure(both, figures)
    if why is not None:
        return why
    first, second = ({one.row.run for one in side if one.row.run} for side in both)
    if not first & second:
        return "never measured in turns: no run has both"
    if 0 in figures and not is_count:
        return "it is zero on one side, of which there is no ratio"
    return "never measured in turns: no turn of a run has both, counted and one after the other"
