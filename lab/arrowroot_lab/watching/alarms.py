"""Alarms of places: one for each fault, with whose fault it is, since when, and what speaks for that."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from arrowroot_lab.documents import in_utc
from arrowroot_lab.mining.format import shown
from arrowroot_lab.statistics.rises import LEAST_ROUNDS, N_MISSED, WINDOW

from .places import MEMORY, METRICS, Figure, Group, SiteHistory, SiteRise, histories

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

#: Metrics for people.
TITLES = dict(zip(METRICS, ("time", "CPU time", "memory"), strict=True))
#: So large a share of the sites that could show it makes a rise one of all; and so far apart it may begin, in rounds.
_SHARE_OF_SITES, _APART = 0.6, 3
#: The share of a round by which one may be late.
_LATE = 0.5
#: The newest distances of rounds that tell the rhythm of a site, and how many rounds do; without any it is a day.
_N_GAPS, _LEAST_OF_RHYTHM, _DAY_S = 10, 3, 86_400.0
#: The quantile of the distances that is a long one, and the share of it that another one has at least.
_LONG, _LEAST_GAP = 0.8, 0.25


class PlaceState(str, Enum):
    """What is wrong with a place; the worst first."""

    SLOWER_ENGINE = "slower engine"
    SLOWER_PLACE = "slower place"
    SILENT = "silent"
    #: Nobody can tell, and why.
    UNKNOWN = "unknown"


class Fault(str, Enum):
    """Whose fault it is, as far as results tell it."""

    ENGINE = "engine"
    STORAGE = "storage"
    #: CPU time rose in all that a site measures, with the versions that it had before.
    NODE = "node"
    #: The same since a version changed there, or memory rose, which no line and no storage takes.
    SOFTWARE = "node or software"
    #: All of a site rose, and its CPU time did not.
    LINE = "line or storage"
    #: One case at one site: what it reads, and how.
    CASE = "case"
    #: At most sites, and no version changed with it.
    CENTRAL = "central"


@dataclass(frozen=True)
class PlaceAlarm:
    """One fault, as far as the results of sites tell it."""

    state: PlaceState
    #: For people: ``RAL, storage davs``.
    place: str
    #: The sites that show it.
    sites: tuple[str, ...]
    #: None: nobody can tell, as of a place that is silent.
    fault: Fault | None = None
    #: Metric of ``places.METRICS`` -> how many times what it was.
    ratios: dict[str, float] = field(default_factory=dict)
    #: The beginning of the first round that shows it, and of that in which it was seen; dates of the last results of
    #: a place that is silent.
    since: str | None = None
    seen: str | None = None
    #: Engines that have another version since: engine -> (before, now).
    changed: dict[str, tuple[str, str]] = field(default_factory=dict)
    #: Sentences: what speaks for it, or against.
    evidence: tuple[str, ...] = ()
    #: The results before and now, one of each series.
    uuids: tuple[tuple[str, str], ...] = ()
    #: Storage -> figure -> (before, now): the line, counts, the control kernel (``evidence.py``).
    measured: dict[str, dict[str, tuple[float, float]]] = field(default_factory=dict)
    #: The storages that are silent or unknown, of which no results tell; (): all of the site.
    storages: tuple[str, ...] = ()

    @property
    def more(self) -> str:
        """What is taken more of while nobody waits longer, as "more CPU time"; "": somebody waits, or it is silent."""
        if not self.ratios or "wall_ns" in self.ratios:
            return ""
        return f"more {' and '.join(told for metric, told in TITLES.items() if metric in self.ratios)}"

    @property
    def told(self) -> str:
        """Its state for people: "slower place"; of what takes more while nobody waits longer, what that is."""
        return self.more or self.state.value

    @property
    def word(self) -> str:
        """What the place does, in a word or two: "slower", "more CPU time"."""
        return self.more or self.state.value.partition(" ")[0]

    def document(self) -> dict[str, Any]:
        """Return it for JSON."""
        told = {
            "state": self.state.value,
            "place": self.place,
            "sites": list(self.sites),
            "fault": self.fault and self.fault.value,
            "ratios": self.ratios,
            "since": self.since,
            "seen": self.seen,
            "changed": {engine: list(versions) for engine, versions in self.changed.items()},
            "evidence": list(self.evidence),
            "measured": {
                storage: {name: list(sides) for name, sides in figures.items()}
                for storage, figures in self.measured.items()
            },
            "uuids": [list(both) for both in self.uuids],
        }
        return {key: value for key, value in told.items() if value not in (None, [], {})}


def alarms(figures: Iterable[Figure], at: datetime | None = None) -> list[PlaceAlarm]:
    """Return what is wrong now with the places that results are of, the worst first.

    figures: results of all sites, of some months; those that are not ok have no times
    at: when it is asked; None: now
    """
    return alarms_of(histories(figures), at or datetime.now(timezone.utc))


def alarms_of(all_of: Sequence[SiteHistory], at: datetime) -> list[PlaceAlarm]:
    """Return the same of histories that are at hand."""
    silent = [one for history in all_of for one in _silent(history, at)]
    quiet = {one.sites[0] for one in silent if one.place == one.sites[0]}
    heard = [history for history in all_of if history.site not in quiet]
    opened = [rise for history in heard for rise in _of_site(history)]
    found = [*_joined(_of_all(opened, heard), heard), *silent]
    told = {one.place for one in silent}
    found += [one for history in heard for one in _unknown(history, told)]
    order = list(PlaceState)
    return sorted(
        found, key=lambda one: (order.index(one.state), -max(one.ratios.values(), default=0), one.place)
    )


def _of_site(history: SiteHistory) -> list[list[SiteRise]]:
    """The faults of a site that go on: a list of each, by both times, and of all storages if all rose."""
    faults: list[list[SiteRise]] = []
    opened = [one for one in history.rises if one.is_open]
    storages = set(history.storages())
    for metric in METRICS:
        ones = [one for one in opened if one.metric == metric]
        parts = [one for one in ones if one.group.kind == "storage"]
        if len(storages) > 1 and {one.group.name for one in parts} == storages and _is_near(parts):
            whole = _whole(history, parts)
            ones = [one for one in ones if one not in parts] + [whole]
        for one in ones:
            same = next(
                (
                    fault
                    for fault in faults
                    if fault[0].group == one.group and metric != MEMORY and _is_near([*fault, one])
                ),
                None,
            )
            if same is None:
                faults.append([one])
            else:
                same.append(one)
    return faults


def _is_near(ones: Sequence[SiteRise]) -> bool:
    return max(one.earliest for one in ones) - min(one.rise.begin for one in ones) <= _APART


def _whole(history: SiteHistory, parts: list[SiteRise]) -> SiteRise:
    """The rises of all storages of a site as one of the site."""
    first = min(parts, key=lambda one: one.rise.begin)
    group = Group("site", history.site)
    rise = replace(
        first.rise,
        group=group,
        # A storage may have been slow by chance in the night before.
        begin=statistics.median_low(one.rise.begin for one in parts),
        members=tuple(sorted(row for one in parts for row in one.rise.members)),
        ratio=statistics.median(one.rise.ratio for one in parts),
        seen=max(one.rise.seen for one in parts),
    )
    return SiteRise(history, group, first.metric, rise)


def _of_all(faults: list[list[SiteRise]], heard: Sequence[SiteHistory]) -> list[PlaceAlarm]:
    """One alarm for each fault: what rose at most sites is one, of an engine if that changed there."""
    left, found = list(faults), []
    for kind, name, metric in _shared_names(left):
        could = [
            one for one in heard if kind == "site" or any(getattr(row, kind) == name for row in one.rows)
        ]
        shown_by = _together([fault for fault in left if _matches(fault[0], kind, name, metric)])
        sites = {fault[0].history.site for fault in shown_by}
        if len(sites) < 2 or not (
            len(sites) == len(could) or len(sites) >= max(3, _SHARE_OF_SITES * len(could))
        ):
            continue
        begin = min(fault[0].since for fault in shown_by)
        # A site whose noise hid some of its series shows the same fault by the others; memory is no time.
        same = [
            one
            for one in left
            if one in shown_by
            or (
                one[0].history.site in sites
                and one[0].since >= begin
                and (one[0].metric == MEMORY) == (metric == MEMORY)
            )
        ]
        found.append(_common(shown_by, kind, name, len(could)))
        left = [fault for fault in left if fault not in same]
    return found + [_single(fault, heard) for fault in left]


def _joined(found: Iterable[PlaceAlarm], heard: Iterable[SiteHistory]) -> list[PlaceAlarm]:
    """One alarm of a place whose time and whose memory rose together."""
    rhythms = {history.site: rhythm_s(history.rounds) for history in heard}
    told: list[PlaceAlarm] = []
    for one in sorted(found, key=lambda one: MEMORY in one.ratios):
        for at, other in enumerate(told):
            apart = abs(_time(one.since or "") - _time(other.since or "")).total_seconds()
            if (one.state, one.place) == (other.state, other.place) and apart <= _APART * rhythms[
                one.sites[0]
            ]:
                told[at] = replace(other, ratios={**other.ratios, **one.ratios})
                break
        else:
            told.append(one)
    return told


def _shared_names(faults: list[list[SiteRise]]) -> list[tuple[str, str, str]]:
    """Kinds and names of groups that several sites have, and the metric; those that most faults are of first."""
    named: Counter[tuple[str, str, str]] = Counter()
    for fault in faults:
        one = fault[0]
        named.update(("engine", engine, one.metric) for engine in one.engines() if one.engines() == {engine})
        if one.group.kind == "site":
            named["site", "", one.metric] += 1
        elif one.group.kind in ("storage", "case"):
            named[one.group.kind, one.group.name, one.metric] += 1
    rank = {"engine": 0, "site": 1, "case": 2, "storage": 3}
    return sorted(named, key=lambda key: (-named[key], rank[key[0]]))


def _matches(one: SiteRise, kind: str, name: str, metric: str) -> bool:
    if one.metric != metric:
        return False
    if kind == "engine":
        # All that an engine reads at a site; less, if it is another version that does so.
        kinds = ("site", "engine", "storage", "case") if name in one.changed() else ("site", "engine")
        return one.engines() == {name} and one.group.kind in kinds
    return one.group.kind == kind and (kind == "site" or one.group.name == name)


def _together(faults: list[list[SiteRise]]) -> list[list[SiteRise]]:
    """The faults that began when most did, or with the version with which most did."""
    if not faults:
        return []
    versions = Counter(version for fault in faults for version in fault[0].changed().items())
    if versions and (most := versions.most_common(1)[0])[1] >= _SHARE_OF_SITES * len(faults):
        return [fault for fault in faults if most[0] in fault[0].changed().items()]
    dates = sorted(_time(fault[0].since) for fault in faults)
    middle = dates[len(dates) // 2]
    return [
        fault
        for fault in faults
        if abs(_time(fault[0].since) - middle).total_seconds() <= _APART * _own_rhythm_s(fault[0])
    ]


def _common(faults: list[list[SiteRise]], kind: str, name: str, n_could: int) -> PlaceAlarm:
    """The alarm of what most sites show."""
    ones = [fault[0] for fault in faults]
    sites = tuple(sorted({one.history.site for one in ones}))
    changes = Counter(change for one in ones for change in one.changed().items())
    share = f"{len(sites)} of {n_could} sites that measure it show it"
    ratios = _ratios([one for fault in faults for one in fault])
    # The first site by its own rounds may have had a slow night before, by chance.
    since, seen = statistics.median_low([one.since for one in ones]), min(one.seen for one in ones)
    uuids = tuple(both for one in ones for both in _uuids(one))
    if changes and (most := changes.most_common(1)[0])[1] >= _SHARE_OF_SITES * len(ones):
        engine, (before, now) = most[0]
        since = min(filter(None, (one.first_with(engine, now) for one in ones)), default=since)
        return PlaceAlarm(
            PlaceState.SLOWER_ENGINE, f"engine {engine} {now}, at {len(sites)} sites", sites, Fault.ENGINE, ratios,
            since, seen, {engine: (before, now)}, (f"engine {engine} {before} -> {now} since", share), uuids,
        )  # fmt: skip
    what = {"site": "all that is measured", "engine": f"engine {name}"}.get(kind, f"{kind} {name}")
    return PlaceAlarm(
        PlaceState.SLOWER_PLACE, f"{len(sites)} sites, {what}", sites, Fault.CENTRAL, ratios, since, seen, {},
        (share, "no version changed with it: a central service, or data that all read"), uuids,
    )  # fmt: skip


def _single(fault: list[SiteRise], heard: Sequence[SiteHistory]) -> PlaceAlarm:
    """The alarm of what one site shows."""
    one = fault[0]
    site, changed = one.history.site, one.changed()
    ratios = _ratios(fault)
    evidence = [_others_of_site(one), *_by_metric(one, ratios)]
    state = PlaceState.SLOWER_PLACE
    for engine, (before, now) in changed.items():
        elsewhere = sorted(
            history.site for history in heard if history.site != site and _has_version(history, engine, now)
        )
        if elsewhere:
            evidence.append(
                f"engine {engine} {before} -> {now} since, and {', '.join(elsewhere)} with it did not rise"
            )
        else:
            pairs = ": pairs of both tell" if ratios.keys() & {"wall_ns", "cpu_ns"} else ""
            evidence.append(f"engine {engine} {before} -> {now} since, at no other site{pairs}")
            state = PlaceState.SLOWER_ENGINE
    place = site if one.group.kind == "site" else f"{site}, {one.group.kind} {one.group.name}"
    return PlaceAlarm(
        state,
        place,
        (site,),
        Fault.ENGINE
        if state is PlaceState.SLOWER_ENGINE
        else _fault(one.group.kind, ratios, is_new=bool(changed)),
        ratios,
        one.since,
        one.seen,
        changed,
        tuple(filter(None, evidence)),
        _uuids(one),
    )


def _fault(kind: str, ratios: dict[str, float], *, is_new: bool) -> Fault:
    if kind == "site" and "cpu_ns" in ratios:
        return Fault.SOFTWARE if is_new else Fault.NODE
    if kind == "site":
        return Fault.LINE if "wall_ns" in ratios else Fault.SOFTWARE
    return {"storage": Fault.STORAGE, "engine": Fault.ENGINE}.get(kind, Fault.CASE)


def _has_version(history: SiteHistory, engine: str, version: str) -> bool:
    newest = (next((one for one in reversed(row) if one), None) for row in history.results)
    return any(one.engine == engine and one.version == version for one in newest if one)


def _others_of_site(one: SiteRise) -> str:
    """What the rest of the site did."""
    others = [at for at in range(len(one.history.rows)) if at not in one.rise.members]
    if not others:
        return "all series of the site rose" if len(one.rise.members) > 1 else ""
    # Of what is measured no more nobody knows what it did.
    others = [at for at in others if not quiet_rounds(one.history, [at])[1]]
    storages = dict.fromkeys(one.history.rows[at].storage for at in others)
    levels = {
        storage: one.history.level(
            [at for at in others if one.history.rows[at].storage == storage], one.metric
        )
        for storage in storages
    }
    each = [f"{storage} {shown(level, 'ratio')}" for storage, level in levels.items() if level is not None]
    return (
        f"the other {len(others)} series of the site, by storage: {', '.join(each)} times as before"
        if each
        else ""
    )


def _by_metric(one: SiteRise, ratios: dict[str, float]) -> list[str]:
    if "cpu_ns" not in ratios:
        why = "CPU time as before: what is waited for became slower"
        return [why if "wall_ns" in ratios else "wall time and CPU time as before"]
    return ["CPU time rose: the node, or what it computes"] if one.group.kind in ("site", "storage") else []


def _ratios(ones: Sequence[SiteRise]) -> dict[str, float]:
    told = defaultdict(list)
    for one in ones:
        told[one.metric].append(one.rise.ratio)
    return {metric: statistics.median(values) for metric, values in told.items()}


def _uuids(one: SiteRise) -> tuple[tuple[str, str], ...]:
    both = (one.sides(row) for row in one.rise.members)
    return tuple((before.uuid, now.uuid) for before, now in both if before and now)


def _silent(history: SiteHistory, at: datetime) -> list[PlaceAlarm]:
    """A site that missed two rounds; a storage of it that did, though others were measured."""
    n_missed = missed_rounds(history, at)
    if n_missed is None:
        return []
    last = history.rounds[-1]
    every = f"it usually measures every {shown(rhythm_s(history.rounds) * 1e9, 'time')}"
    if n_missed >= N_MISSED:
        return [_quiet(history, history.site, last, f"nothing since {last[:16].replace('T', ' ')}; {every}")]
    found = []
    for storage in history.storages():
        rounds, is_quiet = quiet_rounds(history, history.members(Group("storage", storage)))
        if is_quiet:
            why = f"not in the last {rounds} rounds of the site; {every}"
            last = history.rounds[len(history.rounds) - 1 - rounds]
            found.append(_quiet(history, f"{history.site}, storage {storage}", last, why, (storage,)))
    return found


def _quiet(
    history: SiteHistory, place: str, last: str, why: str, storages: tuple[str, ...] = ()
) -> PlaceAlarm:
    return PlaceAlarm(
        PlaceState.SILENT, place, (history.site,), since=last, seen=last, evidence=(why,), storages=storages
    )


def quiet_rounds(history: SiteHistory, rows: Sequence[int]) -> tuple[int, bool]:
    """Return in how many of a site's last rounds some of its series were not measured, and if these are silent."""
    own = history.own_rounds(rows).tolist()
    n_missed = len(history.rounds) - 1 - own[-1]
    # Not all that is measured is measured in each round.
    gaps = [after - before for before, after in pairwise(own)]
    if not gaps or n_missed < N_MISSED * statistics.median(gaps):
        return n_missed, False
    # Rounds of an afternoon, as of one case that is measured by hand, are none that others missed.
    elapsed_s = (_time(history.rounds[-1]) - _time(history.rounds[own[-1]])).total_seconds()
    return n_missed, elapsed_s >= (N_MISSED - _LATE) * rhythm_s([history.rounds[at] for at in own])


