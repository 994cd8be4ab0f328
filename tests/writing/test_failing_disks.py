"""A disk that fails while a file is written: our error names it, nothing is left, and an older file is what it was."""

from __future__ import annotations

import errno
import os
import platform
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import arrowroot as ar

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"),
    reason="has the system refuse calls: Linux on x86-64",
)

#: Numbers of Linux's calls on x86-64.
CALLS = {"fsync": (74,), "ftruncate": (77,), "pwritev": (296,), "rename": (82, 264, 316)}

FAIL = """
import ctypes, os, struct, sys
import numpy as np
import arrowroot as ar

def fail(calls, number):
    '''Has the system refuse these calls from here on, in all threads.'''
    libc = ctypes.CDLL(None, use_errno=True)
    allow, refuse = (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050000 | number)
    steps = [(0x20, 0, 0, 0)]
    for call in calls:
        steps += [(0x15, 0, 1, call), refuse]
    code = b"".join(struct.pack("=HBBI", *step) for step in [*steps, allow])
    program = ctypes.create_string_buffer(code, len(code))
    described = struct.pack("=HxxxxxxQ", len(code) // 8, ctypes.addressof(program))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.syscall(317, 1, 1, ctypes.create_string_buffer(described, len(described))) == 0, ctypes.get_errno()

def write(path, layout, way, number, calls):
    numbers = np.random.default_rng(1).random(20_000)
    try:
        with ar.create(path, compression=None, n_threads=2) as file:
            events = file.tree("t", layout=layout, flush=20_000)
            context = events.context() if way == "fill" else None
            for turn in range(12):
                if turn == 4 and calls:
                    fail(calls, number)
                (events.append if context is None else context.fill)({"x": numbers})
            if context is not None:
                context.close()
    except ar.StorageError as error:
        return f"{type(error).__name__} {error}"
    return "written"
"""

CASES = [
    (call, number, layout, way)
    for call, number in [
        ("pwritev", errno.EIO),
        ("pwritev", errno.ENOSPC),
        ("pwritev", errno.EDQUOT),
        ("ftruncate", errno.EIO),
        ("fsync", errno.EIO),
        ("rename", errno.EIO),
    ]
    for layout in ("ttree", "rntuple")
    for way in ("append", "fill")
]

#: Each in a child of one program: what is refused is refused for good.
IN_CHILDREN = """
for number, (calls, *case) in enumerate(CASES):
    path = f"{sys.argv[1]}/{number}/out.root"
    if os.fork() == 0:
        print(write(path, *case[1:], case[0], calls), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def said(
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[tuple[str, int, str, str], tuple[Path, bytes, str]]:
    """What is said in each case, with the path and the content before."""
    directory = tmp_path_factory.mktemp("disks")
    paths = [directory / str(number) / "out.root" for number in range(len(CASES))]
    for path in paths:
        path.parent.mkdir()
        ar.write(f"{path}:t", {"x": [1, 2, 3]})
    before = [path.read_bytes() for path in paths]
    cases = [(CALLS[call], number, layout, way) for call, number, layout, way in CASES]
    code = f"{FAIL}\nCASES = {cases}\n{IN_CHILDREN}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(directory)], capture_output=True, text=True, check=True
    )
    return dict(zip(CASES, zip(paths, before, done.stdout.splitlines(), strict=True), strict=True))


@pytest.mark.parametrize(("call", "number", "layout", "way"), CASES)
def test_the_error_names_the_file_and_the_older_one_stays(
    said: dict[tuple[str, int, str, str], tuple[Path, bytes, str]],
    call: str,
    number: int,
    layout: str,
    way: str,
) -> None:
    path, before, text = said[call, number, layout, way]
    assert text.startswith(f"StorageError {path}: ")
    assert os.strerror(number).lower() in text
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_a_disk_that_is_full_takes_a_part_of_a_write(tmp_path: Path, layout: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = [
        "unshare",
        "-rm",
        "sh",
        "-c",
        'mount -t tmpfs -o size=1M none "$0" || exit 77; exec "$@"',
        str(disk),
    ]
    # The disk is there for this program alone, which looks at what is left.
    code = (
        FAIL
        + """
path, layout = sys.argv[1:]
ar.write(f"{path}:t", {"x": [1, 2, 3]})
before = open(path, "rb").read()
print(write(path, layout, "append", 0, ()))
assert open(path, "rb").read() == before
print(os.listdir(os.path.dirname(path)))
"""
    )
    command = [sys.executable, "-c", code, str(disk / "out.root"), layout]
    try:
        done = subprocess.run([*mount, *command], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no file systems may be mounted here")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("StorageError")
    assert os.strerror(errno.ENOSPC).lower() in done.stdout
    assert done.stdout.endswith("['out.root']\n")
