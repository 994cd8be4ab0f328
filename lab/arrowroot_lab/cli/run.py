"""`arrowroot lab run`: measures what is not measured yet."""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from arrowroot_lab.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_MISSING
from arrowroot_lab.mining.writing import WIDTH, clean

from . import asking
from .screen import Screen

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from arrowroot_lab.campaign.model import Campaign
    from arrowroot_lab.campaign.site import Site
    from arrowroot_lab.running.session import Summary
    from arrowroot_lab.store import Store

#: `lab show` has the rest.
_MAX_ROWS = 40
JSON_FORM = "arrowroot-lab.run/1"
_DESCRIPTION = """\
Measures the cases of a campaign that are not in the database yet, for this site, these versions and these files. Every
sample is kept as it is taken: what is ended, by Ctrl-C or otherwise, goes on with the next run.

examples:
  arrowroot lab run campaigns/quick.toml
  arrowroot lab run campaigns/storages.toml --case '* / near / *'
  arrowroot lab run quick.toml --case 3f1d2c4b --again   one, once more
  arrowroot lab run campaigns/storages.toml --dask tcp://scheduler:8786
  arrowroot lab run campaigns/storages.toml --batch slurm     by jobs

Exit codes: 0 all that was asked is measured, or waits for a limit; 1 a case failed, or a storage refused; 2 the request
or the campaign is at fault; 3 an engine, a storage or a dataset that was asked for cannot be had on this machine
(`lab plan` says so before); 130 interrupted.
"""


