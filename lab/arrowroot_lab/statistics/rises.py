"""Rises: the rounds from which a group of series takes more than in the rounds before, and the group that explains it.

A fault of a storage slows all that is read there, one of a node all that its site measures. So series are judged in
groups, each by the median of its members, and each round by the rounds before it: nothing is known of the noise but
what the group itself has shown. Nights are slow by chance, neighbours of slow ones oftener: three rounds in a row are
needed, two of which agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    Array = np.ndarray[Any, Any]

#: So many rounds in a row are above the level before.
WINDOW = 3
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
        #: Rows of each group, filled up with one that has no values: all groups are looked at as one array.
        most = max(map(len, self.groups.values()), default=0)
        self._rows = np.full((len(self.groups), most), len(self.logs))
        for rows, row in zip(self.groups.values(), self._rows, strict=True):
            row[: len(rows)] = rows
        #: The same by the size of the group.
        self._by_size = [
            np.stack([rows for rows in self.groups.values() if len(rows) == size])
            for size in sorted(set(map(len, self.groups.values())))
        ]

    def suspects(self, nows: Array) -> Array:
        """Return in which of some rounds a group may have risen surely, if no rise goes on: ``look`` says if it has."""
        firsts = nows - WINDOW + 1
        usual, levels = self._usual(firsts)
        there = usual.any(axis=(0, 1)).nonzero()[0]
        usual, logs = usual[:, :, there], self.logs[:, there]
        over = np.where(usual, logs[None] - levels[:, :, None], np.nan)
        last = self.logs[:, firsts[:, None] + np.arange(WINDOW)].swapaxes(0, 1) - levels[:, :, None]
        found = np.zeros(len(nows), bool)
        for rows in self._by_size:
            befores, windows = middles(over[:, rows], axis=2), middles(last[:, rows], axis=2)
            usual_of = middles(befores, axis=-1)
            n_before = np.isfinite(befores).sum(axis=-1)
            low, height = np.moveaxis(np.sort(windows, axis=-1)[..., :2] - usual_of[..., None], -1, 0)
            could = np.isfinite(windows).all(axis=-1) & (n_before >= LEAST_ROUNDS)
            could &= height >= math.log1p(self.least) * _ROUNDED
            noise = _OF_MEDIAN * middles(np.abs(befores[could] - usual_of[could, None]), axis=-1)
            noise = np.maximum(noise, _LEAST_NOISE) * (1 + _OF_FEW / n_before[could])
            is_high = np.minimum(low[could] / _LEAST, height[could] / _MIDDLE) >= noise * _ROUNDED
            found[could.nonzero()[0][is_high]] = True
        return found

    def _usual(self, ends: Array) -> tuple[Array, Array]:
        """Which rounds tell the usual level of each series before some rounds, by these; and that level."""
        n_until = np.pad(self.is_usual.cumsum(axis=1), ((0, 0), (1, 0)))
        n_later = n_until[:, ends].T[:, :, None] - n_until[None, :, :-1]
        usual = self.is_usual & (n_later <= MOST_ROUNDS)
        usual &= np.arange(self.logs.shape[1]) < ends[:, None, None]
        levels = middles(np.where(usual, self.logs, np.nan), axis=-1)
        levels[usual.sum(axis=-1) < LEAST_ROUNDS] = np.nan
        return usual, levels

    def look(self, now: int) -> None:
        """Find what rose in the rounds that end with ``now``."""
        first = now - WINDOW + 1
        over, usual = self._over_usual(first)
        left = over[:, : now + 1].copy()
        for rise in self.found:
            if rise.end is None:
                self._follow(rise, over, now)
            if rise.end is None:
                left[list(rise.members), rise.begin :] -= math.log(rise.ratio)
        while (best := self._best(left, usual, first)) is not None:
            key, height, n_before, noise = best
            rows = self.groups[key]
            rise = Rise(
                key,
                tuple(rows.tolist()),
                self._begin(left[rows], height, noise, now),
                now,
                math.exp(height),
                n_before,
                noise,
            )
            self.found.append(rise)
            self.is_usual[rows, rise.begin :] = False
            left[rows, rise.begin :] -= height

    def _over_usual(self, end: int) -> tuple[Array, Array]:
        """Each value over the usual level of its series before a round, and which rounds told that level."""
        (usual,), (levels,) = self._usual(np.array([end]))
        return self.logs - levels[:, None], usual[:, :end]

    def _best(self, left: Array, usual: Array, first: int) -> tuple[Hashable, float, int, float] | None:
        """Of the groups that seem to have risen the one that explains most, if one of them surely has.

        Returns: it, its height, the number of rounds before, and their deviation
        """
        best, most, is_sure = None, 0.0, False
        means = middles(left[:, first:], axis=1)
        filled = np.vstack([left, np.full(left.shape[1:], np.nan)])
        there = usual.any(axis=0).nonzero()[0]
        filled[:-1, there] = np.where(usual[:, there], left[:, there], np.nan)
        befores = middles(filled[:, there][self._rows], axis=1)
        windows = middles(filled[:, first:][self._rows], axis=1)
        usual_of = middles(befores, axis=1)
        highest = np.sort(windows, axis=1) - usual_of[:, None]
        could = np.isfinite(windows).all(axis=1) & (np.isfinite(befores).sum(axis=1) >= LEAST_ROUNDS)
        could &= highest[:, 1] >= math.log1p(self.least)
        keys = list(self.groups)
        for at in could.nonzero()[0].tolist():
            low, height, high = highest[at].tolist()
            before = befores[at][np.isfinite(befores[at])] - usual_of[at]
            sureness = _sureness(before, low, height, high)
            if sureness <= _SEEMS:
                continue
            is_sure |= sureness >= 1
            of_rows = means[self.groups[keys[at]]]
            explained = float(np.nansum(of_rows**2 - (of_rows - height) ** 2))
            if explained > most * _BETTER:
                best, most = (keys[at], height, len(before), _noise(before)), explained
        return best if is_sure else None

    def _begin(self, left: Array, height: float, noise: float, seen: int) -> int:
        """The first round of a level that was seen in a round, by the two before it, too: it may have begun earlier."""
        values = middles(left[:, : seen + 1], axis=0)
        least = _least_of_level(height, noise)
        begin = seen - WINDOW + 1
        while begin < seen - 1 and values[begin] <= least:
            begin += 1
        while begin > 0 and values[begin - 1] > least:
            begin -= 1
        return begin

    def _follow(self, rise: Rise, over: Array, now: int) -> None:
        """See if a rise has ended, and how high it is by now."""
        rows = list(rise.members)
        # The more rounds tell the level, the surer it is that one before it was slow by chance.
        least = _least_of_level(math.log(rise.ratio), rise.noise)
        values = middles(over[rows, rise.begin : now + 1], axis=0)
        while rise.begin < rise.seen - 1 and values[0] <= least:
            rise.begin, values = rise.begin + 1, values[1:]
        values = values[np.isfinite(values)]
        last = values[-_N_BACK:]
        if len(last) == _N_BACK and max(last) < math.log(rise.ratio) / 2:
            rise.end = now - _N_BACK + 1
            self.is_usual[rows, rise.end :] = np.isfinite(self.logs[rows, rise.end :])
        elif len(values):
            rise.ratio = math.exp(float(np.median(values)))


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
