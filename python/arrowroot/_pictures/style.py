"""The style of all pictures: colours, units, forms of files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from arrowroot._errors import InvalidRequestError, missing_library

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

_FORMATS = (".png", ".svg", ".pdf")
_DPI = 160

BLUE = "#2b6cb0"
RED = "#c53030"
GREEN = "#2f855a"
GREY = "#4a5568"
DARK = "#1a202c"
#: Lines of a grid.
FAINT = "#e2e8f0"

SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))


def check(path: str) -> None:
    """Raise before any work if the picture cannot be drawn: wrong form of file, or no Matplotlib."""
    if Path(path).suffix.lower() not in _FORMATS:
        raise InvalidRequestError(f"--plot {path}: the name must end in {', '.join(_FORMATS)}")
    try:
        import matplotlib.figure  # noqa: F401 - only looks whether it is there
    except ImportError as error:
        raise missing_library("matplotlib", "--plot") from error


def save(figure: Figure, path: str) -> None:
    """Write a picture in the form that the name of its file says."""
    figure.savefig(path, dpi=_DPI)


def unit(largest: float, units: Sequence[tuple[float, str]]) -> tuple[float, str]:
    """Return the largest unit, as factor and name, of which there is at least one."""
    return next((each for each in units if largest >= each[0]), units[-1])


def plain(text: str) -> str:
    """Return a text as Matplotlib takes it as it is: a dollar sign would start a formula."""
    return text.replace("$", r"\$")


def write_title(axes: Any, title: str, *, pad: float = 6.0) -> None:
    """Write what the picture is about above it."""
    axes.set_title(plain(title), loc="left", fontsize=12, fontweight="bold", color=DARK, pad=pad)


def draw_grid(axes: Any) -> None:
    """Draw a faint grid behind what the axes show."""
    axes.grid(visible=True, color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)


def hide(axes: Any, *sides: str) -> None:
    """Leave out lines of the frame."""
    for side in sides:
        axes.spines[side].set_visible(False)
