"""A program ends while a file is being written, and others' memory is let go of late."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

#: Memory whose release takes a while, in the interpreter: whichever thread lets go of it comes back while that ends.
PROGRAM = """
import os, sys, threading, time
import numpy as np
import pyarrow as pa
import arrowroot as ar

class Slow:
    def __init__(self):
        self.numbers = np.random.default_rng(1).random(20_000)

    def __del__(self):
        # It comes back while the interpreter ends, if that does not wait for it. A thread of Python's own, in pyarrow
        # then, is not ours to wait for.
        until = time.monotonic() + 0.15
        is_ours = isinstance(threading.current_thread(), threading._DummyThread)
        while is_ours and not sys.is_finalizing() and time.monotonic() < until:
            time.sleep(0.001)

def batch():
    slow = Slow()
    memory = pa.foreign_buffer(slow.numbers.ctypes.data, slow.numbers.nbytes, base=slow)
    return pa.table({"x": pa.Array.from_buffers(pa.float64(), len(slow.numbers), [None, memory])})

def fill(context, n=40):
    for _ in range(n):
        context.fill(batch())

file = ar.create(sys.argv[1], n_threads=3, compression="zstd:1", buffers="2 MB")
tree = file.tree("t", flush=20_000, schema=pa.schema([pa.field("x", pa.float64(), nullable=False)]))
"""

WAYS = {
    "a file is not closed": """
for _ in range(6):
    tree.append(batch())
""",
    "an exception ends it": """
for _ in range(6):
    tree.append(batch())
raise SystemError("the end")
""",
    "threads fill contexts": """
contexts = [tree.context() for _ in range(3)]
for context in contexts:
    threading.Thread(target=fill, args=(context, 3)).start()
""",
    "daemons fill contexts": """
contexts = [tree.context() for _ in range(3)]
for context in contexts:
    threading.Thread(target=fill, args=(context,), daemon=True).start()
time.sleep(0.2)
""",
    "a daemon appends": """
def append():
    for _ in range(100):
        tree.append(batch())
threading.Thread(target=append, daemon=True).start()
time.sleep(0.2)
sys.exit(0)
""",
    "a daemon has another file": """
def write():
    mine = ar.create(sys.argv[1] + ".mine")
    inner = mine.tree("t")
    inner.append(batch())
    time.sleep(60)
threading.Thread(target=write, daemon=True).start()
time.sleep(0.2)
""",
    "a thread calls exit": """
def append():
    for _ in range(6):
        tree.append(batch())
    sys.exit(5)
thread = threading.Thread(target=append)
thread.start()
thread.join()
""",
    "a child ends before": """
tree.append(batch())
if os.fork() == 0:
    other = ar.create(sys.argv[1] + ".child", n_threads=3)
    inner = other.tree("t", flush=20_000)
    for _ in range(4):
        inner.append(batch())
    sys.exit(0)
assert os.wait()[1] == 0
""",
}


@pytest.mark.parametrize("way", WAYS)
def test_the_interpreter_waits_for_who_has_the_memory_of_others(tmp_path: Path, way: str) -> None:
    path = tmp_path / "out.root"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + WAYS[way], str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == (1 if "raise" in WAYS[way] else 0), done.stderr
    assert "terminate" not in done.stderr
    assert done.stderr.count("was not closed, and is not kept") == 1 + ("ar.create" in WAYS[way]), done.stderr
    # What was not closed is not there.
    assert list(tmp_path.iterdir()) == []


def test_the_end_waits_for_no_thread_that_waits_for_it(tmp_path: Path) -> None:
    """What was registered before is called later, and may close a file, which is given up by then."""
    code = """
import atexit, sys
closing = []
atexit.register(lambda: [close() for close in closing])
import arrowroot as ar
file = ar.create(sys.argv[1])
file.tree("t").append({"x": [1, 2, 3]})

def close():
    try:
        file.close()
    except ar.ArrowrootError as error:
        print(error)

closing.append(close)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "out.root")],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert "the interpreter ended before the file was closed" in done.stdout
    assert list(tmp_path.iterdir()) == []
