"""``arrowroot lab wan``: where a job would run best."""

from __future__ import annotations

import json
import statistics
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot_lab.errors import EXIT_DONE, RequestError
from arrowroot_lab.mining import Column, ResultTable
from arrowroot_lab.mining.format import age_s, shown
from arrowroot_lab.quantities import parse_share

from . import asking

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from arrowroot_lab.scheduling.placing import Job, Placed
    from arrowroot_lab.watching.alarms import PlaceAlarm

JSON_FORM = "arrowroot-lab.wan/1"
_DESCRIPTION = """\
Says which CPU efficiency a job would have at each site and storage, and where to send it, from the results of a
campaign that has read the same columns over storages and lines.

examples:
  arrowroot lab wan --campaign storages --columns '10 columns' --cpu-ms 2
  arrowroot lab wan --columns 'run,event,Muon_*' --entries 1e6 --cpu-s 3600
  arrowroot lab wan --share '20 %' --cpu-ms 0.5 --engine mine

The last lines say how far off the model is on cells of the grid that it had not seen.
"""


def add_command(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = add("wan", _DESCRIPTION)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--columns", metavar="NAMES", help="a workload of the grid, or its columns; '*': all")
    what.add_argument("--share", metavar="S", help="a share of the bytes of the file, as '20 %%' or 0.2")
    parser.add_argument(
        "--entries", metavar="N", type=float, help="entries of the job (default: as the grid has read)"
    )
    work = parser.add_mutually_exclusive_group()
    work.add_argument(
        "--cpu-ms", metavar="T", type=float, default=0.0, help="the job's own CPU time for each entry"
    )
    work.add_argument("--cpu-s", metavar="T", type=float, default=0.0, help="the job's own CPU time in all")
    parser.add_argument("--json", action="store_true", help="as JSON")
    asking.add_filters(parser)
    asking.add_database(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from arrowroot_lab.scheduling.cells import cells_of
    from arrowroot_lab.scheduling.placing import Grid, errors
    from arrowroot_lab.watching.alarms import PlaceState, alarms
    from arrowroot_lab.watching.choosing import Chosen

    job, at = _job(options), datetime.now(timezone.utc)
    with asking.opened(options) as store:
        where = asking.filter_from(options, store, newest_versions=True)
        cells = cells_of(store.results(where))
        chosen = Chosen.of(store, asking.filter_from(options, store), at)
    found = chosen.alarms(alarms(chosen.figures, at))
    silent = {one.place: one.evidence[0] for one in found if one.state is PlaceState.SILENT}
    grid = Grid(cells)
    every = grid.place(job)
    placed = [one for one in every if not _is_older(one, every)]
    # A place that answers nobody is not recommended, unless all are silent: then the hub gets no results.
    heard = [
        one for one in placed if not {one.site, f"{one.site}, storage {one.storage}"} & silent.keys()
    ] or placed
    off = [abs(error) for _, error in errors(cells)]
    ill = {
        one.place: f"{one.word} since {shown(one.since, 'day')}, {_much(one)}"
        for one in found
        if one.ratios and (heard[0].site, heard[0].storage) in chosen.storages_of(one)
    }
    told = _Told(heard, off, grid.left_out(), silent, ill, len(every) - len(placed))
    if options.json:
        print(json.dumps(_document(told), indent=1))
    else:
        asking.tell_text([_table(told, at)])
    return EXIT_DONE


class _Told(NamedTuple):
    """The answer: the places, and what speaks against them."""

    #: The first is where to send it.
    placed: list[Placed]
    #: By which shares the model is off.
    off: list[float]
    left_out: list[str]
    #: Place -> why.
    silent: dict[str, str]
    #: Alarms of the first place -> what it does.
    ill: dict[str, str]
    #: Places by a version that was measured there before another one.
    n_older: int

    @property
    def is_deaf(self) -> bool:
        """True if no place is heard of: then the hub gets no results, and what it recommends was so once."""
        best = self.placed[0]
        return bool({best.site, f"{best.site}, storage {best.storage}"} & self.silent.keys())

    @property
    def is_doubtful(self) -> bool:
        """True if the model is not as good as it should be in most cells."""
        from arrowroot_lab.scheduling.placing import WANTED_ERROR

        return bool(self.off) and statistics.median(self.off) > WANTED_ERROR


def _is_older(one: Placed, every: Sequence[Placed]) -> bool:
    """True if another version was measured there since, a day and more after this one."""

    def what(it: Placed) -> tuple[str, str, str, str]:
        return it.site, it.storage, it.engine, it.strategy

    since = (datetime.fromisoformat(one.measured_at) + timedelta(days=1)).isoformat()
    return any(what(it) == what(one) and it.measured_at[:19] > since[:19] for it in every)


def _much(alarm: PlaceAlarm) -> str:
    from arrowroot_lab.watching.alarms import TITLES

    return ", ".join(f"{TITLES[metric]} x{shown(ratio, 'ratio')}" for metric, ratio in alarm.ratios.items())


def _job(options: argparse.Namespace) -> Job:
    from arrowroot_lab.scheduling.placing import Job

    for name in ("entries", "cpu_ms", "cpu_s"):
        value = getattr(options, name)
        if value is not None and not 0 <= value < 1e15:
            raise RequestError(
                f"--{name.replace('_', '-')} {value:g}: expected a number that is not below zero"
            )
    if options.entries == 0:
        raise RequestError("--entries 0: a job reads something")
    share = None
    if options.share is not None:
        try:
            share = parse_share(_number(options.share) or options.share)
        except ValueError as error:
            raise RequestError(f"--share {options.share}: {error}") from None
    told = (options.columns or "").strip()
    columns = tuple(word.strip() for word in told.split(",") if word.strip())
    if options.columns is not None and not columns:
        raise RequestError("--columns: expected names of columns, or of a workload")
    return Job(
        columns or None,
        share,
        options.entries,
        options.cpu_ms * 1e6,
        options.cpu_s * 1e9,
        workload=told or None,
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _table(told: _Told, at: datetime) -> ResultTable:
    placed = told.placed
    shared = {name for name in _NAMES if len({getattr(one, name) for one in placed}) == 1}
    named = [name for name in _NAMES if name not in shared or name == "storage"]
    columns = (
        *(Column(name, name) for name in named),
        Column("cpu_efficiency", "CPU eff.", "share"),
        Column("wall_ns", "wall", "time"),
        Column("latency_ns", "round trip", "time"),
        Column("bytes_per_s", "bytes/s", "bytes"),
        Column("age_s", "age", "age"),
    )
    rows = tuple(
        (*(getattr(one, column.key) for column in columns[:-1]), age_s(one.measured_at, at)) for one in placed
    )
    best = placed[0]
    where = f"{best.site}, {best.storage}"
    alike = [f"{name} {getattr(best, name)}" for name in _NAMES if name in shared and name != "storage"]
    by = f"{shown(best.cpu_efficiency, 'share')} by {best.engine} {best.version}, {best.strategy}"
    notes = [f"Send it to {where}: {by}; measured {shown(age_s(best.measured_at, at), 'age')} ago."]
    if told.is_deaf:
        notes.append(
            f"Doubt it: no place is heard of, all {len(told.silent)} are silent; the hub gets no results."
        )
    notes += [f"An alarm of it: {place} is {what} (lab check)." for place, what in told.ill.items()]
    notes += (
        ["Doubt it: most cells of this grid are told wrongly by the others, see below."]
        if told.is_doubtful
        else []
    )
    notes += [f"All: {', '.join(alike)}."] if alike else []
    notes.append(_told_of_errors(told.off))
    if told.left_out:
        notes.append(f"Left out, as too few cells are alike: {', '.join(told.left_out)}.")
    if told.n_older:
        notes.append(f"Left out, as another version was measured there since: {told.n_older} (--version).")
    silent = "Silent" if told.is_deaf else "Not recommended"
    notes += [f"{silent}: {place}: {why}." for place, why in told.silent.items()]
    return ResultTable("CPU efficiency of the job, the shortest first", columns, rows, tuple(notes))


def _told_of_errors(off: Sequence[float]) -> str:
    from arrowroot_lab.scheduling.placing import WANTED_ERROR

    if not off:
        return "Nobody knows how far off the model is: no cell can be told from the others."
    within = sum(error <= WANTED_ERROR for error in off)
    return (
        f"Of {len(off)} cells of the grid, each told from all others, {within} are within {WANTED_ERROR:.0%}; "
        f"the median is off by {statistics.median(off):.1%}, the worst by {max(off):.0%}."
    )


def _document(told: _Told) -> dict[str, Any]:
    keys = (
        *_NAMES,
        "measured_at",
        "wall_ns",
        "cpu_ns",
        "latency_ns",
        "bytes_per_s",
        "n_cores",
        "cpu_efficiency",
    )
    return {
        "form": JSON_FORM,
        "places": [{key: getattr(one, key) for key in keys} for one in told.placed],
        "left_out": told.left_out,
        "n_older": told.n_older,
        "silent": told.silent,
        "is_deaf": told.is_deaf,
        "ill": told.ill,
        "is_doubtful": told.is_doubtful,
        "error": {
            "n_cells": len(told.off),
            "median_share": statistics.median(told.off) if told.off else None,
            "worst_share": max(told.off, default=None),
        },
    }


_NAMES = ("site", "storage", "engine", "version", "strategy")
