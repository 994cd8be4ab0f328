"""The picture of a reading, as TTreePerfStats draws it: file offset and time against entry number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._cost import metrics
from arrowroot._pictures import panels, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from arrowroot._cost.metrics import Measurement
    from arrowroot._cost.plan import Read
    from arrowroot._report.monitor import Series

_BOX_ALPHA = 0.55
_DOT_ALPHA = 0.35
_SHARES = tuple((kind, f"{kind}_percent") for kind in ("read", "decompress", "decode", "wait"))
#: Above so many reads they are drawn as pixels, also in SVG and PDF.
_N_VECTOR_READS = 2_000
#: Up to so many batches, each is a dot on the line of time.
_N_MARKED = 50


def draw(
    path: str,
    reads: Sequence[Read],
    measurement: Measurement,
    title: str,
    *,
    entries: tuple[int, int],
    delivered: Sequence[tuple[int, int]],
    series: Series | None = None,
) -> None:
    """Draw the physical reads of one pass over ``entries`` (half-open) into a file.

    Each read is a box: as wide as the entries of its baskets, as high as its bytes. A dot is the real time when a
    read had ended; the line is the real time when entries were delivered: (end of the entries, ns) of each batch, whose
    entries all come at once.
    ``series``: what was sampled meanwhile, in panels below.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.ticker import EngFormatter, MaxNLocator

    layout = ConstrainedLayoutEngine(w_pad=0.14, h_pad=0.1, wspace=0.03)
    figure = Figure(figsize=(11.5, 6.2 if series is None else 8.5), layout=layout)
    rows = figure.add_gridspec(2, 1, height_ratios=[6.2, 2.0]) if series is not None else None
    grid = (rows[0].subgridspec if rows is not None else figure.add_gridspec)(1, 2, width_ratios=[1, 4.6])
    text_axes = figure.add_subplot(grid[0])
    axes = figure.add_subplot(grid[1])
    time_axes = axes.twinx()
    _text(text_axes, measurement)

    low, high = entries
    _draw_reads(axes, reads, low, high)
    _draw_time(time_axes, reads, measurement.real_ns, low, delivered)
    style.write_title(axes, _shortened(title), pad=30)
    axes.set_xlim(low, max(high, low + 1))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.set_xlabel("entry number", color=style.DARK)
    style.draw_grid(axes)
    axes.tick_params(axis="x", colors=style.GREY)
    axes.tick_params(axis="y", colors=style.BLUE)
    time_axes.tick_params(axis="y", colors=style.RED)
    for each in (axes, time_axes):
        style.hide(each, "top")
        each.spines["bottom"].set_color(style.GREY)
        each.spines["left"].set_color(style.BLUE)
        each.spines["right"].set_color(style.RED)
    _legend(axes)
    if series is not None and rows is not None:
        n_panels = len(panels.PANELS)
        below = rows[1].subgridspec(1, n_panels)
        panels.draw([figure.add_subplot(below[i]) for i in range(n_panels)], series)
    style.save(figure, path)


def _legend(axes: Any) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(color=style.BLUE, alpha=_BOX_ALPHA),
        Line2D([], [], color=style.RED, marker=".", linestyle="none", alpha=_DOT_ALPHA),
        Line2D([], [], color=style.RED, linewidth=1.6),
    ]
    labels = [
        "a read: its bytes, the entries in them",
        "when it had been read",
        "when entries were delivered",
    ]
    axes.legend(
        handles,
        labels,
        loc="lower left",
        bbox_to_anchor=(-0.008, 1),
        ncols=3,
        frameon=False,
        fontsize=9,
        labelcolor=style.GREY,
        handletextpad=0.6,
        columnspacing=1.8,
    )


def _columns(reads: Sequence[Read]) -> npt.NDArray[np.float64]:
    import numpy as np

    columns: npt.NDArray[np.float64] = np.array(reads, dtype=np.float64).reshape(-1, 6).T
    return columns


