"""Measures what the analysis of four leptons costs (docs/analyses.md), beside RDataFrame: CPU time of all threads.

    python -m tests.analyses.cost [--entries 50000] [--repeats 3]

ROOT writes eight files of so many entries. Each process does all three channels twice: "from start" is its CPU time,
imports and compiling included, until the first time is over, "warm" that of the second time. Medians, warm page cache.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.paths import IN_MEMORY, REPOSITORY

from . import higgs_with_root

ENGINES = ("arrowroot", "rdataframe")


def by_arrowroot() -> int:
    """Do the analysis; return how many entries pass all cuts."""
    # RDataFrame's process does without what this imports.
    from . import higgs_to_four_leptons

    return sum(
        higgs_to_four_leptons.CHANNELS[channel](higgs_with_root.files_of(channel, Path()))
        .cuts[-1]
        .num_entries
        for channel in higgs_with_root.CHANNELS
    )


def by_rdataframe() -> int:
    """Do the analysis; return how many entries pass all cuts."""
    return sum(found["cuts"][-1] for found in higgs_with_root.analysed().values())


def child(engine: str) -> None:
    """Do the analysis twice, and print what was found each time, and the CPU times in nanoseconds."""
    do = {"arrowroot": by_arrowroot, "rdataframe": by_rdataframe}[engine]
    if engine == "rdataframe":
        higgs_with_root.declare()
    found = do()
    from_start_ns = time.process_time_ns()
    again = do()
    print(json.dumps([[found, again], from_start_ns, time.process_time_ns() - from_start_ns]))


def main() -> None:
    """Measure both, one after the other in turns."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:

        def run(text: str) -> str:
            command = [sys.executable, "-W", "ignore", "-c", f"from tests.analyses import cost; {text}"]
            environment = {
                "PATH": "/usr/bin:/bin",
                "PYTHONPATH": str(REPOSITORY),
                "OPENBLAS_NUM_THREADS": "1",
            }
            return subprocess.run(
                command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
            ).stdout

        run(f"cost.higgs_with_root.write({given.entries})")
        samples: dict[str, list[Any]] = {engine: [] for engine in ENGINES}
        for _ in range(given.repeats):
            for engine in ENGINES:
                samples[engine].append(json.loads(run(f"cost.child({engine!r})").splitlines()[-1]))
    if len({n for runs in samples.values() for found, _, _ in runs for n in found}) != 1:
        raise SystemExit(f"they find different entries: {samples}")
    for engine, runs in samples.items():
        from_start, warm = (statistics.median(run[k] for run in runs) / 1e9 for k in (1, 2))
        print(f"{engine:<10}  from start {from_start:6.2f} s  warm {warm:6.2f} s")


if __name__ == "__main__":
    main()
