"""Pictures of the experiment: queues and memory over time, and how throughput scales."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from campaigns.parallel_output.cases import Outcome

BLUE, RED, GREEN, GREY, DARK = "#2b6cb0", "#c53030", "#2f855a", "#4a5568", "#1a202c"
STYLE = {
    "axes.axisbelow": True, "axes.grid": True, "axes.labelcolor": DARK, "axes.spines.right": False,
    "axes.spines.top": False, "axes.titlecolor": DARK, "axes.titlelocation": "left", "axes.titlesize": 12,
    "axes.titleweight": "bold", "grid.color": "#e2e8f0", "legend.fontsize": 7, "legend.frameon": False,
    "legend.labelcolor": GREY, "savefig.dpi": 160, "xtick.color": GREY, "xtick.labelsize": 8, "ytick.color": GREY,
    "ytick.labelsize": 8,
}  # fmt: skip
#: Light to dark, for what has an order.
SHADES = ("#90cdf4", "#4299e1", BLUE, "#1a365d")
WARM = ("#fbd38d", "#f6ad55", "#dd6b20", "#7b341e")


@rc_context(STYLE)
def draw_queues(path: str, told: Mapping[str, Any]) -> None:
    """Draw queue and memory over time; keys of ``told`` are events, entries of a cluster and writer."""
    shapes = list(dict.fromkeys(key.split()[0] for key in told))
    figure = Figure(figsize=(10.0, 5.6), layout="constrained")
    axes = figure.subplots(2, len(shapes), squeeze=False)
    for column, shape in enumerate(shapes):
        runs: dict[str, dict[str, Any]] = {}
        for key, run in told.items():
            of_shape, flush, engine = key.split()
            if of_shape == shape:
                runs.setdefault(flush, {})[engine] = run["queue"]
        for number, (flush, engines) in enumerate(runs.items()):
            colour = SHADES[(1, 3)[number % 2]]
            samples = engines["arrowroot"]
            axes[0, column].plot(_times(samples), [s[1] for s in samples], color=colour, linewidth=1.2)
            axes[1, column].plot(
                _times(samples), [s[4] / 1e6 for s in samples], color=colour, linewidth=1.4,
                label=f"arrowroot, clusters of {flush}",
            )  # fmt: skip
            samples = engines["tbuffermerger"]
            axes[1, column].plot(
                _times(samples), [s[4] / 1e6 for s in samples], color=RED, linewidth=1.4,
                linestyle=("--", "-")[number % 2], label=f"TBufferMerger, clusters of {flush}",
            )  # fmt: skip
        axes[0, column].set_title(f"{shape.upper()}-like")
        axes[1, column].set_xlabel("time (s)")
        axes[1, column].legend()
        for each in axes[:, column]:
            each.set_ylim(bottom=0)
        axes[0, column].yaxis.set_major_locator(MaxNLocator(integer=True))
    axes[0, 0].set_ylabel("clusters that wait")
    axes[1, 0].set_ylabel("memory (MB)")
    figure.savefig(path)


@rc_context(STYLE)
def draw_buffers(path: str, curves: Mapping[tuple[str, int], Sequence[Outcome]]) -> None:
    """Draw stalls against the number of buffers, and the fills of each of eight; keys are policy and streams."""
    figure = Figure(figsize=(10.0, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    streams = sorted({n_streams for _, n_streams in curves})
    width = 0.8 / len(curves)
    for place, ((policy, n_streams), outcomes) in enumerate(sorted(curves.items())):
        shade = streams.index(n_streams) + 1
        colour = SHADES[shade] if policy == "fullest" else WARM[shade]
        name = f"{policy}, {n_streams} streams"
        left.plot(
            range(1, len(outcomes) + 1), [o.stalls_s for o in outcomes], color=colour, marker="o", markersize=4,
            linewidth=1.6, label=name,
        )  # fmt: skip
        fills = outcomes[-1].n_fills
        places = [number + 1 + (place - (len(curves) - 1) / 2) * width for number in range(len(fills))]
        right.bar(places, [100 * n / sum(fills) for n in fills], width, color=colour)
    left.set_xlabel("buffers")
    left.set_ylabel("stalled (s)")
    left.legend(ncols=2)
    left.set_title("Stalls of all streams")
    right.set_xlabel("buffer")
    right.set_ylabel("fills (%)")
    right.set_title("Use of each of eight")
    for each in (left, right):
        each.set_ylim(bottom=0)
    # None at all has its place, too.
    left.set_yscale("symlog", linthresh=10)
    figure.savefig(path)


@rc_context(STYLE)
def draw_scale(path: str, told: Mapping[str, Any], large: Mapping[str, Any], buffer_mb: int) -> None:
    """Draw throughput over the limit against producers, for numbers of columns, and memory of a large run."""
    figure = Figure(figsize=(10.0, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    lines: dict[str, list[tuple[int, float]]] = {}
    for name, run in told.items():
        if "limit" in run:
            producers, columns = name.split(" producers, ")
            share = 1e9 * run["n_bytes"] / run["wall_ns"] / run["limit"]
            lines.setdefault(columns, []).append((int(producers), share))
    for colour, (columns, points) in zip(SHADES, lines.items(), strict=False):
        left.plot(
            *zip(*points, strict=True), color=colour, marker="o", markersize=4, linewidth=1.6, label=columns
        )
    left.set_xscale("log", base=2)
    ticks = [n for n, _ in next(iter(lines.values()))]
    left.set_xticks(ticks, [str(n) for n in ticks])
    left.xaxis.minorticks_off()
    left.set_xlabel("producers")
    left.set_ylabel("throughput / limit")
    left.legend(fontsize=8)
    left.set_title("Throughput beside the compressor's limit")
    samples = large["queue"]
    right.plot(_times(samples), [s[4] / 1e6 for s in samples], color=BLUE, linewidth=1.4, label="process")
    right.plot(_times(samples), [s[3] / 1e6 for s in samples], color=GREEN, linewidth=1.0, label="in buffers")
    right.axhline(buffer_mb, color=GREY, linewidth=1, linestyle=(0, (4, 3)), label="bound of the buffers")
    right.set_xlabel("time (s)")
    right.set_ylabel("memory (MB)")
    right.legend(fontsize=8)
    right.set_title(f"{large['n_bytes'] / 1e9:.0f} GB of values")
    for each in (left, right):
        each.set_ylim(bottom=0)
    figure.savefig(path)


def _times(samples: Sequence[Sequence[float]]) -> list[float]:
    return [sample[0] / 1000 for sample in samples]
