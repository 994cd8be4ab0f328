"""The command ``make bench-write``: writes each case with each codec, reads it back, and prints tables of ratios."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import arrowroot as ar
from bench import catalogue, programs
from bench.digest import digest
from bench.machine import machine, packages, today
from bench.pages import names, update_page
from bench.paths import CACHE, MEASURED, RESULTS
from bench.runner import Answer, Row, ask, difference
from bench.tables import mark, markdown, ratio, text

from . import data

RESULT = RESULTS / "write.json"
SUBJECT = "arrowroot-writer"
LIMIT = "write-limit"
LAYOUTS = ("ttree", "rntuple")
#: ROOT's own writers at the same number of threads, that ours is compared with.
ROOT_WRITERS = {"ttree": ("root-ttree-writer",), "rntuple": ("rntuple-writer", "rntuple-parallel-writer")}


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="fewer cases and codecs, a quarter of the data, once"
    )
    parser.add_argument("--cases", type=names, help="such as flat-100,jagged-1600 (default: all)")
    parser.add_argument("--codecs", type=names, help="ROOT's numbers, such as 505,101 (default: all)")
    parser.add_argument("--layouts", type=names, default=list(LAYOUTS), help="ttree,rntuple")
    parser.add_argument("--engines", type=names, default=["*"], help="names or globs of engines")
    parser.add_argument("--threads", type=names, default=["1", "2"], help="numbers of threads (default 1,2)")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the data (default 1: 60 MB a case)")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions, in turns (default 3)")
    parser.add_argument("--seed", type=int, default=1, help="of the values (default 1)")
    parser.add_argument("--update-docs", action="store_true", help="write the tables into docs/measured.md")
    return parser.parse_args()


def main() -> int:
    """Return 1 if an engine failed, or wrote something else than it was given."""
    options = parse()
    if options.quick:
        options.repeat, options.scale = 1, options.scale / 4
    programs.prepare()
    programs.build_examples("arrowroot", "write_limit")
    definition = catalogue.load("write")
    CACHE.mkdir(parents=True, exist_ok=True)
    results = []
    for case in definition["case"]:
        for codec in definition["codec"]:
            is_chosen = (not options.cases or case["name"] in options.cases) and (
                not options.codecs or str(codec["number"]) in options.codecs
            )
            is_slow = case.get("quick") is False or codec.get("quick") is False
            if is_chosen and not (options.quick and is_slow and not options.cases):
                for layout in options.layouts:
                    results.append(measure(options, case, codec, layout))
                    print_case(results[-1])
    RESULTS.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(results))
    where = f"{today()}, {machine()}; {packages()}"
    how = f"{options.scale * 60:g} MB a case, medians of {options.repeat}, warm page cache"
    shown = f"{where}. {how}.\n\n{table(results)}"
    print(f"\n{shown}")
    if options.update_docs:
        update_page(MEASURED, shown, "bench-write")
    complaints = [told for result in results for told in result["complaints"]]
    print("\n".join(complaints), file=sys.stderr)
    return 1 if complaints else 0


def measure(
    options: argparse.Namespace, case: dict[str, Any], codec: dict[str, Any], layout: str
) -> dict[str, Any]:
    """Let all engines write a case, in turns; what the first time gave is read back."""
    megabytes = codec.get("payload_mb", case["payload_mb"]) * options.scale
    columns = data.make(case["shape"], case["n_columns"], int(megabytes * 1e6), options.seed)
    job = columns.job() | {
        "task": "write",
        "format": layout,
        "compression": codec["number"],
        "case": case["name"],
    }
    rows = [
        Row(engine, layout, int(threads), job | {"threads": int(threads)})
        for engine in catalogue.matching(options.engines, "write")
        for threads in options.threads
        if engine.format in (layout, "any") and (int(threads) == 1 or engine.threaded)
        if not (engine.name == "rntuple-parallel-writer" and int(threads) == 1)
    ]
    wanted = content(columns.job())
    directory = Path(tempfile.mkdtemp(prefix="bench-write-", dir=CACHE))
    try:
        for _ in range(options.repeat):
            for row in rows:
                if not row.error:
                    sample(row, directory / "out.root", wanted)
    finally:
        shutil.rmtree(directory)
    return {
        "case": case["name"], "title": case["title"], "codec": codec["name"], "layout": layout,
        "target": codec["target"], "payload_bytes": columns.payload_bytes,
        "rows": [row.as_json() for row in rows],
        "complaints": [f"{case['name']}, {codec['name']}: {told}" for row in rows if (told := row.complaint())],
    }  # fmt: skip


def sample(row: Row, path: Path, wanted: Answer) -> None:
    """One engine writes once. The first file is read back: what differs is no result."""
    path.unlink(missing_ok=True)
    ours = path.with_name("ours.root")  # what the limit compresses
    answer = ask(row.engine, row.job | {"out": str(path), "file": str(ours) if ours.exists() else None})
    if "unsupported" in answer or "error" in answer:
        row.error = (
            f"unsupported: {answer['unsupported']}" if "unsupported" in answer else str(answer["error"])
        )
        return
    if path.exists():
        answer["file_bytes"] = path.stat().st_size
        if not row.samples:
            is_peer = row.engine.role == "peer"
            row.wrong = difference(written(path, row.job, in_any_order=is_peer), wanted)
    elif row.engine.role != "limit":
        row.wrong = "there is no file"
    if row.engine.name == SUBJECT and path.exists():
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
        read = file["T"].to_arrow(names_of)
    checksum: dict[str, dict[str, Any]] = {name: dict(digest(read.column(name))) for name in names_of}
    if job["threads"] > 1 and in_any_order:
        for told in checksum.values():
            del told["order"]
    return {"n_entries": read.num_rows, "checksum": checksum}


def median_of(result: dict[str, Any], engine: str, threads: int, key: str) -> float | None:
    """The median of an engine's samples; None if it failed."""
    row = next((r for r in result["rows"] if r["engine"] == engine and r["threads"] == threads), None)
    if row is None or row["error"] or row["wrong"]:
        return None
    values = sorted(s[key] for s in row["samples"] if key in s)
    return values[len(values) // 2] if values else None


def print_case(result: dict[str, Any]) -> None:
    """Say how fast each engine was."""
    print(
        f"\n{result['title']}, {result['codec']}, {result['layout']}, {result['payload_bytes'] / 1e6:.0f} MB",
        flush=True,
    )
    for row in result["rows"]:
        failed = row["error"] or row["wrong"]
        if failed:
            print(f"  {row['engine']:24} {row['threads']}  {failed}")
            continue
        wall, cpu, size, peak = (
            median_of(result, row["engine"], row["threads"], key)
            for key in ("wall_ns", "cpu_ns", "file_bytes", "peak_rss_bytes")
        )
        speed = ratio(result["payload_bytes"] * 1e3, wall)
        of_cpu = ratio(result["payload_bytes"] * 1e3, cpu)
        print(f"  {row['engine']:24} {row['threads']}  {text(speed, 0):>5} MB/s wall  {text(of_cpu, 0):>5} MB/s CPU  "
              f"{text(ratio(size, 1e6)):>7} MB  peak {text(ratio(peak, 1e6), 0)} MB", flush=True)  # fmt: skip


def table(results: list[dict[str, Any]]) -> str:
    """One line for each case, codec and layout: ours beside the limit, ROOT and uproot."""
    header = ["case", "codec", "layout", "MB/s", "wall / limit", "CPU / limit", "target", "met",
              "MB/s, 2 threads", "gain", "ROOT, MB/s", "times ROOT", "ROOT, 2 threads", "times ROOT",
              "uproot, MB/s", "times uproot",
              "size / ROOT's", "peak, MB"]  # fmt: skip
    rows = []
    for result in results:
        n_bytes = result["payload_bytes"]

        def wall(engine: str, threads: int, result: dict[str, Any] = result) -> float | None:
            return median_of(result, engine, threads, "wall_ns")

        def speed(wall_ns: float | None, n_bytes: int = n_bytes) -> str:
            return text(ratio(n_bytes * 1e3, wall_ns), 0)

        ours, ours_2 = wall(SUBJECT, 1), wall(SUBJECT, 2)
        roots = [
            min((w for name in ROOT_WRITERS[result["layout"]] if (w := wall(name, threads))), default=None)
            for threads in (1, 2)
        ]
        uproot = wall("uproot-writer", 1)
        over = ratio(ours, wall(LIMIT, 1))
        over_cpu = ratio(median_of(result, SUBJECT, 1, "cpu_ns"), median_of(result, LIMIT, 1, "cpu_ns"))
        size = median_of(result, SUBJECT, 1, "file_bytes")
        root_size = median_of(result, ROOT_WRITERS[result["layout"]][0], 1, "file_bytes")
        rows.append([
            result["title"], result["codec"], result["layout"], speed(ours), text(over), text(over_cpu),
            text(result["target"], 1), mark(over, result["target"]), speed(ours_2), text(ratio(ours, ours_2)),
            speed(roots[0]), text(ratio(roots[0], ours)), speed(roots[1]), text(ratio(roots[1], ours_2)),
            speed(uproot), text(ratio(uproot, ours)), text(ratio(size, root_size), 3),
            text(ratio(median_of(result, SUBJECT, 1, "peak_rss_bytes"), 1e6), 0),
        ])  # fmt: skip
    return markdown(header, rows)


if __name__ == "__main__":
    sys.exit(main())
