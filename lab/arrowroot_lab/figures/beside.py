"""Two sides beside each other: the ratio of one to the other, with its bounds and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.table import Column, Table

from .drawing import SIZE, SMALL, Drawing
from .figure import Figure, drawn
from .frame import draw_whisker, x_labels
from .lettering import text_width
from .scale import Scale, logarithmic

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROW = 46
_TIMES = "\N{MULTIPLICATION SIGN}"
_MARKS = {"better": 2, "worse": 4}


@dataclass(frozen=True)
class Beside:
    """One measure of both sides; ``ratio`` is right over left, and below one is better."""

    name: str
    form: str
    left: float | None
    right: float | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    #: "better", "worse", "no difference", "not enough", or what is to be said of it.
    verdict: str = ""


def beside(title: str, caption: str, rows: Sequence[Beside], *, left: str, right: str) -> Figure:
    """Return a line for each row: the ratio right : left on a logarithmic axis around one, its bounds, the verdict."""
    table = Table(
        title,
        (
            Column("name", "What"),
            Column("left", left, "text"),
            Column("right", right, "text"),
            Column("ratio", f"{right} : {left}", "ratio"),
            Column("ratio_low", "At least", "ratio"),
            Column("ratio_high", "At most", "ratio"),
            Column("verdict", "Verdict"),
        ),
        tuple(
            (
                row.name,
                shown(row.left, row.form),
                shown(row.right, row.form),
                row.ratio,
                row.low,
                row.high,
                row.verdict or None,
            )
            for row in rows
        ),
    )

    def draw(drawing: Drawing, is_narrow: bool) -> float:
        ends = [end for row in rows for end in (row.ratio, row.low, row.high) if end is not None and end > 0]
        far = max([1.25, *(max(end, 1 / end) for end in ends)])
        x = logarithmic([1 / far, far], 14.0, drawing.width - 14.0, "ratio")
        y = 34.0
        bottom = y + _ROW * len(rows)
        half = drawing.width / 2 - 16
        drawing.text(2, 14, "\N{LEFTWARDS ARROW} less: better", look="muted", width=half)
        drawing.text(
            drawing.width - 2, 14, "more: worse \N{RIGHTWARDS ARROW}", anchor="end", look="muted", width=half
        )
        ticks = x.ticks(4 if is_narrow else 8)
        for tick in ticks:
            drawing.line(x(tick.value), y, x(tick.value), bottom, "grid")
        drawing.line(x(1), y - 8, x(1), bottom, "even")
        for row in rows:
            _draw_row(drawing, row, x, y)
            y += _ROW
        x_labels(drawing, [(x(tick.value), tick) for tick in ticks], bottom + 18)
        words = f"{right} : {left}"
        drawing.text(
            drawing.width / 2, bottom + 38, words, anchor="middle", look="muted", width=drawing.width - 4
        )
        return bottom + 46

    return drawn(title, caption, table, draw)


def _draw_row(drawing: Drawing, row: Beside, x: Scale, y: float) -> None:
    said = [row.verdict] if row.verdict else []
    if row.ratio is not None:
        bounds = ""
        if row.low is not None and row.high is not None:
            bounds = f" ({shown(row.low, 'ratio')} to {shown(row.high, 'ratio')})"
        said.insert(0, f"{shown(row.ratio, 'ratio')}{_TIMES}{bounds}")
    words = ", ".join(said)
    look = {"better": "good strong", "worse": "bad strong"}.get(row.verdict, "muted")
    taken = min(text_width(words, SMALL, is_bold=True), drawing.width * 0.62)
    drawing.text(drawing.width - 2, y + 14, words, anchor="end", look=look, width=taken + 1)
    drawing.text(2, y + 14, row.name, size=SIZE, width=drawing.width - taken - 14)
    if row.ratio is None or row.ratio <= 0:
        return
    middle = y + 29
    if row.low is not None and row.high is not None and 0 < row.low < row.high:
        x1, x2 = x(row.low), x(row.high)
        draw_whisker(drawing, x1, x2, middle)
    values = f"{row.name}: {shown(row.left, row.form)} and {shown(row.right, row.form)}"
    drawing.marker(x(row.ratio), middle, _MARKS.get(row.verdict, 0), values)
