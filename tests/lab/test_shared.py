"""Nodes that others use: every sample counts and is marked, and what others do there is blamed on nothing."""

from __future__ import annotations

import os
import random
import statistics
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

import arrowroot
from arrowroot_lab.campaign.read import read
from arrowroot_lab.mining import compare
from arrowroot_lab.mining.exporting import export
from arrowroot_lab.mining.metrics import metric
from arrowroot_lab.running import sampling
from arrowroot_lab.scheduling.cells import cells_of
from arrowroot_lab.statistics import Verdict
from arrowroot_lab.store import Filter, Store
from arrowroot_lab.watching.check import check
from arrowroot_lab.watching.findings import FindingState
from arrowroot_lab.watching.site_results import site_results
from arrowroot_servers import Nginx, Relay
from tests.command import run_here
from tests.lab.busy_nodes import N_AFTER, N_BEFORE, Node, first_night, hurry, spread
from tests.lab.made import Made, Noise
from tests.lab.running import engine, run
from tests.servers.fixtures import installed

FIRST = datetime(2026, 10, 1, 4, tzinfo=timezone.utc)
ALL = "[workload.all]\n"


@pytest.fixture
def busy(monkeypatch):
    """Others use the node whenever a sample is taken."""
    monkeypatch.setattr(sampling, "disturbed", lambda *_: ["other processes took 90% of the cores"])


@pytest.mark.usefixtures("busy")
def test_every_sample_counts_once_and_results_are_marked(campaign, tmp_path):
    path = campaign(engine("a"), workloads=ALL, top="shared = true")
    _, (result,) = run(path)
    assert [sample.turn for sample in result.samples] == [0, 1, 2]
    assert len(result.counted()) == 3
    assert result.machine["shared"] is True
    database = ("--db", str(path.with_suffix(".db")))
    assert "node shared" in run_here("lab", "show", *database).stdout
    assert "others used it, too" in run_here("lab", "show", result.uuid, *database).stdout
    assert run_here("lab", "publish", str(tmp_path / "pages"), *database).returncode == 0
    assert "node shared" in (tmp_path / "pages" / "campaigns" / "c.html").read_text()
    assert "others used it, too" in (tmp_path / "pages" / "results" / f"{result.uuid}.html").read_text()
    with Store.open(path.with_suffix(".db")) as store:
        export(store, None, tmp_path / "out.csv", "samples")
    head, *rows = (tmp_path / "out.csv").read_text().splitlines()
    assert {"node", "queued_ns", "user_ns", "peak_virtual_bytes"} <= set(head.replace('"', "").split(","))
    assert all('"shared"' in row for row in rows)


@pytest.mark.usefixtures("busy")
def test_a_busy_node_gets_no_sample_after_sample_but_a_suggestion(campaign):
    workloads = "".join(f'[workload.w{n}]\ncolumns = ["x"]\nentry_share = 0.{n}\n' for n in range(1, 4))
    events = []
    run(campaign(engine("a", can="read,entries"), workloads=workloads, repeats=7), events=events)
    (told,) = [text for kind, _, text, _ in events if kind == "busy"]
    assert "'shared = true'" in told


def test_a_site_is_shared_unless_a_campaign_says_otherwise(campaign, tmp_path, monkeypatch):
    site = tmp_path / "site.toml"
    site.write_text('name = "S"\nshared = true\n')
    monkeypatch.setenv("ARROWROOT_SITE", str(site))
    assert read(campaign(engine("a"))).is_shared
    assert not read(campaign(engine("a"), top="shared = false")).is_shared
    monkeypatch.delenv("ARROWROOT_SITE")
    assert not read(campaign(engine("a"))).is_shared


def made(day=0, *, shared=True, slower=1.0, of=("wall_ns",), **options):
    """A run of one engine in two versions, of which the newer one is slower by some metrics."""
    told = {"engines": ("root",), "storages": ("local",), "with_trouble": False, "n_samples": 11, **options}
    found = Made(
        seed=day,
        n_runs=1,
        first_day=FIRST + timedelta(days=day),
        speed={},
        noise=Noise(0.005, 0.0, run=0.0),
        **told,
    ).results()
    for result in found:
        if shared:
            result.machine = {**result.machine, "shared": True}
        if result.version == "6.40.00":
            for sample in result.samples:
                for key in of:
                    setattr(sample, key, round(getattr(sample, key) * slower))
    return found


def stored(tmp_path, *runs):
    store = Store.open(tmp_path / "lab.db")
    for result in [one for results in runs for one in results]:
        store.put(result)
    return store


@pytest.mark.parametrize(
    ("key", "slower", "shared", "verdict"),
    [
        ("wall_ns", 1.04, False, Verdict.WORSE),
        ("wall_ns", 1.04, True, Verdict.NO_DIFFERENCE),
        ("wall_ns", 1.3, True, Verdict.WORSE),
        ("cpu_ns", 1.04, True, Verdict.WORSE),
        ("cpu_efficiency", 1.04, True, Verdict.NO_DIFFERENCE),
    ],
)
def test_wall_times_of_shared_nodes_have_wider_bounds_than_cpu_times(tmp_path, key, slower, shared, verdict):
    of = ("cpu_ns",) if key == "cpu_ns" else ("wall_ns",)
    with stored(tmp_path, made(shared=shared, slower=slower, of=of, n_samples=20)) as store:
        table, compared = compare(store, Filter(), by="version", key=key)
    assert {one.comparison.verdict for one in compared} == {verdict}
    assert any("shared nodes" in note for note in table.notes) == (shared and key != "cpu_ns")


