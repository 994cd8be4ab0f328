"""Analyses give the values that RDataFrame gives for the same files."""

from __future__ import annotations

import pytest

from tests.differential.compare import written

from . import event_matching, missing_branches, tutorials_with_root

tutorials = written(tutorials_with_root.write)


@pytest.mark.parametrize(
    ("name", "analysis"), [("missing_branches", missing_branches), ("event_matching", event_matching)]
)
def test_entries_with_holes_are_those_of_rdataframe(tutorials, name, analysis):
    tables = analysis.analyse(tutorials.directory)
    found = {table: columns.to_dict(as_series=False) for table, columns in tables.items()}
    assert found == tutorials.expected[name]
    # Something is missing, and something is there.
    assert all(len(table) for table in tables.values())
    assert any(analysis.DEFAULT in column for column in found["defaults"].values())
