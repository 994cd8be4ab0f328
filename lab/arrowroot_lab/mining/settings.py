"""The settings of an engine that a site's own results recommend, for each of its storages: pairs alone say so."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from arrowroot_lab.campaign.providers import registered
from arrowroot_lab.canonical import key_of
from arrowroot_lab.errors import RequestError
from arrowroot_lab.statistics import CONFIDENCE, Comparison, Verdict, compare, paired
from arrowroot_lab.store.summary import strategy_name

from .format import shown
from .table import Column, ResultTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arrowroot_lab.campaign.providers import Engine
    from arrowroot_lab.store import Filter, Store

#: The strategy where nothing is set.
DEFAULT = "auto"
#: A setting is recommended if it takes less time by more than this share.
LEAST_GAIN = 0.05
#: Pairs are of so many results of a case with a setting, the newest ones.
MAX_RESULTS = 20
#: How a file begins that the command may replace.
HEAD = "# By arrowroot lab settings"
#: What stands in the place of a secret, which nobody can set.
_HIDDEN = "..."
_COLUMNS = (
    "uuid", "case_id", "run", "created_at", "version", "storage", "storage_kind", "strategy",
    "strategy_group",
)  # fmt: skip


@dataclass(frozen=True)
class Advice:
    """The best setting of one storage, and what that rests on."""

    storage: str
    #: URLs that the configuration file means by it; None: it has no server that stays.
    urls: str | None
    #: As results call it; DEFAULT: none is better.
    setting: str
    #: By the names of the configuration file; empty: nothing is to be set.
    options: dict[str, str | int | float]
    #: Of the best of all that were measured, by DEFAULT; the bounds hold for all of them together.
    comparison: Comparison
    #: Its name.
    best: str
    n_settings: int
    n_cases: int
    n_results: int
    #: When the results are of.
    first: str
    last: str
    version: str
    #: Why nothing is written.
    reason: str | None = None

    @property
    def gain(self) -> float:
        """The share of the time that the best one saves."""
        return 1 - (self.comparison.ratio or 1.0)

    @property
    def least_gain(self) -> float | None:
        """Its lower bound."""
        return None if self.comparison.high is None else 1 - self.comparison.high

    def document(self) -> dict[str, Any]:
        """Return it for JSON."""
        plain = ("storage", "urls", "setting", "options", "best", "gain", "least_gain", "reason")
        counts = ("n_settings", "n_cases", "n_results", "first", "last", "version")
        told = {name: getattr(self, name) for name in (*plain, *counts)}
        return {**told, "ratio": self.comparison.ratio, "n_pairs": self.comparison.n_pairs}


@dataclass
class _Measured:
    """The results of one storage: case -> setting -> them, newest first."""

    storage: str
    place: dict[str, Any]
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    cases: dict[str, dict[str, list[Any]]] = field(default_factory=dict)


def engine() -> Engine:
    """Return the engine that has a configuration file. Raises: RequestError if none has."""
    found = next((one for one in registered().engines.values() if one.settings), None)
    if found is None:
        raise RequestError("no engine has a configuration file: see `settings` in docs/lab/engines.md")
    return found


def advise(store: Store, where: Filter) -> tuple[list[Advice], list[str]]:
    """Return the advice for each storage at which results compare settings; those of the newest version are taken.

    where: results of one site, by ``engine``

    Returns: it, and sentences on what is left out.
    Raises: RequestError if there is none.
    """
    rows = [row for row in store.rows(where, _COLUMNS) if row.storage_kind != "simulated"]  # newest first
    groups: dict[str, list[Any]] = {}
    for row in rows:
        groups.setdefault(row.strategy_group, []).append(row)
    groups = {key: group for key, group in groups.items() if len({row.case_id for row in group}) > 1}
    spoilt = _set_by_others(
        store, [row for group in groups.values() for row in group if row.strategy == DEFAULT]
    )
    names = ", ".join(sorted({name for told in spoilt.values() for name in told}))
    runs = f"{len(spoilt)} runs are" if len(spoilt) > 1 else "1 run is"
    notes = [f"{runs} left out: {DEFAULT} was not as it comes, as a file or variable set {names}."]
    groups = {key: [row for row in group if row.run not in spoilt] for key, group in groups.items()}
    found = [told for one in _by_storage(store, groups) if (told := _advice(store, one))]
    if not found:
        raise RequestError(
            f"{store.place}: {', '.join(where.site)} has no results of {DEFAULT} and of other strategies in turns: "
            "arrowroot lab run campaigns/settings.toml measures them at all of the site's storages"
            + (f"; {notes[0]}" if spoilt else "")
        )
    return _without_conflicts(found), notes if spoilt else []


def _set_by_others(store: Store, rows: Iterable[Any]) -> dict[str, set[str]]:
    """Runs in which options of the default were set by a configuration file or a variable: run -> which."""
    found: dict[str, set[str]] = {}
    for result in store.of(row.uuid for row in rows):
        told = (sample.details.get("engine") for sample in result.samples)
        names = {name for one in told if isinstance(one, dict) for name in one.get("set_by_others", ())}
        if names:
            found.setdefault(result.campaign.get("run") or "", set()).update(names)
    return found


def _by_storage(store: Store, groups: dict[str, list[Any]]) -> list[_Measured]:
    one_of_each = {row.case_id: row.uuid for group in groups.values() for row in group}
    cases = {one.case_id: one.case for one in store.of(one_of_each.values())}
    found: dict[tuple[str, str], _Measured] = {}
    newest: dict[str, str] = {}
    for key, group in groups.items():
        if not group:
            continue
        place = cases[group[0].case_id]["storage"]
        storage = key_of(place)
        if newest.setdefault(storage, group[0].version) != group[0].version:
            continue
        one = found.setdefault((group[0].storage, storage), _Measured(group[0].storage, place))
        for row in group:
            strategy = cases[row.case_id]["strategy"]
            if _HIDDEN in (strategy.get("options") or {}).values():
                continue
            # As a campaign may leave out what is the default.
            name = strategy_name(strategy)
            one.settings[name] = strategy
            one.cases.setdefault(key, {}).setdefault(name, []).append(row)
    return [one for _, one in sorted(found.items())]


def _advice(store: Store, one: _Measured) -> Advice | None:
    """The best setting of a storage; None: none was measured in turns with the default."""
    cases = [case for case in one.cases.values() if DEFAULT in case and len(case) > 1]
    rows = [row for case in cases for of_setting in case.values() for row in of_setting[:MAX_RESULTS]]
    taken = store.taken((row.uuid for row in rows), "wall_ns")

    def ratios(case: dict[str, list[Any]], name: str) -> list[float]:
        sides = [[(row.run, taken[row.uuid]) for row in case[side][:MAX_RESULTS]] for side in (DEFAULT, name)]
        return [pair.ratio for pair in paired(*sides)]

    by_setting = {
        name: [told for case in cases if name in case and (told := ratios(case, name))]
        for name in one.settings
        if name != DEFAULT
    }
    most = max(map(len, by_setting.values()), default=0)
    if not most:
        return None
    # What was measured in fewer of the cases says nothing of the others.
    by_setting = {name: told for name, told in by_setting.items() if len(told) == most}
    judged = {name: _judged(told, len(by_setting)) for name, told in by_setting.items()}

    def rank(name: str) -> tuple[bool, bool, float]:
        comparison, is_worse = judged[name]
        return is_worse, comparison.verdict is not Verdict.BETTER, comparison.ratio or math.inf

    best = min(judged, key=rank)
    comparison, is_worse = judged[best]
    is_better = comparison.verdict is Verdict.BETTER and not is_worse
    used = [row for case in cases for name in (DEFAULT, best) for row in case.get(name, ())[:MAX_RESULTS]]
    server = one.place.get("server")
    dates = sorted(row.created_at[:10] for row in used)
    reason = None
    if not is_better:
        reason = _why_not(best, comparison, is_worse=is_worse)
    elif not server:
        reason = f"a storage of kind {one.place['kind']} has no address that a configuration file could name"
    return Advice(
        storage=one.storage,
        urls=f"{server}/*" if server else None,
        setting=best if is_better else DEFAULT,
        options=_options(one.settings[best]) if is_better else {},
        comparison=comparison,
        best=best,
        n_settings=len(judged),
        n_cases=most,
        n_results=len(used),
        first=dates[0],
        last=dates[-1],
        version=used[0].version,
        reason=reason,
    )


def _judged(cases: Sequence[list[float]], n_settings: int) -> tuple[Comparison, bool]:
    """The comparison of a setting over all cases, and whether it is worse in one.

    Each ratio is the mean of one of each case. As the best of several settings is taken, the bounds hold for all.
    """
    confidence = 1 - (1 - CONFIDENCE) / n_settings
    means = [statistics.geometric_mean(of_turn) for of_turn in zip(*cases, strict=False)]
    is_worse = any(compare(told).verdict is Verdict.WORSE for told in cases)
    return compare(means, least=LEAST_GAIN / (1 - LEAST_GAIN), confidence=confidence), is_worse


def _why_not(best: str, comparison: Comparison, *, is_worse: bool) -> str:
    if is_worse:
        return f"each setting is slower in some case than {DEFAULT}"
    if comparison.high is None:
        return f"not enough: {comparison.reason}"
    return f"none takes {LEAST_GAIN:.0%} less time for sure: {best} takes {shown(comparison.ratio, 'ratio')} times"


def _options(strategy: dict[str, Any]) -> dict[str, str | int | float]:
    """A strategy as the options of the configuration file."""
    names, cache_bytes = engine().settings, strategy.get("cache_bytes")
    options: dict[str, Any] = {names["strategy"]: strategy["name"]}
    options |= {} if cache_bytes is None else {names["cache"]: cache_bytes}
    return options | (strategy.get("options") or {})


def _without_conflicts(found: list[Advice]) -> list[Advice]:
    """Storages of one server whose settings differ have none: the file cannot tell them apart."""
    told = []
    for one in found:
        same = [other for other in found if other.urls == one.urls and other.options != one.options]
        if one.options and one.urls and same:
            reason = f"{same[0].storage} has the same server, and other settings are best there"
            told.append(replace(one, reason=reason))
        else:
            told.append(one)
    return told


def is_written(one: Advice) -> bool:
    """Return whether the file has the settings of a storage."""
    return bool(one.options) and one.reason is None


def table(found: Sequence[Advice], site: str, more: Sequence[str]) -> ResultTable:
    """Return a row for each storage. ``more``: notes."""
    columns = (
        Column("storage", "storage"),
        Column("setting", "setting"),
        Column("gain", "time saved", "share"),
        Column("least_gain", "at least", "share"),
        Column("n_pairs", "pairs", "count"),
        Column("n_results", "results", "count"),
        Column("last", "newest", "day"),
    )
    rows = []
    for one in found:
        gains = (one.gain, one.least_gain) if one.options else (None, None)
        n_pairs = one.comparison.n_pairs
        rows.append((one.storage, one.setting, *gains, n_pairs, one.n_results, one.last))
    notes = [*(f"{one.storage}: {one.reason}." for one in found if one.reason), *more]
    n_settings = max(one.n_settings for one in found)
    program = f"{engine().name} {', '.join(sorted({one.version for one in found}))}"
    notes.append(
        f"By {program}, each judged by {DEFAULT} in pairs taken in turns; at least: at {CONFIDENCE:.0%} for all "
        f"{n_settings} settings together."
    )
    return ResultTable(f"Settings of {site}", columns, tuple(rows), tuple(notes))


def config(found: Iterable[Advice], site: str, day: str) -> str:
    """Return a configuration file with what is recommended, why and by how much; "" if nothing is."""
    written = sorted((one for one in found if is_written(one)), key=lambda one: (one.urls or "", one.storage))
    if not written:
        return ""
    lines = [f"{HEAD} {_in_comment(site)}, {day}"]
    for urls, of_server in groupby(written, key=lambda one: one.urls):
        same = list(of_server)
        lines.append("")
        lines += [f"# {_in_comment(line)}" for one in same for line in _rests_on(one)]
        lines.append(f"[{engine().settings['urls']}.{json.dumps(urls, ensure_ascii=False)}]")
        lines += [
            f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in same[0].options.items()
        ]
    return "\n".join(lines) + "\n"


def _rests_on(one: Advice) -> tuple[str, str]:
    """The expected gain of one storage, and what it rests on."""
    gain = f"{one.setting} takes {one.gain:.1%} less time than {DEFAULT}, at least {one.least_gain:.1%}"
    counts = f"{one.comparison.n_pairs} pairs of {one.n_cases} cases, {one.n_results} results"
    return f"{one.storage}: {gain}:", f"{counts} of {one.first} to {one.last}, {engine().name} {one.version}"


def _in_comment(text: str) -> str:
    """A name as a comment can have it: without ends of lines and other controls."""
    return "".join(one if one.isprintable() else " " for one in text)
