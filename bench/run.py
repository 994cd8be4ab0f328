"""Measures arrowroot beside the limit and the peers, and prints one table of ratios: ``make bench``.

Compiles the peers' programs and generates the data if they are missing: about 8 GB at scale 1. METHODOLOGY.md says what
the numbers mean.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from typing import Any

from . import against, catalogue, process_measures
from .data import FileSet
from .machine import machine, packages, today
from .pages import names, update_page
from .paths import MEASURED, README, RESULTS
from .reading import Measurement
from .tables import open_table, process_table, read_table, summary_table

RESULT = RESULTS / "results.json"


@dataclass(frozen=True)
class Group:
    """Codecs that are read together, from one set of files by the same peers."""

    set: FileSet
    codecs: tuple[str, ...]
    cases: tuple[str, ...]
    engines: tuple[str, ...]


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--scale", type=float, default=1.0, help="size of the data; 1 is 1.3 GB of values (default 1)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the content of the data (default 1)")
    parser.add_argument("--codecs", type=names, help="of zstd,zlib,lz4,none,lzma (default: all)")
    parser.add_argument(
        "--cases",
        type=names,
        help="such as flat:s10 (default: all of definitions/read.toml); with --against, such as 'write *'",
    )
    parser.add_argument(
        "--peers", type=names, help="names or patterns of engines.toml (default: the usual ones)"
    )
    parser.add_argument(
        "--external", action="append", default=[], metavar="NAME=COMMAND", type=catalogue.external,
        help="another engine at the process line; may be given again",
    )  # fmt: skip
    parser.add_argument(
        "--tasks", type=names, default=["read", "open", "process"], help="of read,open,process"
    )
    parser.add_argument("--repeat", type=int, default=3, help="repetitions, in turns (default 3)")
    parser.add_argument("--prepared", action="store_true", help="programs and data are there: don't look")
    parser.add_argument("--reuse", action="store_true", help="measure nothing: tables of the last results")
    parser.add_argument(
        "--update-docs", action="store_true", help="write the tables into README.md and docs/measured.md"
    )
    parser.add_argument(
        "--against", metavar="COMMIT", help="instead: build a commit, and say where this checkout is slower"
    )
    parser.add_argument(
        "--pairs", type=int, default=11, help="of samples in a round of --against (default 11)"
    )
    return parser.parse_args()


def groups(options: argparse.Namespace) -> list[Group]:
    """The groups that have one of the chosen codecs, with only those."""
    definition = catalogue.load("read")
    cases = options.cases or [case["name"] for case in definition["case"]]
    unknown = set(cases) - {case["name"] for case in definition["case"]}
    if unknown:
        sys.exit(f"no such case: {', '.join(sorted(unknown))}")
    chosen = []
    for group in definition["group"]:
        codecs = tuple(codec for codec in group["codecs"] if not options.codecs or codec in options.codecs)
        if codecs:
            files = FileSet.of(group.get("set"), options.scale, options.seed)
            engines = tuple(options.peers or group["engines"])
            chosen.append(Group(files, codecs, tuple(cases), engines))
    return chosen


def prepare(options: argparse.Namespace) -> None:
    """Compile the programs and make the data; quick when both are there."""
    if "read" in options.tasks:
        for group in groups(options):
            group.set.make(group.codecs, ("nano", "flat"))
    if "open" in options.tasks or "process" in options.tasks:
        FileSet.of(None, options.scale, options.seed).make(("zstd",), ("nano", "flat"))


def read(options: argparse.Namespace) -> list[dict[str, Any]]:
    """All groups' cases."""
    cases = []
    for group in groups(options):
        measurement = Measurement(group.set, options.repeat, externals=options.external)
        engines = measurement.cast(group.engines, "read", "limit")
        cases += [
            measurement.read("read", case, codec, "ttree", engines)
            for case in group.cases
            for codec in group.codecs
        ]
    return cases


def opening(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The files of ``open``."""
    definition = catalogue.load("read")["open"]
    files = FileSet.of(None, options.scale, options.seed)
    measurement = Measurement(files, max(5, options.repeat), (1,), options.external)
    engines = measurement.cast(definition["engines"], "open")
    return [measurement.open(name, definition["codec"], engines) for name in definition["datasets"]]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run the chosen tasks; what came of them is also kept."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"date": today(), "machine": machine(), "packages": packages()}
    results |= {"scale": options.scale, "repeat": options.repeat}
    if "read" in options.tasks:
        results["read"] = read(options)
        _save(results)
    if "open" in options.tasks:
        results["open"] = opening(options)
        _save(results)
    if "process" in options.tasks:
        definition = catalogue.load("read")["process"]
        files = FileSet.of(None, options.scale, options.seed).dataset(definition["dataset"])
        path = files.path(definition["codec"], "ttree")
        results["process"] = vars(process_measures.measure(path, files.dataset.tree))
    _save(results)
    return results


def _save(results: dict[str, Any]) -> None:
    RESULT.write_text(json.dumps(results))


def describe(results: dict[str, Any]) -> str:
    """When, where and of what."""
    lzma_scale = catalogue.load("datasets")["sets"]["lzma-small"]["scale"]
    return (
        f"{results['date']}, {results['machine']}; {results['packages']}. Scale {results['scale']:g} "
        f"(lzma {lzma_scale:g}), medians of {results['repeat']}, warm page cache."
    )


def render(results: dict[str, Any]) -> str:
    """All tables, and what they were measured on."""
    where = f"{describe(results)} `bench/METHODOLOGY.md` says what is measured and where it is biased."
    parts = [where]
    if "read" in results:
        parts.append(read_table(results["read"]))
    if "open" in results:
        parts.append(open_table(results["open"]))
    if "process" in results:
        parts.append(process_table(process_measures.ProcessMeasures(**results["process"])))
    return "\n\n".join(parts)


def complain(cases: list[dict[str, Any]]) -> int:
    """Print what was wrong or failed. Returns the exit status."""
    complaints = [complaint for case in cases for complaint in case["complaints"]]
    for complaint in complaints:
        print(f"!! {complaint}", file=sys.stderr)
    return int(bool(complaints))


def main() -> int:
    """Return 1 if an engine failed or read something else than the others, or arrowroot is slower than a commit."""
    options = parse()
    if options.against:
        return against.compare(
            options.against, options.pairs, options.cases or (), is_prepared=options.prepared
        )
    if options.reuse:
        results = json.loads(RESULT.read_text())
    else:
        if not options.prepared:
            prepare(options)
        results = measure(options)
    tables = render(results)
    print(f"\n{tables}")
    if options.update_docs:
        update_page(README, f"{summary_table(results)}\n\n*{describe(results)}*", "bench")
        update_page(MEASURED, tables, "bench")
    return complain(results.get("read", []) + results.get("open", []))


if __name__ == "__main__":
    sys.exit(main())
