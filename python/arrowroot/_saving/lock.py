"""A directory in which one process works at a time."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from arrowroot._errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NAME = "lock"
#: The most tries. A try fails if another process has just ended its work.
_MAX_TRIES = 100


@contextmanager
def held(directory: Path, purpose: str) -> Iterator[None]:
    """Hold a directory alone. It is made if need be, and removed at the end if it is empty.

    It is held by a lock on a file in it, which the system takes back when the process ends, however it ends.
    ``purpose``: what is done there, for the message. Raises: StorageError, which names the process that has it.
    """
    file = _locked(directory, purpose)
    try:
        yield
    finally:
        # The lock is still held: a process that opened this file before will see that it is gone. A file that cannot
        # be removed locks nobody out.
        with suppress(OSError):
            (directory / _NAME).unlink()
            directory.rmdir()
        fcntl.flock(file, fcntl.LOCK_UN)  # a child that was forked meanwhile has the file, too
        os.close(file)


def _locked(directory: Path, purpose: str) -> int:
    """Return the open file with the lock."""
    path = directory / _NAME
    for _ in range(_MAX_TRIES):
        try:
            directory.mkdir(exist_ok=True)
        except OSError as error:
            raise StorageError(f"{directory}: {error.strerror}") from error
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:
            continue  # the directory was removed since
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}") from error
        try:
            _take(file, path, purpose)
            if _is_there(path, file):
                since = time.strftime("%Y-%m-%d %H:%M:%S %z")
                os.ftruncate(file, 0)
                os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}, since {since}".encode(), 0)
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # another process has removed it before it ended
    raise StorageError(f"{directory}: other processes make and remove it all the time")


def _take(file: int, path: Path, purpose: str) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = os.pread(file, 300, 0).decode(errors="replace") or "another process"
        raise StorageError(f"{purpose}: {who}, does the same; wait until it has ended") from None
    except OSError as error:
        raise StorageError(
            f"{path}: {error.strerror}: it cannot be locked; use a directory of a file system with locks"
        ) from error


def _is_there(path: Path, file: int) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(file))
