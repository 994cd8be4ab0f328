"""Small fills from many threads: how many a second, and how long each holds the interpreter's lock.

    python -m bench.scale.producers 1 2 4 8 16 --codecs zstd:5 lz4:1

As many producers as threads of the file fill a table of 24 numbers and 12 lists with the same batch, again and again;
the file is in memory. Medians of the repeats, in turns. The lock: what of a fill is not in the engine, the median of
all fills: with one thread the time under the interpreter's lock, and that of exporting the batch, with more threads
that of waiting for the lock, too. Serial: that of the first row as a share of the CPU time of the process, all threads.
Rust: the same without an interpreter, to a sink that keeps nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import threading
import time
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

import arrowroot as ar
from bench.paths import IN_MEMORY
from bench.programs import build_examples

if TYPE_CHECKING:
    from pathlib import Path

#: ROOT's numbers of them.
ALGORITHMS = {"zlib": 1, "lzma": 2, "lz4": 4, "zstd": 5}
#: Entries of a cluster, and memory for all buffers.
FLUSH, BUFFERS = 20_000, "1 GB"


class Sample(NamedTuple):
    """A run. Times in ns; ``lock_ns``: of a fill, None where nobody has looked."""

    n_fills: int
    n_bytes: int
    wall_ns: int
    cpu_ns: int
    lock_ns: float | None = None


class Case(NamedTuple):
    """The settings of a run; ``n_fills``: of each thread."""

    codec: str
    layout: str
    n_threads: int
    n_fills: int


def batch_of(n_entries: int) -> pa.RecordBatch:
    """Return so many entries of 24 numbers, and of 12 lists with the same lengths."""
    rng = np.random.default_rng(5)
    columns = {f"f{k}": pa.array(np.round(rng.normal(40, 15, n_entries), 2).astype("f4")) for k in range(24)}
    ends = pa.array(np.concatenate([[0], np.cumsum(rng.poisson(3, n_entries))]).astype("i4"))
    for k in range(12):
        items = np.round(rng.exponential(30, ends[-1].as_py()), 2).astype("f4")
        columns[f"l{k}"] = pa.ListArray.from_arrays(ends, pa.array(items))
    return pa.record_batch(columns)


def from_python(path: Path, batch: pa.RecordBatch, case: Case) -> Sample:
    """Fill a table with a batch."""
    codec, layout, n_threads, n_fills = case
    wall_ns, cpu_ns = time.perf_counter_ns(), time.process_time_ns()
    with ar.create(path, compression=codec, n_threads=n_threads, buffers=BUFFERS, trace_stalls=True) as file:
        table = file.tree(
            "Events",
            batch.schema,
            layout=layout,
            producers={"buffers": max(4, n_threads + 2)},
            flush=FLUSH,
        )

        def fill() -> None:
            with table.context() as context:
                for _ in range(n_fills):
                    context.fill(batch)

        threads = [threading.Thread(target=fill) for _ in range(n_threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    wall_ns, cpu_ns = time.perf_counter_ns() - wall_ns, time.process_time_ns() - cpu_ns
    stalls = file.stalls()
    kept, states = stalls.intervals, stalls.as_dict()["states"]
    is_outside = kept.state == states.index("running")
    lock_ns = float(np.median((kept.end_ns - kept.start_ns)[is_outside]))
    return Sample(n_fills * n_threads, batch.nbytes * n_fills * n_threads, wall_ns, cpu_ns, lock_ns)


def from_rust(program: Path, n_entries: int, case: Case) -> Sample:
    """Do the same without an interpreter, with batches of so many entries."""
    codec, layout, n_threads, n_fills = case
    algorithm, _, level = codec.partition(":")
    words = (layout, 100 * ALGORITHMS[algorithm] + int(level), n_threads, n_entries, n_fills)
    done = subprocess.run([program, "fills", *map(str, words)], capture_output=True, check=True)
    told = json.loads(done.stdout)
    return Sample(n_fills * n_threads, told["memory_bytes"], told["wall_ns"], told["cpu_ns"])


def row_of(n_threads: int, samples: list[Sample], first: list[Sample]) -> str:
    """Return a row of the table. ``first``: those of the first number of threads."""

    def mb_per_s(of: list[Sample]) -> float:
        return median(1e3 * one.n_bytes / one.wall_ns for one in of)

    n_per_s = median(1e9 * one.n_fills / one.wall_ns for one in samples)
    cpu_us = median(one.cpu_ns / one.n_fills / 1e3 for one in samples)
    cells = [f"{n_threads}", f"{mb_per_s(samples):,.0f}", f"{mb_per_s(samples) / mb_per_s(first):.2f}"]
    cells += [f"{n_per_s:,.0f}", f"{cpu_us:,.0f}"]
    if samples[0].lock_ns is None:
        return " | ".join([*cells, "", ""])
    lock_us = [median(one.lock_ns / 1e3 for one in of if one.lock_ns is not None) for of in (samples, first)]
    return " | ".join([*cells, f"{lock_us[0]:,.1f}", f"{100 * lock_us[1] / cpu_us:.1f} %"])


def main() -> None:
    """Measure all, and print a table for each codec and layout."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("threads", type=int, nargs="*", default=[1, 2, 4, 8, 16])
    parser.add_argument("--codecs", nargs="+", default=["zstd:5", "lz4:1"])
    parser.add_argument("--layouts", nargs="+", choices=("ttree", "rntuple"), default=["ttree", "rntuple"])
    parser.add_argument("--entries", type=int, default=1000, help="of a fill (default 1,000)")
    parser.add_argument("--mb", type=float, default=200.0, help="of values in a run (default 200)")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=("python", "rust"), help="one of the two")
    options = parser.parse_args()
    batch = batch_of(options.entries)
    program = build_examples("arrowroot-writer", "parallel_output")[0] if options.only != "python" else None
    runs: dict[tuple[str, str, str, int], list[Sample]] = {}
    for _ in range(options.repeat):
        for codec in options.codecs:
            for layout in options.layouts:
                for n_threads in options.threads:
                    n_fills = max(4, round(1e6 * options.mb / batch.nbytes / n_threads))
                    case = Case(codec, layout, n_threads, n_fills)
                    if options.only != "rust":
                        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as directory:
                            path = IN_MEMORY / directory / "fills.root"
                            one = from_python(path, batch, case)
                        runs.setdefault(("python", codec, layout, n_threads), []).append(one)
                    if program is not None:
                        one = from_rust(program, batch.num_rows, case)
                        runs.setdefault(("rust", codec, layout, n_threads), []).append(one)
    for kind in ("python", "rust"):
        for codec in options.codecs:
            for layout in options.layouts:
                if (kind, codec, layout, options.threads[0]) not in runs:
                    continue
                print(f"\n{kind}, {codec}, {layout}, fills of {batch.num_rows:,} entries")
                print("threads | MB/s | gain | fills/s | CPU us a fill | lock us a fill | serial")
                first = runs[kind, codec, layout, options.threads[0]]
                for n_threads in options.threads:
                    print(row_of(n_threads, runs[kind, codec, layout, n_threads], first))


if __name__ == "__main__":
    main()
