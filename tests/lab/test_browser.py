"""The pages in a browser: what is seen, by keyboard, light and dark, on a telephone and a wide screen, and by axe.

Chromium is driven by Playwright (`make` installs both, as it does the servers). Where one is missing the tests are
skipped, with the reason; in CI that is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from datetime import datetime, timedelta, timezone
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

from arrowroot_lab import classics
from arrowroot_lab.documents import Outcome
from arrowroot_lab.pages import publish
from arrowroot_lab.store import Filter, Store

from .hubs import Hub
from .made import Made
from .parsed_pages import a_classic
from .test_hub_pages import ILL, published

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MISSING = [
    name
    for name, is_there in (
        ("chromium", CHROMIUM),
        ("playwright", find_spec("playwright")),
        ("axe-playwright-python", find_spec("axe_playwright_python")),
    )
    if not is_there
]
if MISSING and os.environ.get("CI"):
    pytest.fail(
        f"CI needs the browser's tests: {', '.join(MISSING)} is missing (make .venv/.browser)", pytrace=False
    )
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)}: not here")

SCREENS = {"telephone": (400, 800), "wide": (1400, 900)}
#: A day after the last result, so that ages are those of a laboratory that is alive.
NOW = datetime.now(timezone.utc)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    directory = tmp_path_factory.mktemp("browser")
    with Store.open(directory / "lab.db") as store:
        begin = NOW - timedelta(days=21)
        made = Made(
            storages=("local", "xrootd-50ms"), engines=("arrowroot", "uproot"), first_day=begin, n_runs=2
        )
        results = made.results()
        failed = results[-4]
        failed.outcome, failed.samples = Outcome.FAILED, []
        failed.reason = (
            "RunnerError: root://far.example:1094//a.root: " + "the server closed the connection " * 6
        )
        for result in results:
            store.put(result)
        with_reads = next(result for result in reversed(results) if result.samples)
        publish(store, directory / "pages", at=NOW, classics=[a_classic()])
        yield {
            "overview": "index.html",
            "campaign": "campaigns/storages.html",
            "series": f"series/{results[-1].series_id}.html",
            "result": f"results/{with_reads.uuid}.html",
            "failed": f"results/{failed.uuid}.html",
            "compare": "compare/storages-by-version.html",
            "classic": "classics/liverpool-2008.html",
            "classics": "classics/index.html",
            "explore": "explore.html",
            "root": directory / "pages",
        }


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    return published(tmp_path_factory.mktemp("hub"), **ILL)


KINDS = ("overview", "campaign", "series", "result", "failed", "compare", "classic", "classics", "explore")


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    # Chromium has no sandbox of its own for root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield opened
        opened.close()


@pytest.fixture
def page(browser, request):
    """A page that notes what it asks for and what goes wrong in it."""
    told = getattr(request, "param", {})
    width, height = SCREENS[told.get("screen", "wide")]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=told.get("scheme", "light"),
        java_script_enabled=told.get("script", True),
    )
    opened = context.new_page()
    opened.troubles, opened.asked = [], []
    opened.on("pageerror", lambda error: opened.troubles.append(str(error)))
    opened.on(
        "console", lambda message: opened.troubles.append(message.text) if message.type == "error" else None
    )
    opened.on("request", lambda asked: opened.asked.append(asked.url))
    yield opened
    context.close()


def address(site, kind):
    return (site["root"] / site[kind]).as_uri()


@pytest.mark.parametrize(
    "page",
    [pytest.param({"screen": "telephone"}, marks=pytest.mark.long), {"screen": "wide", "scheme": "dark"}],
    indirect=True,
    ids=["telephone-light", "wide-dark"],
)
def test_axe_finds_nothing(page, site):
    from axe_playwright_python.sync_playwright import Axe

    axe = Axe()
    for kind in KINDS:
        page.goto(address(site, kind))
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        found = axe.run(page).response["violations"]
        assert [(kind, one["id"], one["nodes"][0]["html"][:200]) for one in found] == []


def check_figures(page, kind):
    """Check that no text of a page's figures touches another one, or leaves its figure; return how many there are."""
    n_texts = 0
    figures = page.evaluate(
        """() => [...document.querySelectorAll('svg.figure')].filter(svg => svg.getBoundingClientRect().width)
             .map(svg => [svg.getBoundingClientRect(), ...svg.querySelectorAll('text')]
               .map(one => one instanceof Element ? one.getBoundingClientRect() : one)
               .map(box => [box.left, box.top, box.right, box.bottom]))"""
    )
    for outer, *boxes in figures:
        n_texts += len(boxes)
        for place, (left, top, right, bottom) in enumerate(boxes):
            assert left >= outer[0] - 1, kind
            assert right <= outer[2] + 1, kind
            assert top >= outer[1] - 2, kind
            assert bottom <= outer[3] + 2, kind
            for other in boxes[:place]:
                across = min(right, other[2]) - max(left, other[0])
                down = min(bottom, other[3]) - max(top, other[1])
                # A line of text is higher than its letters.
                assert across <= 0.5 or down <= 4, (kind, (left, top, right, bottom), other)
    return n_texts


