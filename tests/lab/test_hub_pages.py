"""Pages of a hub: which site is ill, since when, whose fault it is, and all sites beside each other."""

from __future__ import annotations

import json
import re
import statistics
from datetime import datetime, timedelta
from urllib.parse import parse_qs

import pytest

from arrowroot_lab.pages import publish, publishing
from arrowroot_lab.store import Filter, Store
from tests.command import run_here
from tests.lab import hubs

from .parsed_pages import Page

N_NIGHTS = 16
#: The noon after the last night.
NOON = hubs.FIRST_NIGHT + timedelta(days=N_NIGHTS - 1, hours=10)


def published(directory, without=lambda _: False, n_nights=N_NIGHTS, **told):
    """The pages of a hub that is made, without some of its results."""
    hub = hubs.Hub(n_nights=n_nights, **told)
    with Store.open(directory / "hub.db") as store:
        for result in hub.results():
            if not without(result):
                store.put(result)
        publish(store, directory / "pages", at=NOON)
    return directory / "pages"


TESTS = "test all", "test 10 % of entries", "test 2 % of branches"
#: A slow storage, a slow node and a silent site.
ILL = {
    "sites": ("CERN", "FNAL", "GLASGOW", "RAL"),
    "faults": (
        hubs.Fault("storage", "RAL", 12, 1.0, "davs"),
        hubs.Fault("cpu", "CERN", 12, 0.4),
        hubs.Fault("silent", "GLASGOW", 12),
    ),
    "versions": {0: "6.38.00", 8: "6.40.00"},
}


@pytest.fixture(scope="module")
def ill(tmp_path_factory):
    return published(tmp_path_factory.mktemp("ill"), **ILL)


def test_the_first_screen_says_which_place_is_ill_since_when_by_how_much_and_whose_fault(ill):
    page = Page(ill / "index.html")
    words = page.words()
    assert "1 place is slower, 1 place takes more CPU time, 1 place is silent; no case fails" in words
    assert "Nothing fails" not in words
    told = re.search(r"RAL, storage davs takes ([\d.]+) times as long since 2026-10-13, 3 days ago", words)
    assert float(told[1]) == pytest.approx(2, rel=0.05)
    assert "Fault: storage." in words
    assert "times the CPU time since 2026-10-13, 3 days ago. Fault: node." in words
    assert "GLASGOW is silent since 2026-10-12" in words
    # That nothing else changed decides whose fault it is.
    for name in ("index.html", "campaigns/sites.html"):
        evidence = "as before: round trip, bytes a second, requests, bytes, control kernel, versions"
        assert Page(ill / name).words().count(evidence) == 2
    assert "Nothing: each series" not in words


def test_each_site_has_its_levels_against_its_own_history_its_age_and_failures(ill):
    page = Page(ill / "index.html")
    ral, cern, glasgow, fnal = page.records("sites")
    assert [one["site"] for one in (ral, cern, glasgow, fnal)] == ["RAL", "CERN", "GLASGOW", "FNAL"]
    # The worst storage is named first; one that is called as an engine is says what it speaks.
    for key in TESTS:
        bad, well = re.fullmatch(r"davs ([\d.]+) root \(XRootD\) ([\d.]+); 9 hours", ral[key]).groups()
        assert (float(bad), float(well)) == (pytest.approx(2, rel=0.05), pytest.approx(1, abs=0.05))
        assert re.match(r"(davs|root \(XRootD\)) CPU 1\.[34]", cern[key])
    assert (glasgow["state"], glasgow["n_missed"], glasgow["test all"]) == ("silent", 3, None)
    assert (fnal["state"], fnal["n_missed"], fnal["n_failed"]) == ("ok", 0, 0)
    # Ill and well differ by a sign, too, and a level leads to what shows it: of what is ill, all kinds of machines.
    texts = [cell["text"] for row in page.tables["sites"]["rows"] for cell in row]
    assert sum(text.startswith("\N{BALLOT X} ") for text in texts) == 10
    levels = page.hrefs("sites", "test all")
    ral = chosen(levels[0])
    assert (ral["site"], ral["storage"], ral["as"]) == (["RAL"], ["davs"], ["usual"])
    assert chosen(levels[1])["y"] == ["cpu_ns"]
    assert (ill / levels[-1]).is_file()


