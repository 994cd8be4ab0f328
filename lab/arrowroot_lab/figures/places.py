"""Sites beside each other on one scale: the wall time and the CPU efficiency of each version at each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.table import Column, ResultTable

from .drawing import SMALL, Drawing
from .figure import Figure, drawn
from .frame import Frame, draw_key, draw_whisker, draw_x_axis
from .lettering import text_width
from .scale import Scale, linear, logarithmic

if TYPE_CHECKING:
    from collections.abc import Sequence

_LANE, _GAP = 17.0, 7.0
_WALL = Column("wall_ns", "Wall time", "time")
_EFFICIENCY = Column("cpu_efficiency", "CPU efficiency", "share")
#: Times that are so far apart are on a logarithmic scale.
_MOST_LINEAR = 20.0
#: Shares of the width: what names may take, and the times of what is left.
_NAMES, _TIMES = 0.26, 0.62


@dataclass(frozen=True)
class AtSite:
    """The time of one version at one site; without one, why there is none."""

    site: str
    version: str
    wall_ns: float | None
    #: Of its nights.
    low: float | None = None
    high: float | None = None
    cpu_efficiency: float | None = None
    n_nights: int = 0
    note: str = ""
    #: What is to be said of the site itself: "silent".
    word: str = ""


def by_site(title: str, caption: str, found: Sequence[AtSite]) -> Figure:
    """Return a lane for each version at each site, in their order: the times on one scale, the efficiencies beside."""
    sites: dict[str, list[AtSite]] = {}
    for one in found:
        sites.setdefault(one.site, []).append(one)
    versions = list(dict.fromkeys(one.version for one in found))
    table = ResultTable(
        title,
        (
            Column("site", "Site"),
            Column("version", "Version"),
            _WALL,
            Column("wall_ns_low", "From", "time"),
            Column("wall_ns_high", "To", "time"),
            _EFFICIENCY,
            Column("n_nights", "Nights", "count"),
            Column("note", "Note"),
        ),
        tuple(
            (
                one.site,
                one.version,
                one.wall_ns,
                one.low,
                one.high,
                one.cpu_efficiency,
                one.n_nights,
                ", ".join(filter(None, (one.word, one.note))) or None,
            )
            for of_site in sites.values()
            for one in of_site
        ),
    )

    def draw(drawing: Drawing, is_narrow: bool) -> float:
        top = (draw_key(drawing, versions, 0) if len(versions) > 1 else 0.0) + 6
        n_lanes = {name: max(len(of_site), 1 + bool(of_site[0].word)) for name, of_site in sites.items()}
        height = sum(_GAP + _LANE * n for n in n_lanes.values())
        words = [*sites, *(one.word for one in found)]
        names = max((text_width(word, SMALL, is_bold=True) for word in words), default=0.0) + 12
        left = min(names, drawing.width * _NAMES)
        middle = left + (drawing.width - left) * _TIMES
        ends = [end for one in found for end in (one.wall_ns, one.low, one.high) if end]
        begin, end = left, middle - _room(found, "wall_ns", "time")
        is_far = bool(ends) and max(ends) > _MOST_LINEAR * min(ends)
        x = (
            logarithmic(ends, begin, end, "time")
            if is_far
            else linear(ends, begin, end, "time", from_zero=True)
        )
        shares = [one.cpu_efficiency for one in found if one.cpu_efficiency]
        end = drawing.width - _room(found, "cpu_efficiency", "share")
        efficiency = linear([1.0, *shares], middle + 8, end, "share", from_zero=True)
        y_scale = linear((), top + height, top, "count", from_zero=True)
        title_of_times = f"{_WALL.title}, logarithmic" if is_far else _WALL.title
        used = draw_x_axis(drawing, Frame(x, y_scale), title_of_times, 3 if is_narrow else 5)
        draw_x_axis(drawing, Frame(efficiency, y_scale), _EFFICIENCY.title, 2 if is_narrow else 4)
        y = top
        for name, of_site in sites.items():
            drawing.text(2, y + _LANE - 3, name, look="strong", width=left - 8)
            if word := of_site[0].word:
                # On a telephone "more CPU time" would lose its middle.
                word = word.replace("CPU time", "CPU") if is_narrow else word
                drawing.text(2, y + 2 * _LANE - 3, word, look="bad", width=left - 8)
            for place, one in enumerate(of_site):
                lane = _Lane(drawing, y + (place + 0.5) * _LANE, versions.index(one.version), middle - left)
                lane.draw(one, x, efficiency)
            y += _GAP + n_lanes[name] * _LANE
        return used

    return drawn(title, caption, table, draw)


def _room(found: Sequence[AtSite], name: str, form: str) -> float:
    texts = [shown(value, form) for one in found if (value := getattr(one, name)) is not None]
    return max((text_width(text, SMALL, is_bold=True) for text in texts), default=0.0) + 12


@dataclass(frozen=True)
class _Lane:
    drawing: Drawing
    y: float
    style: int
    #: What the times may take, in pixels.
    room: float

    def draw(self, one: AtSite, x: Scale, efficiency: Scale) -> None:
        drawing, baseline = self.drawing, self.y + SMALL * 0.36
        if one.wall_ns is None:
            why = f"{one.version}: {one.note or 'not measured'}"
            drawing.text(x.begin + 6, baseline, why, look="muted", width=self.room - 10)
            return
        low, high = (one.wall_ns if end is None else end for end in (one.low, one.high))
        said = (
            f"{one.site}, {one.version}: {shown(one.wall_ns, 'time')} ({shown(low, 'time')} to {shown(high, 'time')}), "
            f"CPU efficiency {shown(one.cpu_efficiency, 'share')}, {one.n_nights} nights"
        )
        if low < high:
            draw_whisker(drawing, x(low), x(high), self.y)
        drawing.marker(x(one.wall_ns), self.y, self.style, said)
        # In a column of their own: beside the end of a whisker it would be taken for that end.
        drawing.text(x.end + 8, baseline, shown(one.wall_ns, "time"), look="strong")
        if one.cpu_efficiency is not None:
            drawing.marker(efficiency(one.cpu_efficiency), self.y, self.style)
            drawing.text(efficiency(one.cpu_efficiency) + 8, baseline, shown(one.cpu_efficiency, "share"))
