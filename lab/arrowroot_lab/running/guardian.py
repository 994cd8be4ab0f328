"""Ends what a run has started, and removes its files, if the run itself is killed.

A small process of its own waits at a pipe. When the pipe ends without a farewell, it kills what it was told of, and
what has the run's mark in its environment, as runners and most servers inherit it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

#: The variable in the environment of all that a run starts.
MARK = "ARROWROOT_LAB_RUN"
_FAREWELL = "farewell"
#: How long the killed may take to be gone, and what they start meanwhile is looked for.
_PATIENCE_S = 10.0


class Guardian:
    """Watches over a run for as long as the ``with`` block lasts. ``directory`` is removed at its end in any case."""

    def __init__(self, run: str, directory: Path) -> None:
        self._run, self._directory = run, directory

    def __enter__(self) -> Self:
        self._before = os.environ.get(MARK)
        os.environ[MARK] = self._run
        # Its own group, so that a Ctrl-C of the terminal does not end it first; it needs nothing of the laboratory.
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(Path(__file__)), self._run, str(self._directory)],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is None:
            os.environ.pop(MARK, None)
        else:
            os.environ[MARK] = self._before
        shutil.rmtree(self._directory, ignore_errors=True)
        self._say(_FAREWELL)
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait()

    def watch(self, processes: dict[int, str]) -> None:
        """Tell it of processes: their numbers, and when they began (a number may be another's later)."""
        self._say(" ".join(f"{number}:{began}" for number, began in processes.items()))

    def _say(self, line: str) -> None:
        try:
            if self._process.stdin:
                self._process.stdin.write(line + "\n")
                self._process.stdin.flush()
        except BrokenPipeError:  # somebody has killed it: there is nobody to tell
            return


def began(number: int) -> str | None:
    """Return when a process began, in the kernel's ticks; None if there is none of that number."""
    try:
        # The name, in parentheses, may have spaces in it.
        return Path(f"/proc/{number}/stat").read_text(encoding="latin-1").rpartition(") ")[2].split()[19]
    except OSError:
        return None


def _marked(run: str) -> dict[int, str]:
    found = {}
    wanted = f"{MARK}={run}".encode()
    for place in Path("/proc").iterdir():
        if not place.name.isdigit() or int(place.name) == os.getpid():
            continue
        try:
            is_ours = wanted in (place / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        time_of = began(int(place.name))
        if is_ours and time_of is not None:
            found[int(place.name)] = time_of
    return found


def _end(run: str, told: dict[int, str]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        known = told | _marked(run)
        known.pop(os.getpid(), None)  # it is a child of the run, as the others are
        left = {number: time_of for number, time_of in known.items() if began(number) == time_of}
        if not left:
            return
        for number in left:
            try:
                os.kill(number, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        time.sleep(0.05)


def _main(run: str, directory: str) -> None:
    told: dict[int, str] = {}
    for line in sys.stdin:
        if line.strip() == _FAREWELL:
            return
        told.update(
            (int(number), time_of) for number, _, time_of in (word.partition(":") for word in line.split())
        )
    _end(run, told)
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    _main(*sys.argv[1:3])
