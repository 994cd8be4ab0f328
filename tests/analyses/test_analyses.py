"""Analyses give the values that RDataFrame gives for the same files."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.differential.compare import written

from . import (
    event_matching,
    higgs_recoil,
    higgs_recoil_with_root,
    higgs_to_four_leptons,
    higgs_with_root,
    isolated_jets,
    isolated_jets_with_root,
    missing_branches,
    top_quarks,
    top_quarks_with_root,
    with_root,
)

analyses = written(with_root.write)


def assert_equal(found, expected):
    """A histogram has the contents and errors of ROOT's, which is not empty."""
    contents, errors = expected
    assert found.values(flow=True).tolist() == pytest.approx(contents, rel=1e-12)
    assert (found.variances(flow=True) ** 0.5).tolist() == pytest.approx(errors, rel=1e-12)
    assert sum(contents) > 0


def assert_cut_by_each(cuts):
    """Each cut leaves some, and takes some away."""
    assert all(before > after > 0 for before, after in pairwise(cuts))


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
        assert_cut_by_each(expected["cuts"])
        for sample, histogram in expected["histograms"].items():
            assert_equal(made.of[sample], histogram)


def test_top_quarks_and_their_variations_are_those_of_rdataframe(analyses):
    made = top_quarks.analyse(top_quarks_with_root.files_of(analyses.directory))
    for region, samples in analyses.expected["top_quarks"].items():
        for sample, variations in samples.items():
            for variation, histogram in variations.items():
                assert_equal(made[region][sample][variation, :], histogram)
            # Each variation makes another histogram.
            assert len({str(histogram) for histogram in variations.values()}) == len(variations)
        assert set(samples["wjets"]) == set(made[region]["wjets"].axes["variation"])


def test_jets_away_from_leptons_are_those_of_rdataframe(analyses):
    expected = analyses.expected["isolated_jets"]
    made = isolated_jets.analyse(isolated_jets_with_root.files_of(analyses.directory))
    assert made["cuts"] == expected["cuts"]
    assert_cut_by_each(expected["cuts"])
    for name in ("sum_pt", "mass"):
        assert_equal(made[name], expected[name])


def test_masses_beside_two_muons_are_those_of_rdataframe(analyses):
    expected = analyses.expected["higgs_recoil"]
    made = higgs_recoil.analyse(higgs_recoil_with_root.files_of(analyses.directory))
    assert made["cuts"] == expected["cuts"]
    assert_cut_by_each(expected["cuts"])
    for name in higgs_recoil_with_root.HISTOGRAMS:
        for sample in higgs_recoil_with_root.SAMPLES:
            assert_equal(made[name][sample], expected[name][sample])
