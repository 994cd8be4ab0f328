"""arrowroot's writer crate into memory that was touched before: asks ``examples/write_columns`` (its argument)."""

from __future__ import annotations

import json
import sys

from bench.engines.example import ask


def main() -> None:
    """Answer one job."""
    job = json.load(sys.stdin)
    columns = [f"{c['name']} {c['type']} {c.get('counter', '-')}\n" for c in job["columns"]]
    # The first time meets cold caches.
    arguments = [
        job["data"],
        job["format"],
        job.get("objects") or "-",
        job["compression"],
        job["threads"],
        job["repetitions"] + 1,
        job["out"],
    ]
    ask(arguments, "".join(columns))


if __name__ == "__main__":
    main()
