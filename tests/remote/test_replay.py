"""A replay counts the requests that a server's own log has, however the store makes them."""

from __future__ import annotations

import json

import pytest

import arrowroot
from arrowroot import _native
from arrowroot._report import trace
from arrowroot._report.replay import Line, replay
from arrowroot.cli import main
from arrowroot_servers import Relay
from arrowroot_servers.single import Single
from tests.servers.fixtures import Started

from . import data, places
from .conftest import EVENTS

#: Far enough that nothing takes the store for a near one.
LATENCY_MS = 2
#: Its baskets are side by side, so that what is read together is larger than what one request may bring.
WIDE = "wide.root"
#: Where the number of connections grows while a server turns out to take more, long reads are cut by another number
#: at first than that which the trace has at its end.
FIXED = {"connections": 8}
#: Columns with others between them: a range for each basket.
SOME = ["x0*1"]


@pytest.fixture(scope="module")
def wide(served):
    data.write(served / WIDE, codec="none", n_branches=300)
    return served


@pytest.fixture(scope="module", params=["http", "http-1-range", "s3", "root", "single"])
def server(request, wide):
    """Yield the URLs of each kind of server, options, and how many requests for bytes of a file its log has."""
    with Started() as start:
        yield _server(request.param, start, wide)


def _server(kind, start, wide):
    if kind == "single":
        single = start(lambda: Single(wide))
        relay = start(lambda: Relay(single.port))
        relay.link(LATENCY_MS)
        return lambda name: single.url(name, relay.port), FIXED, lambda _: len(single.requests())
    place = start(lambda: places.place(kind, wide))
    place.relay.link(LATENCY_MS)
    place.publish(EVENTS)
    place.publish(WIDE)

    def n_requests(name):
        if kind == "s3":
            return place.server.n_requests(name)
        # Whether a file is still the same, XRootD is asked besides.
        return sum(one.method not in ("stat", "open", "close") for one in place.requests())

    fixed = FIXED if kind == "http-1-range" else {}
    return place.url, {**place.options, **fixed}, n_requests


@pytest.mark.parametrize("columns", [None, SOME], ids=["all", "some"])
@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "direct"},
        {"strategy": "treecache"},
        {"strategy": "auto"},
        {"strategy": "lazy-download", "cache_size": "16M"},
    ],
    ids=lambda options: "-".join(options.values()),
)
def test_requests_are_those_in_the_log_of_the_server(server, options, columns):
    url, to_open, n_requests = server
    # One by one, the baskets of the larger one take their time.
    for name in (EVENTS,) if options["strategy"] == "direct" else (EVENTS, WIDE):
        with arrowroot.open(url(name), **options, **to_open) as file:
            scan = file[data.TREE].scan(columns, trace=True)
            # What the plan is made for: replayed at this line, it is the same.
            latency_s, bytes_per_s, *_ = file._native.nature()
            n_before = n_requests(name)
            stats = scan.drain()
            n_asked = n_requests(name) - n_before
            line = Line(latency_s, bytes_per_s, protocol=file.protocol)
            logical = trace.logical_of(scan.logical_reads())
            outcome = replay(logical, file.size_bytes, line, options, kept=file.kept)
            assert (outcome.n_requests, outcome.read_bytes) == (n_asked, stats.read_bytes)
            # As many streams as there may be change no request.
            other = replay(logical, file.size_bytes, line._replace(n_streams=50), options, kept=file.kept)
            assert other.n_requests == n_asked
            n_calls = len({(read.operation, read.request) for read in scan.physical_reads()})
            if options["strategy"] == "treecache" and file.max_ranges == 1 and columns:
                assert n_asked > 10 * n_calls, "a request for each range"


def test_a_trace_has_the_limits_that_were_found_and_its_replay_keeps_them(start, served, tmp_path, capsys):
    single = start(lambda: Single(served))
    relay = start(lambda: Relay(single.port))
    relay.link(LATENCY_MS)
    path, url = tmp_path / "reads.parquet", single.url(EVENTS, relay.port)
    # The first opening also finds out what the server answers.
    for _ in range(2):
        n_before = len(single.requests())
        with arrowroot.open(url) as file:
            assert file[data.TREE].choose(SOME)
    n_opening = len(single.requests()) - n_before
    n_before = len(single.requests())
    read = ["-c", ",".join(SOME), "--strategy", "treecache"]
    assert main(["perf", f"{url}:{data.TREE}", *read, "--trace", str(path), "--json"]) == 0
    capsys.readouterr()
    n_asked = len(single.requests()) - n_before - n_opening
    protocol = trace.read(path).protocol
    assert protocol.data()["name"] == "http"
    assert protocol.max_ranges == 1, "found out, and not told"
    documents = []
    for streams in ([], ["--streams", "3"]):
        assert main(["replay", str(path), "--strategy", "treecache", *streams, "--json"]) == 0
        documents.append(json.loads(capsys.readouterr().out))
    assert [document["outcomes"][0]["n_requests"] for document in documents] == [n_asked, n_asked]
    assert n_asked > 40
    assert documents[0]["line"]["protocol"] == protocol.data()
    assert [document["line"]["n_streams"] for document in documents] == [protocol.max_parallel, 3]


def test_what_a_server_was_found_to_answer_is_known_for_its_replicas_too(start, served):
    first = start(lambda: places.place("root", served))
    spare = start(lambda: places.place("http", served))
    with arrowroot.open(first.url(EVENTS), replicas=[spare.url(EVENTS)], retries=0, timeout=2) as file:
        assert file.protocol == _native.Protocol(
            "xrootd", max_range_bytes=2097136, max_ranges=1024, max_bytes=32 << 20
        )
        first.relay.faults(["*:down:0:refuse"])
        first.relay.cut()
        file[data.TREE].to_arrow(["x050"])
        assert file.protocol.data()["name"] == "http"
