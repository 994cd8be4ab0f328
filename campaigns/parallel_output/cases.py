"""The runs of the experiment, one at a time: our writer in Rust, and ROOT's."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.paths import BIN, RELEASE

if TYPE_CHECKING:
    from pathlib import Path

N_CORES = len(os.sched_getaffinity(0))
EXAMPLE = RELEASE / "examples" / "parallel_output"
LIMIT = RELEASE / "examples" / "write_limit"
POLICIES = ("single", "fifo", "fullest")
#: The published figures: CMS, 2017; 12 streams, 40,000 events, four buffers but for single.
PUBLISHED = {
    "single": {
        "events_per_s": 7.96,
        "efficiency": 0.907,
        "n_stalls": 1030,
        "stalls_s": 4818.68,
        "longest_s": 11.369,
    },
    "fifo": {
        "events_per_s": 8.62,
        "efficiency": 0.960,
        "n_stalls": 62,
        "stalls_s": 158.863,
        "longest_s": 10.649,
    },
    "fullest": {
        "events_per_s": 8.76,
        "efficiency": 0.969,
        "n_stalls": 39,
        "stalls_s": 5.513,
        "longest_s": 0.299,
    },
}


class Outcome(NamedTuple):
    """The outcome of a run. Times in s; ``scale``: so many times as long as the times that it stands for."""

    events_per_s: float
    #: Throughput over what the streams could do if nothing but their work took time.
    efficiency: float
    #: One less the share of the streams' time that they were stalled.
    not_stalled: float
    n_stalls: int
    stalls_s: float
    longest_s: float
    #: Share of the streams' time that went into helping.
    helping: float
    n_fills: list[int]
    told: dict[str, Any]


def outcomes(kept: list[dict[str, Any]]) -> list[Outcome]:
    """Return outcomes that were kept as JSON."""
    return [Outcome(**one) for one in kept]


def outcome_of(
    told: dict[str, Any], n_streams: int, scale: float = 1.0, n_cores: int | None = None
) -> Outcome:
    """Return the outcome of what a program has told: events a second count up to the end of the file.

    n_cores: that the streams share, where their work takes processors; else each has its own.
    """
    wall_s = told["wall_ns"] / 1e9 / scale
    work_s = told["work_ns"] / 1e9 / scale
    workers = n_streams if n_cores is None else min(n_streams, n_cores)
    events_per_s = told["n_events"] / wall_s
    all_s = n_streams * told.get("filled_ns", told["wall_ns"]) / 1e9 / scale
    return Outcome(
        events_per_s,
        events_per_s / (workers / work_s) if work_s else 0.0,
        1 - told["stalled_ns"] / 1e9 / scale / all_s,
        told["n_stalls"],
        told["stalls_ns"] / 1e9 / scale,
        told["longest_ns"] / 1e9 / scale,
        told.get("helping_ns", 0) / 1e9 / scale / all_s,
        told.get("n_fills", []),
        told,
    )


def virtual(policy: str, *, n_streams: int, n_buffers: int, n_events: int, seed: int) -> Outcome:
    """Run the policy alone in virtual time."""
    return outcome_of(_ask("virtual", policy, n_streams, n_buffers, n_events, seed), n_streams)


class Sleeping(NamedTuple):
    """A run on real threads whose work and compression are sleeps."""

    policy: str
    n_streams: int
    n_buffers: int
    n_events: int
    seed: int
    scale: float
    stalls: Path | None = None

    def start(self) -> subprocess.Popen[str]:
        """Begin it; several may be under way, as sleeping takes no processor."""
        words = [
            self.policy,
            self.n_streams,
            self.n_buffers,
            self.n_events,
            self.seed,
            self.scale,
            self.stalls or "-",
        ]
        return subprocess.Popen([EXAMPLE, "sleep", *map(str, words)], stdout=subprocess.PIPE, text=True)

    def end(self, process: subprocess.Popen[str]) -> Outcome:
        """Return its outcome, with the times that it stands for."""
        out, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"{self} ended with {process.returncode}")
        return outcome_of(json.loads(out), self.n_streams, self.scale)


class Real(NamedTuple):
    """A run with real events, work and compression; flush: entries of a cluster."""

    engine: str
    policy: str
    n_streams: int
    n_buffers: int
    n_events: int
    seed: int
    shape: str
    codec: int
    flush: int
    n_threads: int
    helps: bool
    work_ms: float
    out: Path
    layout: str = "ttree"
    buffer_mb: int = 256
    #: Clusters that TBufferMerger merges at a time.
    autosave: int = 1
    stalls: Path | None = None

    def run(self, n_cores: int) -> Outcome:
        """Return its outcome."""
        if self.engine == "arrowroot":
            words = [
                self.policy, self.n_streams, self.n_buffers, self.n_events, self.seed, self.shape, self.layout,
                self.codec, self.flush, self.n_threads, "help" if self.helps else "sleep", self.work_ms,
                self.buffer_mb, self.stalls or "-", self.out,
            ]  # fmt: skip
            return outcome_of(_ask("real", *words), self.n_streams, n_cores=n_cores)
        job = {
            "engine": self.engine, "n_streams": self.n_streams, "n_events": self.n_events, "seed": self.seed,
            "shape": self.shape, "codec": self.codec, "flush": self.flush, "autosave": self.autosave,
            "work_ns": round(self.work_ms * 1e6), "out": str(self.out),
        }  # fmt: skip
        done = subprocess.run(
            [BIN / "write_parallel"], input=json.dumps(job), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{self.engine} ended with {done.returncode}:\n{done.stderr}")
        return outcome_of(json.loads(done.stdout), self.n_streams, n_cores=n_cores)


class Scale(NamedTuple):
    """A run with values that are there before; ``sink``: "nowhere", "memory" that is touched before, or a file."""

    n_producers: int
    n_columns: int
    n_mb: int
    codec: int
    sink: str | Path = "nowhere"
    buffer_mb: int = 256
    n_threads: int = N_CORES

    def run(self) -> dict[str, Any]:
        """Return what the program tells."""
        words = (
            self.n_producers,
            self.n_columns,
            self.n_mb,
            self.codec,
            self.n_threads,
            self.buffer_mb,
            self.sink,
        )
        return _ask("scale", *words)

    def limit(self, repetitions: int) -> float:
        """Write to the file; return the bytes of values a second at which its baskets are compressed alone."""
        n_bytes = self.run()["n_bytes"]
        words = map(str, (self.sink, "T", self.codec, self.n_threads, repetitions))
        done = subprocess.run([LIMIT, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"write_limit {self} ended with {done.returncode}:\n{done.stderr}")
        return float(1e9 * n_bytes / json.loads(done.stdout)["with_pass_wall_ns"])


def _ask(*words: object) -> dict[str, Any]:
    done = subprocess.run([EXAMPLE, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"parallel_output {words} ended with {done.returncode}:\n{done.stderr}")
    told: dict[str, Any] = json.loads(done.stdout)
    return told
