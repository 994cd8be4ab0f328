"""Alarms of places for people, programs, merge requests and CI: a table, JSON, JUnit, an exit code."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from arrowroot_lab.errors import EXIT_DONE, EXIT_FAILED, EXIT_SILENT, EXIT_SLOWER_PLACE, EXIT_UNKNOWN
from arrowroot_lab.mining import Column, ResultTable, writing
from arrowroot_lab.mining.format import shown

from .alarms import TITLES, PlaceState
from .places import MEMORY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .alarms import PlaceAlarm

JSON_FORM = "arrowroot-lab.places/1"
_EXITS = {
    PlaceState.SLOWER_ENGINE: EXIT_FAILED,
    PlaceState.SLOWER_PLACE: EXIT_SLOWER_PLACE,
    PlaceState.SILENT: EXIT_SILENT,
    PlaceState.UNKNOWN: EXIT_UNKNOWN,
}
_SAID = {
    PlaceState.SLOWER_ENGINE: ("engine", "slower"),
    PlaceState.SLOWER_PLACE: ("place", "slower"),
    PlaceState.SILENT: ("place", "silent"),
    PlaceState.UNKNOWN: ("place", "not judged yet"),
}


def exit_code(found: Sequence[PlaceAlarm]) -> int:
    """Return the exit code of the worst state; 0 if nothing is wrong."""
    return _EXITS[found[0].state] if found else EXIT_DONE


def table(found: Sequence[PlaceAlarm], n_sites: int) -> ResultTable:
    """Return a row for each alarm, the worst first, and what speaks for it in the notes.

    n_sites: how many were judged
    """
    every = {
        "wall_ns": Column("wall_ratio", "time", "ratio"),
        "cpu_ns": Column("cpu_ratio", "CPU", "ratio"),
        MEMORY: Column("memory_ratio", "memory", "ratio"),
    }
    told = {metric: column for metric, column in every.items() if any(metric in one.ratios for one in found)}
    columns = (
        Column("state", "state"),
        Column("place", "place"),
        Column("fault", "fault"),
        *told.values(),
        Column("since", "since", "day"),
    )
    rows = tuple(
        (
            one.told,
            _place(one),
            one.fault and one.fault.value,
            *(one.ratios.get(metric) for metric in told),
            one.since,
        )
        for one in found
    )
    notes = [f"{one.place}: {'; '.join(one.evidence)}." for one in found if one.evidence]
    return ResultTable(title(found, n_sites), columns, rows, tuple(notes))


def _place(one: PlaceAlarm) -> str:
    """The place beside its fault, which need not say "storage" twice."""
    return one.place.replace(f", {one.fault.value} ", ", ", 1) if one.fault else one.place


def title(found: Sequence[PlaceAlarm], n_sites: int) -> str:
    """Return the sentence that says it all."""
    sites = f"{n_sites} site{'s' if n_sites != 1 else ''}"
    return f"{headline(found) or 'no alarm'}: {sites}, each against its nights before"


def headline(found: Sequence[PlaceAlarm]) -> str:
    """Return how many places are ill, and how; "": none is."""
    counts = Counter((one.state, one.more) for one in found)
    told = []
    for state, (what, how) in _SAID.items():
        for more in ("", *sorted(one for of, one in counts if of is state and one)):
            if n := counts[state, more]:
                said = (
                    f"{'take' if n > 1 else 'takes'} {more}" if more else f"{'are' if n > 1 else 'is'} {how}"
                )
                told.append(f"{n} {what}{'s' if n > 1 else ''} {said}")
    return ", ".join(told)


def document(found: Sequence[PlaceAlarm], n_sites: int) -> dict[str, Any]:
    """Return it for JSON."""
    return {
        "form": JSON_FORM,
        "exit_code": exit_code(found),
        "n_sites": n_sites,
        "alarms": [one.document() for one in found],
    }


def junit(found: Sequence[PlaceAlarm], sites: Sequence[str]) -> str:
    """Return it as JUnit's XML: a test for each site, which fails if it is slower or silent."""
    suite = ET.Element("testsuite", name="places")
    n_failures = n_skipped = 0
    for site in sites:
        case = ET.SubElement(suite, "testcase", classname="arrowroot lab check", name=writing.clean(site))
        own = [one for one in found if site in one.sites]
        failing = [one for one in own if one.state is not PlaceState.UNKNOWN]
        if failing:
            n_failures += 1
            failure = ET.SubElement(case, "failure", message=_line(failing[0]))
            failure.text = "\n".join(map(_line, failing))
        elif own:
            n_skipped += 1
            ET.SubElement(case, "skipped", message=_line(own[0]))
    suite.attrib |= {
        "tests": str(len(sites)), "failures": str(n_failures), "skipped": str(n_skipped), "errors": "0",
    }  # fmt: skip
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _line(one: PlaceAlarm) -> str:
    told = [f"{one.told}: {one.place}", _much(one) or ""]
    told += [f"since {shown(one.since, 'day')}"] if one.since else []
    told += [f"fault: {one.fault.value}"] if one.fault else []
    told += one.evidence
    return writing.clean("; ".join(filter(None, told)))


def _much(one: PlaceAlarm) -> str | None:
    told = [
        f"{title} x{shown(one.ratios[metric], 'ratio')}"
        for metric, title in TITLES.items()
        if metric in one.ratios
    ]
    return ", ".join(told) or None
