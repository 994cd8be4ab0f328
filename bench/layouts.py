"""Layouts in reading and writing, beside what was published: ``python -m bench.layouts [--db FILE] [--update-docs]``.

The campaign ``campaigns/layouts.toml`` of the laboratory is run as far as it is not measured yet. What its results
tell, the laboratory says (``arrowroot_lab.classics.atlas_2012.layouts``), as on the page of ATLAS 2012.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .pages import update_page
from .paths import REPOSITORY

if TYPE_CHECKING:
    from arrowroot_lab.classics.atlas_2012.layouts import Found

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
        run(options.db)
    found = results(options.db)
    if not found.rows:
        sys.exit(f"{options.db}: there are no results of the campaign layouts")
    if options.update_docs:
        update_page(PAGE, page(found), "figures")
    print(text(found, is_json=options.json))


def run(database: str) -> None:
    """Run the campaign."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"}
    command = [sys.executable, "-m", "arrowroot", "lab", "run", str(CAMPAIGN), "--db", database]
    subprocess.run(command, check=True, env=environment)


def results(database: str) -> Found:
    """The newest results of the campaign."""
    from arrowroot_lab.classics.atlas_2012 import layouts  # noqa: PLC0415 - it is in no wheel of arrowroot
    from arrowroot_lab.store import Store  # noqa: PLC0415

    with Store.open(database, must_exist=True) as store:
        return layouts.Found(layouts.rows(store))


def text(found: Found, *, is_json: bool = False) -> str:
    """All tables."""
    from arrowroot_lab.classics.atlas_2012 import layouts  # noqa: PLC0415
    from arrowroot_lab.mining.writing import as_json, markdown  # noqa: PLC0415

    tables = [layouts.statement_table(found), layouts.reading_table(found), layouts.writing_table(found)]
    return as_json(tables) if is_json else "\n".join(map(markdown, tables))


def page(found: Found) -> str:
    """Write the pictures beside the page; what it says of them and of the statements."""
    from arrowroot_lab.classics.atlas_2012 import layouts  # noqa: PLC0415
    from arrowroot_lab.figures.headlines import alone  # noqa: PLC0415
    from arrowroot_lab.mining.writing import markdown  # noqa: PLC0415

    parts: list[str] = []
    pictures = {"layouts-picked": layouts.picked_figure(found), "layouts-reads": layouts.reads_figure(found)}
    for name, figure in pictures.items():
        if figure is not None:
            PAGE.with_name(f"{name}.svg").write_text(alone(figure), encoding="utf-8")
            parts.append(f"![{figure.title}]({name}.svg)\n\n{figure.caption}\n")
    tables = (layouts.statement_table(found), layouts.writing_table(found))
    return "\n".join([*parts, *map(markdown, tables)])


if __name__ == "__main__":
    main()
