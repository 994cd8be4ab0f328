"""Places that take more memory: they ring as those that take more CPU time do, and are told in each report."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from xml.etree import ElementTree as ET

import pytest

from arrowroot_lab.location import Location
from arrowroot_lab.pages import publish
from arrowroot_lab.store import Store
from arrowroot_lab.watching.alarms import Fault, PlaceState
from arrowroot_lab.watching.choosing import Chosen
from arrowroot_lab.watching.sites import sites
from tests.command import run_here
from tests.lab import hubs, planted_places
from tests.lab.parsed_pages import Page

SITES = "A", "B", "C"
#: More memory of all of a site, and of one case of another one.
HUB = hubs.Hub(
    sites=SITES,
    n_nights=16,
    faults=(
        hubs.Fault("memory", "A", 12, 0.4),
        hubs.Fault("memory", "B", 12, 0.2, case="2 % of branches"),
    ),
)
NOON = hubs.FIRST_NIGHT + timedelta(days=15, hours=10)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("memory") / "hub.db"
    with Store.open(Location(str(path))) as store:
        for result in HUB.results():
            store.put(result)
    return path


def test_a_site_and_a_case_that_take_more_memory_ring_in_each_report(database, tmp_path):
    report, junit = tmp_path / "check.md", tmp_path / "check.xml"
    asked = "lab", "check", "--db", database, "--as-of", f"{NOON:%Y-%m-%d}"
    done = run_here(*asked, "--json", "--markdown", report, "--junit", junit)
    whole, case = json.loads(done.stdout)["alarms"]
    assert done.returncode == 4
    assert (whole["place"], whole["fault"], whole["since"][:10]) == ("A", "node or software", "2026-10-13")
    assert whole["ratios"] == {"peak_rss_bytes": pytest.approx(1.4, rel=0.02)}
    assert "wall time and CPU time as before" in whole["evidence"]
    assert (case["place"], case["fault"]) == ("B, case nanoaod / 2 % of branches / auto", "case")
    assert case["ratios"] == {"peak_rss_bytes": pytest.approx(1.2, rel=0.02)}
    (others,) = (one for one in case["evidence"] if one.startswith("the other 4 series"))
    assert "davs 1.0" in others or "davs 0.99" in others
    text = run_here(*asked).stdout
    assert max(map(len, text.splitlines())) <= 80
    for told in (text, report.read_text()):
        assert "2 places take more memory: 3 sites" in " ".join(told.split())
    assert next(line for line in text.splitlines() if line.startswith("state")).split()[-2:] == [
        "memory",
        "since",
    ]
    failures = [one.attrib["message"] for one in ET.fromstring(junit.read_text()).iter("failure")]  # noqa: S314 - it is ours
    assert [one.split("; ")[1].split(" x")[0] for one in failures] == ["memory", "memory"]


def test_the_overview_and_the_pages_say_where_memory_grew(database, tmp_path):
    with Store.open(Location(str(database))) as store:
        publish(store, tmp_path / "pages", at=NOON)
    page = Page(tmp_path / "pages" / "index.html")
    assert "2 places take more memory; no case fails" in page.words()
    assert "times the memory since 2026-10-13" in page.words()
    rows = {row["site"]: row for row in page.records("sites")}
    assert (rows["A"]["state"], rows["B"]["state"], rows["C"]["state"]) == (
        "more memory",
        "more memory",
        "ok",
    )
    for site, more in (("A", 1.4), ("B", 1.2)):
        level = re.match(r"(davs|root \(XRootD\)) memory ([\d.]+) ", rows[site]["test 2 % of branches"])[2]
        assert float(level) == pytest.approx(more, rel=0.03)
    assert re.match(r"(davs|root \(XRootD\)) [\d.]+ ", rows["B"]["test all"])
    (lead, *_) = (href for tag, href in page.links if tag == "a" and "explore.html#" in href)
    assert "y=peak_rss_bytes" in lead


def test_an_engine_whose_new_version_takes_more_memory_everywhere_is_one_alarm():
    hub = hubs.Hub(
        sites=SITES,
        faults=tuple(hubs.Fault("memory", site, 20, 0.3) for site in SITES),
        versions={0: "1", 20: "2"},
    )
    (alarm,) = planted_places.rung(hub, 24)
    assert (alarm.state, alarm.fault, alarm.more) == (PlaceState.SLOWER_ENGINE, Fault.ENGINE, "more memory")


def test_time_and_memory_that_grew_together_at_one_place_are_one_alarm():
    faults = hubs.Fault("site", "A", 20, 0.3), hubs.Fault("memory", "A", 20, 0.5)
    (alarm,) = planted_places.rung(hubs.Hub(sites=SITES, faults=faults), 25)
    assert (alarm.place, alarm.fault, alarm.more) == ("A", Fault.LINE, "")
    assert alarm.ratios == {
        "wall_ns": pytest.approx(1.3, rel=0.03),
        "peak_rss_bytes": pytest.approx(1.5, rel=0.03),
    }


def test_memory_that_grew_at_one_site_is_not_lost_in_an_alarm_of_times_at_all():
    hub = hubs.Hub(
        sites=SITES,
        faults=(hubs.Fault("engine", "A", 20, 0.3), hubs.Fault("memory", "B", 21, 0.5)),
        versions={0: "1", 20: "2"},
    )
    told = {one.place: one.more for one in planted_places.rung(hub, 25)}
    assert told == {"engine root 2, at 3 sites": "", "B": "more memory"}


def test_memory_that_differs_by_kind_of_machine_and_chance_does_not_ring():
    hub = hubs.Hub(sites=SITES, models=tuple(hubs.MODELS), memory_noise=0.02, slow_nights=0.03)
    assert planted_places.rung(hub, 29) == []
    told = sites(Chosen.all_of(hub.figures()), hubs.FIRST_NIGHT + timedelta(days=29, hours=8), {})
    assert {row["state"] for row in told.table.records()} == {"ok"}
    assert planted_places.share_of_null(30_000, 40, 0.05, **planted_places.OF_MEMORY)[0] <= 1


def test_more_cpu_time_of_one_site_since_its_version_is_of_the_node_or_the_software():
    """Other sites have the version, and take no more."""
    hub = hubs.Hub(sites=("A", "B"), faults=(hubs.Fault("cpu", "A", 20, 0.3),), versions={0: "1", 20: "2"})
    (alarm,) = planted_places.rung(hub, 25)
    assert (alarm.state, alarm.fault) == (PlaceState.SLOWER_PLACE, Fault.SOFTWARE)
    hub.versions = {0: "1", 10: "2"}
    (alarm,) = planted_places.rung(hub, 25)
    assert alarm.fault is Fault.NODE
