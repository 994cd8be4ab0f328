"""A large store: what a laboratory of some years has, and how long the commands take with it.

``python -m tests.lab.large DIRECTORY [N_RESULTS]`` makes ``large.db`` there, unless it is there, and prints the times.
docs/lab/documents.md has them.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from arrowroot_lab.store import Store
from tests.lab.made import STORAGES, Made

#: Reads that a result keeps: as many as the runs of the campaigns do.
N_READS = 1000
KEYS = ("entries", "offsets", "n_bytes", "end_ns")


def make(path: Path, n_results: int) -> float:
    """Make the store, and return how many results went in a second."""
    made = Made(n_runs=1, with_trouble=False)
    n_of_run = len(made.results())
    reads = {"n_reads": 5 * N_READS, **{key: list(range(N_READS)) for key in KEYS}}
    began = time.perf_counter()
    n = 0
    with Store.open(path) as store:
        while n < n_results:
            run = replace(
                made, seed=n + 1, n_runs=1, first_day=made.first_day.replace(year=2024 + n // 25_000)
            )
            for number, result in enumerate(run.results()):
                day = 1 + (n // n_of_run) % 27
                month = 1 + (n // n_of_run // 27) % 12
                result.created_at = result.created_at.replace("-10-01T", f"-{month:02d}-{day:02d}T")
                result.reads = reads if number % 3 == 0 else None
                store.put(result)
                n += 1
    return n / (time.perf_counter() - began)


def main() -> None:
    """Make the store and print the times."""
    directory = Path(sys.argv[1])
    path = directory / "large.db"
    if not path.exists():
        rate = make(path, int(sys.argv[2]) if len(sys.argv) > 2 else 50_000)
        print(f"{rate:,.0f} results a second went in, by one process")
    with Store.open(path) as store:
        print(f"{store.count():,} results of {len(STORAGES)} storages, {path.stat().st_size / 1e9:.2f} GB")
        series = store.rows(None, ["series_id"])[0].series_id
    for command in (
        ["show"],
        ["show", "--matrix", "storage"],
        ["show", "--overview"],
        ["show", "--matrix", "storage", "--metric", "store.n_reads"],
        ["compare"],
        ["compare", "--by", "engine"],
        ["compare", "--by", "storage", "local", "--metric", "store.n_bytes"],
        ["history"],
        ["history", "--series", series],
        ["export", str(directory / "results.csv")],
        ["export", str(directory / "samples.parquet"), "--table", "samples"],
        ["export", f"{directory}/all/"],
    ):
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "arrowroot", "lab", *command, "--db", str(path)],
            capture_output=True,
            check=False,
        )
        print(f"{time.perf_counter() - began:7.2f} s  {done.returncode}  {' '.join(command)}", flush=True)


if __name__ == "__main__":
    main()
