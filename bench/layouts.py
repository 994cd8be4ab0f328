"""Layouts in reading and writing, beside what was published: ``python -m bench.layouts [--db FILE] [--update-docs]``.

The campaign ``campaigns/layouts.toml`` of the laboratory is run as far as it is not measured yet. What its results
tell, the laboratory says (``arrowroot_lab.classics.atlas_2012.layouts``), as on the page of ATLAS 2012.
"""

from __future__ import annotations

import argparse
import sys

from arrowroot_lab.classics.atlas_2012 import layouts
from arrowroot_lab.classics.atlas_2012.layouts import Layouts
from arrowroot_lab.figures.headlines import alone
from arrowroot_lab.mining.writing import as_json, markdown
from arrowroot_lab.store import Store

from . import laboratory
from .pages import update_page
from .paths import REPOSITORY

CAMPAIGN = REPOSITORY / "campaigns" / "layouts.toml"
PAGE = REPOSITORY / "docs" / "layouts.md"


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", default="bench-layouts.db", help="database of the laboratory's results")
    parser.add_argument("--no-run", action="store_true", help="show what the database has, measure nothing")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON instead")
    parser.add_argument(
        "--update-docs", action="store_true", help="write tables and pictures into docs/layouts.md"
    )
    options = parser.parse_args()
    if not options.no_run:
        laboratory.run(CAMPAIGN, options.db)
    found = results(options.db)
    if not found.document["rows"]:
        sys.exit(f"{options.db}: there are no results of the campaign layouts")
    if options.update_docs:
        update_page(PAGE, page(found), "figures")
    print(text(found, is_json=options.json))


def results(database: str) -> Layouts:
    """The newest results of the campaign."""
    with Store.open(database, must_exist=True) as store:
        return Layouts.of(layouts.rows(store))


def text(found: Layouts, *, is_json: bool = False) -> str:
    """All tables."""
    tables = [found.table(found.part(name)) for name in ("statements", "reading", "writing")]
    return as_json(tables) if is_json else "\n".join(map(markdown, tables))


def page(found: Layouts) -> str:
    """Write the pictures beside the page; what it says of them and of the statements."""
    parts: list[str] = []
    for name, definition in (("picked", found.definition["picked"]), ("reads", found.part("reads"))):
        for figure in found.pictures(definition):
            PAGE.with_name(f"layouts-{name}.svg").write_text(alone(figure), encoding="utf-8")
            parts.append(f"![{figure.title}](layouts-{name}.svg)\n\n{figure.caption}\n")
    tables = [found.table(found.part(name)) for name in ("statements", "writing")]
    return "\n".join([*parts, *map(markdown, tables)])


if __name__ == "__main__":
    main()
