"""A file that ROOT is writing to: whatever state a look at it finds, what ROOT reads of it is read here, too."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
import warnings
from typing import TYPE_CHECKING

import pytest

import arrowroot as ar
from tests.judge import root

from . import with_live_writer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: More where ARROWROOT_LOOKS says so.
N_LOOKS = int(os.environ.get("ARROWROOT_LOOKS", "150"))
#: Of a writer that needs some milliseconds for a save.
BETWEEN_LOOKS_S = 0.013


@contextlib.contextmanager
def a_writer(directory: Path) -> Iterator[Path]:
    """Let ROOT write ``live.root``; give its path once there is something in it."""
    path = directory / "live.root"
    with root.running(with_live_writer.write, directory) as writer:
        begin = time.monotonic()
        while not path.exists() or path.stat().st_size < 5000:
            assert writer.runs()
            assert time.monotonic() - begin < root.TIMEOUT_S
            time.sleep(0.05)
        yield path
        assert writer.runs()


def look_at(live: Path, copy: Path) -> None:
    """Copy the file; between two files of the writer there is none for a moment."""
    while True:
        try:
            shutil.copyfile(live, copy)
        except FileNotFoundError:
            time.sleep(0.001)
        else:
            return


def fault(path: Path, n_seen_by_root: int) -> str | None:
    """Return what is wrong with what is read of a copy, None if nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ar.RecoveredWarning)
        try:
            with ar.open(path) as file:
                found = file["T"].to_arrow().to_pydict()
        except ar.ArrowrootError as error:
            return f"{type(error).__name__}: {error}"
    n_entries = len(found["x"])
    if n_entries < n_seen_by_root:
        return f"{n_entries} entries"
    numbers = range(n_entries)
    if found["x"] != list(numbers) or found["v"] != [[number] * (number % 4) for number in numbers]:
        return "other values"
    return None


@pytest.mark.long
def test_no_look_at_a_file_that_is_written_to_is_refused_that_root_opens(tmp_path):
    with a_writer(tmp_path) as live:
        for look in range(N_LOOKS):
            look_at(live, tmp_path / f"look_{look:05}.root")
            time.sleep(BETWEEN_LOOKS_S)
    seen = root.run(with_live_writer.read, tmp_path)
    assert len(seen) == N_LOOKS
    read = {name: n_entries for name, n_entries in seen.items() if n_entries is not None}
    assert len(read) > N_LOOKS // 2
    faults = {name: fault(tmp_path / name, n_entries) for name, n_entries in read.items()}
    wrong = [
        f"{name}: ROOT reads {read[name]} entries, here: {what}" for name, what in faults.items() if what
    ]
    assert not wrong, "\n".join(wrong)
