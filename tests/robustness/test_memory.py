"""A streamed scan stays within its budget, however large the file."""

from __future__ import annotations

import subprocess
import sys

import pytest

ALLOWANCE_BYTES = 100_000_000

#: Prints by how much the peak of resident memory grew over a full streamed scan.
SCAN = """
import sys, numpy, pyarrow as pa, arrowroot
from pathlib import Path

def status(key):
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(key))
    return int(line.split()[1]) * 1024

before = status("VmRSS")
n = 0
with arrowroot.open(sys.argv[1]) as file:
    scan = file["T"].scan(batch_size=sys.argv[3], memory_budget=sys.argv[2], n_threads=int(sys.argv[4]))
    for batch in scan:
        n += batch.num_rows
print(n, status("VmHWM") - before)
"""


@pytest.mark.parametrize(("budget_mb", "batch_mb"), [(32, 8), (128, 32)])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_peak_memory_of_a_streamed_scan(large_file, budget_mb, batch_mb, n_threads):
    done = subprocess.run(
        [sys.executable, "-c", SCAN, str(large_file), f"{budget_mb} MB", f"{batch_mb} MB", str(n_threads)],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    n_entries, grown_bytes = map(int, done.stdout.split())
    assert n_entries == 6_000_000
    assert grown_bytes < budget_mb * 1_000_000 + ALLOWANCE_BYTES, f"{grown_bytes / 1e6:.0f} MB"
