"""Reads at servers of several kinds: ``servers.py DIRECTORY`` writes the file, ``servers.py read FILE SERVER`` reads.

Printed are wall times in s, by workload and strategy. Each is taken once, by a process of its own: what is remembered
of a server is of one process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import arrowroot as ar
from arrowroot_servers import S3, Nginx, Relay, Single

TIMEOUT_S = 120
LATENCY_MS = 20
N_COLUMNS, N_ENTRIES, CLUSTER_ENTRIES = 50, 40_000, 2_000

SERVERS: dict[str, Any] = {
    "nginx": Nginx,
    "versitygw": lambda root: S3(trace=False),  # noqa: ARG005 - it has a bucket
    "1.0": lambda root: Single(root, version="HTTP/1.0"),
    "1.1": lambda root: Single(root, several="whole"),
    "one at a time": lambda root: Single(root, version="HTTP/1.0", threads=False, several="refused"),
    "breaks": lambda root: Single(root, several="broken"),
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
    print(json.dumps(wall_s))  # noqa: T201 - to the process that asks


def ask(job: dict[str, Any], environment: dict[str, str]) -> float:
    """Let a fresh process read."""
    done = subprocess.run(
        [sys.executable, __file__, "--job", json.dumps(job)], capture_output=True, text=True, check=False,
        timeout=TIMEOUT_S, env=os.environ | environment,
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"{job}: {done.stderr.strip()[-2000:]}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def measure(path: Path, name: str) -> dict[str, dict[str, float]]:
    """Start a server behind the line, and read all workloads with all strategies."""
    with ExitStack() as stack:
        server = stack.enter_context(SERVERS[name](path.parent))
        relay = stack.enter_context(Relay(server.port))
        relay.link(LATENCY_MS)
        environment = {}
        if isinstance(server, S3):
            server.link(path.name, path)
            endpoint = server.endpoint(relay.port)
            environment = {
                **server.environment,
                "AWS_ENDPOINT_URL": endpoint,
                "ARROWROOT_S3_ENDPOINT": endpoint,
            }
        url = server.url(path.name, relay.port)
        return {
            workload: {
                strategy: ask({"url": url, "workload": asked, "options": options}, environment)
                for strategy, options in STRATEGIES.items()
            }
            for workload, asked in WORKLOADS.items()
        }


def main() -> None:
    """Write the file, measure, or read as a measured process."""
    match sys.argv[1:]:
        case ["--job", job]:
            read(json.loads(job))
        case ["read", path, name]:
            print(json.dumps({"walls_s": measure(Path(path).resolve(), name)}))  # noqa: T201 - the laboratory keeps it
        case [directory]:
            text = WRITE.format(
                path=Path(directory) / "columns.root", cluster=CLUSTER_ENTRIES, n=N_COLUMNS, entries=N_ENTRIES
            )
            subprocess.run([sys.executable, "-W", "ignore", "-c", text], check=True)


if __name__ == "__main__":
    main()
