"""Asks ROOT's process for jobs: see the package. One is started for each process of tests that asks."""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import os
import pickle
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from . import macros
from .server import LENGTH_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

REPOSITORY = Path(__file__).resolve().parents[2]
#: The beginnings of ROOT's messages, but for those that only tell.
COMPLAINTS = ("Error in <", "Warning in <", "SysError in <", "Fatal in <", "Break in <", "*** Break ***")
#: Messages of ROOT about files that it wrote itself, too.
SAID_OF_ITS_OWN = (
    "Merging RNTuples is experimental",
    "RNTuple Attributes are experimental",
    "Sources and Target have different compression settings",
)
TIMEOUT_S = 900  # ROOT compiles what it writes with; a busy machine takes its time


class RootFailed(RuntimeError):  # noqa: N818 - it says what failed
    """A job raised, crashed, hung or complained; the text has what it printed."""


@functools.cache
def python_with_root() -> str | None:
    """ARROWROOT_ROOT_PYTHON, or this interpreter; None if neither has ROOT."""
    named = os.environ.get("ARROWROOT_ROOT_PYTHON")
    probe = "import importlib.util as u, sys; sys.exit(u.find_spec('ROOT') is None)"
    if named and Path(named).exists() and subprocess.run([named, "-c", probe], check=False).returncode == 0:
        return named
    return sys.executable if importlib.util.find_spec("ROOT") else None


def need_root() -> str:
    """Return the Python that has ROOT. Skips the test where there is none."""
    python = python_with_root()
    if python is None:
        pytest.skip("NO ROOT FOUND: pip install root, or set ARROWROOT_ROOT_PYTHON to a Python that has it")
    return python


class Server:
    """ROOT's process, as long as this object."""

    def __init__(self) -> None:
        python = need_root()
        self.control, theirs = socket.socketpair()
        with theirs:
            command = [python, "-B", "-W", "ignore", "-m", "tests.judge.server", str(theirs.fileno())]
            self.process = subprocess.Popen(command, cwd=REPOSITORY, pass_fds=[theirs.fileno()])

    def begin(self, *job: Any) -> Job:
        """Start a job: a function, its directory and arguments, and True if ROOT is to say more than errors."""
        pickled = pickle.dumps(job)
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self.control, [len(pickled).to_bytes(LENGTH_BYTES, "big")], [theirs.fileno()])
        self.control.sendall(pickled)
        return Job(job[0].__qualname__, Connection(ours.detach()))

    def close(self) -> None:
        """End the process and its jobs."""
        with self.control, contextlib.suppress(OSError):
            self.control.shutdown(socket.SHUT_RDWR)  # a process that was forked from this one has it, too
        self.process.wait()


class Job:
    """A function that runs, or did."""

    def __init__(self, name: str, answers: Connection) -> None:
        self.name, self._answers = name, answers

    def wait(self, timeout_s: float, complaints_but: Iterable[str] | None = None) -> Any:
        """Return what the function returns; see :func:`run`."""
        answer, status, output = ("crashed", None), 0, ""
        try:
            while True:
                if not self._answers.poll(timeout_s):
                    raise RootFailed(f"ROOT did not end {self.name} in {timeout_s} s")
                received = pickle.loads(self._answers.recv_bytes())  # noqa: S301 - from our own process
                if received[0] == "ended":
                    _, status, output = received
                    break
                answer = received
        except (EOFError, ConnectionResetError):
            raise RootFailed(f"ROOT's process ended before {self.name}: does it import?") from None
        finally:
            self._answers.close()
        kind, value = answer
        if kind == "no compiler":
            pytest.skip(f"NO C++ COMPILER: {value}")
        if kind == "raised":
            raise RootFailed(f"{value}{output}")
        if kind == "crashed" or status != 0:
            raise RootFailed(f"ROOT ended with status {status} in {self.name}:\n{output}")
        said = [] if complaints_but is None else complaints(output, complaints_but)
        if said:
            raise RootFailed("ROOT said:\n" + "\n".join(said))
        return value

    def runs(self) -> bool:
        """True as long as the job runs.

        Raises: RootFailed if it ended with an error.
        """
        if self._answers.poll():
            self.wait(TIMEOUT_S)
            return False
        return True

    def close(self) -> None:
        """End the job."""
        self._answers.close()


@functools.cache
def _started() -> Server:
    server = Server()
    atexit.register(server.close)
    return server


def _server() -> Server:
    """Return ROOT's process, another one if something has ended it."""
    if _started().process.poll() is not None:
        _started.cache_clear()
    return _started()


def run(
    function: Callable[..., Any],
    directory: Path,
    *arguments: Any,
    complaints_but: Iterable[str] | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Any:
    """Run a function of a module in a child of ROOT's process, in a directory, and return what it returns.

    complaints_but: ROOT may complain of nothing, not in a warning either, but in lines that have one of these texts.

    Skips the test where there is no ROOT, or no compiler and the function needs one.

    Raises: RootFailed with what ROOT said, if the function raises, crashes, hangs or complains.
    """
    job = _server().begin(function, directory, arguments, complaints_but is not None)
    return job.wait(timeout_s, complaints_but)


def compiled(directory: Path, source: str | Path, *calls: tuple[Any, ...], **options: Any) -> list[Any]:
    """Call functions of C++, compiled with its dictionaries, as :func:`macros.call` and :func:`run` do."""
    text = source.read_text() if isinstance(source, Path) else source
    found: list[Any] = run(macros.call, directory, text, list(calls), True, **options)
    return found


def interpreted(directory: Path, source: str | Path, *calls: tuple[Any, ...], **options: Any) -> list[Any]:
    """Call functions of C++ that ROOT interprets, as :func:`macros.call` and :func:`run` do."""
    text = source.read_text() if isinstance(source, Path) else source
    found: list[Any] = run(macros.call, directory, text, list(calls), False, **options)
    return found


@contextlib.contextmanager
def running(function: Callable[..., Any], directory: Path, *arguments: Any) -> Iterator[Job]:
    """Run a function beside the test, which is ended with the block."""
    job = _server().begin(function, directory, arguments, False)
    try:
        yield job
    finally:
        job.close()


def program(name: str, *arguments: Path | str, but: Iterable[str] = ()) -> str:
    """Run one of ROOT's programs; it may complain of nothing else. Returns what it prints."""
    need_root()
    spec = importlib.util.find_spec("ROOT")
    origin = spec.origin if spec else None
    path = Path(origin).parent / "bin" / name if origin else None
    if path is None or not path.exists():
        pytest.skip(f"NO {name} HERE: ROOT's wheel has it")
    libraries = os.pathsep.join(
        filter(None, (str(path.parents[1] / "lib"), os.environ.get("LD_LIBRARY_PATH")))
    )
    done = subprocess.run(
        [path, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
        env={**os.environ, "LD_LIBRARY_PATH": libraries, "PYTHONPATH": str(path.parents[2])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert complaints(done.stdout + done.stderr, (*SAID_OF_ITS_OWN, *but)) == []
    return done.stdout


def complaints(text: str, but: Iterable[str]) -> list[str]:
    """Return the lines of what ROOT printed in which it warns, or more, but those with one of these texts."""
    said = [line for line in text.splitlines() if line.lstrip().startswith(COMPLAINTS)]
    return [line for line in said if not any(part in line for part in but)]