def add_command(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    command = add("run", _DESCRIPTION)
    asking.add_campaign(command)
    command.add_argument(
        "--case",
        action="append",
        default=[],
        metavar="GLOB",
        help="only cases whose names match, or whose keys begin so: 4 digits or more, perhaps with @VERSION",
    )
    command.add_argument(
        "--again",
        action="store_true",
        help="measure what is measured already, too; one that was ended goes on with the next --again",
    )
    asking.add_database(command)
    asking.add_site(command)
    workers = command.add_mutually_exclusive_group()
    workers.add_argument("--dask", metavar="ADDRESS", help="of a scheduler, whose workers measure")
    workers.add_argument(
        "--batch",
        metavar="NAME",
        help="of a batch system in the site's file ([batch.NAME]), whose jobs measure",
    )
    command.add_argument("--json", action="store_true", help="say as JSON what came of it")


def run(options: argparse.Namespace) -> int:
    """Measure, and say how it goes."""
    from arrowroot_lab.campaign.read import read
    from arrowroot_lab.campaign.site import choose
    from arrowroot_lab.running.events import Progress
    from arrowroot_lab.running.session import Session
    from arrowroot_lab.store import Store

    site = choose(options.site)
    campaign = read(options.campaign)
    screen = Screen()
    with Store.open(options.db) as store:
        try:
            if options.dask or options.batch:
                summary = _by_workers(options, campaign, store, site, screen)
            else:
                summary = Session(
                    campaign, store, site.name, Progress(screen.show), tuple(options.case), options.again
                ).run()
        except KeyboardInterrupt:
            print(
                "\narrowroot lab: interrupted; the samples so far are kept, and the next run goes on with them",
                file=sys.stderr,
            )
            return EXIT_INTERRUPTED
        place = store.place
    if options.json:
        print(json.dumps(_document(summary, campaign.name, place), indent=2))
    else:
        _print(summary, campaign, place, is_again=options.again)
        _print_next(summary, options.db)
    return EXIT_FAILED if summary.has_failed else EXIT_MISSING if summary.missing else EXIT_DONE


def _by_workers(
    options: argparse.Namespace, campaign: Campaign, store: Store, site: Site, screen: Screen
) -> Summary:
    """Measure on the workers of a scheduler, or of the jobs of a batch system."""
    from arrowroot_lab.running.batch import jobs_of
    from arrowroot_lab.running.cluster import run_there
    from arrowroot_lab.running.events import RunProgress

    with jobs_of(site, options.batch) if options.batch else nullcontext(options.dask) as address:
        if options.batch:
            told = f"{site.batches[options.batch].jobs} jobs are sent; they measure once they start"
            screen.show("waiting", options.batch, told, RunProgress(None))
        return run_there(
            campaign,
            store,
            address,
            site=site.name if options.site or options.batch else None,
            chosen=tuple(options.case),
            is_again=options.again,
            show=screen.show,
        )


def _document(summary: Summary, name: str, place: str) -> dict[str, Any]:
    return {
        "form": JSON_FORM,
        "campaign": name,
        "run": _run_of(summary),
        "database": place,
        "n_known": summary.n_known,
        "failures": summary.failures,
        "left": summary.left,
        "why_left": summary.why_left,
        "remarks": summary.remarks,
        "missing": [{"reason": reason, "n_cases": n} for reason, n in summary.missing.items()],
        "results": [
            {
                "uuid": result.uuid,
                "case": result.case_id,
                "outcome": result.outcome.value,
                "reason": result.reason,
                "n_samples": len(result.samples),
                "n_counted": len(result.counted()),
                "command": result.command,
            }
            for result in summary.results
        ],
    }


def _run_of(summary: Summary) -> str | None:
    """The UUID of the run, by which `lab check` knows it; None if nothing was stored."""
    return next((result.campaign.get("run") for result in summary.results), None)


def _print(summary: Summary, campaign: Campaign, place: str, *, is_again: bool) -> None:
    from arrowroot_lab.mining.measured import measured_table, spread_of
    from arrowroot_lab.mining.results import named
    from arrowroot_lab.store import summary_of

    counts: dict[str, int] = {}
    for result in summary.results:
        counts[result.outcome.value] = counts.get(result.outcome.value, 0) + 1
    told = [f"{n} {outcome}" for outcome, n in counts.items()]
    if summary.n_known:
        told.append(f"{summary.n_known} measured before")
    if summary.left:
        told.append(
            f"{len(summary.left)} left for the next run{' with --again' if is_again else ''}: {summary.why_left}"
        )
    run = _run_of(summary)
    told_of_run = f"; run {run[:8]}" if run else ""
    print(f"{place}: {', '.join(told) or 'nothing to do'}{told_of_run}")
    for text in summary.failures:
        print(clean(f"failed: {text}"))
    for reason, n in summary.missing.items():
        print(clean(f"not measured: {n} {'cases' if n > 1 else 'case'}: {reason}"))
    for result in summary.results:
        if result.outcome.value in ("failed", "timed out"):
            print(clean(f"{result.outcome.value}: {shlex.join(result.command)}: {result.reason}"))
    shown = [result for result in summary.results if result.samples][:_MAX_ROWS]
    if shown:
        print()
        rows = named([summary_of(result) for result in shown])
        asking.tell_text([measured_table(rows, {result.uuid: spread_of(result) for result in shown})])
    for sentence in _remarks(summary, campaign):
        print(textwrap.fill(sentence, WIDTH))


def _remarks(summary: Summary, campaign: Campaign) -> Iterator[str]:
    from arrowroot_lab.running.planning import few_repeats, not_put

    if (n_sampled := sum(bool(result.samples) for result in summary.results)) > _MAX_ROWS:
        yield f"These are {_MAX_ROWS} of {n_sampled} cases; arrowroot lab show has all."
    samples = [sample for result in summary.results for sample in result.samples]
    if n_disturbed := sum(bool(sample.disturbed) for sample in samples):
        yield (
            f"{n_disturbed} of {len(samples)} samples are kept and not counted, as the machine was busy. "
            "If that is too many, end what runs beside, and measure once more: --again. If others use this node, too, "
            "say 'shared = true' in the campaign or the site's file: then every sample counts."
        )
    if (few := few_repeats(campaign)) is not None:
        yield few
    if summary.has_failed and (elsewhere := not_put(campaign)) is not None:
        yield elsewhere
    yield from summary.remarks


def _print_next(summary: Summary, db: str | None) -> None:
    """Print the commands that show what was measured."""
    from arrowroot_lab.mining.measured import axis_to_compare
    from arrowroot_lab.store import summary_of

    database = f" --db {shlex.quote(str(db))}" if db else ""
    print("\nWhat to do next:")
    if axis := axis_to_compare([summary_of(result) for result in summary.results]):
        print(f"  arrowroot lab compare --by {axis}{database}")
    # Failures are looked at first; pages are for what there is to show.
    print(f"  arrowroot lab {'show --overview' if summary.has_failed else 'publish pages/'}{database}")
