"""A figure: a picture that is drawn here as SVG, and the table of what it shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arrowroot_lab.mining.table import Table


@dataclass(frozen=True)
class Figure:
    """One picture with its words and numbers; the pages show all of them, notebooks do so by ``_repr_html_``."""

    title: str
    #: One sentence: what is seen.
    caption: str
    #: An ``<svg>`` element with a title for screen readers; its colours are CSS variables, light and dark.
    svg: str
    table: Table
