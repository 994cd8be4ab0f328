"""The experiment for other programs, as the laboratory: ``python -m bench.parallel_output.told FILE`` writes JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import programs
from bench.machine import machine, packages
from bench.pages import names
from bench.parallel_output.cases import POLICIES, PUBLISHED, Real, Sleeping, virtual
from bench.paths import CACHE

if TYPE_CHECKING:
    from bench.parallel_output.cases import Outcome

N_CORES = len(os.sched_getaffinity(0))
#: The settings of the published experiment.
N_STREAMS, N_BUFFERS = 12, 4
SCALE = 0.05
ZSTD = 505
#: Of the events of a real run; an AOD-like event is ten times as large.
SHAPES = (("miniaod", 100, 1), ("aod", 20, 8))
WRITERS = (
    ("arrowroot", "ttree"), ("tbuffermerger", "ttree"), ("arrowroot", "rntuple"), ("rntuple-parallel", "rntuple"),
)  # fmt: skip


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="where the JSON is written")
    parser.add_argument(
        "--parts", type=names, default=list(PARTS), help=f"of {','.join(PARTS)} (default: all)"
    )
    parser.add_argument("--events", type=int, default=40_000, help="in virtual time (default 40,000)")
    parser.add_argument("--sleeping-events", type=int, default=10_000, help="on threads (default 10,000)")
    parser.add_argument("--seeds", type=int, default=20, help="of the policy alone (default 20)")
    parser.add_argument("--real-events", type=int, default=600, help="of ROOT's writers (default 600)")
    parser.add_argument("--work-ms", type=float, default=5.0, help="work of a real event (default 5 ms)")
    return parser.parse_args()


def main() -> int:
    """Run the parts, and write published figures, settings, machine and outcomes."""
    options = parse()
    where = f"{machine()}; {packages()}"
    programs.build_examples("arrowroot-writer", "parallel_output")
    if "peers" in options.parts:
        programs.prepare()
    settings = {key: value for key, value in vars(options).items() if key not in ("file", "parts")}
    settings |= {"n_streams": N_STREAMS, "n_buffers": N_BUFFERS, "sleep_scale": SCALE}
    document = {"published": PUBLISHED, "settings": settings, "machine": where}
    document |= {part: PARTS[part](options) for part in options.parts}
    options.file.write_text(json.dumps(document))
    return 0


def kept(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as it is written: times in s."""
    return {key: value for key, value in outcome._asdict().items() if key != "told"}


def policies(options: argparse.Namespace) -> dict[str, Any]:
    """Run the policy alone, several seeds."""
    return {
        policy: [
            kept(
                virtual(policy, n_streams=N_STREAMS, n_buffers=N_BUFFERS, n_events=options.events, seed=seed)
            )
            for seed in range(1, options.seeds + 1)
        ]
        for policy in POLICIES
    }


def buffers(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run 1 to 8 buffers for 4, 8 and 12 streams, five seeds."""
    return [
        {
            "n_streams": n_streams,
            "policy": policy,
            "n_buffers": n_buffers,
            "runs": [
                kept(
                    virtual(
                        policy, n_streams=n_streams, n_buffers=n_buffers, n_events=options.events, seed=seed
                    )
                )
                for seed in range(1, min(options.seeds, 5) + 1)
            ],
        }
        for n_streams in (4, 8, 12)
        for policy in ("fifo", "fullest")
        for n_buffers in range(1, 9)
    ]


def threads(options: argparse.Namespace) -> dict[str, Any]:
    """Run the library itself on threads that sleep; the stall graphs are in the time of the sleeps."""
    with tempfile.TemporaryDirectory() as directory:
        runs = {
            policy: Sleeping(
                policy, N_STREAMS, N_BUFFERS, options.sleeping_events, 1, SCALE, Path(directory) / policy
            )
            for policy in POLICIES
        }
        started = {policy: run.start() for policy, run in runs.items()}
        ended = {policy: runs[policy].end(process) for policy, process in started.items()}
        return {
            policy: {**kept(outcome), "graph": json.loads((Path(directory) / policy).read_text())}
            for policy, outcome in ended.items()
        }


def peers(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run the same load by arrowroot and by ROOT's writers, as the part ``peers`` of ``make bench-parallel``."""
    told = []
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        for shape, flush, divisor in SHAPES:
            for engine, layout in WRITERS:
                for n_streams in (N_CORES, 2 * N_CORES, 8):
                    case = Real(
                        engine, "fullest", n_streams, N_BUFFERS, options.real_events // divisor, 1, shape, ZSTD, flush,
                        N_CORES, True, options.work_ms, Path(directory) / "out.root", layout,
                    )  # fmt: skip
                    outcome = case.run(N_CORES)
                    told.append(
                        {
                            "shape": shape, "writer": engine, "layout": layout, "n_streams": n_streams, **kept(outcome),
                            "peak_rss_bytes": outcome.told["peak_rss_bytes"], "file_bytes": case.out.stat().st_size,
                        }
                    )  # fmt: skip
    return told


PARTS = {"policy": policies, "threads": threads, "buffers": buffers, "peers": peers}

if __name__ == "__main__":
    sys.exit(main())
