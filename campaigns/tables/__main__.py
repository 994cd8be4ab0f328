"""The command ``make figures``: tables and pictures of README and docs, made anew of what a store has results of.

Tables of what was not measured stay as they are. ``arrowroot lab run campaigns/NAME.toml`` measures.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from arrowroot_lab.location import Location
from arrowroot_lab.store import Store

from . import adl, formats, kinds, layouts, merging, parallel, parquet, reading, remote, servers, writing
from .pages import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable

    from .pages import Block

FIGURES: dict[str, Callable[[Store], list[Block]]] = {
    "reading": reading.blocks,
    "formats": formats.blocks,
    "kinds": kinds.blocks,
    "writing": writing.blocks,
    "parallel": parallel.blocks,
    "remote": remote.blocks,
    "servers": servers.blocks,
    "adl": adl.blocks,
    "layouts": layouts.blocks,
    "parquet": parquet.blocks,
    "merging": merging.blocks,
}


def main() -> int:
    """Write what there are results of; 1 if there is nothing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(FIGURES)} (default: all that was measured)"
    )
    parser.add_argument("--db", type=Location, help="the database (default: as of `arrowroot lab show`)")
    parser.add_argument("--print", action="store_true", help="only print the tables")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in FIGURES]
    if unknown:
        parser.error(f"no figures {unknown[0]!r}: there are {', '.join(FIGURES)}")
    with Store.open(options.db, must_exist=True) as store:
        found = [block for name in options.names or FIGURES for block in FIGURES[name](store)]
    for block in found:
        if options.print:
            print(f"{block.text}\n")
        else:
            block.put()
            print(f"{block.page.relative_to(REPOSITORY)}: {block.mark}")
    if not found:
        print(f"no results of {', '.join(options.names or FIGURES)}", file=sys.stderr)
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
