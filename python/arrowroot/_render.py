"""Tables as text that fits a width, and as HTML."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

_N_LISTED = 4
_MAX_TEXT = 32
_GAP = "  "


def cell_text(value: Any, max_width: int = _MAX_TEXT) -> str:
    """Return one value to read, on one line: floats with 6 digits, long lists and text abbreviated."""
    if value is None:
        return "null"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, bytes):
        return clip(repr(value), max_width)
    if isinstance(value, str):
        return clip(printable(value), max_width)
    if isinstance(value, list):
        shown = [cell_text(item, max_width) for item in value[:_N_LISTED]]
        left = len(value) - len(shown)
        return "[" + ", ".join(shown) + (f", … {left} more" if left else "") + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {cell_text(item, max_width)}" for name, item in value.items()) + "}"
    return str(value)


def type_text(kind: pa.DataType) -> str:
    """Return an Arrow type without what every list says: list<item: float not null> is list<float>."""
    return str(kind).replace("item: ", "").replace("element: ", "").replace(" not null", "")


def printable(text: str) -> str:
    """Return text without control characters: names and values from a file must not drive the terminal."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text
    )


def width_of(text: str) -> int:
    """Return how many columns of a terminal the text takes: wide letters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def clip(text: str, max_width: int) -> str:
    """Return the text, cut to a width with an ellipsis at its end."""
    if width_of(text) <= max_width:
        return text
    while text and width_of(text) > max_width - 1:
        text = text[:-1]
    return text + "…"


def pad(text: str, width: int, *, right: bool) -> str:
    """Return the text filled up to a width, on its left side if it stands right."""
    fill = " " * (width - width_of(text))
    return fill + text if right else text + fill


def columns_that_fit(widths: Sequence[int], max_width: int) -> int:
    """Return how many of the first columns fit side by side; at least one."""
    used = 0
    for i, width in enumerate(widths):
        used += width + (len(_GAP) if i else 0)
        if used > max_width:
            return max(1, i)
    return len(widths)


def text_table(
    rows: Sequence[Sequence[str]],
    *,
    n_header: int = 1,
    right: Sequence[bool] | None = None,
    max_width: int | None = None,
) -> str:
    """Return rows as aligned columns, with a line under the first ``n_header``.

    ``right``: which columns stand on the right; by default all but the first. Columns that do not fit
    ``max_width`` are left out at the end.
    """
    if not rows or not rows[0]:
        return ""
    widths = [max(width_of(row[i]) for row in rows) for i in range(len(rows[0]))]
    n_columns = len(widths) if max_width is None else columns_that_fit(widths, max_width)
    aligned = right or [i > 0 for i in range(len(widths))]
    if max_width is not None:
        widths[0] = min(widths[0], max_width)
    lines = [
        _GAP.join(
            pad(clip(row[i], widths[i]), widths[i], right=aligned[i]) for i in range(n_columns)
        ).rstrip()
        for row in rows
    ]
    if n_header:
        lines.insert(n_header, _GAP.join("─" * widths[i] for i in range(n_columns)))
    return "\n".join(lines)


def html_table(rows: Sequence[Sequence[str]], *, n_header: int = 1, caption: str = "") -> str:
    """Return rows as an HTML table, everything escaped."""
    from html import escape  # noqa: PLC0415 - only notebooks need it

    def line(row: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"

    head = "".join(line(row, "th") for row in rows[:n_header])
    body = "".join(line(row, "td") for row in rows[n_header:])
    top = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{top}<thead>{head}</thead><tbody>{body}</tbody></table>"
