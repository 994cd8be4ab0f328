"""The judge: jobs of ROOT have processes of their own, and say how they ended."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from . import jobs, macros, root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REPOSITORY = Path(__file__).resolve().parents[2]


def wait_until(happened: Callable[[], Any]) -> None:
    end = time.monotonic() + root.TIMEOUT_S
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)


def ended(pid: int) -> bool:
    """True if there is no such process, or it waits for its parent to ask."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@contextlib.contextmanager
def processes_that_end(directory: Path) -> Iterator[None]:
    """Check that the processes of a job that hangs end with the block."""
    yield
    processes = [int(pid) for pid in (directory / "processes.txt").read_text().split()]
    assert len(processes) == 2
    wait_until(lambda: all(map(ended, processes)))


def test_a_job_returns_values_and_has_its_directory_and_process(tmp_path):
    first, second = (root.run(jobs.add, tmp_path, 1, n) for n in (2, 3))
    assert (first["sum"], second["sum"]) == (3, 4)
    assert first["directory"] == tmp_path
    assert first["process"] != second["process"]
    assert first["has"], "the server has imported ROOT"


@pytest.mark.parametrize(
    ("job", "arguments", "said"),
    [
        (jobs.fail, (), r"(?s)ValueError: of the job.*Error in <fail>: something is wrong"),
        (jobs.crash, (), r"(?s)ROOT ended with status -?\d+ in crash.*before the end"),
        (jobs.leave, (3,), "ROOT ended with status 3 in leave"),
        (jobs.leave, (0,), "ROOT ended with status 0 in leave"),
    ],
)
def test_a_job_that_fails_says_how_and_takes_nothing_along(tmp_path, job, arguments, said):
    with pytest.raises(root.RootFailed, match=said):
        root.run(job, tmp_path, *arguments)
    assert root.run(jobs.add, tmp_path, 1, 1)["sum"] == 2


def test_a_job_that_hangs_ends_with_all_that_it_has_started(tmp_path):
    with processes_that_end(tmp_path), root.running(jobs.hang, tmp_path) as job:
        wait_until((tmp_path / "processes.txt").exists)
        assert job.runs()
        assert root.run(jobs.add, tmp_path, 1, 1)["sum"] == 2, "others run beside it"
        with pytest.raises(root.RootFailed, match=r"did not end hang in 0\.1 s"):
            job.wait(0.1)


def test_what_a_job_leaves_behind_ends_with_it(tmp_path):
    left = root.run(jobs.leave_process, tmp_path)
    wait_until(lambda: ended(left))


def test_jobs_end_with_the_process_that_asked(tmp_path):
    asks = f"""
from pathlib import Path
from tests.judge import jobs, root
root.run(jobs.hang, Path({str(tmp_path)!r}))
"""
    root.need_root()
    asker = subprocess.Popen([sys.executable, "-c", asks], cwd=REPOSITORY)
    with processes_that_end(tmp_path):
        wait_until((tmp_path / "processes.txt").exists)
        os.kill(asker.pid, signal.SIGKILL)
        asker.wait()


def test_another_process_of_root_is_started_where_one_was_ended(tmp_path):
    first = root.run(jobs.add, tmp_path, 1, 1)["server"]
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: ended(first))
    assert root.run(jobs.add, tmp_path, 1, 1)["server"] != first


def test_complaints_of_root_are_errors_but_for_those_that_are_expected(tmp_path):
    assert root.run(jobs.warn, tmp_path) == "done"
    assert root.run(jobs.warn, tmp_path, complaints_but=("usual", "another kind")) == "done"
    for one, other in (("Error", "another kind"), ("Warning", "the usual")):
        with pytest.raises(root.RootFailed, match=rf"ROOT said:\n{one} in <TROOT::warn>: of {other}$"):
            root.run(jobs.warn, tmp_path, complaints_but={"another kind", "the usual"} - {other})


def test_classes_of_one_name_may_differ(tmp_path):
    sizes = [root.run(jobs.declare, tmp_path, members) for members in ("char a[3];", "char a[5]; char b[6];")]
    assert sizes == [3, 11]


SOURCE = """#include <TNamed.h>
namespace judged { struct One { int x; }; int answer() { return 42; } }
#ifdef __CLING__
#pragma link C++ class judged::One+;
#endif
"""


def test_code_is_compiled_once_and_kept(tmp_path):
    made = []
    for _ in range(2):
        assert root.run(jobs.answer, tmp_path, SOURCE) == (42, True)
        kept = [path for path in macros.KEPT.glob("*/macro.C") if path.read_text() == SOURCE]
        made.append([path.with_name("macro_C.so").stat().st_mtime_ns for path in kept])
    assert made[0] == made[1] != []
    with pytest.raises(root.RootFailed, match="does not compile"):
        root.run(jobs.answer, tmp_path, "int is missing")


def test_without_a_compiler_or_root_tests_are_skipped(tmp_path, monkeypatch):
    root.need_root()
    with pytest.raises(pytest.skip.Exception, match="NO C\\+\\+ COMPILER"):
        root.run(jobs.answer_without_compiler, tmp_path)
    monkeypatch.setattr(root, "python_with_root", lambda: None)
    with pytest.raises(pytest.skip.Exception, match="NO ROOT FOUND"):
        root.Server()


def test_nobody_else_imports_root():
    """What makes the files of ``tests/fixtures`` is run by hand, with ROOT's Python."""
    tests = Path(__file__).parents[1]
    imports = {
        path.relative_to(tests).as_posix()
        for path in tests.rglob("*.py")
        if re.search(r"^\s*(import|from) ROOT\b", path.read_text(), re.MULTILINE)
    }
    assert {path for path in imports if not path.startswith("fixtures/")} == {"judge/server.py"}
