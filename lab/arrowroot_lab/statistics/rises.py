"""Rises: the rounds from which a group of series takes more than in the rounds before, and the group that explains it.

A fault of a storage slows all that is read there, one of a node all that its site measures. So series are judged in
groups, each by the median of its members, and each round by the rounds before it: nothing is known of the noise but
what the group itself has shown. Nights are slow by chance, neighbours of slow ones oftener: three rounds in a row are
needed, two of which agree. Not all that a site measures is measured in each round: a group is judged by its own rounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    Array = np.ndarray[Any, Any]

#: So many rounds in a row are above the level before.
WINDOW = 3
#: So many rounds of its own are missed until something is silent.
N_MISSED = 2
#: So many rounds before them tell the level and its noise, and so many at most.
LEAST_ROUNDS, MOST_ROUNDS = 8, 30
#: A level that rose by less is none: of a time, and of memory, which kinds of machines differ by.
LEAST_RISE, LEAST_RISE_OF_MEMORY = 0.025, 0.05
#: In deviations of the group: the least of the three rounds, the middle one, and how far these two may be apart, or in
#: shares of the rise. Few rounds tell a deviation badly, and neighbours that are alike rise together: both widen it.
#: Chosen on some seeds and judged on others: docs/lab/watch.md.
_LEAST, _MIDDLE, _APART, _APART_SHARE = 2.0, 2.4, 3.0, 0.2
_OF_FEW, _OF_ALIKE = 12.0, 1.0
#: A group that is so sure, where 1 is enough, may explain what another one shows.
_SEEMS, _NEARLY = 0.5, 0.99
#: A round that is so many deviations below a level is none of it.
_BELOW = 2.5
#: The deviation of rounds that hardly differ: counts, and virtual time.
_LEAST_NOISE = LEAST_RISE / 5
#: A rise has ended when so many rounds in a row are below half of it.
_N_BACK = 2
#: The deviation of a normal distribution over its median and its 80 % quantile, both absolute.
_OF_MEDIAN, _OF_QUANTILE, _QUANTILE = 1.4826, 1 / 1.2816, 0.8
#: So many rounds are looked at as one array.
_MOST_AHEAD = 32
#: Sums of an array may be rounded otherwise than one by one: nothing is passed over for that.
_ROUNDED = 1 - 1e-9
#: A smaller group explains a rise better only by so much more.
_BETTER = 1.05


@dataclass
class Rise:
    """A group of series whose level is a higher one."""

    group: Hashable
    #: Rows of the group.
    members: tuple[int, ...]
    #: The first round of the new level, and the one in which it was seen.
    begin: int
    seen: int
    #: The new level over the old one.
    ratio: float
    #: How many rounds before told the old one, and the deviation of the group in them.
    n_before: int
    noise: float
    #: The first round that was back at the old level; None: it has not ended.
    end: int | None = None


def rises(logs: Array, groups: Mapping[Any, Sequence[int]], *, least: float = LEAST_RISE) -> list[Rise]:
    """Return where groups of series rose, in the order in which it was seen.

    logs: the logarithm of a figure, by series and round, oldest first; NaN: not measured
    groups: rows of ``logs``, by group, the largest first: of groups that explain a rise alike the first is taken
    least: a level that rose by less is none
    """
    judge = _Judge(logs, {key: np.asarray(rows) for key, rows in groups.items() if len(rows)}, least)
    now, n = LEAST_ROUNDS + WINDOW - 1, logs.shape[1]
    while now < n:
        # A rise that goes on is followed from round to round; else nothing is found in nearly all of them.
        if all(rise.end is not None for rise in judge.found):
            ahead = np.arange(now, min(now + _MOST_AHEAD, n))
            suspect = judge.suspects(ahead)
            if not suspect.any():
                now += len(ahead)
                continue
            now += int(suspect.argmax())
        judge.look(now)
        now += 1
    return judge.found


@dataclass
class _Judge:
    logs: Array
    groups: dict[Hashable, Array]
    least: float
    found: list[Rise] = field(default_factory=list)

    def __post_init__(self) -> None:
        #: Rounds that tell the usual level of a series: those of a rise do not.
        self.is_usual = np.isfinite(self.logs)
        self._rhythms = _rhythms(self.is_usual, self.groups)

    def suspects(self, nows: Array) -> Array:
        """Return in which of some rounds a group may have risen surely, if no rise goes on: ``look`` says if it has."""
        found = np.zeros(len(nows), bool)
        for one in self._rhythms:
            own = np.flatnonzero((one.rounds >= nows[0]) & (one.rounds <= nows[-1]))
            own = own[own >= LEAST_ROUNDS + WINDOW - 1]
            if len(own):
                found[one.rounds[own] - nows[0]] |= one.suspects(self.logs, self.is_usual, own, self.least)
        return found

    def look(self, now: int) -> None:
        """Find what rose in the rounds that end with ``now``."""
        over = self._over_usual(now - WINDOW + 1)
        for rise in self.found:
            if rise.end is None:
                self._follow(rise, over, now)
        lefts = [left for one in self._rhythms if (left := one.left(self.logs, self.is_usual, now))]
        for left in lefts:
            for rise in self.found:
                left.take(rise.members, rise.begin, rise.end, math.log(rise.ratio))
        while (best := self._best(lefts)) is not None:
            left, group = best
            rows = tuple(self.groups[group.key].tolist())
            begin = left.begin(group)
            self.found.append(
                Rise(group.key, rows, begin, now, math.exp(group.height), group.n_before, group.noise)
            )
            self.is_usual[list(rows), begin:] = False
            for one in lefts:
                one.take(rows, begin, None, group.height)

    def _over_usual(self, end: int) -> Array:
        """Each value over the usual level of its series before a round."""
        _, (levels,) = _usual(self.logs, self.is_usual, np.array([end]))
        over: Array = self.logs - levels[:, None]
        return over

    def _best(self, lefts: Sequence[_Left]) -> tuple[_Left, _Seeming] | None:
        """Return the group that explains most, of those that seem to have risen, if one of them surely has."""
        best, is_sure = None, False
        for left in lefts:
            for one in left.seeming(self.least):
                is_sure |= one.sureness >= 1
                if _is_better(one, best and best[1]):
                    best = left, one
        return best if is_sure else None

    def _follow(self, rise: Rise, over: Array, now: int) -> None:
        """See if a rise has ended, and how high it is by now."""
        rows = list(rise.members)
        # The more rounds tell the level, the surer it is that one before it was slow by chance.
        least = _least_of_level(math.log(rise.ratio), rise.noise)
        values = middles(over[rows, rise.begin : now + 1], axis=0)
        there = np.flatnonzero(np.isfinite(values))
        rounds, values = rise.begin + there, values[there]
        n_until_seen = int((rounds <= rise.seen).sum())
        n_before = 0
        while n_before < n_until_seen - 2 and values[n_before] <= least:
            n_before += 1
        if n_before:
            rounds, values = rounds[n_before:], values[n_before:]
            rise.begin = int(rounds[0])
        last = values[-_N_BACK:]
        if len(last) == _N_BACK and max(last) < math.log(rise.ratio) / 2:
            rise.end = int(rounds[-_N_BACK])
            self.is_usual[rows, rise.end :] = np.isfinite(self.logs[rows, rise.end :])
        elif len(values):
            rise.ratio = math.exp(float(np.median(values)))


class _Seeming(NamedTuple):
    """A group that seems to have risen."""

    key: Hashable
    height: float
    n_before: int
    #: The deviation of the rounds before.
    noise: float
    sureness: float
    #: The squares that it takes away.
    explained: float
    #: How many of its series nobody knows the level of, as they are not measured in each round, or are new.
    n_unknown: int


def _is_better(one: _Seeming, other: _Seeming | None) -> bool:
    """True if a group explains more than a larger one, or as much, and the larger one has more that is not known."""
    if other is None:
        return one.explained > 0
    is_alike = one.explained * _BETTER >= other.explained
    return one.explained > other.explained * _BETTER or (is_alike and one.n_unknown < other.n_unknown)


@dataclass
class _Rhythm:
    """Groups that are measured in the same rounds, and are judged by these."""

    #: Rounds of the site.
    rounds: Array
    #: Rows of the site that the groups are of; and those of each group, as places in these.
    rows: Array
    groups: dict[Hashable, Array]

    def __post_init__(self) -> None:
        #: Rows of each group, filled up with one that has no values: all groups are looked at as one array.
        most = max(map(len, self.groups.values()), default=0)
        self.filled_rows = np.full((len(self.groups), most), len(self.rows))
        for rows, row in zip(self.groups.values(), self.filled_rows, strict=True):
            row[: len(rows)] = rows
        #: The same by the size of the group.
        self._by_size = [
            np.stack([rows for rows in self.groups.values() if len(rows) == size])
            for size in sorted(set(map(len, self.groups.values())))
        ]

    def suspects(self, logs: Array, is_usual: Array, nows: Array, least: float) -> Array:
        """Return in which of some rounds a group may have risen surely.

        logs, is_usual: of all rows and rounds of the site
        nows: places in the rounds of the groups
        """
        own = np.ix_(self.rows, self.rounds)
        logs = logs[own]
        firsts = nows - WINDOW + 1
        usual, levels = _usual(logs, is_usual[own], firsts)
        there = usual.any(axis=(0, 1)).nonzero()[0]
        usual, before = usual[:, :, there], logs[:, there]
        over = np.where(usual, before[None] - levels[:, :, None], np.nan)
        last = logs[:, firsts[:, None] + np.arange(WINDOW)].swapaxes(0, 1) - levels[:, :, None]
        found = np.zeros(len(nows), bool)
        for rows in self._by_size:
            if rows.shape[1] == 1:
                # Most groups are one series, which is its own middle, and whose level was taken away.
                befores, windows = over[:, rows[:, 0]], last[:, rows[:, 0]]
                usual_of = np.zeros(befores.shape[:-1])
            else:
                befores, windows = middles(over[:, rows], axis=2), middles(last[:, rows], axis=2)
                usual_of = middles(befores, axis=-1)
            n_before = np.isfinite(befores).sum(axis=-1)
            low, height = np.moveaxis(np.sort(windows, axis=-1)[..., :2] - usual_of[..., None], -1, 0)
            could = np.isfinite(windows).all(axis=-1) & (n_before >= LEAST_ROUNDS)
            could &= height >= math.log1p(least) * _ROUNDED
            noise = _OF_MEDIAN * middles(np.abs(befores[could] - usual_of[could, None]), axis=-1)
            noise = np.maximum(noise, _LEAST_NOISE) * (1 + _OF_FEW / n_before[could])
            is_high = np.minimum(low[could] / _LEAST, height[could] / _MIDDLE) >= noise * _ROUNDED
            found[could.nonzero()[0][is_high]] = True
        return found

    def left(self, logs: Array, is_usual: Array, now: int) -> _Left | None:
        """Return what is to be explained in the last rounds; None: ``now`` is none of theirs, or there are too few.

        logs, is_usual: of all rows and rounds of the site
        """
        end = int(np.searchsorted(self.rounds, now, side="right"))
        if end < LEAST_ROUNDS + WINDOW or self.rounds[end - 1] != now:
            return None
        own = np.ix_(self.rows, self.rounds[:end])
        logs = logs[own]
        (usual,), (levels,) = _usual(logs, is_usual[own], np.array([end - WINDOW]))
        return _Left(self, np.isfinite(logs), logs - levels[:, None], usual[:, : end - WINDOW])


@dataclass
class _Left:
    """The values of some groups that are to be explained, in their last rounds."""

    rhythm: _Rhythm
    #: What was measured, by row and round of the rhythm.
    is_there: Array
    #: Over the usual level, without what rises explain.
    values: Array
    #: The rounds before the last ones that tell the usual level.
    usual: Array

    def take(self, rows: Sequence[int], begin: int, end: int | None, height: float) -> None:
        """Take away what a rise explains.

        rows, begin, end: of the site
        """
        known = np.isin(self.rhythm.rows, rows)
        rounds = self.rhythm.rounds[: self.values.shape[1]]
        first = np.searchsorted(rounds, begin)
        last = len(rounds) if end is None else np.searchsorted(rounds, end)
        self.values[known, first:last] -= height

    def seeming(self, least: float) -> Iterator[_Seeming]:
        """Yield the groups that seem to have risen.

        least: a level that rose by less is none
        """
        left, usual, rows_of = self.values, self.usual, self.rhythm.filled_rows
        first = usual.shape[1]
        means = middles(left[:, first:], axis=1)
        filled = np.vstack([left, np.full(left.shape[1:], np.nan)])
        there = usual.any(axis=0).nonzero()[0]
        filled[:-1, there] = np.where(usual[:, there], left[:, there], np.nan)
        befores = middles(filled[:, there][rows_of], axis=1)
        windows = middles(filled[:, first:][rows_of], axis=1)
        usual_of = middles(befores, axis=1)
        highest = np.sort(windows, axis=1) - usual_of[:, None]
        could = np.isfinite(windows).all(axis=1) & (np.isfinite(befores).sum(axis=1) >= LEAST_ROUNDS)
        could &= highest[:, 1] >= math.log1p(least)
        groups, is_unknown = list(self.rhythm.groups.items()), self._is_unknown()
        for at in could.nonzero()[0].tolist():
            low, height, high = highest[at].tolist()
            before = befores[at][np.isfinite(befores[at])] - usual_of[at]
            sureness = _sureness(before, low, height, high)
            if sureness <= _SEEMS:
                continue
            key, rows = groups[at]
            of_rows = means[rows]
            explained = float(np.nansum(of_rows**2 - (of_rows - height) ** 2))
            n_unknown = int(is_unknown[rows].sum())
            yield _Seeming(key, height, len(before), _noise(before), sureness, explained, n_unknown)

    def _is_unknown(self) -> Array:
        """Which series have no level in the last rounds, though by their own rhythm they are not silent."""
        found = np.asarray(np.isnan(self.values[:, self.usual.shape[1] :]).all(axis=1))
        for row in found.nonzero()[0].tolist():
            gaps = np.diff(np.flatnonzero(self.is_there[row]))
            n_since = int(self.is_there[row, ::-1].argmax())
            found[row] = len(gaps) > 0 and n_since < N_MISSED * float(np.median(gaps))
        return found

    def begin(self, group: _Seeming) -> int:
        """The first round of the site with a level that was seen in the last ones: it may have begun before them."""
        values = middles(self.values[self.rhythm.groups[group.key]], axis=0)
        least = _least_of_level(group.height, group.noise)
        begin, last = len(values) - WINDOW, len(values) - 2
        while begin < last and values[begin] <= least:
            begin += 1
        while begin > 0 and values[begin - 1] > least:
            begin -= 1
        return int(self.rhythm.rounds[begin])


def _rhythms(is_there: Array, groups: Mapping[Hashable, Array]) -> list[_Rhythm]:
    """Return the groups by the rounds that they are measured in; those with too few are judged by none.

    is_there: by row and round of the site
    """
    found: dict[bytes, dict[Hashable, Array]] = {}
    masks: dict[bytes, Array] = {}
    for key, rows in groups.items():
        mask = np.asarray(is_there[rows].any(axis=0))
        if mask.sum() >= LEAST_ROUNDS + WINDOW:
            masks.setdefault(name := mask.tobytes(), mask)
            found.setdefault(name, {})[key] = rows
    told = []
    for name, own in found.items():
        known = np.unique(np.concatenate(list(own.values())))
        places = {key: np.searchsorted(known, rows) for key, rows in own.items()}
        told.append(_Rhythm(np.flatnonzero(masks[name]), known, places))
    return told


def _usual(logs: Array, is_usual: Array, ends: Array) -> tuple[Array, Array]:
    """Which rounds tell the usual level of each series before some rounds, by these; and that level."""
    n_until = np.pad(is_usual.cumsum(axis=1), ((0, 0), (1, 0)))
    n_later = n_until[:, ends].T[:, :, None] - n_until[None, :, :-1]
    usual = is_usual & (n_later <= MOST_ROUNDS)
    usual &= np.arange(logs.shape[1]) < ends[:, None, None]
    there = usual.any(axis=(0, 1)).nonzero()[0]
    levels = middles(np.where(usual[:, :, there], logs[:, there], np.nan), axis=-1)
    levels[usual.sum(axis=-1) < LEAST_ROUNDS] = np.nan
    return usual, levels


def _least_of_level(height: float, noise: float) -> float:
    """The least value of a round of a level: a round below it was slow by chance, and comes before the level."""
    return max(height / 2, height - _BELOW * noise)


def _sureness(deviations: Array, low: float, height: float, high: float) -> float:
    """How sure it is that a group rose: 1 is enough; 0: no two of the three rounds agree.

    If the least of them is of another level, as a night that was slow by chance before the first one, the group only
    seems to have risen: it explains what others show.

    deviations: of the rounds before from their level; low, height, high: how far the last three rounds are above it
    """
    noise = _noise(deviations)
    apart = max(_APART * noise, _APART_SHARE * height)
    sureness = min(low / _LEAST, height / _MIDDLE) / noise
    if height - low <= apart:
        return sureness
    return min(sureness, _NEARLY) if high - height <= apart else 0.0


def _noise(deviations: Array) -> float:
    """The deviation of rounds from their level, wider where few rounds tell it and where neighbours are alike."""
    sizes = sorted(np.abs(deviations).tolist())
    noise = max(
        _OF_MEDIAN * _quantile(sizes, 0.5),
        _OF_QUANTILE * _quantile(sizes, _QUANTILE),
        _LEAST_NOISE,
    )
    near = np.clip(deviations, -3 * noise, 3 * noise)
    alike = float(np.dot(near[1:], near[:-1]) / max(np.dot(near, near), noise**2))
    return noise * (1 + _OF_FEW / len(deviations)) * (1 + _OF_ALIKE * max(alike, 0.0))


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The quantile of some sorted values, between two of them; NumPy's takes ten times as long for so few."""
    at = (len(ordered) - 1) * share
    low = int(at)
    first, second, part = ordered[low], ordered[min(low + 1, len(ordered) - 1)], at - low
    return first + (second - first) * part if part < 0.5 else second - (second - first) * (1 - part)


def middles(values: Array, axis: int) -> Array:
    """Return the medians along an axis, the last one or that before, of what is there; NaN where nothing is."""
    ordered = np.array(values.swapaxes(axis, -1), order="C")
    ordered.sort(axis=-1)  # NaN comes last
    n = np.isfinite(ordered).sum(axis=-1)
    length = ordered.shape[-1]
    if not length:
        return np.full(n.shape, np.nan)
    flat, of_each = ordered.reshape(-1), n.reshape(-1)
    first = np.arange(0, len(flat), length)
    low, high = np.maximum(of_each - 1, 0) // 2, np.minimum(of_each // 2, length - 1)
    told: Array = (flat[first + low] + flat[first + high]) / 2
    told[of_each == 0] = np.nan
    told.shape = n.shape
    return told
