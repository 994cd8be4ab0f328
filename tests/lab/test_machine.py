import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from arrowroot_lab.errors import RefusedError
from arrowroot_lab.machine import cold, control, proc, readings
from arrowroot_lab.machine.fingerprint import coarse, fingerprint

N_BYTES = 8_000_000
#: Tests time a smaller one (conftest.py).
KERNEL_BYTES = control.N_BYTES


@pytest.fixture
def file(tmp_path):
    if proc.storage_kind(tmp_path) == "memory":
        pytest.skip(f"{tmp_path} is a tmpfs")
    path = tmp_path / "data"
    path.write_bytes(os.urandom(N_BYTES))
    return path


def test_the_coarse_machine_has_no_readings_and_no_versions(tmp_path):
    found = fingerprint(tmp_path)
    assert found["n_cores"] == os.cpu_count()
    assert found["memory_bytes"] > 1 << 28
    assert coarse(found) == coarse({**found, "kernel": "7.0", "python": "4.0", "governor": "powersave"})
    assert coarse(found) != coarse({**found, "n_cores": 1000})


def test_some_memory_more_for_the_kernel_begins_no_new_history(tmp_path):
    found = fingerprint(tmp_path)
    assert coarse({**found, "memory_bytes": 63 << 30}) == coarse({**found, "memory_bytes": 64 << 30})
    assert coarse({**found, "memory_bytes": 32 << 30}) != coarse({**found, "memory_bytes": 64 << 30})


def test_an_evicted_file_is_read_from_the_device(file):
    file.read_bytes()
    assert cold.cached_share(file) > 0.9
    share = cold.evict(file)
    assert share <= cold.MAX_SHARE
    with readings.Readings(file) as read:
        file.read_bytes()
    if "device_read_bytes" not in read.values:
        pytest.skip("the kernel does not count what this file's device reads")
    assert (
        cold.prove([file], share, read.values["device_read_bytes"], N_BYTES)["device_read_bytes"]
        >= N_BYTES / 2
    )


def test_what_several_workers_read_is_cold_if_it_came_from_the_device_once(file):
    size = file.stat().st_size
    assert cold.prove([file], 0.0, float(size), 3 * size)["wanted_bytes"] == 3 * size
    with pytest.raises(RefusedError, match="it was not cold"):
        cold.prove([file, file], 0.0, float(size) / 2, 3 * size)


def test_a_warm_read_is_not_called_cold(file):
    with pytest.raises(RefusedError, match="it was not cold"):
        cold.prove([file], 0.0, 4096.0, N_BYTES)
    with pytest.raises(RefusedError, match="cannot be proved"):
        cold.prove([file], 0.0, None, N_BYTES)


def test_nothing_on_a_tmpfs_is_cold():
    path = Path("/dev/shm/arrowroot-cold")  # noqa: S108 - a tmpfs is wanted
    if proc.storage_kind(path.parent) != "memory":
        pytest.skip("there is no tmpfs")
    path.write_bytes(b"x")
    try:
        with pytest.raises(RefusedError, match="tmpfs"):
            cold.evict(path)
    finally:
        path.unlink()


def test_a_file_that_is_mapped_and_used_is_told(file):
    import mmap

    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as view:
        bytes(view)
        with pytest.raises(RefusedError, match="stays in the page cache"):
            cold.evict(file)


def test_the_control_kernel_takes_time_and_is_the_same_each_time(monkeypatch):
    assert control.control_ns() > 0
    monkeypatch.setattr(control, "N_BYTES", KERNEL_BYTES)
    digest = "fe055cfdf7fa1efde7561fbfe8036913cdf89d934646911bd9a4eda146a18c83"
    assert hashlib.sha256(control._data.__wrapped__()).hexdigest() == digest


QUIET = {"elapsed_ns": 1e9, "cpu_total_ns": 2e9, "cpu_busy_ns": 1e9, "cpu_stolen_ns": 0.0}


@pytest.mark.parametrize(
    ("values", "control_ns", "told"),
    [
        ({}, (100, 100), []),
        ({}, (100, 115), ["control kernel took 1.15"]),
        ({"cpu_stolen_ns": 1e8}, (100, 100), ["steal time"]),
        ({"cpu_busy_ns": 1.9e9}, (100, 100), ["other processes took 45%"]),
        ({"cpu_busy_ns": 1.9e9, "elapsed_ns": 1e7}, (100, 100), []),  # shorter than the kernel's ticks tell
    ],
)
def test_what_disturbs_a_sample_is_told(values, control_ns, told):
    reasons = readings.disturbed({**QUIET, **values}, 1_000_000_000, control_ns, 100)
    assert len(reasons) == len(told)
    assert all(part in reason for part, reason in zip(told, reasons, strict=True))


def test_readings_are_differences(tmp_path):
    with readings.Readings(tmp_path) as read:
        sum(range(1_000_000))
    assert read.values["elapsed_ns"] > 0
    assert 0 <= read.values["cpu_stolen_ns"] <= read.values["cpu_total_ns"]


#: In a process that has no other threads: each of them is a file more to read, and a turn of the interpreter.
THREADS = """
import os, threading
from arrowroot_lab.running import processes

is_over = threading.Event()

def come_and_go():
    while not is_over.is_set():
        one = threading.Thread(target=int)
        one.start()
        one.join()

thread = threading.Thread(target=come_and_go)
thread.start()
try:
    assert all(os.getpid() in processes._tree() for _ in range(3000))
finally:
    is_over.set()
    thread.join()
"""


def test_threads_that_end_meanwhile_take_no_process_along():
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
