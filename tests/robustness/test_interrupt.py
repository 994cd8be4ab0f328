"""Ctrl-C stops a scan at once, and what comes before it."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import arrowroot
from tests.robustness import hostile
from tests.robustness.hostile_bytes import Record, RootFile

#: What a process may still compute after a signal: at once for a person, on two cores. A clock would measure what else
#: the machine does.
ALLOWED_CPU_S = 1.0
#: What adding 20 million numbers takes of a processor on which that holds; a slower one may compute longer.
USUAL_CPU_S = 0.4
#: A process that runs this long, in s, has not seen its signal: also on a machine that does much else.
HANGS_S = 300

#: Prints "reading" before a read that it repeats until it is interrupted, then its CPU time. The consumer of
#: an Arrow stream sees an error of its own first, because a stream carries no exceptions.
PROGRAM = """
import sys, time, numpy as np, pyarrow as pa, arrowroot
with arrowroot.open(sys.argv[1]) as file:
    tree = file["T"]
    entries = np.random.default_rng(1).integers(0, tree.num_entries, 10_000_000)
    print("reading", flush=True)
    try:
        try:
            while True:
                {read}
        except pa.ArrowException:
            time.sleep(1)
    except KeyboardInterrupt:
        print(time.process_time(), flush=True)
    # The tree is still good.
    assert pa.table(tree.to_arrow(["x0"], entries=slice(0, 3)))["x0"].to_pylist() == [0.0, 1.0, 2.0]
"""
READS = {
    "to_arrow": "tree.to_arrow(n_threads=2)",
    "to_arrow, one thread": "tree.to_arrow(n_threads=1)",
    "scan": "[None for _ in tree.scan(batch_size='4 MB', n_threads=2)]",
    "stream": "pa.RecordBatchReader.from_stream(tree.scan(n_threads=2)).read_all()",
    "entry list": "tree.to_arrow(['x1', 'x2', 'lists'], entries=entries)",
}


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process so far, in s (``man 5 proc``: utime and stime of ``stat``)."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(ticks) for ticks in after_name[11:13]) / os.sysconf("SC_CLK_TCK")


def allowed_cpu_s() -> float:
    """Return what may still be computed after a signal on this processor."""
    began = time.process_time()
    sum(range(20_000_000))
    return ALLOWED_CPU_S * max(1.0, (time.process_time() - began) / USUAL_CPU_S)


def interrupted(program: str, arguments: list[str], after_s: float, *, is_of_cpu: bool = False) -> float:
    """Return the CPU time from a signal to the end of what a program was doing, in s.

    after_s: when the signal comes; is_of_cpu: by the time that the program computes.
    """
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    watchdog = threading.Timer(HANGS_S, process.kill)
    watchdog.start()
    try:
        assert process.stdout.readline() == "reading\n"
        began = cpu_s(process.pid)
        if not is_of_cpu:
            time.sleep(after_s)
        while is_of_cpu and cpu_s(process.pid) < began + after_s:
            assert process.poll() is None, "it has ended by itself"
            time.sleep(0.02)
        sent = cpu_s(process.pid)
        os.kill(process.pid, signal.SIGINT)
        stopped = process.stdout.readline()
        assert stopped, f"not stopped within {HANGS_S} s"
        assert process.wait(timeout=120) == 0
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        process.stdout.close()
    return float(stopped) - sent


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_an_interrupt_stops_reading(large_file, read):
    took_s = interrupted(PROGRAM.format(read=read), [str(large_file)], 0.3)
    assert took_s < allowed_cpu_s(), f"stopped after {took_s:.2f} s of CPU"


#: Reads through Arrow streams until a handler of the program's own raises, however often.
ALARM = """
import signal, sys, time, pyarrow as pa, arrowroot

class Alarm(Exception):
    pass

def ring(number, frame):
    raise Alarm(number)

{importing}
signal.signal(signal.SIGALRM, ring)
with arrowroot.open(sys.argv[1]) as file:
    tree = file["T"]
    # Python drops what a handler raises while it folds constants of a module that it compiles: all are loaded first.
    {read}
    for _ in range(3):
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            try:
                while True:
                    {read}
            except {library}:
                for _ in range(500):  # it comes between two lines
                    time.sleep(0.01)
        except Alarm as error:
            print("alarm", error, flush=True)
