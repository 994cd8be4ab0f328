"""The limit of an RNTuple's own pages as an engine: asks ``examples/page_limit`` of the engine crate (its argument)."""

from __future__ import annotations

import json
import sys

from bench.engines.example import ask

#: Passes over the pages in one process, of which the median counts: the first one meets cold caches.
REPETITIONS = 5


def main() -> None:
    """Answer one job."""
    job = json.load(sys.stdin)
    if job["format"] != "rntuple" or job["entries"] or job["threads"] > 1:
        print(json.dumps({"unsupported": "only whole columns of RNTuples, on one thread"}))
        return
    names = [column["name"] for column in job["columns"]]
    ask([job["file"], job["tree"], REPETITIONS, *names])


if __name__ == "__main__":
    main()
