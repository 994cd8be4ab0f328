"""Storages of others: limits that a round keeps to."""

import json
import time

import pytest

from arrowroot_lab.campaign import datasets
from arrowroot_lab.campaign.model import StorageLimits
from arrowroot_lab.campaign.read import read
from arrowroot_lab.cli import main
from arrowroot_lab.documents import Outcome
from arrowroot_lab.running import checking
from tests.command import done_here
from tests.lab.fussy import fussy
from tests.lab.running import calls, engine, run

#: A port that nothing listens on: a runner that does as told asks nobody.
NOBODY = '[storage.far]\nkind = "url"\nurl = "http://127.0.0.1:9/{{file}}"\nlimits = {{ {} }}\n'


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Writes the site's file, and makes it that of this process."""

    def write(text):
        path = tmp_path / "site.toml"
        path.write_text(f'name = "s"\n{text}')
        monkeypatch.setenv("ARROWROOT_SITE", str(path))

    return write


def reads(log):
    return [call for call in calls(log) if call["verb"] == "run"]


@pytest.mark.usefixtures("undisturbed")
@pytest.mark.parametrize(("limit", "least_s"), [('pause = "0.3 s"', 0.3), ('rate = "2 kB/s"', 0.5)])
def test_pauses_and_the_mean_rate_are_kept_whichever_engine_reads(campaign, tmp_path, limit, least_s):
    log, events = tmp_path / "log", []
    path = campaign(
        engine("a", log=log, n_bytes=1000) + engine("b", log=log, n_bytes=1000),
        storages=NOBODY.format(limit), workloads="[workload.all]\n", repeats=2,
    )  # fmt: skip
    began_ns = time.monotonic_ns()
    _, results = run(path, events=events)
    assert [len(result.counted()) for result in results] == [2, 2]
    # Two rehearsals and four samples, so five pauses.
    *_, last = reads(log)
    assert len(reads(log)) == 6
    assert last["at_ns"] - began_ns > 5 * least_s * 1e9
    assert [kind for kind, *_ in events].count("pause") >= 5


@pytest.mark.usefixtures("undisturbed")
def test_a_round_draws_no_more_than_its_bytes_and_what_does_not_fit_is_told(campaign, tmp_path, numbers):
    n_bytes = numbers.stat().st_size
    told = {}
    # A rehearsal and two samples of two cases; those of one case.
    for name, n_reads in (("two", 6), ("one", 3)):
        log = tmp_path / name
        path = campaign(
            engine("a", log=log, n_bytes=n_bytes),
            storages=NOBODY.format(f'traffic = "{n_bytes * n_reads + 10} B"'),
            repeats=3,
            name=f"{name}.toml",
        )
        summary, results = run(path)
        assert len(reads(log)) == n_reads
        assert summary.drawn == {"127.0.0.1": n_reads * n_bytes}
        told[name] = {
            one.case["workload_name"]: (one.outcome, len(one.counted()), one.reason) for one in results
        }
    for outcome, n_counted, reason in told["two"].values():
        assert (outcome, n_counted) == (Outcome.OK, 2)
        assert reason.startswith("2 of 3 samples: a round may draw")
    assert told["one"]["wide"][:2] == (Outcome.OK, 2)
    outcome, n_counted, reason = told["one"]["narrow"]
    assert (outcome, n_counted) == (Outcome.SKIPPED, 0)
    assert "of storage far" in reason
    # What was skipped is measured by the next run, which is another round; what was measured is not.
    _, results = run(path)
    assert [one.case["workload_name"] for one in results if one.outcome is Outcome.OK] == ["narrow", "wide"]


def test_limits_of_a_host_hold_for_whatever_is_read_from_it(site, campaign):
    site(
        """
        [limits]
        connections = 8
        pause = "1 s"
        [storage.SE]
        kind = "url"
        url = "davs://dcache.example:2880/lab/{file}"
        limits = { connections = 4, rate = "50 MB/s", traffic = "20 GB" }
        [storage.pool]
        kind = "local"
        directory = "/pool"
        limits = { rate = "1 GB/s" }
        """
    )
    storages = """
        [storage.SE]
        kind = "site"
        [storage.other-door]
        kind = "url"
        url = "root://dcache.example//lab/{file}"
        limits = { connections = 2 }
        [storage.elsewhere]
        kind = "url"
        url = "root://eos.example//lab/{file}"
        [storage.pool]
        kind = "site"
        [storage.here]
        kind = "local"
        """
    found = {one.name: one.limits for one in read(campaign(engine("a"), storages=storages)).storages}
    assert found == {
        "SE": StorageLimits(2, 50e6, 20_000_000_000, 1.0),
        "other-door": StorageLimits(2, 50e6, 20_000_000_000, 1.0),
        "elsewhere": StorageLimits(8, pause_s=1.0),
        "pool": StorageLimits(bytes_per_s=1e9),
        "here": StorageLimits(),
    }


