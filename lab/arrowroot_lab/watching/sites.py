"""The sites beside each other: which is ill; each of its tests with its level, its age by its own rhythm, failures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from arrowroot_lab.mining import Column, ResultTable
from arrowroot_lab.mining.format import age, age_s, shown
from arrowroot_lab.mining.results import natural

from .alarms import PlaceState, alarms_of, missed_rounds, quiet_rounds
from .choosing import Series
from .levels import level_of
from .places import histories
from .site_tests import tests_of

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from datetime import datetime

    from .alarms import PlaceAlarm
    from .choosing import Chosen
    from .places import SiteHistory
    from .site_tests import SiteTest

#: Of more sites those that are well are folded.
MOST_SITES = 15
_TEST = "test "
#: In a terminal, before what is ill and what is worth a look.
_SIGNS = {"bad": "\N{BALLOT X} ", "watch": "! "}
_NOTE = (
    "A level is the median of the last three rounds, of what rose alone that of all since, over the usual one, the "
    "median of the 30 rounds before. Of several storages the worst is named first; CPU, memory: of these, where they "
    "alone rose; last: the last round alone, where it stands out; missed: rounds, by the site's own rhythm; silent: "
    "two rounds of its own were missed."
)
_OF_TERMINALS = (
    " all: at all storages of the site; an age beside a level: the site was measured since, and that was not."
)


class SiteCell(NamedTuple):
    """One test of a site, or a word about the site itself."""

    value: float | str | None
    #: ``good``, ``watch``, ``bad``; or nothing to say.
    look: str = ""
    #: The newest result that it tells of.
    uuid: str | None = None
    #: What is told below it: the other storages, and the date of the newest result.
    more: str = ""
    newest: str = ""


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
    #: Tests that are silent at a site that is heard of: sentences.
    silent_tests: list[str]
    histories: list[SiteHistory]
    #: By column and site.
    tests: Mapping[str, Mapping[str, SiteTest]]

    @property
    def highest(self) -> list[str]:
        """The newest results of the levels that stand out without an alarm, the highest first."""
        found = [one.parts[0] for row in self.tests.values() for one in row.values() if one.look == "watch"]
        found.sort(key=lambda part: part.level.last or part.level.ratio or 0.0, reverse=True)
        return [part.newest.uuid for part in found]

    @cached_property
    def silent(self) -> dict[str, str]:
        """Places that are silent, with the day since when; none if all are: then the hub gets no results."""
        told = {one.place: (one.since or "")[:10] for one in self.alarms if one.state is PlaceState.SILENT}
        return told if {str(row[0]) for row in self.table.rows} - told.keys() else {}

    @property
    def is_deaf(self) -> bool:
        """True if no site is heard of: then no place is to blame."""
        return bool(self.alarms) and not self.silent and self.alarms[0].state is PlaceState.SILENT

    @property
    def text_table(self) -> ResultTable:
        """The table for a terminal: tests in a few words, with signs."""
        keys = [column.key for column in self.table.columns]
        rows, well = [], dict[str, float]()
        for place, row in enumerate(self.table.rows):
            own = [one for of_sites in self.tests.values() if (one := of_sites.get(str(row[0]))) is not None]
            if len(self.table.rows) > MOST_SITES and self.cells[place, "state"].look == "good":
                levels = [part.level.ratio or 0.0 for one in own for part in one.parts]
                well[str(row[0])] = max(levels, default=0.0)
                continue
            told = list(row)
            for name, of_sites in self.tests.items():
                if (one := of_sites.get(str(row[0]))) is not None:
                    told[keys.index(_TEST + name)] = _SIGNS.get(one.look, "") + one.short
            rows.append(tuple(told))
        highest = shown(max(well.values(), default=0.0), "ratio")
        folded = f"{len(well)} more sites are ok, no level above {highest}: {', '.join(well)}."
        notes = [*([folded] if well else []), _NOTE + _OF_TERMINALS, *self.table.notes[1:]]
        return replace(self.table, rows=tuple(rows), notes=tuple(notes))

    @property
    def parts_table(self) -> ResultTable:
        """Each site, test and storage with all that is known of it, for programs."""
        columns = (
            Column("site", "site"), Column("test", "test"), Column("storage", "storage"), Column("state", "state"),
            Column("level", "level", "ratio"), Column("metric", "of"), Column("age_s", "newest", "age"),
            Column("n_missed", "missed", "count"), Column("n_failed", "failed", "count"),
        )  # fmt: skip
        states = {"bad": "ill", "watch": "to watch", "": "ok"}
        rows = tuple(
            (
                site, test, part.name, "silent" if part.is_silent else states[part.look], part.level.ratio,
                part.level.metric, one.age_s, one.n_missed, part.n_failed,
            )
            for site in (str(row[0]) for row in self.table.rows)
            for test, of_sites in self.tests.items()
            if (one := of_sites.get(site)) is not None
            for part in one.parts
        )  # fmt: skip
        return ResultTable("Sites by tests and storages", columns, rows)


def sites(chosen: Chosen, at: datetime, failing: Mapping[str, str]) -> Sites:
    """Return what is to be said of the sites that are shown, those that are ill first.

    failing: UUIDs of the newest results that failed, with their sites
    """
    all_of = histories(chosen.figures)
    is_alone = len(all_of) == 1
    found = [one for one in alarms_of(all_of, at) if not (is_alone and one.state is PlaceState.SILENT)]
    every = chosen.alarms(found)
    rows = {history.site: _shown_rows(history, chosen.shown) for history in all_of}
    all_of = [history for history in all_of if rows[history.site]]
    silent = {one.place for one in every if one.state is PlaceState.SILENT}
    tests = tests_of(all_of, rows, silent, failing, lambda date: age_s(date, at))
    told = []
    for history in all_of:
        own = [one for one in every if history.site in one.sites]
        of_site = {name: one for name, by_site in tests.columns.items() if (one := by_site.get(history.site))}
        n_failed = sum(site == history.site for site in failing.values())
        empty = {_TEST + name: SiteCell(None) for name in tests.columns}
        told.append((history.site, empty | _row(history, own, of_site, n_failed, at)))
    rank = {site: place for place, one in reversed([*enumerate(every)]) for site in one.sites}
    order = {"bad": 0, "watch": 1}
    told.sort(key=lambda row: (order.get(row[1]["state"].look, 2), rank.get(row[0], 0), natural(row[0])))
    columns = (
        Column("site", "site"),
        Column("state", "state"),
        *(Column(_TEST + name, name, "cell") for name in tests.columns),
        Column("age_s", "newest", "age"),
        Column("n_missed", "missed", "count"),
        Column("n_failed", "failed", "count"),
    )
    ended = f"Left out, as no site measures them any more: {', '.join(tests.ended)}."
    return Sites(
        [one for one in every if one.since],
        ResultTable(
            "Sites",
            columns,
            tuple(tuple(row[one.key].value for one in columns) for _, row in told),
            (_NOTE, *([ended] if tests.ended else [])),
        ),
        {(place, key): cell for place, (_, row) in enumerate(told) for key, cell in row.items()},
        [one for history in all_of if history.site not in silent for one in _to_watch(history, rows, tests.columns)],
        [
            f"{site}, test {name} for {age(one.age_s)}"
            for site, _ in told
            for name, by_site in tests.columns.items()
            if (one := by_site.get(site)) is not None and one.is_silent and one.look == "watch"
        ],
        all_of,
        tests.columns,
    )  # fmt: skip


def _shown_rows(history: SiteHistory, chosen: Container[Series]) -> list[int]:
    return [
        at
        for at, row in enumerate(history.rows)
        if Series(history.site, row.storage, row.case, row.engine) in chosen
    ]


def _to_watch(
    history: SiteHistory, shown_rows: Mapping[str, Sequence[int]], tests: Mapping[str, Mapping[str, SiteTest]]
) -> list[str]:
    """Levels of a site that stand out without an alarm: of a storage, else of a test at it."""
    by_storage: dict[str, list[int]] = {}
    for at in shown_rows[history.site]:
        by_storage.setdefault(history.rows[at].storage, []).append(at)
    found = {
        name: level_of(history, rows)
        for name, rows in by_storage.items()
        if not quiet_rounds(history, rows)[1]
    }
    high = {name: level for name, level in found.items() if level.is_high and not level.is_risen}
    told = [f"storage {name} at {level.told}" for name, level in high.items()]
    told += [
        f"test {test}, {part.name} at {part.level.told}"
        for test, of_sites in tests.items()
        if (one := of_sites.get(history.site)) is not None
        for part in one.parts
        if part.name not in high and not part.is_silent and part.look == "watch"
    ]
    return [f"{history.site}, {one} times its usual level" for one in told]


def _row(
    history: SiteHistory,
    own: list[PlaceAlarm],
    tests: Mapping[str, SiteTest],
    n_failed: int,
    at: datetime,
) -> dict[str, SiteCell]:
    """The cells of a site, by key of their column."""
    site, n_missed = history.site, missed_rounds(history, at)
    is_silent = any(one.state is PlaceState.SILENT and one.place == site for one in own)
    if own and own[0].state is not PlaceState.UNKNOWN:
        is_part = own[0].state is PlaceState.SILENT and not is_silent
        # The alarm says what is slower.
        word = own[0].state.value.partition(" ")[0]
        more = " and ".join(dict.fromkeys(one.more for one in own)) if all(one.more for one in own) else word
        state = SiteCell("part silent" if is_part else more, "bad")
    elif n_failed:
        state = SiteCell("failing", "bad")
    elif n_missed:
        state = SiteCell("late", "watch")
    elif any(one.look for one in tests.values()):
        is_quiet = all(part.is_silent for one in tests.values() for part in one.parts if part.look)
        state = SiteCell("part silent" if is_quiet else "to watch", "watch")
    else:
        state = SiteCell("unknown") if own else SiteCell("ok", "good")
    newest = max(one.created_at for results in history.results for one in results if one)
    return {
        "site": SiteCell(site),
        "state": state,
        **{
            _TEST + name: SiteCell(one.told, one.look, one.parts[0].newest.uuid, one.more, one.newest)
            for name, one in tests.items()
        },
        "age_s": SiteCell(age_s(newest, at), "bad" if is_silent else "watch" if n_missed else ""),
        "n_missed": SiteCell(n_missed),
        "n_failed": SiteCell(n_failed, "bad" if n_failed else ""),
    }
