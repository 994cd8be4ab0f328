"""Layouts in reading and writing, beside what was published: what the laboratory says of them on ATLAS 2012's page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.classics.atlas_2012 import layouts
from arrowroot_lab.classics.atlas_2012.layouts import Layouts
from arrowroot_lab.figures.headlines import alone
from arrowroot_lab.mining.writing import markdown

from .pages import DOCS, Block

if TYPE_CHECKING:
    from arrowroot_lab.store import Store


def blocks(store: Store) -> list[Block]:
    """Return pictures and tables of the page on layouts."""
    found = Layouts.of(layouts.rows(store))
    if not found.document["rows"]:
        return []
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for name, definition in (("picked", found.definition["picked"]), ("reads", found.part("reads"))):
        for figure in found.pictures(definition):
            pictures[f"layouts-{name}.svg"] = alone(figure).encode()
            parts.append(f"![{figure.title}](layouts-{name}.svg)\n\n{figure.caption}\n")
    tables = [markdown(found.table(found.part(name))) for name in ("statements", "writing")]
    return [Block(DOCS / "layouts.md", "figures", "\n".join([*parts, *tables]), pictures)]
