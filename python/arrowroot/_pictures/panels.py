"""Panels of what was sampled over time, below the picture of a reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._pictures import style
from arrowroot._report.monitor import GAUGES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot._report.monitor import Series

#: Lines of so few values have dots.
_N_MARKED = 3


class Panel(NamedTuple):
    """One pair of axes: its title, and the gauges in it by key with name and colour."""

    title: str
    unit: str
    lines: tuple[tuple[str, str, str], ...]


PANELS = (
    Panel("CPU", "cores", (("machine_cpu", "machine", style.GREY), ("process_cpu", "process", style.BLUE))),
    Panel(
        "Memory",
        "B",
        (("machine_memory_bytes", "machine", style.GREY), ("process_memory_bytes", "process", style.BLUE)),
    ),
    Panel(
        "Network",
        "B/s",
        (
            ("machine_sent_bytes_per_s", "sent", style.GREY),
            ("machine_received_bytes_per_s", "received", style.GREEN),
        ),
    ),
    Panel(
        "Disk reads",
        "B/s",
        (
            ("machine_disk_read_bytes_per_s", "machine", style.GREY),
            ("process_disk_read_bytes_per_s", "process", style.RED),
        ),
    ),
    Panel("Connections", "", (("process_connections", "process", style.BLUE),)),
)


def draw(axes: Sequence[Any], series: Series) -> None:
    """Draw each of :data:`PANELS` into one of the axes."""
    gauges = {gauge.key: gauge for gauge in GAUGES}
    last_s = series.times_ns[-1] / 1e9 if series.times_ns else 0.0
    for each, panel in zip(axes, PANELS, strict=True):
        lines = [(series.values(gauges[key]), name, colour) for key, name, colour in panel.lines]
        _draw_panel(each, panel, [line for line in lines if line[0]])
        each.set_xlim(0, last_s or 1.0)


def _draw_panel(axes: Any, panel: Panel, lines: Sequence[tuple[list[tuple[float, float]], str, str]]) -> None:
    from matplotlib.ticker import MaxNLocator

    highest = max((value for values, _, _ in lines for _, value in values), default=0.0)
    factor, unit = 1.0, panel.unit
    if panel.unit.startswith("B"):
        factor, unit = style.unit(highest, style.SIZES)
        unit += panel.unit[1:]
    title = f"{panel.title} ({unit})" if unit else panel.title
    axes.set_title(title, loc="left", fontsize=9, color=style.DARK, pad=16)
    for values, name, colour in lines:
        seconds, heights = zip(*values, strict=True)
        scaled = [height / factor for height in heights]
        marker = "." if len(scaled) <= _N_MARKED else None  # a line of one point is none
        axes.plot(seconds, scaled, color=colour, linewidth=1.2, marker=marker, label=name, clip_on=False)
        if colour != style.GREY:
            axes.fill_between(seconds, scaled, color=colour, alpha=0.12, linewidth=0)
    if not lines:
        axes.text(
            0.5, 0.5, "not known here", transform=axes.transAxes, ha="center", va="center", color=style.GREY
        )
        axes.set_yticks([])
    else:
        axes.set_ylim(0, 1.08 * highest / factor or 1.0)
        axes.yaxis.set_major_locator(MaxNLocator(3, integer=panel.unit == "", min_n_ticks=2))
    if len(lines) > 1:
        axes.legend(
            fontsize=7,
            frameon=False,
            loc="lower left",
            bbox_to_anchor=(-0.03, 0.98),
            ncols=2,
            borderpad=0,
            handlelength=1.0,
            columnspacing=0.8,
            handletextpad=0.4,
            labelcolor=style.GREY,
        )
    axes.xaxis.set_major_locator(MaxNLocator(3, min_n_ticks=2))
    axes.set_xlabel("real time (s)", fontsize=8, color=style.GREY)
    axes.tick_params(labelsize=8, colors=style.GREY)
    style.draw_grid(axes)
    style.hide(axes, "top", "right")
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#cbd5e0")
