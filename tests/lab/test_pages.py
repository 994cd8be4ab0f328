"""Pages: each figure on them is recomputed from the store; what is published is whole, and stays text."""

from __future__ import annotations

import re
import shlex
import statistics
import uuid
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from arrowroot_lab.documents import Outcome, decode
from arrowroot_lab.mining import compare
from arrowroot_lab.mining.format import shown
from arrowroot_lab.pages import publish
from arrowroot_lab.pages.html import slug
from arrowroot_lab.store import Filter, Store

from .made import Made
from .parsed_pages import NOW, Page, a_classic

HOSTILE = '"><script>alert(1)</script>{{ 7*7 }}\u202e'


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("store") / "lab.db") as opened:
        results = Made(storages=("local", "nginx", "xrootd-50ms"), n_samples=7, n_runs=3).results()
        for place, outcome in ((-3, Outcome.FAILED), (-10, Outcome.TIMED_OUT)):
            results[place].outcome, results[place].reason, results[place].samples = outcome, "a reason", []
        for result in results:
            opened.put(result)
        one = Made(
            seed=5,
            campaign="quick",
            storages=("local",),
            engines=("uproot",),
            workloads=("ten columns",),
            n_runs=1,
        )
        for result in one.results():
            opened.put(result)
        yield opened


@pytest.fixture(scope="module")
def site(store, tmp_path_factory):
    directory = tmp_path_factory.mktemp("site") / "pages"
    published = publish(store, directory, at=NOW, classics=[a_classic()])
    assert published.first == directory / "index.html"
    assert published.n_pages == len(list(directory.rglob("*.html")))
    assert published.n_results == store.count()
    return directory


@pytest.fixture(scope="module")
def documents(store):
    return {result.uuid: result for result in map(decode, store.documents())}


@pytest.fixture(scope="module")
def pages(site):
    return {str(path.relative_to(site)): Page(path) for path in site.rglob("*.html")}


def walls(result):
    return [one.wall_ns for one in result.samples if one.outcome is Outcome.OK and not one.disturbed]


def standing(documents, campaign=None):
    """The newest result of each series and version that is of the last run of its series, from the documents alone."""
    found = [one for one in documents.values() if campaign in (None, one.campaign["name"])]
    found.sort(key=lambda one: (one.created_at, one.uuid))
    last_run = {(one.campaign["name"], one.series_id): one.campaign["run"] for one in found}
    newest = {(one.campaign["name"], one.series_id, one.version): one for one in found}
    return [one for (name, series, _), one in newest.items() if one.campaign["run"] == last_run[name, series]]


def test_there_is_a_page_for_each_campaign_series_and_result(pages, documents):
    expected = {"index.html", "classics/index.html", "classics/liverpool-2008.html"}
    for one in documents.values():
        expected |= {f"results/{one.uuid}.html", f"series/{one.series_id}.html"}
        expected.add(f"campaigns/{one.campaign['name']}.html")
    assert expected <= set(pages)
    assert {path.partition("/")[0] for path in set(pages) - expected} == {"compare", "explore.html"}


def test_each_result_page_has_the_figures_of_its_document(pages, documents):
    for one in documents.values():
        page = pages[f"results/{one.uuid}.html"]
        if one.samples:
            samples = page.records("table-samples-" + slug("Samples")[-6:])
            assert [row["wall_ns"] for row in samples] == [sample.wall_ns for sample in one.samples]
            assert [row["turn"] for row in samples] == [sample.turn for sample in one.samples]
            assert [row["why"] for row in samples] == [
                "; ".join(s.disturbed) or s.reason for s in one.samples
            ]
            pictured = page.records("samples-numbers")
            assert [row["wall_ns"] for row in pictured] == [sample.wall_ns for sample in one.samples]
            assert [row["fault"] for row in pictured] == ["; ".join(s.disturbed) or None for s in one.samples]
            assert "shlex" not in page.source
            assert " ".join(one.command) in page.words()
            assert f"the median of {len(walls(one))} samples" in page.words()
        else:
            assert f"{one.outcome.value}: {one.reason}" in page.words()


