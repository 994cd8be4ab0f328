"""arrowroot as a writer: one JSON object in, one out (../README.md, "The process line")."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

import arrowroot as ar
from bench.stopwatch import Stopwatch
from bench.write import data


def main() -> None:
    """Answer one job."""
    job = json.load(sys.stdin)
    table = data.as_table(job)
    options = {"layout": job["format"], "n_threads": job["threads"]}
    ar.write(f"{job['out']}.warm.root:T", table.slice(0, 1).select([0]), layout=job["format"])
    Path(f"{job['out']}.warm.root").unlink()
    watch = Stopwatch()
    ar.write(f"{job['out']}:T", table, compression=job["compression"] or None, **options)
    answer = watch.read()
    answer |= {
        "n_entries": table.num_rows,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
