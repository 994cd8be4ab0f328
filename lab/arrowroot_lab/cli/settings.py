"""``arrowroot lab settings``: the configuration file of a site, from its own results."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.documents import now
from arrowroot_lab.errors import EXIT_DONE, RequestError
from arrowroot_lab.mining import settings, writing

from . import asking

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

JSON_FORM = "arrowroot-lab.settings/1"
_DESCRIPTION = f"""\
Writes the settings that are best at each storage of a site, strategy, cache size and read-ahead, as a configuration
file of the engine: from the site's own results, with the gain that is expected and what it rests
on. A setting is written only if pairs say that it takes less time than {settings.DEFAULT} by more than
{settings.LEAST_GAIN:.0%}; if none does, nothing is.

examples:
  arrowroot lab run campaigns/settings.toml         measures them, before
  arrowroot lab settings RAL
  arrowroot lab settings RAL --output RAL.toml
  arrowroot lab settings RAL --since 2026-11 --json
"""


def add_command(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = add("settings", _DESCRIPTION)
    parser.add_argument("measured_at", metavar="SITE", help="as results call it")
    parser.add_argument(
        "--output",
        metavar="FILE",
        type=asking.output,
        default=Path("config.toml"),
        help="of the settings (default: config.toml); one that another program wrote is not replaced",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    asking.add_filters(parser, without=("site", "engine", "strategy", "outcome"))
    asking.add_database(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    options.site, options.engine, options.outcome = options.measured_at, "", "ok"
    site, place = options.measured_at, options.output
    writing.check_place(place)
    is_ours = place.is_file() and place.read_bytes().startswith(settings.HEAD.encode())
    if place.exists() and not is_ours and place.is_file():
        raise RequestError(f"{place}: it was not written by this command: name another file (--output)")
    with asking.opened(options) as store:
        if site not in (known := store.names("site")):
            raise RequestError(f"{site}: no result is of this site; there are {', '.join(known) or 'none'}")
        # A site that has no results of the engine is told what measures them.
        where = replace(asking.filter_from(options, store), engine=(settings.engine().name,))
        found, notes = settings.advise(store, where)
    text = settings.config(found, site, now()[:10])
    if text:
        writing.to_file(place, text)
    if options.json:
        told = [one.document() for one in found]
        written = str(place) if text else None
        document = {"form": JSON_FORM, "site": site, "file": written, "storages": told, "notes": notes}
        print(json.dumps(document, indent=1))
        return EXIT_DONE
    asking.tell_text([settings.table(found, site, notes)])
    n_written = sum(map(settings.is_written, found))
    if text:
        print(f"\n{place}: settings of {n_written} storage{'s' if n_written > 1 else ''}")
    else:
        before = f"; {place} is of before, and nothing speaks for it any more" if is_ours else ""
        print(f"\nNothing is gained by any setting, and nothing is written{before}.")
    return EXIT_DONE
