"""A figure: a picture that is drawn here as SVG, and the table of what it shows."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from arrowroot_lab.canonical import key_of
from arrowroot_lab.mining.format import shown

from .drawing import Drawing

if TYPE_CHECKING:
    from collections.abc import Callable

    from arrowroot_lab.mining.table import ResultTable

#: Widths in pixels: beside another figure on a wide screen, and on a telephone.
WIDE, NARROW = 680, 360


@dataclass(frozen=True)
class Figure:
    """One picture with its words and numbers; the pages show all of them, notebooks do so by ``_repr_html_``."""

    title: str
    #: One sentence: what is seen.
    caption: str
    #: An ``<svg>`` element with a title for screen readers; its colours are CSS variables, light and dark.
    svg: str
    #: The same, drawn for a screen of 400 pixels.
    narrow_svg: str
    table: ResultTable

    def _repr_html_(self) -> str:
        """The figure for notebooks, with its style and, folded, its table."""
        return (
            f"<style>{style_sheet()}</style><figure class='lab-figure'><figcaption><b>{escape(self.title)}</b> "
            f"{escape(self.caption)}</figcaption>{self.svg}<details><summary>The numbers</summary>"
            f"{_table_html(self.table)}</details></figure>"
        )


def drawn(
    title: str, caption: str, table: ResultTable, draw: Callable[[Drawing, bool], float], *, width: int = WIDE
) -> Figure:
    """Return a figure that ``draw`` draws twice, for wide and for narrow screens.

    ``draw`` gets the empty drawing and whether it is narrow, and returns the height that it has used.
    """
    key = "f" + key_of([title, caption, table.rows])
    svgs = []
    for is_narrow in (False, True):
        drawing = Drawing(NARROW if is_narrow else width, key + ("n" if is_narrow else "w"))
        height = draw(drawing, is_narrow)
        svgs.append(drawing.svg(height, f"{title}. {caption}"))
    return Figure(title, caption, svgs[0], svgs[1], table)


def style_sheet() -> str:
    """Return the style sheet of the figures: the classes and colours that the SVG elements use."""
    return files("arrowroot_lab.figures").joinpath("figures.css").read_text(encoding="utf-8")


def _table_html(table: ResultTable) -> str:
    head = "".join(f"<th>{escape(column.title)}</th>" for column in table.columns)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td>{escape(shown(value, column.form))}</td>"
            for column, value in zip(table.columns, row, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