"""


@pytest.mark.parametrize(
    ("read", "importing", "library"),
    [
        ("pa.RecordBatchReader.from_stream(tree.scan(n_threads=2)).read_all()", "", "pa.ArrowException"),
        ("pl.DataFrame(tree.scan())", "import polars as pl", "pl.exceptions.PolarsError"),
        ("tree.to_arrow()", "", "pa.ArrowException"),
    ],
    ids=["pyarrow", "polars", "to_arrow"],
)
def test_what_a_signal_handler_raises_is_what_the_program_sees(large_file, read, importing, library):
    if importing:
        pytest.importorskip("polars")
    program = ALARM.format(read=read, importing=importing, library=library)
    done = subprocess.run(
        [sys.executable, "-c", program, str(large_file)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"alarm {int(signal.SIGALRM)}\n" * 3), done.stderr


#: Does to small files what `bounds_worker.py` does, over and over, until it is interrupted; prints its CPU time.
STEPS = """
import sys, time, warnings, arrowroot
from tests.robustness.bounds_worker import SOUND, STEPS
warnings.simplefilter("ignore")
path, step = sys.argv[1:]
with arrowroot.open(SOUND) as file:
    STEPS[step](file)
print("reading", flush=True)
try:
    while True:
        try:
            with arrowroot.open(path) as file:
                STEPS[step](file)
        except arrowroot.ArrowrootError:
            pass
except KeyboardInterrupt:
    print(time.process_time(), flush=True)
"""
#: Those that take the longest, with what does.
SLOW = {
    "class: refused by far, keys": "all objects",
    "class: long names that compress, tree": "columns",
    "class: bases, tree": "schema",
    "tree: many branches": "schema",
    "ntuple: projected fields": "schema",
    "ntuple: a thousand deferred": "batch",
    "tree: zeros in many branches": "batch",
}


@pytest.fixture(scope="module")
def hostile_files():
    return dict(hostile.cases())


@pytest.mark.parametrize("name", SLOW)
def test_an_interrupt_stops_what_a_small_file_asks_for(tmp_path, hostile_files, name):
    path = tmp_path / "hostile.root"
    path.write_bytes(hostile_files[name])
    took_s = interrupted(STEPS, [str(path), SLOW[name]], 0.3)
    assert took_s < allowed_cpu_s(), f"stopped after {took_s:.2f} s of CPU"


#: Lists the keys of a file, over and over.
LISTING = """
import sys, time, arrowroot
print("reading", flush=True)
try:
    while True:
        with arrowroot.open(sys.argv[1]) as file:
            file._native.keys()
except KeyboardInterrupt:
    print(time.process_time(), flush=True)
"""


def test_an_interrupt_stops_the_listing_of_many_keys(tmp_path):
    path = tmp_path / "keys.root"
    path.write_bytes(RootFile(b"", [Record("TNamed", f"k{i}", b"xx") for i in range(250_000)]).content())
    whole_s = math.inf
    for _ in range(2):
        with arrowroot.open(path) as file:
            started = time.process_time()
            assert len(file._native.keys()) == 250_000
            whole_s = min(whole_s, time.process_time() - started)
    # Somewhere in one of them: it is not waited for.
    took_s = interrupted(LISTING, [str(path)], 0.2 * whole_s)
    assert took_s < 0.5 * whole_s, f"stopped after {took_s:.2f} of {whole_s:.2f} s of CPU"


#: Writes what a few bytes say for more entries than anybody waits for.
WRITING = """
import sys, time, pyarrow as pa, arrowroot
kind, way, path = sys.argv[1:]
N = 1 << 40
column = {
    "runs": lambda: pa.RunEndEncodedArray.from_arrays(pa.array([N], pa.int64()), pa.array([1.5])),
    "empty lists": lambda: pa.Array.from_buffers(
        pa.list_(pa.int32(), 0), N, [None], children=[pa.array([], pa.int32())]
    ),
    "empty structs": lambda: pa.Array.from_buffers(pa.struct([]), N, [None]),
    "empty bytes": lambda: pa.Array.from_buffers(pa.binary(0), N >> 4, [None, pa.py_buffer(b"")]),
}[kind]()
try:
    with arrowroot.create(path) as file, file.tree("T", schema={"x": column.type}) as table:
        print("reading", flush=True)
        if way == "append":
            table.append({"x": column})
        else:
            with table.context() as context:
                context.fill({"x": column})
except KeyboardInterrupt:
    print(time.process_time(), flush=True)
"""


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        ("runs", "append"),
        ("runs", "fill"),
        *((f"empty {one}", "append") for one in ("lists", "structs", "bytes")),
    ],
)
def test_an_interrupt_stops_the_writing_of_what_says_much_with_few_bytes(tmp_path, kind, way):
    took_s = interrupted(WRITING, [kind, way, str(tmp_path / "out.root")], 0.5, is_of_cpu=True)
    assert took_s < allowed_cpu_s(), f"stopped after {took_s:.2f} s of CPU"
    assert list(tmp_path.iterdir()) == []
