"""Curves and points on two axes: published beside measured figures, CPU efficiency against the round trip."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from arrowroot_lab.mining.table import Column, ResultTable

from .drawing import N_STYLES, SMALL, Drawing, spread_out
from .figure import Figure, drawn
from .frame import LINE_PX, Frame, draw_key, draw_x_axis, draw_y_axis, label_room
from .lettering import text_width
from .scale import Scale, linear, logarithmic

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEIGHT_WIDE, _HEIGHT_NARROW, _TOP = 290.0, 250.0, 28.0
#: The part of the width that names beside the ends of lines may take.
_NAME_SHARE = 0.36


@dataclass(frozen=True)
class Point:
    """One point, with the bounds of its value and a note ("retest")."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    note: str = ""
    #: Put into a model, or fitted to what was published: a hollow marker that is struck out.
    is_given: bool = False


@dataclass(frozen=True)
class Series:
    """Points that belong together."""

    name: str
    points: tuple[Point, ...]
    #: Joined by a line, in the order of x.
    is_joined: bool = True
    #: Taken from a publication, not measured here: hollow markers.
    is_published: bool = False
    #: Bounds are a band under the line; otherwise whiskers.
    has_band: bool = field(default=False)

    @property
    def is_given(self) -> bool:
        """True if all points are given."""
        return bool(self.points) and all(point.is_given for point in self.points)


def curves(
    title: str,
    caption: str,
    series: Sequence[Series],
    x: Column,
    y: Column,
    *,
    is_log_x: bool = False,
    is_log_y: bool = False,
    from_zero: bool = False,
) -> Figure:
    """Return curves and points. On a logarithmic axis values that are not above zero are only in the table.

    Names stand beside the ends of the lines on wide screens, and above the plot on narrow ones. The table has one
    line for each point.
    """
    table = ResultTable(
        title,
        (
            Column("series", "Series"),
            x,
            y,
            Column(f"{y.key}_low", "From", y.form),
            Column(f"{y.key}_high", "To", y.form),
            Column("source", "Source"),
            Column("note", "Note"),
        ),
        tuple(
            (
                line.name,
                point.x,
                point.y,
                point.low,
                point.high,
                "published" if line.is_published else "here, given" if point.is_given else "here",
                point.note or None,
            )
            for line in series
            for point in line.points
        ),
    )
    shown = [
        Series(
            line.name,
            tuple(
                point
                for point in sorted(line.points, key=lambda point: point.x)
                if (point.x > 0 or not is_log_x) and (point.y > 0 or not is_log_y)
            ),
            line.is_joined,
            line.is_published,
            line.has_band,
        )
        for line in series
    ]

    def draw(drawing: Drawing, is_narrow: bool) -> float:
        hollow = frozenset(style for style, line in enumerate(shown) if line.is_published)
        given = frozenset(style for style, line in enumerate(shown) if line.is_given)
        names = [_name(line) for line in shown]
        room = max((text_width(name, SMALL) for name in names), default=0.0)
        # Beside the ends there is room for some short names only.
        is_beside = (
            not is_narrow and len(shown) * LINE_PX < _HEIGHT_WIDE and room < drawing.width * _NAME_SHARE
        )
        top = _TOP
        if not is_beside:
            top += draw_key(drawing, names, 0.0, are_lines=True, hollow=hollow, given=given) - 4
        height = _HEIGHT_NARROW if is_narrow else _HEIGHT_WIDE
        right = drawing.width - (room + 24 if is_beside else 10)
        values = [
            value
            for line in shown
            for point in line.points
            for value in (point.y, point.low, point.high)
            if value is not None
        ]
        n_y = 6
        y_scale = _scale(values, top + height, top, y, is_log=is_log_y, from_zero=from_zero)
        left = label_room(y_scale, n_y) + 12
        xs = [point.x for line in shown for point in line.points]
        x_scale = _scale(xs, left, right, x, is_log=is_log_x, from_zero=not is_log_x)
        frame = Frame(x_scale, y_scale)
        used = draw_x_axis(drawing, frame, x.title, 5 if is_narrow else 9)
        draw_y_axis(drawing, frame, y.title, n_y)
        for style, line in enumerate(shown):
            _draw_band(drawing, frame, line, style)
        for style, line in enumerate(shown):
            _draw_line(drawing, frame, line, style)
        if is_beside:
            _draw_names(drawing, frame, shown, names)
        return used

    return drawn(title, caption, table, draw)


def _scale(
    values: Sequence[float], begin: float, end: float, column: Column, *, is_log: bool, from_zero: bool
) -> Scale:
    if is_log:
        return logarithmic(values, begin, end, column.form)
    return linear(values, begin, end, column.form, from_zero=from_zero)


def _name(line: Series) -> str:
    if line.is_published:
        return line.name if "published" in line.name else f"{line.name} (published)"
    if not any(point.is_given for point in line.points):
        return line.name
    return f"{line.name}, given" if line.is_given else f"{line.name}; struck out: given"


def _bounds(point: Point) -> tuple[float, float]:
    return (point.y if point.low is None else point.low, point.y if point.high is None else point.high)


def _draw_band(drawing: Drawing, frame: Frame, line: Series, style: int) -> None:
    if not line.has_band or len(line.points) < 2:
        return
    upper = [(frame.x(point.x), frame.y(_bounds(point)[1])) for point in line.points]
    lower = [(frame.x(point.x), frame.y(_bounds(point)[0])) for point in reversed(line.points)]
    corners = "L".join(f"{x:.1f} {y:.1f}" for x, y in upper + lower)
    drawing.path(f"M{corners}Z", f"band s{style % N_STYLES}")


def _draw_line(drawing: Drawing, frame: Frame, line: Series, style: int) -> None:
    if line.is_joined and len(line.points) > 1:
        drawing.polyline(
            [(frame.x(point.x), frame.y(point.y)) for point in line.points],
            f"curve s{style % N_STYLES} dash{style % N_STYLES}",
        )
    for point in line.points:
        x = frame.x(point.x)
        low, high = _bounds(point)
        if low < high and not line.has_band:
            drawing.path(f"M{x:.1f} {frame.y(low):.1f}V{frame.y(high):.1f}", "whisker")
        drawing.marker(
            x,
            frame.y(point.y),
            style,
            f"{line.name}: {point.note}",
            is_hollow=line.is_published,
            is_given=point.is_given,
        )


def _draw_names(drawing: Drawing, frame: Frame, series: Sequence[Series], names: Sequence[str]) -> None:
    ended = [(style, line.points[-1]) for style, line in enumerate(series) if line.points]
    wanted = [frame.y(point.y) for _, point in ended]
    for (style, point), y, at in zip(
        ended, spread_out(wanted, LINE_PX, frame.top + 4, frame.bottom - 4), wanted, strict=True
    ):
        x = frame.x(point.x)
        drawing.line(x + 6, at, frame.right + 12, y, "leader")
        line = series[style]
        drawing.marker(frame.right + 14, y, style, is_hollow=line.is_published, is_given=line.is_given)
        drawing.text(frame.right + 22, y + 4, names[style], width=drawing.width - frame.right - 23)
