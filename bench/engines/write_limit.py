"""The limit of writing as an engine: asks ``examples/write_limit`` of the engine crate (its argument).

The payloads are those of the baskets or pages of the file that arrowroot made in the same turn.
"""

from __future__ import annotations

import json
import sys

from bench.engines.example import ask


def main() -> None:
    """Answer one job."""
    job = json.load(sys.stdin)
    if not job.get("file"):
        print(json.dumps({"unsupported": "there is no file of arrowroot's"}))
        return
    # The first time meets cold caches.
    arguments = [job["file"], "T", job["compression"], job["threads"], job["repetitions"] + 1]
    ask(arguments)


if __name__ == "__main__":
    main()
