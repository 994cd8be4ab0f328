"""The stall graph, as CMS draws it: streams against time, and below how many of them wait; one above the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrowroot_lab.mining.table import Column, ResultTable

from .drawing import SIZE, SMALL, Box
from .figure import Figure, drawn
from .frame import LINE_PX, Frame, draw_x_axis
from .lettering import text_width
from .scale import linear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .drawing import Drawing

_ROW, _LOW, _HEAD, _GAP = 8.0, 34.0, 24.0, 14.0
_KEY = (("running", "works"), ("writing", "writes"), ("stalled", "stalled"))


@dataclass(frozen=True)
class Interval:
    """A time in which a stream did not work for itself."""

    #: From 0 on.
    stream: int
    #: It waits for the output; else it writes itself.
    is_stalled: bool
    begin_ns: int
    end_ns: int


@dataclass(frozen=True)
class Graph:
    """The streams of one job, and what they did."""

    name: str
    n_streams: int
    end_ns: int
    #: All other times are work.
    intervals: tuple[Interval, ...]


def stall_graphs(title: str, caption: str, graphs: Sequence[Graph]) -> Figure:
    """Return a stall graph for each job, on one axis of time. The table has the stalls and what they took together."""
    end_ns = max((graph.end_ns for graph in graphs), default=1)
    table = ResultTable(
        title,
        (
            Column("job", "Job"),
            Column("n_streams", "Streams", "count"),
            Column("end_ns", "Time", "time"),
            Column("n_stalls", "Stalls", "count"),
            Column("stalled_ns", "Stalled, together", "time"),
            Column("longest_ns", "Longest", "time"),
            Column("most_stalled", "Most streams stalled at a time", "count"),
        ),
        tuple(_row(graph) for graph in graphs),
    )

    def draw(drawing: Drawing, is_narrow: bool) -> float:
        left = text_width("00", SMALL) + 14
        y = _draw_key(drawing)
        used = y
        for place, graph in enumerate(graphs):
            top = y + _HEAD
            x = linear((0, end_ns), left, drawing.width - 12, "time", from_zero=True)
            height = _ROW * graph.n_streams
            drawing.text(2, y + 15, graph.name, size=SIZE, look="strong", width=drawing.width - 4)
            _draw_streams(drawing, graph, x(0), x(graph.end_ns), top)
            low = Frame(
                x,
                linear(
                    (0, graph.n_streams), top + height + 4 + _LOW, top + height + 4, "count", from_zero=True
                ),
            )
            _draw_counts(drawing, graph, low)
            if place == len(graphs) - 1:
                used = draw_x_axis(drawing, low, "Time of the job", 4 if is_narrow else 8)
            y = low.bottom + _GAP
        return used

    return drawn(title, caption, table, draw)


def _row(graph: Graph) -> tuple[object, ...]:
    lengths = [one.end_ns - one.begin_ns for one in graph.intervals if one.is_stalled]
    return (
        graph.name,
        graph.n_streams,
        graph.end_ns,
        len(lengths),
        sum(lengths),
        max(lengths, default=0),
        max((n for _, n in _stalled_over_time(graph)), default=0),
    )


def _stalled_over_time(graph: Graph) -> list[tuple[int, int]]:
    """When the number of stalled streams changes, and to what."""
    changes = sorted(
        change
        for one in graph.intervals
        if one.is_stalled
        for change in ((one.begin_ns, 1), (one.end_ns, -1))
    )
    steps, now = [], 0
    for at, change in changes:
        now += change
        steps.append((at, now))
    return steps


def _draw_key(drawing: Drawing) -> float:
    x = 8.0
    for look, name in _KEY:
        drawing.rectangle(Box(x, 3, 16, 10), look)
        label = drawing.text(x + 22, 12, name)
        x = label.right + 20
    words, y = "below: streams stalled", 12.0
    if x + text_width(words, SMALL) > drawing.width - 2:
        x, y = 8.0, y + LINE_PX
    drawing.text(x, y, words, look="muted")
    return y + 6


def _draw_streams(drawing: Drawing, graph: Graph, left: float, right: float, top: float) -> None:
    for stream in range(graph.n_streams):
        drawing.rectangle(Box(left, top + stream * _ROW, right - left, _ROW - 1), "running")
    drawing.text(left - 6, top + SMALL - 2, "1", anchor="end", look="muted")
    bottom = top + _ROW * graph.n_streams
    drawing.text(left - 6, bottom - 1, str(graph.n_streams), anchor="end", look="muted")
    step = (right - left) / graph.end_ns
    for look in ("writing", "stalled"):
        parts = []
        for one in graph.intervals:
            if one.is_stalled == (look == "stalled"):
                # An interval that is thinner than a pixel is still seen.
                x, width = left + one.begin_ns * step, max((one.end_ns - one.begin_ns) * step, 0.8)
                y = top + one.stream * _ROW
                parts.append(f"M{x:.1f} {y:.1f}h{width:.1f}v{_ROW - 1:g}h{-width:.1f}z")
        if parts:
            drawing.path("".join(parts), look)


def _draw_counts(drawing: Drawing, graph: Graph, frame: Frame) -> None:
    drawing.line(frame.left, frame.bottom, frame.right, frame.bottom, "axis")
    drawing.text(frame.left - 6, frame.bottom, "0", anchor="end", look="muted")
    parts, y = [f"M{frame.x(0):.1f} {frame.bottom:.1f}"], frame.bottom
    for at, n in _stalled_over_time(graph):
        x, now = frame.x(at), frame.y(n)
        if f"{now:.1f}" != f"{y:.1f}":
            parts.append(f"H{x:.1f}V{now:.1f}")
            y = now
    parts.append(f"H{frame.x(graph.end_ns):.1f}V{frame.bottom:.1f}z")
    drawing.path("".join(parts), "stalled")