def test_a_prediction_stands_beside_its_measurement(pages, documents):
    n_seen = 0
    for one in documents.values():
        if not walls(one):
            continue
        name = next(
            name for name in pages[f"results/{one.uuid}.html"].tables if name.startswith("table-predictions")
        )
        (row,) = pages[f"results/{one.uuid}.html"].records(name)
        (told,) = one.predictions
        n_seen += 1
        assert row["by"] == told["by"]
        numbers = {value for value in row.values() if isinstance(value, float)}
        assert {told["wall_ns"], statistics.median(walls(one))} <= numbers
    assert n_seen > 100


def test_the_history_of_each_series_is_that_of_its_results(pages, documents):
    for series_id in {one.series_id for one in documents.values()}:
        page = pages[f"series/{series_id}.html"]
        results = [one for one in documents.values() if one.series_id == series_id]
        results.sort(key=lambda one: (one.created_at, one.uuid))
        told = page.records("history-numbers")
        assert [row["version"] for row in told] == [one.version for one in results]
        for row, one in zip(told, results, strict=True):
            values = walls(one)
            assert row["wall_ns"] == (statistics.median(values) if values else None)
            assert row["wall_ns_low"] == min(values, default=None)
            assert row["wall_ns_high"] == max(values, default=None)
        assert [row["wall_ns"] for row in page.records("points")] == [row["wall_ns"] for row in told]
        assert page.hrefs("points", "uuid") == [f"../results/{one.uuid}.html" for one in results]


def test_a_campaign_says_which_program_is_the_fastest(pages, documents):
    medians = {}
    for one in standing(documents, "storages"):
        if one.outcome is Outcome.OK and walls(one):
            row = medians.setdefault((one.case["storage_name"], one.case["workload_name"]), {})
            row[f"{one.case['engine']} / {one.version}"] = statistics.median(walls(one))
    rows = [row for row in medians.values() if len(row) > 1]
    best, n = Counter(min(row, key=row.get) for row in rows).most_common(1)[0]
    words = pages["campaigns/storages.html"].words()
    assert f"By their medians {best} is the fastest in {n} of {len(rows)} cases: " in words
    ratios = [row["uproot / 5.7.7"] / row[best] for row in rows if {"uproot / 5.7.7", best} <= set(row)]
    low, high = (f"{ratio:.1f}" for ratio in (min(ratios), max(ratios)))
    assert f"uproot / 5.7.7 takes {low} to {high}" in words
    assert "By their medians" not in pages["campaigns/quick.html"].words()


def test_the_matrix_and_the_bars_of_a_campaign_are_the_medians_of_its_newest_results(pages, documents):
    page = pages["campaigns/storages.html"]
    expected = {}
    for one in standing(documents, "storages"):
        value = statistics.median(walls(one)) if one.outcome is Outcome.OK else None
        row = f"{one.case['storage_name']} / {one.case['workload_name']}"
        expected[row, f"{one.case['engine']} / {one.version}"] = (value, one.outcome.value)
    told = page.records("matrix-0-numbers")
    assert {(row["row"], row["column"]): (row["wall_ns"], row["outcome"]) for row in told} == expected
    for row in told:
        best = min(
            value for (at, _), (value, _) in expected.items() if at == row["row"] and value is not None
        )
        assert row["ratio"] == (None if row["wall_ns"] is None else pytest.approx(row["wall_ns"] / best))
    bars = [
        row for name in page.tables if re.fullmatch(r"bars-\d-numbers", name) for row in page.records(name)
    ]
    assert len(bars) == len(expected)
    keys = ("group", "series", "wall_ns", "wall_ns_low", "wall_ns_high")
    told = sorted(tuple(row[key] or 0 for key in keys) for row in bars)
    assert told == sorted(
        (
            one.case["storage_name"],
            f"{one.case['engine']} / {one.version}",
            *((statistics.median(walls(one)), min(walls(one)), max(walls(one))) if walls(one) else (0, 0, 0)),
        )
        for one in standing(documents, "storages")
    )


