"""Measures what analyses cost (docs/analyses.md), beside RDataFrame: CPU time of all threads.

    python -m tests.analyses.cost [--analyses top_quarks] [--entries 50000] [--repeats 3]

ROOT writes files of so many entries. Each process does an analysis twice, all of its channels: "from start" is its CPU
time, imports and compiling included, until the first time is over, "warm" that of the second time. Medians, warm page
cache.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.paths import IN_MEMORY, REPOSITORY

ENGINES = ("arrowroot", "rdataframe")
#: Each with the module that has ROOT do the same.
ANALYSES = {
    "higgs_to_four_leptons": "higgs_with_root",
    "top_quarks": "top_quarks_with_root",
    "isolated_jets": "isolated_jets_with_root",
    "higgs_recoil": "higgs_recoil_with_root",
}


def module(name: str) -> Any:
    """Return a module beside this one: no process imports what it does not measure."""
    return importlib.import_module(f"tests.analyses.{name}")


def by_arrowroot(analysis: str) -> list[float]:
    """Do the analysis; return how many entries pass the last cut, or what is in the nominal histograms."""
    ours, root = module(analysis), module(ANALYSES[analysis])
    if analysis == "higgs_to_four_leptons":
        made = {channel: ours.CHANNELS[channel](root.files_of(channel, Path())) for channel in root.CHANNELS}
        return [one.cuts[-1].num_entries for one in made.values()]
    found = ours.analyse(root.files_of(Path()))
    if analysis == "top_quarks":
        return [
            one["nominal", :].sum(flow=True).value
            for of_region in found.values()
            for one in of_region.values()
        ]
    return [found["cuts"][-1]]


def by_rdataframe(analysis: str) -> list[float]:
    """Do the analysis; return what :func:`by_arrowroot` does."""
    found = module(ANALYSES[analysis]).analysed()
    if analysis == "higgs_to_four_leptons":
        return [one["cuts"][-1] for one in found.values()]
    if analysis == "top_quarks":
        return [sum(one["nominal"][0]) for of_region in found.values() for one in of_region.values()]
    return [found["cuts"][-1]]


def child(engine: str, analysis: str) -> None:
    """Do the analysis twice, and print what was found each time, and the CPU times in nanoseconds."""
    do = {"arrowroot": by_arrowroot, "rdataframe": by_rdataframe}[engine]
    if engine == "rdataframe":
        module(ANALYSES[analysis]).declare()
    found = do(analysis)
    from_start_ns = time.process_time_ns()
    again = do(analysis)
    print(json.dumps([[found, again], from_start_ns, time.process_time_ns() - from_start_ns]))


def main() -> None:
    """Measure both, one after the other in turns."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--analyses", nargs="+", choices=ANALYSES, default=[*ANALYSES])
    parser.add_argument("--entries", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    for analysis in given.analyses:
        print(analysis)
        for engine, runs in measured(analysis, given.entries, given.repeats).items():
            from_start, warm = (statistics.median(run[k] for run in runs) / 1e9 for k in (1, 2))
            print(f"  {engine:<10}  from start {from_start:6.2f} s  warm {warm:6.2f} s", flush=True)


def measured(analysis: str, n_entries: int, repeats: int) -> dict[str, list[Any]]:
    """Return what the processes of both print. Raises: SystemExit if they do not find the same."""
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

        run(f"cost.module({ANALYSES[analysis]!r}).write({n_entries})")
        samples: dict[str, list[Any]] = {engine: [] for engine in ENGINES}
        for _ in range(repeats):
            for engine in ENGINES:
                samples[engine].append(
                    json.loads(run(f"cost.child({engine!r}, {analysis!r})").splitlines()[-1])
                )
    found = [n for runs in samples.values() for both, _, _ in runs for n in both]
    if any(not math.isclose(a, b, rel_tol=1e-9) for one in found for a, b in zip(one, found[0], strict=True)):
        raise SystemExit(f"they find different entries: {samples}")
    return samples


if __name__ == "__main__":
    main()