def missed_rounds(history: SiteHistory, at: datetime) -> int | None:
    """Return how many rounds a site has missed by its own rhythm; None: it has none yet."""
    if len(history.rounds) < _LEAST_OF_RHYTHM:
        return None
    elapsed_s = (at - _time(history.rounds[-1])).total_seconds()
    return max(0, int(elapsed_s / rhythm_s(history.rounds) - _LATE))


def _unknown(history: SiteHistory, silent: Container[str]) -> list[PlaceAlarm]:
    """Storages of a site that cannot be judged: too few rounds, or none of the last ones counts; not those silent."""
    reasons = defaultdict(list)
    for storage in history.storages():
        if f"{history.site}, storage {storage}" in silent:
            continue
        columns = zip(*history.of_storage(storage), strict=True)
        timed = [any(one and one.wall_ns for one in results) for results in columns if any(results)]
        if not any(timed[-WINDOW:]):
            reasons[f"no sample is counted in the last {min(WINDOW, len(timed))} rounds"].append(storage)
        elif sum(timed) < LEAST_ROUNDS + WINDOW:
            reasons[f"{sum(timed)} of the {LEAST_ROUNDS + WINDOW} rounds that it takes"].append(storage)
    return [
        PlaceAlarm(
            PlaceState.UNKNOWN,
            f"{history.site}, storage {', '.join(storages)}",
            (history.site,),
            evidence=(why,),
            storages=tuple(storages),
        )
        for why, storages in reasons.items()
    ]


def rhythm_s(rounds: Sequence[str]) -> float:
    """Return how long a site usually takes from one round to the next, in seconds."""
    gaps = sorted(
        (_time(after) - _time(before)).total_seconds() for before, after in pairwise(rounds[-_N_GAPS - 1 :])
    )
    if not gaps:
        return _DAY_S
    # What is measured again by hand in an afternoon is no rhythm.
    least = _LEAST_GAP * gaps[int(_LONG * (len(gaps) - 1))]
    return max(statistics.median(gap for gap in gaps if gap >= least), 1.0)


def _own_rhythm_s(one: SiteRise) -> float:
    """How long it usually takes from one round to the next in which its series are measured."""
    return rhythm_s([one.history.rounds[at] for at in one.history.own_rounds(one.rise.members)])


def _time(date: str) -> datetime:
    return datetime.fromisoformat(in_utc(date).replace("Z", "+00:00"))
