"""How wide a text is, and how it is made to fit, without a browser.

The widths are those of DejaVu Sans, the widest of the fonts that the style sheet names: what does not overlap by
them does not overlap in any of the others.
"""

from __future__ import annotations

import re
import unicodedata

#: Of the characters from the space to the tilde, in thousandths of the font's size.
_WIDTHS = (
    (318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337)
    + (636,) * 10
    + (337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863)
    + (748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613)
    + (635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634)
    + (592, 818, 592, 592, 525, 636, 337, 636, 838)
)
_FIRST = ord(" ")
#: Of any other character: Latin and Greek letters are narrower, ideographs are as wide.
_OTHER = 1000
_BOLD = 1.15
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
#: Categories that are no text: control characters, lone surrogates, what turns the direction of writing.
_NO_TEXT = ("Cc", "Cs", "Cf", "Cn", "Co")

#: Where a line may end: before a space, after a slash or an at sign.
_PARTS = re.compile(r"\s*[^\s/@]*[/@]|\s*[^\s/@]+")


def plain(text: str) -> str:
    """Return a text on one line: each control character, or one that XML has no place for, as U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        " " if character in "\t\n\r" else "\N{REPLACEMENT CHARACTER}" if _is_no_text(character) else character
        for character in text
    )


def _is_no_text(character: str) -> bool:
    return (not character.isascii() and unicodedata.category(character) in _NO_TEXT) or character < " "


def text_width(text: str, size: float, *, is_bold: bool = False) -> float:
    """Return the width of a text in pixels at most, at a font size in pixels."""
    thousandths = 0
    for character in text:
        place = ord(character) - _FIRST
        thousandths += _WIDTHS[place] if 0 <= place < len(_WIDTHS) else _OTHER
    return thousandths * size / 1000 * (_BOLD if is_bold else 1.0)


def fitted(text: str, width: float, size: float, *, is_bold: bool = False) -> str:
    """Return a text that is at most so wide: its middle is left out, as names differ at their ends."""
    text = plain(text)
    if text_width(text, size, is_bold=is_bold) <= width:
        return text
    low, high = 0, len(text)
    while low < high:
        n_kept = (low + high + 1) // 2
        if text_width(_shortened(text, n_kept), size, is_bold=is_bold) <= width:
            low = n_kept
        else:
            high = n_kept - 1
    return _shortened(text, low)


def wrapped(text: str, width: float, size: float) -> list[str]:
    """Return the lines of a text, each at most so wide.

    Lines end at spaces, and after ``/`` and ``@``; what is wider than a line even so is shortened.
    """
    lines: list[str] = []
    for part in _PARTS.findall(plain(text)):
        longer = (lines[-1] + part) if lines else part.lstrip()
        if lines and text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(fitted(part.lstrip(), width, size))
    return lines


def _shortened(text: str, n_kept: int) -> str:
    if n_kept >= len(text):
        return text
    n_end = n_kept // 2
    return text[: n_kept - n_end] + _ELLIPSIS + (text[-n_end:] if n_end else "")
