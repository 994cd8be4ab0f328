"""Values that ROOT reads in files, asked for many of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.judge import root

from . import read_with_root

TIMEOUT_S = 3000


@dataclass(frozen=True)
class RootColumn:
    """A column as a route of ROOT reads it."""

    type: str
    values: list[Any] | None
    #: Why there are no values; None if the type has no function in read_with_root.h.
    error: str | None
    is_text: bool


def read_all(
    files: list[tuple[Path, str, str]],
    directory: Path,
    *,
    all_types: bool = False,
    names: dict[Path, dict[str, str]] | None = None,
    only: dict[Path, list[str]] | None = None,
    undrawn: dict[Path, list[str]] | None = None,
) -> dict[Path, dict[str, dict[str, RootColumn]]]:
    """What ROOT reads of ``(path, table, layout)``: for each path, route and column.

    all_types: columns of any type are tried, and Draw; that takes a second for each type that is not usual.
    names: of these files these names are read instead of all columns, of these types in C++, and by Draw too.

    only: of these files these columns alone are read; by Draw, too, but for those of ``undrawn``.

    A file that makes ROOT crash has one route, "crash", without columns. Skips the test without ROOT.
    """
    jobs = [
        {"path": str(path), "table": table, "layout": layout, "all": all_types}
        | ({"names": names[path]} if names and path in names else {})
        | ({"only": only[path]} if only and path in only else {})
        | ({"undrawn": undrawn[path]} if undrawn and path in undrawn else {})
        for path, table, layout in files
    ]
    read = root.run(read_with_root.read_all, directory, jobs, timeout_s=TIMEOUT_S)
    return {
        Path(job["path"]): {"crash": {}}
        if "error" in routes
        else {
            route: {name: _column(column) for name, column in columns.items()}
            for route, columns in routes.items()
        }
        for job, routes in zip(jobs, read, strict=True)
    }


def _column(told: dict[str, Any]) -> RootColumn:
    return RootColumn(told["type"], told.get("values"), told.get("error"), bool(told.get("is_text")))
