"""What a query gives, for all faces: the command line, CSV, Markdown, JSON, pages and notebooks show the same cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    #: In JSON and CSV: snake_case with its unit, as ``wall_ns``.
    key: str
    #: For people.
    title: str
    #: How a value is shown: "text", "key" (its beginning), "time" (ns), "bytes", "count", "ratio", "share", "rate" (per
    #: second), "age" (s), "date", "day", "cell" (some words that are never cut, below a title of several lines); see
    #: format.py. Text in a column of numbers stays as it is: *failed*.
    form: str = "text"


@dataclass(frozen=True)
class ResultTable:
    """Rows of plain values: str, int, float, bool or None."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    #: Sentences below it.
    notes: tuple[str, ...] = field(default=())

    def records(self) -> list[dict[str, Any]]:
        """The rows as dictionaries, by key."""
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, row, strict=True)) for row in self.rows]
