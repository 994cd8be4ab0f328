"""The samples of one result in their order: those that count, those that were disturbed, and what was predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.table import Column, ResultTable

from .drawing import N_STYLES, Box, Drawing
from .figure import Figure, drawn
from .frame import Frame, draw_key, draw_y_axis, label_room
from .scale import Scale, linear

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEIGHT = 180.0


@dataclass(frozen=True)
class Taken:
    """One sample."""

    turn: int
    value: float | None
    #: Why it does not count: what disturbed it, or how it failed; empty: it counts.
    fault: str = ""


@dataclass(frozen=True)
class Predicted:
    """What a runner said that it would be."""

    by: str
    value: float
    #: A share of the value.
    error: float = 0.0


def samples(
    title: str, caption: str, taken: Sequence[Taken], predicted: Sequence[Predicted], measure: Column
) -> Figure:
    """Return the samples in their order, from zero on; crosses do not count, bands are predictions with their error."""
    table = ResultTable(
        title,
        (Column("turn", "Turn", "count"), measure, Column("fault", "Not counted, as")),
        tuple((sample.turn, sample.value, sample.fault or None) for sample in taken),
        tuple(
            f"Predicted by {each.by}: {shown(each.value, measure.form)}, error {shown(each.error, 'share')}"
            for each in predicted
        ),
    )

    def draw(drawing: Drawing, is_narrow: bool) -> float:
        names = [
            measure.title,
            *(f"predicted by {each.by}: {shown(each.value, measure.form)}" for each in predicted),
        ]
        top = (draw_key(drawing, names, 0.0) if predicted else 0.0) + 28.0
        values = [sample.value for sample in taken if sample.value is not None]
        values += [each.value * (1 + each.error) for each in predicted]
        y = linear(values, top + _HEIGHT, top, measure.form, from_zero=True)
        left = label_room(y, 4) + 12
        x = Scale(-0.5, max(len(taken) - 0.5, 0.5), left, drawing.width - 10, "count")
        frame = Frame(x, y)
        draw_y_axis(drawing, frame, measure.title, 4)
        drawing.line(left, frame.bottom, frame.right, frame.bottom, "axis")
        _draw_predicted(drawing, frame, predicted)
        for place, sample in enumerate(taken):
            at = frame.x(place)
            said = f"turn {sample.turn}: {shown(sample.value, measure.form)}"
            if sample.fault:
                middle = frame.bottom - 8 if sample.value is None else frame.y(sample.value)
                drawing.path(
                    f"M{at - 4:.1f} {middle - 4:.1f}l8 8m-8 0l8 -8", "whisker", f"{said}; {sample.fault}"
                )
            elif sample.value is not None:
                drawing.marker(at, frame.y(sample.value), 0, said)
        words = f"{len(taken)} samples in their order" if len(taken) != 1 else "1 sample"
        n_faulty = sum(bool(sample.fault) for sample in taken)
        if n_faulty:
            words += f"; {n_faulty} not counted (crosses)"
        drawing.text(left, frame.bottom + 22, words, look="muted", width=drawing.width - left - 4)
        del is_narrow
        return frame.bottom + 30

    return drawn(title, caption, table, draw)


def _draw_predicted(drawing: Drawing, frame: Frame, predicted: Sequence[Predicted]) -> None:
    for style, each in enumerate(predicted, start=1):
        look, y = f"s{style % N_STYLES}", frame.y(each.value)
        if each.error:
            high, low = frame.y(each.value * (1 + each.error)), frame.y(each.value * (1 - each.error))
            drawing.rectangle(Box(frame.left, high, frame.right - frame.left, low - high), f"band {look}")
        drawing.line(frame.left, y, frame.right, y, f"curve {look} dash{style % N_STYLES}")
        drawing.marker(frame.right - 8, y, style)