def chosen(href):
    """What an address of the page to explore chooses, by key."""
    page, _, choice = href.partition("#")
    assert page.endswith("explore.html")
    return parse_qs(choice)


def test_an_alarm_leads_to_the_figure_that_shows_it(ill):
    page = Page(ill / "index.html")
    leads = [chosen(href) for tag, href in page.links if tag == "a" and "explore.html#" in href]
    ral, cern, glasgow = leads[:3]
    assert (ral["site"], ral["storage"], ral["y"]) == (["RAL"], ["davs"], ["wall_ns"])
    assert len(ral["test"]) == 1
    assert (ral["colour"], ral["as"], ral["since"]) == (["cpu_model"], ["usual"], ["2026-10-13"])
    assert (cern["site"], cern["storage"], cern["y"]) == (["CERN"], ["davs", "root (XRootD)"], ["cpu_ns"])
    assert glasgow["site"] == ["GLASGOW"]
    data = json.loads(re.search(r'id="data">(.*?)</script>', Page(ill / "explore.html").source)[1])
    for one in (ral, cern, glasgow):
        for axis in ("site", "storage", "test"):
            assert set(one[axis]) <= set(data["axes"][axis]["names"])
    (choice,) = [value for _, name, value in Page(ill / "explore.html").attributes if name == "data-choice"]
    assert parse_qs(choice) == ral


def test_pages_of_what_is_ill_say_so_first_and_others_do_not(ill):
    campaign = Page(ill / "campaigns" / "sites.html")
    words = campaign.words()
    assert words.index("RAL, storage davs takes") < words.index("Of the storages")
    assert re.search(r"\d+ ended, of which \d+ are of what is ill", words)
    assert not re.search(r"\d+ ok\b", words)
    n_ill = n_well = 0
    for path in (ill / "series").iterdir():
        words = Page(path).words()
        series_of = re.search(r"<h1>([^<]*)", Page(path).source)[1]
        is_ill = any(name in series_of for name in ("CERN", "GLASGOW")) or (
            "RAL" in series_of and "davs" in series_of
        )
        assert ("This series is a part of it" in words) == is_ill, series_of
        n_ill, n_well = n_ill + is_ill, n_well + (not is_ill)
    assert n_ill > 0 < n_well


def test_sites_by_tests_are_each_over_their_own_usual_level(ill):
    page = Page(ill / "campaigns" / "sites.html")
    cells = {(one["row"], one["column"]): one for one in page.records("matrix-0-numbers")}
    assert len(cells) == 4 * 6
    for (site, test), one in cells.items():
        is_ill = site == "CERN" or (site == "RAL" and test.startswith("davs"))
        assert one["state"] == ("silent" if site == "GLASGOW" else "alarm" if is_ill else "ok")
        if not is_ill and one["level"] is not None:
            assert one["level"] == pytest.approx(1, abs=0.08)
    assert cells["RAL", "davs / all"]["level"] == pytest.approx(2, rel=0.05)
    assert (cells["CERN", "davs / all"]["level"], cells["CERN", "davs / all"]["of"]) == (
        pytest.approx(1.4, rel=0.05),
        "CPU time",
    )
    # A level that is not of the wall time says so in the picture, too.
    assert re.search(r">\N{BALLOT X} CPU 1\.[34]\d<", page.source)
    assert re.search(r">\N{BALLOT X} (2|1\.9)[.\d]*<", page.source)
    assert (
        "matrix-1-numbers" not in page.tables
    )  # neither work with other work, nor the newest results of versions


def test_the_figures_of_the_first_page_are_of_the_tests_that_are_ill(ill):
    page = Page(ill / "index.html")
    titles = re.findall(r'<figure id="by-site-\d">\s*<figcaption><h3>([^<]*)', page.source)
    assert len(titles) == 2
    assert all("by site and version: davs / " in title for title in titles)
    for name in ("by-site-0-numbers", "by-site-1-numbers"):
        notes = {one["site"]: one["note"] for one in page.records(name) if one["site"] != "GLASGOW"}
        assert notes == {"RAL": "slower", "CERN": "more CPU time", "FNAL": None}


