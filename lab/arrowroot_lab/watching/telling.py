"""A check for people, programs, merge requests and CI: a table, JSON, Markdown, JUnit."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from arrowroot_lab.mining import Column, ResultTable, writing
from arrowroot_lab.mining.format import NOTHING, shown
from arrowroot_lab.mining.results import varying

from .findings import FindingState
from .pairs_again import CONFIDENCE, N_PAIRS

if TYPE_CHECKING:
    from .findings import Checked, Finding

JSON_FORM = "arrowroot-lab.check/1"
_FAILS = (FindingState.ALARM, FindingState.SLOWER_PLACE)
#: Changes besides, and reasons, that are told in notes; JSON has all.
_MOST_CHANGED, _MOST_REASONS = 12, 10


def table(checked: Checked) -> ResultTable:
    """Return a row for each finding, the alarming ones first."""
    axes, notes = varying([one.axes for one in checked.findings])
    axes = [axis for axis in axes if axis not in ("layout", "campaign")]
    columns = (
        Column("state", "state"),
        Column("name", "what"),
        *(Column(axis, axis) for axis in axes),
        Column("before", "before"),
        Column("now", "now"),
        Column("ratio", "ratio", "ratio"),
        Column("note", "why"),
    )
    rows = tuple(
        (
            one.state.value,
            one.name,
            *(one.axes.get(axis) for axis in axes),
            shown(one.before, one.form),
            shown(one.now, one.form),
            one.ratio,
            one.note or None,
        )
        for one in checked.findings
    )
    told = (*notes, *_reasons(checked), *_changes(checked), *checked.notes, *_explaining(checked))
    return ResultTable(title(checked), columns, rows, told)


def title(checked: Checked) -> str:
    """Return the sentence that says it all."""
    n = Counter(one.state for one in checked.findings)
    told = [
        f"{n[FindingState.ALARM]} unexplained change{'s' if n[FindingState.ALARM] != 1 else ''}"
        if n[FindingState.ALARM]
        else "no unexplained change"
        if n[FindingState.SLOWER_PLACE]
        else "no alarm"
    ]
    words = {
        FindingState.SLOWER_PLACE: "slower place",
        FindingState.SUSPECT: "not confirmed",
        FindingState.ACCEPTED: "accepted",
        FindingState.CLEARED: "cleared by pairs",
        FindingState.UNCHECKED: "not checked",
    }
    told += [f"{n[state]} {word}" for state, word in words.items() if n[state]]
    against = f"run {checked.run[:8]}" if checked.run else "the newest results"
    n_cases = len(checked.compared)
    cases = f"{n_cases} case{'s' if n_cases != 1 else ''}"
    return f"{', '.join(told)}: {against} against run {checked.baseline[:8]}, {cases}"


def document(checked: Checked) -> dict[str, Any]:
    """Return it for JSON."""
    return {
        "form": JSON_FORM,
        "baseline": checked.baseline,
        "run": checked.run,
        "is_alarm": checked.is_alarm,
        "n_compared": len(checked.compared),
        "findings": [one.document() for one in checked.findings],
        "notes": checked.notes,
    }


def markdown(checked: Checked) -> str:
    """Return it as Markdown."""
    return writing.markdown(table(checked))


def junit(checked: Checked) -> str:
    """Return it as JUnit's XML: a test for each case, which fails if it has an alarm."""
    by_case: dict[str, list[Finding]] = {label: [] for label in checked.compared}
    for one in checked.findings:
        by_case.setdefault(one.label, []).append(one)
    suite = ET.Element("testsuite", name=f"baseline {checked.baseline}")
    n_failures = n_skipped = 0
    for label, findings in by_case.items():
        case = ET.SubElement(suite, "testcase", classname="arrowroot lab check", name=writing.clean(label))
        alarms = [one for one in findings if one.state in _FAILS]
        if alarms:
            n_failures += 1
            failure = ET.SubElement(case, "failure", message=_line(alarms[0]))
            failure.text = "\n".join(map(_line, alarms))
        elif findings and all(one.state is FindingState.UNCHECKED for one in findings):
            n_skipped += 1
            ET.SubElement(case, "skipped", message=_line(findings[0]))
        others = [one for one in findings if one.state not in _FAILS]
        if others:
            ET.SubElement(case, "system-out").text = "\n".join(map(_line, others))
    suite.attrib |= {
        "tests": str(len(by_case)),
        "failures": str(n_failures),
        "skipped": str(n_skipped),
        "errors": "0",
    }
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _line(one: Finding) -> str:
    values = f"{shown(one.before, one.form)} -> {shown(one.now, one.form)}"
    return writing.clean(f"{one.state.value}: {one.name} {values}{': ' if one.note else ''}{one.note}")


def _reasons(checked: Checked) -> list[str]:
    """The reasons as a whole, each once: in the table they may be cut."""
    found = [one for one in checked.findings if one.note and one.state is not FindingState.CLEARED]
    reasons = dict.fromkeys(f"{one.state.value.capitalize()}: {one.name}: {one.note}." for one in found)
    more = [f"And {len(reasons) - _MOST_REASONS} more reasons."] if len(reasons) > _MOST_REASONS else []
    return [*list(reasons)[:_MOST_REASONS], *more]


def _changes(checked: Checked) -> list[str]:
    """The other things that changed, for the findings that nobody has accepted."""
    found = [one for one in checked.findings if one.state in (*_FAILS, FindingState.SUSPECT)]
    changed = {
        f"{name} {_short(old)} -> {_short(new)}": None
        for one in found
        for name, (old, new) in one.changed.items()
    }
    if not changed:
        return []
    told = list(changed)[:_MOST_CHANGED]
    more = f", and {len(changed) - len(told)} more" if len(changed) > len(told) else ""
    return [f"Changed besides: {', '.join(told)}{more}."]


def _short(value: Any) -> str:
    text = NOTHING if value is None else str(value)
    return text if len(text) <= 16 else text[:12]


def _explaining(checked: Checked) -> list[str]:
    told = []
    if checked.of(FindingState.ALARM):
        told.append("`--accept NAME='REASON'` accepts a change, by its name or that of what changed besides.")
    if checked.of(FindingState.SUSPECT):
        told.append(
            f"A time is an alarm only if {N_PAIRS} pairs in turns say so, at {CONFIDENCE:.1%}: "
            "what is not confirmed fails nothing."
        )
    return told
