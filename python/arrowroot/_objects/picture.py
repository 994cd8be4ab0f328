"""Pictures of histograms and graphs for notebooks: SVG in the colour of the text around it, light or dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from arrowroot._render import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from arrowroot._objects.graph import Graph
    from arrowroot._objects.histogram import Histogram

    Numbers = npt.NDArray[np.float64]

_WIDTH, _HEIGHT = 420, 240
#: Room for numbers at the left and below, and for the title above.
_LEFT, _BOTTOM, _TOP, _RIGHT = 56, 34, 24, 20
_N_TICKS = 5
#: More cells than these are added up to that many a side.
_MAX_CELLS = 100
_MAX_POINTS = 2000


def of_histogram(found: Histogram) -> str | None:
    """Return the picture of a histogram of one or two dimensions; None if there is none."""
    import numpy as np

    if found.n_dimensions > 2:
        return None
    values = np.asarray(found.values(), np.float64)
    edges = [np.asarray(axis.edges(), np.float64) for axis in found.axes]
    if not (values.size and np.isfinite(values).all() and all(np.isfinite(one).all() for one in edges)):
        return None
    titles = [axis.title for axis in found.axes]
    if len(edges) == 1:
        frame = _Frame(edges[0][[0, -1]], [min(0.0, float(values.min())), max(0.0, float(values.max()))])
        x, y = frame.x(edges[0]), frame.y(values)
        steps = " ".join(f"H{right:.1f}V{top:.1f}" for right, top in zip(x[:-1], y, strict=True))
        base = f"{frame.y(np.zeros(1))[0]:.1f}"
        line = f"M{x[0]:.1f} {base}{steps}H{x[-1]:.1f}V{base}"
        drawn = f'<path d="{line}" fill="currentColor" fill-opacity=".15" stroke="currentColor" stroke-width="1.2"/>'
        return frame.whole(drawn, found.title or found.name, titles)
    frame = _Frame(edges[0][[0, -1]], edges[1][[0, -1]])
    return frame.whole(_cells(frame, values, edges), found.title or found.name, titles)


def of_graph(found: Graph) -> str | None:
    """Return the picture of a graph in two dimensions; None if there is none."""
    import numpy as np

    if found.n_dimensions != 2 or not found.num_points:
        return None
    x, y = found.to_numpy()
    shown = np.isfinite(x) & np.isfinite(y)
    if not shown.any():
        return None
    x, y = x[shown][:_MAX_POINTS], y[shown][:_MAX_POINTS]
    frame = _Frame([x.min(), x.max()], [y.min(), y.max()])
    points = "".join(
        f'<circle cx="{one:.1f}" cy="{other:.1f}" r="2"/>'
        for one, other in zip(frame.x(x), frame.y(y), strict=True)
    )
    return frame.whole(f'<g fill="currentColor">{points}</g>', found.title or found.name, ["", ""])


def _cells(frame: _Frame, values: Numbers, edges: Sequence[Numbers]) -> str:
    """Return the cells of two dimensions, as dark as they are full."""
    import numpy as np

    for axis in (0, 1):
        n_joined = -(-values.shape[axis] // _MAX_CELLS)
        starts = np.arange(0, values.shape[axis], n_joined)
        values = np.add.reduceat(values, starts, axis=axis)
        edges = [np.append(one[starts], one[-1]) if i == axis else one for i, one in enumerate(edges)]
    least, most = min(0.0, float(values.min())), float(values.max())
    shares = (values - least) / (most - least or 1)
    x, y = frame.x(edges[0]), frame.y(edges[1])
    cells = [
        f'<rect x="{x[i]:.3f}" y="{y[j + 1]:.3f}" width="{x[i + 1] - x[i]:.3f}" height="{y[j] - y[j + 1]:.3f}" '
        f'fill-opacity="{shares[i, j]:.2f}"/>'
        for i, j in np.argwhere(shares > 0.005)
    ]
    return f'<g fill="currentColor" shape-rendering="crispEdges">{"".join(cells)}</g>'


class _Frame:
    """The place of a picture and its axes."""

    def __init__(self, x: Sequence[float] | Numbers, y: Sequence[float] | Numbers) -> None:
        self._x, self._y = _widened(x), _widened(y)

    def x(self, values: Numbers) -> Numbers:
        low, high = self._x
        return _LEFT + (values - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)

    def y(self, values: Numbers) -> Numbers:
        low, high = self._y
        return _HEIGHT - _BOTTOM - (values - low) / (high - low) * (_HEIGHT - _BOTTOM - _TOP)

    def whole(self, drawn: str, title: str, axes: Sequence[str]) -> str:
        """Return the picture with its frame, numbers and titles, whatever stands in these."""
        bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        labels = [_text(_LEFT, 15, title, weight="bold"), _text(right, _HEIGHT - 4, axes[0], anchor="end")]
        for value in _ticks(*self._x):
            labels += [_text(float(self.x(value)), bottom + 14, f"{value:.4g}", anchor="middle")]
        for value in _ticks(*self._y):
            labels += [_text(_LEFT - 5, float(self.y(value)) + 4, f"{value:.4g}", anchor="end")]
        frame = f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="currentColor" stroke-opacity=".5"/>'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
            f'style="max-width:100%" role="img" font-family="sans-serif" font-size="11">'
            f'{drawn}{frame}<g fill="currentColor">{"".join(labels)}</g></svg>'
        )


def _ticks(low: float, high: float) -> Iterator[Numbers]:
    """Yield the numbers between that are easily read: multiples of 1, 2 or 5 of a power of ten."""
    import numpy as np

    rough = (high - low) / _N_TICKS
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    yield from np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step


def _widened(ends: Sequence[float] | Numbers) -> tuple[float, float]:
    low, high = float(ends[0]), float(ends[1])
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    shown = escape(printable(text)[:60])
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{shown}</text>'
