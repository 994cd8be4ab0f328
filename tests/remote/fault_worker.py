"""Reads what it is told and compares it with what it read locally: a process that may hang or die, and be replaced.

usage: python -m tests.remote.fault_worker DIRECTORY     One job in JSON on each line of stdin, one answer on stdout.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import arrowroot

from . import data
from .fault_plans import N_BRANCHES

READS = data.reads(N_BRANCHES)


def run(job: dict[str, Any], expected: dict[tuple[str, str], Any], directory: Path) -> dict[str, Any]:
    """Read, and say what came of it: ``right``, ``wrong``, ``error`` or ``crash``."""
    key = (job["file"], job["read"])
    if key not in expected:
        with arrowroot.open(directory / job["file"]) as file:
            expected[key] = file[data.TREE].to_arrow(**READS[job["read"]])
    start = time.monotonic()
    answer: dict[str, Any] = {"message": ""}
    try:
        with arrowroot.open(job["url"], **job["options"]) as file:
            table = file[data.TREE].to_arrow(**READS[job["read"]])
        right = table.equals(expected[key])
        answer["outcome"] = "right" if right else "wrong"
        if not right:
            answer["message"] = difference(table, expected[key])
    except arrowroot.ArrowrootError as error:
        answer |= {"outcome": "error", "message": f"{type(error).__name__}: {error}"}
    except BaseException as error:  # noqa: BLE001 - whatever else comes out is what this looks for
        answer |= {"outcome": "crash", "message": f"{type(error).__name__}: {error}"}
    return answer | {"seconds": time.monotonic() - start}


def difference(table: Any, expected: Any) -> str:
    """Where a table differs."""
    if table.schema != expected.schema or len(table) != len(expected):
        return f"{table.num_rows} entries of {table.schema.names}"
    columns = [name for name in expected.schema.names if not table[name].equals(expected[name])]
    return f"wrong values in {', '.join(columns)}"


def main() -> None:
    """Answer until stdin ends."""
    # A warning, as of a server that is taken for one without ranges, would stand between the answers.
    warnings.simplefilter("ignore")
    # A panic is no error that is expected anywhere.
    arrowroot.InternalError.__bases__ = (BaseException,)
    directory, expected = Path(sys.argv[1]), {}  # type: ignore[var-annotated]
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line), expected, directory)), flush=True)


if __name__ == "__main__":
    main()
