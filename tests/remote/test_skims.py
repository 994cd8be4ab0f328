"""Skims of files in stores: the entries of local ones, in their order."""

import pytest

import arrowroot

from . import data
from .conftest import EVENTS


@pytest.mark.parametrize("place", ["http", "root", "s3"], indirect=True)
def test_inputs_are_of_any_store(place, served, tmp_path):
    files = [place.url(EVENTS), place.url(EVENTS), str(served / EVENTS)]
    columns = ["x007", "x011"]
    made = arrowroot.skim(files, tmp_path / "o.root", data.TREE, columns, filter="x007 > 0", **place.options)
    expected = arrowroot.scan([served / EVENTS] * 3, data.TREE, columns, filter="x007 > 0").to_arrow()
    found = arrowroot.open(tmp_path / "o.root")[data.TREE].to_arrow()
    assert found.equals(expected.cast(found.schema))
    assert 0 < made.cuts[-1].num_entries < made.cuts[0].num_entries
    # Messages and reports have no credentials.
    assert [one.url for one in made.inputs] == [
        *(arrowroot.open(url, **place.options).url for url in files[:2]),
        files[2],
    ]
