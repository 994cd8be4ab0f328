"""Files as a whole: several tables and directories, the same bytes in every way, and writers that are cut off."""

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

from .expected import shown
from .invariants import assert_sound
from .test_root_goes_on import table_of

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parents[2]
SOAK = bool(os.environ.get("ARROWROOT_SOAK"))
LAYOUTS = ("ttree", "rntuple")
N_KILLS = 200 if SOAK else 6


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def assert_holds(path: Path, name: str, table: pa.Table) -> None:
    with ar.open(str(path)) as file:
        read = file[name].to_arrow()
    assert read.column_names == table.column_names
    for column in table.column_names:
        assert shown(read.column(column)) == shown(table.column(column)), column


@pytest.mark.parametrize("layout", LAYOUTS)
def test_several_tables_in_directories_written_in_turns(tmp_path, layout):
    path = tmp_path / "several.root"
    tables = {"a": table_of(1), "deep/er/b": table_of(2), "deep/c": table_of(3)}
    with ar.create(path) as file:
        writers = {name: file.tree(name, layout=layout, flush=100) for name in tables}
        for begin in range(0, 500, 90):
            for name, writer in writers.items():
                writer.append(tables[name].slice(begin, 90))
        file["note"] = "text"
    assert_sound(path)
    for name, table in tables.items():
        assert_holds(path, name, table)
    with uproot.open(path) as file:
        assert file["deep/er/b"].num_entries == 500


def test_both_layouts_in_one_file(tmp_path):
    path = tmp_path / "both.root"
    with ar.create(path) as file:
        for layout in LAYOUTS:
            file.tree(layout, layout=layout).append(table_of(1))
    assert_sound(path)
    for layout in LAYOUTS:
        assert_holds(path, layout, table_of(1))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_bytes_from_any_number_of_threads_and_batches(tmp_path, layout):
    table = table_of(1, 20_000)
    digests = set()
    for number, (n_threads, batch) in enumerate([(1, 20_000), (2, 20_000), (8, 20_000), (2, 333), (1, 4096)]):
        path = tmp_path / str(number) / "same.root"
        path.parent.mkdir()
        with ar.create(path, reproducible=True, n_threads=n_threads) as file:
            events = file.tree("Events", table.schema, layout=layout, flush="100 kB")
            for begin in range(0, table.num_rows, batch):
                events.append(table.slice(begin, batch))
        digests.add(digest(path))
    assert len(digests) == 1


def compressing() -> set[str]:
    """Return the threads of this process that compress."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it has just ended
            if (task / "comm").read_text().startswith("arrowroot-compr"):
                found.add(task.name)
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="Linux alone names the threads of a process")
@pytest.mark.parametrize("n_threads", [0, 1, 3])
@pytest.mark.parametrize("has_context", [False, True])
def test_as_many_threads_compress_as_decode(tmp_path, has_context, n_threads):
    path = tmp_path / "out.root"
    # Each thread that decodes has a basket at least.
    data = pa.table({"x": np.arange(300.0), "y": np.arange(300)})
    ar.write(f"{path}:t", data, flush=1, n_threads=1)
    with ar.open(path) as opened:
        scan = opened["t"].scan(n_threads=n_threads)
        assert sum(batch.num_rows for batch in scan) == 300
    before = compressing()
    with ar.create(path, n_threads=n_threads) as file, file.tree("t", data.schema, flush=1) as tree:
        if has_context:
            with tree.context() as context:
                context.fill(data)
        else:
            tree.append(data)
        # That of the caller is one of them. A thread that has just been started has no name yet.
        until = time.monotonic() + 60
        while len(compressing() - before) < scan.stats.n_threads - 1 and time.monotonic() < until:
            time.sleep(0.01)
        assert len(compressing() - before) == scan.stats.n_threads - 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_reproducible_files_are_the_same_in_any_directory_at_any_time(tmp_path, layout):
    code = (
        "import sys, arrowroot as ar; from tests.writing.test_root_goes_on import table_of;"
        "ar.write(sys.argv[1] + ':Events', table_of(4), layout=sys.argv[2], reproducible=True)"
    )
    digests = set()
    for name, zone in (("one", "UTC"), ("another/deeper", "Asia/Tokyo")):
        directory = tmp_path / name
        directory.mkdir(parents=True)
        path = directory / "same.root"
        subprocess.run(
            [sys.executable, "-c", code, str(path), layout], check=True, cwd=REPOSITORY,
            env={**os.environ, "TZ": zone},
        )  # fmt: skip
        digests.add(digest(path))
        # Times in a file are whole seconds: the next one is written in another.
        while time.time() < int(path.stat().st_mtime) + 1:
            time.sleep(0.02)
    assert len(digests) == 1
    assert_sound(path)


def test_files_that_are_not_reproducible_have_identifiers_of_their_own(tmp_path):
    identifiers = set()
    for number in range(3):
        path = tmp_path / f"{number}.root"
        ar.write(f"{path}:Events", {"x": np.arange(3)})
        identifiers.add(uproot.open(path).file.uuid)
    assert len(identifiers) == 3


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


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_that_finds_no_room_is_an_error_and_leaves_nothing(tmp_path, layout):
    path = tmp_path / "out.root"
    ar.write(f"{path}:Events", table_of(6), layout=layout)
    before = digest(path)
    code = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
import arrowroot as ar
try:
    exec({WRITER!r})
except ar.StorageError as error:
    print(error)
    sys.exit(3)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), layout], capture_output=True, text=True, cwd=REPOSITORY,
        check=False,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "out.root" in done.stdout
    assert digest(path) == before
    assert list(tmp_path.iterdir()) == [path]


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
