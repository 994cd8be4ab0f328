"""Programs that this process starts and waits for: none outlives what it was started for, nor the interrupted wait."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from arrowroot_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

#: How often it is looked whether a program has ended, or does what it must not.
_LOOK_S = 0.1
#: So much of what a program said is looked at.
_READ_BYTES = 16 << 20
#: So many characters are told of a line that a program said.
_SAID_CHARACTERS = 400


def run(
    command: Sequence[str],
    name: str,
    *,
    timeout_s: float = float("inf"),
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
    look: Callable[[], None] = lambda: None,
) -> None:
    """Run a program in a group of its own, and wait for its end; then, or if this call ends otherwise, end the group.

    name: of it in errors. look: is called again and again while it runs; what it raises ends the program.

    Raises: LabError with what it said if it fails, or if it takes too long.
    """
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise LabError(f"{name}: cannot run {command[0]}: {error.strerror}") from None
        deadline = time.monotonic() + timeout_s
        try:
            # It is not reaped yet: its number is that of the group, which nobody else can have so long.
            while not has_ended(process.pid, _LOOK_S):
                look()
                if time.monotonic() > deadline:
                    raise LabError(f"{name}: not done after {timeout_s:g} s")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.returncode:
            output.seek(0)
            said = _told(output.read(_READ_BYTES).decode(errors="replace"))
            raise LabError(f"{name}: exit status {process.returncode}: {said}")


def has_ended(pid: int, most_s: float) -> bool:
    """Wait for the end of a child, so long at most; return whether it has ended. It is not reaped."""
    descriptor = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(1000 * most_s))
    finally:
        os.close(descriptor)


def _told(text: str) -> str:
    """The line of an output that says what went wrong: the first that is marked as an error, or the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it said nothing"]
    marked = [line for line in lines if line.startswith(("ERROR:", "error"))]
    # pip says first that a program failed, and then what that one has said.
    told = ([line for line in marked if "subprocess-exited-with-error" not in line] or marked or lines[-1:])[
        0
    ]
    # pip lists all versions that there are: the newest ones come last.
    return told if len(told) <= _SAID_CHARACTERS else f"{told[:100]} ... {told[-_SAID_CHARACTERS + 100 :]}"