def _draw_reads(axes: Any, reads: Sequence[Read], low: int, high: int) -> None:
    import numpy as np
    from matplotlib.collections import PolyCollection

    if not reads:
        axes.text(0.5, 0.5, "no reads", transform=axes.transAxes, ha="center", va="center", color=style.GREY)
        axes.set_yticks([])
        return
    offset, n_bytes, first, end, _, _ = _columns(reads)
    factor, unit = style.unit(float((offset + n_bytes).max()), style.SIZES)
    axes.set_ylabel(f"offset in the file ({unit})", color=style.BLUE)
    left, right = np.clip(first, low, high), np.clip(end, low, high)
    bottom, top = offset / factor, (offset + n_bytes) / factor
    corners = np.stack(
        [np.stack(corner, 1) for corner in ((left, bottom), (left, top), (right, top), (right, bottom))],
        axis=1,
    )
    many = len(reads) > _N_VECTOR_READS
    axes.add_collection(
        PolyCollection(
            corners,  # type: ignore[arg-type]  # an array (reads, 4, 2) is the fast way
            facecolors=style.BLUE,
            edgecolors=style.BLUE,
            # The edge keeps a small read visible; between many it must not fill the gaps.
            linewidths=0.25 if many else 0.6,
            alpha=_BOX_ALPHA,
            rasterized=many,
        )
    )
    lowest, highest = float(bottom.min()), float(top.max())
    margin = 0.03 * (highest - lowest) or 1.0
    axes.set_ylim(max(0.0, lowest - margin), highest + margin)


def _draw_time(
    axes: Any, reads: Sequence[Read], real_ns: int, low: int, delivered: Sequence[tuple[int, int]]
) -> None:
    factor, unit = style.unit(real_ns, style.TIMES)
    axes.set_ylabel(f"real time ({unit})", color=style.RED)
    axes.set_ylim(0, 1.06 * max(real_ns, 1) / factor)
    if reads:
        _, _, first, end, _, end_ns = _columns(reads)
        axes.plot(
            (first + end) / 2,
            end_ns / factor,
            color=style.RED,
            marker=".",
            linestyle="none",
            markersize=4,
            markeredgewidth=0,
            alpha=_DOT_ALPHA,
            rasterized=len(reads) > _N_VECTOR_READS,
        )
    axes.plot(
        [low, *(entry for entry, _ in delivered)],
        [0.0, *(ns / factor for _, ns in delivered)],
        color=style.RED,
        linewidth=1.6,
        drawstyle="steps-pre",
        marker="o" if len(delivered) <= _N_MARKED else None,
        markersize=3.5,
        clip_on=False,
    )


def _text(axes: Any, measurement: Measurement) -> None:
    """Write the main measures beside the picture, as TTreePerfStats does."""
    axes.axis("off")
    values = metrics.values(measurement)
    by_key = metrics.by_key()
    rows: list[tuple[str, str]] = [
        (metric.alias, metrics.shown(metric, values[metric.key]))
        for metric in metrics.METRICS
        if metric.alias
    ]
    rows += [("", ""), ("Time of all threads", "")]
    rows += [(kind, metrics.shown(by_key[key], values[key])) for kind, key in _SHARES]
    rows.append(("", ""))
    for key in ("n_columns", "n_threads", "peak_rss_bytes"):
        rows.append((by_key[key].label or key, metrics.shown(by_key[key], values[key])))
    step = 1 / len(rows)
    for i, (name, value) in enumerate(rows):
        y = 1 - (i + 0.5) * step
        weight = "normal" if value else "bold"
        place = {"va": "center", "fontsize": 8.5, "transform": axes.transAxes}
        axes.text(0, y, name, color=style.GREY, fontweight=weight, **place)
        axes.text(1, y, value, color=style.DARK, ha="right", **place)


def _shortened(title: str, limit: int = 90) -> str:
    return title if len(title) <= limit else "…" + title[-limit + 1 :]
