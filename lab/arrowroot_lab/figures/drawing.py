"""One SVG that is being drawn: elements, texts whose places are known, and patterns that tell series apart."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Literal, NamedTuple

from .lettering import fitted, plain, text_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Anchor = Literal["start", "middle", "end"]

#: Font sizes in pixels: of what is read first, and of the rest.
SIZE, SMALL = 13.0, 12.0
#: Above and below the baseline of a text, in shares of its size.
ASCENT, DESCENT = 0.95, 0.25
#: Series are told apart by colour, pattern, marker and dash; the ninth looks as the first, and has its own label.
N_STYLES = 8
_PATTERN_PX = 7
#: What is drawn in one cell of the pattern; the first series has none, as its bars are filled.
_PATTERNS = (
    "",
    "M-1 8L8 -1M-1 1L1 -1M6 8L8 6",
    "M2 2h2v2h-2zM5 5h2v2h-2z",
    "M0 3.5H7M3.5 0V7",
    "M0 3.5H7",
    "M3.5 0V7",
    "M-1 -1L8 8M6 -1L8 1M-1 6L1 8",
    "M0 0L3.5 3.5L7 0M0 7L3.5 3.5L7 7",
)
_MARKERS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "M-3.6 -3.6h7.2v7.2h-7.2z",
    "M0 -4.8L4.6 3.6H-4.6z",
    "M0 -5.2L5.2 0L0 5.2L-5.2 0z",
    "M0 4.8L4.6 -3.6H-4.6z",
    "M-1.6 -4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
    "M0 -5L4.8 -1.5L2.9 4H-2.9L-4.8 -1.5z",
    "M-4.6 -4.6L0 -1.6L4.6 -4.6L1.6 0L4.6 4.6L0 1.6L-4.6 4.6L-1.6 0z",
)


class Box(NamedTuple):
    """A rectangle, in pixels from the top left."""

    x: float
    y: float
    width: float
    height: float

    def attributes(self) -> str:
        """Its attributes in SVG; none is thinner than half a pixel."""
        return (
            f'x="{_px(self.x)}" y="{_px(self.y)}" width="{_px(max(self.width, 0.5))}" '
            f'height="{_px(max(self.height, 0.5))}"'
        )


@dataclass(frozen=True)
class Label:
    """A text and the box that it takes, in pixels."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Label) -> bool:
        """True if the two boxes have more than a line in common."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


class Drawing:
    """One SVG. Lengths are CSS pixels from the top left; classes are those of ``figures.css``."""

    def __init__(self, width: float, key: str) -> None:
        """``key``: distinguishes the patterns of this drawing from those of others on the same page."""
        self.width = width
        self.labels: list[Label] = []
        self._key = key
        self._parts: list[str] = []
        self._patterns: set[int] = set()

    def rectangle(self, box: Box, look: str, title: str = "") -> None:
        """Draw a rectangle; ``title`` is shown where the mouse rests."""
        self._add(f'<rect class="{look}" {box.attributes()}', "rect", title)

    def bar(self, box: Box, style: int, title: str = "", *, is_given: bool = False) -> None:
        """Draw a bar filled with the pattern of a series; one that is given is empty, with a dashed edge."""
        style %= N_STYLES
        if is_given:
            self.rectangle(box, f"bar s{style} given", title)
            return
        if not _PATTERNS[style]:
            self.rectangle(box, f"bar s{style} full", title)
            return
        self._patterns.add(style)
        fill = f'fill="url(#{self._key}-p{style})"'
        self._add(f'<rect class="bar s{style}" {fill} {box.attributes()}', "rect", title)

    def line(self, x1: float, y1: float, x2: float, y2: float, look: str) -> None:
        """Draw a straight line."""
        self._parts.append(
            f'<line class="{look}" x1="{_px(x1)}" y1="{_px(y1)}" x2="{_px(x2)}" y2="{_px(y2)}"/>'
        )

    def path(self, data: str, look: str, title: str = "") -> None:
        """Draw a path."""
        self._add(f'<path class="{look}" d="{data}"', "path", title)

    def polyline(self, points: Iterable[tuple[float, float]], look: str) -> None:
        """Draw a line through points."""
        self.path("M" + "L".join(f"{_px(x)} {_px(y)}" for x, y in points), look)

    def marker(
        self,
        x: float,
        y: float,
        style: int,
        title: str = "",
        *,
        is_hollow: bool = False,
        is_given: bool = False,
    ) -> None:
        """Draw the marker of a series; one that is given is hollow, and struck out."""
        style %= N_STYLES
        is_hollow = is_hollow or is_given
        self._add(
            f'<path class="marker s{style}{" hollow" if is_hollow else ""}" '
            f'transform="translate({_px(x)} {_px(y)})" d="{_MARKERS[style]}"',
            "path",
            title,
        )
        if is_given:
            self.path(f"M{_px(x - 6)} {_px(y + 6)}l12 -12", f"strike s{style}")

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        anchor: Anchor = "start",
        size: float = SMALL,
        look: str = "",
        width: float | None = None,
    ) -> Label:
        """Write a text with its baseline at ``y``; one wider than ``width`` is shortened, and whole as its title."""
        is_bold = "strong" in look.split()
        whole = plain(text)
        shown = whole if width is None else fitted(whole, width, size, is_bold=is_bold)
        taken = text_width(shown, size, is_bold=is_bold)
        left = x - {"start": 0.0, "middle": taken / 2, "end": taken}[anchor]
        label = Label(shown, left, y - ASCENT * size, left + taken, y + DESCENT * size)
        self.labels.append(label)
        looks = " ".join(["small" if size < SIZE else "", *look.split()]).strip()
        attributes = f' class="{looks}"' if looks else ""
        if anchor != "start":
            attributes += f' text-anchor="{anchor}"'
        title = f"<title>{escape(whole)}</title>" if shown != whole else ""
        self._parts.append(
            f'<text x="{_px(x)}" y="{_px(y)}"{attributes}>{title}{escape(shown, quote=False)}</text>'
        )
        return label

    def svg(self, height: float, title: str) -> str:
        """Return the element, with ``title`` for those who do not see it."""
        patterns = "".join(
            f'<pattern id="{self._key}-p{style}" class="s{style}" width="{_PATTERN_PX}" height="{_PATTERN_PX}" '
            f'patternUnits="userSpaceOnUse"><rect class="paper" width="{_PATTERN_PX}" height="{_PATTERN_PX}"/>'
            f'<path class="hatch" d="{_PATTERNS[style]}"/></pattern>'
            for style in sorted(self._patterns)
        )
        definitions = f"<defs>{patterns}</defs>" if patterns else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="figure" role="img" '
            f'aria-label="{escape(plain(title))}" width="{_px(self.width)}" height="{_px(height)}" '
            f'viewBox="0 0 {_px(self.width)} {_px(height)}">{definitions}{"".join(self._parts)}</svg>'
        )

    def _add(self, opening: str, tag: str, title: str) -> None:
        inside = f"><title>{escape(plain(title))}</title></{tag}>" if title else "/>"
        self._parts.append(opening + inside)


def spread_out(wanted: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """Return places near the wanted ones, at least ``distance`` apart and within [low, high] as far as there is room.

    The order stays. Used for labels beside the ends of lines.
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    if not order:
        return []
    distance = min(distance, (high - low) / max(len(order) - 1, 1))
    places: list[float] = []
    for index in order:
        places.append(max(wanted[index], places[-1] + distance if places else low))
    ceiling = high
    for rank in range(len(places) - 1, -1, -1):
        places[rank] = min(places[rank], ceiling)
        ceiling = places[rank] - distance
    found = [0.0] * len(wanted)
    for rank, index in enumerate(order):
        found[index] = places[rank]
    return found


def _px(value: float) -> str:
    """A length with at most one decimal, as short as it can be written."""
    return f"{value:.1f}".removesuffix(".0")
