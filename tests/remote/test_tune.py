"""Tune, of a file where it is: what it measures is the store."""

from __future__ import annotations

import json

import pytest

import arrowroot
from arrowroot.cli import main

from . import data
from .conftest import EVENTS


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