def test_versions_that_were_never_measured_in_turns_are_not_counted_as_well(ill):
    page = Page(ill / "index.html")
    assert "no two versions were measured in turns, so pairs judge none" in page.words()
    assert "<b>\N{EN DASH}</b>" in page.source
    assert "0 worse" not in page.words()


def test_runs_of_many_sites_are_a_line_a_day_and_folded(ill):
    page = Page(ill / "campaigns" / "sites.html")
    assert "<summary>2026-10: 60 runs</summary>" in page.source  # 16 nights of 4 sites, 4 of them silent
    days = re.findall(r"(2026-10-\d\d): (\d+) results of (\d) sites", page.words())
    assert len(days) == N_NIGHTS
    assert [n for _, *n in days] == [["18", "3"]] * 4 + [["24", "4"]] * 12
    assert "run 0000" not in page.words()


def test_pairs_that_were_never_taken_have_no_empty_figure(ill):
    page = Page(ill / "compare" / "sites-by-storage.html")
    assert "never measured in turns" in page.words()
    assert "figure" not in page.tags


def test_results_of_a_campaign_are_coloured_by_what_was_read_beside_them(ill):
    page = Page(ill / "campaigns" / "sites.html")
    links = [chosen(href)["colour"] for _, href in page.links if "explore.html#" in href]
    assert [one for one in links if one != ["cpu_model"]][-2:] == [["load_1_minute"], ["network_bytes_per_s"]]


def test_wall_time_and_efficiency_are_shown_by_site_and_version_for_each_test(ill):
    page = Page(ill / "campaigns" / "sites.html")
    told = {
        (name, one["site"], one["version"]): one
        for name in page.tables
        if name.startswith("by-site")
        for one in page.records(name)
    }
    assert len(told) == 6 * 4 * 2  # tests, sites, versions
    assert {site for (_, site, _), one in told.items() if one["note"] == "silent"} == {"GLASGOW"}
    with Store.open(ill.parent / "hub.db") as store:
        results = list(
            store.results(Filter(storage=("davs",), workload=("all",), site=("RAL",), version=("6.40.00",)))
        )
    walls = [statistics.median(sample.wall_ns for sample in one.samples) for one in results]
    cpus = [statistics.median(sample.cpu_ns for sample in one.samples) for one in results]
    figures = re.findall(r'<figure id="(by-site-\d)">\s*<figcaption><h3>([^<]*)', page.source)
    name = {title.rpartition(": ")[2]: f"{figure}-numbers" for figure, title in figures}["davs / all"]
    row = told[name, "RAL", "6.40.00"]
    assert row["wall_ns"] == pytest.approx(statistics.median(walls), abs=1)
    assert (row["wall_ns_low"], row["wall_ns_high"]) == pytest.approx((min(walls), max(walls)), abs=1)
    shares = statistics.median(cpu / wall for cpu, wall in zip(cpus, walls, strict=True))
    assert row["cpu_efficiency"] == pytest.approx(shares)
    assert row["n_nights"] == 8
    assert "Wall time by storage" not in page.words()
    assert "The last run" not in Page(ill / "index.html").words()


def test_a_silent_site_has_no_part_in_what_a_campaign_recommends(ill):
    words = Page(ill / "campaigns" / "sites.html").words()
    told = re.search(r'Of the storages "[^"]+" is the fastest in \d of (\d+) cases', words)
    assert told is not None
    assert told[1] == "9"  # three workloads at the three sites that are heard of
    assert "Left out there: GLASGOW, silent since 2026-10-12." in words


class Noon(datetime):
    """The noon after the last night."""

    @classmethod
    def now(cls, tz=None):
        return NOON.astimezone(tz)


