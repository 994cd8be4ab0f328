"""Measures RNTuples and objects: arrowroot beside the limit of the very same pages or baskets, and ROOT.

``make bench-formats`` calls it; METHODOLOGY.md says what the numbers mean.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from . import catalogue, programs
from .data import FileSet
from .machine import machine, packages, today
from .pages import names, update_page
from .paths import MEASURED, RESULTS
from .reading import Measurement
from .run import complain
from .tables import best_peer, find, mark, mark_readings, markdown, median, ratio, text

ENGINE = "arrowroot"
RESULT = RESULTS / "formats.json"

Part = dict[str, Any]


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="size of the data (default 1)")
    parser.add_argument("--codecs", type=names, default=["zstd"], help="of zstd,zlib,lz4,none (default zstd)")
    parser.add_argument("--cases", type=names, help="such as flat:s10 or split0:all (default: all)")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions, in turns (default 3)")
    parser.add_argument("--prepared", action="store_true", help="programs and data are there: don't look")
    parser.add_argument("--update-docs", action="store_true", help="write the table into docs/measured.md")
    return parser.parse_args()


def measure(
    part: Part, codec: str, asked: list[str] | None, measurement: Measurement
) -> list[dict[str, Any]]:
    """The cases of a part, as they are kept."""
    engines = measurement.cast(part["engines"], part["task"], part["limit"])
    return [
        measurement.read(part["task"], case, codec, part["format"], engines)
        for case in part["cases"] if not asked or case in asked
    ]  # fmt: skip


def row_of(part: Part, case: dict[str, Any]) -> list[str]:
    """A line of the table: CPU times in ms, and ratios."""
    limit, ours = find(case, part["limit"], 1), find(case, ENGINE, 1)
    limit_ns = median(limit, "cpu_ns")
    first, later = (ratio(median(ours, key), limit_ns) for key in ("cpu_ns", "later_cpu_ns"))
    best = best_peer(case, "cpu_ns", 1)
    to_best = ratio(median(ours, "cpu_ns"), best[0] if best else None)
    failure = ours["error"] or ours["wrong"] if ours else "not run"
    return [
        part["title"], case["case"], case["codec"], text(limit_ns / 1e6 if limit_ns else None, 1),
        f"{failure}" if failure else text(first), text(later), text(part["target"]),
        mark_readings(first, later, part["target"]),
        f"{text(ratio(best[0], limit_ns))} {best[1]}" if best else "", text(to_best), mark(to_best, 1.0),
    ]  # fmt: skip


HEADER = ["in", "case", "codec", "limit, CPU ms", "CPU / limit", "later reading", "target", "met",
          "best of ROOT / limit", "first reading / best of ROOT", "faster"]  # fmt: skip


def main() -> int:
    """Return 1 if an engine failed or read something else than ROOT."""
    options = parse()
    files = FileSet.of(None, options.scale)
    if not options.prepared:
        programs.page_limit()
        files.make(options.codecs, ("flat", "nano", "aod"))
    RESULTS.mkdir(parents=True, exist_ok=True)
    measurement = Measurement(files, options.repeat, (1,))
    where = f"{today()}, {machine()}; {packages()}"
    found = [
        (part, case)
        for part in catalogue.load("formats")["part"]
        for codec in options.codecs
        for case in measure(part, codec, options.cases, measurement)
    ]
    cases = [case for _, case in found]
    RESULT.write_text(json.dumps(cases))
    tables = (
        f"{where}. Scale {options.scale:g}, medians of {options.repeat}, one thread, warm page cache."
        f"\n\n{markdown(HEADER, [row_of(part, case) for part, case in found])}"
    )
    print(f"\n{tables}")
    if options.update_docs:
        update_page(MEASURED, tables, "bench-formats")
    return complain(cases)


if __name__ == "__main__":
    sys.exit(main())
