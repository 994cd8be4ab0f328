"""Run the suite, print its report and write the baseline: ``python -m tests.conformance.update``.

With ``--report-only`` the baseline stays as it is; with ``--file TEXT`` only files whose path contains TEXT
are read.
"""

from __future__ import annotations

import argparse
import json
import sys

from . import suite


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--allow-fewer", action="store_true", help="accept that columns stop passing")
    parser.add_argument("--file", default="", help="only files whose path contains this; writes nothing")
    options = parser.parse_args()
    directory = suite.suite_directory()
    if directory is None:
        print("the conformance files are missing: set ARROWROOT_CONFORMANCE", file=sys.stderr)
        return 2
    results = suite.run(directory, options.file)
    print(suite.report(results))
    if options.file:
        for result in results:
            for column in result.failed():
                branch = result.branch(column)
                print(f"{result.path(column)} ({branch['type']}): {result.verdicts[column][1]}")
        return 0
    if suite.BASELINE.exists():
        change = suite.compare(results, json.loads(suite.BASELINE.read_text(encoding="utf-8")))
        print(f"{len(change.started)} columns started to pass, {len(change.stopped)} stopped")
        print("\n".join(change.stopped[:50]))
        if change.stopped and not (options.allow_fewer or options.report_only):
            print("not written: --allow-fewer if this is meant", file=sys.stderr)
            return 1
    if not options.report_only:
        suite.write_baseline(results)
        print(f"written: {suite.BASELINE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
