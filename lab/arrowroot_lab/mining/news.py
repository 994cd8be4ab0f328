"""What is new since the results before: cases that fail now, work again, or are measured for the first time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .results import telling
from .table import Column, ResultTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot_lab.store import Summary

_BAD = ("failed", "timed out", "refused")


def standing(summaries: Sequence[Summary]) -> list[Summary]:
    """Return the newest result of each series and version, newest first, if it is of the last run of its series.

    A version that is no longer measured stands for nothing any more. Each campaign has its own.

    Args:
        summaries: newest first
    """
    first: dict[tuple[str, str, str], Summary] = {}
    last_run: dict[tuple[str, str], str | None] = {}
    for one in summaries:
        last_run.setdefault((one.campaign, one.series_id), one.run)
        first.setdefault((one.campaign, one.series_id, one.version), one)
    return [one for one in first.values() if one.run == last_run[one.campaign, one.series_id]]


def news(summaries: Sequence[Summary]) -> ResultTable:
    """Return one row for each series and version whose newest result ended otherwise than the one before.

    A first result is news if it failed. Times are not compared: only pairs taken in turns tell what changed.

    Args:
        summaries: newest first
    """
    results: dict[tuple[str, str, str], list[Summary]] = {}
    for one in summaries:
        results.setdefault((one.campaign, one.series_id, one.version), []).append(one)
    found: list[tuple[str, Summary, str | None]] = []
    for one in standing(summaries):
        now, *earlier = results[one.campaign, one.series_id, one.version]
        before = earlier[0].outcome if earlier else None
        if now.outcome in _BAD and before not in _BAD:
            found.append(("fails now", now, before))
        elif now.outcome == "ok" and before in _BAD:
            found.append(("works again", now, before))
    axes, notes = telling([one for _, one, _ in found])
    columns = (
        Column("what", "what"),
        Column("uuid", "result", "key"),
        *(Column(axis, axis) for axis in axes),
        Column("created_at", "measured", "date"),
        Column("before", "before"),
        Column("outcome", "now"),
        Column("reason", "reason"),
    )
    rows = tuple(
        (
            what,
            one.uuid,
            *(getattr(one, axis) for axis in axes),
            one.created_at,
            before,
            one.outcome,
            one.reason,
        )
        for what, one, before in sorted(found, key=lambda item: item[0])
    )
    return ResultTable("New since the results before", columns, rows, notes)
