"""The curve of a sweep: time, bytes and requests against the size of a buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._pictures import style
from arrowroot._sizes import format_binary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot._report.replay import Outcome

_MAX_TICKS = 9
#: Height of the name of a line, in points.
_NAME_HEIGHT = 10


def draw(
    path: str, title: str, swept: Sequence[tuple[int, Outcome]], others: Sequence[tuple[str, Outcome]]
) -> None:
    """Draw the outcomes of a sweep, (size in bytes, outcome), with those of other strategies as lines across."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    figure = Figure(figsize=(8.5, 8.0), layout="constrained")
    axes = figure.subplots(3, 1, sharex=True, height_ratios=[1.5, 1, 1])
    sizes = [size for size, _ in swept]
    every = [outcome for _, outcome in (*swept, *others)]
    ns, time_unit = style.unit(max(o.wall_ns for o in every), style.TIMES)
    n_bytes, size_unit = style.unit(max(o.read_bytes for o in every), style.SIZES)
    _draw_panel(axes[0], sizes, [o.wall_ns / ns for _, o in swept], f"time ({time_unit})", style.BLUE)
    axes[0].fill_between(
        sizes, [o.think_ns / ns for _, o in swept], color=style.GREY, alpha=0.15, linewidth=0
    )
    if any(outcome.think_ns for _, outcome in swept):
        _note(axes[0], "decoding", swept[len(swept) // 2][1].think_ns / ns, style.GREY)
    read = [o.read_bytes / n_bytes for _, o in swept]
    _draw_panel(axes[1], sizes, read, f"bytes read ({size_unit})", style.RED)
    needed = swept[0][1].payload_bytes / n_bytes
    axes[1].axhline(needed, color=style.RED, linewidth=1, linestyle=(0, (1, 2)))
    _note(axes[1], "needed", needed, style.RED)
    _draw_panel(axes[2], sizes, [float(o.n_requests) for _, o in swept], "requests", style.GREEN)
    axes[2].set_yscale("log")
    _draw_across(axes[0], [(name, o.wall_ns / ns) for name, o in others])
    _draw_across(axes[1], [(name, o.read_bytes / n_bytes) for name, o in others])
    _draw_across(axes[2], [(name, float(o.n_requests)) for name, o in others])
    axes[2].yaxis.set_major_formatter(EngFormatter(sep=""))
    style.write_title(axes[0], title)
    step = -(-len(sizes) // _MAX_TICKS)
    axes[2].set_xscale("log", base=2)
    axes[2].set_xticks(sizes[::step], [format_binary(size) for size in sizes[::step]])
    axes[2].xaxis.minorticks_off()
    axes[2].set_xlabel("size", color=style.DARK)
    style.save(figure, path)


def _draw_panel(axes: Any, sizes: Sequence[int], values: Sequence[float], label: str, colour: str) -> None:
    axes.plot(sizes, values, color=colour, marker="o", markersize=4, linewidth=1.6)
    axes.set_ylabel(label, color=colour)
    axes.tick_params(colors=style.GREY)
    style.draw_grid(axes)
    style.hide(axes, "top", "right")


def _note(axes: Any, text: str, value: float, colour: str) -> None:
    """Write above a line what it is, in the middle: at the left the curve is near it, at the right stand names."""
    axes.annotate(
        text,
        (0.5, value),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        fontsize=8,
        color=colour,
    )


def _draw_across(axes: Any, lines: Sequence[tuple[str, float]]) -> None:
    """Draw a line across for each value, with its name; names that would cover each other stand together."""
    for _, value in lines:
        axes.axhline(value, color=style.GREY, linewidth=1, linestyle=(0, (4, 3)))
    # The axes are complete: from here on heights stay as they are.
    low, high = axes.get_ylim()
    axes.set_ylim(0 if axes.get_yscale() == "linear" else low, high)
    together: list[tuple[list[str], float, float]] = []
    for name, value in sorted(lines, key=lambda line: line[1]):
        _, height = axes.transData.transform((1.0, value))
        names = [name]
        if together and height - together[-1][2] < _NAME_HEIGHT * axes.figure.dpi / 72:
            names = [*together.pop()[0], name]
        together.append((names, value, height))
    for names, value, _ in together:
        axes.annotate(
            ", ".join(names),
            (1, value),
            xycoords=("axes fraction", "data"),
            xytext=(-2, 2),
            textcoords="offset points",
            ha="right",
            fontsize=8,
            color=style.GREY,
        )
