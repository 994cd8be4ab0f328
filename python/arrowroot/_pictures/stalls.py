"""The stall graph: streams against time, and below how many do what at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._cost.stalls import STATES
from arrowroot._pictures import style
from arrowroot._render import printable
from arrowroot._report.stalls import binned, n_doing
from arrowroot._sizes import counted, format_count, format_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot._cost.stalls import Stalls
    from arrowroot._report.stalls import Row

#: By state; those of CMS's graph where it has one: green runs, red is stalled.
COLOURS = ("#68a978", "#2b6cb0", "#e02424", "#d69e2e", "#b7a6d6")
_BACKGROUND = "#f4f6f8"
#: Columns of the picture: no screen shows more side by side.
_N_BINS = 1600
#: Up to so many streams have their names.
_N_NAMED = 40


def draw(path: str, title: str, stalls: Stalls) -> None:
    """Draw into a file; its suffix says the form: .png, .svg or .pdf."""
    import numpy as np
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    rows, bin_ns = binned(stalls, _N_BINS)
    height = 2.6 + 0.16 * min(max(len(rows), 8), 64)
    figure = Figure(figsize=(11.5, height), layout="constrained")
    axes, counts = figure.subplots(2, 1, sharex=True, height_ratios=[height - 2.2, 1.4])
    factor, unit = style.unit(bin_ns * _N_BINS, style.TIMES)
    last = bin_ns * _N_BINS / factor
    bins = np.array([row.bins for row in rows]).reshape(len(rows), _N_BINS)
    colours = ListedColormap([_BACKGROUND, *COLOURS])
    axes.imshow(
        bins,
        cmap=colours,
        norm=BoundaryNorm(np.arange(-1.5, len(STATES)), colours.N),
        aspect="auto",
        interpolation="nearest",
        extent=(0, last, max(len(rows), 1) - 0.5, -0.5),
    )
    # A line between streams keeps them apart without hiding a thin one.
    axes.hlines(
        np.arange(len(rows) - 1) + 0.5, 0, last, color="white", linewidth=min(1.0, 24 / max(len(rows), 1))
    )
    style.write_title(axes, f"{title}: {summary(stalls)}", pad=24)
    _name_streams(axes, rows)
    times = (np.arange(_N_BINS) + 0.5) * bin_ns / factor
    counts.stackplot(times, n_doing(stalls, _N_BINS), colors=COLOURS, linewidth=0, step="mid")
    counts.set_ylim(0, max(len(rows), 1))
    counts.set_ylabel("streams", color=style.DARK)
    counts.set_xlabel(f"time ({unit})", color=style.DARK)
    for each in (axes, counts):
        style.hide(each, "top", "right")
        each.tick_params(colors=style.GREY)
    axes.legend(
        [Patch(color=colour) for colour in COLOURS],
        list(STATES),
        loc="lower left",
        bbox_to_anchor=(-0.008, 1),
        ncols=len(STATES),
        frameon=False,
        fontsize=9,
        labelcolor=style.GREY,
        handlelength=1.0,
        columnspacing=1.4,
    )
    style.save(figure, path)


def summary(stalls: Stalls) -> str:
    """Return the stalls of all streams in a few words."""
    n_stalls = sum(stream.n_stalls for stream in stalls.streams)
    total_ns = sum(stream.stalls_ns for stream in stalls.streams)
    longest_ns = max((stream.longest_wait_ns for stream in stalls.streams), default=0)
    lost = f"; without the last {format_count(stalls.n_lost)} intervals" if stalls.n_lost else ""
    if not n_stalls:
        return f"{counted(len(stalls.streams), 'stream')}, no stalls{lost}"
    total, longest = format_seconds(total_ns / 1e9), format_seconds(longest_ns / 1e9)
    return (
        f"{counted(len(stalls.streams), 'stream')}, {counted(n_stalls, 'stall')} of {total} in all, at most {longest}"
        f"{lost}"
    )


def _name_streams(axes: Any, rows: Sequence[Row]) -> None:
    step = -(-len(rows) // _N_NAMED) if rows else 1
    shown = range(0, len(rows), step)
    axes.set_yticks(list(shown), [style.plain(printable(rows[i].name)[-24:]) for i in shown], fontsize=7)