def test_a_level_that_is_no_alarm_yet_is_not_called_nothing_and_what_is_missing_is_named(
    tmp_path, monkeypatch
):
    pages = published(
        tmp_path,
        without=lambda one: one.site == "B" and one.case["storage_name"] == "davs",
        sites=("A", "B"),
        faults=(hubs.Fault("storage", "A", N_NIGHTS - 2, 1.0, "davs"),),
    )
    page = Page(pages / "index.html")
    high = "A, storage davs at 1.997 times its usual level"
    assert f"No alarm yet, but 1 level is high: {high}; no case fails" in page.words()
    assert "Nothing fails" not in page.words()
    ill, well = (one["test all"] for one in page.records("sites"))
    assert re.fullmatch(r"! davs [12]\.\d+ root \(XRootD\) [\d.]+; 9 hours", ill)
    assert re.fullmatch(r"root \(XRootD\) [\d.]+ 9 hours", well)
    campaign = Page(pages / "campaigns" / "sites.html")
    pictured = [one for at in range(6) for one in campaign.records(f"by-site-{at}-numbers")]
    assert [one["site"] for one in pictured] == ["A", "B"] * 6
    assert sum(one["wall_ns"] is None for one in pictured) == 3  # workloads
    assert "6.38.00: not measured" in campaign.words()
    monkeypatch.setattr("arrowroot_lab.cli.show.datetime", Noon)
    done = run_here("lab", "show", "--overview", "--db", str(tmp_path / "hub.db"))
    assert f"No alarm yet, but high: {high}." in " ".join(done.stdout.split())


def test_a_level_that_rose_where_nobody_can_judge_places_yet_is_not_called_nothing(tmp_path):
    fault = hubs.Fault("storage", "A", 6, 1.0, "davs")
    words = Page(published(tmp_path, n_nights=10, sites=("A",), faults=(fault,)) / "index.html").words()
    assert "The level of 3 series rose by 20 % or more in the last 30 days; no case fails" in words
    assert "Nothing fails" not in words


def test_many_sites_that_are_well_are_folded_behind_those_that_are_ill(tmp_path):
    pages = published(
        tmp_path,
        without=lambda one: one.case["storage_name"] != "davs" or one.case["workload_name"] != "all",
        sites=tuple(f"S{at}" for at in range(16)),
        faults=(hubs.Fault("site", "S10", 12, 1.0),),
    )
    page = Page(pages / "index.html")
    assert [one["site"] for one in page.records("sites")] == ["S10"]
    assert [one["site"] for one in page.records("sites-well")] == [f"S{at}" for at in range(16) if at != 10]
    folded = page.source.index("<summary>15 other sites, of which none is ill</summary>")
    assert folded < page.source.index('id="sites-well"') < page.source.index("</details>", folded)


@pytest.mark.long
def test_the_page_of_a_campaign_of_forty_sites_is_a_megabyte_and_says_what_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(publishing._Site, "_series", lambda *_: None)
    sites, storages = tuple(f"SITE-{at}" for at in range(40)), ("root", "davs", "s3")
    pages = published(
        tmp_path, n_nights=4, sites=sites, storages=storages, models=tuple(hubs.MODELS), versions={0: "1"}
    )
    page = Page(pages / "campaigns" / "sites.html")
    assert len(page.source) <= 1_000_000
    listed = page.records("results")
    tests = {(one["site"], one["storage"], one["workload"]) for one in listed}
    assert len(listed) == len(tests) == 40 * 9
    n_all = int(re.search(r"(\d+) cases: ", page.words())[1])
    assert f"{n_all - len(listed):,} more, of other kinds of machines" in page.words()
    n_pictured = sum(name.startswith("by-site") for name in page.tables)
    assert n_pictured == 9 or f"{9 - n_pictured} more tests have no picture here" in page.words()


def test_one_site_that_is_well_has_a_calm_page_and_silence_of_all_blames_none(tmp_path):
    pages = published(tmp_path, sites=("A",))
    page = Page(pages / "index.html")
    assert "sites" not in page.tables
    assert "Nothing fails" in page.words()
    with Store.open(tmp_path / "hub.db") as store:
        publish(store, pages, at=NOON + timedelta(days=9))
        page = Page(pages / "index.html")
        assert "silent" not in page.words()
        for result in hubs.Hub(seed=2, sites=("B",), n_nights=N_NIGHTS).results():
            store.put(result)
        publish(store, pages, at=NOON + timedelta(days=9))
    words = Page(pages / "index.html").words()
    assert "No site is heard of for two of its rounds: this hub gets no results" in words


