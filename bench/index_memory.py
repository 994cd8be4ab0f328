"""Memory that ids take: those of an event list, and those by which a friend is joined.

    python -m bench.index_memory DIRECTORY --millions 5 20 50

Each size is a process of its own, in which peak memory is compared with that before. Ids are (run, luminosityBlock,
event); the friend has the same ones in another order, and those of both trees count. The slope is that between the
smallest and the largest size; it is to be at most 16 bytes an id, whatever the number of threads, and the command
fails if it is more.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import arrowroot as ar

MILLION = 1_000_000
MOST_BYTES = 16.0
IDS = ["run", "luminosityBlock", "event"]
#: Entries that are made at a time.
STEP = MILLION


def ids_of(numbers: np.ndarray) -> pa.Table:
    """Return the ids of events by their numbers, 100 in each luminosity block and 20,000 in each run."""
    return pa.table(
        {
            "run": (numbers // 20_000 + 300_000).astype(np.int32),
            "luminosityBlock": (numbers // 100 % 200).astype(np.int32),
            "event": numbers,
        }
    )


def in_memory(field: str) -> int:
    """Return the bytes of memory that this process has (VmRSS), or the most that it had (VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) << 10


def begin() -> int:
    """Forget the most memory that there was; return what there is."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return in_memory("VmRSS")


def write(path: Path, n_ids: int, stride: int) -> None:
    """Write a tree of ids; ``stride``: from the number of one entry to the next, prime to ``n_ids``."""
    parts = (
        ids_of(np.arange(first, min(first + STEP, n_ids)) * stride % n_ids) for first in range(0, n_ids, STEP)
    )
    ar.write(f"{path}:Events", parts, schema=ids_of(np.arange(1)).schema, layout="rntuple", compression="lz4")


def of_list(directory: Path, n_ids: int) -> int:
    """Look for events of a list in a file; return the bytes that this took beside the ids as they are given."""
    table = ids_of(np.arange(n_ids))
    tree = ar.open(directory / f"{n_ids}.root")["Events"]
    batch = next(iter(tree.scan(IDS)))
    before = begin()
    events = ar.EventList(table)
    found = events.found_in([batch], IDS)
    if len(found.indices) != batch.num_rows:
        raise SystemExit(f"{len(found.indices)} of {batch.num_rows} events are found")
    return in_memory("VmHWM") - before


def of_friend(directory: Path, n_ids: int) -> int:
    """Join a friend by its ids; return the bytes that this took beside a scan without it."""
    tree = ar.open(directory / f"{n_ids}.root")["Events"]
    tree.scan(IDS).drain()
    before = begin()
    tree.add_friend(ar.open(directory / f"{n_ids}-shuffled.root")["Events"], "other", index=IDS)
    one = tree.to_arrow(["event", "other.event"], entries=[n_ids // 2])
    if one["event"] != one["other.event"]:
        raise SystemExit(f"joined {one.to_pylist()}")
    return in_memory("VmHWM") - before


#: Each way, and in how many trees its ids are.
WAYS = {"event list": (of_list, 1), "friend": (of_friend, 2)}


def main() -> None:
    """Print a line for each way and size, and the slopes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--millions", type=int, nargs="+", default=[5, 20])
    parser.add_argument(
        "--one", nargs=2, metavar=("WAY", "IDS"), help="measure this alone, and print the bytes"
    )
    options = parser.parse_args()
    if options.one:
        way, n_ids = options.one
        began = time.process_time()
        print(WAYS[way][0](options.directory, int(n_ids)), time.process_time() - began)
        return
    sizes = [count * MILLION for count in sorted(options.millions)]
    for n_ids in sizes:
        write(options.directory / f"{n_ids}.root", n_ids, 1)
        write(options.directory / f"{n_ids}-shuffled.root", n_ids, 7_368_787)
    too_much = []
    for way, (_, n_trees) in WAYS.items():
        taken = []
        for n_ids in sizes:
            command = [
                sys.executable,
                "-m",
                "bench.index_memory",
                str(options.directory),
                "--one",
                way,
                str(n_ids),
            ]
            answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            taken.append(int(answer[0]))
            print(f"{way}: {n_ids:,} ids, {taken[-1] / 1e6:.0f} MB, CPU {float(answer[1]):.1f} s", flush=True)
        slope = (taken[-1] - taken[0]) / max(1, n_trees * (sizes[-1] - sizes[0]))
        print(f"{way}: {slope:.1f} bytes an id")
        too_much += [way] if slope > MOST_BYTES else []
    if too_much:
        raise SystemExit(f"more than {MOST_BYTES:g} bytes an id: {', '.join(too_much)}")


if __name__ == "__main__":
    main()
