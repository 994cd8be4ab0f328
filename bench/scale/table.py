"""How reading and writing gain from threads, as a table: measured on the cores that are there, predicted for 16.

    python -m bench.scale.table            # print it: three minutes
    python -m bench.scale.table --write    # put it into docs/measured.md, too

Best of the repeats by wall time, in turns; files in memory. Serial: what one thread does at a time, in percent of the
CPU time of all; parts above 0.3 % are named. Reading: as of `bench.scale.reading`. Append: all that is not compression,
with what the store does named apart. Contexts (fills of 1,000 entries from Python, as of `bench.scale.producers`): the
time of a fill that is not in the engine, with one thread. On a machine of fewer than 16 cores the column of 16 is a
prediction by Amdahl's law from that share, and an upper bound: it knows no memory that all cores share.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import tempfile
import time
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import arrowroot as ar
from bench.paths import IN_MEMORY, REPOSITORY
from bench.scale import producers, reading
from bench.scale.reading import N_CORES, Run, amdahl, best
from campaigns.tables.pages import Block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

PAGE, BLOCK = REPOSITORY / "docs" / "measured.md", "bench-scale"
#: A part of the CPU time that is named.
NAMED_SHARE = 0.003
#: 16 threads on fewer cores are not slower than 2 by more.
MAX_LOSS = 0.03
#: Entries of a fill, MB of values in a run of contexts, by codec.
N_FILLED = 1000
CONTEXTS_MB = {"zstd:5": 100.0, "lz4:1": 300.0, "lzma:1": 20.0}


class Case(NamedTuple):
    """A row: what is run with so many threads, the bytes of values, and the goals.

    goal: of the gain of 16 cores; None: it is a limit. max_share: of serial parts.
    """

    name: str
    run: Callable[[int], Run]
    n_bytes: int
    goal: str | None = None
    max_share: float | None = None


def append(directory: str, table: pa.Table, layout: str, n_threads: int) -> Run:
    """Write a table that is in memory, by zstd at level 5."""
    wall, cpu = time.perf_counter(), time.process_time()
    with ar.create(f"{directory}/append.root", compression="zstd:5", n_threads=n_threads) as file:
        file.tree("E", table.schema, layout=layout).append(table)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    cost = file.cost()
    parts = {one.operation: one.total_ns / 1e9 for one in cost.accounts if one.layer == "store"}
    parts["rest"] = max(0.0, wall - cost.compress_ns / 1e9 - sum(parts.values()))
    # With one thread tasks and all else follow each other, so the share of wall time is that of CPU time. Waits for the
    # disk count: no other thread gets on meanwhile.
    return Run(wall, cpu, {name: cpu * seconds / wall for name, seconds in parts.items()})


def contexts(directory: str, batch: pa.RecordBatch, codec: str, layout: str, n_threads: int) -> Run:
    """Fill a table by as many contexts as threads."""
    n_fills = max(4, round(1e6 * CONTEXTS_MB[codec] / batch.nbytes / n_threads))
    case = producers.Case(codec, layout, n_threads, n_fills)
    one = producers.from_python(Path(directory, "fills.root"), batch, case)
    # The numbers of fills differ by rounding: a run stands for as many bytes as that of one thread.
    share = CONTEXTS_MB[codec] * 1e6 / one.n_bytes
    lock_ns = (one.lock_ns or 0.0) * one.n_fills
    return Run(one.wall_ns / 1e9 * share, one.cpu_ns / 1e9 * share, {"lock": lock_ns / 1e9 * share})


def cases(directory: str, n_entries: int) -> Iterator[Case]:
    """Return all rows; each may be run while it is the last."""
    table = reading.made(n_entries)
    for codec, setting in reading.CODECS.items():
        pieces = reading.pieces_of(table, codec)
        limit = partial(reading.unpacked, pieces, codec)
        yield Case(f"limit: decompress, {codec}", limit, len(pieces) * reading.PIECE_BYTES)
        goal, max_share = ("12", 0.02) if codec == "zstd" else ("0.7 of the limit's", 0.1)
        for layout, values in (
            ("TTree", table),
            ("RNTuple", table),
            ("nullable RNTuple", reading.nullable(table)),
        ):
            path = f"{directory}/read.root"
            with ar.create(path, compression=setting) as file:
                file.tree("E", values.schema, layout=layout.split()[-1].lower()).append(values)
            yield Case(f"read {layout}, {codec}", partial(reading.read, path), values.nbytes, goal, max_share)
    part = table.slice(0, n_entries // 4)
    for layout in ("ttree", "rntuple"):
        yield Case(
            f"append, {layout}, zstd 5", partial(append, directory, part, layout), part.nbytes, "13", 0.02
        )
    batch = producers.batch_of(N_FILLED)
    for codec, mb in CONTEXTS_MB.items():
        for layout in ("ttree", "rntuple"):
            goals = (None, 0.1) if codec.startswith("lz4") else ("12", 0.02)
            run = partial(contexts, directory, batch, codec, layout)
            yield Case(f"contexts, {layout}, {codec.replace(':', ' ')}", run, round(mb * 1e6), *goals)


def row_of(case: Case, runs: dict[int, Run], n_cores: int) -> list[str]:
    """Return the cells of a row; runs: by number of threads, of which 1, 2 and 16 are there."""
    one, two, many = runs[1], runs[2], runs[N_CORES]
    cells = [case.name, f"{case.n_bytes / one.wall / 1e6:,.0f}", f"{one.wall / two.wall:.2f}"]
    lost = many.wall / two.wall - 1
    # With more cores 16 threads are the gain.
    cells.append(f"{two.wall / many.wall:.2f}{' **no**' if lost > MAX_LOSS and case.max_share else ''}")
    shares = {name: seconds / one.cpu for name, seconds in one.serial.items()}
    at_all = sum(shares.values())
    named = ", ".join(f"{name} {share:.1%}" for name, share in shares.items() if share > NAMED_SHARE)
    is_over = case.max_share is not None and at_all > case.max_share
    cells.append(
        f"{at_all:.1%}{f' ({named})' if named else ''}{' **no**' if is_over else ''}" if shares else ""
    )
    if n_cores >= N_CORES:
        gain = f"{one.wall / many.wall:.1f}, measured"
    else:
        gain = f"at most {amdahl(at_all, N_CORES):.1f}, predicted" if shares else "not measured"
    return [*cells, gain, case.goal or ""]


def table_of(rows: Sequence[Sequence[str]], n_cores: int) -> str:
    """Return the table with its machine."""
    head = ["", "MB/s, 1 thread", "gain of 2", "16 threads / 2", "serial", "gain of 16 cores", "goal"]
    lines = [head, ["---", *(["---:"] * (len(head) - 1))], *rows]
    try:
        model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        model = None
    about = (
        f"{datetime.now(timezone.utc):%Y-%m-%d}, {model[1] if model else platform.machine()}, {n_cores} cores, "
        f"load {os.getloadavg()[0]:.1f} at the end."
    )
    return "\n".join([about, "", *(f"| {' | '.join(line)} |" for line in lines)])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=float, default=1e6, help="of the table that is read (default 1e6)")
    parser.add_argument("--repeat", type=int, default=11)
    parser.add_argument("--write", action="store_true", help=f"write it into {PAGE.relative_to(REPOSITORY)}")
    given = parser.parse_args(arguments)
    n_cores = len(os.sched_getaffinity(0))
    rows = []
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as directory:
        for case in cases(directory, int(given.entries)):
            runs = best(case.run, (1, 2, N_CORES), given.repeat)
            rows.append(row_of(case, runs, n_cores))
            print(" | ".join(rows[-1]), flush=True)
    told = table_of(rows, n_cores)
    print(f"\n{told}")
    if given.write:
        Block(PAGE, BLOCK, told).put()


if __name__ == "__main__":
    main()