def test_the_cpu_efficiency_of_a_campaign_is_that_of_its_samples(pages, documents):
    page = pages["campaigns/storages.html"]
    told = [row for name in page.tables if name.startswith("efficiency") for row in page.records(name)]
    expected = []
    for one in standing(documents, "storages"):
        shares = [s.cpu_ns / s.wall_ns for s in one.samples if s.outcome is Outcome.OK and not s.disturbed]
        if shares:
            expected.append(
                (
                    f"{one.case['engine']} / {one.version}",
                    one.line["latency_before_ns"],
                    statistics.median(shares),
                )
            )
    found = sorted((row["series"], row["round_trip_ns"], row["cpu_efficiency"]) for row in told)
    assert [row[:2] for row in found] == [row[:2] for row in sorted(expected)]
    assert [row[2] for row in found] == pytest.approx([row[2] for row in sorted(expected)])


def test_the_failures_of_a_campaign_are_all_there_with_their_reasons(pages, documents):
    words = pages["campaigns/storages.html"].words()
    bad = [
        one
        for one in standing(documents, "storages")
        if one.outcome.value in ("failed", "timed out", "refused")
    ]
    assert bad
    for one in bad:
        assert f"{one.outcome.value}: {one.reason}" in words
        assert ("a", f"../results/{one.uuid}.html") in pages["campaigns/storages.html"].links
    ends = Counter(one.outcome.value for one in standing(documents, "storages"))
    told = f"{sum(ends.values())} newest results of kinds of machines and versions: {ends['ok']} ok"
    assert told in words


def test_the_comparisons_are_those_of_the_command_line(store, pages):
    n_compared = 0
    for axis in ("version", "engine", "storage"):
        page = pages[f"compare/storages-by-{axis}.html"]
        names = [name.removesuffix("-table") for name in page.tables if name.endswith("-table")]
        for name in names:
            now, before = name.split("-judged-by-")
            values = {slug(value): value for one in store.summaries() for value in (getattr(one, axis),)}
            sides = {"before": values[before], "now": values[now]}
            _, compared = compare(store, Filter(campaign=("storages",)), by=axis, **sides)
            told = page.records(f"{name}-table")
            assert [(row["verdict"], row["ratio"], row["ratio_low"]) for row in told] == [
                (one.comparison.verdict.value, one.comparison.ratio, one.comparison.low) for one in compared
            ]
            assert [row["wall_ns_now"] for row in told] == [one.now_figure for one in compared]
            pictured = page.records(f"{name}-figure-numbers")
            assert [row["ratio"] for row in pictured] == [one.comparison.ratio for one in compared]
            assert page.hrefs(f"{name}-table", "wall_ns_before") == [
                f"../results/{one.before_uuid}.html" for one in compared
            ]
            n_compared += len(told)
        assert len(names) >= 2
    assert n_compared > 50


def test_the_first_screen_says_what_is_new_what_failed_and_what_is_old(store, pages, documents):
    page = pages["index.html"]
    words = page.words()
    bad = [one for one in standing(documents) if one.outcome.value in ("failed", "timed out", "refused")]
    assert {href.removeprefix("results/").removesuffix(".html") for href in page.hrefs("failed", "uuid")} == {
        one.uuid for one in bad
    }
    assert f"{len(bad)}fail" in words.replace(" ", "")
    changed = page.records("changed")
    _, compared = compare(store, Filter(since=(NOW - timedelta(days=30)).isoformat()[:10]), by="version")
    expected = [one for one in compared if one.comparison.verdict.value in ("better", "worse")]
    assert [(row["verdict"], row["ratio"]) for row in changed] == [
        (one.comparison.verdict.value, one.comparison.ratio) for one in expected
    ]
    assert expected
    campaigns = {row["campaign"]: row for row in page.records("campaigns")}
    for name in ("storages", "quick"):
        ends = Counter(one.outcome.value for one in standing(documents, name))
        assert campaigns[name]["n_ok"] == ends["ok"]
        assert campaigns[name]["n_timed_out"] == ends["timed out"]
        newest = max(
            datetime.fromisoformat(one.created_at.replace("Z", "+00:00"))
            for one in documents.values()
            if one.campaign["name"] == name
        )
        assert campaigns[name]["age_s"] == (NOW - newest).total_seconds()


def test_what_was_not_measured_for_long_is_old(store, tmp_path):
    later = NOW + timedelta(days=90)
    publish(store, tmp_path / "pages", at=later)
    page = Page(tmp_path / "pages" / "index.html")
    n_series = len({(one.campaign, one.series_id) for one in store.summaries()})
    assert sum(row["n_series"] for row in page.records("old")) == n_series


