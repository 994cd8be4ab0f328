"""What is new since the results before: cases that fail now, work again, or are measured for the first time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .results import axes_of, varying
from .table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot_lab.store import Summary

_BAD = ("failed", "timed out", "refused")


def news(summaries: Sequence[Summary]) -> Table:
    """Return one row for each series and version whose newest result ended otherwise than the one before.

    A first result is news if it failed. Times are not compared: only pairs taken in turns tell what changed.

    Args:
        summaries: newest first
    """
    results: dict[tuple[str, str], list[Summary]] = {}
    for one in summaries:
        results.setdefault((one.series_id, one.version), []).append(one)
    found: list[tuple[str, Summary, str | None]] = []
    for now, *earlier in results.values():
        before = earlier[0].outcome if earlier else None
        if now.outcome in _BAD and before not in _BAD:
            found.append(("fails now", now, before))
        elif now.outcome == "ok" and before in _BAD:
            found.append(("works again", now, before))
    axes, notes = varying([axes_of(one) for _, one, _ in found])
    columns = (
        Column("what", "What"),
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
    return Table("New since the results before", columns, rows, notes)
