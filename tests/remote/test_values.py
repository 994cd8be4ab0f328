"""Remote files hold what they hold locally, however they are read."""

from __future__ import annotations

import pytest

import arrowroot

from . import data, places
from .conftest import EVENTS

READS = data.reads()
STRATEGIES = ["auto", "direct", "application-only", "storage-only", "lazy-download", "readahead", "treecache"]


@pytest.mark.parametrize("read", READS)
def test_values_are_those_of_the_local_file(place, local_tables, read):
    with arrowroot.open(place.url(EVENTS), **place.options) as file:
        table = file[data.TREE].to_arrow(**READS[read])
    assert table.equals(local_tables[read])


def test_a_scan_streams_what_is_in_the_local_file(place, local_tables):
    import pyarrow as pa

    with arrowroot.open(place.url(EVENTS), **place.options) as file:
        batches = list(file[data.TREE].scan(batch_size="400 kB", memory_budget="4 MB"))
    assert len(batches) > 1
    assert pa.Table.from_batches(batches).equals(pa.table(local_tables["all"]))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_reads_the_same(place, local_tables, strategy, tmp_path):
    options = {**place.options, "strategy": strategy, "download_dir": str(tmp_path)}
    with arrowroot.open(place.url(EVENTS), **options) as file:
        for read in ("columns", "entries"):
            assert file[data.TREE].to_arrow(**READS[read]).equals(local_tables[read])


@pytest.mark.parametrize("place", [kind for kind in places.KINDS if kind != "http-0-ranges"], indirect=True)
def test_few_columns_cost_few_bytes(place, served):
    """Also for servers that answer one range at a time; those that know none send the whole file."""
    place.relay.counts()
    with arrowroot.open(place.url(EVENTS), **place.options) as file:
        file[data.TREE].to_arrow(["x007"])
    assert place.relay.counts().bytes_down < (served / EVENTS).stat().st_size / 2


def test_a_file_that_is_not_there_says_so(place):
    with pytest.raises(arrowroot.StorageError, match=r"nothing\.root") as caught:
        arrowroot.open(place.url("nothing.root"), **place.options)
    assert isinstance(caught.value, FileNotFoundError)


def test_a_server_that_is_not_there_says_so(place):
    url = place.url(EVENTS).replace(str(place.relay.port), "1")
    options = {name: value.replace(str(place.relay.port), "1") for name, value in place.options.items()}
    with pytest.raises(arrowroot.StorageError, match=r"events\.root"):
        arrowroot.open(url, **options, retries=1, deadline=2)
