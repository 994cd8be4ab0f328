"""The memory of writing: what ``buffers`` says, and 100 MB."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOAK = bool(os.environ.get("ARROWROOT_SOAK"))
PAYLOAD_BYTES = 1_000_000_000 if SOAK else 250_000_000
BUFFERS = 64_000_000

#: Writes batches of 2 MB, each of its own memory, and prints by how much the peak is above what there was before.
WRITER = """
import sys
import numpy as np, pyarrow as pa, arrowroot as ar
import arrowroot._writing.data, arrowroot._writing.table, pyarrow.compute

kind, layout, path, payload_bytes, buffers = *sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
rng = np.random.default_rng(1)

def jagged(n):
    lengths = rng.integers(0, 4, n)
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    return pa.ListArray.from_arrays(ends, pa.array(rng.random(int(ends[-1].as_py()), np.float32)))

def nested(n):
    lists = jagged(n)
    return pa.ListArray.from_arrays(pa.array(np.arange(n + 1, dtype=np.int32)), lists)

COLUMNS = {
    "flat": (10, 25_000, rng.random),
    "jagged": (10, 20_000, jagged),
    "wide": (1600, 156, rng.random),
    "nested": (10, 14_000, nested),
}
n_columns, n_entries, make = COLUMNS[kind]

def batch():
    return pa.record_batch({f"x{i}": make(n_entries) for i in range(n_columns)})

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

batch()
with open("/proc/self/clear_refs", "w") as clear:
    clear.write("5")  # the peak begins anew
before, n_bytes = status("VmRSS"), 0
with ar.create(path, compression="lz4:1", buffers=buffers, n_threads=2) as file:
    table = file.tree("t", layout=layout)
    while n_bytes < payload_bytes:
        one = batch()
        n_bytes += one.nbytes
        table.append(one)
print(status("VmHWM") - before)
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak is told by Linux alone")
@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
@pytest.mark.parametrize("kind", ["flat", "jagged", "wide", "nested"])
def test_the_peak_is_what_buffers_says_and_100_mb(tmp_path, kind, layout):
    arguments = (kind, layout, str(tmp_path / "out.root"), str(PAYLOAD_BYTES), str(BUFFERS))
    peaks = []
    # What the allocator keeps for each thread is chance, 50 MB from run to run: what is not bounded is there each time.
    while len(peaks) < 3 and not (peaks and min(peaks) < BUFFERS + 100_000_000):
        done = subprocess.run(
            [sys.executable, "-c", WRITER, *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        peaks.append(int(done.stdout))
    assert min(peaks) < BUFFERS + 100_000_000


#: Writes a column that says few values for many entries, and prints by how much the peak is above what was before.
FOLDED = """
import sys
import numpy as np, pyarrow as pa, arrowroot as ar
import arrowroot._writing.data, arrowroot._writing.table, pyarrow.compute

kind, way, layout, path, n_bytes, buffers = *sys.argv[1:5], int(sys.argv[5]), int(sys.argv[6])
N = 1 << 20
text = "x" * N
COLUMNS = {
    "runs": lambda: pa.RunEndEncodedArray.from_arrays(pa.array([3, n_bytes // 8], pa.int64()), pa.array([1.5, 2.5])),
    "views": lambda: pa.array([text], pa.string_view()),
    "dictionary": lambda: pa.DictionaryArray.from_arrays(np.zeros(n_bytes // N, np.int8), pa.array([text])),
    "lists": lambda: pa.ListViewArray.from_arrays(
        pa.array(np.zeros(n_bytes // N, np.int32)),
        pa.array(np.full(n_bytes // N, N // 8, np.int32)),
        pa.array(np.arange(N // 8.0)),
    ),
}
column = COLUMNS[kind]()
if kind == "views":
    of_one = column.buffers()
    many = pa.py_buffer(of_one[1].to_pybytes() * (n_bytes // N))
    column = pa.Array.from_buffers(pa.string_view(), n_bytes // N, [None, many, of_one[2]])

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

with open("/proc/self/clear_refs", "w") as clear:
    clear.write("5")  # the peak begins anew
before = status("VmRSS")
with ar.create(path, compression="lz4:1", buffers=buffers, n_threads=2) as file:
    table = file.tree("t", {"x": column.type.value_type} if way == "append to texts" else None, layout=layout)
    if way == "fill":
        with table.context() as context:
            context.fill({"x": column})
    else:
        table.append({"x": column})
print(status("VmHWM") - before)
tree = ar.open(path)["t"]
for start in (0, len(column) - 3):
    part = slice(start, start + 3)
    assert tree.to_arrow(entries=part)["x"].to_pylist() == column[part].to_pylist()
assert tree.num_entries == len(column)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak is told by Linux alone")
@pytest.mark.parametrize(
    ("kind", "way", "layout"),
    [
        ("runs", "append", "ttree"),
        ("runs", "fill", "rntuple"),
        ("views", "append", "rntuple"),
        ("lists", "fill", "ttree"),
        ("dictionary", "append to texts", "ttree"),
    ],
)
def test_what_is_said_once_for_many_entries_is_written_piece_by_piece(tmp_path, kind, way, layout):
    arguments = (kind, way, layout, str(tmp_path / "out.root"), str(2 * PAYLOAD_BYTES), str(BUFFERS))
    done = subprocess.run(
        [sys.executable, "-c", FOLDED, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # Some pieces of 64 MB are in memory beside the buffers.
    assert int(done.stdout) < BUFFERS + 250_000_000
