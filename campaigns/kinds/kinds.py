"""Columns of every kind alone: ``kinds.py DIRECTORY trees|ntuples CODEC N_ENTRIES``, and ``kinds.py read FILE``.

ROOT writes a tree or an RNTuple of one column for each kind, and reads it by ``kinds.h``; arrowroot and uproot read it
on one thread. Printed are CPU times in ns for each kind: arrowroot's readings in their order, the least of ROOT's, and
the least of uproot's, unless it does not read the kind.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = Path(__file__).with_name("kinds.h")
COMPRESSIONS = {"none": "0", "zstd": "505"}
#: Later readings, of which the fastest counts.
N_LATER = 3


def in_root(library: Path, *calls: str) -> list[float]:
    """Call functions of kinds.h, compiled in a directory, in a process of their own; return what they return."""
    script = "\n".join([
        "import json, ROOT",
        "assert ROOT.gROOT.ProcessLine('.L kinds.h+') == 0",
        f"print(json.dumps([{', '.join(calls)}]))",
    ])  # fmt: skip
    library.mkdir(exist_ok=True)
    copy = library / "kinds.h"
    if not copy.exists():
        copy.write_text(HEADER.read_text())
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, cwd=library, check=True, stdout=subprocess.PIPE, text=True)
    return [number for number in json.loads(done.stdout.splitlines()[-1]) if number is not None]


def write(directory: Path, kind: str, codec: str, n_entries: str) -> None:
    """Write the file. Beside it the library stays, for those who read."""
    path = directory / f"{kind}.root"
    in_root(directory / "library", f"ROOT.kinds.write_{kind}('{path}', {COMPRESSIONS[codec]}, {n_entries})")


def read(path: Path) -> list[dict[str, Any]]:
    """Measure all kinds of a file."""
    import pyarrow as pa

    import arrowroot

    found = []
    with arrowroot.open(path) as file:
        kinds = file.trees
        calls = [f"ROOT.kinds.cpu_ms('{path}', '{kind}', {N_LATER})" for kind in kinds]
        for kind, root_ms in zip(kinds, in_root(path.parent / "library", *calls), strict=True):
            tree = file[kind]
            times = cpu_ns(lambda tree=tree: tree.scan(n_threads=1).read_all(), N_LATER + 1)  # type: ignore[misc]
            found.append({
                "kind": kind, "n_entries": tree.num_entries, "values_bytes": pa.table(tree.to_arrow()).nbytes,
                "arrowroot_ns": times, "root_ns": round(1e6 * root_ms), "uproot_ns": of_uproot(path, kind),
            })  # fmt: skip
    return found


def of_uproot(path: Path, kind: str) -> int | None:
    """The least of uproot's times, with no cache of what was read; None for what it does not read."""
    import uproot

    def arrays() -> object:
        return uproot.open(path, array_cache=None, object_cache=None)[kind].arrays()

    try:
        return min(cpu_ns(arrays, N_LATER))
    except Exception as error:  # noqa: BLE001 - whatever it does not read
        print(f"uproot: {kind}: {type(error).__name__}", file=sys.stderr)  # noqa: T201 - nobody keeps it
        return None


def cpu_ns(reading: Callable[[], object], repeat: int) -> list[int]:
    """CPU time of the process for each of some readings."""
    times = []
    for _ in range(repeat):
        start = time.process_time_ns()
        reading()
        times.append(time.process_time_ns() - start)
    return times


if __name__ == "__main__":
    if sys.argv[1] == "read":
        print(json.dumps({"kinds": read(Path(sys.argv[2]))}))  # noqa: T201 - the laboratory keeps it
    else:
        write(Path(sys.argv[1]), *sys.argv[2:])
