"""Histograms of expressions: steps for one dimension, a map for two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._pictures import style

if TYPE_CHECKING:
    from collections.abc import Sequence

_COLOURS = (style.BLUE, style.RED, style.GREEN, style.GREY, style.DARK)


def draw(path: str, title: str, drawn: Sequence[tuple[str, Any]], expressions: Sequence[str]) -> None:
    """Draw histograms of the package ``hist``, by what they are of; of two dimensions each has a panel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, 5.0), layout="constrained")
    n_panels = len(drawn) if len(expressions) > 1 else 1
    panels = figure.subplots(1, n_panels, squeeze=False, sharey=True)[0]
    for number, (name, filled) in enumerate(drawn):
        axes = panels[number % n_panels]
        if len(expressions) > 1:
            x, y = (axis.edges for axis in filled.axes)
            mesh = axes.pcolormesh(x, y, filled.values().T, cmap="Blues", rasterized=True)
            figure.colorbar(mesh, ax=axes)
            if n_panels > 1:
                axes.set_title(name.replace("$", r"\$"), fontsize=9, color=style.DARK)
        else:
            colour = _COLOURS[number % len(_COLOURS)]
            axes.stairs(filled.values(), filled.axes[0].edges, color=colour, linewidth=1.6, label=name)
    for axes in panels:
        style.hide(axes, "top", "right")
        axes.set_xlabel(expressions[0].replace("$", r"\$"), color=style.DARK)
        if len(expressions) == 1:
            style.draw_grid(axes)
            axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    if len(expressions) > 1:
        panels[0].set_ylabel(expressions[1].replace("$", r"\$"), color=style.DARK)
    elif len(drawn) > 1:
        panels[0].legend(frameon=False, fontsize=9)
    style.write_title(panels[0], title, pad=18.0 if n_panels > 1 else 6.0)
    style.save(figure, path)
