"""Columns as jsroot reads them.

It is tried where there is node, and ``ARROWROOT_JSROOT`` is the folder of its package, of ``npm pack jsroot``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from . import expected

JSROOT = os.environ.get("ARROWROOT_JSROOT")
HAS_JSROOT = bool(JSROOT and shutil.which("node"))
SCRIPT = Path(__file__).with_name("read_with_jsroot.mjs")


def read_all(asked: list[tuple[Path, list[str]]], jobs: Path) -> list[dict[str, Any]]:
    """The values of branches or fields of ``Events`` in each file, or the errors, by name."""
    tasks = [{"path": str(path), "table": "Events", "names": names} for path, names in asked]
    jobs.write_text(json.dumps(tasks))
    done = subprocess.run(
        ["node", SCRIPT, str(JSROOT), jobs], capture_output=True, text=True, timeout=600, check=True
    )
    # Warnings of jsroot are printed, too.
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def typed_as(values: list[Any], read: Any) -> Any:
    """Values as read, with numbers of the type of some others: JavaScript has one type of them."""
    return _as_type(type(next(iter(expected.flat(values)), None)), read)


def _as_type(kind: type, read: Any) -> Any:
    if isinstance(read, list):
        return [_as_type(kind, one) for one in read]
    return kind(read) if isinstance(read, int) and kind in (bool, float) else read


def without_column(table: str) -> str:
    """A table of Markdown without its last column, which is jsroot's."""
    return "\n".join(line.rstrip("|").rpartition("|")[0] + "|" for line in table.strip().splitlines())
