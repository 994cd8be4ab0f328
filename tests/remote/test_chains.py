"""Files in a row over a network: the next one's data are on their way while the last of one are read."""

import time

import pytest

import arrowroot

from . import data
from .conftest import EVENTS

PATIENCE_S = 60


@pytest.mark.parametrize("place", ["http", "root", "s3"], indirect=True)
def test_the_next_file_is_fetched_while_one_is_read(place, local_tables):
    urls = [f"{place.url(EVENTS)}"] * 3
    scan = arrowroot.scan(urls, data.TREE, ["x007"], **place.options)
    batches = iter(scan)
    first = next(batches)
    deadline = time.monotonic() + PATIENCE_S
    while scan.stats.read_bytes < scan.plan.read_bytes:
        assert time.monotonic() < deadline, f"{scan.stats.read_bytes} bytes came"
        time.sleep(0.01)
    values = [first["x007"], *(batch["x007"] for batch in batches)]
    expected = local_tables["all"]["x007"].combine_chunks().to_pylist()
    assert [value for chunk in values for value in chunk.to_pylist()] == 3 * expected