@pytest.mark.long
@pytest.mark.usefixtures("undisturbed")
def test_more_connections_than_a_storage_allows_are_not_made(campaign, tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "references", lambda _: [])
    done_here("sample", "nanoaod", f"{tmp_path}/s.root:T", "--size", "3 MB", "--flush", "200")
    columns = 'columns = ["Muon_pt", "Muon_eta", "Jet_pt"]\n'
    workloads = f"[workload.one]\n{columns}threads = 2\n[workload.many]\n{columns}workers = 3\n"
    strategies = '[strategy.direct]\n[strategy.eager]\nstrategy = "direct"\noptions = { connections = 16 }\n'
    most = {}
    for limits in ("", "connections = 2"):
        with fussy(tmp_path) as server:
            path = campaign(
                "[engine.arrowroot]\n", storages=server.storage(limits=limits), workloads=workloads + strategies,
                repeats=1, name=f"c{len(limits)}.toml",
            )  # fmt: skip
            path.write_text(path.read_text().replace("numbers.root", "s.root"))
            summary, results = run(path, chosen=("* / one / *", "* / many / direct"))
            most[limits] = server.most_open
    assert most[""] > 2
    assert most["connections = 2"] <= 2
    reasons = {one.reason for one in results if one.outcome is Outcome.SKIPPED}
    assert reasons == {
        "3 processes at the same time, and storage far allows 2 connections",
        "its strategy takes 16 connections a process, and storage far allows 2 connections",
    }
    (result,) = (one for one in results if one.outcome is Outcome.OK)
    assert result.environment["limits"] == {"connections": 2}
    assert not summary.has_failed


@pytest.mark.usefixtures("undisturbed")
def test_a_plan_says_what_a_round_takes_and_what_limits_cut(campaign, numbers, capsys):
    n_bytes = numbers.stat().st_size

    def plan(limits, *options):
        path = campaign(engine("a", n_bytes=n_bytes, n_reads=4), storages=NOBODY.format(limits))
        told = read(path)
        datasets.make(told, told.datasets[0])
        assert (
            main(["plan", str(path), "--db", str(path.with_suffix(".db")), "--site", "site", *options]) == 0
        )
        return capsys.readouterr().out

    def of_storage(limits):
        told = json.loads(plan(limits, "--json"))
        (far,) = told["storages"]
        return far, sum(one["total_ns"] or 0 for one in told["cases"])

    free, total_ns = of_storage('pause = "0 s"')
    assert free["told_from"] == {"estimates": 2}
    held, held_total_ns = of_storage('pause = "10 s"')
    # A rehearsal, and three samples that may have to be taken twice; what is likely for the whole run.
    assert held["ns"] - free["ns"] == pytest.approx(2 * 7 * 10e9)
    assert held_total_ns - total_ns == pytest.approx(2 * 4 * 10e9)
    run(campaign(engine("a", n_bytes=n_bytes, n_reads=4), storages=NOBODY.format("")))
    free, _ = of_storage("")
    assert free["told_from"] == {"results": 2}
    assert (free["n_bytes"], free["n_requests"]) == (2 * 7 * n_bytes, 2 * 7 * 4)
    assert (free["n_fewer"], free["n_none"]) == (0, 0)
    # As the rounds above.
    for n_reads, expected in ((6, (2, 0)), (3, (1, 1))):
        told, _ = of_storage(f'traffic = "{n_reads * n_bytes + 10} B"')
        assert told["n_bytes"] == n_reads * n_bytes
        assert (told["n_fewer"], told["n_none"]) == expected
    paced, _ = of_storage('rate = "1 kB/s"')
    assert paced["ns"] == pytest.approx(2 * 7 * n_bytes / 1000 * 1e9)
    text = " ".join(plan(f'connections = 3, pause = "2 s", traffic = "{3 * n_bytes + 10} B"').split())
    assert "far is limited to 3 connections, " in text
    assert "a round, 2 s between samples. 1 of 2 cases get fewer samples, and 1 none. No number of" in text
    assert "No number of connections can be given to a." in text
