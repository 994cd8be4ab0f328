"""Measures of whole processes: import, ``arrowroot ls``, the memory of a streamed scan, and the share of accounting."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from .programs import build_examples

N_RUNS = 11
BUDGET_MB = 256

IMPORT = "import time; t = time.perf_counter_ns(); import arrowroot; print(time.perf_counter_ns() - t)"

#: What the command does, where it is not installed.
LS = "import sys; from arrowroot.cli import main; sys.exit(main())"

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


@dataclass(frozen=True)
class ProcessMeasures:
    """Medians in ms, and MB (10^6)."""

    import_ms: float
    ls_ms: float
    scan_memory_mb: float
    scan_values_mb: float
    budget_mb: float
    #: Of accounting in the CPU time of a warm local scan of all columns, in percent.
    accounting_percent: float


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _process_ms(*command: str) -> float:
    start = time.perf_counter_ns()
    _output(*command)
    return (time.perf_counter_ns() - start) / 1e6


def accounting_percent(path: Path, tree: str) -> float:
    """The cost of accounting for a warm scan, as a share of its CPU time; each basket counts as a range."""
    (program,) = build_examples("arrowroot-storage", "account_cost")
    cost: dict[str, float] = json.loads(_output(str(program)))
    n_operations, n_ranges, cpu_ns = map(
        int, _output(sys.executable, "-c", WARM_SCAN, str(path), tree).split()
    )
    return 100 * (n_operations * cost["operation_ns"] + n_ranges * max(0.0, cost["range_ns"])) / cpu_ns


def measure(path: Path, tree: str) -> ProcessMeasures:
    """Measure with this interpreter's arrowroot, on a file in the page cache."""
    command = Path(sys.executable).with_name("arrowroot")
    ls = [str(command)] if command.exists() else [sys.executable, "-c", LS]
    imports = [int(_output(sys.executable, "-c", IMPORT)) / 1e6 for _ in range(N_RUNS)]
    listings = [_process_ms(*ls, "ls", str(path)) for _ in range(N_RUNS)]
    grown, values = map(int, _output(sys.executable, "-c", SCAN, str(path), tree, f"{BUDGET_MB} MB").split())
    return ProcessMeasures(
        statistics.median(imports),
        statistics.median(listings),
        grown / 1e6,
        values / 1e6,
        BUDGET_MB,
        accounting_percent(path, tree),
    )
