"""Alarms of places: planted faults ring, by imports alone, and are blamed on what is at fault; chance does not."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import arrowroot
from arrowroot_lab.campaign.providers import registered
from arrowroot_lab.location import Location
from arrowroot_lab.running import checking, sampling
from arrowroot_lab.statistics import rises
from arrowroot_lab.store import Filter, Store
from arrowroot_lab.watching.alarms import Fault, PlaceState
from arrowroot_lab.watching.rounds import Watch
from arrowroot_servers import Nginx, Relay
from tests.command import run_here
from tests.lab import hubs, planted_places
from tests.servers.fixtures import installed


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """The planted hub, as documents that were imported."""
    path = tmp_path_factory.mktemp("hub") / "hub.db"
    with Store.open(Location(str(path))) as store:
        for result in hubs.planted().results():
            store.put(result)
    return path


def check(database, *options):
    return run_here("lab", "check", "--db", str(database), *options)


def test_each_fault_of_the_planted_hub_rings_in_time_and_names_its_place(database):
    done = check(database, "--as-of", "2026-10-29", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == told["exit_code"] == 4
    assert [(one["state"], one["place"], one.get("fault")) for one in told["alarms"]] == [
        ("slower place", "RAL, storage davs", "storage"),
        ("slower place", "CERN", "node"),
        ("slower place", "FNAL", "line or storage"),
        ("silent", "GLASGOW", None),
    ]
    ral, cern, fnal, _ = told["alarms"]
    assert ral["ratios"]["wall_ns"] == pytest.approx(2, rel=0.05)
    assert ral["since"][:10] == "2026-10-21"
    assert cern["ratios"] == {"cpu_ns": pytest.approx(1.15, rel=0.03)}
    assert fnal["ratios"]["wall_ns"] == pytest.approx(1.05, rel=0.02)
    # The version that is new there since is blamed for nothing, as other sites have it.
    assert any("6.40.00 since, and CERN, RAL with it did not rise" in one for one in fnal["evidence"])


@pytest.mark.parametrize(("day", "code"), [("2026-10-20", 0), ("2026-10-23", 4)])
def test_the_exit_code_is_that_of_the_worst_state(database, day, code):
    assert check(database, "--as-of", day).returncode == code


def test_a_site_is_silent_after_two_missed_rounds(database):
    assert check(database, "--at-site", "GLASGOW", "--as-of", "2026-10-26").returncode == 0
    done = check(database, "--at-site", "GLASGOW", "--as-of", "2026-10-27T18:00Z")
    assert done.returncode == 5
    assert "nothing since 2026-10-25" in done.stdout


def told(done):
    """Alarms, but for what was measured, which is the same."""
    return [
        (one["state"], one["place"], one.get("fault"), one["evidence"])
        for one in json.loads(done.stdout)["alarms"]
    ]


@pytest.mark.parametrize(
    ("chosen", "places"),
    [
        (("--at-site", "FNAL"), ["FNAL"]),
        (("--storage", "davs"), ["RAL, storage davs", "CERN", "FNAL", "GLASGOW"]),
        (("--storage", "root"), ["CERN", "FNAL", "GLASGOW"]),
        (("--workload", "all", "--at-site", "RAL"), ["RAL, storage davs"]),
    ],
)
def test_filters_choose_what_is_shown_of_all_that_is_judged(database, chosen, places):
    """That a version did no harm elsewhere, and that other storages are as before, is known whatever is asked for."""
    every = {one[1]: one for one in told(check(database, "--as-of", "2026-10-29", "--json"))}
    done = check(database, "--as-of", "2026-10-29", "--json", *chosen)
    assert told(done) == [every[place] for place in places]
    assert done.returncode == 4


def test_a_watch_knows_what_a_version_did_at_other_sites(database, monkeypatch):
    monkeypatch.setattr("arrowroot_lab.watching.rounds._now", lambda: Clock.now(timezone.utc))
    with Store.open(Location(str(database))) as store:
        (fnal,) = Watch(Path("sites.toml"), None, "FNAL", print, print)._places(store, "sites")
        here = {one.uuid for one in store.rows(Filter(site=("FNAL",)), ("uuid",))}
    assert (fnal.state, fnal.place) == (PlaceState.SLOWER_PLACE, "FNAL")
    assert "engine root 6.38.00 -> 6.40.00 since, and CERN, RAL with it did not rise" in fnal.evidence
    assert here.issuperset(uuid for both in fnal.uuids for uuid in both)


def test_few_rounds_say_that_nobody_can_tell_yet(database):
    done = check(database, "--as-of", "2026-10-05")
    assert done.returncode == 6
    assert "5 of the 11 rounds that it takes" in done.stdout


def test_reports_of_places_fail_the_sites_that_are_ill(database, tmp_path):
    report, junit = tmp_path / "check.md", tmp_path / "check.xml"
    check(database, "--as-of", "2026-10-29", "--markdown", str(report), "--junit", str(junit))
    assert "RAL, storage davs" in report.read_text()
    suite = ET.fromstring(junit.read_text())  # noqa: S314 - it is ours
    assert suite.attrib["failures"] == "4"
    assert {case.attrib["name"] for case in suite} == {"CERN", "FNAL", "GLASGOW", "RAL"}
    failures = {case.attrib["name"]: case[0].attrib["message"] for case in suite}
    ral = (
        r"slower place: RAL, storage davs; time x[\d.]+; since 2026-10-21; fault: storage; the other 3 series"
    )
    assert re.match(ral, failures["RAL"])
    # Nobody waits longer: it is not called slower.
    assert re.match(
        r"more CPU time: CERN; CPU time x1\.1\d+; since 2026-10-21; fault: node;", failures["CERN"]
    )
    assert "| more CPU time | CERN | node |" in report.read_text()


def of_a_line_that_got_slower():
    """A site whose storage is slower since its line is, with all that is measured beside it."""
    hub = hubs.Hub(sites=("RAL",), faults=(hubs.Fault("storage", "RAL", 20, 1.0, "davs"),))
    for one in hub.results():
        if one.case["storage_name"] == "davs" and one.created_at >= "2026-10-21":
            one.line.update(latency_before_ns=6.1e7, latency_after_ns=6.0e7, bytes_per_s_after=2e8)
            one.versions["server"] = "5.7.0"
            for sample in one.samples:
                sample.counters = {"store": {"n_reads": 28, "n_bytes": 10_000_000}}
                sample.control_ns = tuple(round(1.2 * time) for time in sample.control_ns)
        yield one


def test_the_evidence_of_an_alarm_is_in_each_report(tmp_path):
    path, report, junit = tmp_path / "hub.db", tmp_path / "check.md", tmp_path / "check.xml"
    with Store.open(Location(str(path))) as store:
        for result in of_a_line_that_got_slower():
            store.put(result)
    done = check(path, "--as-of", "2026-10-29", "--json", "--markdown", report, "--junit", junit)
    (alarm,) = json.loads(done.stdout)["alarms"]
    assert alarm["place"] == "RAL, storage davs"
    assert alarm["measured"]["davs"]["latency_ns"] == [2e7, 6e7]
    assert alarm["measured"]["davs"]["n_requests"] == [42, 84]
    expected = [
        "round trip 20.0 ms -> 60.0 ms", "bytes a second 1.00 GB -> 200 MB", "requests 42 -> 84", "control kernel ",
        "changed meanwhile: server - -> 5.7.0", "as before: bytes", "the other 3 series of the site, by storage: root ",
    ]  # fmt: skip
    for told in ("; ".join(alarm["evidence"]), report.read_text(), junit.read_text().replace("&gt;", ">")):
        assert [one for one in expected if one not in told] == []


def test_another_kind_of_cpu_is_named_and_its_control_kernel_is_no_change_of_the_node(tmp_path):
    faults = (hubs.Fault("storage", "RAL", 20, 1.0, "davs"),)
    hub = hubs.Hub(seed=3, sites=("RAL",), faults=faults, models=("CPU A", "CPU D"))
    with Store.open(Location(str(tmp_path / "hub.db"))) as store:
        for one in hub.results():
            store.put(one)
    done = check(tmp_path / "hub.db", "--as-of", "2026-10-29", "--json")
    (alarm,) = json.loads(done.stdout)["alarms"]
    assert (alarm["place"], alarm["fault"]) == ("RAL, storage davs", "storage")
    assert "other kinds of CPU, which times are scaled for: CPU A -> CPU D" in alarm["evidence"]
    assert "control kernel" not in "; ".join(alarm["evidence"])
    assert "control_ns" not in alarm["measured"]["davs"]


def test_what_a_check_has_measured_again_is_no_round_of_its_own(tmp_path):
    """Two slow nights are none that ring, however often the second one was measured."""
    hub = hubs.Hub(sites=("RAL",), faults=(hubs.Fault("site", "RAL", 20, 0.5),), n_nights=22)
    with Store.open(Location(str(tmp_path / "hub.db"))) as store:
        for result in hub.results():
            store.put(result)
            if result.created_at > "2026-10-22":
                run = f"again{result.campaign['run'][5:]}"
                campaign = {**result.campaign, "name": "sites (check)", "run": run}
                again = "".join(reversed(result.uuid.replace("-", "")))
                store.put(replace(result, uuid=str(uuid.UUID(again)), campaign=campaign))
    assert check(tmp_path / "hub.db", "--as-of", "2026-10-22").returncode == 0


class Clock(datetime):
    """The morning after the last night but one."""

    @classmethod
    def now(cls, tz=None):
        return datetime(2026, 10, 30, 12, tzinfo=tz)


def test_the_overview_begins_with_the_places_that_are_ill(database, monkeypatch):
    monkeypatch.setattr("arrowroot_lab.cli.show.datetime", Clock)
    done = run_here("lab", "show", "--overview", "--db", str(database))
    lines = done.stdout.splitlines()
    assert " ".join(done.stdout.split()).startswith(
        "2 places are slower, 1 place takes more CPU time, 1 place is silent: 4 sites, each against its nights before"
    )
    assert max(map(len, lines)) <= 80
    evidence = "as before: round trip, bytes a second, requests, bytes, control kernel"
    assert " ".join(done.stdout.split()).count(evidence) == 3
    table = [re.split(r"\s{2,}", line) for line in lines[lines.index("Sites") + 2 :][:13]]
    assert table[0] == ["site", "state", "2 % of branches", "10 % of entries", "all"]
    assert [row[0] for row in table[2:6]] == ["RAL", "CERN", "FNAL", "GLASGOW"]
    for cell in table[2][2:]:
        name, level = cell.rsplit(" ", 1)
        assert (name, float(level)) == ("\N{BALLOT X} davs", pytest.approx(2, rel=0.05))
    name, level = table[3][4].rsplit(" ", 1)
    assert (table[3][1], name) == ("more CPU time", "\N{BALLOT X} all CPU")
    assert float(level) == pytest.approx(1.15, rel=0.03)
    assert table[5][1:] == ["silent", "-", "-", "-"]
    assert table[7] == ["site", "state", "newest", "missed", "failed"]
    assert table[12] == ["GLASGOW", "silent", "5 days", "4", "0"]


@pytest.mark.parametrize("n_nights", [3, 8])
@pytest.mark.parametrize(
    ("size", "by_chance", "storage"), [(1.0, 0.6, "davs"), (0.6, 0.45, "davs"), (0.6, 0.4, "")]
)
def test_a_fault_stands_since_its_first_night_though_the_one_before_was_slow_by_chance(
    size, by_chance, storage, n_nights
):
    night, kind = 20, "storage" if storage else "site"
    faults = (
        hubs.Fault(kind, "A", night, size, storage),
        hubs.Fault(kind, "A", night - 1, by_chance, storage, 1),
    )
    hub = hubs.Hub(sites=("A", "B"), noise=0.02, faults=faults)
    (alarm,) = planted_places.rung(hub, night + n_nights - 1)
    assert alarm.place == (f"A, storage {storage}" if storage else "A")
    assert alarm.since[:10] == "2026-10-21"


@pytest.mark.parametrize("seed", [1003, 1096])
def test_faults_of_hubs_with_many_slow_nights_stand_since_the_night_that_was_planted(seed):
    hub = hubs.drawn(seed)
    hub.slow_nights = 0.12
    n_told = 0
    for fault in hub.faults:
        for one in planted_places.rung(hub, min(fault.night + 3, hub.n_nights - 1)):
            if planted_places.is_blamed(one, fault) and one.since and fault.kind != "memory":
                n_told += 1
                assert one.since[:10] == f"{hubs.FIRST_NIGHT + timedelta(days=fault.night):%Y-%m-%d}"
    assert n_told


def test_a_silent_site_is_not_recommended_and_ages_are_told(database, monkeypatch):
    monkeypatch.setattr("arrowroot_lab.cli.wan.datetime", Clock)
    done = run_here("lab", "wan", "--db", str(database), "--columns", "all", "--json")
    told = json.loads(done.stdout)
    assert {one["site"] for one in told["places"]} == {"CERN", "FNAL", "RAL"}
    assert list(told["silent"]) == ["GLASGOW"]
    text = " ".join(run_here("lab", "wan", "--db", str(database), "--columns", "all").stdout.split())
    assert "Not recommended: GLASGOW: nothing since 2026-10-25" in text
    assert "10 hours" in text or "9 hours" in text
    # The place that is recommended has an alarm, its figures are of the newest version, and the model fits little.
    assert told["places"][0]["version"] == "6.40.00"
    assert {one["version"] for one in told["places"]} == {"6.40.00"}
    assert told["n_older"] == 8  # GLASGOW's as well
    assert (list(told["ill"]), told["is_doubtful"]) == (["FNAL"], True)
    assert re.search(
        r"Send it to FNAL, davs: [\d.]+ % by root 6.40.00, auto; measured (9|10) hours ago", text
    )
    assert re.search(r"An alarm of it: FNAL is slower since 2026-10-23, time x1.0\d+ \(lab check\)", text)
    assert "Doubt it: most cells of this grid are told wrongly" in text


def test_a_hub_that_hears_of_no_site_says_so_beside_what_it_recommends(database):
    """The planted hub, long after."""
    asked = "lab", "wan", "--db", str(database), "--columns", "all"
    told = json.loads(run_here(*asked, "--json").stdout)
    assert (told["is_deaf"], len(told["silent"])) == (True, 4)
    text = " ".join(run_here(*asked).stdout.split())
    assert "Doubt it: no place is heard of, all 4 are silent; the hub gets no results." in text
    assert "Not recommended" not in text


@pytest.mark.parametrize("option", ["--accept=x=y", "--no-confirm", "--run=ab"])
def test_options_of_a_comparison_want_a_baseline(database, option):
    done = check(database, option)
    assert done.returncode == 2
    assert "--baseline" in done.stderr


def test_a_date_at_fault_is_told(database):
    done = check(database, "--as-of", "yesterday")
    assert done.returncode == 2
    assert "2026-11-20" in done.stderr


@pytest.mark.parametrize("seed", [30_000, 30_011])
def test_faults_of_drawn_hubs_ring_within_three_nights_and_the_right_place_is_blamed(seed):
    judged = planted_places.Judged()
    judged.add(hubs.drawn(seed))
    assert judged.n_false == 0
    for one in (judged.times, judged.memory):
        assert (one.n_rung, one.n_blamed) == (one.n_faults, one.n_faults)


def test_one_fault_at_all_sites_is_one_alarm():
    hub = hubs.Hub(
        sites=("A", "B", "C", "D"), faults=(hubs.Fault("engine", "A", 20, 0.2),), versions={0: "1"}
    )
    (alarm,) = planted_places.rung(hub, 24)
    assert (alarm.state, alarm.fault, alarm.sites) == (PlaceState.SLOWER_PLACE, Fault.CENTRAL, hub.sites)
    hub.versions = {0: "1", 20: "2"}
    (alarm,) = planted_places.rung(hub, 24)
    assert (alarm.state, alarm.fault) == (PlaceState.SLOWER_ENGINE, Fault.ENGINE)
    assert alarm.place == "engine root 2, at 4 sites"


def test_a_fault_of_all_began_with_its_version_and_not_with_a_slow_night_of_one_site_before():
    told = {"sites": ("A", "B", "C", "D"), "seed": 4}
    faults = hubs.Fault("engine", "A", 20, 0.4), hubs.Fault("site", "A", 19, 0.6, n_nights=1)
    for versions in ({0: "1", 20: "2"}, {0: "1"}):
        (alarm,) = planted_places.rung(hubs.Hub(**told, faults=faults, versions=versions), 26)
        assert len(alarm.sites) == 4
        assert alarm.since[:10] == "2026-10-21"  # the first night is that of 2026-10-01
    # A drawn hub of which one of nine sites had a slow night before.
    (alarm,) = (one for one in planted_places.rung(hubs.drawn(40_011), 29) if len(one.sites) > 1)
    assert alarm.since[:10] == "2026-10-26"


def test_a_version_that_one_site_alone_has_is_blamed_and_ends_with_it():
    hub = hubs.Hub(
        sites=("A",),
        faults=(hubs.Fault("engine", "A", 15, 0.2, n_nights=8),),
        versions={0: "1", 15: "2", 23: "3"},
    )
    (alarm,) = planted_places.rung(hub, 20)
    assert (alarm.state, alarm.changed) == (PlaceState.SLOWER_ENGINE, {"root": ("1", "2")})
    assert planted_places.rung(hub, 26) == []


def test_an_engine_given_as_a_command_is_the_slower_engine_by_the_version_that_it_tells(tmp_path):
    """Its program names its releases as it likes, and nobody can build them again."""
    hub = hubs.Hub(
        sites=("A", "B"),
        faults=(hubs.Fault("engine", "A", 20, 0.2),),
        versions={0: "CMSSW_14_0_1", 20: "CMSSW_14_0_2"},
    )
    database = tmp_path / "lab.db"
    with Store.open(Location(str(database))) as store:
        for one in hub.results():
            one.case["engine"] = "cmsRun"
            one.versions = {"CMSSW": one.versions["engine"], "python": "3.9.14"}
            store.put(one)
    done = check(database, "--as-of", "2026-10-26", "--json")
    (alarm,) = json.loads(done.stdout)["alarms"]
    assert (done.returncode, alarm["state"], alarm["sites"]) == (1, "slower engine", ["A", "B"])
    before, now = alarm["changed"]["cmsRun"]
    assert ("CMSSW_14_0_1" in before, "CMSSW_14_0_2" in now) == (True, True)


def test_a_storage_that_is_measured_no_more_is_silent():
    figures = [
        one
        for one in hubs.Hub(sites=("A",)).figures()
        if one.storage == "root" or one.created_at < "2026-10-26"
    ]
    at = hubs.FIRST_NIGHT.replace(day=30, hour=12)
    (alarm,) = planted_places.alarms(figures, at)
    assert (alarm.state, alarm.place) == (PlaceState.SILENT, "A, storage davs")


def test_chance_does_not_ring():
    n_rung, n_again = planted_places.share_of_null(30_000, 80)
    assert (n_rung <= 2, n_again) == (True, 0)


def test_rounds_that_are_passed_over_as_one_array_have_no_rise(monkeypatch):
    draw = np.random.default_rng(5)

    def drawn(n_rounds):
        noise = draw.uniform(0.01, 0.06)
        logs = draw.normal(0, noise, (7, n_rounds)) + (draw.random(n_rounds) < 0.03) * 0.5
        logs[draw.permutation(7)[:3], draw.integers(n_rounds) :] += noise * draw.uniform(1, 5)
        logs[draw.random(logs.shape) < draw.choice([0, 0.1])] = np.nan
        return logs

    groups = {"all": range(7), "some": [0, 2, 4], "others": [1, 3, 5, 6], **{at: [at] for at in range(7)}}
    series = [drawn(int(draw.integers(5, 91))) for _ in range(100)]
    found = [rises.rises(logs, groups) for logs in series]
    assert sum(map(len, found)) > 20
    monkeypatch.setattr(rises._Judge, "suspects", lambda _, nows: np.ones(len(nows), bool))
    assert [rises.rises(logs, groups) for logs in series] == found


#: A reading takes 10 ms without a line, and up to 60 ms beside other tests, whose load is a slower place, too.
OF_THE_LINE = 3


def times_slower(done):
    """How many times as long the place takes, as a check says that tells of no other change; 1 if it does not."""
    assert done.returncode in (0, 4), done.stdout + done.stderr
    found = re.search(r"slower place +wall_ns +\S+ \S+ +\S+ \S+ +([\d.]+)", done.stdout)
    return float(found[1]) if found else 1


@pytest.mark.long
def test_a_line_that_got_slower_rings_in_the_next_round(tmp_path, monkeypatch):
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(checking, "references", lambda _: [registered().engines["arrowroot"]])
    monkeypatch.setattr(sampling, "disturbed", lambda *_: [])
    site = tmp_path / "site"
    site.mkdir()
    arrowroot.write(f"{site / 'n.root'}:T", {"x": np.arange(100)})
    with installed(lambda: Nginx(site)) as server, Relay(server.port) as relay:
        path = tmp_path / "c.toml"
        path.write_text(
            f'repeats = 3\n[dataset.n]\nfiles = "{site / "n.root"}"\ntable = "T"\n[storage.there]\nkind = "url"\n'
            f'url = "http://127.0.0.1:{relay.port}/{{file}}"\n[engine.arrowroot]\n[workload.all]\ncolumns = ["x"]\n'
        )
        once = ["lab", "watch", path, "--once", "--db", tmp_path / "lab.db"]
        assert run_here(*once).returncode == 0
        assert times_slower(run_here(*once)) < OF_THE_LINE
        # More than a reading takes that another process holds up.
        relay.link(480, 0)
        done = run_here(*once)
        assert done.returncode == 4, done.stdout + done.stderr
        assert times_slower(done) > OF_THE_LINE, done.stdout
        said = " ".join(done.stdout.split())
        assert "also when measured again; round trip " in said
        assert "; as before: " in said
        relay.link(0, 0)
        assert times_slower(run_here(*once)) < OF_THE_LINE
