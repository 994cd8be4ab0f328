"""The experiment as CMS 2017 wants it: ``python -m campaigns.parallel_output.told FILE`` writes JSON."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import programs
from bench.paths import CACHE
from campaigns.parallel_output.cases import PUBLISHED
from campaigns.parallel_output.loads import peer_runs
from campaigns.parallel_output.machine import machine, packages
from campaigns.parallel_output.policies import (
    N_BUFFERS,
    N_EVENTS,
    N_STREAMS,
    buffer_runs,
    policy_runs,
    stalls_path,
    thread_runs,
)

if TYPE_CHECKING:
    from campaigns.parallel_output.cases import Outcome

SCALE = 0.05


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="where the JSON is written")
    parser.add_argument(
        "--parts",
        type=lambda text: text.split(","),
        default=list(PARTS),
        help=f"of {','.join(PARTS)} (default: all)",
    )
    parser.add_argument("--events", type=int, default=N_EVENTS, help="in virtual time (default 40,000)")
    parser.add_argument("--sleeping-events", type=int, default=10_000, help="on threads (default 10,000)")
    parser.add_argument("--seeds", type=int, default=20, help="of the policy alone (default 20)")
    parser.add_argument("--real-events", type=int, default=600, help="of ROOT's writers (default 600)")
    parser.add_argument("--work-ms", type=float, default=5.0, help="work of a real event (default 5 ms)")
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part {unknown[0]!r}: there are {', '.join(PARTS)}")
    return options


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
    runs = policy_runs(options.events, options.seeds)
    return {policy: [kept(outcome) for outcome in outcomes] for policy, outcomes in runs.items()}


def buffers(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run 1 to 8 buffers for 4, 8 and 12 streams, five seeds."""
    keys = ("n_streams", "policy", "n_buffers")
    return [
        {**dict(zip(keys, case, strict=True)), "runs": [kept(outcome) for outcome in outcomes]}
        for case, outcomes in buffer_runs(options.events, options.seeds)
    ]


def threads(options: argparse.Namespace) -> dict[str, Any]:
    """Run the library itself on threads that sleep; the stall graphs are in the time of the sleeps."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory)
        return {
            policy: {**kept(outcome), "graph": json.loads(stalls_path(out, policy).read_text())}
            for policy, outcome in thread_runs(options.sleeping_events, SCALE, out).items()
        }


def peers(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run the same load by arrowroot and by ROOT's writers, as the part ``peers`` of the campaign."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        return [
            {
                "shape": case.shape, "writer": case.engine, "layout": case.layout, "n_streams": case.n_streams,
                **kept(outcome), "peak_rss_bytes": outcome.told["peak_rss_bytes"],
                "file_bytes": case.out.stat().st_size,
            }
            for case, outcome in peer_runs(options, Path(directory))
        ]  # fmt: skip


PARTS = {"policy": policies, "threads": threads, "buffers": buffers, "peers": peers}

if __name__ == "__main__":
    sys.exit(main())
