"""How a series went on: one point for each result, with marks for versions and change points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.history import lines
from arrowroot_lab.mining.table import Column, ResultTable

from .drawing import N_STYLES, SMALL, Drawing
from .figure import Figure, drawn
from .frame import LINE_PX, Frame, draw_key, draw_y_axis, label_room, x_labels
from .lettering import fitted, wrapped
from .scale import Scale, Tick, linear

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEIGHT_WIDE, _HEIGHT_NARROW = 260.0, 220.0
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTER_PX = 18
#: Between labels of dates, in pixels and in days.
_DATE_PX, _STEPS, _DAY_S = 90, (1, 2, 7, 14, 28, 91, 182, 364, 728), 86_400.0


@dataclass(frozen=True)
class Moment:
    """One result of a series; without a value, why there is none."""

    #: UTC, as the documents have it.
    at: str
    version: str
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Mark:
    """Something that happened at a moment, or between the one before and it."""

    #: The place of the moment from which on it holds.
    place: int
    #: "change point", "new version", "by hand", ...
    kind: str
    text: str


def history(
    title: str, caption: str, moments: Sequence[Moment], marks: Sequence[Mark], measure: Column
) -> Figure:
    """Return the history of a series over time; the axis of values does not begin at zero.

    Marks have letters in the picture, explained below it and in the notes of the table.
    """
    lettered = [(_letter(place), mark) for place, mark in enumerate(marks)]
    table = ResultTable(
        title,
        (
            Column("created_at", "When", "date"),
            Column("version", "Version"),
            measure,
            Column(f"{measure.key}_low", "From", measure.form),
            Column(f"{measure.key}_high", "To", measure.form),
            Column("note", "Note"),
        ),
        tuple(
            (moment.at, moment.version, moment.value, moment.low, moment.high, moment.note or None)
            for moment in moments
        ),
        tuple(f"{letter}: {_said(mark, moments)}" for letter, mark in lettered),
    )

    def draw(drawing: Drawing, is_narrow: bool) -> float:
        joined = lines([moment.version for moment in moments])
        top = 52.0 + (draw_key(drawing, list(joined), 0.0, are_lines=True) if len(joined) > 1 else 0.0)
        bottom = top + (_HEIGHT_NARROW if is_narrow else _HEIGHT_WIDE)
        ends = [
            end
            for moment in moments
            if moment.value is not None
            for end in (moment.value, moment.low, moment.high)
            if end is not None
        ]
        y = linear(ends, bottom, top, measure.form, from_zero=False)
        left = label_room(y, 6) + 16
        times = [_time(moment.at) for moment in moments]
        room = max((max(times) - min(times)) * 0.03, 3600.0) if times else 3600.0
        ends_at = (min(times) - room, max(times) + room) if times else (0.0, 1.0)
        x = Scale(*ends_at, left, drawing.width - 10, "count")
        frame = Frame(x, y)
        draw_y_axis(
            drawing, frame, measure.title + ("" if y.low <= 0 else ", axis not from zero"), 6, above=38
        )
        drawing.line(left, bottom, frame.right, bottom, "axis")
        _draw_marks(drawing, frame, lettered, times)
        _draw_moments(drawing, frame, moments, joined, measure)
        used = _draw_dates(drawing, frame, moments)
        for letter, mark in lettered:
            for index, line in enumerate(wrapped(_said(mark, moments), drawing.width - 34, SMALL)):
                used += LINE_PX
                if index == 0:
                    drawing.text(8, used, letter, look="strong")
                drawing.text(28, used, line)
        return used + 8

    return drawn(title, caption, table, draw)


def _time(date: str) -> float:
    """Seconds since 1970."""
    return datetime.fromisoformat(date.replace("Z", "+00:00")).timestamp()


def _letter(place: int) -> str:
    return _LETTERS[place] if place < len(_LETTERS) else str(place + 1)


def _said(mark: Mark, moments: Sequence[Moment]) -> str:
    at = moments[mark.place].at[:10] if mark.place < len(moments) else ""
    return f"{at} {mark.kind}: {mark.text}".strip()


def _draw_marks(
    drawing: Drawing, frame: Frame, lettered: Sequence[tuple[str, Mark]], times: Sequence[float]
) -> None:
    """Draw a line before the moment of each mark, with its letter above; letters of near marks are put together."""
    letters_at: list[tuple[float, str]] = []
    for letter, mark in sorted(lettered, key=lambda item: item[1].place):
        # Between the moment and the one before.
        before, now = (times[min(max(place, 0), len(times) - 1)] for place in (mark.place - 1, mark.place))
        x = frame.x((before + now) / 2)
        drawing.line(x, frame.top - 8, x, frame.bottom, "mark")
        if letters_at and x - letters_at[-1][0] < _LETTER_PX:
            letters_at[-1] = (letters_at[-1][0], letters_at[-1][1] + letter)
        else:
            letters_at.append((x, letter))
    for place, (x, letters) in enumerate(letters_at):
        end = letters_at[place + 1][0] if place + 1 < len(letters_at) else drawing.width
        drawing.text(x, frame.top - 12, letters, look="strong", width=end - x - 4)


def _draw_moments(
    drawing: Drawing, frame: Frame, moments: Sequence[Moment], joined: dict[str, list[int]], measure: Column
) -> None:
    """Draw the points; those of a line are joined, and have its style."""
    styles: dict[int, int] = {}
    for style, places in enumerate(joined.values()):
        styles |= dict.fromkeys(places, style)
        run: list[tuple[float, float]] = []
        for value, x in [
            *((moments[place].value, frame.x(_time(moments[place].at))) for place in places),
            (None, 0.0),
        ]:
            if value is not None:
                run.append((x, frame.y(value)))
                continue
            # A result without a value breaks the line.
            if len(run) > 1:
                drawing.polyline(run, f"curve s{style % N_STYLES} dash{style % N_STYLES}")
            run = []
    # Many points want small marks, and no whiskers that would hide each other.
    step = (frame.right - frame.left) / max(len(moments), 1)
    for place, moment in enumerate(moments):
        x = frame.x(_time(moment.at))
        if moment.value is None:
            drawing.path(
                f"M{x - 4:.1f} {frame.bottom - 10:.1f}l8 8m-8 0l8 -8",
                "whisker",
                f"{moment.at[:16]}: {moment.note}",
            )
            continue
        if moment.low is not None and moment.high is not None and moment.low < moment.high:
            drawing.path(f"M{x:.1f} {frame.y(moment.low):.1f}V{frame.y(moment.high):.1f}", "whisker")
        if step > 3:
            said = f"{moment.at[:16]}, {moment.version}: {shown(moment.value, measure.form)}"
            drawing.marker(x, frame.y(moment.value), styles[place], said)


def _draw_dates(drawing: Drawing, frame: Frame, moments: Sequence[Moment]) -> float:
    """Write versions under the points as far as there is room, and days at equal steps of time."""
    versions = []
    last_version = ""
    for moment in moments:
        at = _time(moment.at)
        if moment.version != last_version:
            versions.append((frame.x(at), Tick(at, fitted(moment.version, 110, SMALL))))
            last_version = moment.version
    n_labels = max(int((frame.right - frame.left) / _DATE_PX), 1)
    days = [(frame.x(at), Tick(at, _day(at))) for at in _days(frame.x.low, frame.x.high, n_labels)]
    if not days and moments:
        days = [(frame.x(_time(moments[0].at)), Tick(0.0, moments[0].at[:10]))]
    for x, _ in days:
        drawing.line(x, frame.bottom, x, frame.bottom + 5, "axis")
    x_labels(drawing, versions, frame.bottom + 20)
    x_labels(drawing, days, frame.bottom + 20 + LINE_PX)
    return frame.bottom + 26 + LINE_PX


def _days(begin: float, end: float, n_most: int) -> list[float]:
    """Beginnings of days, at steps of so many days that there are not more of them than asked."""
    n_days = (end - begin) / _DAY_S
    step = next((one for one in _STEPS if n_days / one <= n_most), math.ceil(n_days / n_most)) * _DAY_S
    return [place * step for place in range(math.ceil(begin / step), math.floor(end / step) + 1)]


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).isoformat()[:10]
