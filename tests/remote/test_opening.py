"""Opening costs two round trips after the connection, whatever the number of branches or fields.

Of files as ROOT writes them, with the tree's record behind the baskets. uproot puts it before them: a third round trip.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

import arrowroot
from tests.judge import root

from . import data, places, with_root
from .conftest import EVENTS

#: Tried one after the other: on a busy machine the work of an opening is little beside the longest.
ROUND_TRIPS_S = (0.3, 0.3, 0.6, 1.2, 2.4, 2.4, 2.4)
#: Requests that are not for the file's content.
CONNECTION = ("protocol", "login", "auth", "query", "bind", "ping", "close", "endsess", "set")
KINDS = [kind for kind in places.KINDS if kind not in ("http-0-ranges", "xrootd-http")]
BRANCHES = {"few.root": 10, "many.root": 1000}
FIELDS = {"few.ntpl.root": 10, "many.ntpl.root": 1000}


@pytest.fixture(scope="module")
def of_root(served, started_places):
    root.run(with_root.write, served, BRANCHES | FIELDS)
    started_places("s3")
    for kind in KINDS:
        for name in BRANCHES | FIELDS:
            started_places(kind).publish(name)


def branches(place, name):
    """Open, and return how many branches the tree has, or columns the RNTuple."""
    with arrowroot.open(place.url(name), **place.options) as file:
        tree = file[data.TREE]
        return len(tree.columns if name in FIELDS else tree.branches)


def requests_of(place, name):
    n_before = len(place.requests())
    branches(place, name)
    return [request for request in place.requests()[n_before:] if request.method not in CONNECTION]


@pytest.mark.long
@pytest.mark.usefixtures("of_root")
@pytest.mark.parametrize("name", BRANCHES)
@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_opening_takes_two_round_trips_by_the_clock(place, name):
    round_trips = []
    for round_trip_s in ROUND_TRIPS_S:
        place.relay.link(1000 * round_trip_s)
        place.relay.cut()
        start = time.perf_counter()
        assert branches(place, name) == (BRANCHES | FIELDS)[name]
        round_trips.append((time.perf_counter() - start) / round_trip_s)
        if round_trips[-1] < 2.7:
            return
    raise AssertionError(f"two round trips were due: {round_trips}")


@pytest.mark.usefixtures("of_root")
@pytest.mark.parametrize("place", ["http", "root"], indirect=True)
def test_opening_an_ntuple_takes_two_round_trips_by_the_clock(place):
    test_opening_takes_two_round_trips_by_the_clock(place, "many.ntpl.root")


@pytest.mark.usefixtures("of_root")
@pytest.mark.parametrize("name", BRANCHES | FIELDS)
@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_opening_takes_two_requests_by_the_log_of_the_server(place, name):
    requests = requests_of(place, name)
    # Where a vector read is one request for each range, head and tail are two at the same time.
    assert len(requests) <= (3 if place.kind in ("http-1-range", "s3") else 2), requests


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_metadata_in_the_middle_of_a_file_is_one_request_more(place):
    requests = requests_of(place, EVENTS)
    assert len(requests) <= (4 if place.kind in ("http-1-range", "s3") else 3), requests


@pytest.fixture(scope="module")
def of_directories(served):
    """Return the name of a file whose 300 directories do not come with the opening."""
    uproot = pytest.importorskip("uproot", reason="NO UPROOT FOUND: pip install uproot")
    name = "directories.root"
    random = np.random.default_rng(1)
    with uproot.recreate(served / name, compression=None) as file:
        file["top"] = "content"
        for directory in range(300):
            file[f"d{directory}/text"] = random.bytes(4000).hex()
    return name


@pytest.mark.parametrize("place", ["http-1-range"], indirect=True)
def test_looking_for_a_name_asks_for_no_directory_that_it_does_not_name(place, of_directories):
    place.publish(of_directories)
    for look in (
        lambda f: f["top"],
        lambda f: "top" in f,
        lambda f: "nothing" not in f,
        lambda f: f["d150/text"],
    ):
        n_before = len(place.requests())
        with arrowroot.open(place.url(of_directories), **place.options) as file:
            assert look(file)
        assert len(place.requests()) - n_before <= 8


# A server without ranges sends the whole file, which is a stage-in.
@pytest.mark.parametrize("place", [kind for kind in places.KINDS if kind != "http-0-ranges"], indirect=True)
def test_what_comes_with_the_opening_is_accounted_for(place, served):
    size = (served / EVENTS).stat().st_size
    with arrowroot.open(place.url(EVENTS), **place.options) as file:
        (opened,) = [a for a in file.accounts if a.layer == "store" and a.operation == "open"]
    assert opened.n_successful == 1
    assert 0 < opened.bytes <= size
    assert opened.total_ns > 0


@pytest.mark.parametrize("place", ["root"], indirect=True)
def test_openings_of_the_server_are_accounted_for(place):
    with arrowroot.open(place.url(EVENTS), **place.options) as file:
        accounts = {a.operation: a for a in file.accounts if a.layer == "xrootd"}
    # A connection of before may have been closed by the server meanwhile: then it was tried twice.
    assert accounts["open"].n_successful == 1
    assert accounts["open"].n_attempted <= 2
