"""Reading by 1 to 16 threads, beside decompression alone, with the CPU time of what one thread does at a time.

    python -m bench.scale.reading --threads 1 2 16

Files in memory (/dev/shm if it is there), best of the repeats by wall time, in turns. Two codecs, a tree, an RNTuple,
and an RNTuple whose columns are all nullable (without a null). Serial parts, in percent of the CPU time: *place*,
pieces get their places; *lock*, the threads' lock is held; *caller*, what the process does beside the scan's threads
(batches become pyarrow's, the file is opened). The last column says what 16 cores could gain with them (Amdahl's law)
if nothing else were in the way: a prediction, which memory that is written for the first time bounds, too.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import arrowroot as ar
from bench.paths import IN_MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CODECS = {"zstd": "zstd:1", "lz4": "lz4:1"}
PIECE_BYTES = 256_000
N_CORES = 16


@dataclass(frozen=True)
class Run:
    """One reading: wall and CPU seconds, and CPU seconds of its serial parts by name."""

    wall: float
    cpu: float
    serial: dict[str, float]


def made(n_entries: int) -> pa.Table:
    """Return event data: 24 floats, 4 integers, 12 lists of floats with the same lengths; nothing is nullable."""
    rng = np.random.default_rng(3)
    columns = {f"f{k}": pa.array(np.round(rng.normal(40, 15, n_entries), 2).astype("f4")) for k in range(24)}
    columns |= {f"i{k}": pa.array(rng.integers(0, 2000, n_entries).astype("i4")) for k in range(4)}
    lengths = rng.poisson(3, n_entries)
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype("i4"))
    kind = pa.list_(pa.field("item", pa.float32(), nullable=False))
    for k in range(12):
        items = pa.array(np.round(rng.exponential(30, int(lengths.sum())), 2).astype("f4"))
        columns[f"J{k}"] = pa.ListArray.from_arrays(ends, items, type=kind)
    return pa.table(columns, pa.schema([pa.field(n, c.type, nullable=False) for n, c in columns.items()]))


def nullable(table: pa.Table) -> pa.Table:
    """Return the same values, and a schema in which all may be null."""
    kinds = {f.name: pa.list_(pa.float32()) if pa.types.is_list(f.type) else f.type for f in table.schema}
    return table.cast(pa.schema(list(kinds.items())))


def read(path: str, n_threads: int) -> Run:
    """Read all columns, batch by batch."""
    wall, cpu = time.perf_counter(), time.process_time()
    with ar.open(path) as file:
        stats = file["E"].scan(n_threads=n_threads).drain()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    serial = {"place": stats.place_ns / 1e9, "lock": stats.lock_ns / 1e9, "caller": cpu - stats.cpu_ns / 1e9}
    return Run(wall, cpu, serial)


def unpacked(pieces: list[pa.Buffer], codec: str, n_threads: int) -> Run:
    """Decompress pieces into memory that was not written before: all of it is kept until the end."""
    unpack = pa.Codec(codec if codec != "lz4" else "lz4_raw").decompress
    wall, cpu = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(n_threads) as threads:
        kept = list(threads.map(lambda piece: unpack(piece, PIECE_BYTES), pieces))
    run = Run(time.perf_counter() - wall, time.process_time() - cpu, {})
    kept.clear()
    return run


def pieces_of(table: pa.Table, codec: str) -> list[pa.Buffer]:
    """Return the table's values as compressed pieces of one size."""
    pack = pa.Codec(codec if codec != "lz4" else "lz4_raw", 1 if codec == "zstd" else None).compress
    buffers = [b for c in table.columns for chunk in c.chunks for b in chunk.buffers() if b is not None]
    starts = [(b, k) for b in buffers for k in range(0, b.size - PIECE_BYTES, PIECE_BYTES)]
    return [pack(b.slice(k, PIECE_BYTES)) for b, k in starts]


def best(measure: Callable[[int], Run], numbers: Sequence[int], repeat: int) -> dict[int, Run]:
    """Return the quickest run with each number of threads, measured in turns."""
    # A machine has faster and slower minutes.
    turns = [{n: measure(n) for n in numbers} for _ in range(repeat)]
    return {n: min((turn[n] for turn in turns), key=lambda run: run.wall) for n in numbers}


def amdahl(share: float, n_threads: int) -> float:
    """Return what threads gain if a share of the work is done by one at a time."""
    return 1 / (share + (1 - share) / n_threads)


def report(what: str, runs: dict[int, Run], n_bytes: int) -> None:
    """Print a line for each number of threads."""
    first = next(iter(runs.values()))
    for n_threads, run in runs.items():
        shares = {name: seconds / run.cpu for name, seconds in run.serial.items()}
        named = "  ".join(f"{name} {share:6.2%}" for name, share in shares.items())
        gain = f"{first.wall / run.wall:5.2f}"
        at_all = sum(shares.values())
        told = f"  {named}  all {at_all:6.2%}  at {N_CORES}: {amdahl(at_all, N_CORES):4.1f}" if shares else ""
        print(
            f"{what:22} {n_threads:3} {n_bytes / run.wall / 1e6:7.0f} {gain} {run.cpu * 1e3:7.0f}{told}",
            flush=True,
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 16])
    parser.add_argument("--entries", type=float, default=1e6)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args(arguments)
    table = made(int(given.entries))
    print(f"{'':22} threads MB/s  gain  CPU ms  serial parts, in % of the CPU time")
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as directory:
        for codec, setting in CODECS.items():
            pieces = pieces_of(table, codec)
            limit = best(partial(unpacked, pieces, codec), given.threads, given.repeat)
            report(f"limit {codec}", limit, len(pieces) * PIECE_BYTES)
            cases = {
                "ttree": (table, "ttree"),
                "rntuple": (table, "rntuple"),
                "nullable": (nullable(table), "rntuple"),
            }
            for name, (values, layout) in cases.items():
                path = f"{directory}/{codec}-{name}.root"
                with ar.create(path, compression=setting) as file:
                    file.tree("E", values.schema, layout=layout).append(values)
                runs = best(partial(read, path), given.threads, given.repeat)
                report(f"{name} {codec}", runs, values.nbytes)


if __name__ == "__main__":
    main()
