"""Several studies in one picture, each with some published figures beside ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.table import Column, Table

from .drawing import SIZE, SMALL, Box
from .figure import Figure, drawn, style_sheet
from .lettering import text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .drawing import Drawing

WIDTH = 860
_TITLE, _PAIR, _BAR, _GAP, _MARGIN = 24.0, 36.0, 12.0, 12.0, 12.0
_SIDES, _LOOKS = ("published", "here"), ("bar s0 paper", "bar s1 full")
#: The parts of the width that labels, and the name of a study, may take.
_LABEL_SHARE, _NAME_SHARE = 0.3, 0.6


@dataclass(frozen=True)
class Headline:
    """Some published figures of a study, and ours."""

    #: A few words: ``Time in reads``.
    what: str
    #: How the figures are shown: see ``mining.table.Column``.
    form: str
    #: The names of the figures, as published, and ours; None: not published, or not done again.
    pairs: tuple[tuple[str, float | None, float | None], ...]


def headlines(title: str, caption: str, studies: Sequence[tuple[str, Headline]]) -> Figure:
    """Return bars from zero on, two of each figure; each study has a scale of its own.

    studies: the name of each, and its figures.
    """
    table = Table(
        title,
        (
            Column("study", "Study"),
            Column("what", "What"),
            Column("of", "Of"),
            Column("published", "Published"),
            Column("here", "Here"),
        ),
        tuple(
            (name, study.what, label, shown(then, study.form), shown(now, study.form))
            for name, study in studies
            for label, then, now in study.pairs
        ),
    )

    def draw(drawing: Drawing, is_narrow: bool) -> float:
        del is_narrow
        labels = max((text_width(pair[0], SMALL) for _, study in studies for pair in study.pairs), default=0)
        left = min(labels, drawing.width * _LABEL_SHARE) + 14 + _MARGIN
        texts = max(
            (
                text_width(shown(value, study.form), SMALL, is_bold=True)
                for _, study in studies
                for pair in study.pairs
                for value in pair[1:]
            ),
            default=0,
        )
        y = _draw_key(drawing)
        for name, study in studies:
            y = _draw_study(drawing, name, study, y=y, left=left, right=drawing.width - texts - _MARGIN)
        return y

    return drawn(title, caption, table, draw, width=WIDTH)


def _draw_key(drawing: Drawing) -> float:
    x = _MARGIN
    for side, name in enumerate(_SIDES):
        drawing.rectangle(Box(x, _MARGIN, 18, _BAR), _LOOKS[side])
        x = drawing.text(x + 24, _MARGIN + _BAR - 1, name).right + 22
    return _MARGIN + _BAR + 10


def _draw_study(
    drawing: Drawing, name: str, study: Headline, *, y: float, left: float, right: float
) -> float:
    most = max((value for pair in study.pairs for value in pair[1:] if value is not None), default=0) or 1
    room = drawing.width - 2 * _MARGIN
    label = drawing.text(_MARGIN, y + 15, name, size=SIZE, look="strong", width=room * _NAME_SHARE)
    begin = label.right + 10
    drawing.text(begin, y + 15, study.what, look="muted", width=drawing.width - _MARGIN - begin)
    y += _TITLE
    for text, *values in study.pairs:
        drawing.text(left - 8, y + _PAIR / 2 + 3, text, anchor="end", width=left - _MARGIN - 8)
        for side, value in enumerate(values):
            top = y + 2 + side * (_BAR + 3)
            said = shown(value, study.form)
            if value is None:
                drawing.text(left + 4, top + _BAR, "not published" if side == 0 else "not done", look="muted")
                continue
            box = Box(left, top, (right - left) * value / most, _BAR)
            told = f"{name}, {text}, {_SIDES[side]}: {said}"
            drawing.rectangle(box, _LOOKS[side], told)
            drawing.text(box.x + box.width + 5, top + _BAR, said, look="muted" if side == 0 else "strong")
        y += _PAIR
    return y + _GAP


def alone(figure: Figure) -> str:
    """Return a figure as an SVG file of its own, with its style and paper: light and dark, as the reader has it."""
    head, rest = figure.svg.split(">", 1)
    paper = '<rect class="paper" width="100%" height="100%"/>'
    return f"{head}><style>{style_sheet()}</style>{paper}{rest}\n"
