"""Bars with their spread, in groups: by site or storage, and in them by version, engine or strategy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.table import Column, ResultTable

from .drawing import SIZE, SMALL, Box, Drawing
from .figure import Figure, drawn
from .frame import Frame, draw_whisker, draw_x_axis
from .lettering import text_width
from .scale import linear

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROW, _GROUP_ROW, _BAR = 22, 26, 14
#: Of a row: where its text stands, and what a name above it takes.
_BASELINE, _NAME_ROW = _ROW / 2 + SMALL * 0.36, 15
#: The part of the width that names beside the bars may take.
_NAME_SHARE = 0.32


@dataclass(frozen=True)
class Bar:
    """One bar: a value with the bounds of its spread; without a value, why there is none."""

    group: str
    series: str
    value: float | None
    low: float | None = None
    high: float | None = None
    #: Samples that it is made of.
    n: int | None = None
    note: str = ""
    #: Put into a model, or fitted to what was published: an empty bar with a dashed edge, whose name says so.
    is_given: bool = False
    #: Of samples that do not count: drawn alike.
    is_disturbed: bool = False

    @property
    def name(self) -> str:
        """What is written at the bar."""
        suffix = ", given" * self.is_given + ", disturbed" * self.is_disturbed
        return self.series + suffix


def bars(
    title: str, caption: str, data: Sequence[Bar], measure: Column, *, group: str, series: str
) -> Figure:
    """Return horizontal bars from zero on, in groups that keep their order, each with its value and spread.

    Args:
        title: of the figure
        caption: one sentence that says what value and spread are
        data: the bars
        measure: key, title and form of the values
        group: title of what the groups are ("Storage")
        series: title of what is compared in a group ("Engine")
    """
    groups: dict[str, list[Bar]] = {}
    for bar in data:
        groups.setdefault(bar.group, []).append(bar)
    styles = {name: style for style, name in enumerate(dict.fromkeys(bar.series for bar in data))}
    table = ResultTable(
        title,
        (
            Column("group", group),
            Column("series", series),
            measure,
            Column(f"{measure.key}_low", "From", measure.form),
            Column(f"{measure.key}_high", "To", measure.form),
            Column("n_samples", "Samples", "count"),
            Column("note", "Note"),
        ),
        tuple(
            (bar.group, bar.name, bar.value, bar.low, bar.high, bar.n, bar.note or None)
            for members in groups.values()
            for bar in members
        ),
    )

    def draw(drawing: Drawing, is_narrow: bool) -> float:
        del is_narrow
        names = max((text_width(bar.name, SMALL) for bar in data), default=0.0)
        # Names that are too wide to stand beside their bars stand above them.
        is_beside = names <= drawing.width * _NAME_SHARE
        left = names + 12 if is_beside else 12
        row = _ROW if is_beside else _ROW + _NAME_ROW
        texts = max(
            (text_width(shown(bar.value, measure.form), SMALL, is_bold=True) for bar in data), default=0.0
        )
        ends = [
            end
            for bar in data
            if bar.value is not None
            for end in (bar.value, bar.low, bar.high)
            if end is not None
        ]
        height = sum(_GROUP_ROW + row * len(members) for members in groups.values())
        x = linear(ends, left, drawing.width - texts - 12, measure.form, from_zero=True)
        frame = Frame(x, linear((), height + 4.0, 4.0, "count", from_zero=True))
        has_spread = any(bar.low is not None and bar.low != bar.high for bar in data)
        used = draw_x_axis(drawing, frame, measure.title, 3 if drawing.width < 500 else 6)
        y = 4.0
        for name, members in groups.items():
            drawing.text(2, y + 18, name, size=SIZE, look="strong", width=drawing.width - 4)
            y += _GROUP_ROW
            for bar in members:
                if not is_beside:
                    drawing.text(
                        frame.left, y + _NAME_ROW - 2, bar.name, width=drawing.width - frame.left - 4
                    )
                place = y + row - _ROW
                style = styles[bar.series]
                _draw_bar(drawing, bar, frame, measure, y=place, style=style, has_spread=has_spread)
                if is_beside:
                    drawing.text(frame.left - 6, y + _BASELINE, bar.name, anchor="end")
                y += row
        return used

    return drawn(title, caption, table, draw)


def _draw_bar(
    drawing: Drawing, bar: Bar, frame: Frame, measure: Column, *, y: float, style: int, has_spread: bool
) -> None:
    middle, baseline = y + _ROW / 2, y + _BASELINE
    if bar.value is None:
        room = drawing.width - frame.left - 8
        drawing.text(frame.left + 6, baseline, bar.note or "no value", look="bad", width=room)
        return
    text = shown(bar.value, measure.form)
    low, high = (bar.value if end is None else end for end in (bar.low, bar.high))
    said = f"{bar.group}, {bar.name}: {text} ({shown(low, measure.form)} to {shown(high, measure.form)})"
    drawing.bar(
        Box(frame.left, middle - _BAR / 2, frame.x(bar.value) - frame.left, _BAR),
        style,
        said,
        is_given=bar.is_given or bar.is_disturbed,
    )
    if low < high:
        x1, x2 = frame.x(low), frame.x(high)
        draw_whisker(drawing, x1, x2, middle)
    # In a column of their own where they have whiskers: beside the end of one it would be taken for that end.
    drawing.text((frame.right if has_spread else frame.x(bar.value)) + 6, baseline, text, look="strong")
