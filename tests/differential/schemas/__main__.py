"""The command: writes schemas with ROOT, reads them, and says what is not equal."""

from __future__ import annotations

import argparse
import collections
import re
import sys
import tempfile
import time
from pathlib import Path

from tests.judge import root

from .run import KINDS, Result, run_seeds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--n", type=int, default=2000, help="how many schemas")
    parser.add_argument("--seed", type=int, default=1, help="the first one; the others follow")
    parser.add_argument(
        "--kind", choices=list(KINDS), default="tree", help="what is written (default: trees)"
    )
    parser.add_argument("--keep", type=Path, help="directory that keeps the files")
    parser.add_argument("--quiet", action="store_true", help="no line for each finding")
    options = parser.parse_args()
    if root.python_with_root() is None:
        print("no ROOT found: pip install root, or set ARROWROOT_ROOT_PYTHON", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        directory = options.keep or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        start = time.monotonic()
        result, was_interrupted = Result(), False
        try:
            run_seeds(
                options.n,
                options.seed,
                directory,
                kind=options.kind,
                keep=options.keep is not None,
                say=None if options.quiet else lambda line: print(line, flush=True),
                result=result,
            )
        except KeyboardInterrupt:
            was_interrupted = True
    print(
        f"{result.n_schemas} schemas in {time.monotonic() - start:.0f} s: {result.n_columns} columns equal, "
        f"{len(result.findings)} findings, {len(result.refused)} schemas that ROOT does not write"
    )
    texts = [f"{finding.kind}: {finding.detail}" for finding in result.findings]
    kinds = collections.Counter(re.sub(r"^.*?unsupported: |\d+", "", text)[:100] for text in texts)
    for what, n in kinds.most_common(20):
        print(f"{n:6d}  {what}")
    return 130 if was_interrupted else 1 if result.findings else 0


if __name__ == "__main__":
    sys.exit(main())
