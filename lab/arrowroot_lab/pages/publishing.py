"""Publishes a store as static pages: no server, no host outside, and from a file they work, too."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from importlib.resources import files
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import arrowroot_lab
from arrowroot_lab.errors import RequestError
from arrowroot_lab.figures.figure import style_sheet
from arrowroot_lab.mining import report
from arrowroot_lab.mining.comparison import SIDES, Measured, compare_measured, measured_of
from arrowroot_lab.mining.history import history_of, level_changes
from arrowroot_lab.mining.measured import measured_table
from arrowroot_lab.mining.news import news, standing
from arrowroot_lab.mining.overview import OLD_DAYS, overview_of
from arrowroot_lab.mining.report import again
from arrowroot_lab.mining.results import axes_of, label, table_of, varying
from arrowroot_lab.statistics import Verdict
from arrowroot_lab.watching import telling_places
from arrowroot_lab.watching.choosing import Chosen
from arrowroot_lab.watching.evidence import with_evidence
from arrowroot_lab.watching.levels import TO_WATCH
from arrowroot_lab.watching.sites import MOST_SITES, SiteCell, sites

from . import pictures
from .exploring import explored
from .html import Linked, render, slug
from .ills import Ill, first_choice, ills_of, reading_links, what_of
from .listing import MOST_DAYS, last_days, listed_of, months_of
from .site import swapped
from .snapshot import (
    BAD,
    Snapshot,
    answers,
    campaign_page,
    classic_page,
    classics_page,
    compare_page,
    explore_page,
    facts_of,
    has_time,
    in_order,
    result_page,
    runs_of,
    series_page,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arrowroot_lab.classics.classic import Classic
    from arrowroot_lab.documents import Result
    from arrowroot_lab.figures.figure import Figure
    from arrowroot_lab.mining import Compared, History
    from arrowroot_lab.mining.table import ResultTable
    from arrowroot_lab.store import Store, Summary
    from arrowroot_lab.watching.places import SiteHistory

#: Where one begins to read.
FIRST = "index.html"
#: Pairs are looked for in what so many of the newest commands have measured of a campaign.
N_RUNS = 5
#: So many pictures of a campaign by site are seen at once, on its page and on the first one.
N_BY_SITE = 2
#: What pictures by site may take of a campaign's page, in characters: it has a megabyte at most.
MOST_PICTURED = 500_000
#: Of more values of an axis each is compared with the first alone, not with each other.
MAX_EACH_WITH_EACH = 4


@dataclass(frozen=True)
class Published:
    """What was written."""

    first: Path
    n_pages: int
    n_results: int


@dataclass(frozen=True)
class _Story:
    """A classic on the first page of them."""

    classic: Classic
    page: str
    #: Its headline, and its first figure.
    linked: Linked
    shown: _Shown


@dataclass(frozen=True)
class _Shown:
    """A figure for a template, with its name and the links of its table."""

    name: str
    figure: Figure
    linked: Linked


def publish(
    store: Store,
    directory: Path,
    *,
    classics: Sequence[Classic] = (),
    place: str | None = None,
    at: datetime | None = None,
    since: str | None = None,
) -> Published:
    """Write the pages of all results to a directory; what was published there before is replaced as a whole.

    Args:
        store: where from
        directory: not there yet, empty, or published by us before
        classics: pages of classics, in their order
        place: where the pages say that they are from; None: the store's
        at: the moment to which ages are counted, UTC; None: now
        since: a date: older results are left out, but for the newest of each series and version; None: none is

    Raises: RequestError if the directory has other files; LabError if it cannot be written.
    """
    snapshot = Snapshot(store, at or datetime.now(timezone.utc), since)
    told = {"version": arrowroot_lab.__version__, "made_at": _date(snapshot.at)}
    with swapped(directory, told) as new:
        site = _Site(new, snapshot, classics, place or store.place)
        site.write()
    return Published(directory / FIRST, site.n_pages, len(snapshot.summaries))


class _Site:
    def __init__(self, root: Path, snapshot: Snapshot, classics: Sequence[Classic], place: str) -> None:
        self.root, self.snapshot, self.classics, self.n_pages = root, snapshot, classics, 0
        #: The series with change points; filled while they are written.
        self.histories: list[History] = []
        self.found = overview_of(snapshot.store, snapshot.summaries, at=snapshot.at)
        self.places = sites(Chosen.all_of(snapshot.figures), snapshot.at, self.found.failing)
        #: None if no site is heard of: then no place is to blame.
        alarms = [] if self.places.is_deaf else with_evidence(self.places.alarms, snapshot.store)
        self.ills = ills_of(alarms, snapshot.summaries)
        self.by_site: dict[str, list[_Shown]] = {}
        self.by_uuid = {one.uuid: one for one in snapshot.summaries}
        navigation = [(name, campaign_page(name)) for name in snapshot.campaigns[:8]]
        navigation += [("Classics", classics_page())] if classics else []
        navigation += [("Explore", explore_page())] if snapshot.summaries else []
        self.common = {
            "version": arrowroot_lab.__version__,
            "made_at": _date(snapshot.at),
            "now": snapshot.at,
            "n_by_site": N_BY_SITE,
            "most_days": MOST_DAYS,
            "place": place,
            "navigation": navigation,
        }

    def write(self) -> None:
        """Write all pages, the first one last."""
        for name in ("style.css", "page.js", "explore.js"):
            text = files("arrowroot_lab.pages").joinpath("assets").joinpath(name).read_text(encoding="utf-8")
            (self.root / name).write_text(text, encoding="utf-8")
        (self.root / "figures.css").write_text(style_sheet(), encoding="utf-8")
        for group in self.snapshot.series().values():
            self._series(group)
        for name in self.snapshot.campaigns:
            self._campaign(name)
        for classic in self.classics:
            self._classic(classic)
        if self.classics:
            self._page(classics_page(), "classics.html", "The classics, done again", stories=self._stories())
        if self.snapshot.summaries:
            since = self.snapshot.since or ""
            told = explored([one for one in self.snapshot.summaries if one.created_at >= since])
            choice, of_choice = first_choice(self.ills, self.places.highest, self.snapshot.summaries)
            self._page(
                explore_page(), "explore.html", "Explore", told=told, choice=choice, told_of_choice=of_choice
            )
        self._overview()

    def _page(self, path: str, template: str, title: str, **context: Any) -> None:
        place = self.root / path
        place.parent.mkdir(exist_ok=True)
        root = "../" * path.count("/")
        told = dict(self.common, root=root, here=path, title=title, **context)
        place.write_text(render(template, told), encoding="utf-8")
        self.n_pages += 1

    def _overview(self) -> None:
        snapshot, found, places = self.snapshot, self.found, self.places
        verdicts = Counter(one.comparison.verdict.value for one in found.compared)
        changed = [one for one in found.compared if one.comparison.verdict.value in ("better", "worse")]
        new = news(snapshot.summaries)
        since = (snapshot.at - timedelta(days=OLD_DAYS)).isoformat()[:10]
        levels = level_changes(self.histories, since)
        self._page(
            FIRST,
            "overview.html",
            "Overview",
            n_results=len(snapshot.summaries),
            n_series=len(snapshot.series()),
            newest=snapshot.summaries[0] if snapshot.summaries else None,
            verdicts=verdicts,
            not_in_turns=bool(found.compared) and not any(one.comparison.n_pairs for one in found.compared),
            n_disturbed=_n_disturbed(standing(snapshot.summaries)),
            campaigns=self._linked(found.campaigns, "campaigns"),
            last=self._last_run(),
            changed=Linked(found.changed, "changed", _links_of(changed)),
            news=self._linked(new, "news"),
            n_failing=sum(row["what"] == "fails now" for row in new.records()),
            n_working=sum(row["what"] == "works again" for row in new.records()),
            levels=self._linked(levels, "levels"),
            n_levels=len({row["series_id"] for row in levels.records()}),
            n_rose=len({row["series_id"] for row in levels.records() if row["change"] >= TO_WATCH}),
            places=places,
            ill=telling_places.headline(places.alarms),
            ills=self.ills,
            sites=self._sites(),
            failed=self._linked(found.failed, "failed"),
            old=self._linked(found.old, "old"),
            n_last=sum(
                len(next(iter(runs_of(snapshot.of_campaign(name)).values()))) for name in snapshot.campaigns
            ),
            n_campaigns=len(snapshot.campaigns),
            old_days=OLD_DAYS,
            last_days=last_days(standing(snapshot.summaries)),
            stories=self._stories(),
            classics_page=classics_page(),
        )

    def _ills(self, found: Sequence[Summary]) -> list[Ill]:
        """What is ill of that which results are of."""
        return [ill for ill in self.ills if any(map(ill.has, found))]

    def _sites(self) -> list[Linked]:
        """The table of sites; of many those that are well have one of their own. Each level leads to what shows it."""
        cells, table = self.places.cells, self.places.table
        n = len(table.rows)
        n_ill = sum(cells[row, "state"].look in ("bad", "watch") for row in range(n))
        parts = [("sites", 0, n)] if n <= MOST_SITES else [("sites", 0, n_ill), ("sites-well", n_ill, n)]
        found = []
        for name, begin, end in (part for part in parts if part[1] < part[2]):
            own = {(row - begin, key): cell for (row, key), cell in cells.items() if begin <= row < end}
            links = {at: page for at, cell in own.items() if cell.uuid and (page := self._page_of(cell))}
            looks = {at: cell.look for at, cell in own.items() if cell.look}
            notes = table.notes if end == n else ()
            more = {at: (cell.more, cell.newest) for at, cell in own.items() if cell.newest}
            rows = table.rows[begin:end]
            found.append(
                Linked(replace(table, rows=rows, notes=notes), name, links, looks, more, self.snapshot.at)
            )
        return found

    def _page_of(self, cell: SiteCell) -> str | None:
        """The page that shows a level: of what is ill a figure of all kinds of machines, else a series of it."""
        one = self.by_uuid.get(cell.uuid or "")
        ill = next((ill for ill in self.ills if one and cell.look == "bad" and ill.has(one)), None)
        return ill.page_at(one) if ill and one else self._series_of(cell.uuid or "")

    def _histories(self) -> list[SiteHistory]:
        """The histories of the sites, in the order of their table."""
        order = {str(row[0]): place for place, row in enumerate(self.places.table.rows)}
        return sorted(self.places.histories, key=lambda one: order[one.site])

    def _silent_place(self, one: Summary) -> str | None:
        """The place of a result, with the day since when it is silent; None: it is heard of."""
        for place in (one.site, f"{one.site}, storage {one.storage}"):
            if place in self.places.silent:
                return f"{place}, silent since {self.places.silent[place]}"
        return None

    def _series_of(self, uuid: str) -> str | None:
        one = self.by_uuid.get(uuid)
        return series_page(one.series_id) if one else None

    def _last_run(self) -> dict[str, Any] | None:
        """The figures of the newest command, or of its campaign if that has several sites; None without results."""
        run = next(iter(runs_of(self.snapshot.summaries).values()), None)
        if run is None:
            return None
        found = in_order(run)
        if by_site := self._by_site(found[0].campaign):
            return {
                "campaign": found[0].campaign,
                "page": campaign_page(found[0].campaign),
                "by_site": by_site[:N_BY_SITE],
                "n_by_site": len(by_site),
                "n_versions": _n_versions(self.snapshot.of_campaign(found[0].campaign)),
            }
        figure = pictures.run_bars(found, self.snapshot)
        table = replace(measured_table(found, self.snapshot.facts), title="The last run")
        links = {(place, "case"): result_page(one.uuid) for place, one in enumerate(found)}
        return {
            "campaign": found[0].campaign,
            "page": campaign_page(found[0].campaign),
            "by_site": [],
            "answer": answers(found),
            "shown": [self._shown(figure, "last-figure")] if figure else [],
            "table": Linked(table, "last", links),
        }

    def _stories(self) -> list[_Story]:
        """The classics as cards: the first sentence, some figures, the first picture."""
        told = []
        for classic in self.classics:
            linked = Linked(classic.headline.table(), f"{classic.name}-headline")
            shown = self._shown(classic.figures[0], f"{classic.name}-figure")
            told.append(_Story(classic, classic_page(classic.name), linked, shown))
        return told

    def _campaign(self, name: str) -> None:
        all_results = self.snapshot.of_campaign(name)
        found = in_order(standing(all_results))
        runs = runs_of(all_results)
        failed = [one for one in found if one.outcome in BAD]
        matrices = (
            pictures.level_matrix(self._histories(), all_results, self.places.silent),
            pictures.campaign_matrix(found, self.snapshot),
        )
        by_site, listed = self._by_site(name), listed_of(found)
        shown = _fitting(by_site)
        # Of several sites these would be a part of the same.
        by_storage = [] if by_site else pictures.campaign_bars(found, self.snapshot)
        by_trip = pictures.efficiency_by_round_trip(found, self.snapshot)
        self._page(
            campaign_page(name),
            "campaign.html",
            name,
            ills=self._ills(found),
            n_ill=sum(one.outcome == "ok" and bool(self._ills([one])) for one in found),
            ends=Counter(one.outcome for one in found),
            answers=answers([one for one in found if not self._silent_place(one)]),
            silent=sorted({place for one in found if (place := self._silent_place(one))}),
            n_disturbed=_n_disturbed(found),
            found=found,
            n_cases=len(set(map(what_of, found))),
            failed=[(label(one, self._differing(found)), one, result_page(one.uuid)) for one in failed],
            last=all_results[0],
            months=months_of(all_results),
            n_sites=len({one.site for one in all_results}),
            matrix=[
                self._shown(each, f"matrix-{place}") for place, each in enumerate(filter(None, matrices))
            ],
            by_site=shown,
            n_not_pictured=len(by_site) - len(shown),
            n_versions=_n_versions(all_results),
            readings=reading_links(self._ills(found), all_results),
            bars=[self._shown(each, f"bars-{place}") for place, each in enumerate(by_storage)],
            efficiency=[self._shown(each, f"efficiency-{place}") for place, each in enumerate(by_trip)],
            comparisons=self._comparisons(name, runs),
            results=self._linked(table_of(listed), "results"),
            n_not_listed=len(found) - len(listed),
        )

    def _by_site(self, campaign: str) -> list[_Shown]:
        """The pictures of a campaign by site and version; none of a single site. Two pages have them."""
        if campaign not in self.by_site:
            found = pictures.by_site_and_version(
                self.snapshot.of_campaign(campaign),
                self.places.silent,
                lambda one: next(
                    (ill.alarm.word for ill in self.ills if ill.alarm.ratios and ill.has(one)), ""
                ),
            )
            self.by_site[campaign] = [
                self._shown(each, f"by-site-{place}") for place, each in enumerate(found)
            ]
        return self.by_site[campaign]

    def _comparisons(
        self, campaign: str, runs: dict[str, list[Summary]]
    ) -> list[tuple[str, str, list[dict[str, Any]]]]:
        """Write the comparisons of a campaign; return axis, address and pairs of each."""
        newest = {one.uuid for run in [run for run in runs if run][:N_RUNS] or runs for one in runs[run]}
        found = measured_of(one for one in self.snapshot.of_campaign(campaign) if one.uuid in newest)
        written = []
        for axis in SIDES:
            pairs, is_each = _pairs(found, axis)
            parts = [part for before, now in pairs if (part := self._compared(found, axis, before, now))]
            if not parts:
                continue
            path = compare_page(campaign, axis)
            shown = []
            for name, table, compared in parts:
                sides = [_side(found, axis, value) for value in (compared[0].before, compared[0].now)]
                shown.append(self._part(table, compared, name, sides))
            self._page(
                path,
                "compare.html",
                f"{campaign}: compared by {axis}",
                campaign=campaign,
                campaign_page=campaign_page(campaign),
                axis=axis,
                parts=shown,
                is_each=is_each,
            )
            written.append((axis, path, shown))
        return written

    def _compared(
        self, found: Sequence[Measured], axis: str, before: str, now: str
    ) -> tuple[str, ResultTable, list[Compared]] | None:
        try:
            table, compared = compare_measured(self.snapshot.store, found, by=axis, before=before, now=now)
        except RequestError:
            return None  # no case has both
        return f"{slug(now)}-judged-by-{slug(before)}", table, compared

    def _part(
        self, table: ResultTable, compared: list[Compared], name: str, sides: Sequence[str]
    ) -> dict[str, Any]:
        differing, _ = varying([one.case for one in compared])
        verdicts = Counter(one.comparison.verdict.value for one in compared)
        names = [
            " / ".join(one.case[axis] for axis in differing if axis in one.case) or "the case"
            for one in compared
        ]
        return {
            "name": name,
            "before": sides[0],
            "now": sides[1],
            "verdicts": verdicts,
            "is_open": set(verdicts) == {Verdict.NOT_ENOUGH.value},
            "is_exact": all(one.comparison.is_exact for one in compared),
            "figure": self._shown(pictures.compared_figure(compared, names, *sides), f"{name}-figure")
            if any(one.comparison.ratio for one in compared)
            else None,
            "table": Linked(table, f"{name}-table", _links_of(compared)),
        }

    def _series(self, group: list[Summary]) -> None:
        """Write a series and its results; their documents are read once, and only these are in memory."""
        paged = [place for place, one in enumerate(group) if one.uuid in self.snapshot.paged]
        results = list(self.snapshot.store.of(group[place].uuid for place in paged))
        for place, result in zip(paged, results, strict=True):
            self.snapshot.facts[result.uuid] = facts_of(result)
            before = group[place - 1] if place else None
            after = group[place + 1] if place + 1 < len(group) else None
            self._result(group[place], result, before, after)
        told = history_of(self.snapshot.store, group)
        last, ills = group[-1], self._ills(group[-1:])
        since = {ill.alarm.since: ill.alarm.place for ill in ills if ill.alarm.since and ill.alarm.ratios}
        rose = dict.fromkeys(metric for ill in ills for metric in ill.alarm.ratios if metric != "wall_ns")
        shown = [told, *(history_of(self.snapshot.store, group, key=metric) for metric in rose)]
        changes = [point for point in told.points if point.change is not None]
        if changes or told.also:
            self.histories.append(told)
        self._page(
            series_page(last.series_id),
            "series.html",
            told.label,
            ills=ills,
            last=last,
            campaign_page=campaign_page(last.campaign),
            shown=[
                self._shown(pictures.series_history(one, since), f"history-{place}" if place else "history")
                for place, one in enumerate(shown)
            ],
            changes=changes,
            points=self._linked(told.table(), "points"),
            machine=results[-1].machine,
            n_results=len(group),
            n_paged=len(paged),
        )

    def _result(
        self, summary: Summary, result: Result, before: Summary | None, after: Summary | None
    ) -> None:
        shown = [
            self._shown(figure, name)
            for name, figure in (
                ("samples", pictures.result_samples(result)),
                ("reads", pictures.result_reads(result)),
            )
            if figure is not None
        ]
        facts = self.snapshot.facts[summary.uuid]
        order = ("Figures", "Samples", "Predictions", "Counters")
        place = self.snapshot.store.place
        tables = sorted(
            report(result, place),
            key=lambda table: order.index(table.title) if table.title in order else len(order),
        )
        self._page(
            result_page(result.uuid),
            "result.html",
            summary.label(),
            ills=[one for one in self._ills([summary]) if summary.created_at >= (one.alarm.since or "")],
            summary=summary,
            result=result,
            facts=facts,
            campaign_page=campaign_page(summary.campaign),
            series_page=series_page(summary.series_id),
            before=result_page(before.uuid) if before and before.uuid in self.snapshot.paged else None,
            after=result_page(after.uuid) if after and after.uuid in self.snapshot.paged else None,
            shown=shown,
            command=again(result, place),
            tables=[self._linked(table, f"table-{slug(table.title)}") for table in tables],
        )

    def _classic(self, classic: Classic) -> None:
        self._page(
            classic_page(classic.name),
            "classic.html",
            classic.title,
            classic=classic,
            shown=[self._shown(figure, f"figure-{place}") for place, figure in enumerate(classic.figures)],
            tables=[_folded(table, f"table-{place}") for place, table in enumerate(classic.tables)],
            statements=Linked(classic.statements(), "statements"),
        )

    def _differing(self, found: Sequence[Summary]) -> list[str]:
        return varying([axes_of(one) for one in found])[0] or ["workload"]

    def _linked(self, table: ResultTable, name: str) -> Linked:
        """A table whose keys of results, series and campaigns lead to their pages."""
        pages = {"uuid": result_page, "series_id": series_page, "campaign": campaign_page}
        links: dict[tuple[int, str], str] = {}
        for place, column in enumerate(table.columns):
            page = pages.get(column.key)
            if page is not None:
                links |= {
                    (row, column.key): page(str(cells[place]))
                    for row, cells in enumerate(table.rows)
                    if column.key != "uuid" or cells[place] in self.snapshot.paged
                }
        return Linked(table, name, links)

    def _shown(self, figure: Figure, name: str) -> _Shown:
        return _Shown(name, figure, self._linked(figure.table, f"{name}-numbers"))


def _fitting(shown: Sequence[_Shown]) -> list[_Shown]:
    """The first pictures, as far as there is room."""
    sizes = accumulate(len(one.figure.svg) + len(one.figure.narrow_svg) for one in shown)
    return [one for one, size in zip(shown, sizes, strict=True) if size <= MOST_PICTURED]


def _n_versions(found: Sequence[Summary]) -> int:
    return len({(one.engine, one.version) for one in found})


def _n_disturbed(found: Sequence[Summary]) -> int:
    return sum(one.outcome == "ok" and not has_time(one) for one in found)


def _side(found: Sequence[Measured], axis: str, value: str) -> str:
    """The name of a side, for people: a version is of an engine."""
    if axis != "version":
        return value
    engines = dict.fromkeys(one.axes["engine"] for one in found if one.axes.get("version") == value)
    return f"{', '.join(engines)} {value}"


def _pairs(found: Sequence[Measured], axis: str) -> tuple[list[tuple[str, str]], bool]:
    """The pairs of values that are compared, and whether that is each with each; versions are those of one engine."""
    values: dict[str, dict[str, None]] = {}
    for one in reversed(found):
        part = one.axes["engine"] if axis == "version" else ""
        if axis in one.axes:
            values.setdefault(part, {})[one.axes[axis]] = None
    is_each = all(len(names) <= MAX_EACH_WITH_EACH for names in values.values())
    # Engines of one program have the same versions: what is compared is all of theirs.
    pairs = dict.fromkeys(
        (before, now)
        for names in map(list, values.values())
        for place, now in enumerate(names)
        for before in names[: place if len(names) <= MAX_EACH_WITH_EACH else min(place, 1)]
    )
    return list(pairs), is_each


def _links_of(compared: Sequence[Compared]) -> dict[tuple[int, str], str]:
    """The links of a table of comparisons: each figure leads to the newest result that it is of."""
    links = {}
    for place, one in enumerate(compared):
        links[place, "verdict"] = links[place, "wall_ns_now"] = result_page(one.now_uuid)
        links[place, "wall_ns_before"] = result_page(one.before_uuid)
    return links


def _date(at: datetime) -> str:
    return at.astimezone(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")


def _folded(table: ResultTable, name: str) -> tuple[Linked, str]:
    """Return a table of a classic, and what is seen of it while it is folded; "": it is short, and is not."""
    linked = Linked(table, name)
    if not linked.is_long:
        return linked, ""
    told = " ".join((f"{table.title}: {len(table.rows)} rows.", *table.notes))
    return Linked(replace(table, notes=()), name), told
