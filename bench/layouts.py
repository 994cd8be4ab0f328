"""Layouts in reading and writing, beside what was published: ``python -m bench.layouts [--db FILE]``.

Reading: the campaign ``campaigns/layouts.toml`` of the laboratory, which is run as far as it is not measured yet.
Writing: the same events from memory, in a process of its own for each layout: time, peak memory, size, baskets.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from .paths import REPOSITORY
from .tables import markdown

CAMPAIGN = REPOSITORY / "campaigns" / "layouts.toml"
RECIPE = REPOSITORY / "campaigns" / "layouts" / "events.py"
TABLE = "CollectionTree"
N_WRITTEN = 500
N_REPEATS = 5
#: A layout with ROOT's default level, and with the one that is twice as thorough: what "relaxed" can mean.
WRITTEN = [
    ("old AOD", "old-aod", "zlib:6"),
    ("AOD 2011, same level", "aod-2011", "zlib:6"),
    ("AOD 2011, relaxed level", "aod-2011", "zlib:1"),
    ("ESD 2011", "esd-2011", "zlib:6"),
    ("D3PD", "d3pd", "zlib:6"),
    ("RNTuple", "rntuple", "zstd:5"),
]
COLD = "disk, cold"


class Statement(NamedTuple):
    """A published statement, and what we find: two numbers whose ratio is compared, None where nothing was measured."""

    text: str
    published: str
    before: float | None
    after: float | None

    @property
    def row(self) -> list[str]:
        """The row of the table."""
        if self.before is None or self.after is None:
            return [self.text, self.published, "", "", "not measured"]
        ratio = self.before / self.after if self.after else float("inf")
        return [self.text, self.published, f"{self.before:.4g}", f"{self.after:.4g}", f"{ratio:.3g}"]


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", default="bench-layouts.db", help="database of the laboratory's results")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON instead")
    parser.add_argument("--write", nargs=3, metavar=("EVENTS", "LAYOUT", "CODEC"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        print(json.dumps(written_once(*options.write)))
        return
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"}
    command = [sys.executable, "-m", "arrowroot", "lab", "run", str(CAMPAIGN), "--db", options.db]
    subprocess.run(command, check=True, env=environment)
    reading, writing = read_results(options.db), written_all()
    if options.json:
        print(json.dumps({"reading": reading, "writing": writing}, indent=2))
        return
    for header, *rows in (reading_rows(reading), writing_rows(writing), statement_rows(reading, writing)):
        print(markdown(header, rows))


def read_results(database: str) -> list[dict[str, Any]]:
    """The newest result of each case: what was read by whom from where, ms an entry, reads and bytes of the store."""
    from arrowroot_lab import results  # noqa: PLC0415 - it brings pandas, which those that write are to be without

    samples = results(database, campaign="layouts", each="sample")
    rows = []
    keys = ["dataset", "storage", "engine", "workload"]
    for case, of_case in samples[samples["is_counted"] == 1].groupby(keys):
        n_entries = of_case["n_entries"].median() if "n_entries" in of_case else None
        found = dict(zip(keys, case, strict=True))
        for name in ("store.n_reads", "store.n_vector_reads", "store.n_bytes", "peak_rss_bytes"):
            found[name] = float(of_case[name].median()) if name in of_case else None
        rows.append({**found, "wall_ns": float(of_case["wall_ns"].median()), "n_entries": n_entries})
    return rows


def written_once(events: str, layout: str, codec: str) -> dict[str, Any]:
    """Write the events of a file in a layout; the figures."""
    import arrowroot as ar  # noqa: PLC0415 - what only those need that write

    with ar.open(events) as file:
        table = file[TABLE].to_arrow()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory(dir=Path(events).parent) as directory:
        path = f"{directory}/out.root"
        begin, cpu = time.perf_counter_ns(), time.process_time_ns()
        ar.write(f"{path}:{TABLE}", table, layout=layout, compression=codec)
        wall_ns, cpu_ns = time.perf_counter_ns() - begin, time.process_time_ns() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with ar.open(path) as file:
            n_baskets = sum(branch.n_baskets for branch in file[TABLE].branches)
        n_bytes = Path(path).stat().st_size
    return {
        "wall_ns": wall_ns, "cpu_ns": cpu_ns, "more_rss_bytes": 1024 * (peak - before), "file_bytes": n_bytes,
        "n_baskets": n_baskets, "n_entries": table.num_rows,
    }  # fmt: skip


def written_all() -> list[dict[str, Any]]:
    """Write the events in all layouts, in turns; medians."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([sys.executable, str(RECIPE), directory, "rntuple", str(N_WRITTEN)], check=True)
        found: dict[str, list[dict[str, Any]]] = {name: [] for name, *_ in WRITTEN}
        for _ in range(N_REPEATS):
            for name, layout, codec in WRITTEN:
                command = [
                    sys.executable,
                    "-m",
                    "bench.layouts",
                    "--write",
                    f"{directory}/events.root",
                    layout,
                    codec,
                ]
                done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=REPOSITORY)
                found[name].append(json.loads(done.stdout.splitlines()[-1]))
    return [
        {"layout": name, **{key: statistics.median(one[key] for one in rows) for key in rows[0]}}
        for name, rows in found.items()
    ]


