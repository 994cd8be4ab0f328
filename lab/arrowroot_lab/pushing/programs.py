"""Clients that are programs: they run in groups of their own, and end with the call, Ctrl-C included."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from arrowroot_lab.campaign.children import has_ended

from .digests import PIECE_BYTES
from .target import PushError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: How often it is looked how far a program is.
_LOOK_S = 0.1
#: XRootD's clients try a server that does not answer for 8 minutes of their own: so they do for half a minute.
_PATIENCE = {"XRD_CONNECTIONWINDOW": "15", "XRD_CONNECTIONRETRY": "3"}
#: So much of an output is looked at: heads of answers, and lines of xrdfs.
_OUTPUT_BYTES = 1 << 20
#: So many characters are told of what a program said.
_SAID_CHARACTERS = 300


def output_of(
    command: Sequence[str], about: str, told: str = "", moved: Callable[[int], None] = lambda _: None
) -> str:
    """Run a program to its end and return its output.

    about: the file, for errors. told: its input, as secrets must not stand in its arguments. moved: takes the bytes
    that it has read so far.

    Raises: PushError with what it said, if it fails or is not here.
    """
    with tempfile.TemporaryFile() as output, _running(command, told, output) as (process, errors):
        # It is not reaped yet: its counts are there so long.
        while not has_ended(process.pid, _LOOK_S):
            moved(_read_bytes(process.pid))
        process.wait()
        _check(process, errors, command, about)
        output.seek(0)
        return output.read(_OUTPUT_BYTES).decode(errors="replace")


def pieces_of(command: Sequence[str], about: str, told: str = "") -> Iterator[bytes]:
    """Run a program, and yield its output as it comes. Raises: PushError as ``output_of`` does."""
    with _running(command, told, subprocess.PIPE) as (process, errors):
        if process.stdout is not None:
            while piece := process.stdout.read(PIECE_BYTES):
                yield piece
        process.wait()
        _check(process, errors, command, about)


@contextmanager
def _running(
    command: Sequence[str], told: str, output: IO[bytes] | int
) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as text:
        text.write(told.encode())
        text.seek(0)
        try:
            process = subprocess.Popen(
                command, stdin=text, stdout=output, stderr=errors, start_new_session=True,
                env={**_PATIENCE, **os.environ},
            )  # fmt: skip
        except OSError as error:
            raise PushError(f"cannot run {command[0]}: {error.strerror}") from None
        try:
            yield process, errors
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if process.stdout is not None:
                process.stdout.close()


def _check(process: subprocess.Popen[bytes], errors: IO[bytes], command: Sequence[str], about: str) -> None:
    if process.returncode:
        size = errors.seek(0, os.SEEK_END)
        errors.seek(max(0, size - 8 * _SAID_CHARACTERS))
        said = " ".join(errors.read().decode(errors="replace").split())[-_SAID_CHARACTERS:]
        raise PushError(f"{about}: {Path(command[0]).name}: {said or f'exit status {process.returncode}'}")


def _read_bytes(pid: int) -> int:
    """The bytes that a process has read, from wherever; 0 where the kernel does not tell."""
    try:
        text = Path(f"/proc/{pid}/io").read_text(encoding="ascii")
    except OSError:
        return 0
    return int(text.partition("rchar:")[2].split()[0])
