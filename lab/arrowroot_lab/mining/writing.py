"""A table as text, Markdown, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import textwrap
from typing import TYPE_CHECKING, Any

from arrowroot_lab.errors import LabError, RequestError
from arrowroot_lab.saving import is_special, put, scratch

from .format import shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .table import ResultTable

#: Of a table on paper, or through a pipe.
WIDTH = 80
_GAP, _LEAST = 2, 10
#: Names are not cut if they leave a fourth of the width to what is told of them.
_MOST_OF_NAMES = 0.75
#: How texts begin that spreadsheets take for formulas; with white space before, in some.
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LEFT = ("text", "key", "date", "day", "cell")


def text(table: ResultTable, width: int = WIDTH) -> str:
    """Return the table for people, no line wider than ``width``.

    The middle of long texts is left out; the values of a table of keys and values go on in the next line instead. Where
    that is too wide, the columns are told in several blocks, each with the texts that the rows begin with.
    """
    forms = [column.form for column in table.columns]
    cells = _cells(table)
    titles = [clean(column.title) for column in table.columns]
    parts = ["\n".join(textwrap.wrap(clean(table.title), width))] if table.title else []
    for block, widths in _blocks([*cells, titles], forms, width) if cells else ():
        chosen = [forms[place] for place in block]
        heads = _heads([titles[place] for place in block], widths, chosen)
        lines = [_line(head, widths, chosen) for head in heads]
        lines.append((" " * _GAP).join("-" * one for one in widths))
        if forms == ["text", "text"]:  # keys and values: a command is nothing if its end is cut off
            lines += [line for key, value in cells for line in _wrapped(key, value, widths)]
        else:
            lines += [_line([row[place] for place in block], widths, chosen) for row in cells]
        parts.append("\n".join(lines))
    if not cells:
        parts.append("nothing")
    if table.notes:
        parts.append("\n".join(line for note in table.notes for line in textwrap.wrap(clean(note), width)))
    return "\n\n".join(parts) + "\n"


def markdown(table: ResultTable) -> str:
    """Return the table as Markdown, with all of its text."""

    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells) + " |"

    lines = [f"### {clean(table.title)}", ""] if table.title else []
    lines.append(row([clean(column.title) for column in table.columns]))
    lines.append("|" + "|".join("---" if column.form in _LEFT else "---:" for column in table.columns) + "|")
    lines += map(row, _cells(table))
    return "\n".join([*lines, *(f"\n{clean(note)}" for note in table.notes), ""])


def as_csv(table: ResultTable) -> str:
    """Return the table as CSV: keys, and values in their units; what is not there is empty; see ``harmless``."""
    rows = [[column.key for column in table.columns], *table.rows]
    return "".join(_csv_line([harmless(value) for value in row]) for row in rows)


def _csv_line(cells: Sequence[Any]) -> str:
    out = io.StringIO()
    # What ends a line is quoted: for others a carriage return does.
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue().removesuffix("\r\n") + "\n"


def harmless(value: Any) -> Any:
    """A value of CSV, with an apostrophe before it if it is a text that a spreadsheet would take for a formula.

    Numbers are what they are, also those that are told as texts.
    """
    is_formula = isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value)
    return f"'{value}" if is_formula else value


def as_json(tables: Sequence[ResultTable]) -> str:
    """Return tables as JSON: ``{title, columns, rows, notes}`` for each; rows are objects by key."""
    told: list[dict[str, Any]] = [
        {
            "title": table.title,
            "columns": [{"key": one.key, "title": one.title, "form": one.form} for one in table.columns],
            "rows": table.records(),
            "notes": list(table.notes),
        }
        for table in tables
    ]
    return json.dumps(told[0] if len(told) == 1 else told, indent=1, ensure_ascii=True) + "\n"


def clean(value: str) -> str:
    """A text in one line that moves no cursor: what a runner said may have any character in it."""
    if value.isprintable():
        return value
    return " ".join("".join(char if char.isprintable() else " " for char in value).split())


def cut(text: str, width: int) -> str:
    """A text of so many characters at most: its middle is left out, as names differ at their ends."""
    if len(text) <= width:
        return text
    n_end = max(width - 1, 0) // 2
    return f"{text[: max(width - 1 - n_end, 0)]}\N{HORIZONTAL ELLIPSIS}{text[len(text) - n_end :]}"[:width]


def check_place(path: Path) -> None:
    """See that a file can be written there, before anything is done for it. Raises: RequestError if it cannot."""
    if path.is_dir():
        raise RequestError(f"{path}: this is a directory; name a file")
    if is_special(path):
        return
    parent = path.resolve().parent
    if not parent.is_dir():
        raise RequestError(f"{path}: the directory {parent} is not there")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise RequestError(f"{path}: the directory {parent} may not be written")


def to_file(path: Path, text: str) -> None:
    """Write a text: it is there when it is whole. Raises: LabError if it cannot be written."""
    try:
        with scratch(path) as directory:
            made = directory / "made"
            made.write_text(text, encoding="utf-8")
            put(made, path)
    except OSError as error:
        raise LabError(f"{path}: it cannot be written: {error.strerror or error}") from None


def _cells(table: ResultTable) -> list[list[str]]:
    """The rows as texts of one line each; a column of names has few values, each of which is told once."""
    told = []
    for place, column in enumerate(table.columns):
        values = [row[place] for row in table.rows]
        typed = [*zip(map(type, values), values, strict=True)]  # 1 and True are equal, and two texts
        texts = {one: clean(shown(one[1], column.form)) for one in set(typed)}
        told.append([texts[one] for one in typed])
    return [*map(list, zip(*told, strict=True))]


def _title_width(title: str, form: str) -> int:
    """The width of the widest line of a title."""
    if form != "cell":
        return len(title)
    return max(map(len, textwrap.wrap(title, _LEAST) or [""]))


def _heads(titles: list[str], widths: list[int], forms: list[str]) -> list[list[str]]:
    """The lines of the titles, which end above the cells."""
    told = [
        textwrap.wrap(title, wide) or [""] if form == "cell" else [title]
        for title, wide, form in zip(titles, widths, forms, strict=True)
    ]
    n_lines = max(map(len, told), default=1)
    padded = [[""] * (n_lines - len(lines)) + lines for lines in told]
    return [*map(list, zip(*padded, strict=True))]


def _blocks(rows: list[list[str]], forms: list[str], width: int) -> list[tuple[list[int], list[int]]]:
    """Which columns stand beside each other, and how wide each is."""
    *cells, titles = rows
    wanted = [
        max([len(row[place]) for row in cells] + [_title_width(titles[place], form)])
        for place, form in enumerate(forms)
    ]
    least = [min(wide, _LEAST) if form == "text" else wide for wide, form in zip(wanted, forms, strict=True)]
    head = next((place for place, form in enumerate(forms) if form not in ("text", "key")), len(forms)) or 1
    if _total(wanted[:head]) <= _MOST_OF_NAMES * width:
        least[:head] = wanted[:head]
    blocks, block = [], list(range(head))
    for place in range(head, len(forms)):
        if len(block) > head and _total([least[one] for one in (*block, place)]) > width:
            blocks.append(block)
            block = list(range(head))
        block.append(place)
    blocks.append(block)
    told = [_shrunk([wanted[one] for one in block], [least[one] for one in block], width) for block in blocks]
    names = [min(widths) for widths in zip(*(widths[:head] for widths in told), strict=True)]
    return [(block, [*names, *widths[head:]]) for block, widths in zip(blocks, told, strict=True)]


def _shrunk(wanted: list[int], least: list[int], width: int) -> list[int]:
    """Take from the widest what is too much, down to what each needs at least."""
    widths = list(wanted)
    while _total(widths) > width:
        place = max(range(len(widths)), key=lambda one: (widths[one] > least[one], widths[one]))
        if widths[place] <= least[place]:
            break
        widths[place] -= 1
    return widths


def _total(widths: list[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _line(cells: list[str], widths: list[int], forms: list[str]) -> str:
    told = [
        cut(cell, wide).ljust(wide) if form in _LEFT else cut(cell, wide).rjust(wide)
        for cell, wide, form in zip(cells, widths, forms, strict=True)
    ]
    return (" " * _GAP).join(told).rstrip()


def _wrapped(key: str, value: str, widths: list[int]) -> list[str]:
    lines = textwrap.wrap(value, max(widths[1], 1)) or [""]
    first = (cut(key, widths[0]).ljust(widths[0]) + " " * _GAP + lines[0]).rstrip()
    return [first, *(" " * (widths[0] + _GAP) + line for line in lines[1:])]