def test_sites_are_compared_by_their_nearest_nights_and_told_that_they_never_take_turns(ill):
    done = run_here("lab", "compare", "--by", "site", "FNAL", "--db", str(ill.parent / "hub.db"), "--json")
    told = json.loads(done.stdout)
    rows = {(one["site_now"], one["storage"], one["workload"], one["version"]): one for one in told["rows"]}
    assert len(rows) == 3 * 2 * 3 * 2  # sites, storages, workloads, versions
    told_of = {"GLASGOW": set(), "CERN": set(), "RAL": set()}
    for one in rows.values():
        told_of[one["site_now"]].add((one["version"], one["n_pairs"]))
    assert told_of["RAL"] == told_of["CERN"] == {("6.38.00", 8), ("6.40.00", 8)}
    assert told_of["GLASGOW"] == {("6.38.00", 8), ("6.40.00", 4)}
    assert {one["verdict"] for one in rows.values() if one["n_pairs"] == 4} == {"not enough"}
    with Store.open(ill.parent / "hub.db") as store:
        documents = list(store.results(Filter(storage=("root",))))
    nights = {}
    for one in documents:
        if one.case["workload_name"] == "all" and one.version == "6.38.00" and one.site in ("RAL", "FNAL"):
            wall = statistics.median(sample.wall_ns for sample in one.samples)
            nights.setdefault(one.created_at[:10], {})[one.site] = wall
    ratios = sorted(one["RAL"] / one["FNAL"] for one in nights.values())
    row = rows["RAL", "root", "all", "6.38.00"]
    assert row["ratio"] == pytest.approx(statistics.median(ratios))
    assert row["ratio_low"] <= ratios[0] * 1.0001
    notes = " ".join(told["notes"])
    assert "Sites never take turns" in notes
    assert "Not enough, 6 of 36: 4 nights; a bound at 99% needs 7." in notes


def test_a_page_of_what_is_ill_marks_the_date_and_shows_the_metric_that_rose(ill):
    data = json.loads(re.search(r'id="data">(.*?)</script>', Page(ill / "explore.html").source)[1])
    site, storage = (list(data["axes"]).index(axis) for axis in ("site", "storage"))
    names = [data["axes"][axis]["names"] for axis in ("site", "storage")]
    pages = {}
    for places, series, *_ in data["lines"]:
        at = names[0][places[site]], names[1][places[storage]]
        pages[at] = Page(ill / "series" / f"{series}.html")
    assert "2026-10-13 alarm: RAL, storage davs" in pages["RAL", "davs"].source
    assert "alarm: " not in pages["RAL", "root (XRootD)"].source
    assert "CPU time of the series" in pages["CERN", "davs"].words()
    assert "CPU time of the series" not in pages["RAL", "davs"].words()


def test_a_last_night_that_stands_out_is_told_though_the_level_is_as_before(tmp_path):
    faults = (hubs.Fault("storage", "RAL", N_NIGHTS - 1, 0.75, "davs"),)
    page = Page(published(tmp_path, sites=("CERN", "RAL"), faults=faults) / "index.html")
    ral = next(row for row in page.records("sites") if row["site"] == "RAL")
    assert ral["state"] == "! to watch"
    assert re.search(r"^! davs (1\.0|0\.9)\d\d, last 1\.[678]\d\d ", ral["test all"])
    assert re.search(r"RAL, storage davs at [\d.]+, last 1\.[78]\d\d times its usual level", page.words())
    # A table without rows is none.
    assert "changed" not in page.tables
    assert re.search(r"[\d,]+ series; the newest run has \d+", page.words())


def test_a_case_is_counted_once_on_however_many_kinds_of_machines_it_was_measured(tmp_path):
    memory = hubs.Fault("memory", "B", 12, 0.5)
    told = {"sites": ("A", "B"), "models": ("CPU A", "CPU D"), "faults": (memory,)}
    page = Page(published(tmp_path, **told) / "campaigns" / "sites.html")
    assert "12 cases, with 24 newest results of kinds of machines and versions: 24 ended" in page.words()
    # The word is whole.
    assert re.search(r">\N{BALLOT X} memory 1\.[45]\d<", page.source)
