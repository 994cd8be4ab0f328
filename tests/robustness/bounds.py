"""Judges small files by what they cost: `python -m tests.robustness.bounds --seeds 100`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.robustness import drawn, hostile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

WORKER = Path(__file__).with_name("bounds_worker.py")
STEPS = ["list", "columns", "schema", "object", "all objects", "batch"]
MAX_BYTES, BYTES_PER_BYTE = 64_000_000, 20
MAX_CPU_S, BYTES_PER_CPU_S = 2.0, 10_000_000


@dataclass
class Cost:
    """The cost of one step with one file."""

    name: str
    step: str
    file_bytes: int
    outcome: str
    detail: str
    cpu_s: float
    peak_bytes: int
    value_bytes: int

    def fault(self) -> str | None:
        """Return what is beyond the bound, if anything is."""
        n_bytes = self.file_bytes + self.value_bytes
        if self.outcome not in ("values", "error"):
            return self.outcome
        if self.peak_bytes > MAX_BYTES + BYTES_PER_BYTE * n_bytes:
            return f"{self.peak_bytes / 1e6:.0f} MB"
        if self.cpu_s > MAX_CPU_S + n_bytes / BYTES_PER_CPU_S:
            return f"{self.cpu_s:.1f} s"
        return None

    def line(self) -> str:
        took = (
            f"{self.peak_bytes / 1e6:7.0f} MB {self.cpu_s:6.2f} s {self.value_bytes / 1e6:7.1f} MB of values"
        )
        return f"{took} {self.file_bytes:9d} B  {self.name} | {self.step}: {self.outcome} {self.detail[:160]}"


def cost_of(name: str, path: Path, step: str) -> Cost:
    """Read a file in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(WORKER), str(path), step],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    size = path.stat().st_size
    if done.returncode != 0:
        tail = done.stderr.strip().splitlines()[-1:] or [""]
        return Cost(name, step, size, f"exit {done.returncode}", tail[0], 0.0, 0, 0)
    answer = json.loads(done.stdout)
    grown = answer["peak"] - answer["before"]
    return Cost(
        name, step, size, answer["outcome"], answer["detail"], answer["cpu_s"], grown, answer["values"]
    )


def costs(files: Iterable[tuple[str, bytes]], steps: list[str] = STEPS) -> Iterator[Cost]:
    """Return the cost of all steps of each file together, and of each one where that is beyond the bound."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "hostile.root"
        for name, content in files:
            path.write_bytes(content)
            together = cost_of(name, path, ",".join(steps))
            if len(steps) == 1 or together.fault() is None:
                yield together
                continue
            for step in steps:
                yield cost_of(name, path, step)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=0, help="how many shapes to draw")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--only", default="", help="files whose names contain this")
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--verbose", action="store_true", help="print every cost")
    options = parser.parse_args()
    files = (
        hostile.cases()
        if not options.seeds
        else (
            one for seed in range(options.first, options.first + options.seeds) for one in drawn.drawn(seed)
        )
    )
    chosen = (one for one in files if options.only in one[0])
    n_faults = n_costs = 0
    for cost in costs(chosen, options.steps.split(",")):
        fault = cost.fault()
        n_costs += 1
        n_faults += fault is not None
        if fault or options.verbose:
            print(("FAULT " if fault else "      ") + cost.line(), flush=True)
    print(f"{n_costs} costs, {n_faults} beyond the bound")
    return int(n_faults > 0)


if __name__ == "__main__":
    sys.exit(main())
