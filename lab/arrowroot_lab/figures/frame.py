"""The frame of a plot: axes, grid, tick labels that do not touch, and the key of its series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .drawing import N_STYLES, SMALL, Drawing
from .lettering import text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .scale import Scale, Tick

#: Between two labels in a row.
_GAP = 8
LINE_PX = 17


@dataclass(frozen=True)
class Frame:
    """The area of a plot, with its scales."""

    x: Scale
    y: Scale

    @property
    def left(self) -> float:
        """Where values begin."""
        return self.x.begin

    @property
    def right(self) -> float:
        """Where values end."""
        return self.x.end

    @property
    def top(self) -> float:
        """The highest value of y."""
        return self.y.end

    @property
    def bottom(self) -> float:
        """The lowest value of y."""
        return self.y.begin


def axis_title(title: str, scale: Scale) -> str:
    """Return what is written at an axis: its unit is named there, unless each label names its own."""
    unit = "" if scale.is_log else scale.unit.name
    return f"{title} ({unit})" if unit else title


def label_room(scale: Scale, n_ticks: int) -> float:
    """Return the width of the widest tick label."""
    return max((text_width(tick.text, SMALL) for tick in scale.ticks(n_ticks)), default=0.0)


def draw_y_axis(drawing: Drawing, frame: Frame, title: str, n_ticks: int, above: float = 12) -> None:
    """Draw the grid and labels of y, and its title so far above."""
    for tick in frame.y.ticks(n_ticks):
        y = frame.y(tick.value)
        drawing.line(frame.left, y, frame.right, y, "grid")
        drawing.text(frame.left - 6, y + 4, tick.text, anchor="end", look="muted")
    drawing.text(2, frame.top - above, axis_title(title, frame.y), look="muted", width=drawing.width - 4)


def draw_x_axis(drawing: Drawing, frame: Frame, title: str, n_ticks: int) -> float:
    """Draw the grid, labels and title of x; return the height that is used down to there."""
    drawing.line(frame.left, frame.bottom, frame.right, frame.bottom, "axis")
    ticks = frame.x.ticks(n_ticks)
    for tick in ticks:
        x = frame.x(tick.value)
        drawing.line(x, frame.top, x, frame.bottom, "grid")
    x_labels(drawing, [(frame.x(tick.value), tick) for tick in ticks], frame.bottom + 20)
    if not title:
        return frame.bottom + 26
    middle = (frame.left + frame.right) / 2
    width = 2 * min(middle, drawing.width - middle) - 4
    drawing.text(
        middle, frame.bottom + 38, axis_title(title, frame.x), anchor="middle", look="muted", width=width
    )
    return frame.bottom + 46


def x_labels(drawing: Drawing, places: Sequence[tuple[float, Tick]], y: float) -> None:
    """Write labels in a row; one that would touch the one before it is left out, and none leaves the drawing."""
    end = 0.0
    for x, tick in places:
        width = text_width(tick.text, SMALL)
        left = min(max(x - width / 2, 1.0), drawing.width - width - 1)
        if left < end:
            continue
        drawing.text(left, y, tick.text, look="muted")
        end = left + width + _GAP


def draw_whisker(drawing: Drawing, x1: float, x2: float, y: float) -> None:
    """Draw a level whisker, with its ends."""
    drawing.path(f"M{x1:.1f} {y - 4:.1f}v8M{x1:.1f} {y:.1f}H{x2:.1f}M{x2:.1f} {y - 4:.1f}v8", "whisker")


def draw_key(
    drawing: Drawing,
    names: Sequence[str],
    y: float,
    *,
    are_lines: bool = False,
    hollow: frozenset[int] = frozenset(),
    given: frozenset[int] = frozenset(),
) -> float:
    """Draw marker and name of each series, in rows; return where the last row ends."""
    x, row = 8.0, y + 12
    for style, name in enumerate(names):
        room = drawing.width - 40
        width = min(text_width(name, SMALL), room)
        if x > 8 and x + 30 + width > drawing.width - 2:
            x, row = 8.0, row + LINE_PX
        if are_lines:
            drawing.line(x - 6, row - 4, x + 18, row - 4, f"curve s{style % N_STYLES} dash{style % N_STYLES}")
        drawing.marker(x + 6, row - 4, style, is_hollow=style in hollow, is_given=style in given)
        drawing.text(x + 24, row, name, width=room)
        x += 24 + width + 22
    return row + 6