def test_the_page_can_count_what_becomes_old_after_it_was_made(pages, documents):
    told = {name: value for _, name, value in pages["index.html"].attributes if name.startswith("data-")}
    days = dict(one.split(":") for one in told["data-newest"].split())
    last = {}
    for one in standing(documents):
        key = one.campaign["name"], one.series_id
        last[key] = max(one.created_at[:10], last.get(key, ""))
    assert {day: int(n) for day, n in days.items()} == Counter(last.values())
    assert told["data-n"] == "0"


def test_cases_that_fail_now_or_work_again_are_news(tmp_path):
    with Store.open(tmp_path / "lab.db") as store:
        first = Made(storages=("local",), engines=("uproot",), n_runs=1, with_trouble=False).results()
        again = Made(
            seed=2, storages=("local",), engines=("uproot",), n_runs=1, with_trouble=False, first_day=NOW
        ).results()
        first[0].outcome, first[0].reason = Outcome.FAILED, "boom"
        again[1].outcome, again[1].reason = Outcome.TIMED_OUT, "no answer within 600 s"
        for one in first + again:
            store.put(one)
        publish(store, tmp_path / "pages", at=NOW)
    page = Page(tmp_path / "pages" / "index.html")
    told = [(row["what"], row["before"], row["outcome"]) for row in page.records("news")]
    assert told == [("fails now", "ok", "timed out"), ("works again", "failed", "ok")]
    assert "1 case fails that did not before" in page.words()


def test_a_result_of_disturbed_samples_alone_is_neither_a_time_nor_a_failure(tmp_path):
    with Store.open(tmp_path / "lab.db") as store:
        made = Made(storages=("local", "nginx"), engines=("uproot",), n_runs=1, with_trouble=False)
        results = made.results()
        for sample in results[0].samples:
            sample.disturbed = ["load"]
        results[0].reason = "0 of 7 samples were undisturbed"
        for one in results:
            store.put(one)
        publish(store, tmp_path / "pages", at=NOW)
    result = Page(tmp_path / "pages" / "results" / f"{results[0].uuid}.html").words()
    assert (
        "No time: none of 7 samples counts, 7 were disturbed (0 of 7 samples were undisturbed); they"
        in result
    )
    campaign = Page(tmp_path / "pages" / "campaigns" / "storages.html")
    assert "6 ok (1 without a time, as all samples were disturbed)" in campaign.words()
    told = {row["row"] + row["column"]: row for row in campaign.records("matrix-0-numbers")}
    middle = statistics.median(sample.wall_ns for sample in results[0].samples)
    asides = [(row["outcome"], row["aside"]) for row in told.values() if row["wall_ns"] is None]
    assert asides == [("disturbed", middle)]
    # Its bar is empty, and the command measures for the same database.
    index = Page(tmp_path / "pages" / "index.html")
    (series,) = [row["series"] for row in index.records("last-figure-numbers") if row["wall_ns"] == middle]
    assert series.endswith(", disturbed")
    assert "Empty bars are medians of disturbed samples" in index.words()
    assert f"{shlex.join(results[0].command)} --db {tmp_path}/lab.db" in result
    assert "1 result has no wall time: the machine was busy, so no sample counts." in campaign.words()
    overview = Page(tmp_path / "pages" / "index.html").words()
    assert "Nothing fails" in overview
    assert "1 result has no time, as all samples were disturbed" in overview


def test_layouts_are_told_by_the_names_of_their_datasets(tmp_path):
    with Store.open(tmp_path / "lab.db") as store:
        for result in Made(storages=("local",), engines=("uproot",), n_runs=1, with_trouble=False).results():
            store.put(result)
            case = {**result.case, "layout": "ffff000011112222", "dataset_name": "rntuple"}
            store.put(replace(result, case=case, uuid=str(uuid.uuid4())))
        publish(store, tmp_path / "pages", at=NOW)
    compared = Page(tmp_path / "pages" / "compare" / "storages-by-layout.html")
    assert "rntuple judged by nanoaod" in compared.words()
    keys = compared.tables["rntuple-judged-by-nanoaod-table"]["keys"]
    assert "layout" not in keys
    for page in (tmp_path / "pages").rglob("*.html"):
        if page.parent.name != "results":  # they have all that a document says
            assert not re.search("ffff0000|9c3fa1d2", Page(page).words()), page


