"""A filter asks a server for its columns, and of the others for what has selected entries; no more."""

from __future__ import annotations

import numpy as np
import pytest

import arrowroot as ar

RUNS = "runs.root"
N_CLUSTERS, N_PER_CLUSTER, N_BRANCHES = 20, 1000, 30
CONTENT = ("GET", "read", "readv", "pgread")


@pytest.fixture(scope="module")
def runs(served):
    """Write a tree whose clusters are runs, with numbers that do not compress."""
    import uproot

    rng = np.random.default_rng(4)
    names = {f"x{i:02}": "float64" for i in range(N_BRANCHES)}
    ids = {"run": "int32", "luminosityBlock": "int32", "event": "int64"}
    with uproot.recreate(served / RUNS, compression=uproot.ZSTD(1)) as file:
        tree = file.mktree("Events", {**ids, **names})
        for run in range(N_CLUSTERS):
            events = np.arange(N_PER_CLUSTER)
            parts = {
                "run": np.full(N_PER_CLUSTER, run, np.int32),
                "luminosityBlock": events.astype(np.int32) // 100,
            }
            tree.extend({**parts, "event": events, **{name: rng.random(N_PER_CLUSTER) for name in names}})
    return served / RUNS


def bytes_of(place, read):
    """Return the result of a read, and the content that the server sent for it."""
    n_before = len(place.requests())
    result = read()
    requests = place.requests()[n_before:]
    return result, sum(request.n_bytes for request in requests if request.method in CONTENT)


def test_what_is_not_selected_stays_where_it_is(place, runs):
    place.publish(RUNS)
    local = ar.open(runs)["Events"]
    with ar.open(place.url(RUNS), **place.options) as file:
        tree = file["Events"]
        whole, n_all = bytes_of(place, tree.scan().drain)
        scan = tree.scan(filter="run == 7 && x00 < 0.5")
        table, n_sent = bytes_of(place, scan.read_all)
    assert table == local.to_arrow(filter="run == 7 && x00 < 0.5")
    assert 400 < table.num_rows < 600
    stats = scan.stats
    # run and x00 of all clusters, and one basket of each other column.
    assert stats.n_baskets == 2 * N_CLUSTERS + N_BRANCHES + 1
    assert stats.payload_bytes == scan.plan.payload_bytes
    assert stats.payload_bytes < 0.15 * whole.payload_bytes
    if place.kind in ("http", "root"):
        # As the server's log has it: with what lies between ranges that are read as one, and the heads of their parts.
        assert stats.read_bytes <= n_sent < 0.1 * n_all


def test_events_of_an_index_are_read_without_their_ids(place, runs, tmp_path):
    place.publish(RUNS)
    made = ar.index(place.url(RUNS), tmp_path / "index.parquet", **place.options)
    again = ar.index(place.url(RUNS), tmp_path / "index.parquet", **place.options)
    assert (made.n_read, again.n_read, again.n_reused) == (1, 0, 1)
    ids = [(3, 4, 444), (19, 9, 999), (3, 4, 443)]
    # The index names the server: that it is to see credentials is for a person to say.
    options = {**place.options, "credentials_for": place.url(RUNS).split("/")[2]}
    table = ar.pick(tmp_path / "index.parquet", ids, ["x00", "x29"], **options)
    assert table == ar.open(runs)["Events"].to_arrow(["x00", "x29"], entries=[3444, 19_999, 3443])
