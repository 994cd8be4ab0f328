"""Checks columns in a process of its own, under a memory limit. Started by suite.py, never by hand.

Gets one JSON object a line: ``{"truth": path, "columns": [[tree index, branch index], ...]}``.
Answers each column with a line ``[tree index, branch index, verdict, detail]``, and a job with ``null``.
A line ``[tree index, branch index]`` says which column is next, so that a crash has a name.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path

MEMORY_BYTES = 6 << 30


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    suite = Path(sys.argv[1])
    sys.path[:0] = [str(Path(__file__).resolve().parent), str(suite)]
    sys.dont_write_bytecode = True
    # A library that prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    import check_template
    import reader

    for line in sys.stdin:
        job = json.loads(line)
        truth = json.loads(Path(job["truth"]).read_text(encoding="utf-8"))
        path = str(suite / "data" / truth["file"])
        for t, b in job["columns"]:
            tree = truth["trees"][t]
            print(json.dumps([t, b]), file=answers, flush=True)
            verdict, detail = check_template.check_column(reader.read_column, path, tree, tree["branches"][b])
            print(json.dumps([t, b, verdict, detail]), file=answers)
        print("null", file=answers, flush=True)


if __name__ == "__main__":
    main()