def test_a_first_run_is_on_the_first_page_with_its_figures_and_nothing_before_it(tmp_path):
    made = Made(engines=("uproot",), storages=("local", "nginx"), n_runs=1, with_trouble=False).results()
    for one in made[3:]:  # of nginx
        one.case["storage"] = {**one.case["storage"], "kind": "simulated"}
        one.case["storage_name"] = "simulated"
    with Store.open(tmp_path / "lab.db") as store:
        for one in made:
            store.put(one)
        publish(store, tmp_path / "pages", at=NOW)
    page = Page(tmp_path / "pages" / "index.html")
    words = page.words()
    assert "before" not in words
    assert "better" not in words
    told = {href.removeprefix("results/").removesuffix(".html"): row for href, row in zip(
        page.hrefs("last", "case"), page.records("last"), strict=True
    )}  # fmt: skip
    assert set(told) == {one.uuid for one in made}
    for one in made:
        times, row = walls(one), told[one.uuid]
        assert row["wall_ns"] == statistics.median(times)
        assert row["spread"] == pytest.approx((max(times) - min(times)) / statistics.median(times))
        assert row["n_counted"] == len(times)
        assert row["verdict"] == ("virtual" if one.case["storage_name"] == "simulated" else "ok")
    # The picture has what was waited for, and so has the answer.
    measured = [statistics.median(walls(one)) for one in made[:3]]
    assert sorted(row["wall_ns"] for row in page.records("last-figure-numbers")) == sorted(measured)
    least, most = (shown(value, "time") for value in (min(measured), max(measured)))
    assert re.search(rf"The median times of 3 cases are from {least} \([^)]+\) to {most} \(", words)
    campaign = Page(tmp_path / "pages" / "campaigns" / "storages.html").words()
    assert f"The median times of 3 cases are from {least}" in campaign
    assert "is the fastest" not in campaign


def test_runs_are_folded_by_month_with_the_newest_open_and_long_tables_are_folded(tmp_path):
    made = Made(storages=("local", "nginx", "xrootd"), n_runs=3, days_between=30, with_trouble=False)
    with Store.open(tmp_path / "lab.db") as store:
        for one in made.results():
            store.put(one)
        publish(store, tmp_path / "pages", at=NOW + timedelta(days=60))
    page = Page(tmp_path / "pages" / "campaigns" / "storages.html")
    months = re.findall(r"<details( open)?><summary>(20[0-9-]+: \d+ runs?)</summary>", page.source)
    assert months == [(" open", "2026-11: 1 run"), ("", "2026-10: 2 runs")]
    n_rows = len(page.records("results"))
    assert n_rows > 40
    folded = page.source.index(f"<summary>All {n_rows} rows</summary>")
    assert folded < page.source.index('id="results"') < page.source.index("</details>", folded)
    few = Page(next((tmp_path / "pages" / "series").iterdir()))
    assert "All results" in few.words()
    assert "rows</summary>" not in few.source


def test_figures_that_are_left_out_are_counted(tmp_path):
    made = Made(engines=("uproot",), storages=("local", "nginx"), n_runs=1, with_trouble=False).results()[::3]
    with Store.open(tmp_path / "lab.db") as store:
        for one in made:
            for place in range(8):
                case = {
                    **one.case,
                    "workload_name": f"workload {place}",
                    "workload": {"kind": "read", "n": place},
                }
                store.put(replace(one, case=case, uuid=str(uuid.uuid4())))
        publish(store, tmp_path / "pages", at=NOW)
    page = Page(tmp_path / "pages" / "campaigns" / "storages.html")
    assert len([name for name in page.tables if name.startswith("bars-")]) == 6
    assert "There are 2 more of its kind" in page.words()


