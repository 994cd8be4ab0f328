"""The sites beside each other: which is ill, the level of each of its tests, its age by its own rhythm, failures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from arrowroot_lab.mining import Column, ResultTable
from arrowroot_lab.mining.format import age_s, shown
from arrowroot_lab.mining.results import natural

from .alarms import PlaceState, alarms_of, missed_rounds
from .choosing import Series
from .places import METRICS, histories

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from datetime import datetime

    from .alarms import PlaceAlarm
    from .choosing import Chosen
    from .places import SiteHistory

#: A level that nobody has called an alarm yet is worth a look from here on.
TO_WATCH = 1.2
#: The last round alone is worth a look from here on: one is slow by chance.
_LAST_TO_WATCH = 1.5
#: So many storages have a column each; of more those of one site alone share the last column.
_MOST_STORAGES = 6
_STORAGE, _OTHERS = "storage ", "other storages"
#: Before a level that is not of the wall time.
PREFIXES = dict(zip(METRICS, ("", "CPU ", "memory "), strict=True))


class SiteCell(NamedTuple):
    """One test of a site, or a word about the site itself."""

    value: float | str | None
    #: ``good``, ``watch``, ``bad``; or nothing to say.
    look: str = ""
    #: The newest result that it tells of.
    uuid: str | None = None


@dataclass(frozen=True)
class Sites:
    """All sites at one moment; ``cells`` are those of the table, by row and key of the column."""

    #: What is wrong; a place that is too young to be judged is nothing that is wrong. A single site may be measured by
    #: hand, and is never silent.
    alarms: list[PlaceAlarm]
    table: ResultTable
    cells: Mapping[tuple[int, str], SiteCell]
    #: Levels that stand out without an alarm: sentences.
    to_watch: list[str]
    histories: list[SiteHistory]

    @property
    def highest(self) -> list[str]:
        """The newest results of the levels that stand out without an alarm, the highest first."""
        found = [cell for cell in self.cells.values() if cell.look == "watch" and cell.uuid]
        found.sort(key=lambda cell: cell.value if isinstance(cell.value, float) else 0.0, reverse=True)
        return [cell.uuid for cell in found if cell.uuid]

    @cached_property
    def silent(self) -> dict[str, str]:
        """Places that are silent, with the day since when; none if all are: then the hub gets no results."""
        told = {one.place: (one.since or "")[:10] for one in self.alarms if one.state is PlaceState.SILENT}
        return told if {str(row[0]) for row in self.table.rows} - told.keys() else {}

    @property
    def is_deaf(self) -> bool:
        """True if no site is heard of: then no place is to blame."""
        return bool(self.alarms) and not self.silent and self.alarms[0].state is PlaceState.SILENT


def sites(chosen: Chosen, at: datetime, n_failed: Mapping[tuple[str, str], int]) -> Sites:
    """Return what is to be said of the sites that are shown, those that are ill first.

    n_failed: by site and storage, how many cases fail now
    """
    all_of = histories(chosen.figures)
    is_alone = len(all_of) == 1
    found = [one for one in alarms_of(all_of, at) if not (is_alone and one.state is PlaceState.SILENT)]
    every = chosen.alarms(found)
    rows = {history.site: _shown_rows(history, chosen.shown) for history in all_of}
    all_of = [history for history in all_of if rows[history.site]]
    tests = _tests(all_of, rows)
    told = [
        (
            history.site,
            _row(history, [one for one in every if history.site in one.sites], tests, n_failed, at),
        )
        for history in all_of
    ]
    rank = {site: place for place, one in reversed([*enumerate(every)]) for site in one.sites}
    order = {"bad": 0, "watch": 1}
    told.sort(key=lambda row: (order.get(row[1]["state"].look, 2), rank.get(row[0], 0), natural(row[0])))
    columns = (
        Column("site", "site"),
        Column("state", "state"),
        *(Column(key, key.removeprefix(_STORAGE), "ratio") for key in tests),
        Column("age_s", "newest", "age"),
        Column("n_missed", "missed", "count"),
        Column("n_failed", "failed", "count"),
    )
    note = (
        "A level is the median of the last three rounds, of what rose alone that of all since, over the usual one, the "
        "median of the 30 rounds before; CPU, memory: of these, where they alone rose; missed: rounds, by the site's "
        "own rhythm; last: the last round alone, where it stands out."
    )
    return Sites(
        [one for one in every if one.since],
        ResultTable("Sites", columns, tuple(tuple(row[one.key].value for one in columns) for _, row in told), (note,)),
        {(place, key): cell for place, (_, row) in enumerate(told) for key, cell in row.items()},
        [
            f"{site}, {key} at {shown(row[key].value, 'ratio')} times its usual level"
            for site, row in told
            for key in tests
            if row[key].look == "watch"
        ],
        all_of,
    )  # fmt: skip


def _shown_rows(history: SiteHistory, shown: Container[Series]) -> list[int]:
    return [
        at
        for at, row in enumerate(history.rows)
        if Series(history.site, row.storage, row.case, row.engine) in shown
    ]


def _tests(all_of: list[SiteHistory], shown: Mapping[str, Sequence[int]]) -> dict[str, dict[str, list[int]]]:
    """The fewest tests that say which place is ill, the storages and whatever else rose alone: the rows by site."""
    n_sites = Counter(
        storage
        for history in all_of
        for storage in {history.rows[at].storage: None for at in shown[history.site]}
    )
    n_shared = sum(n > 1 for n in n_sites.values())
    n_most = _MOST_STORAGES if len(n_sites) <= _MOST_STORAGES else min(n_shared, _MOST_STORAGES - 1)
    named = {name for name, _ in n_sites.most_common(n_most)}
    tests: dict[str, dict[str, list[int]]] = {_STORAGE + name: {} for name in n_sites if name in named}
    for history in all_of:
        for at in shown[history.site]:
            row = history.rows[at]
            key = _STORAGE + row.storage if row.storage in named else _OTHERS
            tests.setdefault(key, {}).setdefault(history.site, []).append(at)
    for one in (one for history in all_of for one in history.rises if one.is_open):
        if one.group.kind not in ("site", "storage"):
            members = {
                history.site: [at for at in history.members(one.group) if at in shown[history.site]]
                for history in all_of
            }
            if any(members.values()):
                tests[f"{one.group.kind} {one.group.name}"] = {
                    site: rows for site, rows in members.items() if rows
                }
    return tests


def _row(
    history: SiteHistory,
    own: list[PlaceAlarm],
    tests: Mapping[str, Mapping[str, list[int]]],
    n_failed: Mapping[tuple[str, str], int],
    at: datetime,
) -> dict[str, SiteCell]:
    """The cells of a site, by key of their column."""
    site, n_missed = history.site, missed_rounds(history, at)
    silent = {one.place for one in own if one.state is PlaceState.SILENT}
    row = {
        key: SiteCell("silent", "bad")
        if f"{site}, {key}" in silent
        else _cell(history, rows[site], n_failed if key.startswith((_STORAGE, _OTHERS)) else {})
        if site in rows and site not in silent
        else SiteCell(None)
        for key, rows in tests.items()
    }
    n_bad = sum(n for (where, _), n in n_failed.items() if where == site)
    if own and own[0].state is not PlaceState.UNKNOWN:
        is_part = own[0].state is PlaceState.SILENT and site not in silent
        # The alarm says what is slower.
        word = own[0].state.value.partition(" ")[0]
        more = " and ".join(dict.fromkeys(one.more for one in own)) if all(one.more for one in own) else word
        state = SiteCell("part silent" if is_part else more, "bad")
    elif n_bad:
        state = SiteCell("failing", "bad")
    elif n_missed:
        state = SiteCell("late", "watch")
    elif any(cell.look == "watch" for cell in row.values()):
        state = SiteCell("to watch", "watch")
    else:
        state = SiteCell("unknown") if own else SiteCell("ok", "good")
    newest = max(one.created_at for results in history.results for one in results if one)
    return {
        "site": SiteCell(site),
        "state": state,
        **row,
        "age_s": SiteCell(age_s(newest, at), "bad" if site in silent else "watch" if n_missed else ""),
        "n_missed": SiteCell(n_missed),
        "n_failed": SiteCell(n_bad, "bad" if n_bad else ""),
    }


class Level(NamedTuple):
    """Some series of a site over their usual level."""

    #: None: nobody can tell yet.
    ratio: float | None
    metric: str
    #: Most of them rose, and are above since.
    is_risen: bool


def level_of(history: SiteHistory, rows: Sequence[int]) -> Level:
    """Return the level of some series, by wall time, or by CPU time or memory where that alone rose.

    Of what rose it is that of all rounds since, as the alarm tells it, else that of the last three.
    """
    risen = {
        one.metric: one.rise
        for one in history.rises
        if one.is_open and 2 * len({*one.rise.members} & {*rows}) > len(rows)
    }
    levels = {metric: history.level(rows, metric) or 0.0 for metric in METRICS}
    for metric, one in risen.items():
        # The same number as that of the alarm, if it is of the same series.
        is_whole = {*one.members} == {*rows}
        since = len(history.rounds) - one.begin
        levels[metric] = one.ratio if is_whole else history.level(rows, metric, since) or 0.0
    metric = max(METRICS, key=lambda key: (key in risen, levels[key] >= TO_WATCH, -METRICS.index(key)))
    return Level(levels[metric] or None, metric, metric in risen)


def _cell(history: SiteHistory, rows: list[int], n_failed: Mapping[tuple[str, str], int]) -> SiteCell:
    level, metric, is_risen = level_of(history, rows)
    n_bad = sum(
        n_failed.get((history.site, storage), 0) for storage in {history.rows[at].storage for at in rows}
    )
    look = "bad" if is_risen or n_bad else "watch" if (level or 0.0) >= TO_WATCH else ""
    newest = max((one for at in rows for one in history.results[at] if one), key=lambda one: one.created_at)
    last = history.level(rows, "wall_ns", 1) or 0.0
    is_late = not look and last >= _LAST_TO_WATCH
    look = "watch" if is_late else look
    told = PREFIXES[metric] + shown(level, "ratio") + f", last {shown(last, 'ratio')}" * is_late
    told += f", {n_bad} failed" * bool(n_bad)
    return SiteCell(level if told == shown(level, "ratio") else told, look, newest.uuid)
