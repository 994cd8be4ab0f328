"""Histograms of expressions: steps or means for one dimension, a map for two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arrowroot._pictures import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot import Histogram

_COLOURS = (style.BLUE, style.RED, style.GREEN, style.GREY, style.DARK)


def draw(
    path: str,
    title: str,
    drawn: Sequence[tuple[str, Histogram]],
    labels: Sequence[str],
    *,
    is_log: bool = False,
) -> None:
    """Draw histograms, by what they are of; of two dimensions each has a panel.

    labels: of the axes, and of a profile what it has the means of. is_log: what is counted is drawn by its logarithm.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, 5.0), layout="constrained")
    is_map = drawn[0][1].n_dimensions > 1
    is_profile = drawn[0][1].kind == "MEAN"
    n_panels = len(drawn) if is_map else 1
    panels = figure.subplots(1, n_panels, squeeze=False, sharey=True)[0]
    for number, (name, histogram) in enumerate(drawn):
        axes = panels[number % n_panels]
        colour = _COLOURS[number % len(_COLOURS)]
        if is_map:
            values, x, y = histogram.to_numpy()
            norm = "log" if is_log and (values > 0).any() else None
            mesh = axes.pcolormesh(x, y, values.T, cmap="Blues", rasterized=True, norm=norm)
            figure.colorbar(mesh, ax=axes, label=style.plain(labels[2]) if is_profile else None)
            if n_panels > 1:
                axes.set_title(style.plain(name), fontsize=9, color=style.DARK)
        elif is_profile:
            _draw_means(axes, histogram, colour, name)
        else:
            axes.stairs(*histogram.to_numpy(), color=colour, linewidth=1.6, label=style.plain(name))
    for axes in panels:
        style.hide(axes, "top", "right")
        axes.set_xlabel(style.plain(labels[0]), color=style.DARK)
        if not is_map:
            style.draw_grid(axes)
            if is_log and _has_positive(drawn):
                axes.set_yscale("log")
            elif not is_profile:
                axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    if len(labels) > 1:
        panels[0].set_ylabel(style.plain(labels[1]), color=style.DARK)
    if not is_map and len(drawn) > 1:
        panels[0].legend(frameon=False, fontsize=9)
    style.write_title(panels[0], title, pad=18.0 if n_panels > 1 else 6.0)
    style.save(figure, path)


def _has_positive(drawn: Sequence[tuple[str, Histogram]]) -> bool:
    return any((histogram.values() > 0).any() for _, histogram in drawn)


def _draw_means(axes: Any, profile: Histogram, colour: str, name: str) -> None:
    """Draw the means of the bins that have entries, with their errors and the widths of the bins."""
    means, edges = profile.to_numpy()
    has_some = profile.counts() != 0
    axes.errorbar(
        ((edges[:-1] + edges[1:]) / 2)[has_some],
        means[has_some],
        xerr=(np.diff(edges) / 2)[has_some],
        yerr=profile.errors()[has_some],
        fmt=".",
        color=colour,
        linewidth=1.3,
        label=style.plain(name),
    )