def test_cases_that_share_little_are_in_one_figure(tmp_path):
    made = Made(engines=("uproot",), storages=("local", "nginx"), n_runs=1, with_trouble=False).results()[:4]
    with Store.open(tmp_path / "lab.db") as store:
        for one in made:
            store.put(one)
        publish(store, tmp_path / "pages", at=NOW)
    page = Page(tmp_path / "pages" / "campaigns" / "storages.html")
    assert [name for name in page.tables if name.startswith("bars-")] == ["bars-0-numbers"]
    assert sorted(row["wall_ns"] for row in page.records("bars-0-numbers")) == sorted(
        statistics.median(walls(one)) for one in made
    )


def test_comparisons_in_virtual_time_say_so_and_have_no_bounds_and_no_before(tmp_path):
    made = Made(
        engines=("uproot",), storages=("local",), workloads=("ten columns",), n_runs=1, with_trouble=False
    )
    (one,) = made.results()
    one.case["storage"] = {**one.case["storage"], "kind": "simulated"}
    one.samples = [replace(one.samples[0], details={"trace": "5d41402a"})]
    other = replace(one, uuid=str(uuid.uuid4()), case={**one.case, "strategy": {"name": "direct"}})
    other.samples = [replace(one.samples[0], wall_ns=2 * one.samples[0].wall_ns)]
    with Store.open(tmp_path / "lab.db") as store:
        for result in (one, other):
            store.put(result)
        publish(store, tmp_path / "pages", at=NOW)
    page = Page(tmp_path / "pages" / "compare" / "storages-by-strategy.html")
    assert re.search(r"(auto judged by direct|direct judged by auto)", page.words())
    assert re.search("judged by [a-z]+: 1 (better|worse) in virtual time, of one case alone", page.words())
    assert "Ratios in virtual time, of replays of one trace. Left of 1 is better." in page.words()
    assert "whose CPU time was measured once" in page.words()
    assert "before" not in page.words()
    assert re.search("2.00\N{MULTIPLICATION SIGN}|0.500\N{MULTIPLICATION SIGN}", page.words())
    assert not re.search(r"\([\d.]+ to [\d.]+\)", page.words())
    (name,) = [name for name in page.tables if name.endswith("-table")]
    assert not {"ratio_low", "ratio_high"} & set(page.tables[name]["keys"])
    campaign = Page(tmp_path / "pages" / "campaigns" / "storages.html").words()
    assert re.search(r"\(1 (worse|better) in virtual time, of one case alone\)", campaign)
    for result in (one, other):
        words = Page(tmp_path / "pages" / "results" / f"{result.uuid}.html").words()
        time = shown(result.samples[0].wall_ns, "time")
        assert f"{time}, one sample in virtual time." in words
        assert "1 samples" not in words
    # One case in virtual time is no headline.
    assert "is the fastest" not in campaign
    assert "In virtual time: The median times of 2 cases" in campaign


def test_a_classic_says_everything_and_begins_with_the_answer(pages):
    page = pages["classics/liverpool-2008.html"]
    words, classic = page.words(), a_classic()
    for text in (
        classic.answer,
        *classic.scale,
        *classic.same,
        *classic.differs,
        *classic.today,
        classic.command,
    ):
        assert text in words
    assert words.index(classic.answer) < words.index(classic.scale[0])
    # What was given is told as such, behind what is found, and does not count.
    assert [record["verdict"] for record in page.records("statements")] == ["holds", "FAILS", "given"]
    assert "1 of 2 statements that could fail hold; 1 more say what was given." in words
    assert page.records("table-0") == [{"buffer_bytes": 4096, "n_bytes": 1e9}]
    # A long table is folded, and its notes are seen.
    assert "Many: 41 rows. All are alike." in words
    assert words.count("All are alike.") == 1
    assert len(page.records("table-1")) == 41


def test_the_first_page_of_the_classics_tells_each_with_its_figures_and_its_picture(pages):
    page, classic = pages["classics/index.html"], a_classic()
    assert classic.answer in page.words()
    assert page.records("liverpool-2008-headline") == [
        {"of": "buffer of 10 MiB", "published": 174e9, "here": 159e9, "kind": "given"},
        {"of": "no buffer", "published": None, "here": 1e9, "kind": "found"},
    ]
    assert "Fitted to the published bytes." in page.words()
    assert "1 of 2 statements that could fail hold; 1 more say what was given." in page.words()
    assert page.source.count("<svg") == 2  # for wide and for narrow screens
    assert ("../classics/liverpool-2008.html") in [href for _, href in page.links]
    overview = pages["index.html"]
    assert {"classics/index.html", "classics/liverpool-2008.html"} <= {href for _, href in overview.links}


