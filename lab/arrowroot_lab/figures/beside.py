"""Two sides beside each other: the ratio of one to the other, with its bounds and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.table import Column, ResultTable

from .drawing import SIZE, SMALL, Drawing
from .figure import Figure, drawn
from .frame import draw_whisker, x_labels
from .lettering import text_width
from .scale import Scale, logarithmic

if TYPE_CHECKING:
    from collections.abc import Sequence

#: A row has its name, its words and its ratio; name and words share a line where there is room.
_NAME_LINE, _STRIP = 19.0, 24.0
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
    table = ResultTable(
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
        half = drawing.width / 2 - 16
        drawing.text(2, 14, "\N{LEFTWARDS ARROW} less: better", look="muted", width=half)
        drawing.text(
            drawing.width - 2, 14, "more: worse \N{RIGHTWARDS ARROW}", anchor="end", look="muted", width=half
        )
        ticks = x.ticks(4 if is_narrow else 8)
        y = 28.0
        for row in rows:
            y = _draw_row(drawing, row, x, [tick.value for tick in ticks], y, is_narrow=is_narrow)
        x_labels(drawing, [(x(tick.value), tick) for tick in ticks], y + 14)
        words = f"{right} : {left}"
        drawing.text(drawing.width / 2, y + 34, words, anchor="middle", look="muted", width=drawing.width - 4)
        return y + 42

    return drawn(title, caption, table, draw)


def _draw_row(
    drawing: Drawing, row: Beside, x: Scale, grid: Sequence[float], y: float, *, is_narrow: bool
) -> float:
    said = [row.verdict] if row.verdict else []
    if row.ratio is not None:
        bounds = ""
        if row.low is not None and row.high is not None and row.low < row.high:
            bounds = f" ({shown(row.low, 'ratio')} to {shown(row.high, 'ratio')})"
        said.insert(0, f"{shown(row.ratio, 'ratio')}{_TIMES}{bounds}")
    words = ", ".join(said)
    look = {"better": "good strong", "worse": "bad strong"}.get(row.verdict, "muted")
    right = drawing.width - 2
    if is_narrow:
        drawing.text(2, y + 14, row.name, size=SIZE, look="strong", width=drawing.width - 4)
        y += _NAME_LINE
        drawing.text(2, y + 14, words, look=look, width=drawing.width - 4)
    else:
        taken = min(text_width(words, SMALL, is_bold=True), drawing.width * 0.62)
        drawing.text(right, y + 14, words, anchor="end", look=look, width=taken + 1)
        drawing.text(2, y + 14, row.name, size=SIZE, look="strong", width=drawing.width - taken - 14)
    y += _NAME_LINE
    for value in grid:
        drawing.line(x(value), y, x(value), y + _STRIP - 4, "even" if value == 1 else "grid")
    drawing.line(x(1), y, x(1), y + _STRIP - 4, "even")
    middle = y + _STRIP / 2 - 2
    if row.ratio is not None and row.ratio > 0:
        if row.low is not None and row.high is not None and 0 < row.low < row.high:
            draw_whisker(drawing, x(row.low), x(row.high), middle)
        values = f"{row.name}: {shown(row.left, row.form)} and {shown(row.right, row.form)}"
        drawing.marker(x(row.ratio), middle, _MARKS.get(row.verdict, 0), values)
    return y + _STRIP + 4