def test_shared_and_quiet_nodes_are_not_compared_without_a_word(tmp_path):
    quiet, shared = made(0, shared=False), made(1)
    for result in quiet:
        result.versions["engine"] = "6.38.00"
    newer = [one for one in shared if one.version == "6.40.00"]
    with stored(tmp_path, quiet[:1], newer) as store:
        run_of = [results[0].campaign["run"] for results in (quiet, newer)]
        with pytest.raises(
            Exception, match="results of shared nodes are not compared with those of quiet ones"
        ):
            compare(store, Filter(), by="version")
        with pytest.raises(
            Exception, match="measured on a shared node since, and on a quiet node in the base"
        ):
            check(store, Filter(), run_of[0])


def test_what_others_take_on_the_node_is_no_change_of_a_wall_time(tmp_path):
    before, now = made(0)[:1], made(0)[:1]
    for sample in before[0].samples:
        sample.queued_ns = 0
    now[0].uuid, now[0].created_at = made(1)[0].uuid, made(1)[0].created_at
    now[0].campaign = {**now[0].campaign, "run": "0" * 8 + now[0].campaign["run"][8:]}
    for sample in now[0].samples:
        sample.queued_ns = sample.wall_ns
        sample.wall_ns *= 2
    assert metric("unqueued_ns").values(now[0]) == metric("wall_ns").values(before[0])
    with stored(tmp_path, before, now) as store:
        runs = [one[0].campaign["run"] for one in (before, now)]
        assert check(store, Filter(), runs[0], run=runs[1]).findings == []
        old, new = sorted(
            site_results(store, Filter(), FIRST + timedelta(days=2)), key=lambda one: one.run, reverse=True
        )
        assert old.wall_ns == pytest.approx(new.wall_ns)
        assert old.case.endswith("shared")
        first, second = cells_of(store.results())
        assert first.wall_ns == second.wall_ns
        # Stored as SQL has it, too.
        assert {one.value for one in store.taken([now[0].uuid], "unqueued_ns")[now[0].uuid]} == set(
            metric("unqueued_ns").values(now[0])
        )
    for sample in now[0].samples:
        sample.queued_ns = 0
    (tmp_path / "lab.db").unlink()
    with stored(tmp_path, before, now) as store:
        (one,) = check(store, Filter(), runs[0], run=runs[1]).findings
        assert (one.name, one.state) == ("wall_ns", FindingState.SUSPECT)


@pytest.mark.skipif(not os.environ.get("ARROWROOT_SOAK"), reason="half an hour: make soak-shared")
@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root may let servers go first, as those of other machines do"
)
@pytest.mark.parametrize("load", [4, 14])
def test_faults_ring_beside_busy_loops_and_what_is_none_does_not(tmp_path, monkeypatch, load):
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(tmp_path / "cache"))
    site = tmp_path / "site"
    site.mkdir()
    arrowroot.write(f"{site / 'n.root'}:T", {"x": np.arange(100)})
    draw = random.Random(int(os.environ.get("ARROWROOT_SEED", "1")) * 100 + load)
    with installed(lambda: Nginx(site)) as server, Relay(server.port) as relay:
        hurry()
        node = Node(site, server.port, relay, draw)
        before = [node.night(n, load) for n in range(N_BEFORE)]
        planted = {
            "nothing": {},
            "30 % more CPU time": {"work": 1.3},
            "the storage doubled": {"latency": 2.0},
        }
        rung = {}
        for what, fault in planted.items():
            after = [node.night(N_BEFORE + n, load, **fault) for n in range(N_AFTER)]
            rung[what] = first_night(node, before, after)
    told = [
        f"load {load}: {statistics.median(node.load_1_minute):.1f} in the median, up to {max(node.load_1_minute):.1f}"
    ]
    told += [
        f"{key} differs by {spread(before, key):.1%} from night to night" for key in ("wall_ns", "cpu_ns")
    ]
    told += [
        f"{what}: night {n}, {[(one.place, one.ratios) for one in found]}"
        for what, (n, found) in rung.items()
    ]
    print("\n".join(told))
    assert [node.rung(before[:n]) for n in range(9, N_BEFORE + 1)] == [[]] * (N_BEFORE - 8)
    assert rung["nothing"] == (0, [])
    # More CPU time makes the wall time of what hardly waits longer, too: that is no other place.
    cpu, (storage,) = rung["30 % more CPU time"][1], rung["the storage doubled"][1]
    assert any(one.ratios.get("cpu_ns", 0) > 1.15 for one in cpu)
    assert all("other" in one.place for one in cpu)
    assert (storage.place, storage.ratios["wall_ns"] > 1.3) == ("NODE, storage far", True)
