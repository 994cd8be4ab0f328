"""Values that ROOT reads in files, asked of one process for many of them."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.differential import root_peer

HERE = Path(__file__).resolve().parent
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
    python = root_peer.python_with_root()
    if python is None:
        pytest.skip("NO ROOT FOUND: pip install root, or set ARROWROOT_ROOT_PYTHON to a Python that has it")
    jobs = [
        {"path": str(path), "table": table, "layout": layout, "all": all_types}
        | ({"names": names[path]} if names and path in names else {})
        | ({"only": only[path]} if only and path in only else {})
        | ({"undrawn": undrawn[path]} if undrawn and path in undrawn else {})
        for path, table, layout in files
    ]
    found: dict[Path, dict[str, dict[str, RootColumn]]] = {}
    while jobs:
        asked, out = directory / "jobs.json", directory / "read.jsonl"
        asked.write_text(json.dumps(jobs))
        out.unlink(missing_ok=True)
        done = subprocess.run(
            [python, "-B", "-W", "ignore", str(HERE / "read_with_root.py"), str(asked), str(out)],
            capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        if not out.exists():
            raise RuntimeError(f"ROOT failed with status {done.returncode}:\n{done.stdout}{done.stderr}")
        for line in out.read_text().splitlines():
            told = json.loads(line)
            found[Path(told["path"])] = {
                route: {name: _column(column) for name, column in columns.items()}
                for route, columns in told["columns"].items()
            }
        left = [job for job in jobs if Path(job["path"]) not in found]
        if left and done.returncode == 0:
            raise RuntimeError(f"ROOT read only {len(found)} of {len(files)} files:\n{done.stderr}")
        if left:
            found[Path(left[0]["path"])] = {"crash": {}}
        jobs = left[1:]
    return found


def _column(told: dict[str, Any]) -> RootColumn:
    return RootColumn(told["type"], told.get("values"), told.get("error"), bool(told.get("is_text")))
