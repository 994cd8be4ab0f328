"""Reads damaged files one after the other, under limits. Started by mutate.py, never by hand.

Says "ready", then gets one JSON object a line: ``{"path": str}``. Answers ``{"outcome": ..., "detail": ...,
"peak_bytes": ..., "seconds": ...}``, where outcome is "values" (all was read), "error" (an ArrowrootError said
what is wrong, for the file or for some column) or "wrong" (anything else that an exception can say).
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa

import arrowroot

ADDRESS_SPACE_BYTES = 6 << 30


def peak_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def reset_peak() -> bool:
    """Make the peak start anew at what is in use now; False where the system cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def read_tree(tree: arrowroot.Tree) -> int:
    """Read a tree column by column. Returns how many gave an error."""
    n_errors = 0
    for name in tree.column_names:
        try:
            scan = tree.scan([name], batch_size="1 MB", memory_budget="8 MB", n_threads=2)
            for batch in scan:
                batch.validate(full=True)
        except arrowroot.ArrowrootError:
            n_errors += 1
    return n_errors


def read_object(file: arrowroot.File, name: str) -> int:
    """Read an object, and all that it shows and gives. Returns 1 if that was an error."""
    try:
        found = file[name]
        repr(found)
        if isinstance(found, arrowroot.Histogram):
            found.values(flow=True), found.variances(flow=True), [axis.edges() for axis in found.axes]
    except arrowroot.ArrowrootError:
        return 1
    return 0


def read_all(path: str) -> str:
    """Read all that is in a file: every key, tree and column, and the largest tree's columns together.

    Returns "values", or "error" if one said what is wrong. Anything but an ArrowrootError gets through.
    """
    n_errors = 0
    try:
        with arrowroot.open(path) as file:
            keys = file.key_list()
            for key in keys[:200]:
                if not key.is_tree:
                    n_errors += read_object(file, f"{key.path};{key.cycle}")
                    continue
                try:
                    tree = file[f"{key.path};{key.cycle}"]
                    n_errors += read_tree(tree)
                    readable = [c.name for c in tree.columns if c.unsupported is None]
                    for batch in tree.scan(readable, batch_size="1 MB", memory_budget="8 MB", n_threads=2):
                        batch.validate(full=True)
                    entries = np.array([tree.num_entries - 1, 0] if tree.num_entries else [], dtype=np.int64)
                    pa.table(tree.to_arrow(readable[:5], entries=entries, n_threads=1)).validate(full=True)
                except arrowroot.ArrowrootError:
                    n_errors += 1
    except arrowroot.ArrowrootError:
        n_errors += 1
    return "error" if n_errors else "values"


def main() -> None:
    # A panic is no error that is expected anywhere.
    arrowroot.InternalError.__bases__ = (BaseException,)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    # What a library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        can_reset = reset_peak()
        before, start = peak_bytes(), time.process_time()
        try:
            outcome, detail = read_all(job["path"]), ""
        except KeyboardInterrupt:
            return
        except BaseException as error:  # noqa: BLE001 - panics are no Exceptions here
            outcome, detail = "wrong", f"{type(error).__module__}.{type(error).__name__}: {error}"[:500]
        answer = {
            "outcome": outcome,
            "detail": detail,
            "seconds": time.process_time() - start,
            "peak_bytes": peak_bytes() - before if can_reset else 0,
        }
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
