"""Analyses give the values that RDataFrame gives for the same files."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.differential.compare import written

from . import event_matching, higgs_to_four_leptons, higgs_with_root, missing_branches, with_root

analyses = written(with_root.write)


@pytest.mark.parametrize(
    ("name", "analysis"), [("missing_branches", missing_branches), ("event_matching", event_matching)]
)
def test_entries_with_holes_are_those_of_rdataframe(analyses, name, analysis):
    tables = analysis.analyse(analyses.directory)
    found = {table: columns.to_dict(as_series=False) for table, columns in tables.items()}
    assert found == analyses.expected[name]
    # Something is missing, and something is there.
    assert all(len(table) for table in tables.values())
    assert any(analysis.DEFAULT in column for column in found["defaults"].values())


def test_masses_of_four_leptons_are_those_of_rdataframe(analyses):
    for channel in higgs_with_root.CHANNELS:
        made = higgs_to_four_leptons.CHANNELS[channel](higgs_with_root.files_of(channel, analyses.directory))
        expected = analyses.expected["higgs_to_four_leptons"][channel]
        assert [cut.num_entries for cut in made.cuts] == expected["cuts"]
        # Each cut leaves some, and takes some away.
        assert all(before > after > 0 for before, after in pairwise(expected["cuts"]))
        for sample, (contents, errors) in expected["histograms"].items():
            found = made.of[sample]
            assert found.values(flow=True).tolist() == pytest.approx(contents, rel=1e-12)
            assert (found.variances(flow=True) ** 0.5).tolist() == pytest.approx(errors, rel=1e-12)
            assert sum(contents) > 0
