"""Measures RNTuples: arrowroot beside the limit of the very same pages and ROOT's views and bulk reads.

``make bench-ntuples`` calls it. It uses the peers kit as run.py does; METHODOLOGY.md says what the numbers mean.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
sys.path.insert(0, str(HERE))
from run import RESULTS, RUN_TIMEOUT_S, kit_directory, machine  # noqa: E402
from tables import best_peer, find, mark, markdown, median, ratio, text  # noqa: E402

LIMIT, ENGINE = "page-limit", "arrowroot"
CPU_TARGET = 1.25
#: Cases of the kit's tasks, and who reads them: bulk reads take no vectors of objects.
TASKS = {"read": ("flat:*", "nano:*"), "aod": ("split99:*",)}
PEERS = {"read": ("rntuple-views", "rntuple-bulk"), "aod": ("rntuple-views",)}


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = lambda value: [x for x in value.split(",") if x]  # noqa: E731
    parser.add_argument("--set", default="default", help="the kit's set of files (default: default)")
    parser.add_argument("--codecs", type=names, default=["zstd"], help="of zstd,zlib,lz4,none (default zstd)")
    parser.add_argument("--cases", type=names, help="such as flat:s10 or 'nano:*' (default: all)")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions, in turns (default 3)")
    return parser.parse_args()


def page_limit() -> Path:
    """Build the program of the limit. Returns where it is."""
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "-p", "arrowroot", "--example", "page_limit"],
        cwd=REPOSITORY, check=True,
    )  # fmt: skip
    target = Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target")
    return target / "release" / "examples" / "page_limit"


def measure(options: argparse.Namespace, task: str, cases: tuple[str, ...]) -> dict[str, Any]:
    """Let the kit run one of its tasks."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"ntuples-{task}.json"
    path.unlink(missing_ok=True)
    python = shlex.quote(sys.executable)
    engines = {ENGINE: HERE / "peers_engine.py", LIMIT: HERE / "page_limit_engine.py"}
    externals = [
        part
        for name, script in engines.items()
        for part in ("--external", f"{name}={python} {shlex.quote(str(script))}")
    ]
    subprocess.run(
        [sys.executable, str(kit_directory() / "bench.py"), task, "--formats", "rntuple", *externals,
         "--engines", ",".join(PEERS[task]), "--set", options.set, "--codecs", ",".join(options.codecs),
         "--cases", ",".join(cases), "--threads", "1", "--repeat", str(options.repeat), "--timeout", str(RUN_TIMEOUT_S),
         "--json", str(path)],
        check=False,
    )  # fmt: skip
    if not path.exists():
        sys.exit(f"the kit's {task} gave no results")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def row_of(case: dict[str, Any]) -> list[str]:
    """A line of the table: CPU times in ms, and ratios."""
    limit = find(case, LIMIT, 1)
    if limit is not None:
        limit["wrong"] = None  # it has no checksum
    limit_ns, cpu_ns = median(limit, "cpu_ns"), median(find(case, ENGINE, 1), "cpu_ns")
    best = best_peer(case, "cpu_ns", 1)
    ms = [text(value / 1e6 if value is not None else None, 1) for value in (limit_ns, cpu_ns)]
    to_limit, to_best = ratio(cpu_ns, limit_ns), ratio(cpu_ns, best[0] if best else None)
    return [
        case["case"], case["codec"], *ms, text(to_limit), mark(to_limit, CPU_TARGET),
        best[1] if best else "", text(best[0] / 1e6 if best else None, 1), text(to_best), mark(to_best, 1.0),
    ]  # fmt: skip


HEADER = ["case", "codec", "limit ms", "CPU ms", "CPU / limit", f"<= {CPU_TARGET}",
          "best of ROOT", "its CPU ms", "CPU / best", "faster"]  # fmt: skip


def main() -> int:
    """Return 1 if arrowroot read something else than ROOT."""
    options = parse()
    os.environ["ARROWROOT_PAGE_LIMIT"] = str(page_limit())
    results = []
    for task, all_cases in TASKS.items():
        of_task = tuple(
            c for c in options.cases or all_cases if (c.partition(":")[0] == "split99") == (task == "aod")
        )
        if of_task:
            results.append(measure(options, task, of_task))
    cases = [case for result in results for case in result["cases"]]
    print(f"\n{machine(results[0]['environment'])}\n")
    print(markdown(HEADER, [row_of(case) for case in cases]))
    wrong = [line for result in results for line in result["complaints"] if f" {ENGINE}," in line]
    for complaint in wrong:
        print(f"!! {complaint}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