def reading_rows(reading: list[dict[str, Any]]) -> list[list[str]]:
    """The figures of reading: a row for each layout, storage, engine and workload."""
    rows = [["layout", "storage", "workload", "engine", "ms", "reads", "MB"]]
    for one in sorted(
        reading, key=lambda row: (row["storage"], row["workload"], row["dataset"], row["engine"])
    ):
        n_bytes = one["store.n_bytes"]
        rows.append(
            [
                one["dataset"], one["storage"], one["workload"], one["engine"], f"{one['wall_ns'] / 1e6:.1f}",
                f"{n_requests(one):.0f}", "" if n_bytes is None else f"{n_bytes / 1e6:.1f}",
            ]
        )  # fmt: skip
    return rows


def writing_rows(writing: list[dict[str, Any]]) -> list[list[str]]:
    """The figures of writing: a row for each layout."""
    rows = [["layout", "ms/entry", "CPU ms/entry", "MB", "baskets", "memory MB"]]
    for one in writing:
        n = one["n_entries"]
        rows.append(
            [
                one["layout"], f"{one['wall_ns'] / 1e6 / n:.2f}", f"{one['cpu_ns'] / 1e6 / n:.2f}",
                f"{one['file_bytes'] / 1e6:.1f}", f"{one['n_baskets']:.0f}", f"{one['more_rss_bytes'] / 1e6:.0f}",
            ]
        )  # fmt: skip
    return rows


def n_requests(row: dict[str, Any]) -> float:
    """Reads of the store, vector reads among them."""
    return float(row["store.n_reads"] or 0) + float(row["store.n_vector_reads"] or 0)


def statement_rows(reading: list[dict[str, Any]], writing: list[dict[str, Any]]) -> list[list[str]]:
    """The published statements, and what we find of each."""

    def of(dataset: str, workload: str, engine: str) -> dict[str, Any] | None:
        asked = {"dataset": dataset, "workload": workload, "engine": engine, "storage": COLD}
        return next((row for row in reading if asked.items() <= row.items()), None)

    def pair(
        key: Any, one: dict[str, Any] | None, other: dict[str, Any] | None
    ) -> tuple[float | None, float | None]:
        return None if one is None else key(one), None if other is None else key(other)

    def ms(row: dict[str, Any]) -> float:
        return float(row["wall_ns"]) / 1e6

    by_name = {row["layout"]: row for row in writing}
    old, new, relaxed = (by_name[name] for name, *_ in WRITTEN[:3])
    told, cached, plain = "ROOT, cache told the list", "ROOT, cache", "ROOT, no cache"
    rows = [["statement", "published", "before", "after", "ratio"]]
    for text, published, before, after in [
        (
            "1 % of the events, ms", "4 to 5 times faster (270 to 60 ms an event)",
            *pair(ms, of("old AOD", "1 %, 52 ms each", told), of("AOD 2011", "1 %, 33 ms each", told)),
        ),
        (
            "all events, ms", "30 % faster (55 to 35 ms an event)",
            *pair(ms, of("old AOD", "all, 52 ms each", cached), of("AOD 2011", "all, 33 ms each", cached)),
        ),
        (
            "reads, corners of layout and cache", "1,328,586 to 521 (2,550 times)",
            *pair(n_requests, of("old AOD", "all", plain), of("AOD 2011", "all", cached)),
        ),
        ("write, ms an event", "20 % faster", old["wall_ns"] / 1e6 / N_WRITTEN, new["wall_ns"] / 1e6 / N_WRITTEN),
        (
            "write, relaxed level", "almost 50 % faster",
            old["wall_ns"] / 1e6 / N_WRITTEN, relaxed["wall_ns"] / 1e6 / N_WRITTEN,
        ),
        ("file, MB", "very similar", old["file_bytes"] / 1e6, new["file_bytes"] / 1e6),
        ("baskets", "10,000 to 800", old["n_baskets"], new["n_baskets"]),
        ("memory of writing, MB", "50 to 100 MB less", old["more_rss_bytes"] / 1e6, new["more_rss_bytes"] / 1e6),
        (
            "memory of reading, MB", "50 to 100 MB less",
            *pair(lambda row: row["peak_rss_bytes"] / 1e6, of("old AOD", "all", cached), of("AOD 2011", "all", cached)),
        ),
    ]:  # fmt: skip
        rows.append(Statement(text, published, before, after).row)
    return rows


if __name__ == "__main__":
    main()
