"""Opens and reads one file, step by step, and says what each step took. Started by `bounds.py`, never by hand.

Arguments: the file, and the steps with commas between. Prints one JSON object: outcome, detail, CPU seconds, bytes at
the peak before the steps and after them, bytes of the values that came.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import resource
import sys
import time
import warnings
from pathlib import Path

import arrowroot

#: What libraries take when they are first used is not the file's: all steps are gone through with this one before.
SOUND = Path(__file__).resolve().parents[1] / "fixtures" / "objects.root"
ADDRESS_SPACE_BYTES = 6 << 30
MAX_CPU_S = 20


def peak_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def step_list(file: arrowroot.File) -> int:
    for key in file.key_list():
        repr(key)
    repr(file)
    return 0


def step_columns(file: arrowroot.File) -> int:
    for key in file.key_list():
        if key.is_tree:
            tree = file[key.path]
            repr(tree)
            for column in tree.columns:
                column.type_name, column.arrow_type, column.unsupported  # noqa: B018 - looked at, for what it costs
    return 0


def step_schema(file: arrowroot.File) -> int:
    for key in file.key_list():
        if key.is_tree:
            file[key.path].schema  # noqa: B018 - likewise
    return 0


def read_objects(file: arrowroot.File, n_keys: int | None) -> int:
    n_bytes = 0
    for key in file.key_list()[:n_keys]:
        if not key.is_tree:
            with contextlib.suppress(arrowroot.ArrowrootError):
                n_bytes += key.object_bytes
                file[key.path]
    return n_bytes


def step_object(file: arrowroot.File) -> int:
    return read_objects(file, 50)


def step_all_objects(file: arrowroot.File) -> int:
    return read_objects(file, None)


def step_batch(file: arrowroot.File) -> int:
    n_bytes = 0
    for key in file.key_list():
        if not key.is_tree:
            continue
        tree = file[key.path]
        readable = [column.name for column in tree.columns if column.unsupported is None]
        scan = tree.scan(readable or None, batch_size="4 MB", memory_budget="16 MB")
        # The generator is closed here: Python loses what a signal handler raises while it lets go of one.
        with contextlib.closing(iter(scan)) as batches:
            n_bytes += sum(batch.nbytes for batch in itertools.islice(batches, 1))
    return n_bytes


STEPS = {
    name.removeprefix("step_").replace("_", " "): step
    for name, step in list(globals().items())
    if name.startswith("step_")
}


def main() -> None:
    # A panic is no error that is expected anywhere.
    arrowroot.InternalError.__bases__ = (BaseException,)
    path, steps = sys.argv[1:3]
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_S, MAX_CPU_S + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    with arrowroot.open(SOUND) as file:
        for warm_up in STEPS.values():
            warm_up(file)
    before, started = peak_bytes(), time.process_time()
    n_bytes, outcome, detail = 0, "values", ""
    for step in steps.split(","):
        try:
            with arrowroot.open(path) as file:
                n_bytes += STEPS[step](file)
        except arrowroot.ArrowrootError as error:
            outcome, detail = "error", f"{type(error).__name__}: {error}"[:400]
        except BaseException as error:  # noqa: BLE001 - panics are no Exceptions here
            outcome, detail = "wrong", f"{type(error).__module__}.{type(error).__name__}: {error}"[:400]
            break
    took = {"cpu_s": time.process_time() - started, "before": before, "peak": peak_bytes(), "values": n_bytes}
    print(json.dumps({"outcome": outcome, "detail": detail, **took}))


if __name__ == "__main__":
    main()
