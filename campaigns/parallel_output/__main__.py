"""One part of the experiment: ``python -m campaigns.parallel_output PART`` tells as JSON what the runs were.

The laboratory keeps what is printed (``campaigns/parallel.toml``), and CMS 2017 is done again by it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arrowroot_lab.machine.fingerprint import fingerprint
from bench import programs
from bench.paths import CACHE
from campaigns.parallel_output import loads, policies, scale
from campaigns.parallel_output.cases import PUBLISHED
from campaigns.programs import build

if TYPE_CHECKING:
    from collections.abc import Callable

#: Each gets the options, and a directory for what is written.
PARTS: dict[str, Callable[[argparse.Namespace, Path], dict[str, Any]]] = {
    "policy": policies.policy_alone,
    "threads": policies.on_threads,
    "streams": policies.streams,
    "buffers": policies.buffers,
    "real": loads.real,
    "help": loads.helping,
    "queue": loads.queue,
    "autosave": loads.autosave,
    "peers": loads.peers,
    "scale": scale.scale,
}
WITH_ROOT = ("queue", "autosave", "peers")


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--quick", action="store_true", help="a tenth of the events and bytes: does it work?")
    parser.add_argument("--seeds", type=int, default=20, help="of the policy alone (default 20)")
    parser.add_argument(
        "--virtual-events", type=int, default=policies.N_EVENTS, help="of the policy alone (default 40,000)"
    )
    parser.add_argument("--scale", type=float, default=0.05, help="of sleeps on threads (default 1/20)")
    parser.add_argument("--events", type=int, default=10_000, help="of sleeps on threads (default 10,000)")
    parser.add_argument("--graphs", action="store_true", help="on threads, with the stall graphs")
    parser.add_argument("--work-ms", type=float, default=20.0, help="work of a real event (default 20 ms)")
    parser.add_argument("--real-events", type=int, default=400, help="of a real run (default 400)")
    parser.add_argument("--real-seeds", type=int, default=5, help="of real runs of policies (default 5)")
    parser.add_argument("--out", type=Path, help="where the JSON is written (default: it is printed)")
    options = parser.parse_args()
    if options.quick:
        options.seeds, options.events, options.real_events, options.real_seeds = 2, 1_000, 100, 1
    return options


def main() -> None:
    """Run the part."""
    options = parse()
    programs.build_examples("arrowroot-writer", "parallel_output")
    programs.build_examples("arrowroot", "write_limit")
    if options.part in WITH_ROOT:
        build.prepare()
    machine = fingerprint()
    where = f"{machine['cpu']}, {machine['n_cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GiB"
    settings = {key: value for key, value in vars(options).items() if key not in ("part", "out")}
    settings |= {"n_streams": policies.N_STREAMS, "n_buffers": policies.N_BUFFERS}
    told = {"machine": where, "settings": settings, "published": PUBLISHED}
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="parallel-", dir=CACHE) as directory:
        text = json.dumps(told | {"found": PARTS[options.part](options, Path(directory))})
    if options.out:
        options.out.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
