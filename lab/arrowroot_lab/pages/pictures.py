"""The figures of the pages, made of rows and documents."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from arrowroot_lab.figures.bars import Bar, bars
from arrowroot_lab.figures.beside import Beside, beside
from arrowroot_lab.figures.curves import Point, Series, curves
from arrowroot_lab.figures.history import Mark, Moment
from arrowroot_lab.figures.history import history as history_figure
from arrowroot_lab.figures.matrix import Axis, Cell, Grid
from arrowroot_lab.figures.places import AtSite, by_site
from arrowroot_lab.figures.reads import Read, offsets
from arrowroot_lab.figures.samples import Predicted, Taken, samples
from arrowroot_lab.mining.comparison import N_NIGHTS, has_no_bounds
from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.metrics import METRICS
from arrowroot_lab.mining.results import label, natural
from arrowroot_lab.mining.table import Column
from arrowroot_lab.watching.levels import PREFIXES, level_of

from .snapshot import Facts, Snapshot, axes, has_time, why_no_time

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from arrowroot_lab.documents import Result
    from arrowroot_lab.figures.figure import Figure
    from arrowroot_lab.mining import Compared, History
    from arrowroot_lab.store import Summary
    from arrowroot_lab.watching.places import SiteHistory

WALL = Column("wall_ns", "Wall time", "time")
#: Beyond this a picture is no longer read at a glance; the tables have all.
MAX_ROWS, MAX_FIGURES, MAX_COMPARED = 40, 6, 30


def campaign_matrix(found: Sequence[Summary], snapshot: Snapshot) -> Figure | None:
    """Return the matrix of a campaign: programs across, what they are measured on down.

    Without programs that differ it is what the same work was measured on; sites have ``level_matrix``. None: nothing of
    that differs, and work is not compared with other work.
    """
    across, down = axes(found)
    if not across:
        across = [axis for axis in down if axis in ("storage", "layout", "node")][-1:]
        down = [axis for axis in down if axis not in across]
    # At several sites versions follow each other, on whichever machine there was.
    if not across or ("site" in down and not {"engine", "strategy"} & {*across}):
        return None
    cells: dict[tuple[str, str], Cell] = {}
    for one in found:
        cells[label(one, down) or "all", label(one, across)] = (
            Cell(one.wall_median_ns, "", one.reason or "")
            if has_time(one)
            else Cell(None, why_no_time(one), one.reason or "", snapshot.facts[one.uuid].disturbed_ns)
        )
    rows = tuple(dict.fromkeys(row for row, _ in cells))
    columns = tuple(dict.fromkeys(column for _, column in cells))
    caption = "Median of the counted samples of the newest results, and its ratio to the best of its row."
    if len(rows) > MAX_ROWS:
        caption += f" The first {MAX_ROWS} of {len(rows)} rows; the table of results has all."
        rows = rows[:MAX_ROWS]
    grid = Grid(cells, WALL, Axis(" / ".join(down) or "what", rows), Axis(" / ".join(across), columns))
    return grid.matrix("Wall time of each case", caption)


def level_matrix(
    histories: Sequence[SiteHistory], found: Sequence[Summary], silent: Container[str]
) -> Figure | None:
    """Return sites by tests, each cell over its own usual level; None: of a single site, or nobody can tell yet.

    histories: of the sites, in the order in which they are shown
    found: of a campaign, newest first
    silent: sites that nothing is heard of
    """
    names = _test_axes(found)
    tests = {one.uuid: label(one, names) or "all" for one in found}
    cells: dict[tuple[str, str], Cell] = {}
    sites = []
    for history in histories:
        of_test: dict[str, list[int]] = {}
        for at, results in enumerate(history.results):
            test = next((tests[one.uuid] for one in reversed(results) if one and one.uuid in tests), None)
            if test is not None:
                of_test.setdefault(test, []).append(at)
        sites += [history.site] if of_test else []
        for test, rows in of_test.items():
            ratio, metric, is_risen, _ = level_of(history, rows)
            told = METRICS[metric].title
            cells[history.site, test] = (
                Cell(None, "silent")
                if history.site in silent
                else Cell(ratio, "", told, is_ill=is_risen, prefix=PREFIXES[metric])
            )
    if len(sites) < 2 or not any(cell.value for cell in cells.values()):
        return None
    n_ill = Counter(test for (_, test), cell in cells.items() if cell.is_ill)
    columns = sorted({test for _, test in cells}, key=lambda test: (-n_ill[test], natural(test)))
    caption = (
        "Each cell over its own usual level, whichever machines its jobs landed on: 1 is as before, 2 is twice as "
        "long: the median of the last three rounds, of what rose that of all since. No test is compared with another "
        "one; an alarm tells the median of all its tests. Crosses are alarms; CPU, memory: of these, where they alone "
        "rose."
    )
    if len(sites) > MAX_ROWS:
        caption += f" The first {MAX_ROWS} of {len(sites)} sites, the ill ones first."
    axes = Axis("Site", tuple(sites[:MAX_ROWS])), Axis(" / ".join(names) or "Test", tuple(columns))
    grid = Grid(cells, Column("level", "Times the usual", "ratio"), *axes)
    return grid.levels("Each site and test against its own nights before", caption)


def _test_axes(found: Sequence[Summary]) -> list[str]:
    """The axes that tell tests apart that several sites may have."""
    _, others = axes(found)
    names = [axis for axis in (*others, "strategy", "engine") if axis != "site"]
    return [axis for axis in dict.fromkeys(names) if len({getattr(one, axis) for one in found}) > 1]


def campaign_bars(found: Sequence[Summary], snapshot: Snapshot) -> list[Figure]:
    """Return bars by storage (else by site, else by whatever differs), a figure for each of what differs besides.

    Where that would be a figure for each case, there is one of what was measured, and one of virtual time.
    """
    programs, others = axes(found)
    group = next((axis for axis in ("storage", "site", *others) if axis in others), None)
    facets = [axis for axis in others if axis != group]
    parts: dict[str, list[Bar]] = {}
    for one in found:
        facts = snapshot.facts.get(one.uuid)
        has_value = has_time(one)
        parts.setdefault(label(one, facets), []).append(
            Bar(
                str(getattr(one, group)) if group else one.dataset,
                label(one, programs) or one.engine,
                one.wall_median_ns if has_value else None,
                facts.low_ns if facts and has_value else None,
                facts.high_ns if facts and has_value else None,
                one.n_counted,
                "" if has_value else _why_not(one, facts),
            )
        )
    title = f"Wall time by {group or 'program'}"
    if len(found) < 2 * len(parts):
        both = [one for one in found if not one.is_virtual], [one for one in found if one.is_virtual]
        return [told for part in both if (told := _bars_of(part, snapshot, "Wall time"))]
    caption = "Bars are medians of the counted samples, whiskers go from the least to the most."
    return _first(
        [
            bars(
                f"{title}: {name}" if name else title,
                caption,
                data,
                WALL,
                group=(group or "dataset").capitalize(),
                series=" / ".join(programs) or "engine",
            )
            for name, data in parts.items()
            if any(bar.value is not None for bar in data)  # without any, the matrix says why
        ]
    )


def _first(figures: list[Figure]) -> list[Figure]:
    """The first figures; the last of them says what is left out."""
    n_left = len(figures) - MAX_FIGURES
    if n_left <= 0:
        return figures
    last = figures[MAX_FIGURES - 1]
    told = f"{last.caption} There are {n_left} more of its kind, whose numbers the table of results has."
    return [*figures[: MAX_FIGURES - 1], replace(last, caption=told)]


def run_bars(found: Sequence[Summary], snapshot: Snapshot) -> Figure | None:
    """Return the times of a run: those that were measured, else those in virtual time; None if there are none."""
    title = "Wall times of the last run"
    measured = _bars_of([one for one in found if not one.is_virtual], snapshot, title)
    return measured or _bars_of(found, snapshot, title)


def _bars_of(found: Sequence[Summary], snapshot: Snapshot, title: str) -> Figure | None:
    """The times of cases that have one in one figure; None if there are none."""
    times = {one.uuid: one.wall_median_ns or snapshot.facts[one.uuid].disturbed_ns for one in found}
    chosen = [one for one in found if one.outcome == "ok" and times[one.uuid]]
    if not chosen:
        return None
    programs, others = axes(chosen)
    group, *rest = others or ["dataset"]
    data = []
    for one in chosen[:MAX_ROWS]:
        name = label(one, [*rest, *programs]) or one.workload
        bar = Bar(str(getattr(one, group)), name, times[one.uuid], n=one.n_counted)
        if has_time(one):
            facts = snapshot.facts[one.uuid]
            bar = replace(bar, low=facts.low_ns, high=facts.high_ns)
        else:
            bar = replace(bar, is_disturbed=True)
        data.append(bar)
    captions = []
    if any(map(has_time, chosen)):
        captions.append("Bars are medians of the counted samples, whiskers go from the least to the most.")
    if not all(map(has_time, chosen)):
        captions.append(
            "Empty bars are medians of disturbed samples, which do not count: the machine was busy."
        )
    caption = " ".join(captions)
    if len(chosen) > MAX_ROWS:
        caption += f" The first {MAX_ROWS} of {len(chosen)} cases."
    series = " / ".join([*rest, *programs]) or "Workload"
    title += " in virtual time" if chosen[0].is_virtual else ""
    return bars(title, caption, data, WALL, group=group.capitalize(), series=series)


def _why_not(one: Summary, facts: Facts | None) -> str:
    """Return the note of a bar that is not there."""
    about = (
        "" if facts is None or facts.disturbed_ns is None else f"about {shown(facts.disturbed_ns, 'time')}, "
    )
    return f"{about}{why_no_time(one)}: {one.reason or 'no reason told'}"


def by_site_and_version(
    found: Sequence[Summary], silent: Container[str], ill_by: Callable[[Summary], str]
) -> list[Figure]:
    """Return wall time and CPU efficiency by site and version, a figure for each test, those that are ill first.

    found: of a campaign, newest first
    silent: sites that nothing is heard of
    ill_by: tells what a result's place does, as "slower"; "": it is not ill
    """
    measured = [one for one in found if not one.is_virtual]
    sites = sorted({one.site for one in measured}, key=natural)
    if len(sites) < 2:
        return []
    tests: dict[str, list[Summary]] = {}
    names = [axis for axis in _test_axes(measured) if axis != "engine"]
    for one in measured:
        tests.setdefault(label(one, names), []).append(one)
    caption = (
        f"Medians of the {N_NIGHTS} newest nights of each version, whiskers from the least to the most. Sites never "
        "run in turns: machines, lines and loads are in it."
    )
    if len(measured) < len(found):
        caption += " Replays in virtual time are left out."
    ill = {
        name: {one.site: word for one in reversed(of_test) if (word := ill_by(one))}
        for name, of_test in tests.items()
    }
    ordered = sorted(
        tests.items(),
        key=lambda test: (-len(ill[test[0]]), -len({one.site for one in test[1]}), natural(test[0])),
    )
    versions = {(one.engine, one.version) for one in measured}
    what = "by site and version" if len(versions) > 1 else "by site"
    return [
        by_site(
            f"Wall time and CPU efficiency {what}{f': {name}' if name else ''}",
            caption,
            _at_sites(
                of_test,
                sites,
                {
                    site: "silent" if site in silent else ill[name][site]
                    for site in sites
                    if site in silent or site in ill[name]
                },
            ),
        )
        for name, of_test in ordered
    ]


def _at_sites(found: Sequence[Summary], sites: Sequence[str], words: Mapping[str, str]) -> list[AtSite]:
    """Each version at each site, those that are not there, too.

    words: what is to be said of sites
    """
    engines = {one.engine for one in found}
    cells: dict[tuple[str, str], list[Summary]] = {}
    for one in found:
        version = f"{one.engine} {one.version}" if len(engines) > 1 else one.version
        cells.setdefault((one.site, version), []).append(one)
    versions = sorted({version for _, version in cells}, key=natural)
    return [
        replace(_at_site(site, version, cells.get((site, version), [])), word=words.get(site, ""))
        for site in sites
        for version in versions
    ]


def _at_site(site: str, version: str, found: Sequence[Summary]) -> AtSite:
    timed = [one for one in found if has_time(one)][:N_NIGHTS]
    if not timed:
        why = f"{why_no_time(found[0])}: {found[0].reason or 'no reason told'}" if found else ""
        return AtSite(site, version, None, note=why)
    walls = [one.wall_median_ns for one in timed if one.wall_median_ns]
    shares = [
        one.cpu_median_ns / (one.wall_median_ns * one.n_cores)
        for one in timed
        if one.cpu_median_ns and one.wall_median_ns
    ]
    return AtSite(
        site,
        version,
        statistics.median(walls),
        min(walls),
        max(walls),
        statistics.median(shares) if shares else None,
        len(timed),
    )


def efficiency_by_round_trip(found: Sequence[Summary], snapshot: Snapshot) -> list[Figure]:
    """Return CPU efficiency against the round trip, a figure for each workload that was measured at two or more."""
    programs, others = axes(found)
    names = [*(axis for axis in others if axis not in ("storage", "workload")), *programs]
    parts: dict[str, dict[str, list[Point]]] = {}
    for one in found:
        facts = snapshot.facts.get(one.uuid)
        if (
            one.outcome != "ok"
            or facts is None
            or facts.cpu_efficiency is None
            or facts.round_trip_ns is None
        ):
            continue
        point = Point(facts.round_trip_ns, facts.cpu_efficiency, note=one.storage)
        parts.setdefault(one.workload, {}).setdefault(label(one, names) or one.engine, []).append(point)
    figures = []
    for workload, series in parts.items():
        trips = [point.x for points in series.values() for point in points]
        if max(trips) < 2 * min(trips) + 1e6:
            continue
        figures.append(
            curves(
                f"CPU efficiency against the round trip: {workload}",
                "CPU time over wall time of the cores that were asked for, at each storage; at 100 % nothing waits.",
                [Series(name, tuple(points)) for name, points in series.items()],
                Column("round_trip_ns", "Round trip", "time"),
                Column("cpu_efficiency", "CPU efficiency", "share"),
                from_zero=True,
            )
        )
    return _first(figures)


def series_history(told: History, alarms: Mapping[str, str] | None = None) -> Figure:
    """Return the history of a series, with a mark for whatever changed.

    alarms: the date since when a place is ill -> the place
    """
    title = told.metric.title[:1].upper() + told.metric.title[1:]
    column = Column(told.metric.key, title, told.metric.form)
    moments = [
        Moment(
            point.created_at,
            point.version,
            point.figure,
            min(point.values, default=None),
            max(point.values, default=None),
            "" if point.figure is not None else point.outcome,
        )
        for point in told.points
    ]
    marks = []
    for since, ill in (alarms or {}).items():
        first = next((place for place, point in enumerate(told.points) if point.created_at >= since), None)
        marks += [Mark(first, "alarm", ill)] if first is not None else []
    for place, point in enumerate(told.points):
        level = [] if point.change is None else [f"{shown(point.change, 'ratio')} times the level before"]
        news = [
            mark
            for mark in point.marks[len(level) :]
            if place and not (point.outcome != "ok" and mark.startswith(point.outcome))
        ]
        marks += [Mark(place, "change point", one) for one in level]
        marks += [Mark(place, "changed", "; ".join(news))] if news else []
    caption = (
        f"One point a result: the {told.statistic} of its counted samples, with the least and the most. Dotted lines "
        "are alarms, change points of the level, and changes of versions or of the environment; crosses are results "
        "without a figure."
    )
    return history_figure(f"{title} of the series", caption, moments, marks, column)


def result_samples(result: Result) -> Figure | None:
    """Return the samples of a result in their order, with the predictions; None if there are none."""
    if not result.samples:
        return None
    taken = [
        Taken(
            sample.turn,
            sample.wall_ns,
            ""
            if sample.is_counted()
            else "; ".join(sample.disturbed) or f"{sample.outcome.value}: {sample.reason or ''}",
        )
        for sample in result.samples
    ]
    predicted = [
        Predicted(str(one.get("by", "a runner")), float(one["wall_ns"]), float(one.get("error_share") or 0))
        for one in result.predictions
        if one.get("wall_ns")
    ]
    caption = "Each point is a sample; crosses were disturbed or failed, and are not counted."
    if predicted:
        caption += " Lines are predictions, bands their error."
    return samples("Samples in their order", caption, taken, predicted, WALL)


def result_reads(result: Result) -> Figure | None:
    """Return where in the file and when was read, if the engine wrote a trace of it; None otherwise."""
    told = result.reads or {}
    columns = [told.get(key) or [] for key in ("entries", "offsets", "n_bytes", "end_ns")]
    if not all(columns) or len({len(column) for column in columns}) > 1:
        return None
    reads, entry = [], 0
    for begin, offset, n_bytes, end_ns in zip(*columns, strict=True):
        # A read in which no entry begins is of the one before.
        entry = entry if begin is None else int(begin)
        reads.append(Read(entry, int(offset), int(n_bytes), int(end_ns)))
    caption = "Each stroke is a read, from its first to its last byte, at the entry that was being read then."
    if (n_reads := int(told.get("n_reads") or 0)) > len(reads):
        caption += f" {len(reads):,} of {n_reads:,} reads are shown."
    return offsets(
        "Where in the file, and when, was read",
        caption,
        reads,
        file_bytes=int(result.dataset.get("file_bytes") or 0),
        n_entries=int(result.dataset.get("n_entries") or 0),
    )


def compared_figure(compared: Sequence[Compared], names: Sequence[str], before: str, now: str) -> Figure:
    """Return the ratios of one pair of sides, case by case."""
    rows = [
        Beside(
            name,
            WALL.form,
            one.before_figure,
            one.now_figure,
            one.comparison.ratio,
            one.comparison.low,
            one.comparison.high,
            one.comparison.verdict.value,
        )
        for one, name in zip(compared, names, strict=True)
    ][:MAX_COMPARED]
    caption = "Ratios of pairs that were taken in turns, with their 99 % bounds; left of 1 is better."
    if all(one.comparison.is_exact for one in compared):
        bounds = "" if all(map(has_no_bounds, compared)) else "; bounds are of several runs"
        caption = f"Ratios in virtual time, of replays of one trace{bounds}. Left of 1 is better."
    if len(compared) > MAX_COMPARED:
        caption += f" The first {MAX_COMPARED} of {len(compared)} cases; the table has all."
    return beside(f"Ratios of wall times: {now} over {before}", caption, rows, left=before, right=now)
