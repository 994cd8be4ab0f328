"""Descriptors are one pool for the process: many files are read where few may be open."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EVENTS = Path(__file__).parents[1] / "fixtures" / "events.root"
N_FILES = 50
#: Python, NumPy and pyarrow have some 20 of them.
LIMIT = 64

PROGRAM = f"""
import resource, sys
import arrowroot

paths = sys.argv[2:]
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, ({LIMIT}, hard))


def total(column):
    return sum(column.to_pylist())


with arrowroot.open(paths[0]) as file:
    expected = total(file["events"].to_arrow(["number"])["number"])
"""
PROGRAMS = {
    "eight chains": """
scans = [iter(arrowroot.scan(paths, tree="events", columns=["number"])) for _ in range(8)]
sums = [0] * len(scans)
for _ in range(len(paths)):
    for i, scan in enumerate(scans):
        for batch in scan:
            sums[i] += total(batch["number"])
            break
for i, scan in enumerate(scans):
    sums[i] += sum(total(batch["number"]) for batch in scan)
assert sums == [len(paths) * expected] * len(scans)
""",
    "open files": """
files = [arrowroot.open(path) for path in paths for _ in range(4)]
for file in files[::-1] + files:
    assert total(file["events"].to_arrow(["number"])["number"]) == expected
# Others in the process have descriptors, too.
held = [open("/dev/null") for _ in range(10)]
""",
    "held by others": """
files = [arrowroot.open(path) for path in paths[:5]]
held = []
try:
    while True:
        held.append(open("/dev/null"))
except OSError:
    pass
for path in paths:
    with arrowroot.open(path) as file:
        assert file["events"].num_entries > 0
for file in files:
    assert total(file["events"].to_arrow(["number"])["number"]) == expected
""",
    "nothing to give back": """
held = []
try:
    while True:
        held.append(open("/dev/null"))
except OSError:
    pass
try:
    arrowroot.open(paths[0])
except arrowroot.StorageError as error:
    message = str(error)
held.clear()
assert "too many open files" in message and "ulimit -n" in message, message
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_many_files_are_read_where_few_may_be_open(tmp_path, program):
    paths = [tmp_path / f"f{number}.root" for number in range(N_FILES)]
    content = EVENTS.read_bytes()
    for path in paths:
        path.write_bytes(content)
    command = [sys.executable, "-c", PROGRAM + program, "", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
