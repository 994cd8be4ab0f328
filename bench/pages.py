"""Where the tables are written: between two marks of a page of the documents."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def update_page(page: Path, tables: str, name: str) -> None:
    """Replace what stands between the marks of ``name``. Ends the program if the page has none."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    text = page.read_text(encoding="utf-8")
    if begin not in text or end not in text:
        sys.exit(f"{page.name} has no {begin} and {end}")
    before, _, rest = text.partition(begin)
    after = rest.partition(end)[2]
    page.write_text(f"{before}{begin}\n{tables}\n{end}{after}", encoding="utf-8")


def names(text: str) -> list[str]:
    """The names that an option lists with commas."""
    return [name for name in text.split(",") if name]
