"""``arrowroot lab plan``: the cases of a campaign, what is measured already, and how long the others take."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from arrowroot_lab.errors import EXIT_DONE, NoDatabaseError
from arrowroot_lab.mining.table import Column, ResultTable
from arrowroot_lab.quantities import time_text

from . import asking
from .screen import show_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from arrowroot_lab.running.planning import Plan, Planned
    from arrowroot_lab.store import Store

JSON_FORM = "arrowroot-lab.plan/1"
_DESCRIPTION = """\
Lists the cases of a campaign: which are measured already at this site, by these versions, of these files; how long the
others will take, and what that is told from; what a round takes of each storage; and what is not here: an engine, a
program of a storage, what makes a dataset. Nothing is made or measured.

examples:
  arrowroot lab plan campaigns/quick.toml
  arrowroot lab plan campaigns/storages.toml --no-predict     at once
  arrowroot lab plan campaigns/storages.toml --json | jq .total_ns
"""
#: How a case is listed, after its names.
_COLUMNS = (
    Column("sample_ns", "A sample", "time"),
    Column("total_ns", "In all", "time"),
    Column("state", "State"),
    Column("basis", "Told from"),
)
#: What is told of each storage.
_OF_STORAGES = (
    Column("storage", "Storage"),
    Column("n_bytes", "Bytes", "bytes"),
    Column("n_requests", "Requests", "count"),
    Column("ns", "Time", "time"),
    Column("told_from", "Told from"),
)


def add_command(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = add("plan", _DESCRIPTION)
    asking.add_campaign(parser)
    parser.add_argument("--no-predict", action="store_true", help="only from results, without predictions")
    asking.add_site(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")
    asking.add_database(parser)


def run(options: argparse.Namespace) -> int:
    """Plan, and tell it."""
    from arrowroot_lab.campaign.read import read
    from arrowroot_lab.campaign.site import choose
    from arrowroot_lab.running.planning import plan

    site = choose(options.site)
    campaign = read(options.campaign)
    store = _store(options)
    try:
        made = plan(campaign, store, site.name, tell=_tell, predicts=not options.no_predict)
    finally:
        if store is not None:
            store.close()
        show_line("")
    if options.json:
        print(json.dumps(_document(made), indent=2))
    else:
        asking.tell_text([_table(made), _takes(made)])
    return EXIT_DONE


def _store(options: argparse.Namespace) -> Store | None:
    """The database; None if it is not there yet: the run that is planned makes it."""
    from arrowroot_lab.store import Store

    try:
        return Store.open(options.db, must_exist=True)
    except NoDatabaseError:
        return None


def _tell(_kind: str, _about: str, text: str) -> None:
    show_line(text)


def _table(made: Plan) -> ResultTable:
    """A row for each case; axes with one value go without saying."""
    names = [one.case.names() for one in made.planned]
    axes = [axis for axis in names[0] if len({one[axis] for one in names}) > 1] or ["dataset"]
    cells = [_cells(one) for one in made.planned]
    for one, told in zip(made.planned, cells, strict=True):
        if one.is_corner and made.campaign.mode == "virtual first" and one.is_open:
            told["state"] += ", a corner"
    # The sentence below tells what is the same of all.
    shown = [
        column
        for column in _COLUMNS
        if column.form == "time" or len({told[column.key] for told in cells}) > 1
    ]
    rows = [
        (*(called[axis] for axis in axes), *(told[column.key] for column in shown))
        for told, called in zip(cells, names, strict=True)
    ]
    columns = (*(Column(axis, axis.capitalize()) for axis in axes), *shown)
    return ResultTable(
        made.campaign.title, columns, tuple(rows), (_sum(made), *_virtual(made), *made.notes, *_reasons(made))
    )


def _virtual(made: Plan) -> list[str]:
    """A line on the cases whose samples nobody waits for."""
    from arrowroot_lab.running import estimating

    n = sum(estimating.is_in_virtual_time(one.case) for one in made.planned)
    return [f"{n} in virtual time: replayed once, from a trace of the local file."] if n else []


def _takes(made: Plan) -> ResultTable:
    """A row for each storage: what a round takes of it."""
    from arrowroot_lab.running.sparing import limits_text

    rows, notes = [], []
    for one in made.takes:
        name, limits = one.storage.name, limits_text(one.storage.limits)
        told_from = ", ".join(
            basis if n == one.n_cases else f"{basis} ({n} of {one.n_cases} cases)"
            for basis, n in one.bases.items()
        )
        drawn = map(round, one.drawn) if set(one.bases) != {"nothing"} else (None, None)
        rows.append((name, *drawn, one.ns, told_from))
        if limits:
            text = f"{name} is limited to {limits}."
            if one.n_fewer or one.n_none:
                text += f" {one.n_fewer} of {one.n_cases} cases get fewer samples, and {one.n_none} none."
            if one.not_held:
                text += f" No number of connections can be given to {', '.join(one.not_held)}."
            notes.append(text)
    title = "What a round that measures all of it takes of each storage, at most"
    return ResultTable(title, _OF_STORAGES, tuple(rows), tuple(notes))


def _reasons(made: Plan) -> list[str]:
    """Why cases cannot be measured, each once; of what is not on this machine a run will say so by its exit code."""
    reasons = Counter((one.reason, one.is_missing) for one in made.planned if one.state == "cannot")
    return [
        f"{n} {'not here' if is_missing else 'cannot'}: {reason}"
        for (reason, is_missing), n in reasons.items()
    ]


def _sum(made: Plan) -> str:
    from arrowroot_lab.running import estimating

    counts = {state: sum(one.state == state for one in made.planned) for state in dict.fromkeys(
        one.state for one in made.planned
    )}  # fmt: skip
    told = ", ".join(f"{n} {state}" for state, n in counts.items())
    text = f"{len(made.planned)} cases: {told}. About {time_text(made.total_ns())} in all"
    making_ns = sum(ns or 0.0 for ns in made.making_ns.values())
    if making_ns:
        text += f", {time_text(making_ns)} of it for what is made first"
    if made.is_rough():
        text += f"; estimated: up to {estimating.FACTOR:g} times more or less"
    n_unknown = made.n_unknown()
    if n_unknown:
        text += f"; of {n_unknown} cases nobody can tell, as only their data or programs know"
    return f"{text}."


def _cells(one: Planned) -> dict[str, Any]:
    return {
        "case": one.case.label(),
        "state": one.state,
        "sample_ns": one.sample_ns,
        "total_ns": one.case_ns if one.is_open else None,
        "basis": one.basis,
        "reason": one.reason,
    }


def _document(made: Plan) -> dict[str, Any]:
    return {
        "form": JSON_FORM,
        "campaign": made.campaign.name,
        "repeats": made.campaign.repeats,
        "mode": made.campaign.mode,
        "total_ns": made.total_ns(),
        "n_unknown": made.n_unknown(),
        "is_rough": made.is_rough(),
        "making_ns": made.making_ns,
        "notes": made.notes,
        "storages": [
            {
                "storage": one.storage.name,
                "n_cases": one.n_cases,
                **one.drawn._asdict(),
                "ns": one.ns,
                "told_from": one.bases,
                "limits": asdict(one.storage.limits),
                "n_fewer": one.n_fewer,
                "n_none": one.n_none,
                "not_held": one.not_held,
            }
            for one in made.takes
        ],
        "cases": [
            {**_cells(one), "names": one.case.names(), "case_id": one.case_id,
             "is_corner": one.is_corner, "is_missing": one.is_missing}
            for one in made.planned
        ],
    }  # fmt: skip