@pytest.mark.parametrize(
    "page",
    [{"screen": screen, "scheme": scheme} for screen in SCREENS for scheme in ("light", "dark")],
    indirect=True,
    ids=lambda told: f"{told['screen']}-{told['scheme']}",
)
def test_pages_fit_the_screen_with_legible_figures_and_nothing_is_asked_of_elsewhere(page, site):
    n_texts = 0
    for kind in KINDS:
        page.goto(address(site, kind))
        widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert widths[0] <= widths[1], kind
        assert page.locator("h1").count() == 1
        n_texts += check_figures(page, kind)
    assert n_texts > 100
    assert page.troubles == []
    assert all(url.startswith(site["root"].as_uri()) for url in page.asked)
    assert any(url.endswith("style.css") for url in page.asked)


@pytest.mark.parametrize("page", [{"screen": screen} for screen in SCREENS], indirect=True, ids=SCREENS)
def test_pages_of_the_kept_results_fit_the_screen_and_have_legible_figures(page, tmp_path):
    with Store.open(tmp_path / "lab.db") as store:
        publish(store, tmp_path / "pages", at=NOW, classics=classics.pages())
    for name in ("index", *classics.NAMES):
        page.goto((tmp_path / "pages" / "classics" / f"{name}.html").as_uri())
        widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert widths[0] <= widths[1], name
        assert check_figures(page, name) > 30, name
        # The figures of a card are seen without scrolling.
        cards = page.evaluate(
            "[...document.querySelectorAll('.stories .beside .scroll')].map(one => one.scrollWidth - one.clientWidth)"
        )
        assert max(cards, default=0) <= 0, name
    assert page.troubles == []


