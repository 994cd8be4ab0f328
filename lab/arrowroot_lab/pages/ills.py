"""Places that are ill, as pages tell them: which results are theirs, and what is chosen to see it in a figure."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from arrowroot_lab.mining.metrics import READINGS
from arrowroot_lab.watching.alarms import PlaceState

from .exploring import AXES, COLUMNS, names_of
from .snapshot import explore_page, has_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arrowroot_lab.store import Summary
    from arrowroot_lab.watching.alarms import PlaceAlarm

#: A step of so few results on a side is none to choose a test by; and the spread that counts at least.
_LEAST, _LEAST_SPREAD = 3, 0.005


@dataclass(frozen=True)
class Ill:
    """A place that is ill, or an engine."""

    alarm: PlaceAlarm
    #: What is measured there, see ``what_of``.
    theirs: frozenset[tuple[str | int | None, ...]]
    #: The metric that rose, or that of any; and the page that shows it, with what is chosen there.
    metric: str
    page: str

    def page_at(self, one: Summary) -> str:
        """The same figure, of the site and the storage of one result alone."""
        page, _, chosen = self.page.partition("#")
        own = [(axis, names_of(one)[axis]) for axis in ("site", "storage")]
        rest = [(key, value) for key, value in parse_qsl(chosen) if key not in ("site", "storage", "colour")]
        return f"{page}#{urlencode([*own, *rest, ('colour', 'cpu_model')])}"

    def has(self, one: Summary) -> bool:
        """True if a result is of this place, on whichever kind of machine it was measured."""
        return what_of(one) in self.theirs


def ills_of(alarms: Iterable[PlaceAlarm], found: Sequence[Summary]) -> list[Ill]:
    """Return what is ill, in its order.

    found: all results
    """
    by_uuid = {one.uuid: one for one in found}
    return [_ill(alarm, by_uuid, found) for alarm in alarms]


def _ill(alarm: PlaceAlarm, by_uuid: dict[str, Summary], found: Sequence[Summary]) -> Ill:
    if alarm.state is PlaceState.SILENT:
        site, _, storage = alarm.place.partition(", storage ")
        own = [one for one in found if one.site == site and storage in ("", one.storage)]
    else:
        theirs = {what_of(by_uuid[now]) for _, now in alarm.uuids if now in by_uuid}
        own = [one for one in found if what_of(one) in theirs]
    metric = max(alarm.ratios, key=lambda key: (alarm.ratios[key], key), default="wall_ns")
    return Ill(alarm, frozenset(map(what_of, own)), metric, _page(alarm, metric, own))


def what_of(one: Summary) -> tuple[str | int | None, ...]:
    """Return what a series shares with those of other kinds of machines, and of other versions."""
    return (
        one.site, one.storage, one.dataset_values, one.layout, one.workload, one.strategy, one.engine, one.n_cores,
        one.node,
    )  # fmt: skip


def _page(alarm: PlaceAlarm, metric: str, own: Sequence[Summary]) -> str:
    """The address of the figure that shows it: one test, over its usual level, with the day since when."""
    since = alarm.since or ""
    names = [names_of(one) for one in own]
    tests = sorted({one["test"] for one in names})
    storages = sorted({one["storage"] for one in names})
    chosen = [("site", site) for site in alarm.sites]
    chosen += [("storage", storage) for storage in storages]
    if len(tests) > 1:
        of_tests = {
            test: [one for one, name in zip(own, names, strict=True) if name["test"] == test]
            for test in tests
        }
        tests = [max(tests, key=lambda test: _clearness(of_tests[test], metric, since))]
    chosen += [("test", test) for test in tests]
    colour = "site" if len(alarm.sites) > 1 else "cpu_model"
    chosen += [("y", metric), ("colour", colour), ("as", "usual"), ("since", since[:10])]
    return f"{explore_page()}#{urlencode(chosen)}"


def _clearness(found: Sequence[Summary], metric: str, since: str) -> float:
    """The step of a test at a date over the spread of its results on both sides, each over its kind of machine."""
    usual: dict[tuple[object, ...], list[float]] = {}
    told = [
        (one, math.log(value)) for one in found if has_time(one) and (value := getattr(one, COLUMNS[metric]))
    ]
    for one, log in told:
        if one.created_at < since:
            usual.setdefault((what_of(one), one.cpu_model), []).append(log)
    levels = {key: statistics.median(values) for key, values in usual.items()}
    before, now = (
        [
            log - levels[key]
            for one, log in told
            if (one.created_at >= since) is is_now and (key := (what_of(one), one.cpu_model)) in levels
        ]
        for is_now in (False, True)
    )
    if min(len(before), len(now)) < _LEAST:
        return 0.0
    step = statistics.median(now) - statistics.median(before)
    spread = statistics.pstdev(before) + statistics.pstdev(now)
    return step / max(spread, _LEAST_SPREAD)


def first_choice(ills: Sequence[Ill], to_watch: Sequence[str], found: Sequence[Summary]) -> tuple[str, str]:
    """Return what the page to explore opens with, as a part of its address, and for people: the worst, else one test.

    to_watch: UUIDs of results of levels that are high, the worst first
    found: all results, newest first
    """
    for one in ills:
        if one.alarm.state is not PlaceState.SILENT:
            return one.page.partition("#")[2], f"what is ill: {one.alarm.place}"
    by_uuid = {one.uuid: one for one in found}
    for uuid in to_watch:
        if uuid in by_uuid:
            told = names_of(by_uuid[uuid])
            chosen = [(axis, told[axis]) for axis in ("site", "storage", "test")]
            what = f"the highest level: {told['site']}, storage {told['storage']}"
            return urlencode([*chosen, ("colour", "cpu_model"), ("as", "usual")]), what
    commonest = _commonest(found)
    if commonest is None:
        return "", ""
    what = f"one test of many: {commonest['test']}, storage {commonest['storage']}"
    return urlencode(list(commonest.items())), what


def reading_links(ills: Sequence[Ill], found: Sequence[Summary]) -> list[tuple[str, str]]:
    """Return the page to explore with the results of a campaign, coloured by what was read beside them: title, address.

    ills: what is ill in it, the worst first; of that else of one test
    """
    slower = next((one.page.partition("#")[2] for one in ills if one.alarm.ratios), "")
    chosen = [(key, value) for key, value in parse_qsl(slower) if key != "colour"]
    chosen = chosen or list((_commonest(found) or {}).items())
    titles = {"cpu_model": AXES["cpu_model"], **{key: one.title for key, one in READINGS.items()}}
    return [
        (title, f"{explore_page()}#{urlencode([*chosen, ('colour', key)])}")
        for key, title in titles.items()
        if len({getattr(one, key) for one in found if has_time(one)} - {None}) > 1
    ]


def _commonest(found: Sequence[Summary]) -> dict[str, str] | None:
    """The test and the storage of most results."""
    timed = [names_of(one) for one in found if has_time(one)]
    most = Counter((one["test"], one["storage"]) for one in timed).most_common(1)
    return {"test": most[0][0][0], "storage": most[0][0][1]} if most else None
