"""The tables of a part of the experiment as Markdown."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from campaigns.parallel_output.cases import Outcome


class Found(NamedTuple):
    """The findings of a part: its tables, and what is not as it must be."""

    tables: list[str]
    complaints: list[str]


#: The last columns of each table of streams.
HEADER = (
    "events/s", "efficiency", "1 - stalled share", "stalls", "total (s)", "longest (s)", "helping",
)  # fmt: skip


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table under a title."""
    lines = [f"**{title}**", "", f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def cells(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the cells of a row: medians over runs, but the longest stall of all."""

    def median(values: Iterable[float]) -> float:
        return statistics.median(values)

    return [
        f"{median(o.events_per_s for o in outcomes):.2f}",
        f"{median(o.efficiency for o in outcomes):.4f}",
        f"{median(o.not_stalled for o in outcomes):.4f}",
        f"{median(o.n_stalls for o in outcomes):,.0f}",
        f"{median(o.stalls_s for o in outcomes):,.2f}",
        f"{max(o.longest_s for o in outcomes):.3f}",
        f"{100 * median(o.helping for o in outcomes):.1f} %",
    ]
