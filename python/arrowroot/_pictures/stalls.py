"""The stall graph: streams against time, and below how many do what at a time."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arrowroot._cost.stalls import STATES
from arrowroot._pictures import style
from arrowroot._render import printable
from arrowroot._report.stalls import binned, by_name, n_doing
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
_N_BINS_HTML = 1200
#: Up to so many streams have their names.
_N_NAMED = 40


def check(path: str) -> None:
    """Raise before any work if the picture cannot be drawn."""
    if Path(path).suffix.lower() != ".html":
        style.check(path)


def draw(path: str, title: str, stalls: Stalls) -> None:
    """Draw into a file; its suffix says the form: .png, .svg, .pdf, or .html, a page of its own without scripts."""
    if Path(path).suffix.lower() == ".html":
        Path(path).write_text(page(title, stalls), encoding="utf-8")
        return
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
    axes.set_yticks(
        list(shown), [printable(rows[i].name)[-24:].replace("$", r"\$") for i in shown], fontsize=7
    )


def page(title: str, stalls: Stalls) -> str:
    """Return a page with the graph as SVG, a name and times for what the pointer is on, and the table of modules."""
    rows, bin_ns = binned(stalls, _N_BINS_HTML)
    row_height, text_height = (14, 10) if len(rows) <= _N_NAMED else (10, 9)
    left, width, height = 130, _N_BINS_HTML, row_height * len(rows)
    parts = []
    for number, row in enumerate(rows):
        top = number * row_height
        label = html.escape(printable(row.name)[-20:])
        parts.append(f'<text x="{left - 6}" y="{top + row_height - 2}" text-anchor="end">{label}</text>')
        parts.extend(
            f'<rect class="s{state}" x="{left + start}" y="{top}" width="{end - start}" height="{row_height - 1}">'
            f"<title>{label}: {STATES[state]}, {format_seconds(start * bin_ns / 1e9)} to "
            f"{format_seconds(end * bin_ns / 1e9)}</title></rect>"
            for state, start, end in _runs(row.bins)
        )
    ticks = []
    for part in range(11):
        x = left + width * part / 10
        ticks.append(
            f'<line x1="{x}" x2="{x}" y1="{height}" y2="{height + 5}" stroke="{style.GREY}"/>'
            f'<text x="{x}" y="{height + 18}" text-anchor="middle">'
            f"{format_seconds(bin_ns * width * part / 10 / 1e9)}</text>"
        )
    legend = "".join(f'<li class="k{i}">{state}</li>' for i, state in enumerate(STATES))
    colours = "".join(
        f".s{i}{{fill:{c}}} .k{i}::before{{content:'';background:{c}}}\n" for i, c in enumerate(COLOURS)
    )
    table = "".join(
        f"<tr><td>{html.escape(printable(m.label))}</td><td>{m.n_calls:,}</td><td>{m.n_stalls:,}</td>"
        f"<td>{m.total_ns / 1e9:.3f} s</td><td>{m.longest_ns / 1e9:.3f} s</td></tr>"
        for m in stalls.modules
    )
    streams = "".join(
        f"<tr><td>{html.escape(printable(s.name))}</td><td>{s.n_fills:,}</td><td>{s.n_stalls:,}</td>"
        f"<td>{s.stalls_ns / 1e9:.3f} s</td><td>{s.longest_wait_ns / 1e9:.3f} s</td><td>{s.efficiency:.4f}</td></tr>"
        for s in (stalls.streams[index] for index in by_name(stalls.streams))
    )
    facts = html.escape(f"{summary(stalls)}; efficiency {stalls.efficiency:.4f}")
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(printable(title))}</title><style>
body{{font:14px/1.5 system-ui,sans-serif;color:{style.DARK};margin:2em;
max-width:{left + width + 40}px}}
.wide{{overflow-x:auto}}
svg{{background:{_BACKGROUND};width:100%;min-width:900px;height:auto}} svg text{{font:{text_height}px sans-serif;
fill:{style.GREY}}}
ul{{list-style:none;display:flex;flex-wrap:wrap;gap:.3em 1.5em;padding:0}}
li::before{{display:inline-block;width:1em;height:1em;margin-right:.4em}}
table{{border-collapse:collapse;margin:1em 0}}
td,th{{padding:.2em .8em;border-bottom:1px solid {style.FAINT};text-align:right;white-space:nowrap}}
td:first-child,th:first-child{{text-align:left}}
{colours}</style></head><body>
<h1>{html.escape(printable(title))}</h1><p>{facts}</p><ul>{legend}</ul>
<div class="wide"><svg viewBox="0 -4 {left + width + 30} {height + 30}" role="img" aria-label="{facts}">
{"".join(parts)}{"".join(ticks)}</svg></div>
<h2>Modules</h2><div class="wide"><table>
<tr><th>module</th><th>calls</th><th>stalls</th><th>total</th><th>longest</th></tr>{table}</table></div>
<h2>Streams</h2><div class="wide"><table>
<tr><th>stream</th><th>fills</th><th>stalls</th><th>total</th><th>longest wait</th>
<th>efficiency</th></tr>{streams}</table></div>
</body></html>
"""


def _runs(bins: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return neighbours that are equal as (state, start, end), without those in which nothing is done."""
    runs: list[tuple[int, int, int]] = []
    for index, state in enumerate(bins):
        if state < 0:
            continue
        if runs and runs[-1][0] == state and runs[-1][2] == index:
            runs[-1] = (state, runs[-1][1], index + 1)
        else:
            runs.append((state, index, index + 1))
    return runs
