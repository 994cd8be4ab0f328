"""Opening costs two round trips after the connection, whatever the number of branches."""

from __future__ import annotations

import time

import pytest

import arrowroot

from . import data, places
from .conftest import EVENTS

ROUND_TRIP_S = 0.2
#: Requests that are not for the file's content.
CONNECTION = ("protocol", "login", "auth", "query", "bind", "ping", "close", "endsess", "set")
KINDS = [kind for kind in places.KINDS if kind not in ("http-0-ranges", "xrootd-http")]


def branches(place, name=EVENTS):
    with arrowroot.open(place.url(name), **place.options) as file:
        return len(file[data.TREE].branches)


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_opening_takes_two_round_trips_by_the_clock(place):
    place.relay.link(1000 * ROUND_TRIP_S)
    start = time.perf_counter()
    assert branches(place) == data.N_BRANCHES + 2  # the lists and their counter
    n_round_trips = (time.perf_counter() - start) / ROUND_TRIP_S
    assert n_round_trips < place.login_round_trips + 2 + 0.7


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_opening_takes_two_requests_by_the_log_of_the_server(place):
    n_before = len(place.requests())
    branches(place)
    requests = [request for request in place.requests()[n_before:] if request.method not in CONNECTION]
    # Where a vector read is one request for each range, head and tail are two at the same time.
    assert len(requests) <= (3 if place.kind in ("http-1-range", "s3") else 2), requests
