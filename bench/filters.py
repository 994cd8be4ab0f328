"""What two passes gain: a filter's columns first, then what has selected entries, against reading all and dropping.

    python -m bench.filters demo/sample.root

Wall and CPU time (of the process, all threads), medians of the repeats, warm page cache; both ways are checked to give
the same entries. Over a line: nginx on loopback behind the relay of the storage crate, with a latency and a bandwidth.
"""

from __future__ import annotations

import argparse
import statistics
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import arrowroot as ar
from arrowroot_servers import Nginx, Relay

if TYPE_CHECKING:
    from collections.abc import Callable

LATENCY_MS, MB_PER_S = 20.0, 50.0


def in_two_passes(tree: ar.Tree, text: str) -> tuple[int, int]:
    """Read by the filter; return how many entries, and the bytes of baskets."""
    stats = tree.scan(filter=text).drain()
    return stats.n_entries, stats.payload_bytes


def all_of_it(tree: ar.Tree, numbers: np.ndarray) -> tuple[int, int]:
    """Read all, and take the selected ones from each batch."""
    scan = tree.scan()
    first = n_taken = 0
    for batch in scan:
        low, high = np.searchsorted(numbers, [first, first + batch.num_rows])
        n_taken += batch.take(pa.array(numbers[low:high] - first)).num_rows
        first += batch.num_rows
    return n_taken, scan.stats.payload_bytes


def measured(read: Callable[[], tuple[int, int]], repeat: int) -> tuple[float, float, tuple[int, int]]:
    """Return median wall and CPU seconds, and what the read returned."""
    walls, cpus, result = [], [], (0, 0)
    for _ in range(repeat):
        wall, cpu = time.perf_counter(), time.process_time()
        result = read()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return statistics.median(walls), statistics.median(cpus), result


def compare(where: str, tree: ar.Tree, texts: dict[str, str], repeat: int) -> None:
    """Print a line of the table for each filter."""
    for what, text in texts.items():
        numbers = tree.entries_where(text)
        share = 100 * len(numbers) / tree.num_entries
        two = measured(partial(in_two_passes, tree, text), repeat)
        whole = measured(partial(all_of_it, tree, numbers), repeat)
        if two[2][0] != whole[2][0]:
            raise SystemExit(f"{text}: {two[2][0]} entries in two passes, {whole[2][0]} in one")
        print(
            f"| {where} | {what}, {share:.1f} % | {two[0]:.2f} / {two[1]:.2f} | {whole[0]:.2f} / {whole[1]:.2f} "
            f"| {two[2][1] / 1e6:.1f} | {whole[2][1] / 1e6:.1f} |",
            flush=True,
        )


def main() -> None:
    """Measure here, and over a line if there is nginx."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sample", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    texts = {
        "one range of events": "event > 100000 && event <= 102320",
        "at random": "nMuon >= 5",
    }
    print("| | filter | two passes, wall / CPU s | all, wall / CPU s | two passes, MB | all, MB |")
    print("|---|---|---|---|---|---|")
    compare("local", ar.open(options.sample)["Events"], texts, options.repeat)
    with Nginx(options.sample.resolve().parent) as server, Relay(server.port) as relay:
        relay.link(LATENCY_MS, MB_PER_S)
        tree = ar.open(server.url(options.sample.name, relay.port))["Events"]
        compare(f"{LATENCY_MS:g} ms, {MB_PER_S:g} MB/s", tree, texts, min(3, options.repeat))


if __name__ == "__main__":
    main()
