"""The command ``make bench-parallel``: what streams lose by waiting for their output, beside CMS's figures and ROOT."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import programs
from bench.machine import machine, packages, today
from bench.pages import names, update_page
from bench.parallel_output import loads, policies, scale
from bench.paths import CACHE, REPOSITORY, RESULTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.parallel_output.tables import Found

RESULT = RESULTS / "parallel_output"
DOCS = REPOSITORY / "docs"
#: Each gets the options, a directory for what is written, and one for what is kept.
PARTS: dict[str, Callable[[argparse.Namespace, Path, Path], Found]] = {
    "policy": policies.policy_alone,
    "threads": policies.on_threads,
    "buffers": policies.buffers,
    "real": loads.real,
    "help": loads.helping,
    "queue": loads.queue,
    "autosave": loads.autosave,
    "peers": loads.peers,
    "scale": scale.scale,
}
WITH_ROOT = {"queue", "autosave", "peers"}
PICTURES = {
    "buffers": "parallel-buffers.png",
    "queue": "parallel-queue.png",
    "scale": "parallel-scale.png",
}


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--parts", type=names, default=list(PARTS), help=f"of {','.join(PARTS)} (default: all)"
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the events and bytes: does it work?")
    parser.add_argument(
        "--update-docs", action="store_true", help="put tables and pictures into docs/parallel.md"
    )
    parser.add_argument("--seeds", type=int, default=20, help="of the policy alone (default 20)")
    parser.add_argument("--scale", type=float, default=0.05, help="of sleeps on threads (default 1/20)")
    parser.add_argument("--events", type=int, default=10_000, help="of sleeps on threads (default 10,000)")
    parser.add_argument("--work-ms", type=float, default=20.0, help="work of a real event (default 20 ms)")
    parser.add_argument("--real-events", type=int, default=400, help="of a real run (default 400)")
    parser.add_argument("--real-seeds", type=int, default=5, help="of real runs of policies (default 5)")
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part {unknown[0]!r}: there are {', '.join(PARTS)}")
    if options.quick:
        options.seeds, options.events, options.real_events, options.real_seeds = 2, 1_000, 100, 1
    return options


def main() -> int:
    """Run the parts, print their tables, and keep tables and pictures; return 1 if something is not as promised."""
    options = parse()
    RESULT.mkdir(parents=True, exist_ok=True)
    programs.build_examples("arrowroot-writer", "parallel_output")
    programs.build_examples("arrowroot", "write_limit")
    if WITH_ROOT & set(options.parts):
        programs.prepare()
    where = f"{today()}, {machine()}; {packages()}"
    print(f"{where}\n")
    CACHE.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="bench-parallel-", dir=CACHE))
    complaints: list[str] = []
    try:
        for part in options.parts:
            found = PARTS[part](options, directory, RESULT)
            text = "\n\n".join(found.tables)
            print(f"\n{text}", flush=True)
            keep(part, where, found.told)
            if options.update_docs:
                update_page(DOCS / "parallel.md", f"{text}\n\n*{where}.*", f"bench-parallel-{part}")
                if part in PICTURES:
                    shutil.copyfile(RESULT / PICTURES[part], DOCS / PICTURES[part])
            complaints += [f"{part}: {complaint}" for complaint in found.complaints]
    finally:
        shutil.rmtree(directory)
    print(f"\nresults and pictures: {RESULT}")
    print("\n".join(complaints), file=sys.stderr)
    return 1 if complaints else 0


def keep(part: str, where: str, told: dict[str, Any]) -> None:
    """Keep what a part has told beside that of the others."""
    path = RESULT / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results[part] = {"where": where, "told": told}
    path.write_text(json.dumps(results))


if __name__ == "__main__":
    sys.exit(main())
