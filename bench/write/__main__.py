"""The command ``make bench-write``: writes each case with each codec, reads it back, and prints tables of ratios."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import arrowroot as ar
from bench import catalogue, programs
from bench.digest import digest
from bench.machine import machine, packages, today
from bench.pages import names, update_page
from bench.paths import CACHE, IN_MEMORY, MEASURED, RESULTS
from bench.runner import Answer, Row, ask, difference

from . import data, tables

RESULT = RESULTS / "write.json"
LAYOUTS = ("ttree", "rntuple")


class Places(NamedTuple):
    """Directories that files are written to: in memory, and on the disk."""

    memory: Path
    disk: Path


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer cases and codecs, a third of the data")
    parser.add_argument("--cases", type=names, help="such as flat-100,jagged-1600 (default: all)")
    parser.add_argument("--codecs", type=names, help="ROOT's numbers, such as 505,101 (default: all)")
    parser.add_argument("--layouts", type=names, default=list(LAYOUTS), help="ttree,rntuple")
    parser.add_argument("--engines", type=names, default=["*"], help="names or globs of engines")
    parser.add_argument("--threads", type=names, default=["1", "2"], help="numbers of threads (default 1,2)")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the data (default 1: 8 to 60 MB)")
    parser.add_argument("--repeat", type=int, default=1, help="repetitions, in turns (default 1)")
    parser.add_argument("--seed", type=int, default=1, help="of the values (default 1)")
    parser.add_argument("--update-docs", action="store_true", help="write the tables into docs/measured.md")
    return parser.parse_args()


def main() -> int:
    """Return 1 if an engine failed, or wrote something else than it was given."""
    options = parse()
    if options.quick:
        options.scale /= 3
    where = f"{today()}, {machine()}; {packages()}"
    programs.prepare()
    programs.build_examples("arrowroot", "write_limit")
    programs.build_examples("arrowroot-writer", "write_columns")
    definition = catalogue.load("write")
    CACHE.mkdir(parents=True, exist_ok=True)
    memory = Path(tempfile.mkdtemp(prefix="bench-write-", dir=IN_MEMORY))
    places = Places(memory, Path(tempfile.mkdtemp(prefix="bench-write-", dir=CACHE)))
    results = []
    try:
        for case in definition["case"]:
            for codec in definition["codec"]:
                is_chosen = (not options.cases or case["name"] in options.cases) and (
                    not options.codecs or str(codec["number"]) in options.codecs
                )
                is_chosen = is_chosen and codec["number"] in case.get("codecs", [codec["number"]])
                is_slow = case.get("quick") is False or codec.get("quick") is False
                if is_chosen and not (options.quick and is_slow and not options.cases):
                    for layout in options.layouts if "objects" not in case else ["ttree"]:
                        results.append(measure(options, places, case, codec, layout))
                        tables.print_case(results[-1])
        peaks = [] if options.quick else measure_peaks(options, places)
    finally:
        for place in places:
            shutil.rmtree(place)
    RESULTS.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps({"where": where, "results": results, "peaks": peaks}))
    how = f"Medians of {options.repeat} turns." if options.repeat > 1 else ""
    shown = f"{where}. {how}".strip() + f"\n\n{tables.all_tables(results, peaks)}"
    print(f"\n{shown}")
    if options.update_docs:
        update_page(MEASURED, shown, "bench-write")
    complaints = [told for result in [*results, *peaks] for told in result["complaints"]]
    print("\n".join(complaints), file=sys.stderr)
    return 1 if complaints else 0


def measure(
    options: argparse.Namespace, places: Places, case: dict[str, Any], codec: dict[str, Any], layout: str
) -> dict[str, Any]:
    """Let all engines write a case, in turns; what the first time gave is read back.

    Peers are read back of one codec alone: what another one stores is not theirs to get wrong.
    """
    n_bytes = int(codec["payload_mb"] * options.scale * 1e6)
    columns = data.make(case["shape"], case["n_columns"], n_bytes, options.seed)
    job = columns.job() | {
        "task": "write",
        "format": layout,
        "compression": codec["number"],
        "case": case["name"],
        "objects": case.get("objects"),
        "repetitions": codec["repetitions"],
        "out": str(places.memory / "out.root"),
        "disk": str(places.disk / "out.root"),
    }
    rows = [
        Row(engine, layout, int(threads), job | {"threads": int(threads)})
        for engine in catalogue.matching(options.engines, "write")
        for threads in options.threads
        if engine.format in (layout, "any") and (int(threads) == 1 or engine.threaded)
        if "objects" not in case or engine.role != "peer"
        if not (engine.name == "rntuple-parallel-writer" and int(threads) == 1)
    ]
    wanted = content(columns.job())
    is_first = codec is catalogue.load("write")["codec"][0]
    ours = places.memory / "ours.root"
    for _ in range(options.repeat):
        for row in rows:
            if not row.error:
                sample(row, ours, wanted, is_read=is_first or row.engine.role != "peer")
    ours.unlink(missing_ok=True)
    return {
        "case": case["name"], "title": case["title"], "codec": codec["name"], "layout": layout,
        "target": case.get("target", codec["target"]), "with_pass": codec.get("with_pass", False),
        "payload_bytes": columns.payload_bytes, "rows": [row.as_json() for row in rows],
        "complaints": [f"{case['name']}, {codec['name']}: {told}" for row in rows if (told := row.complaint())],
    }  # fmt: skip


def measure_peaks(options: argparse.Namespace, places: Places) -> list[dict[str, Any]]:
    """Write tables that are larger than the buffers, for the memory that it takes."""
    definition = catalogue.load("write")
    told = definition["memory"]
    engine = catalogue.engine(tables.FACE)
    found = []
    for case in definition["case"]:
        if case["name"] not in told["cases"] or (options.cases and case["name"] not in options.cases):
            continue
        payload_bytes = int(told["payload_mb"] * options.scale * 1e6)
        columns = data.make(case["shape"], case["n_columns"], payload_bytes, options.seed)
        for layout in options.layouts:
            job = columns.job() | {
                "task": "write", "format": layout, "compression": told["codec"], "case": case["name"],
                "repetitions": 1, "threads": 2, "buffers": told["buffers_mb"] * 1_000_000,
                "out": str(places.memory / "out.root"),
            }  # fmt: skip
            row = Row(engine, layout, 2, job)
            sample(row, places.memory / "ours.root", content(columns.job()), is_read=True)
            found.append({
                "title": case["title"], "layout": layout, "payload_bytes": columns.payload_bytes,
                "row": row.as_json(), "complaints": [complaint for complaint in [row.complaint()] if complaint],
            })  # fmt: skip
    return found


def sample(row: Row, ours: Path, wanted: Answer, *, is_read: bool) -> None:
    """One engine writes. The first file is read back if it should be: what differs is no result.

    ours: where what arrowroot wrote into memory is kept, for the limit.
    """
    path = Path(row.job["out"])
    path.unlink(missing_ok=True)
    answer = ask(row.engine, row.job | {"file": str(ours) if ours.exists() else None})
    if "unsupported" in answer or "error" in answer:
        row.error = (
            f"unsupported: {answer['unsupported']}" if "unsupported" in answer else str(answer["error"])
        )
        return
    if path.exists():
        answer["file_bytes"] = path.stat().st_size
        if is_read and not row.samples:
            is_peer = row.engine.role == "peer"
            row.wrong = difference(written(path, row.job, in_any_order=is_peer), wanted)
    elif row.engine.role != "limit":
        row.wrong = "there is no file"
    if row.engine.name == tables.SUBJECT and path.exists():
        path.replace(ours)
    path.unlink(missing_ok=True)
    row.samples.append(answer)


def content(job: dict[str, Any]) -> Answer:
    """The expected content of a file: the digest of each column."""
    table = data.as_table(job)
    return {
        "n_entries": table.num_rows,
        "checksum": {name: digest(table.column(name)) for name in table.column_names},
    }


def written(path: Path, job: dict[str, Any], *, in_any_order: bool) -> Answer:
    """The content of a file; a parallel writer orders entries in its own way, so only sums count then."""
    names_of = [column["name"] for column in job["columns"]]
    with ar.open(str(path)) as file:
        read = (
            data.without_objects(file["T"].to_arrow()) if job.get("objects") else file["T"].to_arrow(names_of)
        )
    checksum: dict[str, dict[str, Any]] = {name: dict(digest(read.column(name))) for name in names_of}
    if job["threads"] > 1 and in_any_order:
        for told in checksum.values():
            del told["order"]
    return {"n_entries": read.num_rows, "checksum": checksum}


if __name__ == "__main__":
    sys.exit(main())
