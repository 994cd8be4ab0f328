"""arrowroot's writer crate into memory that was touched before: asks ``examples/write_columns`` (its argument)."""

from __future__ import annotations

import json
import subprocess
import sys


def main() -> None:
    """Answer one job."""
    job = json.load(sys.stdin)
    columns = [f"{c['name']} {c['type']} {c.get('counter', '-')}\n" for c in job["columns"]]
    # The first time meets cold caches.
    arguments = [
        job["data"],
        job["format"],
        job["compression"],
        job["threads"],
        job["repetitions"] + 1,
        job["out"],
    ]
    done = subprocess.run(
        [sys.argv[1], *map(str, arguments)],
        input="".join(columns),
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout.strip() if done.returncode == 0 else json.dumps({"error": done.stderr.strip()[-300:]}))


if __name__ == "__main__":
    main()
