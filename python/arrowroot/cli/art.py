"""Histograms and graphs drawn with characters."""

from __future__ import annotations

import itertools
import math
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot import PolyHistogram
from arrowroot._render import clip, printable, text_table, width_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot import Axis, Graph, Histogram

_EIGHTHS_UP = " ▁▂▃▄▅▆▇█"
_EIGHTHS_RIGHT = " ▏▎▍▌▋▊▉█"
_SHADES = " ░▒▓█"
#: Up to so many bins have a line each.
_MOST_LINES = 24
#: Of a map up to so many bins of x have a column of numbers each.
_MOST_FIELDS = 12
_HEIGHT = 16
_MAP_HEIGHT = 24
_MAX_LABEL = 24
_LEAST_BAR = 8
_MOST_COLUMNS = 140
#: For the numbers beside the axis, more or less.
_MARGIN = 10
#: Bits of the dots of a Braille letter, by row and column. Source: Unicode, block 2800.
_BRAILLE = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def histogram(h: Histogram, width: int) -> list[str]:
    """Return a histogram of one or two dimensions as lines that fit the width; of three none."""
    if h.n_dimensions == 1:
        axis = h.axes[0]
        many = axis.n_bins > _MOST_LINES and not axis.traits.discrete
        return _columns(h, axis, width) if many else _bars(h, _bin_texts(axis), width)
    if h.n_dimensions == 2:
        return _fields(h, width) or _shades(h, width)
    return []


def _bars(h: Histogram | PolyHistogram, texts: Sequence[str], width: int) -> list[str]:
    """One line for each bin: range or label, content and error, and a bar."""
    values, errors = h.values().tolist(), h.errors().tolist()
    numbers = [f"{value:.6g}" for value in values]
    spreads = [f"± {error:.3g}" for error in errors]
    columns = [_padded(texts, right=False), _padded(numbers), _padded(spreads, right=False)]
    room = max(_LEAST_BAR, width - sum(width_of(column[0]) + 2 for column in columns if column))
    low, high = _limits(values)
    bars = [_bar(value, low, high, room) for value in values]
    return ["  ".join(parts).rstrip() for parts in zip(*columns, bars, strict=True)]


def _bin_texts(axis: Axis) -> list[str]:
    """Return the label of each bin, or its range."""
    labels, edges = axis.labels, axis.edges().tolist()
    ranges = [f"[{low:.5g}, {high:.5g})" for low, high in itertools.pairwise(edges)]
    named = labels or [""] * axis.n_bins
    if labels and labels.count("") == 1:
        named = [name or '""' for name in named]  # of labels one may be an empty text
    return [clip(printable(name or text), _MAX_LABEL) for name, text in zip(named, ranges, strict=False)]


def _fields(h: Histogram, width: int) -> list[str]:
    """Return the numbers of a map as a table, as much as fits: y going up or x going down, with errors or without."""
    x, y = h.axes
    if max(x.n_bins, y.n_bins) > _MOST_LINES or min(x.n_bins, y.n_bins) > _MOST_FIELDS:
        return []
    values = [[f"{value:.4g}" for value in column] for column in h.values().tolist()]
    pairs = zip(values, h.errors().tolist(), strict=True)
    with_errors = [[f"{v} ± {e:.2g}" for v, e in zip(*pair, strict=True)] for pair in pairs]
    x_texts, y_texts = _bin_texts(x), _bin_texts(y)
    for columns in (with_errors, values):
        rows = [[text, *row] for text, row in zip(y_texts, zip(*columns, strict=True), strict=True)]
        turned = [[text, *row] for text, row in zip(x_texts, columns, strict=True)]
        for table in ([["y \\ x", *x_texts], *reversed(rows)], [["x \\ y", *y_texts], *turned]):
            lines = text_table(table).split("\n")
            if max(map(width_of, lines)) <= width:
                return lines
    return []


def _padded(cells: Sequence[str], *, right: bool = True) -> list[str]:
    widest = max(map(width_of, cells), default=0)
    fills = [" " * (widest - width_of(cell)) for cell in cells]
    return [fill + cell if right else cell + fill for fill, cell in zip(fills, cells, strict=True)]


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """Return the range to show: it has 0 in it, and is not empty."""
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(0.0, *finite), max(0.0, *finite)
    return (low, high) if high > low else (low, low + 1)


