"""Measures ``auto`` beside every named strategy at servers of several kinds: ``make bench-servers``.

METHODOLOGY.md says what the numbers mean.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import arrowroot as ar
from arrowroot_servers import S3, Nginx, Relay, Single
from campaigns.tables.rows import markdown

from .pages import update_page
from .paths import MEASURED, REPOSITORY

TIMEOUT_S = 120
N_COLUMNS, N_ENTRIES, CLUSTER_ENTRIES = 50, 40_000, 2_000
#: The most that ``auto`` may take, as a multiple of the best named strategy.
TARGET = 1.5

SERVERS: dict[str, Any] = {
    "nginx": Nginx,
    "versitygw (S3)": lambda root: S3(trace=False),  # noqa: ARG005 - it has a bucket
    "Python, HTTP/1.0": lambda root: Single(root, version="HTTP/1.0"),
    "Python, HTTP/1.1": lambda root: Single(root, several="whole"),
    "Python, one at a time, a queue of 5": lambda root: Single(
        root, version="HTTP/1.0", threads=False, several="refused"
    ),
    "Python, breaks several ranges": lambda root: Single(root, several="broken"),
}
#: Columns, and which entries.
WORKLOADS = {
    "all columns": (N_COLUMNS, 1),
    "ten columns": (10, 1),
    "ten columns, 1 % of entries": (10, 100),
}
#: Options of each; the last two are what somebody sets who knows the server.
STRATEGIES: dict[str, dict[str, str]] = {
    "auto": {},
    "direct": {"strategy": "direct"},
    "application-only": {"strategy": "application-only"},
    "storage-only": {"strategy": "storage-only"},
    "lazy-download": {"strategy": "lazy-download"},
    "readahead": {"strategy": "readahead"},
    "readahead, 8 MiB": {"strategy": "readahead", "cache_size": "8 MiB"},
    "treecache": {"strategy": "treecache"},
}
#: Writes the file. Columns are far apart: what is read of one cluster has gaps.
WRITE = """
import ROOT
ROOT.gInterpreter.ProcessLine('''{{ TFile f("{path}", "RECREATE"); f.SetCompressionSettings(0);
TTree t("T", ""); t.SetAutoFlush({cluster}); double x[{n}];
for (int c = 0; c < {n}; ++c) t.Branch(Form("c%d", c), &x[c], "v/D");
for (int i = 0; i < {entries}; ++i) {{ for (int c = 0; c < {n}; ++c) x[c] = c * 1e6 + i; t.Fill(); }}
t.Write(); f.Close(); }}''')
"""


def read(job: dict[str, Any]) -> None:
    """Read as a job says, in this process, and print what it took."""
    n_columns, step = job["workload"]
    columns = [f"c{place * N_COLUMNS // n_columns}" for place in range(n_columns)]
    # From all over the file, never the same distance apart.
    entries = None
    if step > 1:
        entries = np.sort(np.random.default_rng(1).choice(N_ENTRIES, N_ENTRIES // step, replace=False))
    begin = time.perf_counter()
    with ar.open(job["url"], **job["options"]) as file:
        table = file["T"].scan(columns, entries=entries).read_all()
        wall_s = time.perf_counter() - begin
    expected = np.arange(N_ENTRIES) if entries is None else entries
    for name in columns:
        if not np.array_equal(table[name].to_numpy(), int(name[1:]) * 1e6 + expected):
            sys.exit(f"wrong values of {name}")
    print(json.dumps(wall_s))


def ask(job: dict[str, Any], environment: dict[str, str]) -> float:
    """Let a fresh process read: what is remembered of a server is of one process."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.small_servers", "--job", json.dumps(job)], cwd=REPOSITORY,
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S, env=os.environ | environment,
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"{job}: {done.stderr.strip()[-2000:]}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def is_slow(walls: dict[str, list[float]], strategy: str) -> bool:
    """Whether a strategy was so much slower than the best the first time that it is not measured again."""
    return bool(walls[strategy]) and walls[strategy][0] > 3 * min(
        times[0] for times in walls.values() if times
    )


def measure(options: argparse.Namespace) -> str:
    """Measure the matrix; return it as a table."""
    header = ["server", "workload", *STRATEGIES, "auto / best"]
    cells = []
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        path = Path(directory) / "f.root"
        text = WRITE.format(path=path, cluster=CLUSTER_ENTRIES, n=N_COLUMNS, entries=N_ENTRIES)
        subprocess.run([sys.executable, "-W", "ignore", "-c", text], check=True)
        for name, start in SERVERS.items():
            if not any(chosen in name for chosen in options.servers):
                continue
            server = stack.enter_context(start(path.parent))
            relay = stack.enter_context(Relay(server.port))
            relay.link(options.latency)
            environment = {}
            if isinstance(server, S3):
                server.link(path.name, path)
                endpoint = server.endpoint(relay.port)
                environment = {
                    **server.environment, "AWS_ENDPOINT_URL": endpoint, "ARROWROOT_S3_ENDPOINT": endpoint
                }  # fmt: skip
            url = server.url(path.name, relay.port)
            for workload, asked in WORKLOADS.items():
                walls: dict[str, list[float]] = {strategy: [] for strategy in STRATEGIES}
                for _ in range(options.repeat):
                    for strategy, settings in STRATEGIES.items():
                        if strategy not in options.strategies or is_slow(walls, strategy):
                            continue
                        job = {"url": url, "workload": asked, "options": settings}
                        walls[strategy].append(ask(job, environment))
                medians = {strategy: statistics.median(times) for strategy, times in walls.items() if times}
                best = min(time for strategy, time in medians.items() if strategy != "auto")
                ratio = medians["auto"] / best
                told = (f"{medians[strategy]:.3f}" if strategy in medians else "-" for strategy in STRATEGIES)
                cells.append([name, workload, *told, f"{ratio:.2f}"])
                print(name, workload, {key: round(time, 3) for key, time in medians.items()},
                      f"{ratio:.2f}", "" if ratio <= TARGET else "MISSED", flush=True)  # fmt: skip
    return markdown(header, cells)


def main() -> None:
    """Measure, or read as a measured process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--repeat", type=int, default=5, help="repetitions, in turns (default 5)")
    parser.add_argument("--latency", type=float, default=20, help="round trip in ms (default 20)")
    parser.add_argument(
        "--servers", type=lambda text: text.split(";"), default=[""], help="parts of names, with ;"
    )
    parser.add_argument(
        "--strategies", type=lambda text: ["auto", *text.split(",")], default=list(STRATEGIES),
        help="beside auto (default: all)",
    )  # fmt: skip
    parser.add_argument("--update-docs", action="store_true", help="write the table into docs/measured.md")
    options = parser.parse_args()
    if options.job:
        read(json.loads(options.job))
        return
    table = measure(options)
    print(table)
    if options.update_docs:
        update_page(MEASURED, table, "bench-servers")


if __name__ == "__main__":
    main()