def test_without_results_the_first_page_tells_the_classics(tmp_path):
    with Store.open(tmp_path / "lab.db") as store:
        publish(store, tmp_path / "pages", at=NOW, classics=[a_classic()], place="what came with it")
    page = Page(tmp_path / "pages" / "index.html")
    assert a_classic().answer in page.words()
    assert "from what came with it" in page.words()
    assert "arrowroot lab run CAMPAIGN" in page.words()


def test_all_links_lead_somewhere_within_the_site(pages, site):
    for page in pages.values():
        assert len(set(page.identifiers)) == len(page.identifiers), page.path
        for _, href in page.links:
            target = urlsplit(href)
            assert (target.scheme, target.netloc) == ("", ""), href
            path = (page.path.parent / unquote(target.path)).resolve() if target.path else page.path
            assert path.is_file(), (page.path, href)
            assert path.is_relative_to(site.resolve()), (page.path, href)
            if path.name == "explore.html" and "=" in target.fragment:
                told = set(parse_qs(target.fragment, strict_parsing=True))
                assert told <= {"site", "storage", "test", "y", "as", "since", "colour"}, href
            elif target.fragment:
                other = pages.get(str(path.relative_to(site.resolve())))
                assert target.fragment in other.identifiers, (page.path, href)


def test_pages_have_nothing_that_a_strict_policy_forbids(pages):
    for page in pages.values():
        for tag, name, value in page.attributes:
            assert name != "style", (page.path, tag)
            assert not name.startswith("on"), (page.path, tag, name)
            assert not (value or "").lower().startswith("javascript:")
        assert "style" not in page.tags
        # The page to explore has its data, which are no script, and a script of its own.
        assert page.tags.count("script") == (3 if page.path.name == "explore.html" else 1)
        assert [value for tag, name, value in page.attributes if tag == "script" and name == "type"] in (
            [], ["application/json"],
        )  # fmt: skip
        assert page.open == []


def test_hostile_names_are_text_everywhere(tmp_path):
    with Store.open(tmp_path / "lab.db") as store:
        for result in Made(storages=("local", "nginx"), engines=("root",), n_runs=2).results():
            hostile = replace(result, site=HOSTILE, reason=HOSTILE if result.reason else None)
            hostile.case = {
                **result.case,
                "storage_name": HOSTILE + result.case["storage_name"],
                "engine": HOSTILE,
            }
            hostile.campaign = {**result.campaign, "name": "../" + HOSTILE, "run": result.campaign["run"]}
            hostile.versions = {"engine": HOSTILE + result.version}
            hostile.command = ["sh", "-c", HOSTILE]
            hostile.environment = {HOSTILE: HOSTILE}
            store.put(hostile)
        publish(store, tmp_path / "out" / "pages", at=NOW)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["pages"]
    for path in (tmp_path / "out").rglob("*.html"):
        page = Page(path)
        assert "<script>alert" not in page.source
        assert page.tags.count("script") == (3 if path.name == "explore.html" else 1)
        assert "\u202e" not in page.source
        assert "\\u202e" not in page.source
        assert re.fullmatch(r"[A-Za-z0-9._-]+", path.name)
    assert "{{ 7*7 }}" in Page(tmp_path / "out" / "pages" / "index.html").words()


def test_names_that_look_alike_have_pages_of_their_own():
    names = ["Storages", "storages", "sto rages", "stö", "../storages", "storages.", "", "x" * 200, "x" * 201]
    assert len({slug(name) for name in names}) == len(names)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.-]*", slug(name)) for name in names)
    assert slug("storages") == "storages"


def test_an_empty_store_says_what_to_do(tmp_path):
    with Store.open(tmp_path / "lab.db") as store:
        publish(store, tmp_path / "pages", at=NOW)
    assert "arrowroot lab run CAMPAIGN" in Page(tmp_path / "pages" / "index.html").words()
