"""Every column of the open conformance files against its true content."""

from __future__ import annotations

import json

import pytest

from . import suite
from .reasons import REASONS

UPDATE = "python -m tests.conformance.update"


def test_ranges_round_trip():
    for indices in ([], [0], [0, 1, 2], [3, 5, 6, 7, 100]):
        assert suite.from_ranges(suite.as_ranges(indices)) == indices


def test_no_column_stops_passing(record_property):
    directory = suite.suite_directory()
    if directory is None:
        pytest.skip("CONFORMANCE FILES NOT FOUND: set ARROWROOT_CONFORMANCE to their directory")
    results = suite.run(directory)
    text = suite.report(results)
    suite.REPORT.parent.mkdir(exist_ok=True)
    suite.REPORT.write_text(text, encoding="utf-8")
    table = text.partition("\n\n")[0]
    record_property("told", f"conformance\n{table}\nwhy: {suite.REPORT.relative_to(suite.REPOSITORY)}")

    crashes = [
        f"{r.path(c)}: {detail}"
        for r in results
        for c, (_, detail) in r.verdicts.items()
        if detail.startswith(("CRASH", "HANG", "InternalError", "MemoryError"))
    ]
    assert not crashes, "\n".join(crashes)
    assert suite.BASELINE.exists(), f"no baseline: {UPDATE}"
    change = suite.compare(results, json.loads(suite.BASELINE.read_text(encoding="utf-8")))
    stopped = "\n".join(change.stopped[:40])
    assert not change.stopped, f"{len(change.stopped)} columns stopped passing:\n{stopped}"
    assert not change.changed, f"the baseline is of other files ({UPDATE}): {', '.join(change.changed)}"
    unexplained = [r.path(c) for r in results for c in r.failed() if r.path(c) not in REASONS]
    assert not unexplained, f"columns fail without a reason in reasons.py: {', '.join(unexplained)}"
    if change.started:
        told = f"{len(change.started)} more columns pass than {suite.BASELINE.name} says: {UPDATE}"
        record_property("told", told)
