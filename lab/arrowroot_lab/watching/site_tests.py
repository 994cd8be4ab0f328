"""Sites by tests: what each site says of each test, at which of its storages, since how many rounds, and what fails."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from arrowroot_lab.mining.format import age, shown
from arrowroot_lab.mining.results import natural

from .alarms import quiet_rounds
from .levels import level_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from .levels import Level
    from .places import Figure, SiteHistory

#: So many tests have a column each; of more the last column has what is left.
MOST_TESTS = 8
OTHERS = "other tests"
#: So many parts that are well are named beside the worst one; of those that are not well all are.
_MOST_NAMED = 2
_RANK = {"bad": 0, "watch": 1, "": 2}


class Part(NamedTuple):
    """A test at one storage of a site; or what rose alone in it."""

    #: The storage, or ``engine root``.
    name: str
    level: Level
    #: How many of its newest results failed.
    n_failed: int
    #: It missed two of its own rounds, and the site did not.
    is_silent: bool
    #: ``bad``, ``watch`` or nothing to say.
    look: str
    newest: Figure

    @property
    def told(self) -> str:
        """The text of its cell, without its name."""
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        return ("silent" if self.is_silent else self.level.told) + failed


@dataclass(frozen=True)
class SiteTest:
    """A test at one site."""

    #: The worst first.
    parts: tuple[Part, ...]
    #: The date of the newest result, how old it is, and in how many of the site's last rounds there was none.
    newest: str
    age_s: float
    n_missed: int

    @property
    def look(self) -> str:
        """That of the worst part."""
        return self.parts[0].look

    @property
    def is_silent(self) -> bool:
        """True if all of it missed two of its own rounds."""
        return all(part.is_silent for part in self.parts)

    @property
    def n_failed(self) -> int:
        """How many of its newest results failed."""
        return sum(part.n_failed for part in self.parts)

    @cached_property
    def told(self) -> str:
        """The worst, by name."""
        worst = self.parts[0]
        return f"{worst.name} {worst.told}"

    @property
    def more(self) -> str:
        """The other storages."""
        rest = self.parts[1:]
        named = [part for at, part in enumerate(rest) if part.look or at < _MOST_NAMED]
        left = [part for part in rest if part not in named]
        told = [f"{part.name} {part.told}" for part in named]
        if left:
            highest = max((part.level.ratio or 0.0 for part in left), default=0.0)
            told.append(f"{len(left)} more" + (f" up to {shown(highest, 'ratio')}" if highest else ""))
        return "; ".join(told)

    @property
    def short(self) -> str:
        """The same for a terminal: names and ages where they say something."""
        worst = self.parts[0]
        alike = [part for part in self.parts if part.look == worst.look]
        is_all = len(alike) == len(self.parts) > 1 and not self.n_failed
        name = f"{'all' if is_all else worst.name} " if worst.look else ""
        missed = f", {age(self.age_s)}" if self.n_missed else ""
        failed = "".join(f", {part.name} {part.n_failed} failed" for part in self.parts[1:] if part.n_failed)
        return f"{name}{worst.told}{failed}{missed}"


@dataclass(frozen=True)
class Tests:
    """Which tests the columns are."""

    #: Column -> site -> rows of its history; those that are ill first.
    columns: Mapping[str, Mapping[str, SiteTest]]
    #: Tests that no site measures any more.
    ended: Sequence[str]


def tests_of(
    all_of: Sequence[SiteHistory],
    shown_rows: Mapping[str, Sequence[int]],
    silent: Container[str],
    failing: Container[str],
    age_of: Callable[[str], float],
) -> Tests:
    """Return sites by tests: each case is one, or each workload or campaign where these are fewer.

    shown_rows: of each site
    silent: places that are silent
    failing: UUIDs of results
    age_of: the age of a date, in seconds
    """
    newest = {
        (history.site, at): next(one for one in reversed(history.results[at]) if one)
        for history in all_of
        for at in shown_rows[history.site]
    }
    name_of = _grouped(newest.values())
    found: dict[str, dict[str, SiteTest]] = defaultdict(dict)
    for history in all_of:
        if history.site in silent:
            continue
        of_test = defaultdict(list)
        for at in shown_rows[history.site]:
            of_test[name_of(newest[history.site, at])].append(at)
        for name, rows in of_test.items():
            found[name][history.site] = _site_test(history, rows, silent, failing, age_of)
    ended = [name for name, of_sites in found.items() if all(one.is_silent for one in of_sites.values())]
    # Silence of all that is left is told by the places, not by a table without columns.
    ended = [] if len(ended) == len(found) else sorted(ended, key=natural)
    columns = {name: of_sites for name, of_sites in found.items() if name not in ended}
    return Tests(_first(columns), ended)


def _first(columns: dict[str, dict[str, SiteTest]]) -> dict[str, dict[str, SiteTest]]:
    """The columns in their order, those in which most is wrong first; what is too many is one of them."""

    def order(name: str) -> tuple[object, ...]:
        looks = Counter(one.look for one in columns[name].values())
        return -looks["bad"], -looks["watch"], -len(columns[name]), natural(name)

    names = sorted(columns, key=order)
    if len(names) <= MOST_TESTS:
        return {name: columns[name] for name in names}
    told = {name: columns[name] for name in names[: MOST_TESTS - 1]}
    others: dict[str, list[tuple[str, SiteTest]]] = defaultdict(list)
    for name in names[MOST_TESTS - 1 :]:
        for site, one in columns[name].items():
            others[site].append((name, one))
    return {**told, OTHERS: {site: _joined(ones) for site, ones in others.items()}}


def _joined(ones: list[tuple[str, SiteTest]]) -> SiteTest:
    parts = [part._replace(name=f"{name} {part.name}") for name, one in ones for part in one.parts]
    newest = min((one for _, one in ones), key=lambda one: one.age_s)
    return replace(newest, parts=_worst_first(parts), n_missed=min(one.n_missed for _, one in ones))


def _grouped(newest: Iterable[Figure]) -> Callable[[Figure], str]:
    """How tests are called: by the finest of these names of which there are not too many."""
    every = list(newest)
    ways: tuple[Callable[[Figure], str], ...] = (
        lambda one: one.case,
        lambda one: one.workload or one.case,
        lambda one: one.campaign or one.case,
    )
    names = [{way(one) for one in every} for way in ways]
    fits = [way for way, of_way in zip(ways, names, strict=True) if 2 <= len(of_way) <= MOST_TESTS]
    too_many = [way for way, of_way in zip(ways, names, strict=True) if len(of_way) > MOST_TESTS]
    way = fits[0] if fits else too_many[-1] if too_many else ways[0]
    words = [name.split(" / ") for name in {way(one) for one in every}]
    shared = set(words[0]).intersection(*words) if len(words) > 1 else set()

    def called(one: Figure) -> str:
        name = way(one)
        return " / ".join(word for word in name.split(" / ") if word not in shared) or name

    return called


def _site_test(
    history: SiteHistory,
    rows: list[int],
    silent: Container[str],
    failing: Container[str],
    age_of: Callable[[str], float],
) -> SiteTest:
    by_storage = defaultdict(list)
    for at in rows:
        by_storage[history.rows[at].storage].append(at)
    parts = [_part(history, name, own, silent, failing) for name, own in by_storage.items()]
    alone: dict[str, set[int]] = defaultdict(set)
    for one in history.rises:
        members = {*one.rise.members} & {*rows}
        # The storage tells for most of its cases.
        is_told = all(2 * len(members & {*own}) > len(own) for own in by_storage.values() if members & {*own})
        if one.is_open and members and not is_told:
            name = one.group.name if one.group.kind == "series" else f"{one.group.kind} {one.group.name}"
            alone[name] |= members
    parts += [_part(history, name, sorted(own), (), ()) for name, own in alone.items()]
    newest = max((part.newest.created_at for part in parts), default="")
    n_missed, _ = quiet_rounds(history, rows)
    return SiteTest(_worst_first(parts), newest, age_of(newest), n_missed)


def _part(
    history: SiteHistory, name: str, rows: list[int], silent: Container[str], failing: Container[str]
) -> Part:
    results = [history.results[at] for at in rows]
    newest = [next(one for one in reversed(row) if one) for row in results]
    level = level_of(history, rows)
    _, is_silent = quiet_rounds(history, rows)
    n_failed = sum(one.uuid in failing for one in newest)
    is_ill = n_failed or (level.is_risen and not is_silent)
    is_ill = is_ill or (is_silent and f"{history.site}, storage {name}" in silent)
    look = "bad" if is_ill else "watch" if is_silent or level.is_high else ""
    return Part(name, level, n_failed, is_silent, look, max(newest, key=lambda one: one.created_at))


def _worst_first(parts: Sequence[Part]) -> tuple[Part, ...]:
    # No level says that a case fails or is silent.
    return tuple(
        sorted(
            parts,
            key=lambda part: (
                _RANK[part.look], not part.level.is_risen, -(part.level.ratio or 0.0), natural(part.name),
            ),
        )
    )  # fmt: skip
