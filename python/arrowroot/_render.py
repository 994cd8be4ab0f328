"""Tables as text that fits a width, and as HTML."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from arrowroot._native import scrubbed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

_N_LISTED = 4
_MAX_TEXT = 32
_GAP = "  "
#: How many names a message quotes before it only counts the others.
N_QUOTED = 5
#: The most characters that are shown of what was given.
_SHOWN_WIDTH = 300


def without_secrets(text: str) -> str:
    """Return a text without the credentials of URLs in it."""
    # The engine takes no text with bytes that are not UTF-8.
    return scrubbed(text.encode(errors="backslashreplace").decode(), "")


def shown(given: object) -> str:
    """Return a text of what was given, for messages, of bounded length."""
    try:
        text = repr(given)
    except (ValueError, RecursionError):
        # Python writes no integer of thousands of digits, and no lists without end.
        if isinstance(given, int):
            return f"<an integer of {given.bit_length():,} bits>"
        return f"<a {type(given).__name__} too large to be shown>"
    # Much more than is shown, so that no credentials are cut in two.
    text = without_secrets(text[: 20 * _SHOWN_WIDTH])
    first, more, _ = text.partition("\n")  # of a table
    text = f"{first} ..." if more else text
    return text if len(text) <= _SHOWN_WIDTH else f"{text[:_SHOWN_WIDTH]}..."


def cell_text(value: Any, max_width: int = _MAX_TEXT) -> str:
    """Return one value to read, on one line: floats with 6 digits, long lists and text abbreviated."""
    if value is None:
        return "null"
    if isinstance(value, float):
        return f"{value:.6g}"
    # Only as much of a text is looked at as fits: it may have megabytes.
    if isinstance(value, bytes):
        return clip(repr(value[: max_width + 1]), max_width)
    if isinstance(value, str):
        return clip(printable(value[: max_width + 1]), max_width)
    if isinstance(value, list):
        return "[" + _listed([cell_text(item, max_width) for item in value[:_N_LISTED]], len(value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {cell_text(item, max_width)}" for name, item in value.items()) + "}"
    return str(value)


def scalar_text(scalar: pa.Scalar, max_width: int = _MAX_TEXT) -> str:
    """Return one Arrow value as :func:`cell_text` does, without making Python objects of what is not shown."""
    import pyarrow as pa

    if not scalar.is_valid:
        return "null"
    if isinstance(scalar, pa.BinaryScalar):  # as are strings, the large ones and the views
        # A character takes 4 bytes at most, so one that is cut in two is not shown.
        start = scalar.as_buffer()[: 4 * (max_width + 1)].to_pybytes()
        return cell_text(
            start.decode(errors="ignore") if isinstance(scalar, pa.StringScalar) else start, max_width
        )
    if isinstance(scalar, pa.MapScalar):
        keys_and_values = ((pair["key"], pair["value"]) for pair in scalar.values[:_N_LISTED])
        pairs = [
            f"{scalar_text(key, max_width)}: {scalar_text(value, max_width)}"
            for key, value in keys_and_values
        ]
        return "{" + _listed(pairs, len(scalar.values)) + "}"
    if isinstance(scalar, pa.ListScalar):  # as are the large ones and those of fixed size
        items = [scalar_text(item, max_width) for item in scalar.values[:_N_LISTED]]
        return "[" + _listed(items, len(scalar.values)) + "]"
    if isinstance(scalar, pa.StructScalar):
        members = [
            f"{field.name}: {scalar_text(scalar[i], max_width)}" for i, field in enumerate(scalar.type)
        ]
        return "{" + ", ".join(members) + "}"
    return cell_text(scalar.as_py(), max_width)


def _listed(shown: list[str], n_all: int) -> str:
    left = n_all - len(shown)
    return ", ".join(shown) + (f", … {left} more" if left else "")


def type_text(kind: pa.DataType) -> str:
    """Return an Arrow type without the parts that all lists share: list<item: float not null> is list<float>."""
    return str(kind).replace("item: ", "").replace("element: ", "").replace(" not null", "")


def printable(text: str) -> str:
    """Return text without control characters: names and values from a file must not control the terminal."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text
    )