def _bar(value: float, low: float, high: float, room: int) -> str:
    """Return a bar from 0 to the value, on a line of ``room`` letters for ``low`` to ``high``."""
    if not math.isfinite(value):
        return "?"
    value, low, high = _with_finite_range(value, low, high)
    zero = round(-low / (high - low) * room)
    if value < 0:
        # There are no letters filled from the right: negative bars end at whole ones.
        n_letters = min(zero, max(1, round(-value / (high - low) * room)))
        return " " * (zero - n_letters) + "▒" * n_letters
    eighths = round(value / (high - low) * room * 8)
    eighths = max(eighths, 1 if value > 0 else 0)
    return " " * zero + "█" * (eighths // 8) + _EIGHTHS_RIGHT[eighths % 8].strip()


def _with_finite_range(value: float, low: float, high: float) -> tuple[float, float, float]:
    """Return a value and the ends of its range, all of them halved if the range would be infinite."""
    return (value / 2, low / 2, high / 2) if math.isinf(high - low) else (value, low, high)


def _share(value: float, low: float, high: float) -> float:
    """Return where in a range a value is: 0 at its begin, 1 at its end."""
    value, low, high = _with_finite_range(value, low, high)
    return (value - low) / (high - low)


class _Grid(NamedTuple):
    """Bins put together so that so many remain."""

    values: list[float]
    n_together: int


def _together(values: Sequence[float], most: int, *, mean: bool) -> _Grid:
    n_together = _group(len(values), most)
    groups = [values[i : i + n_together] for i in range(0, len(values), n_together)]
    return _Grid([sum(group) / (len(group) if mean else 1) for group in groups], n_together)


def _group(n_bins: int, most: int) -> int:
    """Return how many bins to put together for at most so many groups: a divisor, if one is near."""
    least = -(-n_bins // max(1, most))
    return next((n for n in range(least, 2 * least) if n_bins % n == 0), least)


def _columns(h: Histogram, axis: Axis, width: int) -> list[str]:
    """One column for each bin, or for some bins together."""
    is_mean = h.kind == "MEAN"
    values = h.values().tolist()
    grid = _together(values, max(_LEAST_BAR, min(width, _MOST_COLUMNS) - _MARGIN), mean=is_mean)
    low, high = _limits(grid.values)
    # 0 is where two rows meet.
    n_below = min(_HEIGHT - 1, max(1, round(_share(0, low, high) * _HEIGHT))) if low < 0 else 0
    # Parts of the smallest numbers are 0.
    step = max(high / (_HEIGHT - n_below), -low / n_below if n_below else 0, math.ulp(0.0))
    top = step * (_HEIGHT - n_below)
    labels = {0: f"{top:.4g}", _HEIGHT - 1: f"{top - step * _HEIGHT:.4g}"}
    margin = max(map(len, labels.values())) + 2
    each = max(1, (min(width, _MOST_COLUMNS) - margin) // len(grid.values))
    lines = []
    for row in range(_HEIGHT):
        letters = "".join(_cell(value / step, _HEIGHT - n_below - row - 1) * each for value in grid.values)
        lines.append(f"{labels.get(row, ''):>{margin - 2}} ┤{letters}".rstrip())
    n_letters = each * len(grid.values)
    lines.append(f"{'':>{margin - 2}} └{'─' * n_letters}")
    lines.append(" " * margin + _scale(axis.low, axis.high, n_letters))
    if grid.n_together > 1:
        lines.append(
            f"{'':>{margin}}each column is {'the mean' if is_mean else 'the sum'} of {grid.n_together} bins"
        )
    return lines


def _cell(value: float, row: int) -> str:
    """Return the letter of a column in a row, counted from 0 up; ``value`` in rows; the column stands on 0."""
    if not math.isfinite(value):
        return "?" if row == 0 else " "
    if row >= 0:
        return _EIGHTHS_UP[min(8, max(0, math.ceil((value - row) * 8)))]
    return "▒" if value <= row + 0.5 else " "


def _scale(low: float, high: float, n_letters: int) -> str:
    """Return the ends and the middle of a range, at their places."""
    left, middle, right = f"{low:.4g}", f"{low / 2 + high / 2:.4g}", f"{high:.4g}"
    space = n_letters - len(left) - len(middle) - len(right)
    if space < 2:
        return f"{left} … {right}"
    before = max(1, n_letters // 2 - len(left) - len(middle) // 2)
    return f"{left}{' ' * before}{middle}{' ' * max(1, space - before)}{right}"


def _shades(h: Histogram, width: int) -> list[str]:
    """A map of a histogram of two dimensions: the darker, the more; y goes up."""
    x, y = h.axes
    table = h.values().tolist()
    is_mean = h.kind == "MEAN"
    margin = _margin(y.low, y.high)
    n_columns = max(_LEAST_BAR, (min(width, _MOST_COLUMNS) - margin) // 2)
    # Bins of x together, then bins of y.
    rows = [_together(column, _MAP_HEIGHT, mean=is_mean).values for column in table]
    n_x, n_y = _group(len(rows), n_columns), _group(y.n_bins, _MAP_HEIGHT)
    cells = []
    for i in range(0, len(rows), n_x):
        group = rows[i : i + n_x]
        sums = [sum(parts) for parts in zip(*group, strict=True)]
        cells.append([value / len(group) if is_mean else value for value in sums])
    highest = max((abs(v) for column in cells for v in column if math.isfinite(v)), default=0) or 1
    each = max(1, min(6, (min(width, _MOST_COLUMNS) - margin) // len(cells)))
    rows_of_letters = [
        "".join(_shade(column[row], highest) * each for column in cells)
        for row in reversed(range(len(cells[0])))
    ]
    lines = _framed(rows_of_letters, (x.low, x.high), (y.low, y.high))
    together = f"; each field is {'the mean' if is_mean else 'the sum'} of {n_x} x {n_y} bins" * (
        n_x * n_y > 1
    )
    lines.append(f"{'':>{margin}}█ is {highest:.5g}, - is below 0{together}")
    return lines


def _margin(low: float, high: float) -> int:
    """Return the room for the ends of the upright axis."""
    return max(len(f"{edge:.4g}") for edge in (low, high)) + 2


def _framed(rows: Sequence[str], of_x: tuple[float, float], of_y: tuple[float, float]) -> list[str]:
    """Return rows of letters of the same length, the first one above, with their axes."""
    margin = _margin(*of_y)
    labels = {len(rows) - 1: f"{of_y[0]:.4g}", 0: f"{of_y[1]:.4g}"}
    lines = [f"{labels.get(i, ''):>{margin - 2}} ┤{row}".rstrip() for i, row in enumerate(rows)]
    lines.append(f"{'':>{margin - 2}} └{'─' * len(rows[0])}")
    lines.append(" " * margin + _scale(*of_x, len(rows[0])))
    return lines


def polygons(h: PolyHistogram, width: int) -> list[str]:
    """Return bins that are polygons as lines that fit the width, one for each; where they are many, a note."""
    if not h.num_bins:
        return ["(there are no bins yet)"]
    if h.num_bins <= _MOST_LINES:
        boxes = [_box(parts) for parts in h.polygons]
        texts = [
            f"{i}  in [{left:.4g}, {right:.4g}] x [{low:.4g}, {high:.4g}]"
            for i, (left, low, right, high) in enumerate(boxes, 1)
        ]
        return _bars(h, texts, width)
    return [f"({h.num_bins} bins that are polygons are not drawn: --members and --json show what is in them)"]


def _box(parts: Sequence[Any]) -> tuple[float, float, float, float]:
    """Return the least x and y of polygons, and the greatest."""
    corners = [corner for part in parts for corner in part.tolist()] or [[math.nan, math.nan]]
    (low_x, low_y), (high_x, high_y) = (map(end, zip(*corners, strict=True)) for end in (min, max))
    return low_x, low_y, high_x, high_y


def _shade(value: float, highest: float) -> str:
    if not math.isfinite(value):
        return "?"
    if value < 0:
        return "-"
    return _SHADES[min(4, math.ceil(value / highest * 4))]


def graph(g: Graph, width: int) -> list[str]:
    """Return the points of a graph of two dimensions as dots."""
    pairs = [
        (x, y)
        for x, y in zip(g.x.tolist(), g.y.tolist(), strict=True)
        if math.isfinite(x) and math.isfinite(y)
    ]
    if not pairs or g.n_dimensions != 2:
        return []
    (left, right), (low, high) = (_span(values) for values in zip(*pairs, strict=True))
    n_columns = max(_LEAST_BAR, min(width, 80) - _margin(low, high))
    dots: dict[tuple[int, int], int] = {}
    for x, y in pairs:
        column = min(2 * n_columns - 1, int(_share(x, left, right) * 2 * n_columns))
        row = min(4 * _HEIGHT - 1, int(_share(y, high, low) * 4 * _HEIGHT))
        index = (row // 4, column // 2)
        dots[index] = dots.get(index, 0) | _BRAILLE[row % 4][column % 2]
    rows = [
        "".join(chr(0x2800 + dots[row, i]) if (row, i) in dots else " " for i in range(n_columns))
        for row in range(_HEIGHT)
    ]
    return _framed(rows, (left, right), (low, high))


def _span(values: Sequence[float]) -> tuple[float, float]:
    """Return the range of values to show, which is not empty."""
    low, high = min(values), max(values)
    around = max(0.5, abs(low) * 1e-9)
    largest = sys.float_info.max
    return (low, high) if high > low else (max(low - around, -largest), min(high + around, largest))


def statistics(h: Histogram | PolyHistogram) -> list[tuple[str, Any]]:
    """Return what is worth knowing besides the bins."""
    rows: list[tuple[str, Any]] = [("entries", f"{h.num_entries:.15g}")]
    if h.kind == "COUNT":
        rows.append(("sum", f"{float(h.values().sum(dtype=float)):.6g}"))
        rows.append(("outside", f"{_outside(h):.6g}"))
    rows.append(("errors", "from sums of squares of weights" if h.is_weighted else "from counts"))
    if h.kind == "MEAN":
        modes = {
            "": "of the mean",
            "s": "the spread",
            "i": "of the mean of integers",
            "g": "from Gaussian weights",
        }
        rows[-1] = ("errors", modes[getattr(h, "error_mode", "")])
    return rows


def _outside(h: Histogram | PolyHistogram) -> float:
    """Return the sum of what is in no bin."""
    if isinstance(h, PolyHistogram):
        return float(h.outside().sum())
    values = h.values(flow=True).astype(float)
    values[(slice(1, -1),) * h.n_dimensions] = 0
    return float(values.sum())
