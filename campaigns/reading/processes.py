"""Opening and whole processes as engines of the laboratory (docs/lab/runners.md): ``processes.py NAME run|identify``.

NAME is ``arrowroot``, ``root`` or ``uproot``. The command of a job is one word:

- ``open``: open a file and list all columns, twice in one process; the second time counts, and the list is the checksum
- ``import``: import arrowroot, in a process of its own
- ``ls``: the whole process of ``arrowroot ls``
- ``memory``: how far resident memory grows over a streamed scan
- ``accounting``: what operations at layer boundaries cost, times those of a warm scan, and the scan's CPU time
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from native import program, versions

from arrowroot_lab.runners.process_line import serve

if TYPE_CHECKING:
    from collections.abc import Callable

Job = dict[str, Any]
Answer = dict[str, Any]

BUDGET = "256 MB"
#: Prints wall and CPU time.
IMPORT = """
import time
begin = time.perf_counter_ns(), time.process_time_ns()
import arrowroot
cpu_ns = time.process_time_ns() - begin[1]
print(time.perf_counter_ns() - begin[0], cpu_ns)
"""
#: Prints by how many bytes the peak of resident memory grew over a full streamed scan, and its values' bytes.
SCAN = """
import sys, numpy, pyarrow, arrowroot
from pathlib import Path

def status(key):
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(key))
    return int(line.split()[1]) * 1024

before, values_bytes = status("VmRSS"), 0
with arrowroot.open(sys.argv[1]) as file:
    for batch in file[sys.argv[2]].scan(memory_budget=sys.argv[3]):
        values_bytes += batch.nbytes
print(status("VmHWM") - before, values_bytes)
"""
#: Prints, of a second scan, the operations at all layer boundaries, the baskets and the CPU time in ns.
WARM_SCAN = """
import sys, arrowroot
for _ in range(2):
    with arrowroot.open(sys.argv[1]) as file:
        scan = file[sys.argv[2]].scan(n_threads=1)
        stats = scan.drain()
        n_operations = sum(account.n_attempted for account in scan.accounts)
print(n_operations, stats.n_baskets, stats.cpu_ns)
"""


def open_with_arrowroot(path: str, table: str) -> int:
    """Open and list."""
    import arrowroot

    with arrowroot.open(path) as file:
        return len(file[table].branches)


def open_with_uproot(path: str, table: str) -> int:
    """Open and list, with no cache of what was read."""
    import uproot

    return len(uproot.open(path, object_cache=None, array_cache=None)[table].keys(recursive=True))


def opened(job: Job) -> Answer:
    """The second opening."""
    path, table = job["urls"][0], job["table"]
    if ENGINE == "root":
        asked = {"file": path, "tree": table, "warm_up": job.get("warm_up") or ""}
        told = json.loads(_said([program("open_root")], json.dumps(asked)))
        return _opened(told["n_columns"], told["second_wall_ns"], told["second_cpu_ns"])
    listing = open_with_arrowroot if ENGINE == "arrowroot" else open_with_uproot
    listing(path, table)
    cpu_ns, wall_ns = time.process_time_ns(), time.perf_counter_ns()
    n_columns = listing(path, table)
    wall_ns = time.perf_counter_ns() - wall_ns
    return _opened(n_columns, wall_ns, time.process_time_ns() - cpu_ns)


def _opened(n_columns: int, wall_ns: int, cpu_ns: int) -> Answer:
    return {
        "wall_ns": wall_ns, "cpu_ns": cpu_ns, "counters": {"listed": {"n_columns": n_columns}},
        "checksum": {"columns": {"n": n_columns, "sum": str(n_columns)}},
    }  # fmt: skip


def imported(_: Job) -> Answer:
    """An import, as the process itself takes its time."""
    wall_ns, cpu_ns = map(int, _said([sys.executable, "-c", IMPORT]).split())
    return {"wall_ns": wall_ns, "cpu_ns": cpu_ns}


def listed(job: Job) -> Answer:
    """A whole process of the command."""
    _said([str(Path(sys.executable).with_name("arrowroot")), "ls", job["urls"][0]])
    return {}


def memory(job: Job) -> Answer:
    """A scan within a budget of memory."""
    grown, values = map(
        int, _said([sys.executable, "-c", SCAN, job["urls"][0], job["table"], BUDGET]).split()
    )
    return {"counters": {"memory": {"growth_bytes": max(0, grown), "values_bytes": values}}}


def accounting(job: Job) -> Answer:
    """The cost of accounting in a warm scan, and the scan's CPU time; each basket counts as a range."""
    cost = json.loads(_said([program("account_cost")]))
    told = _said([sys.executable, "-c", WARM_SCAN, job["urls"][0], job["table"]])
    n_operations, n_ranges, cpu_ns = map(int, told.split())
    cost_ns = n_operations * cost["operation_ns"] + n_ranges * max(0.0, cost["range_ns"])
    return {"counters": {"accounting": {"cost_ns": round(cost_ns), "cpu_ns": cpu_ns}}}


COMMANDS: dict[str, Callable[[Job], Answer]] = {
    "open": opened, "import": imported, "ls": listed, "memory": memory, "accounting": accounting,
}  # fmt: skip


def _said(command: list[str], text: str = "") -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name}: {done.stderr.strip()[-300:]}")
    return done.stdout


def identify(_: Job) -> Answer:
    """Say what this is."""
    return {"name": ENGINE, "versions": versions(ENGINE), "can": ["program", "checksum", "strategy:auto"]}


def run(job: Job) -> Answer:
    """Do the command of a job."""
    (word,) = job["command"]
    if ENGINE != "arrowroot" and word != "open":
        return {"unsupported": f"{word} is of arrowroot alone"}
    begin_ns, before = time.perf_counter_ns(), os.times()
    answer = COMMANDS[word](job)
    # Unless it says better itself: of the processes that it started.
    wall_ns, after = time.perf_counter_ns() - begin_ns, os.times()
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return {"wall_ns": wall_ns, "cpu_ns": min(round(cpu_s * 1e9), wall_ns), **answer}


if __name__ == "__main__":
    ENGINE = sys.argv[1]
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    serve({"identify": identify, "run": run})
