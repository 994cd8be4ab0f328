"""What a scan says that it read is what came, whoever else answered."""

from __future__ import annotations

import json

import pytest

import arrowroot
from arrowroot._report import trace
from arrowroot.cli import main
from arrowroot_servers import Nginx

from . import data, places
from .conftest import EVENTS

#: Far enough that nothing takes the store for a near one.
LATENCY_MS = 2


def drained(url, columns=None, **options):
    """Read, and return the counters, and bytes by layer and operation."""
    with arrowroot.open(url, **options) as file:
        scan = file[data.TREE].scan(columns)
        stats = scan.drain()
    found = {}
    for account in scan.accounts:
        found.setdefault(account.layer, {})[account.operation] = account.bytes
    return stats, found


@pytest.mark.parametrize("place", ["http", "root"], indirect=True)
@pytest.mark.parametrize("strategy", ["auto", "direct", "readahead", "treecache", "lazy-download"])
def test_what_came_with_the_opening_is_a_cache_hit_and_no_overhead(place, served, strategy):
    place.relay.link(LATENCY_MS)
    data.write(served / "small.root", n_branches=2)
    stats, layers = drained(place.url("small.root"), strategy=strategy)
    assert "store" not in layers, "all of it is kept"
    assert layers["opening"]["cache-hit"] >= stats.payload_bytes
    assert (stats.read_bytes, stats.overhead_bytes) == (0, 0)
    # Of the larger one, both ends are.
    stats, layers = drained(place.url(EVENTS), strategy=strategy)
    n_kept = layers["opening"]["cache-hit"]
    assert n_kept > 0
    if strategy == "direct":
        assert stats.read_bytes + n_kept == stats.payload_bytes
    assert stats.read_bytes - stats.payload_bytes <= stats.overhead_bytes <= stats.read_bytes


@pytest.mark.parametrize("place", ["root"], indirect=True)
def test_what_was_in_a_block_cache_makes_up_for_nothing_that_came(place, tmp_path):
    place.relay.link(LATENCY_MS)
    options = {"block_cache": str(tmp_path / "blocks")}
    cold, _ = drained(place.url(EVENTS), ["x000"], **options)
    assert cold.overhead_bytes >= cold.read_bytes - cold.payload_bytes
    assert cold.overhead_bytes > 0, "blocks are larger than baskets"
    warm, layers = drained(place.url(EVENTS), ["x000"], **options)
    assert layers["block-cache"]["cache-hit"] > 0
    assert (warm.read_bytes, warm.overhead_bytes) == (0, 0)
    partly, _ = drained(place.url(EVENTS), **options)
    assert 0 < partly.read_bytes < partly.payload_bytes
    assert partly.overhead_bytes <= partly.read_bytes


@pytest.mark.parametrize("place", ["http", "root"], indirect=True)
@pytest.mark.parametrize("strategy", ["direct", "readahead", "lazy-download"])
def test_a_replay_asks_for_what_was_asked_for(place, tmp_path, capsys, strategy):
    place.relay.link(LATENCY_MS)
    path = tmp_path / "reads.parquet"
    url = f"{place.url(EVENTS)}:{data.TREE}"
    assert main(["perf", url, "--trace", str(path), "--strategy", strategy, "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)["first"]
    log = trace.read(path)
    assert [offset for offset, _ in log.kept][:1] == [0]
    assert main(["replay", str(path), "--strategy", strategy, "--json"]) == 0
    (outcome,) = json.loads(capsys.readouterr().out)["outcomes"]
    assert (outcome["n_requests"], outcome["read_bytes"]) == (log.n_requests, log.physical_bytes)
    n_extra_bytes = measured["read_extra_percent"] / 100 * measured["read_total_bytes"]
    assert outcome["over_read"] * outcome["payload_bytes"] == pytest.approx(n_extra_bytes)


def test_each_answer_of_a_door_and_of_a_later_replica_is_entered_once(start, served):
    behind = start(lambda: places.place("http", served))
    spare = start(lambda: places.place("http", served))
    door = start(lambda: Nginx(served, redirect_to=behind.url("")))
    urls = [door.url(f"redirect/{EVENTS}"), spare.url(EVENTS)]
    with arrowroot.open(urls[0], replicas=urls[1:], retries=0, timeout=20) as file:
        tree = file[data.TREE]
        tree.to_arrow(["x000"])
        behind.relay.faults(["*:down:0:refuse"])
        behind.relay.cut()
        tree.to_arrow(["x001", "x002"])
        accounts = [account for account in file.accounts if account.layer == "http"]
    assert len({account.operation for account in accounts}) == len(accounts), "one line for both replicas"
    answered = {account.operation: account.n_successful for account in accounts}
    assert answered["redirect"] == len(door.requests()) > 0
    assert sum(answered.values()) == sum(len(one.requests()) for one in (door, behind, spare))
    assert spare.requests()


@pytest.mark.parametrize("place", ["http-0-ranges"], indirect=True)
def test_a_file_that_is_copied_whole_says_so_and_is_entered_with_its_size(place, served):
    with pytest.warns(arrowroot.WholeCopyWarning, match=r"all 4\.1. MB were copied") as caught:
        file = arrowroot.open(place.url(EVENTS))
    assert caught[0].filename == __file__
    copies = [account for account in file.accounts if account.operation == "stage-in"]
    assert [(copy.layer, copy.bytes) for copy in copies] == [("http", (served / EVENTS).stat().st_size)]
    (served / "bucket").mkdir()
    (served / "bucket" / EVENTS).symlink_to(served / EVENTS)
    with pytest.warns(arrowroot.WholeCopyWarning, match=r"^s3://bucket/.*all 4\.1. MB were copied"):
        arrowroot.open(f"s3://bucket/{EVENTS}", s3_endpoint=place.url("").rstrip("/"))