@pytest.mark.parametrize(
    "page", [{"screen": "telephone", "scheme": "dark"}, {"screen": "wide"}], indirect=True, ids=SCREENS
)
def test_pages_of_a_hub_fit_the_screen_and_begin_with_the_places_that_are_ill(page, hub):
    from axe_playwright_python.sync_playwright import Axe

    for name in ("index.html", "campaigns/sites.html"):
        page.goto((hub / name).as_uri())
        widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert widths[0] <= widths[1], name
        assert check_figures(page, name) > 30, name
        found = Axe().run(page).response["violations"]
        assert [(name, one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
    page.goto((hub / "index.html").as_uri())
    for words in ("RAL, storage davs", "CERN", "GLASGOW"):
        box = page.locator(".ills li", has_text=words).bounding_box()
        assert box["y"] + box["height"] <= page.viewport_size["height"]


@pytest.mark.parametrize("page", [{"screen": screen} for screen in SCREENS], indirect=True, ids=SCREENS)
def test_tables_that_are_wider_than_their_place_say_so(page, site):
    n_wide = n_fit = n_cards = 0
    for kind in KINDS:
        page.goto(address(site, kind))
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        tables = page.evaluate(
            """() => [...document.querySelectorAll('.scroll')]
                 .map(one => [one.scrollWidth > one.clientWidth, one.previousElementSibling.checkVisibility()])"""
        )
        assert all(is_wide == is_told for is_wide, is_told in tables), kind
        n_wide += sum(is_wide for is_wide, _ in tables)
        n_fit += sum(not is_wide for is_wide, _ in tables)
        n_cards += page.locator("table.cards").count()
    assert n_fit > 3
    # On a telephone a row of what would be wider is a card, and nothing is out of sight.
    assert (n_cards > 3, n_wide) == ((True, 0) if page.viewport_size["width"] < 1000 else (False, n_wide))


@pytest.mark.parametrize("page", [{"screen": "telephone"}], indirect=True, ids=["telephone"])
def test_what_sites_missed_and_failed_is_seen_on_a_telephone(page, hub):
    page.goto((hub / "index.html").as_uri())
    for n in range(4):
        row = page.locator("#sites tbody tr").nth(n)
        for cell in row.locator("td").all():
            box = cell.bounding_box()
            assert box["x"] + box["width"] <= page.viewport_size["width"]
        assert "missed" in row.locator("td").nth(-2).evaluate("one => one.dataset.title || 'missed'")


def test_the_link_of_an_alarm_opens_a_figure_that_shows_it(page, hub):
    for place in ("RAL, storage davs", "CERN"):
        page.goto((hub / "index.html").as_uri())
        page.locator(".ills a", has_text=place).click()
        # The page says nothing before its script ran.
        words = page.locator("#answer", has_text="since").inner_text()
        before, now = re.search(r"median ([\d.]+) before 2026-10-13 and ([\d.]+) since", words).groups()
        assert float(before) == pytest.approx(1, abs=0.05)
        assert float(now) == pytest.approx(2 if place != "CERN" else 1.4, rel=0.06)
        assert page.locator("svg.figure text", has_text="since 2026-10-13").count() == 1
    # What is opened without a choice is the worst place, and says so.
    page.goto((hub / "explore.html").as_uri())
    assert "Opened with what is ill: RAL, storage davs." in page.locator("#answer").inner_text()
    assert page.locator("#of-site").inner_text() == "Site: RAL"
    page.locator("#of-site").click()
    assert page.locator("#choose details[data-axis=site] .note").inner_text() == "None ticked: all."
    page.get_by_label("RAL", exact=True).uncheck()
    assert page.locator("#of-site").inner_text() == "Site: all 4"
    page.select_option("#choose-colour", "load_1_minute")
    assert page.locator("#key li").count() == 4
    assert page.troubles == []


def test_all_sites_are_shown_also_where_they_are_more_than_colours(page, tmp_path):
    sites = tuple(f"S{at}" for at in range(10))
    with Store.open(tmp_path / "lab.db") as store:
        for result in Hub(sites=sites, n_nights=1, storages=("root",)).results():
            store.put(result)
        publish(store, tmp_path / "pages", at=NOW)
    page.goto((tmp_path / "pages" / "explore.html").as_uri())
    assert "10 points of 10 sites" in page.locator("#answer").inner_text()
    assert "Opened with one test of many" in page.locator("#answer").inner_text()
    assert page.locator("#key li").last.inner_text().strip() == "3 others: S7, S8, S9"


@pytest.mark.parametrize("page", [{"screen": "telephone"}], indirect=True, ids=["telephone"])
def test_the_answer_is_on_the_first_screen_of_a_telephone(page, site):
    page.goto(address(site, "overview"))
    for words in (".answer", ".tiles li:first-child"):
        box = page.locator(words).bounding_box()
        assert box["y"] + box["height"] <= SCREENS["telephone"][1]
    assert page.locator("#stale").is_hidden()


# Without its script, by which a row of a wide table is a card there.
@pytest.mark.parametrize("page", [{"screen": "telephone", "script": False}], indirect=True, ids=["telephone"])
def test_pages_are_read_by_keyboard_alone(page, site):
    page.goto(address(site, "overview"))
    page.keyboard.press("Tab")
    skip = page.locator(".skip")
    assert skip.evaluate("one => one === document.activeElement")
    assert skip.bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.tiles') !== null")
    assert page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)") >= 2
    for _ in range(100):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "changed":
            break
    page.keyboard.press("ArrowRight")
    for _ in range(100):
        if page.evaluate("document.activeElement.id === 'changed' && document.activeElement.scrollLeft > 0"):
            break
        page.wait_for_timeout(20)
    else:
        pytest.fail("the table does not scroll by keyboard")


def test_failures_are_found_from_the_first_screen_by_following_links(page, site):
    page.goto(address(site, "overview"))
    page.locator(".tiles a", has_text="fail").click()
    page.locator("#failed a").first.click()
    assert "/results/" in page.url
    page.locator("main a", has_text="its series").click()
    assert "/series/" in page.url
    page.locator("nav a", has_text="storages").click()
    assert page.locator("h1").inner_text() == "Campaign storages"


@pytest.mark.parametrize(
    "page", [{"script": False}, {"script": True}], indirect=True, ids=["without", "with"]
)
def test_a_page_that_nobody_has_made_anew_says_so(page, tmp_path, request):
    has_script = request.node.callspec.params["page"]["script"]
    with Store.open(tmp_path / "lab.db") as store:
        made = Made(
            storages=("local",), engines=("root",), n_runs=1, first_day=NOW - timedelta(days=50, hours=1)
        )
        for result in made.results():
            store.put(result)
        publish(store, tmp_path / "pages", at=NOW - timedelta(days=40))
    page.goto((tmp_path / "pages" / "index.html").as_uri())
    assert page.locator("#stale").is_visible() == has_script
    # What was not old then is old by now.
    assert page.locator("#n-old").is_visible() == has_script
    assert page.locator("#old-tile b").inner_text() == ("3" if has_script else "0")
    age = page.locator("#campaigns td data[data-age]").inner_text()
    assert age == ("50 days" if has_script else "10 days")


def until(page, expression):
    """Wait until an expression is true; the page itself would not let Playwright ask again and again (its CSP)."""
    for _ in range(400):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(25)
    pytest.fail(f"never true: {expression}")


@pytest.mark.parametrize(
    "page", [{"script": False}, {"script": True}], indirect=True, ids=["without", "with"]
)
def test_what_is_folded_is_printed_and_opened_by_a_link_into_it(page, site, request):
    seen = "document.getElementById('matrix-0-numbers').checkVisibility({contentVisibilityAuto: true})"
    page.goto(address(site, "campaign"))
    assert not page.evaluate(seen)
    page.emulate_media(media="print")
    until(page, seen)  # another style takes a frame
    page.emulate_media(media="screen")
    if request.node.callspec.params["page"]["script"]:  # of a browser that does not know this style
        for event, is_seen in (("beforeprint", True), ("afterprint", False)):
            page.evaluate(f"dispatchEvent(new Event('{event}'))")
            until(page, seen if is_seen else f"!{seen}")
    page.goto(f"{address(site, 'campaign')}#matrix-0-numbers")
    until(page, seen)


def points_of(page):
    """The points that the page tells, as (date, engine and version, value)."""
    rows = page.evaluate(
        """() => [...document.querySelectorAll('#points tbody tr')].map(row =>
             [...row.cells].map(cell => cell.firstElementChild?.value ?? cell.textContent))"""
    )
    return sorted((date, site, engine, float(value)) for date, site, _, _, engine, _, value, _ in rows)


def test_points_are_those_of_the_store_and_a_link_keeps_the_choice(page, tmp_path):
    results = Hub(
        sites=("CERN", "RAL"), n_nights=4, models=("CPU A", "CPU B"), versions={0: "1", 2: "2"}
    ).results()
    with Store.open(tmp_path / "lab.db") as store:
        for result in results:
            store.put(result)
        publish(store, tmp_path / "pages", at=NOW)
        told = [
            (
                one.created_at[:16].replace("T", " "),
                one.site,
                f"root {one.version}",
                float(f"{one.cpu_median_ns:.4g}"),
            )
            for one in store.summaries(Filter(site=("RAL",), workload=("all",)))
        ]
    page.goto((tmp_path / "pages" / "explore.html").as_uri())
    page.locator("#of-test").click()
    page.locator("#choose details[data-axis=test] input:checked").uncheck()
    page.get_by_label("nanoaod / all / auto").check()
    page.locator("#of-storage").click()
    page.locator("#choose details[data-axis=storage] input:checked").uncheck()
    page.select_option("#choose-y", "cpu_ns")
    page.locator("#of-site").click()
    page.get_by_label("RAL", exact=True).check()
    assert points_of(page) == sorted(told)
    assert len(told) == 8
    page.select_option("#choose-colour", "cpu_model")
    models = {one.machine["cpu"] for one in results if one.site == "RAL"}
    assert {text.strip() for text in page.locator("#key li").all_inner_texts()} == models
    page.locator("#of-version").click()
    page.get_by_label("2", exact=True).check()
    chosen = points_of(page)
    assert chosen == sorted(one for one in told if one[2] == "root 2")
    page.fill("#choose-to", min(one[0] for one in chosen)[:10])
    assert points_of(page) == [one for one in chosen if one[0][:10] == chosen[0][0][:10]]
    page.fill("#choose-to", "")
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    assert points_of(page) == chosen
    assert page.locator("#of-site").inner_text() == "Site: RAL"
    page.locator("svg.figure").first.focus()
    page.keyboard.press("ArrowRight")
    assert "RAL / nanoaod / all / auto" in page.locator("#point a").inner_text()
    page.locator("#point a").click()
    assert "/series/" in page.url
    page.goto(link.replace("site=RAL", "site=DESY"))
    assert "Not among these results: DESY" in page.locator("#answer").inner_text()
    assert page.troubles == []


@pytest.mark.parametrize("page", [{"script": False}], indirect=True, ids=["without"])
def test_without_its_script_the_page_to_explore_leads_to_tables(page, site):
    page.goto(address(site, "explore"))
    assert "needs the page's script" in page.locator("noscript").inner_text()
    assert page.locator("#explore").is_hidden()
    page.locator("noscript a", has_text="storages").click()
    assert page.locator("h1").inner_text() == "Campaign storages"


class _Strict(SimpleHTTPRequestHandler):
    def end_headers(self):
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
        self.send_header("Content-Security-Policy", policy)
        super().end_headers()

    def log_message(self, *_):
        pass


def test_pages_obey_a_strict_policy_of_a_server(page, site):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Strict, directory=str(site["root"])))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        for kind in KINDS:
            page.goto(f"http://127.0.0.1:{server.server_port}/{Path(site[kind]).as_posix()}")
            assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "flex"
        # A browser asks for an icon by itself.
        assert [trouble for trouble in page.troubles if "404" not in trouble] == []
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
