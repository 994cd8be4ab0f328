"""The curve of a sweep: time, bytes and requests against the size of a buffer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from arrowroot._errors import InvalidRequestError, missing_library
from arrowroot._sizes import format_binary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot._report.replay import Outcome

_FORMATS = (".png", ".svg", ".pdf")
_BLUE = "#2b6cb0"
_RED = "#c53030"
_GREEN = "#2f855a"
_GREY = "#718096"
_DARK = "#1a202c"
_DPI = 160
_MAX_TICKS = 9


def check(path: str) -> None:
    """Raise before any work if the picture cannot be drawn: wrong form of file, or no Matplotlib."""
    if Path(path).suffix.lower() not in _FORMATS:
        raise InvalidRequestError(f"--plot {path}: the name must end in {', '.join(_FORMATS)}")
    if not Path(path).parent.is_dir():
        raise InvalidRequestError(f"--plot {path}: there is no such directory")
    try:
        import matplotlib.figure  # noqa: F401, PLC0415
    except ImportError as error:
        raise missing_library("matplotlib", "--plot", "plot") from error


def draw(
    path: str, title: str, swept: Sequence[tuple[int, Outcome]], others: Sequence[tuple[str, Outcome]]
) -> None:
    """Draw the outcomes of a sweep, (size in bytes, outcome), with those of other strategies as lines across."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - only pictures need it
    from matplotlib.ticker import EngFormatter  # noqa: PLC0415

    figure = Figure(figsize=(8.5, 8.0), layout="constrained")
    axes = figure.subplots(3, 1, sharex=True, height_ratios=[1.5, 1, 1])
    sizes = [size for size, _ in swept]
    _draw_panel(axes[0], sizes, [o.wall_ns / 1e9 for _, o in swept], "time (s)", _BLUE)
    axes[0].fill_between(sizes, [o.think_ns / 1e9 for _, o in swept], color=_GREY, alpha=0.15, linewidth=0)
    if any(outcome.think_ns for _, outcome in swept):
        axes[0].annotate(
            "decoding",
            (sizes[0], swept[0][1].think_ns / 1e9),
            xytext=(4, -10),
            textcoords="offset points",
            fontsize=8,
            color=_GREY,
        )
    _draw_panel(axes[1], sizes, [o.read_bytes / 1e6 for _, o in swept], "bytes read (MB)", _RED)
    needed = swept[0][1].payload_bytes / 1e6
    axes[1].axhline(needed, color=_RED, linewidth=1, linestyle=(0, (1, 2)))
    axes[1].annotate(
        "needed",
        (sizes[0], needed),
        xytext=(4, -10),
        textcoords="offset points",
        fontsize=8,
        color=_RED,
    )
    _draw_panel(axes[2], sizes, [float(o.n_requests) for _, o in swept], "requests", _GREEN)
    for name, outcome in others:
        _across(axes[0], name, outcome.wall_ns / 1e9)
        _across(axes[1], name, outcome.read_bytes / 1e6)
        _across(axes[2], name, float(outcome.n_requests))
    axes[0].set_ylim(bottom=0)
    axes[1].set_ylim(bottom=0)
    axes[2].set_yscale("log")
    axes[2].yaxis.set_major_formatter(EngFormatter(sep=""))
    axes[0].set_title(title, loc="left", fontsize=12, fontweight="bold", color=_DARK)
    step = -(-len(sizes) // _MAX_TICKS)
    axes[2].set_xscale("log", base=2)
    axes[2].set_xticks(sizes[::step], [format_binary(size) for size in sizes[::step]])
    axes[2].xaxis.minorticks_off()
    axes[2].set_xlabel("size", color=_DARK)
    figure.savefig(path, dpi=_DPI)


def _draw_panel(axes: Any, sizes: Sequence[int], values: Sequence[float], label: str, colour: str) -> None:
    axes.plot(sizes, values, color=colour, marker="o", markersize=4, linewidth=1.6)
    axes.set_ylabel(label, color=colour)
    axes.tick_params(colors=_GREY)
    axes.grid(visible=True, color="#e2e8f0", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _across(axes: Any, name: str, value: float) -> None:
    axes.axhline(value, color=_GREY, linewidth=1, linestyle=(0, (4, 3)))
    axes.annotate(
        name,
        (1, value),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 2),
        textcoords="offset points",
        ha="right",
        fontsize=8,
        color=_GREY,
    )
