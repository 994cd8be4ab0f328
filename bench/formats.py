"""Measures RNTuples and objects: arrowroot beside the limit of the very same pages or baskets, and ROOT.

``make bench-formats`` calls it. It uses the peers kit as run.py does; METHODOLOGY.md says what the numbers mean.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
sys.path.insert(0, str(HERE))
from run import MEASURED, call_kit, external, kit_directory, machine, names, today, update_page  # noqa: E402
from tables import best_peer, find, mark, mark_readings, markdown, median, ratio, text  # noqa: E402

PAGE_LIMIT, ENGINE = "page-limit", "arrowroot"
BEGIN, END = "<!-- bench-formats:begin -->", "<!-- bench-formats:end -->"


@dataclass(frozen=True)
class Part:
    """One call of the kit."""

    title: str
    task: str
    format: str
    cases: tuple[str, ...]
    peers: tuple[str, ...]
    limit: str
    target: float  # CPU time over the limit


#: Bulk reads take no vectors of objects. The pages of RNTuples have a limit of their own.
PARTS = (
    Part("RNTuple", "read", "rntuple", ("flat:*", "nano:*"), ("rntuple-views", "rntuple-bulk"), PAGE_LIMIT, 1.25),
    Part("RNTuple", "aod", "rntuple", ("split99:*",), ("rntuple-views",), PAGE_LIMIT, 1.25),
    Part("TTree", "aod", "ttree", ("split99:*",), ("root-ttreereader", "root-getentry"), "limit", 1.25),
    Part("TTree, unsplit", "aod", "ttree", ("split0:*",), ("root-ttreereader", "root-getentry"), "limit", 2.0),
)  # fmt: skip


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--set", default="default", help="the kit's set of files (default: default)")
    parser.add_argument("--codecs", type=names, default=["zstd"], help="of zstd,zlib,lz4,none (default zstd)")
    parser.add_argument("--cases", type=names, help="such as flat:s10 or 'split0:*' (default: all)")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions, in turns (default 3)")
    parser.add_argument("--update-docs", action="store_true", help="write the table into docs/measured.md")
    return parser.parse_args()


def page_limit() -> Path:
    """Build the program of the limit. Returns where it is."""
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "-p", "arrowroot", "--example", "page_limit"],
        cwd=REPOSITORY, check=True,
    )  # fmt: skip
    target = Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target")
    return target / "release" / "examples" / "page_limit"


def measure(options: argparse.Namespace, part: Part, cases: tuple[str, ...]) -> dict[str, Any]:
    """Let the kit run one of its tasks."""
    limit = external(PAGE_LIMIT, "page_limit_engine.py") if part.limit == PAGE_LIMIT else []
    name = f"formats-{part.task}-{part.format}-{cases[0].partition(':')[0]}"
    return call_kit(kit_directory(), part.task, name, [
        *limit, "--formats", part.format, "--engines", ",".join(part.peers), "--set", options.set,
        "--codecs", ",".join(options.codecs), "--cases", ",".join(cases), "--threads", "1",
        "--repeat", str(options.repeat),
    ])  # fmt: skip


def row_of(part: Part, case: dict[str, Any]) -> list[str]:
    """A line of the table: CPU times in ms, and ratios."""
    limit, ours = find(case, part.limit, 1), find(case, ENGINE, 1)
    if limit is not None and part.limit == PAGE_LIMIT:
        limit["wrong"] = None  # it has no checksum
    limit_ns = median(limit, "cpu_ns")
    first, later = (ratio(median(ours, key), limit_ns) for key in ("cpu_ns", "later_cpu_ns"))
    best = best_peer(case, "cpu_ns", 1)
    to_best = ratio(median(ours, "cpu_ns"), best[0] if best else None)
    failure = ours["error"] or ours["wrong"] if ours else "not run"
    return [
        part.title, case["case"], case["codec"], text(limit_ns / 1e6 if limit_ns else None, 1),
        f"{failure}" if failure else text(first), text(later), text(part.target),
        mark_readings(first, later, part.target),
        f"{text(ratio(best[0], limit_ns))} {best[1]}" if best else "", text(to_best), mark(to_best, 1.0),
    ]  # fmt: skip


HEADER = ["in", "case", "codec", "limit, CPU ms", "CPU / limit", "later reading", "target", "met",
          "best of ROOT / limit", "first reading / best of ROOT", "faster"]  # fmt: skip


def chosen(part: Part, cases: list[str] | None) -> tuple[str, ...]:
    """Those of the cases asked for that are the part's."""
    files = {case.partition(":")[0] for case in part.cases}
    return tuple(case for case in cases or part.cases if case.partition(":")[0] in files)


def main() -> int:
    """Return 1 if arrowroot read something else than ROOT."""
    options = parse()
    os.environ["ARROWROOT_PAGE_LIMIT"] = str(page_limit())
    asked = [(part, cases) for part in PARTS if (cases := chosen(part, options.cases))]
    results = [(part, measure(options, part, cases)) for part, cases in asked]
    rows = [row_of(part, case) for part, result in results for case in result["cases"]]
    tables = (
        f"{today()}, {machine(results[0][1]['environment'])}. Medians of {options.repeat}, one thread, warm page cache."
        f"\n\n{markdown(HEADER, rows)}"
    )
    print(f"\n{tables}")
    if options.update_docs:
        update_page(MEASURED, tables, BEGIN, END)
    wrong = [line for _, result in results for line in result["complaints"] if f" {ENGINE}," in line]
    for complaint in wrong:
        print(f"!! {complaint}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
