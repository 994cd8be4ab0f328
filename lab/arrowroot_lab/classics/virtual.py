"""Reads traces again in virtual time: ``arrowroot replay`` as a program."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from arrowroot_lab.errors import RunnerError

if TYPE_CHECKING:
    from pathlib import Path

#: What of an outcome is kept.
KEPT = (
    "wall_ns", "wait_ns", "think_ns", "n_requests", "n_ranges", "read_bytes", "payload_bytes", "overhead_bytes",
    "peak_buffer_bytes", "n_seeks", "device_bytes",
)  # fmt: skip
Row = dict[str, Any]


@dataclass(frozen=True)
class Line:
    """The way to the bytes. Of a disk ``latency_ns`` is a seek."""

    latency_ns: int
    bytes_per_s: float
    #: How far the kernel before a disk reads ahead; None: a network.
    disk_read_ahead_bytes: int | None = None
    #: The page cache has the whole file.
    is_warm: bool = False

    def shared_by(self, n_jobs: int) -> Line:
        """Return the part of one of several jobs that all read at the same time."""
        return replace(self, bytes_per_s=self.bytes_per_s / n_jobs)

    def arguments(self) -> list[str]:
        """Return it as options of ``arrowroot replay``."""
        told = ["--latency", f"{self.latency_ns}ns", "--bandwidth", f"{self.bytes_per_s:.0f}B/s"]
        if self.disk_read_ahead_bytes is not None:
            told += ["--store", "disk", "--kernel-read-ahead", str(self.disk_read_ahead_bytes)]
        return [*told, "--warm"] if self.is_warm else told


def replay(
    trace: Path,
    line: Line,
    strategy: str,
    cache_bytes: int | None = None,
    *,
    works: bool = False,
    learns: bool = True,
    **options: str,
) -> Row:
    """Return what a job's reads cost under a strategy.

    works: the job's CPU time counts, too. learns: a tree cache is not told the branches, and learns them.

    Raises: RunnerError with what the program said.
    """
    command = ["--strategy", strategy]
    options |= {"learn_entries": "0"} if strategy == "treecache" and not learns else {}
    command += [] if cache_bytes is None else ["--cache-size", str(cache_bytes)]
    for name, value in options.items():
        command += ["-O", f"{name}={value}"]
    [outcome] = _outcomes(trace, line, works, command)
    return {"strategy": strategy, "cache_bytes": cache_bytes, **_kept(outcome)}


def sweep(
    trace: Path, line: Line, strategy: str, sizes: tuple[int, ...], *, works: bool = False
) -> list[Row]:
    """Return a row for each size of a strategy's cache; powers of two are one call of the program."""
    powers = [size for size in sizes if size & (size - 1) == 0]
    rows: dict[int, Row] = {}
    if powers:
        command = ["--sweep", f"{strategy}={min(powers)}..{max(powers)}"]
        for outcome in _outcomes(trace, line, works, command):
            size = int(outcome["options"]["cache_size"])
            rows[size] = {"strategy": strategy, "cache_bytes": size, **_kept(outcome)}
    for size in sizes:
        if size not in rows:
            rows[size] = replay(trace, line, strategy, size, works=works)
    return [rows[size] for size in sizes]


def _outcomes(trace: Path, line: Line, works: bool, command: list[str]) -> list[dict[str, Any]]:
    asked = ["replay", str(trace), "--json", *line.arguments(), *([] if works else ["--no-think"]), *command]
    outcomes: list[dict[str, Any]] = arrowroot(asked)["outcomes"]
    return outcomes


def _kept(outcome: dict[str, Any]) -> Row:
    return {name: int(outcome[name]) for name in KEPT}


def version() -> str:
    """Return the version of arrowroot that is asked."""
    done = subprocess.run(
        [sys.executable, "-m", "arrowroot", "--version"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip().removeprefix("arrowroot ") or "unknown"


def arrowroot(arguments: list[str]) -> dict[str, Any]:
    """Run the program, and return the document that it prints. Raises: RunnerError with what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "arrowroot", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RunnerError(
            f"arrowroot {' '.join(arguments)}: exit code {done.returncode}: {done.stderr.strip()}"
        )
    told: dict[str, Any] = json.loads(done.stdout)
    return told
