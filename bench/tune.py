"""Measures how well `arrowroot tune` predicts what it then measures, on real servers behind a simulated line.

``make bench-tune``. METHODOLOGY.md says what the numbers mean.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from . import catalogue
from .data import FileSet, warm_page_cache
from .machine import machine, today
from .paths import RESULTS
from .remote_stores import Case, Store, find_case, parser_of, report, stores
from .tables import mark, markdown, text

if TYPE_CHECKING:
    import argparse

RESULT = RESULTS / "tune.json"

Document = dict[str, Any]


def parse() -> argparse.Namespace:
    """Return the options."""
    told = catalogue.load("remote")["tune"]
    parser = parser_of(__doc__, told["cases"], told["links"])
    parser.add_argument("--verify", type=int, default=6, help="settings to run each time (default 6)")
    return parser.parse_args()


def tune(case: Case, store: Store, n_verified: int) -> Document:
    """The command's answer about a case at a store."""
    url = store.server.url(case.file.name, store.relay.port)
    names = ",".join(column["name"] for column in case.columns)
    done = subprocess.run(
        [
            sys.executable, "-m", "arrowroot", "tune", f"{url}:{case.tree}", "-c", names, "--json",
            "--verify", str(n_verified), "--budget-seconds", str(catalogue.load("remote")["tune"]["budget_s"]),
        ],
        capture_output=True, text=True, check=False, env=os.environ | store.environment,
    )  # fmt: skip
    if done.returncode != 0:
        return {"error": done.stderr.strip()[-500:] or f"status {done.returncode}"}
    document: Document = json.loads(done.stdout)
    return document


def measure(options: argparse.Namespace, files: FileSet) -> Document:
    """All cases at all stores and lines."""
    result: Document = {"date": today(), "machine": machine(), "rows": []}
    start = time.monotonic()
    with stores(options.stores, files.directory, trace=False) as started:
        for case in (find_case(name, files) for name in options.cases):
            warm_page_cache(case.file)
            for latency_ms, mb_per_s in options.links:
                for kind, store in started.items():
                    store.relay.link(latency_ms, mb_per_s)
                    row = {"case": case.name, "store": kind, "latency_ms": latency_ms, "mb_per_s": mb_per_s}
                    result["rows"].append(row | {"document": tune(case, store, options.verify)})
                    print("  " + " | ".join(cells(result["rows"][-1])), flush=True)
                    RESULT.write_text(json.dumps(result))
    print(f"measured in {time.monotonic() - start:.0f} s")
    return result


def run_candidates(row: Document) -> list[Document]:
    """The settings of a row that were run, and so can be compared."""
    return [c for c in row["document"].get("candidates", []) if c["error"] is not None]


def cells(row: Document) -> list[str]:
    """One line of the table."""
    line = f"{row['latency_ms']:g} ms, {row['mb_per_s']:g} MB/s"
    if "error" in row["document"]:
        return [row["case"], row["store"], line, str(row["document"]["error"]), "", ""]
    found = run_candidates(row)
    told = [
        f"{c['options']['strategy']}{' ' + size if (size := c['options'].get('cache_size')) else ''} "
        f"{c['predicted']['wall_ns'] / 1e9:.2f} / {min(c['measured_ns']) / 1e9:.2f}"
        for c in found
    ]
    worst = max((c["error"] for c in found), key=abs, default=None)
    return [
        row["case"], row["store"], line, "; ".join(told), text(worst and 100 * worst, 0),
        mark(worst and abs(worst), catalogue.load("remote")["tune"]["target"]),
    ]  # fmt: skip


def render(result: Document) -> str:
    """The table, and what it was measured on."""
    head = ["case", "store", "line", "predicted / measured, s", "worst, %", "met"]
    found = [c for row in result["rows"] for c in run_candidates(row)]
    target = catalogue.load("remote")["tune"]["target"]
    n_met = sum(abs(c["error"]) <= target for c in found)
    return (
        f"{result['date']}, {result['machine']}. {n_met} of {len(found)} predictions are within "
        f"{100 * target:.0f} % of what was measured.\n\n{markdown(head, [cells(row) for row in result['rows']])}"
    )


def main() -> int:
    """Return 1 if a file could not be tuned for."""
    result = report(parse(), RESULT, measure, render, "bench-tune")
    return 1 if any("error" in row["document"] for row in result["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
