"""Ctrl-C stops a scan at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

#: At once for a person, with room for a busy machine.
ALLOWED_S = 3.0

#: Prints "reading" before a read that it repeats until it is interrupted, then when it was. The consumer of
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
        print(time.monotonic(), flush=True)
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


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_an_interrupt_stops_reading(large_file, read):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(read=read), str(large_file)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "reading\n"
        time.sleep(0.3)
        sent = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        stopped = float(process.stdout.readline())
        assert process.wait(timeout=120) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert stopped - sent < ALLOWED_S, f"stopped after {stopped - sent:.2f} s"


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
    for _ in range(3):
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            try:
                while True:
                    {read}
            except {library}:
                time.sleep(5)
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
