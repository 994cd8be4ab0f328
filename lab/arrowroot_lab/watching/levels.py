"""The level of some series of a site against their own history, and how it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arrowroot_lab.mining.format import shown

from .places import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .places import SiteHistory

#: A level that nobody has called an alarm yet is worth a look from here on.
TO_WATCH = 1.2
#: The last round alone is worth a look from here on: one is slow by chance.
_LAST_TO_WATCH = 1.5
#: Before a level that is not of the wall time.
PREFIXES = dict(zip(METRICS, ("", "CPU ", "memory "), strict=True))


class Level(NamedTuple):
    """Some series of a site over their usual level."""

    #: None: nobody can tell yet.
    ratio: float | None
    metric: str
    #: Most of them rose, and are above since.
    is_risen: bool
    #: Of the last round alone, where it stands out; 0: it does not.
    last: float = 0.0

    @property
    def is_high(self) -> bool:
        """True if it is worth a look."""
        return self.is_risen or bool(self.last) or (self.ratio or 0.0) >= TO_WATCH

    @property
    def told(self) -> str:
        """It, for people."""
        last = f", last {shown(self.last, 'ratio')}" if self.last else ""
        return f"{PREFIXES[self.metric]}{shown(self.ratio, 'ratio')}{last}"


def level_of(history: SiteHistory, rows: Sequence[int]) -> Level:
    """Return the level of some series, by wall time, or by CPU time or memory where that alone rose.

    Of what rose it is that of all rounds since, as the alarm tells it, else that of the last three of their own.
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
        levels[metric] = one.ratio if is_whole else history.level(rows, metric, since=one.begin) or 0.0
    metric = max(METRICS, key=lambda key: (key in risen, levels[key] >= TO_WATCH, -METRICS.index(key)))
    is_high = metric in risen or levels[metric] >= TO_WATCH
    last = 0.0 if is_high else history.level(rows, "wall_ns", 1) or 0.0
    return Level(levels[metric] or None, metric, metric in risen, last if last >= _LAST_TO_WATCH else 0.0)
