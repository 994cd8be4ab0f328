"""``arrowroot lab classics``: a published experiment again, in virtual time."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from arrowroot_lab.errors import EXIT_DONE, EXIT_FAILED, LabError, RequestError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from pathlib import Path

_DESCRIPTION = """\
Does a published experiment again in virtual time, and says which of the statements on its page hold, and which say
what was given: published, put into the model, or fitted to what was published. Below the original's size some cannot
hold, as a buffer does not grow with the file: they are "not at this scale".

Without a name it lists the classics. The results that the pages show are kept in the package; --write puts these ones
in their place, and --out elsewhere. What is done for real takes a campaign or a file; without one, what is kept of it
stays as it is.

examples:
  arrowroot lab classics cms-2010
  arrowroot lab classics liverpool-2008 --scale 0.1 --out small.json
  arrowroot lab classics --picture classics.svg
"""


def add_command(add: Callable[[str, str, str], argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = add("classics", _DESCRIPTION, "published experiments again, in virtual time")
    parser.add_argument("name", metavar="NAME", nargs="?", help="such as cms-2010")
    parser.add_argument(
        "--scale", metavar="S", type=float, default=1.0, help="of the original's size (default: 1)"
    )
    parser.add_argument(
        "--file",
        metavar="FILE",
        help="of liverpool-2008: read a real file without flushes, too, PATH:TREE, as campaigns/classics/unflushed.py "
        "makes one; of cms-2017: what `python -m campaigns.parallel_output peers --out FILE` wrote",
    )
    parser.add_argument(
        "--db",
        metavar="URL",
        help="the database with the results of the classic's campaign, which stand beside (default: those kept)",
    )
    parser.add_argument(
        "--picture",
        metavar="FILE.svg",
        type=_output,
        help="of all classics, from the kept results: draw it there, and for narrow screens as FILE-narrow.svg",
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--out", metavar="FILE", type=_output, help="write the results there, as JSON")
    place.add_argument("--write", action="store_true", help="keep the results for the pages")


def _output(text: str) -> Path:
    # A help page needs nothing of what the options of results import.
    from arrowroot_lab.cli.asking import output

    return output(text)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from arrowroot_lab import classics
    from arrowroot_lab.classics import results, study
    from arrowroot_lab.mining import writing
    from arrowroot_lab.store import Store

    if options.picture is not None:
        return _draw(options.picture)
    if options.name is None:
        for name in classics.NAMES:
            print(f"{name:<16} {study.definition(name)['title']}")
        return EXIT_DONE
    if options.name not in classics.NAMES:
        raise RequestError(f"there is no classic {options.name!r}; there are {', '.join(classics.NAMES)}")
    if not 0.001 <= options.scale <= 1:
        raise RequestError(f"--scale {options.scale:g}: expected a number from 0.001 to 1")
    if options.write and options.scale != 1:
        raise RequestError("--write: the pages show results at scale 1; write others by --out")
    classic = classics.module(options.name)
    if options.db and not hasattr(classic, "real_rows"):
        raise RequestError(f"--db: {options.name} shows no results of a campaign")
    definition = study.definition(options.name)
    if options.file and "takes_file" not in definition:
        raise RequestError(f"--file: {options.name} is read for real by {definition['real_command']}")
    kept = results.DIRECTORY / f"{options.name}.json"
    place = kept if options.write else options.out
    if place is not None:
        writing.check_place(place)
    measured = []
    if options.db:
        with Store.open(options.db, must_exist=True) as store:
            measured = classic.real_rows(store)
            if not measured:
                raise RequestError(f"{store.place}: it has no results of the campaigns of {options.name}")
    files = [options.file] if options.file else []
    document = classic.measure(options.scale, lambda text: print(text, file=sys.stderr), *files)
    document["rows"] += measured
    results.keep(document, results.stored(options.name).document if kept.exists() else None)
    if options.out is not None:
        writing.to_file(options.out, results.text(document))
    found = results.Results(document)
    try:
        page = classics.page(found)
    except (LookupError, ValueError, TypeError, LabError) as error:
        # As after a case that failed, or all of whose samples were disturbed.
        db = options.db or ""
        at = f": `arrowroot lab show --overview --db {db}` tells what failed" if db else ""
        raise LabError(f"{options.name}: its page needs results that are not there ({error!r}){at}") from None
    if options.write:
        writing.to_file(kept, results.text(document))
    print(page.answer)
    verdicts = [claim.verdict(options.scale) for claim in page.claims]
    widest = max(map(len, verdicts))
    for verdict, claim in zip(verdicts, page.claims, strict=True):
        print(f"{verdict:<{widest}} {claim.text}")
    print(f"{page.counted(options.scale)}.")
    return EXIT_FAILED if "FAILS" in verdicts else EXIT_DONE


def _draw(place: Path) -> int:
    """Draw the headlines of all classics."""
    from arrowroot_lab import classics
    from arrowroot_lab.figures.headlines import alone, headlines
    from arrowroot_lab.mining import writing

    narrow = place.with_name(f"{place.stem}-narrow{place.suffix}")
    for one in (place, narrow):
        writing.check_place(one)
    pages = classics.pages()
    caption = "Published figures, and ours: found, or given (put in or fitted); each has a scale of its own."
    figure = headlines("Classics", caption, [(page.title.partition(":")[0], page.headline) for page in pages])
    writing.to_file(place, alone(figure))
    writing.to_file(narrow, alone(figure, is_narrow=True))
    return EXIT_DONE
