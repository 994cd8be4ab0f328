"""Tune, of a file where it is: what it measures is the store."""

from __future__ import annotations

import json
import time

import pytest

import arrowroot
from arrowroot._report import tune
from arrowroot.cli import main

from . import data
from .conftest import EVENTS

LATENCY_S = 0.02
#: Of both ends together so much comes with the opening.
KEPT_BYTES = 384 << 10


@pytest.mark.parametrize("place", ["http", "root"], indirect=True)
def test_a_block_cache_that_is_set_answers_for_no_store(place, tmp_path, monkeypatch, capsys):
    url = place.url(EVENTS)
    monkeypatch.setenv("ARROWROOT_BLOCK_CACHE", str(tmp_path / "blocks"))
    for _ in range(2):
        scan = arrowroot.open(url)[data.TREE].scan()
        scan.drain()
    assert "store" not in {account.layer for account in scan.accounts}, "all of it is in the block cache"
    n_before = len(place.requests())
    line = ["--budget-seconds", "60", "--verify", "1"]
    assert main(["tune", f"{url}:{data.TREE}", *line, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    n_runs = 1 + sum(len(candidate["measured_ns"]) for candidate in document["candidates"])
    assert n_runs > 1
    payload_bytes = document["candidates"][0]["predicted"]["payload_bytes"]
    asked_bytes = sum(request.n_bytes for request in place.requests()[n_before:])
    assert asked_bytes >= n_runs * payload_bytes + document["store"]["n_bytes"]


@pytest.mark.parametrize("place", ["http"], indirect=True)
def test_what_comes_with_the_opening_leaves_nothing_to_choose(place, served, capsys):
    data.write(served / "small.root", n_branches=2)
    assert main(["tune", f"{place.url('small.root')}:{data.TREE}", "--budget-seconds", "5"]) == 0
    done = capsys.readouterr()
    assert "nothing to set: all of this comes when the file is opened" in done.out
    assert "export" not in done.out


@pytest.mark.parametrize("place", ["http-0-ranges"], indirect=True)
def test_a_copy_is_no_store(place, capsys):
    assert main(["tune", f"{place.url(EVENTS)}:{data.TREE}", "--budget-seconds", "5"]) == 2
    assert "answers no ranges" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["http", "root"], indirect=True)
def test_of_a_small_file_that_came_with_its_opening_the_store_is_measured(place, served):
    data.write(served / "small.root", n_branches=2)
    place.relay.link(1000 * LATENCY_S)
    with arrowroot.open(place.url("small.root")) as file:
        assert file.size_bytes < KEPT_BYTES
        n_before = len(place.requests())
        store = tune.measure_store(file, time.monotonic() + 10)
    assert store.latency_s > LATENCY_S
    n_requests = sum(request.n_bytes > 0 for request in place.requests()[n_before:])
    assert n_requests >= store.n_requests
