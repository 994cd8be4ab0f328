"""A streamed scan stays within its budget, however large the file."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import arrowroot

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
    options = {"batch_size": sys.argv[3], "memory_budget": sys.argv[2], "n_threads": int(sys.argv[4])}
    scan = file["T"].scan(filter=sys.argv[5] or None, **options)
    for batch in scan:
        n += batch.num_rows
print(n, status("VmHWM") - before)
"""


def grown(file, budget_mb, batch_mb, n_threads, condition=""):
    """Return how many entries a scan delivered, and by how many bytes the process grew."""
    done = subprocess.run(
        [sys.executable, "-c", SCAN, str(file), f"{budget_mb} MB", f"{batch_mb} MB", str(n_threads), condition],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    n_entries, n_bytes = map(int, done.stdout.split())
    return n_entries, n_bytes


@pytest.mark.parametrize(("budget_mb", "batch_mb"), [(32, 8), (128, 32)])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_peak_memory_of_a_streamed_scan(large_file, budget_mb, batch_mb, n_threads):
    n_entries, grown_bytes = grown(large_file, budget_mb, batch_mb, n_threads)
    assert n_entries == 6_000_000
    assert grown_bytes < budget_mb * 1_000_000 + ALLOWANCE_BYTES, f"{grown_bytes / 1e6:.0f} MB"


@pytest.mark.parametrize(
    ("condition", "batch_mb", "n_expected"),
    [
        ("x0 % 1 == 0", 16, 6_000_000),
        ("x0 % 2 == 0", 16, 3_000_000),
        ("x0 % 2 == 0", 32, 3_000_000),
        ("x0 % 50 == 0", 16, 120_000),
        ("len(lists) > 1", 16, 3_600_000),
    ],
)
def test_peak_memory_of_a_filtered_scan(large_file, condition, batch_mb, n_expected):
    n_entries, grown_bytes = grown(large_file, 64, batch_mb, 2, condition)
    assert n_entries == n_expected
    assert grown_bytes < 64_000_000 + ALLOWANCE_BYTES, f"{grown_bytes / 1e6:.0f} MB"


@pytest.mark.long
@pytest.mark.parametrize("budget_mb", [32, 96])
def test_peak_memory_where_baskets_are_longer_than_batches(file_of_long_baskets, budget_mb):
    n_entries, grown_bytes = grown(file_of_long_baskets, budget_mb, 16, 2)
    assert n_entries == 1_000_000
    assert grown_bytes < budget_mb * 1_000_000 + ALLOWANCE_BYTES, f"{grown_bytes / 1e6:.0f} MB"


def test_batches_of_what_compresses_well_are_no_larger(tmp_path):
    uproot = pytest.importorskip("uproot", reason="NO UPROOT FOUND: pip install uproot")
    ak = pytest.importorskip("awkward")
    lists = ak.unflatten(np.zeros(40 * 300_000, "u1"), np.full(40, 300_000))
    with uproot.recreate(tmp_path / "zeros.root", compression=uproot.ZSTD(5)) as file:
        tree = file.mktree("T", {"lists": lists.type.content})
        for start in range(0, 40, 4):
            tree.extend({"lists": lists[start : start + 4]})
    with arrowroot.open(tmp_path / "zeros.root") as file:
        sizes = [batch.nbytes for batch in file["T"].scan("lists", batch_size="2 MB")]
    assert sum(sizes) > 12_000_000
    assert max(sizes) < 3_000_000
