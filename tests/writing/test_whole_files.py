"""Files as a whole: the same bytes everywhere, threads, writers that are killed, and what is large."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
import uproot

import arrowroot as ar

from .invariants import assert_sound
from .test_root_goes_on import table_of

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parents[2]
SOAK = bool(os.environ.get("ARROWROOT_SOAK"))
LAYOUTS = ("ttree", "rntuple")
N_KILLS = 200


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def compressing() -> set[str]:
    """Return the threads of this process that compress."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it has just ended
            if (task / "comm").read_text().startswith("arrowroot-compr"):
                found.add(task.name)
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="Linux alone names the threads of a process")
@pytest.mark.parametrize("n_threads", [0, 1, 64])
@pytest.mark.parametrize("has_context", [False, True])
def test_no_more_threads_compress_than_there_are_cores(tmp_path, has_context, n_threads):
    path = tmp_path / "out.root"
    n_cores = len(os.sched_getaffinity(0))
    n_others = min(n_threads or n_cores, n_cores) - 1
    data = pa.table({"x": np.random.default_rng(1).random(300), "y": np.arange(300)})
    before = compressing()
    with ar.create(path, n_threads=n_threads) as file, file.tree("t", data.schema, flush=1) as tree:
        if has_context:
            with tree.context() as context:
                context.fill(data)
        else:
            tree.append(data)
        # That of the caller is one of them. A thread that has just been started has no name yet.
        until = time.monotonic() + 60
        while len(compressing() - before) < n_others and time.monotonic() < until:
            time.sleep(0.01)
        assert len(compressing() - before) == n_others


def test_reproducible_files_are_the_same_in_any_directory_at_any_time(tmp_path):
    code = """
import sys, arrowroot as ar
from tests.tables import every_kind
for layout in ("ttree", "rntuple"):
    ar.write(f"{layout}.root:Events", every_kind(9), layout=layout, reproducible=True)
"""
    digests = []
    for name, zone in (("one", "UTC"), ("another/deeper", "Asia/Tokyo")):
        directory = tmp_path / name
        directory.mkdir(parents=True)
        environment = {**os.environ, "TZ": zone, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *sys.path])}
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code], check=True, cwd=directory, env=environment
        )
        digests.append([digest(directory / f"{layout}.root") for layout in LAYOUTS])
        # Times in a file are whole seconds: the next one is written in another.
        while time.time() < int((directory / "rntuple.root").stat().st_mtime) + 1:
            time.sleep(0.02)
    assert digests[0] == digests[1]


WRITER = """
import sys, arrowroot as ar
from tests.writing.test_root_goes_on import table_of
table = table_of(5, 3000)
print("begins", flush=True)
with ar.create(sys.argv[1], n_threads=2) as file:
    events = file.tree("Events", table.schema, layout=sys.argv[2], flush=500)
    for _ in range(20):
        events.append(table)
print("done", flush=True)
"""


@contextmanager
def a_writer(path: Path, layout: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has begun to write; it is waited for."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), layout], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        yield process


@pytest.mark.skipif(not SOAK, reason="kills 200 writers: make soak-write")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_killed_writer_leaves_the_older_file_or_the_whole_new_one(tmp_path, layout):
    path = tmp_path / "out.root"
    old = table_of(6)
    ar.write(f"{path}:Events", old, layout=layout)
    before = digest(path)
    begin = time.perf_counter()
    with a_writer(tmp_path / "timed.root", layout) as process:
        assert process.wait() == 0
    longest = time.perf_counter() - begin
    chance, outcomes = random.Random(1), []
    for _ in range(N_KILLS):
        with a_writer(path, layout) as process:
            time.sleep(chance.uniform(0, longest * 0.7))
            process.send_signal(signal.SIGKILL)
        outcomes.append(digest(path) == before)
        if not outcomes[-1]:
            assert_sound(path)
            with ar.open(str(path)) as file:
                assert file["Events"].num_entries == 60_000
            ar.write(f"{path}:Events", old, layout=layout)
            before = digest(path)
    assert set(tmp_path.iterdir()) <= {path, tmp_path / "timed.root", tmp_path / "out.root.part"}


@pytest.mark.skipif(not SOAK, reason="writes 3 GB: make soak-write")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_over_two_gigabytes(tmp_path, layout):
    path, n_parts, n = tmp_path / "large.root", 30, 1_600_000
    values = np.random.default_rng(1).random(n * 7)
    part = pa.table({f"x{k}": values[k * n : (k + 1) * n] for k in range(7)})
    with ar.create(path, compression=None) as file:
        events = file.tree("deep/Events", layout=layout)
        for number in range(n_parts):
            events.append(part.append_column("number", pa.array(np.full(n, number, dtype=np.int16))))
    assert path.stat().st_size > 2_500_000_000
    assert_sound(path)
    with ar.open(str(path)) as file:
        events = file["deep/Events"]
        assert events.num_entries == n * n_parts
        total = sum(float(np.asarray(batch.column("x3")).sum()) for batch in events.scan(["x3"]))
    assert total == pytest.approx(float(values[3 * n : 4 * n].sum()) * n_parts)
    with uproot.open(path) as opened:
        last = opened["deep/Events"]["x6"].array(entry_start=n * n_parts - 10)
    assert last.to_list() == values[-10:].tolist()


@pytest.mark.skipif(not SOAK, reason="writes columns of 2^31 items: make soak-write")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_columns_of_more_than_two_to_the_31_items(tmp_path, layout):
    path, n_parts, n, length = tmp_path / "many.root", 44, 100_000, 500
    ends = pa.array(np.arange(n + 1, dtype=np.int32) * length)
    part = pa.table({"x": pa.ListArray.from_arrays(ends, pa.array(np.full(n * length, 7, dtype=np.int8)))})
    with ar.create(path, compression="zstd:1") as file:
        events = file.tree("Events", layout=layout)
        for _ in range(n_parts):
            events.append(part)
    with ar.open(str(path)) as file:
        n_items = total = 0
        for batch in file["Events"].scan(["x"]):
            items = batch.column("x").flatten()
            n_items += len(items)
            total += int(np.asarray(items).sum(dtype=np.int64))
    assert n_items == n_parts * n * length > 1 << 31
    assert total == 7 * n_items