def width_of(text: str) -> int:
    """Return the number of columns that a text takes on a terminal: wide letters take two, combining ones none."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def clip(text: str, max_width: int) -> str:
    """Return the text, cut to a width with an ellipsis at its end."""
    if width_of(text) <= max_width:
        return text
    # No letter takes more than two columns; combining ones, which take none, may be cut off.
    text = text[: max(0, max_width - 1)]
    while width_of(text) > max_width - 1:
        text = text[:-1]
    return text + "…"


def clip_apart(names: Sequence[str], max_width: int) -> list[str]:
    """Return names, each cut to a width where it is the same as others, so that different ones stay different.

    The ellipsis stands for what a name shares with its neighbours in the alphabet, or for its middle.
    """
    ordered = sorted(set(names))
    shared = dict.fromkeys(ordered, 0)
    for one, other in pairwise(ordered):
        n_same = next((i for i in range(len(one)) if one[: i + 1] != other[: i + 1]), len(one))
        shared[one], shared[other] = max(shared[one], n_same), max(shared[other], n_same)
    short: dict[str, str] = {name: name for name in ordered if width_of(name) <= max_width}
    taken = set(short.values())
    for name in ordered:
        if name not in short:
            cuts = _cuts_inside(name, shared[name], max_width)
            short[name] = next((cut for cut in cuts if cut not in taken), clip(name, max_width))
            taken.add(short[name])
    return [short[name] for name in names]


def _cuts_inside(name: str, n_shared: int, max_width: int) -> Iterator[str]:
    """Yield a name cut in different places, the best first: where what it does not share begins."""
    n_kept = max_width - 1
    n_cut = len(name) - n_kept
    n_least = max_width // 3
    best = max(n_least, min(n_shared - n_cut, n_kept - n_least))
    for n_begin in sorted(range(n_kept + 1), key=lambda n: abs(n - best)):
        yield clip(f"{name[:n_begin]}…{name[n_begin + n_cut :]}", max_width)


def columns_that_fit(widths: Sequence[int], max_width: int) -> int:
    """Return the number of first columns that fit side by side; at least one."""
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
    cell_widths = [[width_of(cell) for cell in column] for column in zip(*rows, strict=True)]
    widths = [max(column) for column in cell_widths]
    n_columns = len(widths) if max_width is None else columns_that_fit(widths, max_width)
    aligned = right or [i > 0 for i in range(len(widths))]
    if max_width is not None:
        widths[0] = min(widths[0], max_width)
    if max(cell_widths[0]) > widths[0]:
        rows = [[clip(row[0], widths[0]), *row[1:]] for row in rows]
        cell_widths[0] = [width_of(row[0]) for row in rows]
    # Column by column: rows may be ten thousand.
    columns = []
    for i in range(n_columns):
        fills = [" " * (widths[i] - width) for width in cell_widths[i]]
        pairs = zip(fills, (row[i] for row in rows), strict=True)
        columns.append([fill + cell if aligned[i] else cell + fill for fill, cell in pairs])
    lines = [_GAP.join(cells).rstrip() for cells in zip(*columns, strict=True)]
    if n_header:
        lines.insert(n_header, _GAP.join("─" * widths[i] for i in range(n_columns)))
    return "\n".join(lines)


def html_table(rows: Sequence[Sequence[str]], *, n_header: int = 1, caption: str = "") -> str:
    """Return rows as an HTML table, everything escaped."""
    from html import escape

    def line(row: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"

    head = "".join(line(row, "th") for row in rows[:n_header])
    body = "".join(line(row, "td") for row in rows[n_header:])
    top = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{top}<thead>{head}</thead><tbody>{body}</tbody></table>"
