"""Runs on the workers of a Dask cluster: turns, limits of storages, what is stored, and workers that are killed."""

import os
import signal
import threading

import pytest

from arrowroot_lab.campaign.read import read
from arrowroot_lab.documents import Outcome
from arrowroot_lab.machine import proc
from arrowroot_lab.running.cluster import _rows as cluster_rows
from arrowroot_lab.store import Filter, Store
from arrowroot_lab.watching.sides import matched, run_of
from tests.lab.running import (
    CASES,
    LOCAL,
    WORKLOADS,
    calls,
    descendants,
    disturb_nothing,
    engine,
    is_there,
    wait_until,
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and two workers on this machine, each a process of its own."""
    distributed = pytest.importorskip("distributed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("cluster"))  # workers have their files where they are started
        patch.setenv("ARROWROOT_LAB_CACHE", str(tmp_path_factory.getbasetemp() / "lab-cache"))
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as local:
            with local.get_client() as client:
                client.run(disturb_nothing)
            yield local


def measure_there(path, store, local):
    from arrowroot_lab.running.cluster import run_there

    return run_there(
        read(path),
        store,
        local.scheduler_address,
        site="there",
        chosen=(),
        is_again=False,
        show=lambda *_: None,
    )


def test_a_dask_cluster_measures_all_one_after_the_other_on_a_machine(campaign, cluster, tmp_path):
    log = tmp_path / "log"
    path = campaign(engine("a", log=log) + engine("b", log=log))
    with Store.open(path.with_suffix(".db")) as store:
        summary = measure_there(path, store, cluster)
        assert len(summary.results) == 4
        results = list(store.results())
        assert {result.outcome for result in results} == {Outcome.OK}
        assert {result.site for result in results} == {"there"}
        # The engines of a group take turns; the machine's other worker waits for all of the group.
        spans = []
        for workload in CASES:
            taken = sorted(
                (sample.started_at, sample.turn)
                for one in results
                if one.case["workload_name"] == workload
                for sample in one.samples
            )
            turns = [turn for _, turn in taken]
            assert turns == sorted(turns)
            assert turns[:2] == [0, 0]
            spans.append((taken[0][0], taken[-1][0]))
        first, second = sorted(spans)
        assert first[1] < second[0]
        # Each group is a run, and the beginning of one means all that the command measured.
        runs = {one.campaign["run"] for one in results}
        assert len(runs) == len(CASES)
        for told in (*runs, results[0].campaign["run"][:8]):
            assert len(matched(store, Filter(), run_of(store, told), None)) == 4
        assert measure_there(path, store, cluster).n_known == 4
        assert store.count() == 4
    assert not any(is_there(call["pid"]) for call in calls(log))


def test_workers_store_at_a_server_what_they_measure_and_the_one_that_asked_stores_it_once(
    campaign, cluster, server, monkeypatch
):
    path = campaign(engine("a") + engine("b"))
    stored = []
    keep = Store.put_document
    monkeypatch.setattr(Store, "put_document", lambda store, text: stored.append(keep(store, text)))
    with Store.open(server) as store:
        before = store.count()
        summary = measure_there(path, store, cluster)
        assert len(summary.results) == 4
        assert store.count() == before + 4
    # This process found each of them there.
    assert stored == [False] * 4


def test_workers_take_turns_at_a_storage_with_limits_and_draw_its_bytes_together(campaign, cluster, numbers):
    n_bytes = numbers.stat().st_size
    far = '[storage.{}]\nkind = "url"\nurl = "{}://127.0.0.1:9/{{file}}"\nlimits = {{ {} }}\n'
    storages = (
        far.format("far", "http", f'traffic = "{3 * n_bytes + 10} B"')
        + far.format("door", "root", "")
        + LOCAL
    )
    exclude = '[[exclude]]\nstorage = "door"\n'
    path = campaign(engine("a", n_bytes=n_bytes), storages=storages, workloads=WORKLOADS, repeats=2)
    rows = [[sorted(group) for group in row] for row in cluster_rows(read(path))]
    of_host = [[f"numbers / {name} / a / {case} / auto"] for name in ("far", "door") for case in CASES]
    assert rows[0] == of_host
    assert [len(row) for row in rows] == [4, 1, 1]
    path.write_text(path.read_text() + exclude)
    with Store.open(path.with_suffix(".db")) as store:
        summary = measure_there(path, store, cluster)
    found = {(one.case["storage_name"], one.case["workload_name"]): one for one in summary.results}
    assert {key: one.outcome for key, one in found.items() if key[0] == "here"} == {
        ("here", name): Outcome.OK for name in CASES
    }
    # A rehearsal and two samples fit in, which one worker took; the other was told so.
    assert [found["far", name].outcome for name in CASES] == [Outcome.OK, Outcome.SKIPPED]
    assert summary.drawn["127.0.0.1"] == 3 * n_bytes


@pytest.mark.skipif(not os.environ.get("ARROWROOT_SOAK"), reason="takes a while: make soak-lab")
def test_what_a_killed_worker_had_in_hand_is_measured_by_another(campaign, cluster, tmp_path):
    log = tmp_path / "log"
    path = campaign(engine("a", log=log, seconds=0.2))

    def measuring():
        """The workers with a guardian: one that waits for the machine has none yet."""
        return [
            worker.pid
            for worker in cluster.workers.values()
            if any(
                "guardian.py" in (proc.text(f"/proc/{pid}/cmdline") or "") for pid in descendants(worker.pid)
            )
        ]

    def kill_who_measures():
        wait_until(lambda: sum(call["verb"] == "run" for call in calls(log)) >= 3 and measuring())
        os.kill(measuring()[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_who_measures)
    killer.start()
    with Store.open(path.with_suffix(".db")) as store:
        measure_there(path, store, cluster)
        killer.join()
        results = list(store.results())
    assert sorted(result.case["workload_name"] for result in results) == sorted(CASES)
    for result in results:
        assert result.outcome is Outcome.OK
        assert len({sample.started_at for sample in result.samples}) == len(result.samples)
    wait_until(lambda: not any(is_there(call["pid"]) for call in calls(log)))
