"""The picture of a reading, as TTreePerfStats draws it: file offset and time against entry number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from arrowroot import _metrics
from arrowroot._errors import InvalidRequestError, missing_library
from arrowroot._sizes import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from arrowroot._metrics import Measurement
    from arrowroot._plan import Read

_FORMATS = (".png", ".svg", ".pdf")
_BLUE = "#2b6cb0"
_RED = "#c53030"
_GREY = "#4a5568"
#: Above so many reads they are drawn as pixels, also in SVG and PDF.
_N_VECTOR_READS = 2_000
_DPI = 160
#: Up to so many windows, each is a dot on the line of time.
_N_MARKED = 50


def check(path: str) -> None:
    """Raise before any work if the picture cannot be drawn: wrong form of file, or no Matplotlib."""
    if Path(path).suffix.lower() not in _FORMATS:
        raise InvalidRequestError(f"--plot {path}: the name must end in {', '.join(_FORMATS)}")
    try:
        import matplotlib.figure  # noqa: F401, PLC0415
    except ImportError as error:
        raise missing_library("matplotlib", "--plot", "plot") from error


def draw(
    path: str, reads: Sequence[Read], measurement: Measurement, title: str, entries: tuple[int, int]
) -> None:
    """Draw the physical reads of one pass over ``entries`` (half-open) into a file.

    Each read is a box: as wide as the entries of its window, as high as its bytes. The line is the real time
    at which the reads of a window were done.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - only pictures need it
    from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415
    from matplotlib.lines import Line2D  # noqa: PLC0415
    from matplotlib.patches import Patch  # noqa: PLC0415
    from matplotlib.ticker import EngFormatter, MaxNLocator  # noqa: PLC0415

    figure = Figure(figsize=(11, 6.2), layout=ConstrainedLayoutEngine(wspace=0.04))
    grid = figure.add_gridspec(1, 2, width_ratios=[1, 4.2])
    text_axes = figure.add_subplot(grid[0])
    axes = figure.add_subplot(grid[1])
    time_axes = axes.twinx()
    _text(text_axes, measurement)
    figure.suptitle(_shortened(title), fontsize=12, fontweight="bold", color="#1a202c")

    _draw_reads(axes, reads, entries)
    _draw_time(time_axes, reads, measurement, entries)

    low, high = entries
    axes.set_xlim(low, max(high, low + 1))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.set_xlabel("entry number")
    axes.set_ylabel("offset in the file (MB)", color=_BLUE)
    axes.tick_params(axis="y", colors=_BLUE)
    axes.grid(visible=True, color="#e2e8f0", linewidth=0.8)
    axes.set_axisbelow(True)
    handles = [Patch(color=_BLUE, alpha=0.55), Line2D([], [], color=_RED, linewidth=1.6)]
    labels = ["a read: its bytes, the entries of its window", "real time when they had been read"]
    axes.legend(
        handles, labels, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=8.5
    )
    time_axes.set_ylabel("real time (s)", color=_RED)
    time_axes.tick_params(axis="y", colors=_RED)
    for each in (axes, time_axes):
        each.spines["top"].set_visible(False)
        each.spines["left"].set_color(_BLUE)
        each.spines["right"].set_color(_RED)
    figure.savefig(path, dpi=_DPI)


def _columns(reads: Sequence[Read]) -> npt.NDArray[np.float64]:
    import numpy as np  # noqa: PLC0415 - only pictures need it

    columns: npt.NDArray[np.float64] = np.array(reads, dtype=np.float64).reshape(-1, 5).T
    return columns


def _draw_reads(axes: Any, reads: Sequence[Read], entries: tuple[int, int]) -> None:
    import numpy as np  # noqa: PLC0415
    from matplotlib.collections import PolyCollection  # noqa: PLC0415

    if not reads:
        axes.text(0.5, 0.5, "no reads", transform=axes.transAxes, ha="center", va="center", color=_GREY)
        return
    offset, n_bytes, first, _, _ = _columns(reads)
    starts = np.unique(first)
    ends = np.append(starts[1:], max(entries[1], starts[-1] + 1))
    right = ends[np.searchsorted(starts, first)]
    bottom, top = offset / 1e6, (offset + n_bytes) / 1e6
    corners = np.stack(
        [
            np.stack([first, bottom], 1),
            np.stack([first, top], 1),
            np.stack([right, top], 1),
            np.stack([right, bottom], 1),
        ],
        axis=1,
    )
    lowest, highest = bottom.min(), top.max()
    margin = 0.03 * (highest - lowest) or 1.0
    many = len(reads) > _N_VECTOR_READS
    axes.add_collection(
        PolyCollection(
            corners,  # type: ignore[arg-type]  # an array (reads, 4, 2) is the fast way
            facecolors=_BLUE,
            edgecolors=_BLUE,
            # The edge keeps a small read visible; between many it must not fill the gaps.
            linewidths=0.25 if many else 0.6,
            alpha=0.55,
            rasterized=many,
        )
    )
    axes.set_ylim(max(0.0, lowest - margin), highest + margin)


def _draw_time(axes: Any, reads: Sequence[Read], measurement: Measurement, entries: tuple[int, int]) -> None:
    import numpy as np  # noqa: PLC0415

    real_s = measurement.real_ns / 1e9
    axes.set_ylim(0, 1.06 * max(real_s, 1e-9))
    if not reads:
        return
    _, _, first, _, end_ns = _columns(reads)
    starts, window = np.unique(first, return_inverse=True)
    done = np.zeros(len(starts))
    np.maximum.at(done, window, end_ns / 1e9)
    x = np.concatenate([starts, [entries[1]]])
    y = np.concatenate([done, [real_s]])
    axes.plot(x, y, color=_RED, linewidth=1.6, marker="o" if len(starts) <= _N_MARKED else None, markersize=3)


def _text(axes: Any, measurement: Measurement) -> None:
    """Write the main measures beside the picture, as TTreePerfStats does."""
    axes.axis("off")
    values = _metrics.values(measurement)
    chosen = [metric for metric in _metrics.METRICS if metric.alias]
    rows = [(metric.alias or "", _metrics.shown(metric, values[metric.key])) for metric in chosen]
    rows += [("", "")]
    for kind in ("read", "decompress", "decode", "wait"):
        percent = values[f"{kind}_percent"]
        rows.append((kind, "-" if percent is None else f"{percent:.1f} %"))
    rows += [("", ""), ("columns", format_count(measurement.n_columns))]
    rows.append(("threads", format_count(measurement.stats.n_threads)))
    step = 1 / (len(rows) + 1)
    for i, (name, value) in enumerate(rows):
        y = 1 - (i + 1) * step
        axes.text(0, y, name, fontsize=8.5, color=_GREY, va="center", transform=axes.transAxes)
        axes.text(
            1, y, value, fontsize=8.5, ha="right", va="center", transform=axes.transAxes, color="#1a202c"
        )


def _shortened(title: str, limit: int = 90) -> str:
    # A dollar sign would start a formula.
    text = title if len(title) <= limit else "…" + title[-limit + 1 :]
    return text.replace("$", r"\$")
