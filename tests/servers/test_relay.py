"""The relay keeps its times and breaks what it is told to break."""

from __future__ import annotations

import http.client
import socket
import threading
import time

import pytest

from arrowroot_servers import Nginx, Relay

from .conftest import CONTENT

PATH = "/numbers.bin"
#: What a busy machine may add to a time at best.
ALLOWED_S = 0.25
N_TRIES = 20
ALL = len(CONTENT)


@pytest.fixture
def relay(start, directory):
    server = start(lambda: Nginx(directory))
    return start(lambda: Relay(server.port))


def get(relay, n_bytes=ALL, timeout=60):
    connection = http.client.HTTPConnection("127.0.0.1", relay.port, timeout=timeout)
    try:
        connection.request("GET", PATH, headers={"Range": f"bytes=0-{n_bytes - 1}"})
        return connection.getresponse().read()
    finally:
        connection.close()


def check_takes(least_s, work):
    """Assert that ``work`` never takes less time, and at best hardly more: others use the machine, too."""
    taken = []
    for _ in range(N_TRIES):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
        assert taken[-1] >= least_s
        if taken[-1] < least_s + ALLOWED_S:
            return
    raise AssertionError(f"{least_s} s were due: {taken}")


def header_bytes(relay):
    """Length of nginx's answer before the content."""
    relay.counts()
    get(relay)
    return relay.counts().bytes_down - len(CONTENT)


def test_a_round_trip_takes_its_time_whatever_the_bytes(relay):
    relay.link(50)
    for n_bytes in (1, len(CONTENT)):
        check_takes(0.05, lambda n=n_bytes: get(relay, n))


def test_a_handshake_costs_a_round_trip_of_its_own(relay):
    relay.link(50, handshake=True)
    check_takes(0.1, lambda: get(relay, 1))


def test_connections_share_the_rate(relay):
    relay.link(0, 4)

    def all_of_them():
        threads = [threading.Thread(target=get, args=(relay,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    check_takes(0.98 * 4 * len(CONTENT) / 4e6, all_of_them)


def test_counts_are_since_the_last_time(relay):
    relay.counts()
    assert get(relay) == CONTENT
    counts = relay.counts()
    assert counts.connections == 1
    assert counts.bytes_down > len(CONTENT)
    assert relay.counts().bytes_down == 0


def test_bytes_are_changed_left_out_and_repeated_where_the_plan_says(relay):
    head = header_bytes(relay)
    relay.faults([f"0:down:{head + 5}:flip:128", f"1:down:{head + 10}:drop:3"])
    assert get(relay) == CONTENT[:5] + bytes([CONTENT[5] ^ 128]) + CONTENT[6:]
    with pytest.raises((http.client.IncompleteRead, TimeoutError)) as caught:
        get(relay, timeout=0.5)
    if isinstance(caught.value, http.client.IncompleteRead):
        assert caught.value.partial == CONTENT[:10] + CONTENT[13:]
    assert get(relay) == CONTENT
    assert relay.counts().faults == [0, 1]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("reset", ConnectionResetError),
        ("refuse", (ConnectionResetError, http.client.RemoteDisconnected)),
        ("close", http.client.IncompleteRead),
        ("stall", TimeoutError),
    ],
)
def test_a_connection_ends_as_planned_and_the_next_one_works(relay, kind, expected):
    offset = header_bytes(relay) + 100
    relay.faults([f"0:down:{offset}:{kind}"])
    with pytest.raises(expected):
        get(relay, timeout=0.5 if kind == "stall" else 60)
    assert get(relay) == CONTENT
    assert relay.counts().faults == [0]


def test_a_delay_holds_back_and_then_all_is_well(relay):
    relay.faults(["*:down:1000:delay:200"])
    check_takes(0.2, lambda: get(relay))


def test_requests_can_break_too(relay):
    relay.faults(["0:up:4:reset", "1:up:4:stall"])
    with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)):
        get(relay)
    with pytest.raises(TimeoutError):
        get(relay, timeout=0.5)


def test_all_connections_can_be_cut(relay):
    with socket.create_connection(("127.0.0.1", relay.port), timeout=60) as sock:
        sock.sendall(b"GET ")
        while not relay.counts().bytes_up:
            time.sleep(0.01)
        relay.cut()
        with pytest.raises(ConnectionResetError):
            sock.recv(1)


def test_nonsense_is_refused(relay):
    for plan in (["0:down:x:reset"], ["0:down:0:burn"]):
        with pytest.raises(ValueError, match="fault"):
            relay.faults(plan)
