"""Several studies in one picture, each with some published figures beside ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.table import Column, ResultTable

from .drawing import SIZE, SMALL, Box
from .figure import Figure, drawn, style_sheet
from .lettering import text_width, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .drawing import Drawing

WIDTH = 860
_BAR, _GAP, _MARGIN = 12.0, 12.0, 12.0
#: Of a bar with what is between it and the next, of a line of text, and of the name of a study.
_ROW, _LINE, _TITLE = 15.0, 16.0, 20.0
#: The part of the width that labels beside the bars may take; wider ones stand above them.
_LABEL_SHARE = 0.3
GIVEN = "given"
_PUBLISHED, _FOUND, _GIVEN = "bar s0 paper", "bar s1 full", "bar s1 given"
_KEY = ((_PUBLISHED, "published"), (_FOUND, "here, found"), (_GIVEN, "here, given: put in or fitted"))


@dataclass(frozen=True)
class Pair:
    """A published figure and ours; None: not published, or not done again."""

    label: str
    published: float | None
    here: float | None
    #: Ours was put into the model, or fitted to what was published: it is near because it was made so.
    is_given: bool = False

    @property
    def kind(self) -> str | None:
        """The word for ours: "found" or "given"."""
        return None if self.here is None else GIVEN if self.is_given else "found"


@dataclass(frozen=True)
class Headline:
    """Some published figures of a study, and ours."""

    #: A few words: ``Time in reads``.
    what: str
    #: How the figures are shown: see ``mining.table.Column``.
    form: str
    pairs: tuple[Pair, ...]
    #: A sentence below them.
    note: str = ""

    def table(self) -> ResultTable:
        """Return the figures as numbers."""
        return ResultTable(
            self.what,
            (
                Column("of", self.what),
                Column("published", "Published", self.form),
                Column("here", "Here", self.form),
                Column("kind", "Ours is"),
            ),
            tuple((pair.label, pair.published, pair.here, pair.kind) for pair in self.pairs),
            (self.note,) if self.note else (),
        )


def headlines(title: str, caption: str, studies: Sequence[tuple[str, Headline]]) -> Figure:
    """Return bars from zero on, two of each figure; each study has a scale of its own.

    studies: the name of each, and its figures.
    """
    table = ResultTable(
        title,
        (
            Column("study", "Study"),
            Column("what", "What"),
            Column("of", "Of"),
            Column("published", "Published"),
            Column("here", "Here"),
            Column("kind", "Ours is"),
        ),
        tuple(
            (
                name,
                study.what,
                pair.label,
                shown(pair.published, study.form),
                shown(pair.here, study.form),
                pair.kind,
            )
            for name, study in studies
            for pair in study.pairs
        ),
    )

    def draw(drawing: Drawing, is_narrow: bool) -> float:
        del is_narrow
        widest = max(
            (text_width(pair.label, SMALL) for _, study in studies for pair in study.pairs), default=0
        )
        is_beside = widest <= drawing.width * _LABEL_SHARE
        left = _MARGIN + (widest + 14 if is_beside else 0)
        texts = max(
            (
                text_width(text, SMALL, is_bold=True)
                for _, study in studies
                for pair in study.pairs
                for text, *_ in _sides(pair, study.form)
            ),
            default=0,
        )
        y = _draw_key(drawing)
        for name, study in studies:
            y = _draw_head(drawing, name, study, y)
            right = drawing.width - texts - _MARGIN
            most = (
                max((value or 0 for pair in study.pairs for value in (pair.published, pair.here)), default=0)
                or 1
            )
            for pair in study.pairs:
                y = _draw_label(drawing, pair.label, left, y, is_beside=is_beside)
                for text, value, look, word in _sides(pair, study.form):
                    box = Box(left, y, (right - left) * (value or 0) / most, _BAR)
                    if value is not None:
                        drawing.rectangle(box, look, f"{name}, {pair.label}, {word}: {text}")
                    weight = "strong" if look == _FOUND and value is not None else "muted"
                    drawing.text(box.x + box.width + 5, y + _BAR - 2, text, look=weight)
                    y += _ROW
                y += _LINE / 2 if is_beside else 4
            y = _draw_lines(drawing, study.note, y) + _GAP
        return y

    return drawn(title, caption, table, draw, width=WIDTH)


def _sides(pair: Pair, form: str) -> tuple[tuple[str, float | None, str, str], ...]:
    """Both bars of a figure: the text beside it, its value, its look, and the word for it."""
    here = shown(pair.here, form) + (f" {GIVEN}" if pair.is_given else "")
    return (
        (
            "not published" if pair.published is None else shown(pair.published, form),
            pair.published,
            _PUBLISHED,
            "published",
        ),
        (
            "not done" if pair.here is None else here,
            pair.here,
            _GIVEN if pair.is_given else _FOUND,
            "here",
        ),
    )


def _draw_key(drawing: Drawing) -> float:
    x, y = _MARGIN, _MARGIN
    for look, name in _KEY:
        if x > _MARGIN and x + 24 + text_width(name, SMALL) > drawing.width - _MARGIN:
            x, y = _MARGIN, y + _LINE + 2
        drawing.rectangle(Box(x, y, 18, _BAR), look)
        x = drawing.text(x + 24, y + _BAR - 1, name).right + 22
    return y + _BAR + 10


def _draw_head(drawing: Drawing, name: str, study: Headline, y: float) -> float:
    """Draw the name of a study and what is compared: in one line if there is room."""
    room = drawing.width - 2 * _MARGIN
    name_width = text_width(name, SIZE, is_bold=True)
    drawing.text(_MARGIN, y + 15, name, size=SIZE, look="strong", width=room)
    if name_width + 10 + text_width(study.what, SMALL) <= room:
        drawing.text(_MARGIN + name_width + 10, y + 15, study.what, look="muted")
        return y + _TITLE + 4
    return _draw_lines(drawing, study.what, y + _TITLE) + 4


def _draw_label(drawing: Drawing, label: str, left: float, y: float, *, is_beside: bool) -> float:
    if is_beside:
        drawing.text(left - 8, y + _ROW + 2, label, anchor="end")
        return y
    for line in wrapped(label, drawing.width - 2 * _MARGIN, SMALL):
        drawing.text(left, y + 11, line)
        y += _LINE
    return y


def _draw_lines(drawing: Drawing, text: str, y: float) -> float:
    for line in wrapped(text, drawing.width - 2 * _MARGIN, SMALL):
        drawing.text(_MARGIN, y + 11, line, look="muted")
        y += _LINE
    return y


def alone(figure: Figure, *, is_narrow: bool = False) -> str:
    """Return a figure as an SVG file of its own, with its style and paper: light and dark, as the reader has it.

    is_narrow: the drawing for a screen of 400 pixels.
    """
    head, rest = (figure.narrow_svg if is_narrow else figure.svg).split(">", 1)
    paper = '<rect class="paper" width="100%" height="100%"/>'
    return f"{head}><style>{style_sheet()}</style>{paper}{rest}\n"
